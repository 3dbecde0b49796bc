use super::*;

fn hook(event: &'static str, program: &str) -> HookFile {
    HookFile { event, husky: false, wanted: true, program: Some(program.to_owned()) }
}

#[test]
fn what_was_put_into_a_script_is_taken_out_without_a_trace() {
    for event in EVENTS {
        for before in
            ["#!/bin/sh\nexit 3\n", "#!/bin/sh", "#!/usr/bin/env bash\n", "#!/bin/sh\n\n\nexec x", "npx lint\n", ""]
        {
            let hook = &hook(event, "/a b/it's/tenure");
            let after = put(before, hook).unwrap().text.unwrap();
            assert!(after.contains(&block(&hook.lines())), "{after}");
            assert_eq!(put(&after, hook).unwrap().text.as_deref(), Some(after.as_str()));
            assert_eq!(take(&after, hook).unwrap().text.as_deref(), Some(before), "{after:?}");
        }
        let hook = &hook(event, "/x/tenure");
        assert_eq!(take(&own_husky(&hook.lines()), hook).unwrap().text, None);
        let changed = put("#!/bin/sh\n", hook).unwrap().text.unwrap().replace("|| ", "&& ");
        for left in [put(&changed, hook).unwrap(), take(&changed, hook).unwrap()] {
            assert_eq!((left.text.as_deref(), left.remarks.len()), (Some(changed.as_str()), 1));
        }
    }
    assert!(put("#!/bin/sh\n# tenure setup: begin\n", &hook("pre-commit", "/x/tenure")).is_err());
}

#[test]
fn lines_of_another_place_are_known_and_renewed() {
    for event in EVENTS {
        for place in ["/x/tenure", "/a b/tenure", "/it's/\"q\"/$HOME/`x`/\\n/tenure"] {
            let text = put("#!/bin/sh\nexit 3\n", &hook(event, place)).unwrap().text.unwrap();
            assert_eq!(hook(event, "/other").named(&text), Some(HookProgram::Place(place.to_owned())), "{text}");
            let new = hook(event, "/new/tenure");
            let renewed = put(&text, &new).unwrap().text.unwrap();
            assert_eq!(new.named(&renewed), Some(HookProgram::Place("/new/tenure".to_owned())));
            assert_eq!(take(&renewed, &new).unwrap().text.as_deref(), Some("#!/bin/sh\nexit 3\n"));
            let config = configured(Some("[a]\n"), Some(place), true).unwrap().text.unwrap();
            assert_eq!(
                configured_presence(&config),
                LinePresence::There(HookProgram::Place(place.to_owned())),
                "{config}"
            );
        }
        let none = HookFile { program: None, ..hook(event, "") };
        assert_eq!(none.named(&put("", &none).unwrap().text.unwrap()), Some(HookProgram::Path));
    }
}

#[test]
fn git_configuration_is_as_before_once_the_hooks_are_out() {
    for before in [None, Some(""), Some("[core]\n\tbare = false\n"), Some("[a]\n\tb = c")] {
        for program in [None, Some("/a b/it's \"x\"/tenure")] {
            let after = configured(before, program, true).unwrap().text.unwrap();
            assert_eq!(configured_presence(&after), LinePresence::There(HookProgram::of(program)));
            assert_eq!(configured(Some(&after), program, true).unwrap().text.as_deref(), Some(after.as_str()));
            assert_eq!(configured(Some(&after), None, false).unwrap().text.as_deref(), before);
            let moved = configured(Some(&after), Some("/new/tenure"), true).unwrap().text.unwrap();
            assert_eq!(configured(Some(&moved), None, false).unwrap().text.as_deref(), before);
        }
    }
    let changed =
        configured(None, None, true).unwrap().text.unwrap().replace("event = pre-push", "event = pre-receive");
    assert_eq!(configured_presence(&changed), LinePresence::Changed);
    assert_eq!(configured(Some(&changed), None, false).unwrap().text.as_deref(), Some(changed.as_str()));
}

#[test]
fn git_configuration_is_understood_whatever_became_of_the_marks() {
    let whole = configured(Some("[core]\n\tbare = false\n"), Some("/x/tenure"), true).unwrap().text.unwrap();
    let no_begin = whole.replace(&format!("{}\n", TOML.begin), "");
    let no_end = whole.replace(&format!("{}\n", TOML.end), "");
    let none = no_begin.replace(&format!("{}\n", TOML.end), "");
    let between = whole.replace(TOML.end, &format!("[remote \"o\"]\n\turl = u\n{}", TOML.end));
    for (rewritten, more) in [(no_begin, ""), (no_end, ""), (none, ""), (between, "[remote \"o\"]\n\turl = u\n")] {
        assert_eq!(configured_presence(&rewritten), LinePresence::There(HookProgram::Place("/x/tenure".to_owned())));
        assert_eq!(configured(Some(&rewritten), Some("/x/tenure"), true).unwrap().text.as_ref(), Some(&rewritten));
        let moved = configured(Some(&rewritten), Some("/y/tenure"), true).unwrap().text.unwrap();
        assert_eq!(configured_presence(&moved), LinePresence::There(HookProgram::Place("/y/tenure".to_owned())));
        let left = configured(Some(&rewritten), None, false).unwrap().text.unwrap();
        assert_eq!(left.replace('\n', ""), format!("[core]\n\tbare = false\n{more}").replace('\n', ""));
    }
}

#[test]
fn shell_scripts_are_known_by_their_first_line() {
    for text in ["#!/bin/sh\n", "#!/usr/bin/env bash\n", "#! /bin/dash -e\nx", "#!/usr/bin/env -S zsh -f\n"] {
        assert!(is_shell(text, false), "{text}");
    }
    for text in ["#!/usr/bin/env python3\n", "\u{7f}ELF", "exit 1\n", "", "#!/usr/bin/perl\n#!/bin/sh\n"] {
        assert!(!is_shell(text, false), "{text}");
    }
    assert!(is_shell("npx lint\n", true));
}
