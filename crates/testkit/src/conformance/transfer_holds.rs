//! Transfers of paths and locks, and of everything that an agent holds.

use serde_json::{Value, json};
use tenure_core::Result;
use tenure_core::Span;
use tenure_core::event::kind;
use tenure_kernel::Op;
use tenure_kernel::op::lock::LockRenewal;
use tenure_kernel::op::{send, transfer};
use tenure_kernel::query;

use super::Case;
use super::shorthand::{fence, words};
use crate::fixture::{World, code_of, kind_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r9_a_path_is_transferred_with_its_remaining_time", path),
    Case::everywhere("inv_r9_a_path_leaves_its_task_behind", leaves_its_task),
    Case::everywhere("inv_r9_paths_are_transferred_all_or_none", all_or_none),
    Case::everywhere("inv_r9_a_path_that_would_conflict_with_one_that_stays_is_not_transferred", split),
    Case::everywhere("inv_r9_a_lock_is_transferred_under_a_new_fence", lock),
    Case::everywhere("inv_r14_the_lock_of_a_runner_and_an_offer_are_not_transferred", stays),
    Case::everywhere("inv_r9_everything_is_transferred_one_event_a_hold", everything),
    Case::everywhere("inv_r9_everything_or_nothing", everything_or_nothing),
    Case::everywhere("inv_r9_a_person_transfers_everything_of_another_agent", of_another),
    Case::everywhere("inv_r9_a_transfer_names_one_thing", one_thing),
];

impl World {
    fn hand(&self, agent: &str, change: impl FnOnce(&mut transfer::Transfer)) -> Result<Value> {
        let mut request = transfer::Transfer { to: "b".into(), ..transfer::Transfer::default() };
        change(&mut request);
        self.run_call(&self.from("main", agent), &Op::new(request))
    }

    fn hand_paths(&self, agent: &str, paths: &[&str]) -> Result<Value> {
        self.hand(agent, |request| request.paths = words(paths))
    }

    fn hand_lock(&self, agent: &str, name: &str) -> Result<Value> {
        self.hand(agent, |request| request.lock = Some(name.into()))
    }

    fn hand_all(&self, agent: &str) -> Result<Value> {
        self.hand(agent, |request| request.all = true)
    }

    /// What an agent holds, sorted.
    fn held_by(&self, agent: &str) -> Vec<String> {
        let page = self.kernel.ask(&self.call(agent), &query::holds::Holds::of(Some(agent), 100)).unwrap();
        let mut held: Vec<String> = page.items.into_iter().map(|hold| hold.subject).collect();
        held.sort();
        held
    }
}

fn known(world: &World, agents: &[&str]) {
    let task = world.add("hello");
    for agent in agents {
        world.note(agent, &task, "hello").unwrap();
    }
    world.cancel("person:ann", &task).unwrap();
}

fn path(world: &World) {
    known(world, &["b"]);
    let before = world.reserve_with("a", &["src/a.rs"], |request| request.ttl_s = Some(1_000)).unwrap();
    let before = &before["holds"][0];
    let about =
        send::Send { about: before["id"].as_str().map(Into::into), text: "how long?".into(), ..Default::default() };
    world.run("c", Op::new(about)).unwrap();
    world.advance(Span::seconds(100));
    let last = world.last_event();
    let moved = world.hand_paths("a", &["src/"]).unwrap();
    assert_eq!(world.kinds_after(last), ["hold.transferred", "message.ended"], "one event a hold");
    let hold = &moved["holds"][0];
    assert_eq!((&hold["holder"], &hold["subject"], &hold["ttl_s"]), (&json!("b"), &json!("src/a.rs"), &json!(1_000)));
    assert_eq!((&hold["expires_in_s"], &hold["fence"]), (&json!(900), &json!(last.next().get())));
    assert_ne!(hold["id"], before["id"]);
    assert_eq!(code_of(world.reserve("a", &["src/a.rs"])), "path_held");
    assert_eq!((world.held_by("a"), world.held_by("b")), (vec![], vec!["src/a.rs".to_owned()]));
    // It is not held by `a` any more, and `a` has not lost it.
    assert_eq!(code_of(world.hand_paths("a", &["src/a.rs"])), "path_held");
    assert_eq!(code_of(world.hand_paths("a", &["docs/"])), "nothing_to_transfer");
    assert_eq!(kind_of(world.hand_paths("a", &["docs/"])), "not_found");
    // By its id, by its holder, to the holder itself, and under an old fence.
    let by_id = |agent: &str, to: &str, fence: Option<i64>| {
        world.hand(agent, |request| {
            request.hold = hold["id"].as_str().map(Into::into);
            request.to = to.into();
            request.fence = fence.map(Into::into);
        })
    };
    assert_eq!(code_of(by_id("a", "c", None)), "path_held");
    assert_eq!(code_of(by_id("b", "b", None)), "same_holder");
    assert_eq!(code_of(by_id("b", "c", Some(1))), "stale_fence");
    assert_eq!(code_of(by_id("b", "nobody", None)), "unknown_agent");
    by_id("b", "c", hold["fence"].as_i64()).unwrap();
    assert_eq!(world.held_by("c"), ["src/a.rs"]);
    assert_eq!(code_of(by_id("b", "a", None)), "nothing_to_transfer", "it has ended");
    // What has lapsed is stale.
    world.advance(Span::seconds(1_000));
    assert_eq!(code_of(world.hand("c", |request| request.paths = words(&["src/a.rs"]))), "lapsed");
    world.sound();
}

fn leaves_its_task(world: &World) {
    known(world, &["b"]);
    let task = world.add("one");
    world.claim_for("a", &task, 600).unwrap();
    world.reserve_with("a", &["src/a.rs"], |request| request.ttl_s = Some(3_000)).unwrap();
    world.reserve("a", &["src/b.rs"]).unwrap();
    world.advance(Span::seconds(100));
    let moved = world.hand_paths("a", &["src/a.rs"]).unwrap()["holds"][0].clone();
    assert_eq!((moved.get("task"), &moved["expires_in_s"]), (None, &json!(500)), "it would have ended with its task");
    assert_eq!(world.show(&task)["holder"]["agent"], "a");
    // It does not end with the task, and is not granted to the agent that takes the task over.
    world.advance(Span::seconds(450));
    world.note("b", &world.add("two"), "I am here").unwrap();
    world.advance(Span::seconds(200));
    let claimed = world.run_call(&world.from("main", "c"), &super::shorthand::claiming(&task)).unwrap();
    assert_eq!((&claimed["paths"][0]["subject"], claimed["paths"].as_array().unwrap().len()), (&json!("src/b.rs"), 1));
    assert_eq!(world.held_by("b"), ["src/a.rs"]);
    world.sound();
}

fn all_or_none(world: &World) {
    known(world, &["b"]);
    world.reserve("a", &["src/a.rs", "src/b.rs"]).unwrap();
    world.reserve("c", &["docs/"]).unwrap();
    let last = world.last_event();
    assert_eq!(code_of(world.hand_paths("a", &["src/a.rs", "docs/"])), "path_held");
    assert_eq!(code_of(world.hand_paths("a", &["src/a.rs", "x"])), "nothing_to_transfer");
    let force = |agent: &str| {
        world.hand(agent, |request| {
            request.paths = words(&["src/", "docs/"]);
            request.force = true;
        })
    };
    assert_eq!(code_of(force("a")), "people_only");
    assert_eq!(world.last_event(), last);
    // A person moves those of several agents at once; each event names whom it overrode.
    assert_eq!(force("person:ann").unwrap()["holds"].as_array().unwrap().len(), 3);
    let events = world.events();
    let overrode: Vec<&Value> = events
        .iter()
        .filter(|event| event.kind == kind::HOLD_TRANSFERRED)
        .map(|event| &event.data["overrode"])
        .collect();
    assert_eq!(overrode, ["a", "a", "c"]);
    assert_eq!(world.held_by("b"), ["docs/", "src/a.rs", "src/b.rs"]);
    // A path that both share ends for the one that gives it.
    world.share("a", &["both"]).unwrap();
    world.share("b", &["both"]).unwrap();
    let last = world.last_event();
    assert_eq!(world.hand_paths("a", &["both"]).unwrap()["holds"], json!([]));
    assert_eq!(world.kinds_after(last), ["path.released"]);
    assert_eq!(world.held_by("a"), Vec::<String>::new());
    world.sound();
}

fn split(world: &World) {
    known(world, &["b"]);
    world.reserve("a", &["src/"]).unwrap();
    world.reserve("a", &["./"]).unwrap();
    let last = world.last_event();
    assert_eq!(code_of(world.hand_paths("a", &["src/"])), "transfer_splits");
    assert_eq!(world.last_event(), last);
    world.hand_paths("a", &["./"]).unwrap();
    assert_eq!(world.held_by("b"), ["./", "src/"], "both are within it");
    world.sound();
}

fn lock(world: &World) {
    known(world, &["b"]);
    let before = world.lock_with("a", "deploy", |request| request.reason = "1.4".into()).unwrap();
    world.advance(Span::seconds(100));
    let last = world.last_event();
    let hold = world.hand_lock("a", "deploy").unwrap()["holds"][0].clone();
    assert_eq!(world.kinds_after(last), ["hold.transferred"]);
    assert_eq!((&hold["kind"], &hold["holder"], &hold["reason"]), (&json!("name"), &json!("b"), &json!("1.4")));
    assert_eq!((&hold["expires_in_s"], &hold["fence"]), (&json!(500), &json!(last.next().get())));
    let event = world.events().pop().unwrap();
    assert_eq!((&event.data["kind"], &event.data["ended_hold"]), (&json!("name"), &before["id"]));
    // The old fence is stale, the new one renews; the calls of the new holder renew it too.
    let renew =
        |agent: &str, fence: i64| world.lock_with(agent, "deploy", |request| request.fence = Some(fence.into()));
    assert_eq!(kind_of(renew("a", before["fence"].as_i64().unwrap())), "stale");
    assert_eq!(code_of(world.lock("a", "deploy")), "lock_held");
    renew("b", hold["fence"].as_i64().unwrap()).unwrap();
    assert_eq!(code_of(world.hand_lock("a", "deploy")), "lock_held");
    assert_eq!(code_of(world.hand_lock("a", "other")), "nothing_to_transfer");
    assert_eq!(code_of(world.hand_lock("b", "deploy")), "same_holder");
    world.advance(Span::minutes(11));
    assert_eq!(code_of(world.hand_lock("b", "deploy")), "lapsed");
    world.sound();
}

fn stays(world: &World) {
    known(world, &["b"]);
    let runner = world.lock_with("a", "deploy", |request| request.renewal = LockRenewal::Runner).unwrap();
    for (agent, force) in [("a", false), ("person:ann", true)] {
        let refused = world.hand(agent, |request| {
            request.hold = runner["id"].as_str().map(Into::into);
            request.force = force;
        });
        assert_eq!(code_of(refused), "hold_bound");
    }
    assert_eq!(code_of(world.hand_all("a")), "nothing_to_transfer", "it stays with its command");
    world.reserve("c", &["src/"]).unwrap();
    world.reserve_with("a", &["src/"], |request| request.wait = true).unwrap();
    world.release_paths("c", &["src/"]).unwrap();
    assert_eq!(code_of(world.hand_paths("a", &["src/"])), "hold_bound", "it is offered");
    world.reserve("a", &["docs/"]).unwrap();
    let moved = world.hand_all("a").unwrap();
    assert_eq!((&moved["holds"][0]["subject"], &moved["stays"][0]["subject"]), (&json!("docs/"), &json!("deploy")));
    assert_eq!(world.held_by("b"), ["docs/"]);
    world.sound();
}

fn everything(world: &World) {
    known(world, &["b"]);
    let (one, two) = (world.add("one"), world.add("two"));
    world.lock("a", "deploy").unwrap();
    world.claim("a", &one).unwrap();
    let claimed = world.claim_for("a", &two, 1_000).unwrap();
    world.reserve("a", &["src/"]).unwrap();
    world.advance(Span::seconds(100));
    let last = world.last_event();
    let moved = world.hand_all("a").unwrap();
    assert_eq!(world.kinds_after(last), ["hold.transferred"; 4], "one event a hold");
    let holds = moved["holds"].as_array().unwrap();
    let subjects: Vec<&Value> = holds.iter().map(|hold| &hold["subject"]).collect();
    assert_eq!(subjects, [two.as_str(), "src/", one.as_str(), "deploy"], "the focus first, with its paths");
    assert!(holds.iter().all(|hold| hold["holder"] == "b"), "{moved}");
    assert_eq!((&holds[0]["expires_in_s"], &holds[1]["expires_in_s"]), (&json!(900), &json!(900)));
    assert!(holds[0]["fence"].as_i64().unwrap() > fence(&claimed));
    assert_eq!((world.focus("a"), world.focus("b")), (None, Some(two.clone())));
    assert_eq!(world.held_by("a"), Vec::<String>::new());
    assert_eq!(code_of(world.hand_all("a")), "nothing_to_transfer");
    // The paths end with their task at the new holder.
    world.claim("b", &two).unwrap();
    world.done("b", &two).unwrap();
    assert_eq!(world.held_by("b"), ["deploy", one.as_str()]);
    world.sound();
}

fn everything_or_nothing(world: &World) {
    known(world, &["b"]);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    // `a` waits for `src/a.rs` to be its own; the offer stays, and would conflict with what moves.
    world.share("a", &["src/"]).unwrap();
    world.share("c", &["src/a.rs"]).unwrap();
    world.reserve_with("a", &["src/a.rs"], |request| request.wait = true).unwrap();
    world.release_paths("c", &["src/a.rs"]).unwrap();
    let last = world.last_event();
    assert_eq!(code_of(world.hand_all("a")), "transfer_splits");
    assert_eq!((world.last_event(), world.held_by("b")), (last, vec![]));
    assert_eq!(world.focus("a"), Some(task));
    world.reserve("a", &["src/a.rs"]).unwrap();
    world.hand_all("a").unwrap();
    assert_eq!(world.held_by("b").len(), 3);
    world.sound();
}

fn of_another(world: &World) {
    known(world, &["b", "c"]);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    world.lock("a", "deploy").unwrap();
    let from = |agent: &str, from: &str, force: bool| {
        world.hand(agent, |request| {
            (request.all, request.force, request.from) = (true, force, Some(from.into()));
        })
    };
    let last = world.last_event();
    assert_eq!(code_of(from("c", "a", false)), "task_held");
    assert_eq!(code_of(from("c", "a", true)), "people_only");
    assert_eq!(code_of(from("person:ann", "a", false)), "task_held");
    assert_eq!(code_of(from("person:ann", "nobody", true)), "unknown_agent");
    assert_eq!(code_of(from("person:ann", "b", true)), "same_holder");
    assert_eq!(code_of(from("person:ann", "c", true)), "nothing_to_transfer");
    assert!(world.kinds_after(last).iter().all(|kind| kind == "agent.registered"));
    from("person:ann", "a", true).unwrap();
    let moved = world.events().into_iter().filter(|event| event.kind == kind::HOLD_TRANSFERRED);
    assert!(moved.map(|event| event.data["overrode"].clone()).eq([json!("a"), json!("a")]));
    assert_eq!((world.focus("a"), world.focus("b")), (None, Some(task.clone())));
    assert_eq!(kind_of(world.done("a", &task)), "stale");
    assert_eq!(code_of(world.unlock("a", "deploy", None)), "lapsed", "a person took it");
    world.sound();
}

fn one_thing(world: &World) {
    known(world, &["b"]);
    let refused = |change: fn(&mut transfer::Transfer)| code_of(world.hand("a", change));
    assert_eq!(refused(|request| (request.all, request.lock) = (true, Some("x".into()))), "transfer_what");
    assert_eq!(refused(|request| (request.paths, request.lock) = (words(&["x"]), Some("x".into()))), "transfer_what");
    assert_eq!(refused(|request| request.from = Some("c".into())), "transfer_what");
    assert_eq!(refused(|request| (request.all, request.fence) = (true, Some(1.into()))), "transfer_what");
    assert_eq!(refused(|request| request.lock = Some("-x".into())), "bad_lock_name");
    assert_eq!(refused(|request| request.paths = words(&["../x"])), "path_outside");
    // The request of a task has the bytes it always had.
    let old = transfer::Transfer { task: Some("t-1".into()), to: "b".into(), ..transfer::Transfer::default() };
    let bytes = serde_json::to_string(&old).unwrap();
    assert_eq!(bytes, r#"{"task":"t-1","to":"b","fence":null,"force":false}"#);
}
