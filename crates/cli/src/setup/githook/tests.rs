use super::*;

#[test]
fn what_was_put_into_a_script_is_taken_out_without_a_trace() {
    for event in EVENTS {
        for before in
            ["#!/bin/sh\nexit 3\n", "#!/bin/sh", "#!/usr/bin/env bash\n", "#!/bin/sh\n\n\nexec x", "npx lint\n", ""]
        {
            let after = put(before, event).unwrap().text.unwrap();
            assert!(after.contains(&block(event)), "{after}");
            assert_eq!(put(&after, event).unwrap().text.as_deref(), Some(after.as_str()));
            assert_eq!(take(&after, event).unwrap().text.as_deref(), Some(before), "{after:?}");
        }
        assert_eq!(take(&own_husky(event), event).unwrap().text, None);
        let changed = put("#!/bin/sh\n", event).unwrap().text.unwrap().replace("|| ", "&& ");
        for left in [put(&changed, event).unwrap(), take(&changed, event).unwrap()] {
            assert_eq!((left.text.as_deref(), left.remarks.len()), (Some(changed.as_str()), 1));
        }
    }
    assert!(put("#!/bin/sh\n# tenure setup: begin\n", "pre-commit").is_err());
}

#[test]
fn git_configuration_is_as_before_once_the_hooks_are_out() {
    for before in [None, Some(""), Some("[core]\n\tbare = false\n"), Some("[a]\n\tb = c")] {
        let after = configured(before, true).unwrap().text.unwrap();
        assert_eq!(is_configured(&after), Some(true));
        assert_eq!(configured(Some(&after), true).unwrap().text.as_deref(), Some(after.as_str()));
        assert_eq!(configured(Some(&after), false).unwrap().text.as_deref(), before);
    }
    let changed = configured(None, true).unwrap().text.unwrap().replace("pre-push", "pre-receive");
    assert_eq!(is_configured(&changed), Some(false));
    assert_eq!(configured(Some(&changed), false).unwrap().text.as_deref(), Some(changed.as_str()));
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
