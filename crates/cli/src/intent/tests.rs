use tenure_client::phrasing::Commands;

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn means(line: &str) -> String {
    let meant = meant(&words(line), false).unwrap_or_else(|error| panic!("{line}: {error}"));
    meant.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[test]
fn phrases_are_replaced_by_commands() {
    for (typed, words) in [
        ("ready", "list --state ready"),
        ("--json ready -n 3", "--json list --state ready -n 3"),
        ("help", "--help"),
        ("help logs", "log --help"),
        ("graph t-1", "show t-1 --graph"),
        ("issue list --limit 5", "list --limit 5"),
        ("issue create x", "create x"),
        ("add task", "add task"),
        ("add issue templates", "add issue templates"),
        ("create issue --title x", "create x"),
        ("add note taking", "add note taking"),
        ("add note t-1 seen", "note t-1 seen"),
        ("tasks done", "list --state done"),
        ("issues closed", "list --state closed"),
        ("start", "start"),
        ("task t-1", "show t-1"),
        ("tasks", "list"),
        ("list ready", "list --state ready"),
        ("list ready soon", "list ready soon"),
        ("agents", "agent list"),
        ("agent --help", "agent --help"),
        ("agents list", "agent list"),
        ("agent list --limit 2", "agent list --limit 2"),
        ("watch", "status"),
        ("list --ready --label=a", "list --state ready --label=a"),
        ("list -o json", "list --json"),
        ("search login page", "list login page"),
        ("find --all login", "list --all login"),
        ("add --title=x --body y", "add x --description y"),
        ("add x -- --body", "add x -- --body"),
        ("lock deploy -- rm -o json", "lock deploy -- rm -o json"),
        ("-l", "--help"),
    ] {
        assert_eq!(means(typed), words, "{typed}");
    }
    assert_eq!(meant(&words("watch"), true).unwrap(), words("status --watch"));
}

#[test]
fn what_changes_something_under_another_verb_is_named() {
    for (typed, first) in [
        ("rm -f t-1", "tenure cancel t-1"),
        ("delete", "tenure cancel ID"),
        ("grep", "tenure list WORDS"),
        ("undo t-1", "tenure reopen t-1"),
        ("assign t-1 bob", "tenure edit t-1 --for bob"),
        ("assign --agent ann t-1 bob", "tenure edit t-1 --for bob"),
        ("commit -m ok", "tenure note ok"),
        ("update t-1 --status in_progress", "tenure claim t-1"),
        ("edit --status=closed t-1", "tenure done t-1"),
        ("edit t-1 --claim", "tenure claim t-1"),
    ] {
        let error = meant(&words(typed), false).unwrap_err();
        assert_eq!(error.attempts(&Commands)[0], first, "{typed}");
    }
}

#[test]
fn nothing_is_suggested_where_nothing_is_near() {
    for typed in ["xyzzy", "zzzzzz", "foo", "kubectl", "terraform", "q", "sudo", "ärger"] {
        let error = unknown(OsStr::new(typed));
        assert_eq!(error.advice(), None, "{typed}");
        assert_eq!(error.attempts(&Commands), ["tenure --help"], "{typed}");
    }
    assert_eq!(meant(&words("clone x"), false).unwrap_err().attempts(&Commands), ["tenure --help"]);
    for (typed, near) in
        [("clam", "claim"), ("lst", "list"), ("delte", "cancel"), ("serach", "list"), ("stauts", "status")]
    {
        assert_eq!(nearest(typed), Some(near), "{typed}");
    }
}

#[test]
fn every_phrase_leads_to_a_command() {
    for intent in INTENTS {
        let commands: &[&str] = match &intent.then {
            Then::Run(run) => &[*run],
            Then::Watch { live, once } => &[*live, *once],
            Then::Name { commands, .. } => commands,
        };
        for command in commands.iter().filter(|command| !command.starts_with(['-', '…'])) {
            let spec = of_name(first_word(command)).unwrap_or_else(|| panic!("`{command}` is no command"));
            assert_eq!(spec.name, first_word(command), "an alias in place of its command");
        }
        // A phrase that is a command would never be reached.
        for phrase in intent.typed.iter().filter(|phrase| !phrase.contains(' ')) {
            assert!(of_name(phrase).is_none(), "{phrase} is a command");
        }
    }
}
