//! The configuration of a server: at its start, and reloaded while it runs.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, Home, text};

/// A server whose log the test reads.
pub(crate) struct Logged {
    pub(crate) up: Up,
    log: BufReader<ChildStderr>,
}

impl Logged {
    /// Starts it with only the configuration and the given flags.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Logged {
        let mut command = home.call(args).into_command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child: Child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        Logged { up: Up::of(child), log }
    }

    /// The next log line that contains a text.
    pub(crate) fn told(&mut self, about: &str) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "nothing is told about {about}");
            if line.contains(about) {
                return serde_json::from_str(&line).unwrap();
            }
        }
    }
}

pub(crate) fn configure(home: &Home, serve: &str) {
    std::fs::write(home.path("repo/tenure.toml"), format!("project = \"web\"\n[serve]\n{serve}")).unwrap();
}

#[test]
fn inv_c1_a_server_follows_a_good_configuration_and_keeps_the_old_one_where_it_is_bad() {
    for engine in Engine::ALL {
        let home = home(engine);
        let secret = bearer(&token(&home, "person:ann", "admin", "*"));
        configure(&home, "listen = \"127.0.0.1:0\"\nbody_mib = 1\nseconds = 20\n");
        let mut server = Logged::start(&home, &["serve", "--json", "--seconds", "10"]);
        let first = text(&server.told("serving")["revision"]);
        let two_mib = json!({ "title": "long", "description": "x".repeat(2 << 20) });
        let auth = [("Authorization", secret.as_str())];
        let status =
            |server: &Logged| server.up.ask("POST", "/api/v1/ops/add?project=web", &auth, Some(&two_mib)).status;
        let in_force = |server: &Logged, revision: &str| {
            let said = text(&server.up.ask("GET", "/metrics", &auth, None).body);
            said.contains(&format!("tenure_configuration_info{{revision=\"{revision}\"}} 1\n"))
        };
        assert_eq!(status(&server), 413);
        assert!(in_force(&server, &first));

        configure(&home, "listen = \"127.0.0.1:1\"\nbody_mib = 4\n");
        server.up.signal(Signal::HUP);
        let line = server.told("reloaded");
        assert_eq!((&line["level"], &line["from_the_next_start"]), (&json!("notice"), &json!("serve.listen")));
        let second = text(&line["revision"]);
        assert_ne!(first, second);
        // The body is now accepted, and the op refuses its content.
        assert_eq!(status(&server), 400);
        assert!(in_force(&server, &second));

        for (bad, named) in [
            ("body_mib = 0\n", "tenure.toml line 3: `body_mib`"),
            ("body_mib = 1\nbodies = 1\n", "`bodies`"),
            ("= 3\n", "tenure.toml line 3"),
        ] {
            configure(&home, bad);
            server.up.signal(Signal::HUP);
            let line = server.told("stays in force");
            assert_eq!((&line["level"], &line["code"]), (&json!("error"), &json!("config_invalid")));
            assert!(text(&line["cause"]).contains(named), "{line}");
            assert_eq!(text(&line["revision"]), second);
            assert_eq!(status(&server), 400);
            assert!(in_force(&server, &second));
        }
        // A server started now is refused with the same message.
        let refused = home.refused(&["serve"]);
        assert_eq!(refused.code, "config_invalid");
        assert!(refused.message().contains("tenure.toml line 3"), "{}", refused.message());
        server.up.signal(Signal::TERM);
        assert_eq!(server.up.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_quiet_server_tells_nothing_of_what_goes_well_with_json_too() {
    let home = home(Engine::File);
    for name in ["serve", "up"] {
        let mut server = Logged::start(&home, &[name, "--listen", "127.0.0.1:0", "--quiet", "--json"]);
        assert_eq!(server.up.ask("GET", "/livez", &[], None).status, 200);
        assert_eq!(server.up.ask("GET", "/nowhere", &[], None).status, 404);
        server.up.signal(Signal::TERM);
        assert_eq!(server.up.child.wait().unwrap().code(), Some(0));
        let mut told = String::new();
        server.log.read_to_string(&mut told).unwrap();
        assert_eq!(told, "");
    }
}

#[test]
fn a_server_can_be_told_to_end_as_soon_as_it_says_that_it_serves() {
    let home = home(Engine::File);
    for _ in 0..10 {
        let mut server = Logged::start(&home, &["up", "--no-http", "--json"]);
        server.up.signal(Signal::TERM);
        assert_eq!(server.up.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_store_has_one_server_also_where_there_is_no_place_for_a_socket() {
    let home = Home::without_git(Engine::File);
    let deep = home.path(&"d".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let store = deep.join("tenure.db");
    let words = ["--store", store.to_str().unwrap(), "--project", "deep", "up", "--listen", "127.0.0.1:0", "--json"];
    let first = Logged::start(&home, &words);
    for runtime in [None, Some(home.path("tmp"))] {
        let mut second = home.call(&words).into_command();
        if let Some(runtime) = runtime {
            second.env("XDG_RUNTIME_DIR", runtime);
        }
        // Reads its first line instead of waiting for its end: a server that started would stay.
        let mut second = second.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(second.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let _ = second.kill();
        second.wait().unwrap();
        assert!(line.contains("\"already_served\""), "{line}");
    }
    drop(first);
}
