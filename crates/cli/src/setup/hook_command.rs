//! The command lines of hooks: recognises Tenure's own. A recognised line is replaced, removed and run, so only exactly
//! what this program writes is recognised.

use super::target::quoted;
use crate::agent_tool;

/// Whether a word names this program: by its usual name, or by the name of its file here.
pub(crate) fn is_program(word: &str, program: &str) -> bool {
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    base(word) == "tenure" || base(word) == base(program)
}

/// Whether a command line is exactly one that this or an earlier version installs: `PROGRAM hook TOOL EVENT`, after the
/// test whether the program exists, and with the ending that always succeeds. Any other line is not from Tenure.
pub(crate) fn is_own_hook(command: &str, program: &str) -> bool {
    let line = command.strip_suffix(" || exit 0").unwrap_or(command);
    let tests = [("[ -x ", " ] && "), ("command -v ", " >/dev/null 2>&1 && ")];
    let tested = tests.iter().find_map(|(front, back)| {
        let (word, rest) = shell_word(line.strip_prefix(front)?)?;
        Some((word, rest.strip_prefix(back)?))
    });
    let Some((word, rest)) = shell_word(tested.as_ref().map_or(line, |(_, rest)| rest)) else { return false };
    let words: Vec<&str> = rest.split(' ').collect();
    let [_, "hook", tool, event] = words.as_slice() else { return false };
    tested.is_none_or(|(tested, _)| tested == word)
        && is_program(&word, program)
        && agent_tool::names().contains(tool)
        && !event.is_empty()
        && event.chars().all(|c| c.is_ascii_alphabetic() || c == '.')
}

/// The first word of a shell line, quoted as `quoted` does, and the rest.
pub(crate) fn shell_word(line: &str) -> Option<(String, &str)> {
    let Some(mut rest) = line.strip_prefix('\'') else {
        let end = line.find(' ')?;
        return Some((line[..end].to_owned(), &line[end..])).filter(|(word, _)| quoted(word) == *word);
    };
    let mut word = String::new();
    loop {
        let (part, behind) = rest.split_once('\'')?;
        word.push_str(part);
        match behind.strip_prefix("\\''") {
            Some(more) => rest = more,
            None => return Some((word, behind)),
        }
        word.push('\'');
    }
}

/// Whether a command line calls this program's hooks in another form.
pub(crate) fn calls_hooks(command: &str, program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    let calls = ["tenure", name].iter().any(|name| {
        ["", "'", "\""].iter().any(|quote| !name.is_empty() && command.contains(&format!("{name}{quote} hook ")))
    });
    calls && !is_own_hook(command, program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_command_lines_are_known_whatever_leads_to_the_program() {
        for own in [
            "tenure hook claude SessionStart",
            "/x/tenure hook codex Stop || exit 0",
            "command -v tenure >/dev/null 2>&1 && tenure hook claude SessionStart || exit 0",
            "[ -x '/a b/tenure' ] && '/a b/tenure' hook opencode session.created || exit 0",
            r"[ -x '/it'\''s && so/tenure' ] && '/it'\''s && so/tenure' hook gemini PreCompress || exit 0",
            "[ -x /opt/tenure-nightly ] && /opt/tenure-nightly hook claude SessionEnd || exit 0",
            "[ -x /elsewhere/tenure-nightly ] && /elsewhere/tenure-nightly hook claude SessionEnd || exit 0",
        ] {
            assert!(is_own_hook(own, "/opt/tenure-nightly"), "{own}");
        }
        for foreign in [
            "my-tenure hook claude Stop",
            "tenure-hook claude Stop",
            "tenure list",
            "hook tenure",
            "tenure hook emacs Start",
            "tenure hook claude Stop; rm -rf ~",
            "tenure hook claude Stop && true || exit 0",
            "logger -t agents \"before tenure hook runs\"",
            "my-filter | tenure hook claude SessionStart | tee /tmp/log",
            "[ -x /a/tenure ] && /b/tenure hook claude Stop || exit 0",
            "id > /tmp/x; tenure hook claude SessionStart",
            "$(id)/tenure hook claude SessionStart",
            "[ -x /opt/other ] && /opt/other hook claude SessionEnd || exit 0",
        ] {
            assert!(!is_own_hook(foreign, "/opt/tenure-nightly"), "{foreign}");
        }
    }
}
