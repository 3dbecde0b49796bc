//! The process of the agent tool: the nearest above a hook that is not just what started the hook.

use tenure_core::agent::Process;

use crate::env::Env;
use crate::place::process::{HostFacts, ancestors, words};

/// The tool's process; unknown where the system does not tell.
pub(super) fn tool_process(env: &Env) -> Option<Process> {
    let (pid, started) = ancestors().find(|(pid, _)| !is_wrapper(&words(*pid)))?;
    Some(HostFacts::read(env).process(pid, started))
        .filter(|process| !process.host.is_empty() && !process.pidns.is_empty())
}

/// Whether a process only wraps a hook: a shell that was given nothing but the hook's command line, or one of the few
/// programs that run another under changed circumstances. A shell with anything else to do may be the tool itself.
fn is_wrapper(words: &[String]) -> bool {
    let Some(program) = words.first().map(|word| base(word)) else { return false };
    let program = program.strip_prefix('-').unwrap_or(program);
    let rest = &words[1..];
    match program {
        "sh" | "ash" | "bash" | "dash" | "fish" | "ksh" | "mksh" | "zsh" => told(rest).is_some_and(is_hook_line),
        "busybox" => rest.first().is_some_and(|applet| applet == "sh" || applet == "ash") && is_wrapper(rest),
        "env" | "nice" | "nohup" | "setsid" | "stdbuf" | "timeout" => {
            let at = rest.iter().position(|word| base(word) == "tenure" || SHELLS.contains(&base(word)));
            at.is_some_and(|at| match base(&rest[at]) {
                "tenure" => rest.get(at + 1..).is_some_and(|rest| rest.iter().any(|word| word == "hook")),
                _ => is_wrapper(&rest[at..]),
            })
        }
        _ => false,
    }
}

const SHELLS: [&str; 8] = ["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"];

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The line that a shell was given with `-c`.
fn told(words: &[String]) -> Option<&str> {
    let at = words.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    let before = words[..at].iter().all(|word| word.starts_with('-'));
    words.get(at + 1).filter(|_| before).map(String::as_str)
}

/// Whether a line of shell does nothing but run a hook: behind a test whether `tenure` is there, with variables set for it,
/// with its output sent elsewhere.
fn is_hook_line(line: &str) -> bool {
    // What runs something else, or goes on when the hook is done, is more than a hook.
    if line.contains("$(") || line.contains('`') || line.contains("<(") {
        return false;
    }
    let line = line.replace("2>&1", " ").replace(">&2", " ").replace("&>", ">");
    let line = line.replace("&&", "\n").replace("||", "\n").replace(';', "\n");
    if line.contains('&') || line.contains('|') {
        return false;
    }
    let mut hooks = 0;
    for part in line.lines().map(str::trim).filter(|part| !part.is_empty()) {
        let mut words = part.split_whitespace().map(|word| word.trim_matches(['"', '\''])).peekable();
        while words.peek().is_some_and(|word| {
            ["exec", "if", "then", "else", "{", "!", "env"].contains(word)
                || word
                    .split_once('=')
                    .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        }) {
            words.next();
        }
        match words.next().map(base) {
            None | Some("fi" | "}" | "true" | ":" | "exit" | "command" | "type" | "which" | "test" | "[" | "[[") => {}
            Some("tenure") if words.any(|word| word == "hook") => hooks += 1,
            Some(_) => return false,
        }
    }
    hooks > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wraps(words: &[&str]) -> bool {
        is_wrapper(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn inv_i4_what_only_runs_the_hook_is_not_the_tool() {
        let hook = "tenure hook claude SessionStart";
        for line in [
            hook,
            "/usr/local/bin/tenure hook claude SessionStart",
            "\"$HOME/.cargo/bin/tenure\" --store x hook claude PreToolUse",
            "command -v tenure >/dev/null 2>&1 && tenure hook claude SessionStart || true",
            "if command -v tenure >/dev/null 2>&1; then tenure hook claude SessionStart; fi",
            "TENURE_AGENT=a exec tenure hook codex Stop",
            "[ -x /opt/tenure ] && /opt/tenure hook gemini BeforeTool 2>/dev/null; exit 0",
        ] {
            for shell in [&["sh", "-c"][..], &["/bin/bash", "-lc"], &["zsh", "-f", "-c"], &["/bin/sh", "-e", "-c"]] {
                assert!(wraps(&[shell, &[line][..]].concat()), "{line}");
            }
        }
        assert!(wraps(&["env", "A=1", "tenure", "hook", "claude", "Stop"]));
        assert!(wraps(&["timeout", "5", "sh", "-c", hook]));
        assert!(wraps(&["busybox", "sh", "-c", hook]));
    }

    #[test]
    fn inv_i4_a_shell_that_does_more_may_be_the_tool() {
        for line in [
            "tenure hook claude SessionStart; my-agent",
            "my-agent && tenure hook claude SessionStart",
            "tenure hook claude SessionStart & wait",
            "tenure hook claude SessionStart | tee log",
            "tenure claim",
            "echo $(tenure hook claude SessionStart)",
            "cat event.json | tenure hook claude SessionStart",
            "",
        ] {
            assert!(!wraps(&["sh", "-c", line]), "{line}");
        }
        for words in
            [&["sh"][..], &["bash", "script.sh", "-c", "tenure hook a b"], &["claude"], &["node", "cli.js"], &[]]
        {
            assert!(!wraps(words), "{words:?}");
        }
    }
}
