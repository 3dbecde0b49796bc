//! A server records denied requests, with the caller and the attempt.

use serde_json::{Value, json};

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, Home};

/// The recorded denials: principal, agent, attempt and code.
fn denials(home: &Home) -> Vec<[String; 4]> {
    let audit = home.ok(&["log", "--whole-store", "--kind", "access.denied", "--limit", "1000"]);
    let parts = |event: &Value| {
        let data = &event["data"];
        [&event["subject"], &data["agent"], &data["what"], &data["code"]]
            .map(|part| part.as_str().unwrap_or_default().to_owned())
    };
    audit["items"].as_array().unwrap().iter().map(parts).collect()
}

#[test]
fn inv_s1_every_denial_at_the_door_is_written_down_with_the_name_that_was_tried() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let ann = bearer(&token(&home, "person:eve", "worker", "web"));
    let bob = bearer(&token(&home, "person:bob", "worker", "web"));
    let ask = |secret: &str, method: &str, path: &str, agent: Option<&str>, body: Option<&Value>| {
        let mut headers = vec![("Authorization", secret)];
        headers.extend(agent.map(|agent| ("Tenure-Agent", agent)));
        up.ask(method, path, &headers, body)
    };
    let new = |before: &mut Vec<[String; 4]>| {
        let now = denials(&home);
        let added: Vec<[String; 4]> = now.iter().filter(|one| !before.contains(one)).cloned().collect();
        *before = now;
        added
    };
    let mut seen = denials(&home);
    assert_eq!(seen, Vec::<[String; 4]>::new());
    // Another principal's agent name, through every door.
    assert_eq!(ask(&ann, "POST", "/api/v1/ops/add", Some("hers"), Some(&json!({ "title": "x" }))).status, 200);
    let call = json!({
        "call": { "project": { "key": "name:web", "label": "web" }, "actor": { "name": "hers" },
                  "request_id": { "value": "r-1", "given": true } },
        "op": "add", "request": { "title": "x" },
    });
    let told = ask(&bob, "POST", "/api/v1/call", None, Some(&call));
    assert_eq!(told.body["error"]["code"], "not_yours", "{told:?}");
    let row = |agent: &str, what: &str, code: &str| ["person:bob", agent, what, code].map(str::to_owned);
    assert_eq!(new(&mut seen), [row("hers", "add", "not_yours")]);
    let mut query = call;
    query["query"] = json!("peek");
    query["op"] = Value::Null;
    query["request"] = json!({});
    let told = ask(&bob, "POST", "/api/v1/call", None, Some(&query));
    assert_eq!(told.body["error"]["code"], "not_yours", "{told:?}");
    assert_eq!(new(&mut seen), [row("hers", "peek", "not_yours")]);
    // An address that is not revealed to exist.
    assert_eq!(ask(&bob, "GET", "/metrics", None, None).status, 404);
    assert_eq!(new(&mut seen), [row("person:bob", "read the metrics", "unknown_address")]);
    assert_eq!(ask(&bob, "POST", "/logout", None, None).status, 403);
    assert_eq!(new(&mut seen), [row("person:bob", "sign out", "login_refused")]);
    // Invalid login links, from an unknown caller.
    let told = up.ask("GET", "/login/zzz", &[], None);
    assert_eq!((told.status, &told.body["code"]), (403, &json!("login_refused")));
    let of_nobody = new(&mut seen);
    assert_eq!(of_nobody.iter().map(|row| (&*row[2], &*row[3])).collect::<Vec<_>>(), [("sign in", "login_refused")]);
}

#[test]
fn inv_s1_a_form_without_a_link_is_written_down() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "text/html")];
    let told = up.ask("POST", "/login", &headers, Some(&json!("link=zz")));
    assert_eq!(told.status, 403);
    let found = denials(&home);
    assert_eq!(found.iter().map(|row| (&*row[2], &*row[3])).collect::<Vec<_>>(), [("sign in", "login_refused")]);
}
