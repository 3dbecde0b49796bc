//! Agents: registration, liveness, and the effects of a refused first op.

use tenure_core::Span;
use tenure_core::agent::{Liveness, Process};
use tenure_core::number::EventNumber;
use tenure_core::task::TaskState;
use tenure_kernel::op::{add, claim, note, resume};
use tenure_kernel::query;
use tenure_kernel::query::list;
use tenure_kernel::{Actor, Call, Op};

use super::Case;
use super::shorthand::{acting, claiming, fence, id, note_in_focus, taken, words};
use crate::fixture::{World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_i1_a_bad_name_does_nothing", bad_names),
    Case::everywhere("inv_i1_a_name_is_one_agent_whoever_uses_it", one_agent),
    Case::everywhere("inv_i2_an_unknown_agent_cannot_be_given_anything", unknown_target),
    Case::everywhere("inv_i4_proof_of_death_frees_at_once_and_only_what_is_asked_for", proven_dead),
    Case::everywhere("inv_i4_proof_of_death_never_lengthens_a_hold", proof_never_lengthens),
    Case::everywhere("inv_i4_proof_counts_in_a_choice", proof_in_a_choice),
    Case::everywhere("inv_i4_proof_counts_in_every_view", proof_in_views),
    Case::everywhere("inv_i4_proof_that_came_too_late_for_a_refused_op_ends_nothing", proof_of_a_refused_op),
    Case::everywhere("inv_i4_the_process_of_an_agent_is_the_one_it_was_last_seen_in", processes),
    Case::everywhere("inv_i4_liveness_follows_the_last_op", liveness),
    Case::everywhere("inv_i4_a_path_whose_task_has_lapsed_keeps_nobody_there", lapsed_with_its_task),
    Case::everywhere("inv_i4_an_agent_whose_path_is_over_with_its_task_is_settled_as_gone", settled_with_its_task),
    Case::everywhere("inv_t15_a_refused_op_commits_settling_and_presence_only", refused_op),
    Case::everywhere("inv_t15_a_refused_first_op_leaves_no_agent_and_no_event", refused_first_op),
    Case::everywhere("inv_t15_a_refused_op_in_an_empty_project_leaves_it_empty", refused_in_empty_project),
];

fn bad_names(world: &World) {
    let task = world.add("known");
    for bad in ["", "A", "a b", "ä", "-a", "person:", "a/b", "a\n", "a\0", &"x".repeat(65)] {
        world.unchanged(&task, || {
            assert_eq!(code_of(world.claim(bad, &task)), "bad_name", "{bad:?}");
            assert_eq!(code_of(world.transfer("a", &task, bad)), "bad_name", "{bad:?}");
            let assigned = add::Add { assignee: Some(bad.into()), ..add::Add::titled("x") };
            assert_eq!(code_of(world.run("person:ann", Op::new(assigned))), "bad_name", "{bad:?}");
        });
        if !bad.is_empty() {
            let refused =
                world.unchanged(&task, || world.edit("a", &task, |request| request.assignee = Some(bad.into())));
            assert_eq!(code_of(refused), "bad_name", "{bad:?}");
        }
    }
    for good in ["7", "a.b_c:d-e", "person:bob", &"x".repeat(64)] {
        world.claim(good, &task).unwrap();
        world.release(good, &task).unwrap();
        assert_eq!(world.agent(good).unwrap().name, good);
    }
}

fn one_agent(world: &World) {
    let task = world.add("shared");
    let first = world.claim("a", &task).unwrap();
    world.race(4, |n, kernel| {
        let note = note::Note { text: format!("process {n}"), ..note::Note::default() };
        kernel.run(&world.call("a"), &Op::new(note)).unwrap();
    });
    assert_eq!(fence(&world.claim("a", &task).unwrap()), fence(&first));
    let registered: Vec<_> = world.events().into_iter().filter(|event| event.kind == "agent.registered").collect();
    assert_eq!(registered.iter().filter(|event| event.subject == "a").count(), 1);
    assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), 4);
}

fn unknown_target(world: &World) {
    let task = world.add("held");
    world.claim("a", &task).unwrap();
    world.unchanged(&task, || {
        assert_eq!(code_of(world.transfer("a", &task, "nobody")), "unknown_agent");
        let assigned = add::Add { assignee: Some("nobody".into()), ..add::Add::titled("x") };
        assert_eq!(code_of(world.run("a", Op::new(assigned))), "unknown_agent");
        let refused = world.edit("a", &task, |request| request.assignee = Some("nobody".into()));
        assert_eq!(refusal(refused).kind().as_str(), "not_found");
    });
    assert!(world.agent("nobody").is_none());
    // An agent is known from its first op on, and within that op.
    let own = add::Add { assignee: Some("nobody".into()), ..add::Add::titled("mine") };
    assert_eq!(world.run("nobody", Op::new(own)).unwrap()["assignee"], "nobody");
    world.transfer("a", &task, "nobody").unwrap();
}

fn proven_dead(world: &World) {
    let (task, other) = (world.add("held"), world.add("held too"));
    let old = fence(&world.claim("a", &task).unwrap());
    world.claim("a", &other).unwrap();
    world.advance(Span::seconds(30));
    assert_eq!(kind_of(world.claim("b", &task)), "conflict");
    // Evidence about another agent is irrelevant.
    let beside = world.call_knowing_dead("b", &["c"]);
    assert_eq!(kind_of(world.run_call(&beside, &claiming(&task))), "conflict");
    let before = world.last_event();
    let claimed = world.run_call(&world.call_knowing_dead("b", &["a"]), &claiming(&task)).unwrap();
    assert_eq!(claimed["task"]["attempt"], 2);
    assert_eq!(world.kinds_after(before), ["agent.registered", "hold.expired", "task.claimed"]);
    let expired = world.events().into_iter().find(|event| event.kind == "hold.expired").unwrap();
    assert_eq!(expired.data["proven_dead"], true);
    assert_eq!(expired.data["ended_at"], expired.at, "cut short: it ends now");
    assert_eq!(expired.data["fence"], old);
    assert!(expired.sentence().contains("its process is gone"));
    assert_eq!(world.show(&other)["holder"]["agent"], "a", "what was not asked for is left alone");
    assert_eq!(kind_of(world.done("a", &task)), "stale");
    world.sound();
}

fn proof_never_lengthens(world: &World) {
    let task = world.add("lapsed");
    let expires = world.claim_for("a", &task, 60).unwrap()["hold"]["expires_at"].clone();
    world.advance(Span::minutes(5));
    world.run_call(&world.call_knowing_dead("b", &["a"]), &claiming(&task)).unwrap();
    let expired = world.events().into_iter().find(|event| event.kind == "hold.expired").unwrap();
    assert_eq!(expired.data["ended_at"], expires, "its time was over before the proof");
    assert_eq!(expired.data["proven_dead"], false);
    // The absence of evidence does not prove life: an expired hold is over all the same.
    world.advance(Span::hours(2));
    assert_eq!(taken(&world.claim("c", &task).unwrap()), task);
    world.sound();
}

fn proof_in_a_choice(world: &World) {
    let first = world.add("first");
    let second = world.add("second");
    world.claim("a", &first).unwrap();
    let call = world.call_knowing_dead("b", &["a"]);
    assert_eq!(world.next("b", &[]).task.unwrap().id, second);
    let next = world.kernel.ask(&call, &query::next::Next { labels: Vec::new() }).unwrap();
    assert_eq!(next.task.unwrap().id, first);
    let claimed = world.run_call(&call, &Op::new(claim::Claim::default())).unwrap();
    assert_eq!((taken(&claimed), claimed["rule"].as_str()), (first, Some("lapsed")));
    assert_eq!(claimed["reason"], next.reason);
    world.sound();
}

fn proof_in_views(world: &World) {
    let [dead, alive] = ["of the dead", "of the living"].map(|title| world.add(title));
    world.add_with(add::Add { after: vec![dead.clone().into()], ..add::Add::titled("comes after") });
    world.claim("a", &dead).unwrap();
    world.claim("c", &alive).unwrap();
    let before = world.events().len();
    let (blind, knowing) = (world.call("b"), world.call_knowing_dead("b", &["a"]));
    let kernel = &world.kernel;
    let states = |call: &Call, states: &[TaskState]| -> Vec<String> {
        let filter = list::List { states: states.to_vec(), ..list::List::default() };
        kernel.ask(call, &filter).unwrap().items.into_iter().map(|task| task.id).map(String::from).collect()
    };
    assert_eq!(states(&blind, &[TaskState::Held]), [dead.clone(), alive.clone()]);
    assert_eq!(states(&knowing, &[TaskState::Held]), std::slice::from_ref(&alive));
    assert_eq!(states(&knowing, &[TaskState::Ready]), std::slice::from_ref(&dead));
    let of = |holder: &str| list::List { holder: Some(holder.into()), ..list::List::default() };
    assert_eq!(kernel.ask(&knowing, &of("a")).unwrap().items.len(), 0);
    assert_eq!(kernel.ask(&knowing, &of("c")).unwrap().items.len(), 1);
    let seen = kernel.ask(&knowing, &query::show::Show { id: dead.clone() }).unwrap().task;
    assert_eq!((seen.state, seen.holder.is_none(), seen.lapsed_from.as_deref()), (TaskState::Ready, true, Some("a")));
    let hold = kernel.ask(&blind, &query::show::Show { id: dead.clone() }).unwrap().task.holder.unwrap().hold;
    let seen = kernel.ask(&knowing, &query::show_hold::ShowHold { id: hold.as_str().into() }).unwrap();
    assert_eq!((seen.state.as_str(), seen.liveness, seen.expires_in_s), ("lapsed", Liveness::Gone, 0));
    // The counts match the lists.
    let overview = kernel.ask(&knowing, &query::status::Status {}).unwrap();
    assert_eq!((overview.ready, overview.started, overview.held, overview.waiting), (1, 1, 1, 1));
    assert_eq!(overview.holds.iter().map(|hold| hold.holder.as_str()).collect::<Vec<_>>(), ["c"]);
    let liveness = |agents: &[tenure_kernel::answer::Agent], name: &str| {
        agents.iter().find(|agent| agent.name == name).map(|agent| agent.liveness)
    };
    let agents =
        kernel.ask(&knowing, &query::agents::Agents { within_us: None, limit: 10, cursor: None }).unwrap().items;
    for agents in [&agents, &overview.agents] {
        assert_eq!((liveness(agents, "a"), liveness(agents, "c")), (Some(Liveness::Gone), Some(Liveness::Alive)));
    }
    let pages = |rows| kernel.ask(&knowing, &query::holds::Holds::of(None, rows)).unwrap();
    assert_eq!((pages(10).total, pages(1).items[0].holder.as_str(), pages(1).more), (Some(1), "c", false));
    assert_eq!(kernel.ask(&knowing, &query::holds::Holds::of(Some("a"), 10)).unwrap().total, Some(0));
    // `next` and `peek` show what a claim takes.
    let next = kernel.ask(&knowing, &query::next::Next { labels: Vec::new() }).unwrap();
    assert_eq!(next.task.map(|task| (task.id, task.state)), Some((dead.as_str().into(), TaskState::Ready)));
    let peeked = kernel.ask(&knowing, &query::peek::Peek(resume::Resume::default())).unwrap().task.unwrap();
    assert_eq!((peeked.id.as_str(), peeked.lapsed_from.as_deref()), (dead.as_str(), Some("a")));
    assert_eq!(world.events().len(), before, "a look ends nothing");
    assert_eq!(taken(&world.run_call(&knowing, &Op::new(claim::Claim::default())).unwrap()), dead);
    world.sound();
}

fn proof_of_a_refused_op(world: &World) {
    let task = world.add("held");
    world.claim("a", &task).unwrap();
    let call = world.call_knowing_dead("b", &["a"]);
    world.unchanged(&task, || {
        let [.., release] = acting(Some(&task), None, false);
        assert_eq!(code_of(world.run_call(&call, &release)), "not_held");
    });
    assert_eq!(world.done("a", &task).unwrap()["late"], false);
    world.sound();
}

fn process(pid: i64) -> Process {
    Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid, started: 100 + pid }
}

fn processes(world: &World) {
    let task = world.add("held");
    let from = |pid: Option<i64>| Call {
        actor: Actor { tool: "claude".into(), process: pid.map(process), ..Actor::named("a") },
        ..world.call("a")
    };
    let suspects =
        |host: &str| world.kernel.ask(&world.call("b"), &query::suspects::Suspects { host: host.into() }).unwrap();
    world.run_call(&from(Some(7)), &claiming(&task)).unwrap();
    let found = suspects("h");
    assert_eq!((found.len(), found[0].name.as_str(), &found[0].process), (1, "a", &process(7)));
    assert!(suspects("elsewhere").is_empty() && suspects("").is_empty());
    assert_eq!(world.agent("a").unwrap().tool.as_deref(), Some("claude"));
    // The session continued in another process, so the death of the first proves nothing any more.
    world.run_call(&from(Some(8)), &note_in_focus("resumed")).unwrap();
    assert_eq!(suspects("h")[0].process, process(8));
    // A door that does not know the process leaves it unchanged.
    world.run_call(&from(None), &note_in_focus("by hand")).unwrap();
    assert_eq!(suspects("h")[0].process, process(8));
    // An agent without holds is not a suspect.
    world.release("a", &task).unwrap();
    assert!(suspects("h").is_empty());
}

fn liveness(world: &World) {
    let task = world.add("held");
    world.claim("a", &task).unwrap();
    let seen = || (world.agent("a").unwrap().liveness, world.show(&task)["holder"]["liveness"].clone());
    for (minutes, expected) in [(0, "alive"), (2, "alive"), (5, "idle"), (23, "idle"), (1, "stale"), (28, "stale")] {
        world.advance(Span::minutes(minutes));
        let (agent, holder) = seen();
        assert_eq!((agent.as_str(), holder.as_str().unwrap()), (expected, expected), "after {minutes} more");
    }
    world.advance(Span::minutes(1));
    assert_eq!(world.agent("a").unwrap().liveness, Liveness::Gone);
    assert!(world.show(&task)["holder"].is_null());
    world.note("a", &task, "back").unwrap();
    assert_eq!(world.agent("a").unwrap().liveness, Liveness::Alive);
}

fn lapsed_with_its_task(world: &World) {
    let task = world.add("held");
    world.claim_for("a", &task, 1_800).unwrap();
    world.reserve_with("a", &["src/"], |request| request.ttl_s = Some(10_800)).unwrap();
    let seen = |expected: Liveness, held: usize| {
        let holds = world.kernel.ask(&world.call("b"), &query::holds::Holds::of(Some("a"), 5)).unwrap();
        assert_eq!((world.agent("a").unwrap().liveness, holds.items.len()), (expected, held));
    };
    // Only queries follow, which settle nothing. While the task is held, the path counts with its own time.
    world.advance(Span::minutes(29));
    seen(Liveness::Idle, 2);
    world.advance(Span::minutes(11));
    seen(Liveness::Stale, 0);
    world.advance(Span::minutes(20));
    seen(Liveness::Gone, 0);
    // A path of its own does keep its holder there.
    world.reserve_with("c", &["docs/"], |request| request.ttl_s = Some(10_800)).unwrap();
    world.advance(Span::minutes(70));
    assert_eq!(world.agent("c").unwrap().liveness, Liveness::Idle);
    world.sound();
}

/// The first write after an agent is gone frees what is assigned to it, even if a path of its lapsed task was reserved for
/// longer.
fn settled_with_its_task(world: &World) {
    let held = world.add("held");
    world.claim_for("a", &held, 1_800).unwrap();
    let assigned = add::Add { assignee: Some("a".into()), labels: words(&["x"]), ..add::Add::titled("assigned") };
    let assigned = id(&world.run("b", Op::new(assigned)).unwrap());
    world.reserve_with("a", &["src/"], |request| request.ttl_s = Some(10_800)).unwrap();
    world.advance(Span::minutes(70));
    assert_eq!(world.agent("a").unwrap().liveness, Liveness::Gone);
    assert_eq!(world.next("b", &["x"]).task.map(|task| task.id), Some(assigned.as_str().into()));
    let taken = world.claim_labelled("b", &["x"]).unwrap();
    assert_eq!(taken["task"]["id"], assigned.as_str(), "{taken}");
    world.sound();
}

fn refused_op(world: &World) {
    let (lapsing, mine, wanted) = (world.add("lapsing"), world.add("mine"), world.add("wanted"));
    world.claim_for("a", &lapsing, 60).unwrap();
    world.claim_for("b", &mine, 3_600).unwrap();
    world.claim_for("c", &wanted, 7_200).unwrap();
    world.advance(Span::minutes(30));
    let before = (world.last_event(), world.show(&wanted));
    assert_eq!(kind_of(world.claim("b", &wanted)), "conflict");
    // Settled: the expired hold. Presence: b was seen and its hold renewed. Nothing else changed.
    assert_eq!(world.kinds_after(before.0), ["hold.expired"]);
    assert_eq!(world.show(&wanted), before.1);
    assert_eq!(world.agent("b").unwrap().last_seen_s, 0);
    assert_eq!(
        world.kernel.ask(&world.call("b"), &query::holds::Holds::of(Some("b"), 5)).unwrap().items[0].expires_in_s,
        3_600
    );
    assert_eq!(world.focus("b"), Some(mine));
    world.sound();
}

fn refused_first_op(world: &World) {
    let (held, lapsing) = (world.add("held"), world.add("lapsing"));
    world.claim("a", &held).unwrap();
    world.unchanged(&held, || {
        let mut ops = acting(Some(&held), None, false).to_vec();
        ops.extend(acting(None, None, false));
        ops.extend([claiming(&held), claiming("t-none0"), note_in_focus("hello")]);
        for op in ops {
            assert!(world.run("new", op.clone()).is_err(), "{op:?}");
            assert!(world.agent("new").is_none(), "{op:?}");
        }
    });
    // Its settling is committed, though it leaves no trace of its own.
    world.claim_for("a", &lapsing, 1).unwrap();
    world.advance(Span::seconds(1));
    let before = world.last_event();
    assert_eq!(kind_of(world.claim("new", &held)), "conflict");
    assert_eq!(world.kinds_after(before), ["hold.expired"]);
    assert!(world.agent("new").is_none());
    // The next accepted op is its first: the agent is registered once, with the next numbers.
    let before = world.last_event();
    world.claim("new", &lapsing).unwrap();
    assert_eq!(world.kinds_after(before), ["agent.registered", "task.claimed"]);
    world.sound();
}

fn refused_in_empty_project(world: &World) {
    assert_eq!(kind_of(world.claim("a", "t-none0")), "not_found");
    let call = world.call("a");
    assert!(!world.kernel.ask(&call, &query::switched_on::SwitchedOn {}).unwrap());
    assert_eq!(world.last_event(), 0);
    assert!(world.events().is_empty());
    assert!(world.agent("a").is_none());
    world.claim_any("a").unwrap();
    assert_eq!(world.kinds_after(EventNumber::START), ["project.created", "agent.registered"]);
    assert!(world.kernel.ask(&call, &query::switched_on::SwitchedOn {}).unwrap());
}
