//! Commands through a remote server: identity, filters and waiting.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, Home, Output, text};
use crate::stops::until;

/// A command on another machine, in its own directory.
fn far(home: &Home, url: &str, secret: &str, agent: &str, args: &[&str]) -> Command {
    let dir = home.path("elsewhere");
    if !dir.exists() {
        std::fs::create_dir(&dir).unwrap();
    }
    let mut command = home.call(args).json().cwd(&dir).no_env("TENURE_STORE").into_command();
    command
        .env("TENURE_URL", url)
        .env("TENURE_TOKEN", secret)
        .env("TENURE_PROJECT", "web")
        .env("USER", "root")
        .env("HOME", &dir);
    if !agent.is_empty() {
        command.env("TENURE_AGENT", agent);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(mut command: Command) -> Output {
    Output::of(&command.output().unwrap())
}

#[test]
fn inv_i2_whoami_says_whom_the_token_makes_the_caller() {
    for engine in Engine::ALL {
        let home = home(engine);
        let up = Up::start(&home, &["serve"]);
        let secret = token(&home, "person:bob", "worker", "web");
        let url = format!("http://{}", up.address);
        let said = output(far(&home, &url, &secret, "", &["whoami"])).data();
        assert_eq!((&said["agent"], &said["source"]), (&json!("person:bob"), &json!("token")));
        let said = output(far(&home, &url, &secret, "claude-7", &["whoami"])).data();
        assert_eq!(said["agent"], "claude-7");
        let said = output(far(&home, &url, "tenure_0000", "", &["whoami"])).data();
        assert!(said["agent"].is_null() && text(&said["problem"]).contains("token"), "{said}");
        // No server is listening: the output reports that, and no name is invented.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let said = output(far(&home, &format!("http://{free}"), &secret, "", &["whoami"])).data();
        assert_eq!((&said["agent"], &said["source"]), (&json!(null), &json!("token")));
        assert!(text(&said["problem"]).contains("cannot be reached"), "{said}");
    }
}

#[test]
fn whoever_waits_far_away_hears_of_its_turn_from_the_server() {
    for engine in Engine::ALL {
        let home = home(engine);
        let up = Up::start(&home, &["serve"]);
        let admin = bearer(&token(&home, "person:ann", "admin", "*"));
        let secret = token(&home, "person:bob", "worker", "web");
        let url = format!("http://{}", up.address);
        let lock = |agent, args: &[&str]| far(&home, &url, &secret, agent, args);
        output(lock("claude-1", &["lock", "deploy"])).data();
        let waiting = lock("claude-2", &["lock", "deploy", "--wait=60s"]).spawn().unwrap();
        let figures = || text(&up.ask("GET", "/metrics", &[("Authorization", &admin)], None).body);
        until("a waiter at the server", || figures().contains("tenure_http_listeners 1\n"));
        output(lock("claude-1", &["release", "deploy"])).data();
        let got = Output::of(&waiting.wait_with_output().unwrap()).data();
        assert_eq!(got["holder"], "claude-2");
        let asked = figures();
        assert!(asked.contains("route=\"/api/v1/wait\",status=\"200\"} "), "{asked}");
    }
}

#[test]
fn an_agent_called_nobody_is_that_agent_and_a_person_that_is_given_is_the_tokens() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["serve"]);
    let secret = token(&home, "person:bob", "admin", "*");
    let url = format!("http://{}", up.address);
    let ask = |agent: &str, args: &[&str]| output(far(&home, &url, &secret, agent, args));
    let task = text(&ask("claude-1", &["claim"]).data()["task"]["id"]);
    ask("nobody", &["done", &task, "--force"]).refusal().is("denied", "people_only");
    ask("nobody", &["off"]).refusal().is("denied", "people_only");
    ask("nobody", &["reserve", "a.rs"]).data();
    assert_eq!(home.ok(&["holds", "--kind", "path"])["items"][0]["holder"], "nobody");
    // A discovered name is replaced by the token's principal, also in filters; a given name is not replaced.
    ask("", &["reserve", "b.rs"]).data();
    assert_eq!(ask("", &["holds", "--mine"]).data()["items"][0]["subject"], "b.rs");
    assert_eq!(ask("person:bob", &["holds", "--mine"]).data()["items"][0]["subject"], "b.rs");
    for args in [&["add", "x"][..], &["list"]] {
        ask("person:eve", args).refusal().is("denied", "not_yours");
    }
}
