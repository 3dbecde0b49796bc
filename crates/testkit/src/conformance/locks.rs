//! Named locks: holder, lifetime and release.

use serde_json::{Value, json};
use tenure_client::phrasing::Commands;
use tenure_core::event::kind;
use tenure_core::session::Start;
use tenure_core::{Result, Span};
use tenure_kernel::op::lock::{self, LockRenewal};
use tenure_kernel::op::{release, reserve, send};
use tenure_kernel::query;
use tenure_kernel::query::holds::Filter;
use tenure_kernel::{Call, Op};

use super::Case;
use super::restoring::{again, take};
use super::sessions::{ending, hook, start};
use super::shorthand::words;
use crate::fixture::{Engine, World, code_of, kind_of, refusal};
use crate::sim::dice::Dice;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r5_a_lock_opens_again_only_for_its_fence", reentrant),
    Case::everywhere("inv_r5_two_runs_of_one_agent_exclude_each_other", two_runs),
    Case::everywhere("inv_r2_a_lock_is_neither_a_path_nor_a_task", kinds_never_mix),
    Case::only(&[Engine::Memory], "inv_r4_a_lock_name_is_checked_before_any_store_is_looked_at", before_the_store),
    Case::everywhere("inv_r8_each_lock_expires_once", expires_once),
    Case::everywhere("inv_r8_a_lock_that_was_renewed_is_not_ended", renewed_meanwhile),
    Case::everywhere("inv_r9_a_lock_is_released_by_its_holder", released),
    Case::everywhere("inv_r9_a_lapsed_lock_is_neither_renewed_nor_released", late),
    Case::everywhere("inv_l5_calls_renew_locks_but_not_those_of_runners", presence),
    Case::everywhere("inv_l4_locks_end_with_their_session_and_with_a_dead_agent", session_and_death),
    Case::everywhere("inv_r14_the_lock_of_a_runner_outlives_its_session", runners_outlive),
    Case::everywhere("inv_l4_force_takes_a_lock_and_says_from_whom", stolen),
    Case::everywhere("inv_l4_force_takes_paths_all_or_none", stolen_paths),
    Case::everywhere("inv_l1_a_restore_ends_locks", restored),
    Case::everywhere("inv_m7_a_message_about_a_lock_ends_with_it", told),
    Case::everywhere("inv_l1_many_at_once_for_one_lock_have_one_winner", one_winner),
    Case::everywhere("inv_l1_random_locks_never_conflict", random),
];

impl World {
    pub(super) fn lock(&self, agent: &str, name: &str) -> Result<Value> {
        self.lock_with(agent, name, |_| {})
    }

    pub(super) fn lock_with(&self, agent: &str, name: &str, change: impl FnOnce(&mut lock::Lock)) -> Result<Value> {
        let mut request = lock::Lock { name: name.into(), ..lock::Lock::default() };
        change(&mut request);
        self.run(agent, Op::new(request))
    }

    pub(super) fn unlock(&self, agent: &str, name: &str, fence: Option<i64>) -> Result<Value> {
        self.run(
            agent,
            Op::new(release::Release {
                lock: Some(name.into()),
                fence: fence.map(Into::into),
                ..release::Release::default()
            }),
        )
    }

    fn locks(&self) -> Vec<(String, String)> {
        let filter = Filter { kind: Some("name".into()), ..Filter::default() };
        let page = self
            .kernel
            .ask(&self.call("person:ann"), &query::holds::Holds { filter: filter.clone(), limit: 100, cursor: None })
            .unwrap();
        page.items.into_iter().map(|hold| (hold.subject, hold.holder.into())).collect()
    }
}

fn fence(hold: &Value) -> i64 {
    hold["fence"].as_i64().unwrap()
}

/// Starts a session.
fn begin(world: &World, session: &str) -> Call {
    world.add("switched on");
    let started = start(world, &world.kernel, 1, session, Start::Startup, &[]);
    hook(world, started["agent"].as_str().unwrap(), 1)
}

fn runner(request: &mut lock::Lock) {
    request.renewal = LockRenewal::Runner;
}

fn reentrant(world: &World) {
    let hold = world.lock_with("a", "deploy", |request| request.reason = "v2".into()).unwrap();
    assert_eq!(
        (&hold["kind"], &hold["subject"], &hold["ttl_s"], &hold["reason"]),
        (&json!("name"), &json!("deploy"), &json!(600), &json!("v2"))
    );
    world.advance(Span::seconds(100));
    let error = refusal(world.lock("b", "deploy"));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "lock_held"));
    let blocker = &error.get("blockers").unwrap()[0];
    assert_eq!((&blocker["id"], &blocker["holder"], &blocker["age_s"]), (&hold["id"], &json!("a"), &json!(100)));
    assert_eq!((&blocker["pattern"], &blocker["state"]), (&json!(null), &json!("held")));
    assert!(error.blocker().is_some() && !error.attempts(&Commands).is_empty() && error.override_by_person().is_some());
    // The holder itself, without the fence.
    let error = refusal(world.lock("a", "deploy"));
    assert_eq!((error.code().as_str(), error.advice().is_some()), ("lock_held", true));
    assert_eq!(error.get("blockers").unwrap()[0]["holder"], "a");
    let events = world.last_event();
    let again = world.lock_with("a", "deploy", |request| request.fence = Some(fence(&hold).into())).unwrap();
    assert_eq!((&again["id"], &again["fence"], &again["reason"]), (&hold["id"], &hold["fence"], &hold["reason"]));
    assert_eq!((&again["expires_in_s"], world.last_event()), (&json!(600), events), "renewed, and no event");
    let longer = |request: &mut lock::Lock| {
        request.fence = Some(fence(&hold).into());
        request.ttl_s = Some(1_200);
    };
    assert_eq!(world.lock_with("a", "deploy", longer).unwrap()["ttl_s"], 1_200);
    // Another agent's fence does not help, and one that never existed is stale.
    assert_eq!(
        code_of(world.lock_with("b", "deploy", |request| request.fence = Some(fence(&hold).into()))),
        "lock_held"
    );
    assert_eq!(
        code_of(world.lock_with("a", "deploy", |request| request.fence = Some((fence(&hold) - 1).into()))),
        "stale_fence"
    );
    assert_eq!(code_of(world.lock_with("a", "free", |request| request.fence = Some(1.into()))), "lapsed");
    world.sound();
}

fn two_runs(world: &World) {
    let won = world.race(8, |_, kernel| {
        let request = lock::Lock { name: "build".into(), renewal: LockRenewal::Runner, ..lock::Lock::default() };
        kernel.run(&world.call("a"), &Op::new(request)).is_ok()
    });
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    world.sound();
}

fn kinds_never_mix(world: &World) {
    let task = world.add("one");
    for name in [task.as_str(), "src/", "glob:**", "src/lib.rs", "./"] {
        world.lock("a", name).unwrap();
    }
    world.reserve("b", &["src/", &task]).unwrap();
    world.claim("b", &task).unwrap();
    assert!(world.check("b", &["src/lib.rs"]).free, "a lock is no pattern");
    assert_eq!(code_of(world.unlock("b", "src/", None)), "lock_held", "its path is another thing");
    world.unlock("a", "src/", None).unwrap();
    assert!(!world.check("c", &["src/x"]).free, "the path is held still");
    assert_eq!(code_of(world.unlock("b", &task, None)), "lock_held");
    world.done("b", &task).unwrap();
    assert!(world.locks().contains(&(task.clone(), "a".to_owned())), "the task has gone, the lock has not");
    world.unlock("a", &task, None).unwrap();
    world.sound();
}

fn before_the_store(world: &World) {
    for name in ["", "-x", "a\nb", "a\0b", " a", &"x".repeat(129)] {
        assert_eq!(code_of(world.lock("a", name)), "bad_lock_name", "{name:?}");
        assert_eq!(code_of(world.unlock("a", name, None)), "bad_lock_name", "{name:?}");
    }
    assert_eq!(code_of(world.lock_with("a", "x", |request| request.ttl_s = Some(0))), "bad_ttl");
    assert_eq!(world.last_event(), 0);
}

fn expires_once(world: &World) {
    world.lock_with("a", "deploy", |request| request.ttl_s = Some(60)).unwrap();
    world.advance(Span::seconds(60));
    assert!(world.locks().is_empty(), "over, settled or not");
    let won = world.race(10, |n, kernel| {
        let request = lock::Lock { name: "deploy".into(), ..lock::Lock::default() };
        kernel.run(&world.call(&format!("r{n}")), &Op::new(request)).is_ok()
    });
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let expired: Vec<_> = world.events().into_iter().filter(|event| event.kind == kind::HOLD_EXPIRED).collect();
    let [only] = expired.as_slice() else { panic!("{expired:?}") };
    assert_eq!((only.subject.as_str(), &only.data["holder"]), ("deploy", &json!("a")));
    world.sound();
}

fn renewed_meanwhile(world: &World) {
    let hold = world.lock_with("a", "deploy", |request| request.ttl_s = Some(60)).unwrap();
    for _ in 0..5 {
        world.advance(Span::seconds(59));
        world.lock_with("a", "deploy", |request| request.fence = Some(fence(&hold).into())).unwrap();
    }
    world.advance(Span::seconds(59));
    assert_eq!(code_of(world.lock("b", "deploy")), "lock_held");
    assert_eq!(world.count(kind::HOLD_EXPIRED), 0);
    world.sound();
}

fn released(world: &World) {
    let hold = world.lock("a", "deploy").unwrap();
    assert_eq!(code_of(world.unlock("b", "deploy", None)), "lock_held");
    assert_eq!(code_of(world.unlock("b", "free", None)), "not_held");
    assert_eq!(code_of(world.unlock("a", "deploy", Some(fence(&hold) - 1))), "stale_fence");
    let by_id = |agent: &str, force: bool| {
        let id = hold["id"].as_str().unwrap().to_owned();
        world.run(agent, Op::new(release::Release { hold: Some(id.into()), force, ..release::Release::default() }))
    };
    assert_eq!(code_of(by_id("b", false)), "lock_held");
    assert_eq!(kind_of(by_id("b", true)), "denied");
    let ended = world.unlock("a", "deploy", Some(fence(&hold))).unwrap();
    assert_eq!((&ended["holds"][0]["id"], &ended["holds"][0]["state"]), (&hold["id"], &json!("released")));
    assert_eq!(code_of(world.unlock("a", "deploy", None)), "not_held");
    assert_eq!(code_of(by_id("a", false)), "not_held");
    world.lock("b", "deploy").unwrap();
    let forced = release::Release { lock: Some("deploy".into()), force: true, ..release::Release::default() };
    assert_eq!(world.run("person:ann", Op::new(forced)).unwrap()["holds"][0]["state"], "forced");
    let told = world.events().pop().unwrap();
    assert_eq!((told.kind.as_str(), &told.data["overrode"]), (kind::LOCK_RELEASED, &json!("b")));
    assert_eq!(kind_of(world.unlock("b", "deploy", None)), "stale", "it lost it");
    world.sound();
}

fn late(world: &World) {
    let hold = world.lock_with("a", "deploy", |request| request.ttl_s = Some(60)).unwrap();
    world.advance(Span::seconds(60));
    let renewing = |request: &mut lock::Lock| request.fence = Some(fence(&hold).into());
    assert_eq!(kind_of(world.lock_with("a", "deploy", renewing)), "stale");
    assert_eq!(kind_of(world.unlock("a", "deploy", None)), "stale");
    assert_eq!(kind_of(world.unlock("a", "deploy", Some(fence(&hold)))), "stale");
    let later = world.lock("b", "deploy").unwrap();
    assert!(fence(&later) > fence(&hold));
    assert_eq!(kind_of(world.lock_with("a", "deploy", renewing)), "stale");
    assert_eq!(kind_of(world.unlock("a", "deploy", Some(fence(&hold)))), "stale");
    assert_eq!(kind_of(world.unlock("a", "deploy", None)), "stale");
    assert_eq!(world.locks(), [("deploy".to_owned(), "b".to_owned())], "it is left alone");
    world.unlock("b", "deploy", None).unwrap();
    world.sound();
}

fn presence(world: &World) {
    let task = world.add("one");
    let hold = world.lock_with("a", "mine", |request| request.ttl_s = Some(60)).unwrap();
    let run = world.lock_with("a", "run", runner).unwrap();
    assert_eq!(run["ttl_s"], 60);
    for _ in 0..4 {
        world.advance(Span::seconds(30));
        world.note("a", &task, "still here").unwrap();
    }
    assert_eq!(world.locks(), [("mine".to_owned(), "a".to_owned())], "the runner did not renew the other");
    assert_eq!(kind_of(world.unlock("a", "run", Some(fence(&run)))), "stale");
    world.unlock("a", "mine", Some(fence(&hold))).unwrap();
    world.sound();
}

fn session_and_death(world: &World) {
    let here = begin(world, "S");
    let held = |name: &str| lock::Lock { name: name.into(), ..lock::Lock::default() };
    world.run_call(&here, &Op::new(held("one"))).unwrap();
    world.run_call(&here, &ending("S", "other")).unwrap();
    world.lock("b", "one").unwrap();
    assert_eq!(code_of(world.lock("c", "one")), "lock_held");
    world.run_call(&world.call_knowing_dead("c", &["b"]), &Op::new(held("one"))).unwrap();
    let ended: Vec<_> = world.events().into_iter().filter(|event| event.kind == kind::HOLD_EXPIRED).collect();
    assert_eq!((&ended[0].data["session_ended"], &ended[1].data["proven_dead"]), (&json!(true), &json!(true)));
    world.sound();
}

fn runners_outlive(world: &World) {
    let taking = |name: &str| lock::Lock { name: name.into(), renewal: LockRenewal::Runner, ..lock::Lock::default() };
    let here = begin(world, "S");
    let hold = world.run_call(&here, &Op::new(taking("build"))).unwrap();
    world.run_call(&here, &ending("S", "other")).unwrap();
    // Its command may still run, and only its runner knows.
    assert_eq!(code_of(world.run("b", Op::new(taking("build")))), "lock_held");
    let stealing = lock::Lock { force: true, ..taking("build") };
    assert_eq!(code_of(world.run("b", Op::new(stealing))), "not_gone");
    let renewing = lock::Lock { fence: Some(fence(&hold).into()), ..taking("build") };
    let again = Call { request_id: world.call("x").request_id, ..here };
    assert_eq!(world.run_call(&again, &Op::new(renewing)).unwrap()["fence"], hold["fence"]);
    // The same for an agent that is proven dead, in queries and in claims.
    world.lock_with("a", "deploy", runner).unwrap();
    let knowing = world.call_knowing_dead("b", &["a"]);
    assert_eq!(code_of(world.run_call(&knowing, &Op::new(taking("deploy")))), "lock_held");
    let seen = world.kernel.ask(&knowing, &query::holds::Holds::of(None, 10)).unwrap().items;
    assert_eq!(seen.iter().filter(|hold| hold.kind == "name" && hold.state == "live").count(), 2);
    assert_eq!(world.kernel.ask(&knowing, &query::status::Status {}).unwrap().held, 2);
    world.advance(Span::seconds(60));
    world.run("b", Op::new(taking("build"))).unwrap();
    world.sound();
}

fn stolen(world: &World) {
    let forced = |request: &mut lock::Lock| {
        request.force = true;
        request.reason = "urgent".into();
    };
    let hold = world.lock("a", "deploy").unwrap();
    assert_eq!(code_of(world.lock_with("b", "deploy", forced)), "not_gone");
    assert_eq!(code_of(world.lock_with("a", "deploy", forced)), "not_gone", "not even from itself");
    let taken = world.lock_with("person:ann", "deploy", forced).unwrap();
    assert!(fence(&taken) > fence(&hold));
    let events = world.events();
    let [end, grant] = &events[events.len() - 2..] else { panic!("{events:?}") };
    assert_eq!((end.kind.as_str(), &end.data["overrode"]), (kind::LOCK_RELEASED, &json!("a")));
    assert_eq!((grant.kind.as_str(), &grant.data["overrode"]), (kind::LOCK_TAKEN, &json!("a")));
    assert!(grant.sentence().contains("overriding a"));
    assert_eq!(
        code_of(world.lock_with("a", "deploy", |request| request.fence = Some(fence(&hold).into()))),
        "stale_fence"
    );
    assert_eq!(kind_of(world.unlock("a", "deploy", None)), "stale");
    // A free lock needs no force, and force does no harm.
    world.lock_with("b", "free", forced).unwrap();
    // An agent may take the lock of one that is gone; evidence of death is sufficient.
    let held = lock::Lock { name: "free".into(), force: true, ..lock::Lock::default() };
    world.run_call(&world.call_knowing_dead("c", &["b"]), &Op::new(held)).unwrap();
    world.sound();
}

fn stolen_paths(world: &World) {
    world.reserve("a", &["src/a", "docs/"]).unwrap();
    world.share("b", &["src/b"]).unwrap();
    let forced = |request: &mut reserve::Reserve| request.force = true;
    assert_eq!(code_of(world.reserve_with("c", &["src/"], forced)), "not_gone");
    assert_eq!(world.count(kind::PATH_RELEASED), 0);
    let held = world.reserve_with("person:ann", &["src/"], forced).unwrap();
    assert_eq!(held["holds"][0]["subject"], "src/");
    let ended: Vec<_> = world.events().into_iter().filter(|event| event.kind == kind::PATH_RELEASED).collect();
    let overrode: Vec<_> = ended.iter().map(|event| (event.subject.as_str(), event.data["overrode"].clone())).collect();
    assert_eq!(overrode, [("src/a", json!("a")), ("src/b", json!("b"))]);
    assert!(!world.check("b", &["docs/x"]).free, "what was not in the way is left alone");
    // An agent proven dead blocks no other.
    let request = reserve::Reserve { paths: words(&["docs/"]), force: true, ..reserve::Reserve::default() };
    let knowing = Call { checkout: world.from("main", "c").checkout, ..world.call_knowing_dead("c", &["a"]) };
    world.run_call(&knowing, &Op::new(request)).unwrap();
    world.sound();
}

fn restored(world: &World) {
    let task = world.add("one");
    let hold = world.lock("a", &task).unwrap();
    world.lock_with("a", "run", runner).unwrap();
    let (path, _) = take(world, "b.db");
    assert_eq!(again(world, &path, "safety.db").ended_holds, 2);
    assert_eq!(world.show(&task)["status"], "open");
    assert_eq!(kind_of(world.lock_with("a", &task, |request| request.fence = Some(fence(&hold).into()))), "stale");
    assert!(fence(&world.lock("b", &task).unwrap()) > 1 << 32);
    world.sound();
}

fn told(world: &World) {
    let hold = world.lock("a", "deploy").unwrap();
    let about = Some(hold["id"].as_str().unwrap().to_owned());
    world
        .run("b", Op::new(send::Send { about, text: "soon?".into(), request: true, ..send::Send::default() }))
        .unwrap();
    world.unlock("a", "deploy", None).unwrap();
    let ended = world.events().into_iter().find(|event| event.kind == kind::MESSAGE_ENDED).unwrap();
    assert_eq!((&ended.data["how"], &ended.data["by"]), (&json!("released"), &json!("a")));
    world.sound();
}

fn one_winner(world: &World) {
    for round in 0..3 {
        let name = format!("lock {round}");
        let won = world.race(16, |n, kernel| {
            let request = lock::Lock { name: name.clone(), ..lock::Lock::default() };
            kernel.run(&world.call(&format!("r{n}")), &Op::new(request)).is_ok()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "round {round}");
    }
    world.sound();
}

fn random(world: &World) {
    let dice = Dice::new(11);
    let mut fences: Vec<(String, i64)> = Vec::new();
    for _ in 0..250 {
        let agent = *dice.one(&["a", "b", "person:ann"]);
        let name = *dice.one(&["x", "y", "src/"]);
        let known = fences.iter().rev().find(|(known, _)| known == name).map(|(_, fence)| *fence);
        let shown = known.filter(|_| dice.once_in(2));
        let answer = if dice.once_in(3) {
            world.unlock(agent, name, shown)
        } else {
            world.lock_with(agent, name, |request| {
                request.ttl_s = Some(dice.within(1, 60));
                request.fence = shown.map(Into::into);
                request.force = dice.once_in(8);
                request.renewal = if dice.once_in(2) { LockRenewal::Runner } else { LockRenewal::Session };
            })
        };
        if let Some(fence) = answer.ok().and_then(|answer| answer["fence"].as_i64()) {
            fences.push((name.to_owned(), fence));
        }
        if dice.once_in(4) {
            world.advance(Span::seconds(dice.within(1, 40)));
        }
    }
    assert!(world.count(kind::LOCK_TAKEN) > 30 && world.count(kind::HOLD_EXPIRED) > 10);
    world.sound();
}
