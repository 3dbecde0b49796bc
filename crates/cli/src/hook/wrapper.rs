//! The process of the agent tool: the nearest above a hook that is not one of those that started the hook.
//!
//! What is left may still be a program that only starts hooks, which nothing tells from a tool. So the process alone says
//! who the session is; its end counts as evidence only once a second event came out of it (`again_at` of a session).

use std::os::unix::fs::{FileTypeExt, MetadataExt};

use tenure_core::agent::Process;

use crate::env::Env;
use crate::workspace::process::{HostFacts, ancestors, words};

/// The tool's process; unknown where the system does not tell, and where nothing is left but the first process, which
/// takes in what has lost its parent.
pub(super) fn tool_process(env: &Env) -> Option<Process> {
    let event = input("self");
    let launched = |pid: i64| event.is_some() && input(&pid.to_string()) == event;
    let (pid, started) = ancestors().find(|(pid, _)| !launches(&words(*pid)) && !launched(*pid))?;
    Some(HostFacts::read(env).process(pid, started))
        .filter(|process| pid != 1 && !process.host.is_empty() && !process.pidns.is_empty())
}

/// The pipe that a process reads: one that reads the very event of this hook was started for it. A file proves nothing: a
/// shell may read it in place of the command that it runs.
fn input(pid: &str) -> Option<(u64, u64)> {
    let meta = std::fs::metadata(format!("/proc/{pid}/fd/0")).ok()?;
    let kind = meta.file_type();
    (kind.is_fifo() || kind.is_socket()).then(|| (meta.dev(), meta.ino()))
}

const SHELLS: [&str; 8] = ["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"];
/// Programs that run another under changed circumstances and wait for it.
const RUNNERS: [&str; 15] = [
    "chrt", "doas", "env", "flock", "ionice", "nice", "nohup", "script", "setsid", "stdbuf", "su", "sudo", "taskset",
    "time", "timeout",
];

/// Whether a process is one that only runs another: a shell that was given a line, whatever it says, or a runner. A tool
/// below it would have been nearer.
fn launches(words: &[String]) -> bool {
    let Some(program) = words.first().map(|word| base(word)) else { return false };
    let program = program.strip_prefix('-').unwrap_or(program);
    match program {
        "busybox" => words.get(1..).is_some_and(launches),
        _ if SHELLS.contains(&program) => is_given_a_line(&words[1..]),
        _ => RUNNERS.contains(&program),
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a shell has a line to run (`-c`), before the name of a script.
fn is_given_a_line(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--command" => return true,
            "--" | "-" => return false,
            "--rcfile" | "--init-file" | "--init-command" | "-C" => _ = words.next(),
            _ if word.starts_with("--command=") => return true,
            _ if word.starts_with("--") => {}
            _ if word.starts_with('-') && word.contains('c') => return true,
            // `-o pipefail`, also behind other letters.
            _ if word.starts_with(['-', '+']) && word.ends_with(['o', 'O']) => _ = words.next(),
            _ if word.starts_with(['-', '+']) => {}
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(words: &[&str]) -> bool {
        launches(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn inv_i4_a_shell_with_a_line_is_not_the_tool_whatever_the_line_says() {
        for line in [
            "tenure hook claude SessionStart",
            "[ -x '/x/my tools/tenure' ] && '/x/my tools/tenure' hook claude SessionStart || exit 0",
            "cd \"$PWD\" && tenure hook claude SessionStart",
            "cat | tenure hook claude SessionStart",
            "(tenure hook claude SessionStart) || exit 0",
            "echo $(tenure hook claude SessionStart) & wait",
            "",
        ] {
            for shell in [
                &["sh", "-c"][..],
                &["/bin/bash", "-lc"],
                &["-zsh", "-f", "-c"],
                &["bash", "-o", "pipefail", "-ec"],
                &["bash", "-eo", "pipefail", "--norc", "-c"],
                &["bash", "--rcfile", "x", "-c"],
                &["fish", "--command"],
                &["busybox", "sh", "-c"],
            ] {
                assert!(skipped(&[shell, &[line][..]].concat()), "{shell:?} {line}");
            }
        }
        for runner in [&["env", "A=1", "tenure"][..], &["timeout", "5", "sh", "hk.sh"], &["/usr/bin/sudo", "-u", "x"]] {
            assert!(skipped(runner), "{runner:?}");
        }
    }

    #[test]
    fn inv_i4_a_shell_without_a_line_may_be_the_tool() {
        for words in [
            &["sh"][..],
            &["-bash"],
            &["bash", "script.sh", "-c", "tenure hook a b"],
            &["bash", "-o", "pipefail", "script"],
            &["sh", "--", "-c"],
            &["claude", "-c"],
            &["node", "cli.js"],
            &["busybox"],
            &[""],
            &[],
        ] {
            assert!(!skipped(words), "{words:?}");
        }
    }
}
