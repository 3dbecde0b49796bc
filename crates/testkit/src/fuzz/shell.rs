//! Command lines: the shell guard parses any command line to its end.

use tenure_core::shell::{Threat, commands, threats};

/// A command line is parsed without a panic. Each reported threat is one line and depends only on the command line.
pub(super) fn shell(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    let aliases = |name: &str| match name {
        "a" => Some("!git b; git stash".to_owned()),
        "b" => Some("a".to_owned()),
        other => other.strip_prefix('z').map(str::to_owned),
    };
    let found: Vec<Threat> = threats(&line, &aliases);
    for threat in &found {
        assert!(["git ", "gh ", "glab "].iter().any(|program| threat.what.starts_with(program)), "{threat:?}");
        assert!(threat.what.chars().count() <= 100 && !threat.what.contains(['\n', '\0', '\u{2028}']), "{threat:?}");
    }
    assert_eq!(found, threats(&line, &aliases), "it is decided the same again");
    // A command after a separator yields the same threats as the command alone.
    let alone = threats(&line, &|_| None).len();
    let behind = format!("true\n{line}");
    assert_eq!(threats(&behind, &|_| None).len(), alone, "{line:?}");
    assert!(commands(&line).len() <= 4_096);
}
