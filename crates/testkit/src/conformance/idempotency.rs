//! Idempotency: a retried request is answered with the bytes of the first answer.

use std::collections::HashSet;

use tenure_core::{Result, Span};
use tenure_kernel::op::{claim, edit, note};
use tenure_kernel::{Call, Op, Reply, RequestId};
use tenure_store::OsEntropy;

use super::Case;
use super::shorthand::claiming;
use super::walk::every_op;
use crate::fixture::{World, kind_of, refusal};
use crate::raw::{differing, dump, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t6_a_replay_is_the_same_bytes_and_does_nothing", replays),
    Case::everywhere("inv_t6_another_payload_under_the_same_id_is_a_mismatch", mismatches),
    Case::everywhere("inv_t6_a_refused_op_leaves_no_record", refusals_leave_no_record),
    Case::everywhere("inv_t6_actors_and_ops_have_ids_of_their_own", ids_are_per_actor_and_op),
    Case::everywhere("inv_t6_a_drawn_id_is_kept_an_hour_and_a_given_one_a_week", kept_for_a_time),
    Case::everywhere("inv_t6_answers_whose_time_is_over_are_dropped", pruned),
    Case::shared("inv_t6_one_request_sent_by_many_at_once_is_run_once", sent_at_once),
    Case::everywhere("inv_t7_set_one_set_two_set_one_leaves_one", set_back),
    Case::everywhere("inv_t7_request_ids_are_long_random_and_nothing_else", drawn_ids),
];

fn noting(task: &str, text: &str) -> Op {
    Op::new(note::Note { task: Some(task.into()), text: text.into(), ..note::Note::default() })
}

fn given(call: Call, id: &str) -> Call {
    Call { request_id: RequestId::given(id).unwrap(), ..call }
}

/// The state has changed since: tasks finished, reopened and cancelled, a hold due for renewal and an expired one.
fn replays(world: &World) {
    let walked = every_op(world, |call, op| world.kernel.run(call, op));
    let lapsing = world.add("lapses");
    world.claim_for("c", &lapsing, 60).unwrap();
    world.advance(Span::minutes(30));
    let before = dump(&world.kernel);
    for step in &walked {
        let again = world.kernel.run(&step.call, &step.op).unwrap();
        assert_eq!(again, Reply { body: step.reply.body.clone(), replayed: true }, "{}", step.op.name());
        assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{}", step.op.name());
    }
}

fn mismatches(world: &World) {
    let walked = every_op(world, |call, op| world.kernel.run(call, op));
    let before = dump(&world.kernel);
    for step in &walked {
        // Every other request of the same op under this id.
        for other in walked.iter().filter(|other| other.op.name() == step.op.name()) {
            let same = format!("{:?}", other.op) == format!("{:?}", step.op);
            let call = Call { actor: step.call.actor.clone(), ..step.call.clone() };
            match world.kernel.run(&call, &other.op) {
                Ok(reply) => assert!(same && reply.replayed),
                Err(error) => assert_eq!((same, error.kind().as_str()), (false, "mismatch"), "{error:?}"),
            }
        }
    }
    let task = world.add("noted");
    let call = world.call("a");
    world.kernel.run(&call, &noting(&task, "one")).unwrap();
    let error = refusal(world.kernel.run(&call, &noting(&task, "two")));
    assert_eq!(
        (error.code().as_str(), error.retryable(), error.about()),
        ("request_mismatch", false, Some(call.request_id.as_str()))
    );
    assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), 1);
    assert_eq!(before["hold"], dump(&world.kernel)["hold"]);
}

fn refusals_leave_no_record(world: &World) {
    let task = world.add("first");
    world.claim("a", &task).unwrap();
    let call = given(world.call("b"), "mine");
    for _ in 0..2 {
        assert_eq!(kind_of(world.kernel.run(&call, &claiming(&task))), "conflict");
    }
    assert_eq!(number(&world.kernel, "SELECT COUNT(*) FROM request WHERE request_id = 'mine'", &[]), 0);
    world.release("a", &task).unwrap();
    // Another payload is no mismatch either: no record was kept.
    let other = world.add("second");
    assert_eq!(kind_of(world.kernel.run(&call, &claiming("t-00000"))), "not_found");
    assert!(!world.kernel.run(&call, &claiming(&other)).unwrap().replayed);
    assert_eq!(kind_of(world.kernel.run(&call, &claiming(&task))), "mismatch");
}

fn ids_are_per_actor_and_op(world: &World) {
    let task = world.add("first");
    let send = |agent: &str, op: &Op| world.kernel.run(&given(world.call(agent), "call-1"), op);
    let first = send("a", &noting(&task, "mine")).unwrap();
    let second = send("b", &noting(&task, "mine")).unwrap();
    assert!(!second.replayed && first.body != second.body, "another actor never reads a stored answer");
    // Another payload by another actor is no mismatch: that would reveal that the id was used.
    assert!(!send("c", &noting(&task, "other")).unwrap().replayed);
    assert!(!send("a", &claiming(&task)).unwrap().replayed);
    assert_eq!(send("a", &noting(&task, "mine")).unwrap(), Reply { replayed: true, ..first });
    // Nor does another project.
    let call = given(world.call("a"), "call-1");
    let elsewhere = tenure_store::table::project::NamedProject { key: "name:q".into(), label: "q".into() };
    let call = Call { project: elsewhere, ..call };
    assert_eq!(kind_of(world.kernel.run(&call, &noting(&task, "mine"))), "not_found");
}

fn kept_for_a_time(world: &World) {
    let task = world.add("first");
    for (call, kept) in [(world.call("a"), Span::hours(1)), (given(world.call("a"), "g"), Span::days(7))] {
        let send = || world.kernel.run(&call, &noting(&task, "again")).unwrap().replayed;
        assert!(!send());
        world.advance(Span(kept.0 - 1));
        assert!(send(), "kept until the last moment");
        world.advance(Span(1));
        assert!(!send(), "forgotten at the end of its time");
        assert!(send(), "and kept anew");
    }
    assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), 4);
}

fn pruned(world: &World) {
    let task = world.add("first");
    let keep = given(world.call("a"), "keep");
    world.kernel.run(&keep, &noting(&task, "keep")).unwrap();
    for _ in 0..40 {
        world.note("a", &task, "soon forgotten").unwrap();
    }
    let count = || number(&world.kernel, "SELECT COUNT(*) FROM request", &[]);
    assert_eq!(count(), 42);
    world.advance(Span::hours(2));
    // A check every 64 events prunes expired records.
    for _ in 0..64 {
        world.note("a", &task, "x").unwrap();
    }
    assert!((60..=66).contains(&count()), "{}", count());
    assert!(world.kernel.run(&keep, &noting(&task, "keep")).unwrap().replayed);
}

fn sent_at_once(world: &World) {
    let task = world.add("first");
    let call = world.call("a");
    let answers = world.race(8, |_, kernel| kernel.run(&call, &noting(&task, "once")).unwrap());
    assert_eq!(answers.iter().filter(|reply| !reply.replayed).count(), 1);
    assert!(answers.iter().all(|reply| reply.body == answers[0].body));
    assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), 1);
}

fn set_back(world: &World) {
    let task = world.add("0");
    let set = |title: &str| -> Result<_> {
        world.edit("a", &task, |request: &mut edit::Edit| request.title = Some(title.into()))
    };
    // The clock stands still, and two of the payloads are equal.
    for title in ["1", "2", "1"] {
        set(title).unwrap();
        assert_eq!(world.show(&task)["title"], title);
    }
    assert_eq!(world.show(&task)["version"], 4);
}

fn drawn_ids(world: &World) {
    let drawn: HashSet<String> = (0..10_000).map(|_| RequestId::draw(&OsEntropy).as_str().to_owned()).collect();
    assert_eq!(drawn.len(), 10_000);
    // 26 characters of 5 bits are 130 bits, and each of them varies.
    assert!(drawn.iter().all(|id| id.len() == 26 && id.is_ascii()));
    for place in 0..26 {
        let met: HashSet<u8> = drawn.iter().map(|id| id.as_bytes()[place]).collect();
        assert_eq!(met.len(), 32, "place {place}");
    }
    // The same payload twice at the same instant has two effects.
    let ask = Op::new(claim::Claim::default());
    let (first, second) = (world.add("first"), world.add("second"));
    let taken: Vec<_> = (0..2).map(|_| world.run("a", ask.clone()).unwrap()["task"]["id"].clone()).collect();
    assert_eq!(taken, [first, second]);
    for bad in ["", "a b", "ü", "x\n", &"x".repeat(129)] {
        assert_eq!(RequestId::given(bad).unwrap_err().code(), "bad_request_id");
    }
}
