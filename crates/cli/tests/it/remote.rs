//! The same commands through a server: the same output and the same refusals.

use std::os::unix::fs::PermissionsExt;

use crate::home::{Engine, Home, Output, text};
use crate::serving::{TOKEN, Through};

/// Normalises what differs between stores in any case: ids, times and the path of the home.
fn plain(home: &Home, said: &str) -> String {
    let said = said.replace(home.path("").to_str().unwrap().trim_end_matches('/'), "ROOT");
    let mut plain = String::new();
    let mut rest = said.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (before, word) = rest.split_at(at);
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && !"-:.".contains(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        plain.push_str(before);
        let is_id = matches!(word.split_once('-'), Some((letter, drawn)) if letter.len() == 1 && drawn.len() >= 5);
        let drawn = word.trim_start_matches("id:").trim_end_matches('.');
        let is_drawn = drawn.len() >= 12 && drawn.bytes().all(|b| b.is_ascii_alphanumeric());
        let clock = word.trim_end_matches('Z');
        let is_clock = clock.contains([':', '-']) && clock.bytes().all(|b| b.is_ascii_digit() || b":-.".contains(&b));
        let is_time = is_clock || (word.starts_with("20") && word.contains('T'));
        let is_age = word.trim_end_matches(|c: char| "smhd".contains(c)).parse::<u64>().is_ok();
        plain.push_str(match () {
            () if is_id => "ID",
            () if is_drawn => "DRAWN",
            () if is_time => "TIME",
            () if is_age => "N",
            () => word,
        });
        rest = after;
    }
    plain + rest
}

/// Typical work, and a refusal of each kind; each call as text and as JSON.
fn work(home: &Home) -> Vec<String> {
    let mut said = Vec::new();
    // A refusal by the store about an input line: its dependency does not exist.
    let at = "2033-01-01T00:00:00.000000Z";
    let head = format!(r#"{{"tenure":"export","format":1,"project":{{"key":"k","label":"l"}},"exported_at":"{at}"}}"#);
    let task = r#"{"task":{"id":"t-zzzzz","title":"x","after":["t-yyyyy"],"created_by":"z","created_at":"AT","updated_at":"AT"}}"#;
    let end = r#"{"end":true,"tasks":1,"notes":0,"events":0}"#;
    std::fs::write(home.path("repo/lines.jsonl"), format!("{head}\n\n{}\n{end}\n", task.replace("AT", at))).unwrap();
    let mut ids: Vec<String> = Vec::new();
    let mut run = |agent: &str, args: &[&str]| {
        let args: Vec<String> = args
            .iter()
            .map(|word| match word.strip_prefix('$') {
                Some(n) => ids[n.parse::<usize>().unwrap()].clone(),
                None => (*word).to_owned(),
            })
            .collect();
        let call = home.call(&args);
        let call = if agent.is_empty() { call } else { call.agent(agent) };
        let output: Output = call.run();
        if let Some(id) = output.json.as_ref().and_then(|json| json["data"]["id"].as_str()) {
            ids.push(id.to_owned());
        }
        let told = format!("{args:?}\n{}\n{}\n{}", output.code, output.stdout, output.stderr);
        said.push(plain(home, &told));
    };
    run("", &["list"]);
    run("", &["add", "first", "--json", "-p", "1"]);
    run("", &["add", "second", "--json", "--after", "$0"]);
    run("", &["add", "third"]);
    run("a", &["claim", "$0"]);
    run("b", &["claim", "$0"]);
    run("b", &["claim", "$0", "--json"]);
    run("b", &["claim", "$1"]);
    run("b", &["done", "$0"]);
    run("a", &["note", "half", "--data", "{\"x\": 0.1, \"y\": 1e300, \"z\": 123456789.123456789}"]);
    run("a", &["reserve", "src/a.rs"]);
    run("b", &["reserve", "src/"]);
    run("b", &["reserve", "src/", "--json"]);
    run("b", &["check", "src/a.rs"]);
    run("", &["holds", "--kind", "path"]);
    run("", &["send", "a", "hello"]);
    run("a", &["inbox", "--json"]);
    run("a", &["remember", "mind the gap"]);
    run("a", &["recall", "gap"]);
    run("a", &["resume"]);
    run("a", &["done"]);
    run("a", &["done", "$0"]);
    run("b", &["lock", "deploy", "--json"]);
    run("a", &["lock", "deploy"]);
    run("", &["show", "$0"]);
    run("", &["show", "$0", "--json"]);
    run("", &["show", "zzzzz"]);
    run("", &["why", "$0"]);
    run("", &["why", "src/a.rs"]);
    run("", &["status"]);
    run("", &["next", "--json"]);
    run("", &["log", "--limit", "5"]);
    run("", &["log", "--kind", "no.such"]);
    run("", &["agent", "list"]);
    run("", &["project", "list"]);
    run("", &["export", "--log"]);
    run("", &["list", "--all", "--json"]);
    run("", &["import", "lines.jsonl", "--dry-run"]);
    run("", &["import", "lines.jsonl"]);
    run("", &["off", "--for", "10m"]);
    run("", &["edit", "$1", "--title", "2nd"]);
    run("", &["cancel", "$1"]);
    said
}

#[test]
fn every_command_says_the_same_through_a_server() {
    let direct = work(&Home::direct(Engine::File));
    for through in [Through::Http, Through::Socket] {
        let home = Home::served(through);
        let served = work(&home);
        let differ: Vec<_> = direct.iter().zip(&served).filter(|(direct, served)| direct != served).collect();
        assert!(differ.is_empty(), "{through:?}: {differ:#?}");
        assert_eq!(home.refused(&["import", "lines.jsonl"]).detail("line"), 3, "the line travels beside the request");
        let seen = home.serving().seen();
        for op in ["add", "claim", "reserve", "note"] {
            assert!(seen.iter().any(|name| name == op), "{op} did not go through the server: {seen:?}");
        }
    }
}

#[test]
fn inv_t3_an_answer_that_was_lost_is_found_again() {
    let home = Home::served(Through::Socket);
    home.add("first");
    home.serving().seen();
    home.serving().mute();
    let second = home.ok(&["add", "second"]);
    assert_eq!(home.serving().seen(), ["add"], "the server carried it out");
    let titles: Vec<String> =
        home.ok(&["list"])["items"].as_array().unwrap().iter().map(|t| text(&t["title"])).collect();
    assert_eq!(
        (titles.as_slice(), text(&second["title"])),
        (&["first".to_owned(), "second".to_owned()][..], "second".into())
    );
}

#[test]
fn a_socket_can_be_left_alone() {
    let home = Home::served(Through::Socket);
    home.add("first");
    assert!(!home.serving().seen().is_empty());
    home.call(&["add", "second"]).env("TENURE_SOCKET", "off").json().run().data();
    assert!(home.serving().seen().is_empty());
}

#[test]
fn what_is_wrong_with_the_server_is_said() {
    let home = Home::served(Through::Http);
    home.add("first");
    let both = home.call(&["list"]).env("TENURE_STORE", "/tmp/x.db").json().run().refusal();
    both.is("usage", "store_and_server").names(&["TENURE_STORE", "TENURE_URL"]);
    let call = |words: &[&str]| home.call(words).json();
    call(&["list"]).env("TENURE_TOKEN", "wrong").run().refusal().is("denied", "token_unknown");
    call(&["list"]).no_env("TENURE_TOKEN").run().refusal().is("denied", "token_missing");
    call(&["list"]).env("TENURE_URL", "http://10.1.2.3").run().refusal().is("usage", "unencrypted_server");
    call(&["list"]).env("TENURE_URL", "ftp://x").run().refusal().is("usage", "bad_server_url");
    for words in [&["backup"][..], &["restore", "x"]] {
        call(words).run().refusal().is("denied", "needs_store").names(&[home.serving().url()]);
    }
    let dir = home.path("home/.config/tenure");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("token");
    std::fs::write(&file, TOKEN).unwrap();
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    call(&["list"]).no_env("TENURE_TOKEN").run().refusal().is("denied", "token_file_open");
    mode(0o600);
    assert_eq!(call(&["list"]).no_env("TENURE_TOKEN").run().data()["items"].as_array().unwrap().len(), 1);
    let who = home.ok(&["whoami"]);
    assert_eq!((&who["store_from"], text(&who["store"]).as_str()), (&"TENURE_URL".into(), home.serving().url()));
    assert!(home.run(&["doctor"]).stdout.contains(home.serving().url()));
}

#[test]
fn a_repository_that_names_its_server_gets_no_token_that_is_not_meant_for_it() {
    let home = Home::served(Through::Http);
    let url = home.serving().url().to_owned();
    std::fs::write(home.path("repo/tenure.toml"), format!("server = \"{url}\"\n")).unwrap();
    let call = || home.call(&["list"]).no_env("TENURE_URL").json();
    call().run().refusal().is("conflict", "unconfirmed_store");
    let pin = || home.call(&["project", "pin", "--yes"]).no_env("TENURE_URL").json();
    pin().run().refusal().is("denied", "token_missing");
    let dir = home.path("home/.config/tenure");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("token"), format!("{url} {TOKEN}\n")).unwrap();
    std::fs::set_permissions(dir.join("token"), std::fs::Permissions::from_mode(0o600)).unwrap();
    call().no_env("TENURE_TOKEN").run().refusal().is("conflict", "unconfirmed_store");
    pin().no_env("TENURE_TOKEN").run().data();
    call().no_env("TENURE_TOKEN").run().data();
}

#[test]
fn inv_i5_a_project_is_pinned_to_the_store_behind_the_server() {
    let home = Home::served(Through::Http);
    home.add("first");
    let pin = home.ok(&["project", "show"])["pin"].clone();
    assert_eq!(text(&pin["location"]), home.serving().url());
    // Direct access to the store beside the server: the same store.
    let direct = home.call(&["list"]).no_env("TENURE_URL").json().run().data();
    assert_eq!(direct["items"].as_array().unwrap().len(), 1);
    // Another server has another store.
    let other = Home::served(Through::Http);
    let elsewhere = home.call(&["add", "x"]).env("TENURE_URL", other.serving().url()).json().run().refusal();
    elsewhere.is("conflict", "pinned_elsewhere");
    assert!(other.ok(&["project", "list"])["items"].as_array().unwrap().is_empty());
}
