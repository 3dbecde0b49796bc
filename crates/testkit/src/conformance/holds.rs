//! Holds on tasks: expiry, renewal and release.

use tenure_core::Span;
use tenure_core::hold::HoldKind;
use tenure_core::task::TaskState;
use tenure_kernel::Op;
use tenure_kernel::op::{add, claim};
use tenure_kernel::query;
use tenure_kernel::query::{list, log};
use tenure_store::CommitDecision;
use tenure_store::table::{hold, project};

use super::Case;
use super::shorthand::{claiming, fence, taken};
use crate::fixture::{TestClock, World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l2_a_ttl_has_bounds", ttl_bounds),
    Case::everywhere("inv_l2_a_hold_without_an_end_cannot_be_stored", no_endless_row),
    Case::everywhere("inv_l2_expiry_frees_at_the_instant_and_without_a_write", expiry_frees),
    Case::everywhere("inv_l3_a_lapsed_task_is_taken_over", taken_over),
    Case::everywhere("inv_l3_a_lapsed_task_that_waits_again_is_not_ready", lapsed_and_waiting),
    Case::everywhere("inv_l5_ops_every_half_ttl_keep_all_holds", ops_keep_holds),
    Case::everywhere("inv_l5_queries_and_replays_do_not_renew", queries_and_replays),
    Case::everywhere("inv_l5_a_lapsed_hold_is_not_revived", not_revived),
    Case::everywhere("inv_l5_renewal_begins_below_three_quarters", three_quarters),
    Case::everywhere("inv_l6_claim_of_an_own_task_is_the_same_hold_renewed", own_task),
    Case::everywhere("inv_r8_ten_at_once_make_one_expired_event", ten_at_once),
    Case::everywhere("inv_r8_a_hold_renewed_meanwhile_is_not_ended", renewed_meanwhile),
    Case::everywhere("inv_r8_many_lapsed_holds_end_once_each", many_lapsed),
    Case::everywhere("inv_r9_release_is_for_the_holder_and_of_what_is_held", release),
];

fn ttl_bounds(world: &World) {
    let task = world.add("timed");
    // The last two would be within the bounds again if the conversion to microseconds overflowed.
    for bad in [0, -1, 86_401, i64::MAX, i64::MIN, 18_446_744_073_711, 18_446_744_073_709_551] {
        assert_eq!(code_of(world.unchanged(&task, || world.claim_for("a", &task, bad))), "bad_ttl", "{bad}");
    }
    for (agent, good) in [("a", 1), ("b", 86_400)] {
        let hold = &world.claim_for(agent, &task, good).unwrap()["hold"];
        assert_eq!(hold["ttl_s"], good);
        assert_eq!(hold["expires_in_s"], good);
        world.release(agent, &task).unwrap();
    }
    assert_eq!(world.claim("a", &task).unwrap()["hold"]["ttl_s"], 3_600);
    // A renewal has the same bounds.
    assert_eq!(code_of(world.unchanged(&task, || world.claim_for("a", &task, 0))), "bad_ttl");
}

fn no_endless_row(world: &World) {
    let task = world.add("held");
    let good = hold::Row {
        granted_at: TestClock::START,
        expires_at: TestClock::START + Span::hours(1),
        ttl: Span::hours(1),
        ..hold::Row::new("h-00000".into(), (HoldKind::Task, &task), &"a".into(), 1.into())
    };
    let store = |row: &hold::Row| {
        let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
        world.kernel.store().write(&name, |tx, entered| {
            let project = entered.project.unwrap().id;
            hold::insert(tx, &project, row)?;
            // Reads the row back, so that a deferred statement has run.
            Ok(CommitDecision::Undo(hold::get(tx, &project, &row.id)?.is_some()))
        })
    };
    assert!(store(&good).unwrap());
    let bad = [
        hold::Row { ttl: Span(0), ..good.clone() },
        hold::Row { ttl: Span(-1), ..good.clone() },
        hold::Row { ttl: Span::hours(25), ..good.clone() },
        hold::Row { expires_at: good.granted_at, ..good.clone() },
        hold::Row { holder: "".into(), ..good.clone() },
        hold::Row { fence: 0.into(), ..good },
    ];
    for row in bad {
        assert!(store(&row).is_err(), "{row:?}");
    }
}

fn expiry_frees(world: &World) {
    let task = world.add("short");
    world.claim_for("a", &task, 60).unwrap();
    let granted = world.last_event();
    world.advance(Span(59_999_999));
    assert_eq!(world.show(&task)["state"], "held");
    assert_eq!(kind_of(world.claim("b", &task)), "conflict");
    world.advance(Span(1));
    let shown = world.show(&task);
    assert_eq!((&shown["state"], &shown["status"]), (&"ready".into(), &"open".into()));
    assert_eq!(shown["lapsed_from"], "a");
    assert!(shown["holder"].is_null());
    assert_eq!(world.in_state(TaskState::Ready), [task.as_str()]);
    assert_eq!(world.in_state(TaskState::Held), [""; 0]);
    let status = world.kernel.ask(&world.call("b"), &query::status::Status {}).unwrap();
    assert_eq!((status.ready, status.started, status.held), (1, 0, 0));
    assert!(world.kernel.ask(&world.call("b"), &query::holds::Holds::of(None, 10)).unwrap().items.is_empty());
    assert_eq!(world.next("b", &[]).task.unwrap().id, task);
    assert_eq!(world.last_event(), granted, "looking settles nothing");
    assert_eq!(taken(&world.claim_any("b").unwrap()), task);
    world.sound();
}

fn taken_over(world: &World) {
    let task = world.add("left behind");
    let hold = world.claim_for("a", &task, 60).unwrap()["hold"].clone();
    world.advance(Span::minutes(10));
    let before = world.last_event();
    let claimed = world.claim_any("b").unwrap();
    assert_eq!(taken(&claimed), task);
    assert_eq!(claimed["rule"], "lapsed");
    assert_eq!(claimed["task"]["attempt"], 2);
    assert!(claimed["reason"].as_str().unwrap().contains("the hold of a has expired"));
    assert!(fence(&claimed) > hold["fence"].as_i64().unwrap());
    assert_eq!(world.kinds_after(before), ["hold.expired", "agent.registered", "task.claimed"]);
    let events = world.events();
    let expired = events.iter().find(|event| event.kind == "hold.expired").unwrap();
    assert_eq!(expired.data["ended_at"], hold["expires_at"], "the interval ends at the expiry, not when it was seen");
    assert_eq!(expired.data["holder"], "a");
    assert_eq!(expired.hold.as_deref(), hold["id"].as_str());
    assert_eq!(events.last().unwrap().data["lapsed_from"], "a");
    assert!(world.show(&task)["lapsed_from"].is_null(), "somebody has it again");
    world.sound();
}

fn lapsed_and_waiting(world: &World) {
    let first = world.add("first");
    let second = world.add_after("second", &[&first]);
    world.done("person:ann", &first).unwrap();
    world.claim_for("a", &second, 60).unwrap();
    world.reopen("person:ann", &first).unwrap();
    assert_eq!(world.show(&second)["state"], "held", "what has started goes on");
    world.advance(Span::minutes(2));
    assert_eq!(world.show(&second)["state"], "waiting");
    assert_eq!(world.next("b", &[]).task.unwrap().id, first);
    assert_eq!(code_of(world.claim("b", &second)), "not_ready");
    assert_eq!(taken(&world.claim_any("b").unwrap()), first);
    assert!(world.claim_any("c").unwrap()["task"].is_null());
    world.sound();
}

fn ops_keep_holds(world: &World) {
    let (first, second, other) = (world.add("first"), world.add("second"), world.add("other"));
    let fences = [&first, &second].map(|task| fence(&world.claim_for("a", task, 60).unwrap()));
    for round in 0..10 {
        world.advance(Span::seconds(30));
        let before = world.last_event();
        // Any op counts, including a refused one.
        let appended = match round % 4 {
            0 => world.note("a", &other, "passing by").map(|_| vec!["task.noted"]).unwrap(),
            1 => world.run("a", Op::new(add::Add::titled("found"))).map(|_| vec!["task.added"]).unwrap(),
            2 => {
                assert_eq!(kind_of(world.done("a", "t-none")), "not_found");
                Vec::new()
            }
            _ => world.claim("a", &first).map(|_| Vec::new()).unwrap(),
        };
        assert_eq!(world.kinds_after(before), appended, "a renewal is no event");
        for (task, fence) in [&first, &second].into_iter().zip(fences) {
            let shown = world.show(task);
            assert_eq!((&shown["holder"]["agent"], &shown["holder"]["fence"]), (&"a".into(), &fence.into()));
            assert_eq!(shown["version"], 2, "a renewal is no version");
        }
    }
    assert_eq!(world.count("hold.expired"), 0);
    world.advance(Span::seconds(60));
    assert_eq!(world.show(&first)["state"], "ready");
    assert_eq!(world.show(&second)["state"], "ready");
    world.sound();
}

fn queries_and_replays(world: &World) {
    let task = world.add("watched");
    let claim = world.call("a");
    let op = Op::new(claim::Claim { task: Some(task.clone().into()), ttl_s: Some(60), ..claim::Claim::default() });
    let first = world.kernel.run(&claim, &op).unwrap();
    world.advance(Span::seconds(45));
    let before = (world.show(&task), world.agent("a").unwrap().last_seen, world.last_event());
    let call = world.call("a");
    world.kernel.ask(&call, &query::show::Show { id: task.clone() }).unwrap();
    world.kernel.ask(&call, &list::List::default()).unwrap();
    world.kernel.ask(&call, &query::next::Next { labels: Vec::new() }).unwrap();
    world.kernel.ask(&call, &query::status::Status {}).unwrap();
    world.kernel.ask(&call, &query::holds::Holds::of(Some("a"), 10)).unwrap();
    world.kernel.ask(&call, &query::agents::Agents { within_us: None, limit: 10, cursor: None }).unwrap();
    world.kernel.ask(&call, &log::Log { limit: 10, ..log::Log::default() }).unwrap();
    world.kernel.ask(&call, &query::why::Why { id: task.clone() }).unwrap();
    world.kernel.ask(&call, &query::graph::Graph { id: task.clone() }).unwrap();
    world.kernel.ask(&call, &query::health::Health {}).unwrap();
    let again = world.kernel.run(&claim, &op).unwrap();
    assert!(again.replayed && again.body == first.body);
    assert_eq!((world.show(&task), world.agent("a").unwrap().last_seen, world.last_event()), before);
    world.advance(Span::seconds(15));
    // The replay still shows the hold as it was granted; the next query shows that it is over.
    assert_eq!(world.kernel.run(&claim, &op).unwrap().body, first.body);
    assert_eq!(world.show(&task)["state"], "ready");
    assert_eq!(taken(&world.claim_any("b").unwrap()), task);
}

fn not_revived(world: &World) {
    let task = world.add("over");
    let old = fence(&world.claim_for("a", &task, 60).unwrap());
    world.advance(Span::seconds(60));
    world.note("a", &task, "I am back").unwrap();
    assert_eq!(world.show(&task)["state"], "ready");
    assert_eq!(world.count("hold.expired"), 1);
    assert!(fence(&world.claim("a", &task).unwrap()) > old);
    // Nor is a hold that its holder's own op did not settle: only the first 64 are.
    for n in 0..70 {
        let task = world.add(&format!("task {n}"));
        world.claim_for("a", &task, 60).unwrap();
    }
    world.advance(Span::minutes(2));
    world.note("a", &task, "back once more").unwrap();
    assert_eq!(world.count("hold.expired"), 65);
    let status = world.kernel.ask(&world.call("a"), &query::status::Status {}).unwrap();
    assert_eq!((status.ready, status.held), (70, 1), "only the hold of an hour is left");
    world.sound();
}

fn three_quarters(world: &World) {
    let task = world.add("timed");
    let granted = world.claim_for("a", &task, 100).unwrap()["hold"]["expires_at"].clone();
    world.advance(Span::seconds(25));
    world.note("a", &task, "a quarter is over").unwrap();
    assert_eq!(world.show(&task)["holder"]["expires_at"], granted, "enough time is left");
    world.advance(Span::seconds(1));
    world.note("a", &task, "more than a quarter").unwrap();
    let renewed = TestClock::START + Span::seconds(126);
    assert_eq!(world.show(&task)["holder"]["expires_at"], renewed.to_string());
    // Another agent's op renews no hold.
    world.advance(Span::seconds(60));
    world.note("b", &task, "hello").unwrap();
    assert_eq!(world.show(&task)["holder"]["expires_at"], renewed.to_string());
}

fn own_task(world: &World) {
    let (task, other) = (world.add("mine"), world.add("mine too"));
    let first = world.claim_for("a", &task, 100).unwrap();
    world.claim("a", &other).unwrap();
    assert_eq!(world.focus("a"), Some(other));
    world.advance(Span::seconds(10));
    let before = world.last_event();
    let again = world.claim("a", &task).unwrap();
    assert_eq!(again["rule"], "own");
    assert_eq!((&again["hold"]["id"], &again["hold"]["fence"]), (&first["hold"]["id"], &first["hold"]["fence"]));
    assert_eq!(again["hold"]["expires_in_s"], 100, "renewed, whatever was left");
    assert_eq!(again["task"]["attempt"], 1);
    assert_eq!(again["task"]["version"], first["task"]["version"]);
    assert_eq!(world.focus("a"), Some(task.clone()));
    // A new time to live replaces the old one.
    assert_eq!(world.claim_for("a", &task, 50).unwrap()["hold"]["ttl_s"], 50);
    assert_eq!(world.last_event(), before, "no event");
    world.advance(Span::seconds(50));
    assert_eq!(world.show(&task)["state"], "ready");
    world.sound();
}

fn ten_at_once(world: &World) {
    let task = world.add("contended");
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::minutes(2));
    let taken = world.race(10, |n, kernel| kernel.run(&world.call(&format!("b{n}")), &claiming(&task)).is_ok());
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1);
    assert_eq!(world.count("hold.expired"), 1);
    assert_eq!(world.count("task.claimed"), 2);
    world.sound();
}

fn renewed_meanwhile(world: &World) {
    let task = world.add("kept");
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::seconds(59));
    world.note("a", &task, "just in time").unwrap();
    world.advance(Span::seconds(2));
    world.note("b", &task, "too early").unwrap();
    assert_eq!(world.show(&task)["holder"]["agent"], "a");
    assert_eq!(world.count("hold.expired"), 0);
}

fn many_lapsed(world: &World) {
    let tasks: Vec<String> = (0..70).map(|n| world.add(&format!("task {n}"))).collect();
    for task in &tasks {
        world.claim_for("a", task, 60).unwrap();
    }
    world.advance(Span::minutes(5));
    let call = world.call("b");
    assert_eq!(world.kernel.ask(&call, &query::status::Status {}).unwrap().ready, 70);
    assert_eq!(world.kernel.ask(&call, &query::health::Health {}).unwrap().lapsed, 70);
    for (round, settled) in [64, 70, 70].into_iter().enumerate() {
        world.run("person:ann", Op::new(add::Add::titled(&format!("extra {round}")))).unwrap();
        assert_eq!(world.count("hold.expired"), settled);
        assert_eq!(world.in_state(TaskState::Ready).len(), 71 + round);
        world.sound();
    }
    let mut ended: Vec<String> =
        world.events().into_iter().filter(|event| event.kind == "hold.expired").map(|event| event.subject).collect();
    ended.sort();
    ended.dedup();
    assert_eq!(ended.len(), 70);
}

fn release(world: &World) {
    let task = world.add("given");
    assert_eq!(code_of(world.unchanged(&task, || world.release("b", &task))), "not_held");
    world.claim("a", &task).unwrap();
    let error = refusal(world.unchanged(&task, || world.release("b", &task)));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "task_held"));
    let released = world.release("a", &task).unwrap();
    assert_eq!((&released["status"], &released["state"]), (&"open".into(), &"ready".into()));
    assert!(released["holder"].is_null() && released["lapsed_from"].is_null());
    assert_eq!(world.kinds_after(world.last_event().previous()), ["task.released"]);
    for agent in ["a", "b", "person:ann"] {
        assert_eq!(code_of(world.unchanged(&task, || world.release(agent, &task))), "not_held");
    }
    assert_eq!(world.claim_any("b").unwrap()["rule"], "ready", "what was given back has not lapsed");
    world.sound();
}
