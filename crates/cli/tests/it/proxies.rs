//! Clients behind a proxy: which address counts, and which proxy is trusted.

use std::io::{Read, Write};

use rustix::process::Signal;
use serde_json::Value;

use crate::client::{Reply, Up, home};
use crate::configured::{Logged, configure};
use crate::home::{Engine, Home, text, wait_until};

/// The client addresses of the recorded denials.
fn addresses(home: &Home) -> Vec<String> {
    let audit = home.ok(&["log", "--whole-store", "--kind", "access.denied", "--limit", "1000"]);
    audit["items"].as_array().unwrap().iter().map(|event| text(&event["data"]["from"])).collect()
}

/// Sends a request with an unknown secret.
fn guess(up: &Up, headers: &[(&str, &str)]) -> u16 {
    let mut all = vec![("Authorization", "Bearer tenure_0000")];
    all.extend(headers);
    up.ask("GET", "/api/v1/whoami", &all, None).status
}

fn sign_in(up: &Up, headers: &[(&str, &str)]) -> u16 {
    let link = "link=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let mut head =
        format!("POST /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n", link.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = up.connect();
    stream.write_all(format!("{head}\r\n{link}").as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    Reply::read(&said).status
}

/// Sends requests until the rate limit applies.
fn exhaust(what: &str, mut ask: impl FnMut() -> u16) {
    assert!((0..200).any(|_| ask() == 429), "{what}: never too often");
}

#[test]
fn inv_s1_clients_behind_a_proxy_have_an_allowance_each_and_the_log_shows_them() {
    let home = home(Engine::File);
    configure(&home, "proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]\n");
    let up = Up::start(&home, &["serve", "--per-second", "100"]);
    let (one, other) = (("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-For", "203.0.113.8, 10.1.2.3"));
    exhaust("a guesser", || guess(&up, &[one]));
    assert_eq!(guess(&up, &[other]), 401, "another client behind the same proxy");
    assert_eq!(guess(&up, &[("Forwarded", "for=\"[2001:db8::1]:4711\";proto=https")]), 401);
    // An address that the client itself sends is further left and is ignored: the rate limit still applies. The
    // allowance is refilled with time, so it is exhausted again for each check, and each check claims an unused
    // address.
    for two_headers in [false, true] {
        let refused = (1..=100).any(|number| {
            exhaust("the guesser again", || guess(&up, &[one]));
            let claimed = format!("198.51.100.{number}");
            let joined = format!("{claimed}, 203.0.113.7");
            let status = match two_headers {
                true => guess(&up, &[("X-Forwarded-For", &claimed), one]),
                false => guess(&up, &[("X-Forwarded-For", &joined)]),
            };
            status == 429
        });
        assert!(refused, "a claimed address was believed, two headers: {two_headers}");
    }
    // An invalid address is ignored: the proxy's own counts.
    for bad in ["203.0.113.7, <script>", "unknown", "203.0.113.7.8", "::1%\\n"] {
        assert_eq!(guess(&up, &[("X-Forwarded-For", bad)]), 401, "{bad}");
    }
    wait_until("the denials are written down", || addresses(&home).iter().any(|from| from == "2001:db8::1"));
    let seen = addresses(&home);
    let known = ["203.0.113.7", "203.0.113.8", "2001:db8::1", "127.0.0.1"];
    assert!(seen.iter().all(|from| known.contains(&from.as_str())), "{seen:?}");
    assert!(known.iter().all(|known| seen.iter().any(|from| from == known)), "{seen:?}");
}

#[test]
fn inv_s1_nobody_but_a_trusted_proxy_says_where_a_client_is() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["serve", "--per-second", "100"]);
    let mut number = 0;
    exhaust("a guesser that names another address each time", || {
        number += 1;
        guess(&up, &[("X-Forwarded-For", &format!("203.0.113.{}", number % 250))])
    });
    assert!(addresses(&home).iter().all(|from| from == "127.0.0.1"));
}

#[test]
fn inv_s1_guessing_tokens_and_signing_in_have_an_allowance_each() {
    let home = home(Engine::File);
    let limited = Up::start(&home, &["serve", "--per-second", "100"]);
    exhaust("a guesser", || guess(&limited, &[]));
    assert_eq!(sign_in(&limited, &[]), 403, "signing in is another matter");
    exhaust("signing in", || sign_in(&limited, &[]));
    wait_until("the guesser's allowance is back", || guess(&limited, &[]) == 401);
}

#[test]
fn inv_c1_other_proxies_are_believed_from_the_signal_on_and_bad_ones_never() {
    let home = home(Engine::File);
    configure(&home, "proxies = []\n");
    let mut server = Logged::start(&home, &["serve", "--listen", "127.0.0.1:0", "--json"]);
    let says = |server: &Logged| guess(&server.up, &[("X-Forwarded-For", "203.0.113.9")]);
    assert_eq!(says(&server), 401);
    assert!(!addresses(&home).contains(&"203.0.113.9".to_owned()));
    configure(&home, "proxies = [\"127.0.0.0/8\"]\n");
    server.up.signal(Signal::HUP);
    assert!(server.told("reloaded")["from_the_next_start"].is_null());
    assert_eq!(says(&server), 401);
    wait_until("the client is shown", || addresses(&home).contains(&"203.0.113.9".to_owned()));
    for bad in ["\"127.0.0.0/33\"", "\"everybody\"", "\"10.0.0.0/8/8\"", "7"] {
        configure(&home, &format!("proxies = [{bad}]\n"));
        server.up.signal(Signal::HUP);
        let line: Value = server.told("stays in force");
        assert_eq!(line["code"], "config_invalid");
        assert!(text(&line["cause"]).contains("tenure.toml line 3"), "{line}");
    }
}
