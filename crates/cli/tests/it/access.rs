//! `tenure token` and `tenure member`: only people grant access, and a secret is shown once.

use sha2::{Digest, Sha256};

use crate::home::{Engine, Home, text};

fn hash(secret: &str) -> String {
    Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn inv_s10_a_secret_is_printed_once_and_stored_nowhere() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let made =
        home.ok(&["token", "add", "--for", "service:ci", "--role", "worker", "--expires", "30d", "--label", "ci"]);
    let secret = text(&made["secret"]);
    assert!(secret.starts_with("tenure_") && secret.len() == 71, "{secret}");
    assert_eq!((text(&made["principal"]), text(&made["role"])), ("service:ci".into(), "worker".into()));
    let quiet = home.run(&["token", "add", "--quiet"]).stdout;
    assert!(quiet.starts_with("tenure_") && quiet.lines().count() == 1, "{quiet}");
    let shown = home.run(&["token", "add"]).stdout;
    assert_eq!(shown.matches("tenure_").count(), 1, "{shown}");

    let exported = home.run(&["export", "--log"]).stdout;
    let listed = home.run(&["token", "list", "--json"]).stdout + &home.run(&["token", "list"]).stdout;
    let log = home.run(&["log", "--whole-store", "--json"]).stdout + &home.run(&["log", "--whole-store"]).stdout;
    home.ok(&["backup", "b.db"]);
    let backup = std::fs::read(home.repo().join("b.db")).unwrap();
    let has = |text: &str| backup.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has(&hash(&secret)), "the backup has the tokens");
    assert!(!has(&secret));
    for text in [&exported, &listed, &log] {
        assert!(!text.contains(&secret) && !text.contains(&hash(&secret)), "{text}");
    }
    assert!(log.contains("token.added"), "{log}");
}

#[test]
fn inv_s1_tokens_and_roles_are_for_people() {
    let home = Home::new(Engine::File);
    home.add("one");
    let made = home.ok(&["token", "add"]);
    for args in [
        vec!["token", "add"],
        vec!["token", "list"],
        vec!["token", "revoke", "k-00000"],
        vec!["member", "set", "a", "--role", "admin", "--everywhere"],
        vec!["member", "list"],
        vec!["member", "disable", "person:ann"],
        vec!["log", "--whole-store"],
    ] {
        home.refused_as("a", &args).is("denied", "people_only");
    }
    for (args, kind, code) in [
        (vec!["token", "add", "--for", "Ann"], "usage", "bad_name"),
        (vec!["token", "add", "--role", "root"], "usage", "bad_role"),
        (vec!["token", "add", "--expires", "366d"], "usage", "bad_lifetime"),
        (vec!["token", "add", "--expires", "0s"], "usage", "bad_lifetime"),
        (vec!["token", "add", "--in", "no such"], "not_found", "unknown_project"),
        (vec!["token", "revoke", "k-zzzzz"], "not_found", "not_found"),
        (vec!["member", "set", "person:bob", "--role", "root"], "usage", "bad_role"),
        (vec!["member", "set", "person:eve", "--role", "none"], "not_found", "unknown_principal"),
        (vec!["member", "disable", "person:eve"], "not_found", "unknown_principal"),
    ] {
        home.refused(&args).is(kind, code);
    }
    let id = text(&made["id"]);
    assert_eq!(home.ok(&["token", "revoke", &id[..5]])["state"], "revoked");
    home.ok(&["member", "set", "person:bob", "--role", "worker"]);
    home.ok(&["member", "set", "person:bob", "--role", "viewer", "--everywhere"]);
    let members = home.ok(&["member", "list", "--for", "person:bob"]);
    assert_eq!((members["items"][0]["project"].as_str(), members["total"].as_i64()), (Some("*"), Some(2)));
    let narrowed = home.ok(&["token", "add", "--in", &text(&members["items"][1]["project"]), "--in", "name:later"]);
    assert_eq!(narrowed["projects"].as_array().unwrap().len(), 2);
}
