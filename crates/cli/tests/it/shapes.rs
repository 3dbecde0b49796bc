//! The JSON output of every command: field names, times, exit codes.

use serde_json::{Value, json};

use crate::home::{Engine, Home, keys, text, words};

const TASK: &str = "id number title description priority labels acceptance status state after unmet attempt version \
    assignee reason blocked_on holder lapsed_from finished_by finished_at created_at updated_at not_before";
const HOLD: &str = "id kind subject holder fence mode reason granted_at expires_at expires_in_s ttl_s state liveness";
const EVENT: &str = "number at kind actor subject hold op request_id cause data";
const AGENT: &str = "name tool liveness last_seen last_seen_s focus registered_at";
const PAGE: &str = "items total more next";

/// Asserts the exact keys of an object.
#[track_caller]
fn is(value: &Value, expected: &str) {
    assert_eq!(keys(value), words(expected));
}

/// RFC 3339 in UTC with six decimals, so that texts sort as the instants do.
#[track_caller]
fn is_time(value: &Value) {
    let time = text(value);
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000000Z", "{time}");
}

#[test]
fn every_answer_has_its_shape() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let added = home.ok(&["add", "first", "-p", "1", "-l", "b", "-l", "a", "-d", "words", "--acceptance", "tests"]);
        is(&added, TASK);
        is_time(&added["created_at"]);
        assert_eq!(
            (&added["labels"], &added["priority"], &added["status"]),
            (&json!(["a", "b"]), &1.into(), &"open".into())
        );
        let first = text(&added["id"]);
        let second = home.ok(&["add", "second", "--after", &first]);
        assert_eq!(
            (&second["state"], &second["after"], &second["unmet"]),
            (&"waiting".into(), &json!([first]), &json!([first]))
        );
        let second = text(&second["id"]);

        let bulk = home.call(&["add", "--stdin"]).json().input(b"{\"title\":\"x\"}\n{\"title\":\"y\"}").run().data();
        is(&bulk, "count ids more");
        assert_eq!((&bulk["count"], &bulk["more"]), (&2.into(), &false.into()));

        let list = home.ok(&["list"]);
        is(&list, PAGE);
        assert_eq!((&list["total"], &list["more"], &list["next"]), (&4.into(), &false.into(), &Value::Null));
        is(&list["items"][0], TASK);

        let next = home.ok_as("a", &["next"]);
        is(&next, "task rule reason");
        assert_eq!((&next["task"]["id"], &next["rule"]), (&first.as_str().into(), &"ready".into()));
        let claimed = home.ok_as("a", &["claim"]);
        is(&claimed, "task hold rule reason");
        is(&claimed["task"], TASK);
        is(&claimed["hold"], HOLD);
        is(&claimed["task"]["holder"], "agent hold fence expires_at liveness");
        is_time(&claimed["hold"]["expires_at"]);
        assert_eq!((&claimed["hold"]["ttl_s"], &claimed["hold"]["expires_in_s"]), (&3600.into(), &3600.into()));
        assert_eq!(claimed["hold"]["fence"], claimed["task"]["holder"]["fence"]);
        assert_eq!(home.ok_as("a", &["claim", &first])["rule"], "own");

        let refusal = home.refused_as("b", &["claim", &first]);
        is(&refusal.error, "code kind message hint retryable details actions");
        let fields = "id state holder pattern mode reason age_s expires_in_s last_seen_s liveness place";
        is(&refusal.detail("blockers")[0], fields);
        assert_eq!(refusal.detail("total"), 1);
        assert!(refusal.detail("try").as_array().unwrap().len() <= 3);

        is(&home.ok_as("a", &["note", "half way", "--data", "{\"p50\":3}"]), "id task late memories artifacts");
        let noted = home.ok_as("b", &["note", &first, "seen"]);
        assert_eq!((&noted["task"], &noted["late"]), (&first.as_str().into(), &false.into()));

        let shown = home.ok(&["show", &first]);
        is(&shown, &format!("{TASK} blocker_gone notes dependents events"));
        assert_eq!(shown["dependents"], json!([second]));
        is(&shown["notes"][0], "id number agent at text data late");
        assert_eq!(shown["notes"][0]["data"], json!({ "p50": 3 }));
        is(&shown["events"][0], EVENT);
        let hold = text(&claimed["hold"]["id"]);
        is(&home.ok(&["show", &hold]), HOLD);
        is(&home.ok(&["show", &first, "--graph"]), "root tasks edges more tree mermaid");

        let holds = home.ok(&["holds"]);
        is(&holds, PAGE);
        is(&holds["items"][0], HOLD);
        assert_eq!(home.ok_as("b", &["holds", "--mine"])["items"], json!([]));

        let done = home.ok_as("a", &["done"]);
        is(&done, &format!("{TASK} late unlocked"));
        assert_eq!(
            (&done["unlocked"], &done["late"], &done["finished_by"]),
            (&json!([second]), &false.into(), &"a".into())
        );
        is_time(&done["finished_at"]);

        is(&home.ok_as("a", &["block", &second, "--reason", "no key"]), TASK);
        is(&home.ok(&["unblock", &second]), TASK);
        home.ok_as("a", &["claim", &second]);
        assert_eq!(home.ok_as("a", &["release"])["status"], "open");
        assert_eq!(home.ok(&["edit", &second, "--priority", "0", "--unlabel", "x"])["priority"], 0);
        home.ok_as("a", &["claim", &second]);
        let moved = home.ok_as("a", &["transfer", "--to", "b"]);
        is(&moved["holds"][0], HOLD);
        assert_eq!(home.ok(&["cancel", &second, "--force", "--reason", "no"])["status"], "cancelled");
        assert_eq!(home.ok(&["reopen", &second])["status"], "open");

        let log = home.ok(&["log", "--limit", "3"]);
        is(&log, &format!("{PAGE} cursor"));
        is(&log["items"][0], EVENT);
        is_time(&log["items"][0]["at"]);
        assert_eq!(log["more"], true);
        let why = home.ok(&["why", &first]);
        is(&why, "subject story more");
        is(&why["story"][0], "number at text");
        let status = home.ok(&["status"]);
        is(
            &status,
            "ready waiting started blocked stuck held done cancelled next_expiry next_expiry_s summary blocked_by \
             stuck_by holds overdue agents last_event guards",
        );
        is(&status["agents"][0], AGENT);
        let sent = home.ok_as("b", &["send", "a", "hello", "--request"]);
        is(&sent, "id to about hold urgency request");
        is(&sent["to"][0], "agent liveness last_seen_s");
        let found = home.ok_as("a", &["inbox"]);
        is(&found, &format!("{PAGE} offered acked"));
        let fields = "id number what from to about hold urgency request notice text sent_at again acked ended";
        is(&found["items"][0], fields);
        is_time(&found["items"][0]["sent_at"]);
        let agents = home.ok(&["agent", "list"]);
        is(&agents["items"][0], AGENT);
        let whoami = home.ok(&["whoami"]);
        for field in words("agent source project checkout store switched_on").split(' ') {
            assert!(!whoami[field].is_null(), "{field}");
        }
        is(&home.ok(&["project", "show"]), "key label named_by_repository pin problem store store_from");
        let doctor = home.ok(&["doctor"]);
        is(&doctor, "healthy checks");
        is(&doctor["checks"][0], "name result text step");
    }
}

#[test]
fn nothing_to_take_is_a_success_that_says_why() {
    let home = Home::new(Engine::File);
    let nothing = home.ok(&["claim"]);
    assert_eq!((&nothing["task"], &nothing["hold"], &nothing["rule"]), (&Value::Null, &Value::Null, &"none".into()));
    assert!(!text(&nothing["reason"]).is_empty());
    assert_eq!(home.ok(&["next"])["task"], Value::Null);
    // A task that cannot be claimed is a refusal.
    let first = home.add("first");
    let second = text(&home.ok(&["add", "second", "--after", &first])["id"]);
    assert_eq!(home.refused(&["claim", &second]).kind, "conflict");
    home.ok(&["done", &first]);
    assert_eq!(home.refused(&["claim", &first]).kind, "conflict");
}

#[test]
fn inv_t13_pages_are_stable_and_complete() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let ids = home.add_many(25);
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut args = vec!["list", "--limit", "10"];
            args.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor]));
            let page = home.ok(&args);
            seen.extend(page["items"].as_array().unwrap().iter().map(|task| text(&task["id"])));
            assert_eq!(page["more"], !page["next"].is_null());
            // A task before the cursor does not appear again.
            home.ok(&["add", "urgent", "-p", "0"]);
            match page["next"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, ids, "{engine:?}");

        let newest = home.ok(&["log", "--limit", "5"]);
        let numbers = |page: &Value| -> Vec<i64> {
            page["items"].as_array().unwrap().iter().map(|event| event["number"].as_i64().unwrap()).collect()
        };
        let last = numbers(&newest)[4];
        assert_eq!(numbers(&newest), (last - 4..=last).collect::<Vec<_>>(), "oldest first inside the newest page");
        assert_eq!(newest["total"], last);
        let older = home.ok(&["log", "--limit", "5", "--cursor", newest["next"].as_str().unwrap()]);
        assert_eq!(numbers(&older), (last - 9..=last - 5).collect::<Vec<_>>());
        let end = text(&newest["cursor"]);
        assert_eq!(home.ok(&["log", "--since", &end])["items"], json!([]));
        home.add("one more");
        assert_eq!(numbers(&home.ok(&["log", "--since", &end])), [last + 1]);
    }
}

#[test]
fn inv_t9_times_are_utc_in_every_zone() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let now = || tenure_core::Time(i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap());
        for zone in ["Asia/Tokyo", "America/New_York", "UTC", ":/no/such/zone"] {
            let task = home.call(&["add", zone]).json().env("TZ", zone).run().data();
            is_time(&task["created_at"]);
            let at = tenure_core::Time::parse(&text(&task["created_at"])).unwrap();
            assert!(
                at.age(now()) < tenure_core::Span::minutes(2) && at <= now() + tenure_core::Span::seconds(5),
                "{zone}"
            );
            let shown = home.call(&["log"]).env("TZ", zone).run().stdout;
            assert!(shown.lines().all(|line| line.contains("Z  ")), "{shown}");
            let hold =
                home.call(&["claim", &text(&task["id"]), "--ttl", "10m"]).json().agent("a").env("TZ", zone).run();
            assert_eq!(hold.data()["hold"]["expires_in_s"], 600);
        }
        assert_eq!(
            home.call(&["holds"]).json().env("TZ", "Asia/Tokyo").run().data()["items"].as_array().unwrap().len(),
            4
        );
    }
}

#[test]
fn inv_t6_a_request_id_is_carried_out_once() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let add = |title: &str| home.call(&["add", title, "--request-id", "r-1"]).json().run();
        let first = add("once");
        let events = home.events().len();
        for _ in 0..3 {
            assert_eq!(add("once").stdout, first.stdout, "the same bytes");
        }
        let mismatch = add("twice").refusal();
        assert_eq!(mismatch.is("mismatch", "request_mismatch").exit, 1);
        assert_eq!(home.events().len(), events);
        assert_eq!(home.events().pop().unwrap().request_id, "r-1");
        // Another op has its own records; a refused one leaves none.
        let task = text(&first.json.unwrap()["data"]["id"]);
        home.ok_as("holder", &["claim", &task]);
        let claim = || home.call(&["claim", &task, "--request-id", "r-2"]).json().agent("late").run();
        claim().refusal().is("conflict", "task_held");
        home.ok_as("holder", &["release", &task]);
        let won = claim();
        assert_eq!((won.code, claim().stdout), (0, won.stdout));
        // Even when its task is finished, and nothing is renewed or appended.
        home.ok_as("late", &["done", &task]);
        let events = home.events().len();
        assert_eq!(claim().code, 0);
        assert_eq!(home.events().len(), events);
        // T7: without ids, the same arguments again are a new request.
        let id = home.add("x");
        for title in ["1", "2", "1"] {
            home.ok(&["edit", &id, "--title", title]);
        }
        assert_eq!(home.ok(&["show", &id])["title"], "1");
    }
}
