//! Hooks of two people whose tools use the same session id, through a server.

use serde_json::{Value, json};

use crate::client::{Up, home, token};
use crate::home::{Call, Engine, Home, text};

/// A person on another machine, with their own clone.
struct Far<'a> {
    home: &'a Home,
    up: &'a Up,
    clone: &'static str,
    secret: String,
}

impl<'a> Far<'a> {
    fn new(home: &'a Home, up: &'a Up, name: &'static str) -> Far<'a> {
        home.git_init(name);
        Far { home, up, clone: name, secret: token(home, &format!("person:{name}"), "worker", "web") }
    }

    fn call(&self, args: &[&str]) -> Call {
        let call = self.home.call(args).cwd(self.home.path(self.clone)).no_env("TENURE_STORE").env("USER", self.clone);
        let call = call.env("TENURE_PROJECT", "web");
        call.env("TENURE_URL", format!("http://{}", self.up.address)).env("TENURE_TOKEN", &self.secret)
    }

    fn hook(&self, event: &str, more: &Value) {
        let mut payload = json!({
            "session_id": "s1",
            "cwd": self.home.path(self.clone),
            "hook_event_name": event,
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let output = self.call(&["hook", "claude", event]).input(payload.to_string().as_bytes()).run();
        assert_eq!(output.code, 0, "{output:?}");
    }

    fn ok(&self, agent: &str, args: &[&str]) -> Value {
        self.call(args).agent(agent).json().run().data()
    }
}

#[test]
fn inv_s2_hooks_of_another_person_do_not_end_or_take_a_session_by_its_id() {
    for engine in Engine::ALL {
        let home = home(engine);
        let up = Up::start(&home, &["serve"]);
        let (ann, bob) = (Far::new(&home, &up, "ann"), Far::new(&home, &up, "bob"));
        let agents = || {
            let listed = home.ok(&["agent", "list"]);
            let mut names: Vec<String> =
                listed["items"].as_array().unwrap().iter().map(|agent| text(&agent["name"])).collect();
            names.retain(|name| name.starts_with("claude"));
            names
        };
        ann.hook("SessionStart", &json!({ "source": "startup" }));
        assert_eq!(agents(), ["claude-s1"], "{engine:?}");
        let task = text(&ann.ok("claude-s1", &["claim"])["task"]["id"]);
        bob.hook("SessionStart", &json!({ "source": "resume" }));
        assert_eq!(agents(), ["claude-s1", "claude-s1.2"], "{engine:?}");
        bob.hook("SessionEnd", &json!({ "reason": "other" }));
        assert_eq!(home.ok(&["show", &task])["holder"]["agent"], "claude-s1", "{engine:?}");
        // Each keeps its identity from event to event.
        ann.hook("SessionStart", &json!({ "source": "compact" }));
        bob.hook("SessionStart", &json!({ "source": "resume" }));
        assert_eq!(agents(), ["claude-s1", "claude-s1.2"], "{engine:?}");
        ann.hook("SessionEnd", &json!({ "reason": "other" }));
        assert!(home.ok(&["show", &task])["holder"].is_null(), "{engine:?}");
    }
}
