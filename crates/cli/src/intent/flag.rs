//! Flags out of habit: the flag that other programs have for the same thing.

use std::ffi::OsString;

use tenure_core::action::Action;
use tenure_core::text::shell_word;
use tenure_core::{Code, Error, Result};

/// Flags of other programs: the commands that take them, how they are typed, and the words that are meant. A flag that means
/// nothing here is left out, and with it its name where its value is an argument.
const FLAGS: &[(&[&str], &[&str], &str)] = &[
    (&[], &["--format=json", "--output=json", "-ojson", "-o=json"], "--json"),
    (&[], &["--format=text", "--output=text", "--output=table", "-o=table"], ""),
    (&["list"], &["--ready", "--unblocked", "--available"], "--state ready"),
    (&["list"], &["--blocked"], "--state blocked"),
    (&["list"], &["--stuck"], "--state stuck"),
    (&["list"], &["--open", "--todo", "--pending"], "--state open"),
    (&["list"], &["--held", "--claimed", "--in-progress", "--active", "--wip", "--started"], "--state held"),
    (&["list"], &["--done", "--closed", "--completed", "--finished"], "--state done"),
    (&["list"], &["--cancelled", "--canceled"], "--state cancelled"),
    (&["list", "holds"], &["--me", "--my", "--own"], "--mine"),
    (&["list"], &["--search", "--grep", "--query", "--text", "-S"], ""),
    (&["list"], &["--assignee", "--assigned-to", "--assigned"], "--for"),
    (&["list", "add", "edit", "next", "claim", "resume"], &["--labels", "--tag", "--tags"], "--label"),
    (
        &["list", "log", "recall", "holds", "inbox"],
        &["--max", "--tail", "--count", "--top", "--max-count", "--first"],
        "--limit",
    ),
    (&["list", "log", "show", "status"], &["--no-pager", "--oneline", "--long", "--wide", "--verbose", "-v"], ""),
    (&["add", "edit"], &["--body", "--desc", "--details", "--notes", "-b"], "--description"),
    (&["add", "edit"], &["--assignee", "--assign", "--assign-to", "--owner"], "--for"),
    (&["add", "edit"], &["--deps", "--dep", "--depends-on", "--depends", "--blocked-by", "--needs"], "--after"),
    (&["add", "edit"], &["--prio"], "--priority"),
    (&["add", "edit"], &["--criteria", "--acceptance-criteria", "--accept"], "--acceptance"),
    (&["add"], &["--title", "-m", "--message"], ""),
    (&["edit"], &["--name", "--rename", "-t"], "--title"),
    (&["edit"], &["--add-label"], "--label"),
    (&["edit"], &["--remove-label", "--rm-label"], "--unlabel"),
    (&["claim", "resume"], &["--next", "--any", "--auto"], ""),
    (&["claim", "resume", "reserve", "lock"], &["--timeout", "--for", "--duration", "--lease", "--expires"], "--ttl"),
    (&["done"], &["--reason", "--comment", "--result"], "-m"),
    (
        &["block", "cancel", "release", "reopen", "reserve"],
        &["--comment", "--because", "--why", "--message"],
        "--reason",
    ),
    (&["block"], &["--by", "--blocked-by", "--waiting-on"], "--on"),
    (&["reserve", "check"], &["--path", "--paths", "--file", "--files"], ""),
    (&["reserve"], &["--exclusive"], ""),
    (&["note", "send"], &["--text", "--body", "--comment"], ""),
    (&["send"], &["-m", "--message"], ""),
    (&["send"], &["--agent-to", "--recipient"], "--to"),
    (&["log"], &["--author", "--who", "--agent-name"], "--by"),
    (&["log"], &["--task", "--id"], "--subject"),
    (&["log"], &["--type", "--event"], "--kind"),
    (&["log"], &["--after", "--from"], "--since"),
    (&["log"], &["--watch", "--live"], "--follow"),
    (&["status"], &["--follow", "-f", "--live"], "--watch"),
];

/// Flags without a command.
const AT_ROOT: &[(&[&str], &str)] =
    &[(&["-l", "--list", "--commands", "-?", "--usage"], "--help"), (&["-v", "-version"], "--version")];

/// The words, if they are only one flag of another program.
pub(super) fn at_root(words: &[OsString]) -> Vec<OsString> {
    let [only] = words else { return words.to_vec() };
    let found = AT_ROOT.iter().find(|(typed, _)| typed.iter().any(|flag| only == *flag));
    found.map_or_else(|| words.to_vec(), |(_, meant)| vec![OsString::from(*meant)])
}

/// The words with `--json` in place of `-o json`, the one flag of two words.
pub(super) fn as_json(mut words: Vec<OsString>) -> Vec<OsString> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_output =
        |pair: &[OsString]| ["-o", "--output", "--format"].iter().any(|flag| pair[0] == *flag) && pair[1] == "json";
    if let Some(at) = words[..end].windows(2).position(is_output) {
        words.splice(at..at + 2, [OsString::from("--json")]);
    }
    words
}

/// The words with the flags that the command has.
pub(super) fn meant(words: Vec<OsString>, at: usize, command: &str) -> Result<Vec<OsString>> {
    if command == "edit" {
        refuse_state(&words, at)?;
    }
    let mut line = Vec::with_capacity(words.len());
    let mut words = words.into_iter().enumerate();
    while let Some((n, word)) = words.next() {
        if word == "--" {
            line.push(word);
            line.extend(words.map(|(_, word)| word));
            break;
        }
        match word.to_str().filter(|word| n != at && word.starts_with('-')) {
            Some(flag) => replace(flag, command, &mut line),
            None => line.push(word),
        }
    }
    Ok(line)
}

fn replace(typed: &str, command: &str, line: &mut Vec<OsString>) {
    let of = |flag: &str| {
        let found = FLAGS
            .iter()
            .find(|(commands, typed, _)| (commands.is_empty() || commands.contains(&command)) && typed.contains(&flag));
        found.map(|(_, _, meant)| *meant)
    };
    if let Some(meant) = of(typed) {
        line.extend(meant.split_whitespace().map(OsString::from));
        return;
    }
    match typed.split_once('=').and_then(|(flag, value)| Some((of(flag)?, value))) {
        Some(("", value)) => line.push(value.into()),
        Some((meant, value)) if meant.starts_with("--") && !meant.contains(' ') => {
            line.push(format!("{meant}={value}").into());
        }
        _ => line.push(typed.into()),
    }
}

/// Refuses to edit a task into a state: each state has its own command.
fn refuse_state(words: &[OsString], at: usize) -> Result<()> {
    let rest = &words[at + 1..];
    let flag = rest.iter().position(|word| {
        let word = word.to_str().unwrap_or_default();
        ["--status", "--state", "-s", "--claim"].contains(&word.split('=').next().unwrap_or_default())
    });
    let Some(flag) = flag else { return Ok(()) };
    let typed = rest[flag].to_str().unwrap_or_default();
    let inline = typed.split_once('=').map(|(_, value)| value);
    let taken = if inline.is_some() || typed == "--claim" { 1 } else { 2 };
    let value = inline.or_else(|| rest.get(flag + 1)?.to_str());
    let task = rest
        .iter()
        .take(flag)
        .chain(rest.iter().skip(flag + taken))
        .find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let task = task.and_then(|task| task.to_str()).and_then(shell_word).unwrap_or_else(|| "ID".to_owned());
    let value = value.unwrap_or_default().to_lowercase().replace('_', "-");
    let command = match value.as_str() {
        _ if typed == "--claim" => "claim {}",
        "in-progress" | "started" | "claimed" | "doing" | "active" | "held" | "wip" => "claim {}",
        "done" | "closed" | "complete" | "completed" | "finished" | "resolved" => "done {}",
        "blocked" | "stuck" | "waiting" => "block {} --reason \"…\"",
        "cancelled" | "canceled" | "deleted" | "wontfix" => "cancel {}",
        "open" | "todo" | "ready" | "pending" | "reopened" => "reopen {}",
        "deferred" | "snoozed" | "later" => "snooze {} 1d",
        _ => "show {}",
    };
    Err(Error::usage(Code::BadArguments, format!("`edit` has no {}", typed.split('=').next().unwrap_or_default()))
        .hint("The state of a task changes with a command of its own: claim, done, block, cancel, reopen.")
        .attempt(Action::Said { text: format!("tenure {}", command.replace("{}", &task)) })
        .attempt(Action::Help { command: Some("edit".to_owned()) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{args, intent};

    #[test]
    fn no_flag_of_a_command_is_taken_for_another() {
        for (commands, typed, meant) in FLAGS {
            for name in *commands {
                let spec = intent::of_name(name).unwrap();
                let command = args::build(spec);
                let has = |flag: &str| {
                    command.get_arguments().any(|argument| {
                        let longs = argument.get_long_and_visible_aliases().unwrap_or_default();
                        longs.iter().any(|long| format!("--{long}") == flag)
                            || argument.get_short().is_some_and(|short| format!("-{short}") == flag)
                    })
                };
                for flag in *typed {
                    assert!(!has(flag), "{name} has {flag} itself");
                }
                let flag = meant.split(' ').next().unwrap();
                assert!(flag.is_empty() || has(flag) || (*name, flag) == ("done", "-m"), "{name} has no {flag}");
            }
        }
    }
}
