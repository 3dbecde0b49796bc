//! Open streams end with the rights they were opened with.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, text, wait_until};
use crate::server::Listener;

/// A server checks the rights of a stream every 15 seconds; the rest is a margin for a busy machine.
const LOOKED: Duration = Duration::from_secs(25);

#[test]
fn inv_s3_a_busy_stream_ends_with_the_token_it_was_opened_with() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["serve"]);
    home.ok(&["member", "set", "person:bob", "--role", "worker", "--in", "web"]);
    let writes = bearer(&token(&home, "person:carl", "worker", "web"));
    // It expires: no event reports that.
    let expiring = text(&home.ok(&["token", "add", "--for", "person:bob", "--expires", "2s"])["secret"]);
    let began = Instant::now();
    let mut listener = Listener::new(&up, &bearer(&expiring), "project=web", None);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Writes more often than the server checks, and for a limited time.
            while !over.load(Ordering::Relaxed) && began.elapsed() < LOOKED * 2 {
                up.op(&writes, "add", None, &json!({ "title": "busy" }));
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let ended = listener.is_over();
        over.store(true, Ordering::Relaxed);
        assert!(ended && began.elapsed() < LOOKED, "the stream stayed for {:?}", began.elapsed());
    });
}

#[test]
fn inv_s3_a_wait_for_a_turn_ends_with_the_token_it_was_made_with() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["serve", "--seconds", "60"]);
    home.ok(&["member", "set", "person:bob", "--role", "worker", "--in", "web"]);
    let made = home.ok(&["token", "add", "--for", "person:bob"]);
    let secret = bearer(&text(&made["secret"]));
    let admin = bearer(&token(&home, "person:ann", "admin", "*"));
    home.ok_as("a", &["lock", "deploy"]);
    std::fs::write(home.path("repo/tenure.toml"), "project = \"web\"\n[wait]\nplace = \"5m\"\ncall = \"1s\"\n")
        .unwrap();
    let refused = home.refused_as("b", &["lock", "deploy", "--wait"]);
    let place = text(refused.detail("id"));
    let path = format!("/api/v1/wait?project=web&place={place}");
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| up.ask("GET", &path, &[("Authorization", &secret)], None));
        wait_until("the wait has begun", || {
            let said = up.ask("GET", "/metrics", &[("Authorization", &admin)], None);
            text(&said.body).contains("tenure_http_listeners 1\n")
        });
        home.ok(&["token", "revoke", &text(&made["id"])]);
        let reply = asked.join().unwrap();
        assert_eq!((reply.status, &reply.body["code"]), (401, &json!("not_signed_in")), "{reply:?}");
    });
}
