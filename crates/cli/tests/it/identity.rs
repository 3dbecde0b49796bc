//! The identity of the caller: one resolver with one order.

use crate::home::{Call, Engine, Home};

fn whoami(call: Call) -> (Option<String>, String) {
    let data = call.json().run().data();
    (data["agent"].as_str().map(str::to_owned), data["source"].as_str().unwrap().to_owned())
}

#[test]
fn inv_i1_the_flag_wins_over_the_variable_and_that_over_the_session() {
    let home = Home::new(Engine::File);
    let full = |args: &[&str]| {
        home.call(args).env("TENURE_AGENT", "by-variable").env("CLAUDE_CODE_SESSION_ID", "s1").env("CLAUDECODE", "1")
    };
    let found = |agent: &str, source: &str| (Some(agent.to_owned()), source.to_owned());
    assert_eq!(whoami(full(&["whoami", "--agent", "by-flag"])), found("by-flag", "--agent"));
    assert_eq!(whoami(full(&["--agent=by-flag", "whoami"])), found("by-flag", "--agent"));
    assert_eq!(whoami(full(&["whoami"])), found("by-variable", "TENURE_AGENT"));
    assert_eq!(whoami(full(&["whoami"]).env("TENURE_AGENT", "")), found("claude-s1", "CLAUDE_CODE_SESSION_ID"));
}

#[test]
fn inv_i1_a_tools_session_names_the_agent() {
    let home = Home::new(Engine::File);
    let found = |agent: &str, source: &str| (Some(agent.to_owned()), source.to_owned());
    let claude = home.call(&["whoami"]).env("CLAUDE_CODE_SESSION_ID", "3f2a-bc");
    assert_eq!(whoami(claude), found("claude-3f2a-bc", "CLAUDE_CODE_SESSION_ID"));
    let codex = home.call(&["whoami"]).env("CODEX_THREAD_ID", "0199/x y");
    assert_eq!(whoami(codex), found("codex-0199-x-y", "CODEX_THREAD_ID"));

    // Ops carry the same name.
    let added = home.call(&["add", "by a session"]).json().env("CODEX_THREAD_ID", "7").run();
    assert_eq!(added.code, 0);
    assert_eq!(home.events().pop().unwrap().actor, "codex-7");
    let agents = home.ok(&["agent", "list"]);
    assert_eq!((&agents["items"][0]["name"], &agents["items"][0]["tool"]), (&"codex-7".into(), &"codex".into()));
}

#[test]
fn inv_i1_a_tool_without_a_session_may_ask_but_not_act() {
    let home = Home::new(Engine::File);
    let task = home.add("there already");
    let events = home.events().len();
    let (codex, both) = ([("CODEX_SANDBOX", "seatbelt")], [("CLAUDECODE", "1"), ("GEMINI_CLI", "1")]);
    for marks in [&codex[..], &both[..], &[("GEMINI_CLI", "1")], &[("CURSOR_AGENT", "1")], &[("OPENCODE", "1")]] {
        let inside =
            |args: &[&str]| marks.iter().fold(home.call(args).json(), |call, (key, value)| call.env(key, value));
        for op in [&["add", "x"][..], &["claim"], &["note", &task, "x"], &["done", &task], &["edit", &task, "-p", "0"]]
        {
            let refusal = inside(op).run().refusal();
            refusal.is("denied", "identity_missing");
            assert_eq!((refusal.exit, refusal.detail("stage")), (1, &"resolve".into()));
            assert!(refusal.error["hint"].as_str().unwrap().contains("--agent NAME"), "{refusal:?}");
        }
        for query in [&["list"][..], &["show", &task], &["next"], &["status"], &["log"], &["holds"], &["why", &task]] {
            inside(query).run().data();
        }
        assert_eq!(inside(&["whoami"]).run().data()["agent"], serde_json::Value::Null);
        // With a name it may act.
        inside(&["note", &task, "x", "--agent", "named"]).run().data();
    }
    let by_named = home.events().iter().filter(|event| event.actor == "named").count();
    assert_eq!(home.events().len(), events + by_named);
    // A marker variable set to 0 does not count.
    assert_eq!(whoami(home.call(&["whoami"]).env("CLAUDECODE", "0")).0.as_deref(), Some("person:ann"));
}

#[test]
fn inv_i1_a_person_is_known_by_the_user() {
    let home = Home::direct(Engine::File);
    let person = |call: Call| whoami(call).0.unwrap();
    assert_eq!(whoami(home.call(&["whoami"])), (Some("person:ann".into()), "user".into()));
    assert_eq!(person(home.call(&["whoami"]).env("USER", "Ann Lee")), "person:ann-lee");
    assert_eq!(person(home.call(&["whoami"]).env("USER", "").env("LOGNAME", "bob")), "person:bob");
    // Without both, the password file names the uid, as `id` does.
    let id = std::process::Command::new("id").arg("-un").output().unwrap();
    let name = String::from_utf8(id.stdout).unwrap().trim().to_lowercase();
    assert_eq!(person(home.call(&["whoami"]).no_env("USER")), format!("person:{name}"));
}

#[test]
fn inv_i1_a_given_name_that_does_not_fit_is_refused() {
    let home = Home::direct(Engine::File);
    let long = "x".repeat(65);
    for bad in ["A", "a b", "-a", ".a", "ä", "a/b", "a\nb", "person:", &long] {
        for call in [home.call(&["add", "x", &format!("--agent={bad}")]), home.call(&["add", "x"]).agent(bad)] {
            call.json().run().refusal().is("usage", "bad_name");
        }
    }
    for call in [home.call(&["whoami"]).agent("A B"), home.call(&["list", "--agent", "A B"])] {
        assert_eq!(call.json().run().refusal().exit, 2, "a query does not bend it either");
    }
    assert!(home.files("home").is_empty(), "nothing was made: {:?}", home.files("home"));
    assert_eq!(home.ok_as(&"x".repeat(64), &["add", "x"])["number"], 1);
}

#[test]
fn inv_i2_an_unknown_agent_is_no_target() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("for somebody");
        home.ok_as("known", &["claim", &task]);
        assert_eq!(home.refused_as("known", &["transfer", "--to", "stranger"]).kind, "not_found");
        assert_eq!(home.refused(&["add", "x", "--for", "stranger"]).kind, "not_found");
        assert_eq!(home.refused(&["edit", &task, "--for", "stranger"]).kind, "not_found");
        assert_eq!(home.ok(&["add", "x", "--for", "known"])["assignee"], "known");
    }
}

#[test]
fn inv_t6_one_actor_never_reads_anothers_answer() {
    let home = Home::new(Engine::File);
    let ann = home.call(&["add", "x", "--request-id", "r-1"]).json().run();
    let bob = home.call(&["add", "x", "--request-id", "r-1"]).json().agent("bob").run();
    assert_ne!(ann.stdout, bob.stdout);
    assert_eq!(home.ok(&["list"])["total"], 2);
}
