//! Random ops by several agents: the log replays, the counters are correct, and a claim takes what `next` showed.

use serde_json::json;
use tenure_core::Span;
use tenure_core::event::kind;
use tenure_core::id::TaskId;
use tenure_core::task::TaskState;
use tenure_kernel::answer::Task;
use tenure_kernel::op::{add, block, claim, edit, reopen, snooze, transfer, unblock};
use tenure_kernel::query;
use tenure_kernel::query::list;
use tenure_kernel::{Call, Op};

use super::Case;
use super::shorthand::{acting, note_in_focus, proof, words};
use crate::fixture::{Seeded, World};

/// Proves inv_l1 (one holder at a time), inv_l7 (one order everywhere), inv_l8 (unlocked once), inv_l10 and inv_t15 (a
/// refusal changes nothing) on a random walk.
pub(super) const CASES: &[Case] =
    &[Case::everywhere("inv_l1_random_ops_keep_every_promise", |world| wander(world, 20_330_519))];

const STEPS: usize = 500;
const AGENTS: [&str; 5] = ["a", "b", "c", "d", "person:ann"];

/// Deterministic random choices.
struct Dice(Seeded);

impl Dice {
    fn below(&self, count: usize) -> usize {
        use tenure_store::Entropy;
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        usize::try_from(u32::from_le_bytes(bytes)).unwrap() % count
    }

    fn one<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn once_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }
}

fn wander(world: &World, seed: u64) {
    let dice = Dice(Seeded::new(seed));
    let tasks = populate(world, &dice);
    for step in 0..STEPS {
        if dice.once_in(3) {
            world.advance(Span::seconds(i64::try_from(dice.below(1_500)).unwrap()));
        }
        let shown = world
            .kernel
            .ask(&world.call("person:ann"), &query::show::Show { id: dice.one(&tasks).as_str().into() })
            .unwrap()
            .task;
        // Half of the calls come from the holder; otherwise most would be refused.
        let agent = match &shown.holder {
            Some(holder) if dice.once_in(2) => holder.agent.clone(),
            _ => (*dice.one(&AGENTS)).into(),
        };
        let mut call = world.call(&agent);
        if dice.once_in(12) {
            let dead = AGENTS[..4].iter().copied().filter(|other| *other != agent && dice.once_in(3));
            call.proven_dead = dead.map(proof).collect();
        }
        if dice.once_in(3) {
            claim_as_shown(world, &dice, &call, &shown.id);
        } else {
            try_op(world, &call, &any_op(&dice, &shown, &tasks));
        }
        compare_views(world);
        if step % 50 == 0 {
            world.sound();
        }
    }
    world.sound();
    // A walk that misses a kind of event proves too little.
    let events = world.events();
    for kind in kind::ALL.iter().filter(|kind| kind.starts_with("task.") || kind.starts_with("hold.")) {
        assert!(events.iter().any(|event| event.kind == **kind), "the walk never met {kind}");
    }
}

/// Twelve tasks, each with some earlier ones as dependencies.
fn populate(world: &World, dice: &Dice) -> Vec<String> {
    let first = world.add("hello");
    for agent in AGENTS {
        world.note(agent, &first, "so that all are known").unwrap();
    }
    let mut tasks = vec![first];
    for n in 1..12 {
        let after = tasks.iter().filter(|_| dice.once_in(4)).cloned().map(Into::into).collect();
        let request = add::Add {
            priority: i64::try_from(dice.below(5)).unwrap(),
            labels: if dice.once_in(2) { words(&["x"]) } else { Vec::new() },
            after,
            ..add::Add::titled(&format!("task {n}"))
        };
        tasks.push(world.add_with(request));
    }
    tasks
}

/// Claims, and compares the answer with the query just before.
fn claim_as_shown(world: &World, dice: &Dice, call: &Call, named: &str) {
    let ttl_s = Some(i64::try_from(60 + dice.below(3_600)).unwrap());
    if dice.once_in(2) {
        let labels = if dice.once_in(3) { words(&["x"]) } else { Vec::new() };
        let next = json!(world.kernel.ask(call, &query::next::Next { labels: labels.clone() }).unwrap());
        let op = Op::new(claim::Claim { task: None, ttl_s, labels });
        let claimed = world.run_call(call, &op).unwrap();
        for field in ["rule", "reason"] {
            assert_eq!(claimed[field], next[field], "next {next:#} and claim {claimed:#} differ");
        }
        assert_eq!(claimed["task"]["id"], next["task"]["id"]);
        return;
    }
    let shown = world.kernel.ask(call, &query::show::Show { id: named.into() }).unwrap().task;
    let claimed = world.run_call(call, &Op::new(claim::Claim { task: Some(named.into()), ttl_s, labels: Vec::new() }));
    let mine = shown.holder.as_ref().is_some_and(|holder| holder.agent == call.actor.name);
    let holder_dead = shown.holder.as_ref().is_some_and(|holder| call.proven_dead.contains(&proof(&holder.agent)));
    // Whoever names a task need not wait for its time.
    let snoozed = shown.state == TaskState::Waiting && shown.unmet.is_empty();
    let expected = shown.state == TaskState::Ready || mine || snoozed || (holder_dead && shown.unmet.is_empty());
    assert_eq!(claimed.is_ok(), expected, "{} was shown as {}: {claimed:?}", shown.id, shown.state);
    if let (Ok(claimed), true) = (&claimed, mine) {
        assert_eq!(claimed["hold"]["fence"], shown.holder.unwrap().fence.0);
    }
}

fn any_op(dice: &Dice, shown: &Task, tasks: &[String]) -> Op {
    let task = shown.id.clone();
    if dice.once_in(2) {
        match shown.state {
            TaskState::Done | TaskState::Cancelled => return Op::new(reopen::Reopen { task, reason: String::new() }),
            TaskState::Blocked => return Op::new(unblock::Unblock { task }),
            _ => {}
        }
    }
    let named = if dice.once_in(4) { None } else { Some(task.as_str()) };
    match dice.below(10) {
        0..=3 => dice.one(&acting(named, None, dice.once_in(4))).clone(),
        4 => note_in_focus("going on"),
        5 => {
            let to = (*dice.one(&AGENTS)).to_owned();
            Op::new(transfer::Transfer {
                task: named.map(str::to_owned).map(Into::into),
                to: to.into(),
                force: dice.once_in(3),
                ..transfer::Transfer::default()
            })
        }
        6 => Op::new(block::Block {
            task: named.map(str::to_owned).map(Into::into),
            reason: "waits".into(),
            on: Some(dice.one(tasks).clone().into()),
            ..block::Block::default()
        }),
        7 => {
            let for_s = Some(i64::try_from(dice.below(3_600)).unwrap());
            Op::new(snooze::Snooze { task, for_s, until: None })
        }
        _ => Op::new(any_edit(dice, task.into(), tasks)),
    }
}

fn any_edit(dice: &Dice, task: String, tasks: &[String]) -> edit::Edit {
    let mut request = edit::Edit { task: task.into(), ..Default::default() };
    match dice.below(4) {
        0 => request.priority = Some(i64::try_from(dice.below(5)).unwrap()),
        1 if dice.once_in(2) => request.add_labels = words(&["x", "y"]),
        1 => request.remove_labels = words(&["x", "y"]),
        2 => request.assignee = Some((*dice.one(&AGENTS)).into()),
        _ => request.after = Some(tasks.iter().filter(|_| dice.once_in(6)).cloned().map(Into::into).collect()),
    }
    request
}

/// Runs an op; a refusal must leave every task unchanged.
fn try_op(world: &World, call: &Call, op: &Op) {
    let before = seen(world);
    if let Err(error) = world.kernel.run(call, op) {
        let kind = error.kind().as_str();
        assert!(matches!(kind, "usage" | "denied" | "not_found" | "conflict" | "stale"), "{op:?}: {error:?}");
        assert_eq!(seen(world), before, "{op:?} was refused and changed something");
    }
}

/// All tasks, without the fields that presence and settling may change.
fn seen(world: &World) -> Vec<serde_json::Value> {
    let all = list::List { all: true, ..list::List::default() };
    let mut tasks: Vec<serde_json::Value> = world.list(&all).into_iter().map(|task| json!(task)).collect();
    for task in &mut tasks {
        task["assignee"] = json!(null);
        if !task["holder"].is_null() {
            task["holder"]["expires_at"] = json!(null);
            task["holder"]["liveness"] = json!(null);
        }
    }
    tasks
}

/// Lists, counts and holds agree at every instant, settled or not.
fn compare_views(world: &World) {
    let call = world.call("person:ann");
    let all = world.list(&list::List { all: true, ..list::List::default() });
    let status = world.kernel.ask(&call, &query::status::Status {}).unwrap();
    let count = |state: TaskState| i64::try_from(all.iter().filter(|task| task.state == state).count()).unwrap();
    for (state, counted) in [
        (TaskState::Ready, status.ready),
        (TaskState::Waiting, status.waiting),
        (TaskState::Stuck, status.stuck),
        (TaskState::Held, status.started),
        (TaskState::Blocked, status.blocked),
        (TaskState::Done, status.done),
        (TaskState::Cancelled, status.cancelled),
    ] {
        assert_eq!(count(state), counted, "{state}");
    }
    assert_eq!(count(TaskState::Held), status.held);
    let health = world.kernel.ask(&call, &query::health::Health {}).unwrap();
    assert_eq!(health.wrong_counters, [], "counters differ from what they count");
    let ready: Vec<&Task> = all.iter().filter(|task| task.state == TaskState::Ready).collect();
    assert_eq!(world.in_state(TaskState::Ready), ready.iter().map(|task| task.id.clone()).collect::<Vec<_>>());
    let labelled = list::List { states: vec![TaskState::Ready], labels: words(&["x"]), ..list::List::default() };
    let expected: Vec<&str> =
        ready.iter().filter(|task| task.labels.contains(&"x".to_owned())).map(|task| task.id.as_str()).collect();
    let found = world.list(&labelled);
    assert_eq!(found.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), expected);
    for task in &all {
        let unmet: Vec<&TaskId> = task
            .after
            .iter()
            .filter(|after| all.iter().any(|other| other.id == **after && other.state != TaskState::Done))
            .collect();
        assert_eq!(task.unmet.iter().collect::<Vec<_>>(), unmet, "{}", task.id);
        if task.state == TaskState::Ready {
            assert!(unmet.is_empty(), "{} is ready and has unmet dependencies", task.id);
        }
    }
}
