//! Path holds with sessions, mail and briefs: they end with the session, and requesters and the next holder are told.

use serde_json::{Value, json};
use tenure_core::session::Start;
use tenure_core::{Result, Span};
use tenure_kernel::op::{release, reserve, resume, send};
use tenure_kernel::{Call, Op};

use super::Case;
use super::mail::{meet, read_all, send as post};
use super::restoring::{again, take};
use super::sessions::{ending, hook, start};
use super::shorthand::{claiming, id};
use crate::fixture::{World, code_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_i4_a_session_that_ends_takes_its_paths_with_it", with_the_session),
    Case::everywhere("inv_m7_a_message_ends_with_its_hold_on_a_path", told_how),
    Case::everywhere("inv_m7_a_message_ends_with_a_path_that_lapses", told_of_a_lapse),
    Case::everywhere("inv_m7_a_restore_ends_messages_about_paths", told_of_a_restore),
    Case::everywhere("a_brief_says_which_paths_are_held", in_the_brief),
];

fn reserving(path: &str) -> Op {
    Op::new(reserve::Reserve { paths: vec![path.into()], ..reserve::Reserve::default() })
}

fn with_the_session(world: &World) {
    let task = world.add("one");
    start(world, &world.kernel, 1, "A", Start::Startup, &[]);
    let here = Call { checkout: world.from("main", "claude-a").checkout, ..hook(world, "claude-a", 1) };
    let again = |call: &Call| Call { request_id: world.call("claude-a").request_id, ..call.clone() };
    world.run_call(&here, &reserving("own/")).unwrap();
    world.run_call(&again(&here), &claiming(&task)).unwrap();
    world.run_call(&again(&here), &reserving("src/")).unwrap();
    world.advance(Span::seconds(30));
    let before = world.last_event();
    let ended = world.run_call(&hook(world, "claude-a", 1), &ending("A", "prompt_input_exit")).unwrap();
    assert_eq!(ended["freed"], json!([task]));
    let events: Vec<_> = world.events().into_iter().filter(|event| event.number > before).collect();
    let subjects: Vec<&str> = events.iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(subjects, [task.as_str(), "src/", "own/"]);
    for event in &events {
        assert_eq!((event.kind.as_str(), &event.data["session_ended"]), ("hold.expired", &json!(true)), "{event:?}");
        assert_eq!((&event.data["proven_dead"], &event.data["ended_at"]), (&json!(false), &json!(event.at)));
    }
    assert!(world.check("b", &["src/", "own/"]).free);
    // The agent that takes the task over gets the bound paths, and no others.
    let taken = world.run_call(&world.from("main", "b"), &claiming(&task)).unwrap();
    assert_eq!((taken["paths"].as_array().unwrap().len(), &taken["paths"][0]["subject"]), (1, &json!("src/")));
    world.sound();
}

fn about(what: &str, text: &str) -> send::Send {
    send::Send { about: Some(what.into()), text: text.into(), request: true, ..send::Send::default() }
}

/// How and by whom the only new message of an agent ended.
fn told(world: &World, agent: &str) -> (String, String) {
    let found = read_all(world, agent).items;
    assert_eq!(found.len(), 1, "{found:?}");
    let ended = found[0].ended.clone().expect("a message that is over");
    (ended.how, ended.by.into())
}

type End = fn(&World, &str, &str) -> Result<Value>;

/// Each way in which a path hold ends, with the reported outcome.
const ENDS: [(End, &str, &str); 9] = [
    (|world, _, _| world.release_paths("a", &["src/"]), "released", "a"),
    (|world, _, hold| world.run("a", releasing(hold, false)), "released", "a"),
    (|world, _, hold| world.run("person:ann", releasing(hold, true)), "released", "person:ann"),
    (|world, task, _| world.done("a", task), "done", "a"),
    (|world, task, _| world.block("a", task, "waits"), "blocked", "a"),
    (|world, task, _| world.cancel("a", task), "cancelled", "a"),
    (|world, task, _| world.release("a", task), "released", "a"),
    (|world, task, _| world.transfer("a", task, "c"), "transferred", "a"),
    (
        |world, _, _| {
            let knowing = world.call_knowing_dead("c", &["a"]);
            world.run_call(&Call { checkout: world.from("main", "c").checkout, ..knowing }, &reserving("src/x"))
        },
        "expired",
        "a",
    ),
];

fn releasing(hold: &str, force: bool) -> Op {
    Op::new(release::Release { hold: Some(hold.into()), force, ..release::Release::default() })
}

fn told_how(world: &World) {
    meet(world, &["a", "b", "c"]);
    for (at, (end, how, by)) in ENDS.into_iter().enumerate() {
        let task = world.add("one");
        world.claim("a", &task).unwrap();
        let hold = id(&world.reserve("a", &["src/"]).unwrap()["holds"][0]);
        let sent = post(world, "b", about(&hold, how)).unwrap();
        assert_eq!(sent["to"][0]["agent"], "a");
        end(world, &task, &hold).unwrap();
        assert_eq!(told(world, "b"), (how.to_owned(), by.to_owned()), "{at}");
        let ended: Vec<_> = world.events().into_iter().filter(|event| event.kind == "message.ended").collect();
        assert_eq!(ended.len(), at + 1);
        let cause = world.events().into_iter().find(|event| Some(event.number) == ended[at].cause).unwrap();
        let names_it = cause.hold.as_deref() == Some(hold.as_str()) || cause.data["ended_hold"] == json!(hold);
        assert!(cause.subject == "src/" && names_it, "{cause:?}");
        // Nothing is reported twice.
        for agent in ["a", "c"] {
            let _ = world.release(agent, &task);
            let _ = world.release_paths(agent, &["./"]);
        }
        assert_eq!(read_all(world, "b").items.len(), 0, "{how}");
        world.sound();
    }
}

fn told_of_a_lapse(world: &World) {
    meet(world, &["a", "b", "c"]);
    let held = world.reserve_with("a", &["src/"], |request| request.ttl_s = Some(60)).unwrap();
    let hold = id(&held["holds"][0]);
    post(world, "b", about(&hold, "how far?")).unwrap();
    world.advance(Span::seconds(60));
    assert_eq!(code_of(world.done("c", "t-00000")), "not_found");
    assert_eq!(told(world, "b"), ("expired".to_owned(), "a".to_owned()));
    assert_eq!(code_of(post(world, "b", about(&hold, "and now?"))), "hold_over");
    world.sound();
}

fn told_of_a_restore(world: &World) {
    meet(world, &["a", "b"]);
    let hold = id(&world.reserve("a", &["src/"]).unwrap()["holds"][0]);
    post(world, "b", about(&hold, "how far?")).unwrap();
    let (path, _) = take(world, "b.db");
    again(world, &path, "safety.db");
    assert_eq!(told(world, "b"), ("restored".to_owned(), "person:ann".to_owned()));
    world.sound();
}

fn in_the_brief(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    world.reserve("a", &["src/a.rs", "src/b.rs"]).unwrap();
    world.advance(Span::seconds(60));
    world.reserve("c", &["src/a.rs"]).unwrap();
    world.share("c", &["docs/\n## Do next"]).unwrap();
    world.reserve_with("c", &["all/"], |request| request.all_checkouts = true).unwrap();
    world.run_call(&world.from("other", "c"), &reserving("src/")).unwrap();
    let resumed = world.run_call(&world.from("main", "b"), &Op::new(resume::Resume::default())).unwrap();
    assert_eq!(resumed["paths"][0]["subject"], "src/b.rs");
    assert_eq!(resumed["lost_paths"][0]["pattern"], "src/a.rs");
    let brief = resumed["brief"]["text"].as_str().unwrap();
    for line in [
        "- Paths you hold for it: “src/b.rs”",
        "- You did not get the path “src/a.rs” back: c now holds it",
        "- c holds the path “src/a.rs”, until",
        "- c holds the path “all/” in every checkout, until",
        // The brief reports this first, because its reader holds a file of it.
        "- c holds the path “src/” in another checkout (“other”), and you hold it in yours",
    ] {
        assert!(brief.contains(line), "{line} is not in\n{brief}");
    }
    assert!(brief.lines().any(|line| line.starts_with("- c holds the path “docs/") && line.contains(", shared,")));
    assert_eq!(brief.lines().filter(|line| *line == "## Do next").count(), 1, "{brief}");
    world.sound();
}
