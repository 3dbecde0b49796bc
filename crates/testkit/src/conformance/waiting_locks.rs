//! Named locks in the waiting line.

use serde_json::{Value, json};
use tenure_core::event::kind;
use tenure_core::{Result, Span};
use tenure_kernel::Op;
use tenure_kernel::op::{lock, release, reserve};

use super::Case;
use crate::fixture::{World, code_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r7_locks_are_waited_for_like_paths", locks),
    Case::everywhere("inv_r7_a_lock_that_is_waited_for_keeps_no_path_from_being_offered", names_and_paths),
    Case::everywhere("inv_r5_two_runs_of_one_agent_wait_for_each_other", own_lock),
    Case::everywhere("inv_r7_force_of_an_agent_does_not_pass_those_who_wait", forced),
];

impl World {
    fn lock_wait(&self, agent: &str, name: &str, change: impl FnOnce(&mut lock::Lock)) -> Result<Value> {
        let mut request = lock::Lock { name: name.into(), wait: true, ..lock::Lock::default() };
        change(&mut request);
        self.run(agent, Op::new(request))
    }

    fn give_lock(&self, agent: &str, name: &str) -> Result<Value> {
        self.run(agent, Op::new(release::Release { lock: Some(name.into()), ..release::Release::default() }))
    }
}

fn locks(world: &World) {
    world.lock_wait("a", "deploy", |_| {}).unwrap();
    let queued = world.lock_wait("b", "deploy", |_| {}).unwrap();
    assert_eq!((&queued["waiting"], &queued["place"]), (&json!(true), &json!(1)));
    world.lock_wait("c", "deploy", |_| {}).unwrap();
    // A lock name does not conflict with a path.
    world.reserve("d", &["deploy"]).unwrap();
    assert_eq!(code_of(world.lock_wait("d", "deploy", |request| request.wait = false)), "lock_held");
    world.give_lock("a", "deploy").unwrap();
    assert!(world.is_offered("b", "deploy"));
    let offer = world.events().into_iter().find(|event| event.kind == kind::LOCK_OFFERED).unwrap();
    let held = world.lock_wait("b", "deploy", |_| {}).unwrap();
    assert_eq!((&held["fence"], &held["state"], &held["ttl_s"]), (&json!(offer.number), &json!("live"), &json!(600)));
    // A cycle over a lock and a path.
    world.reserve("c", &["f"]).unwrap();
    let error = refusal(world.wait("b", &["f"]));
    assert_eq!(error.get("circle"), Some(&json!(["b", "c", "b"])));
    assert_eq!(world.give_lock("c", "deploy").unwrap()["left"].as_array().unwrap().len(), 1);
    world.give_lock("b", "deploy").unwrap();
    assert_eq!(world.count(kind::LOCK_OFFERED), 1);
    // The fence of an offer accepts it too, and does not merely renew the offer.
    world.lock_wait("a", "y", |_| {}).unwrap();
    world.lock_wait("b", "y", |_| {}).unwrap();
    world.give_lock("a", "y").unwrap();
    let offer = world.events().into_iter().rfind(|event| event.kind == kind::LOCK_OFFERED).unwrap();
    let taken = world.count(kind::OFFER_TAKEN);
    let held = world
        .lock_wait("b", "y", |request| (request.fence, request.wait) = (Some(offer.number.into()), false))
        .unwrap();
    assert_eq!((&held["fence"], &held["ttl_s"]), (&json!(offer.number), &json!(600)));
    assert_eq!(world.count(kind::OFFER_TAKEN), taken + 1);
    world.advance(Span::minutes(5));
    assert_eq!(code_of(world.lock_wait("c", "y", |request| request.wait = false)), "lock_held");
    world.give_lock("b", "y").unwrap();
    // The lock is free and has a waiting agent: no other passes.
    world.lock_wait("a", "x", |request| request.ttl_s = Some(30)).unwrap();
    world.lock_wait("b", "x", |_| {}).unwrap();
    world.advance(Span::seconds(31));
    assert_eq!(code_of(world.lock_wait("c", "x", |request| request.wait = false)), "lock_held");
    world.advance(Span::seconds(60));
    assert_eq!(world.lock_wait("c", "x", |request| request.wait = false).unwrap()["holder"], "c", "the offer lapsed");
    world.sound();
}

/// Locks whose names are a valid path, and an invalid one, are handled together with paths while agents wait for
/// either.
fn names_and_paths(world: &World) {
    for name in ["src/a.rs", "../no path"] {
        world.lock_wait("a", name, |_| {}).unwrap();
        assert_eq!(world.lock_wait("b", name, |_| {}).unwrap()["waiting"], true);
    }
    world.reserve("c", &["src/a.rs"]).unwrap();
    world.waits("d", &["src/"], 1);
    world.release_paths("c", &["src/a.rs"]).unwrap();
    assert!(world.is_offered("d", "src/"));
    assert_eq!(world.wait("d", &["src/"]).unwrap()["holds"][0]["state"], "live");
    world.give_lock("a", "src/a.rs").unwrap();
    assert!(world.is_offered("b", "src/a.rs"));
    world.sound();
}

fn own_lock(world: &World) {
    let first = world.lock_wait("a", "gate", |request| request.renewal = lock::LockRenewal::Runner).unwrap();
    let second = world.lock_wait("a", "gate", |request| request.renewal = lock::LockRenewal::Runner).unwrap();
    assert_eq!((&second["waiting"], &second["place"]), (&json!(true), &json!(1)));
    world.advance(Span::seconds(15));
    world.lock_wait("a", "gate", |request| request.fence = first["fence"].as_i64().map(Into::into)).unwrap();
    let request = release::Release {
        lock: Some("gate".into()),
        fence: first["fence"].as_i64().map(Into::into),
        ..release::Release::default()
    };
    world.run("a", Op::new(request)).unwrap();
    let held = world.lock_wait("a", "gate", |request| request.renewal = lock::LockRenewal::Runner).unwrap();
    assert_eq!((held["ttl_s"].as_i64(), &held["state"]), (Some(60), &json!("live")));
    assert_ne!(held["fence"], first["fence"]);
    assert_eq!(world.lock_wait("a", "gate", |_| {}).unwrap()["waiting"], true);
    world.sound();
}

fn forced(world: &World) {
    world.reserve("a", &["f"]).unwrap();
    world.waits("w", &["f"], 1);
    let forced = |request: &mut reserve::Reserve| request.force = true;
    assert_eq!(code_of(world.reserve_with("b", &["f"], forced)), "path_held");
    world.reserve_with("person:ann", &["f"], forced).unwrap();
    world.waits("w", &["f"], 1);
    world.release_paths("person:ann", &["f"]).unwrap();
    assert!(world.is_offered("w", "f"));
    world.sound();
}
