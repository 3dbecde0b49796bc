//! Tool calls of agents: which are worth an event, and what may be stored of a command line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub enum ToolKind {
    /// Changes files.
    Edit,
    /// Runs commands.
    Shell,
    /// Anything else.
    #[default]
    Other,
}

impl ToolKind {
    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            ToolKind::Edit => "edit",
            ToolKind::Shell => "shell",
            ToolKind::Other => "other",
        }
    }
}

/// An earlier event about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Whether the call failed.
    pub failed: bool,
    /// The tool's name.
    pub tool: String,
    /// The program that it ran; empty for none.
    pub program: String,
}

/// The event that a tool call is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The call failed.
    Failed,
    /// The call succeeded after failures.
    Worked,
}

/// How many times in a row the same failure is worth an event.
pub const FAILURES_TOLD: usize = 10;

/// The event that a call is worth, given the earlier ones, newest first. A success is worth an event only after a
/// failure. A failure that keeps repeating is not, because the log is for relevant events.
pub fn remark(past: &[Past], tool: &str, program: &str, ok: bool) -> Option<Remark> {
    let mut alike = past.iter().filter(|past| past.tool == tool && past.program == program).map(|past| past.failed);
    if ok {
        return alike.next().unwrap_or(false).then_some(Remark::Worked);
    }
    (alike.take_while(|failed| *failed).count() < FAILURES_TOLD).then_some(Remark::Failed)
}

/// Programs whose first argument is more informative than their name, if it is a plain word.
const WITH_VERB: [&str; 12] =
    ["bun", "cargo", "deno", "docker", "git", "go", "kubectl", "make", "npm", "pnpm", "uv", "yarn"];

/// Programs that report "no" with exit status 1, which is not a failure.
const ANSWERING: [&str; 12] =
    ["[", "cmp", "diff", "egrep", "fgrep", "git diff", "git grep", "grep", "rg", "test", "which", "pgrep"];

/// Words that can precede the program.
const BEFORE: [&str; 9] = ["command", "env", "exec", "nice", "nohup", "stdbuf", "sudo", "time", "timeout"];

/// The program of a command line, the only part that is stored: the base name of its first word, with the plain verb
/// after it for a few programs. `None` if the program is not obvious.
pub fn program(command: &str) -> Option<String> {
    let first = command.split(['|', ';', '&', '\n', '\r']).map(str::trim).find(|part| !part.is_empty())?;
    let mut words = first.split_whitespace().peekable();
    let mut taken = 0;
    // `cd somewhere && …` is about the command after it.
    if words.peek() == Some(&"cd") {
        let rest = command.split_once("&&")?.1;
        return program(rest);
    }
    while let Some(word) = words.peek() {
        let assigns = word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(is_name));
        let before = BEFORE.contains(word);
        let of_before =
            taken > 0 && (word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b's'));
        if !(assigns || before || of_before) {
            break;
        }
        taken += usize::from(before);
        words.next();
    }
    let name = words.next()?.rsplit('/').next()?;
    let plain = |word: &str| {
        word.len() <= 40 && !word.is_empty() && word.bytes().all(|byte| is_name(byte) || b".+-[".contains(&byte))
    };
    if !plain(name) || name.starts_with('-') {
        return None;
    }
    let verb = words.next().filter(|_| WITH_VERB.contains(&name));
    let verb =
        verb.filter(|verb| verb.len() <= 20 && verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
    let verb = verb.filter(|verb| !verb.starts_with('-'));
    Some(match verb {
        Some(verb) => format!("{name} {verb}"),
        None => name.to_owned(),
    })
}

/// Whether [`program`] produces this text.
pub fn is_program(text: &str) -> bool {
    program(text).as_deref() == Some(text)
}

/// Whether an exit status of a program means failure.
pub fn failed(program: Option<&str>, status: i64) -> bool {
    status != 0 && !(status == 1 && program.is_some_and(|program| ANSWERING.contains(&program)))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn past(failed: bool, tool: &str, program: &str) -> Past {
        Past { failed, tool: tool.into(), program: program.into() }
    }

    #[test]
    fn a_success_is_told_once_and_only_after_a_failure() {
        let failed = past(true, "Bash", "cargo test");
        let worked = past(false, "Bash", "cargo test");
        assert_eq!(remark(&[], "Bash", "cargo test", true), None);
        assert_eq!(remark(std::slice::from_ref(&failed), "Bash", "cargo test", true), Some(Remark::Worked));
        assert_eq!(remark(&[worked, failed.clone()], "Bash", "cargo test", true), None);
        assert_eq!(remark(std::slice::from_ref(&failed), "Bash", "git push", true), None);
        assert_eq!(remark(&[failed], "Edit", "cargo test", true), None);
    }

    #[test]
    fn a_failure_is_told_and_not_without_end() {
        let many = vec![past(true, "Bash", "make"); FAILURES_TOLD];
        assert_eq!(remark(&many[1..], "Bash", "make", false), Some(Remark::Failed));
        assert_eq!(remark(&many, "Bash", "make", false), None);
        assert_eq!(remark(&many, "Bash", "npm test", false), Some(Remark::Failed));
        let broken: Vec<Past> = std::iter::once(past(false, "Bash", "make")).chain(many).collect();
        assert_eq!(remark(&broken, "Bash", "make", false), Some(Remark::Failed));
    }

    #[test]
    fn inv_m5_of_a_command_line_only_the_program_is_kept() {
        for (line, kept) in [
            ("cargo test --workspace -- secret", Some("cargo test")),
            ("/usr/bin/git push https://u:p@h/x", Some("git push")),
            ("TOKEN=abc env X=1 npm run build", Some("npm run")),
            ("sudo -E timeout 30 make all", Some("make all")),
            ("grep -r password .", Some("grep")),
            ("curl -H 'Authorization: Bearer x' u", Some("curl")),
            ("cd /secret/place && pytest -k x", Some("pytest")),
            ("cd /secret/place", None),
            ("git -c http.extraHeader=x push", Some("git")),
            ("make SECRET=1", Some("make")),
            ("[ -f x ]", Some("[")),
            ("", None),
            ("  \n ", None),
            ("$SECRET_PROGRAM x", None),
            ("\"quoted program\" x", None),
            ("echo hi | tee /x", Some("echo")),
            ("-x", None),
        ] {
            assert_eq!(program(line).as_deref(), kept, "{line}");
        }
        assert!(is_program("cargo test") && !is_program("cargo test x") && !is_program("/bin/ls") && !is_program(""));
    }

    #[test]
    fn a_program_that_answers_no_did_not_fail() {
        assert!(failed(Some("cargo test"), 101) && failed(None, 1) && failed(Some("grep"), 2));
        assert!(!failed(Some("grep"), 1) && !failed(Some("cargo test"), 0));
    }

    proptest! {
        #[test]
        fn inv_m5_what_is_kept_is_short_and_plain(line in "[ -~\n]{0,80}") {
            if let Some(kept) = program(&line) {
                prop_assert!(kept.len() <= 61 && kept.split(' ').count() <= 2);
                prop_assert!(line.contains(kept.split(' ').next().unwrap()));
                prop_assert!(!kept.contains(['=', '/', '"', '\'', '$', ':', '@']));
            }
        }
    }
}
