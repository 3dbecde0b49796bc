//! Deterministic random choices, and random ops made with them.

use tenure_core::number::EventNumber;
use tenure_kernel::Op;
use tenure_kernel::op::{
    add, add_many, block, cancel, claim, confirm, done, edit, import, join, note, release, remember, reopen, resume,
    transfer, unblock,
};
use tenure_store::Entropy;

use crate::fixture::Seeded;
use crate::known::Known;

/// A random source with a seed.
pub(crate) struct Dice(Seeded);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(Seeded::new(seed))
    }

    pub(crate) fn below(&self, count: usize) -> usize {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        usize::try_from(u32::from_le_bytes(bytes)).unwrap() % count
    }

    pub(crate) fn one<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub(crate) fn once_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// The agents of a random walk.
pub(crate) const AGENTS: [&str; 4] = ["a", "b", "c", "person:ann"];

/// Any op on one of these tasks. Every op occurs sooner or later, and most are not refused.
pub(crate) fn any_op(dice: &Dice, tasks: &[String]) -> Op {
    if tasks.len() < 4 || dice.once_in(6) {
        return any_add(dice, tasks);
    }
    let task = dice.one(tasks).clone();
    let named = Some(task.clone());
    let reason = String::from("because");
    match dice.below(21) {
        0..=2 => Op::new(claim::Claim { ttl_s: Some(30 + seconds(dice)), ..claim::Claim::default() }),
        3 => Op::new(claim::Claim { task: named.map(Into::into), ttl_s: Some(30), ..claim::Claim::default() }),
        4 | 5 => Op::new(note::Note {
            task: named.map(Into::into),
            text: "seen".repeat(1 + dice.below(60)),
            ..Default::default()
        }),
        6 | 7 => Op::new(done::Done { task: (!dice.once_in(3)).then_some(task.into()), ..done::Done::default() }),
        8 => Op::new(block::Block { task: named.map(Into::into), reason, ..block::Block::default() }),
        9 => Op::new(unblock::Unblock { task: task.into() }),
        10 => Op::new(release::Release { task: named.map(Into::into), reason, ..release::Release::default() }),
        11 => Op::new(cancel::Cancel { task: named.map(Into::into), reason, ..cancel::Cancel::default() }),
        12 => Op::new(reopen::Reopen { task: task.into(), reason }),
        13 => {
            let to = (*dice.one(&AGENTS)).to_owned();
            Op::new(transfer::Transfer { task: named.map(Into::into), to: to.into(), ..transfer::Transfer::default() })
        }
        14 => Op::new(join::Join::default()),
        15 | 16 => Op::new(resume::Resume { ttl_s: Some(30 + seconds(dice)), ..resume::Resume::default() }),
        17 => Op::new(whole_note(dice, named)),
        18 => Op::new(remember::Remember { items: memories(dice, 3) }),
        19 => Op::new(confirm::Confirm { events: Some(EventNumber::new(seconds(dice))), mail: None }),
        _ => {
            let priority = Some(seconds(dice) % 5);
            let labels = vec![String::from("y")];
            Op::new(edit::Edit { task: task.into(), priority, add_labels: labels, ..edit::Edit::default() })
        }
    }
}

/// A note with all its optional parts: some keys are new, some exist already.
fn whole_note(dice: &Dice, task: Option<String>) -> note::Note {
    let file = |n: usize| note::Artifact {
        path: format!("out/{n}.txt"),
        kind: None,
        sha256: "0a".repeat(32),
        size: i64::try_from(n).unwrap(),
    };
    let artifacts = (0..dice.below(4)).map(file).collect();
    note::Note {
        task: task.map(Into::into),
        text: "seen".to_owned(),
        memories: memories(dice, 4),
        artifacts,
        data: None,
        fence: None,
    }
}

fn memories(dice: &Dice, most: usize) -> Vec<remember::NewMemory> {
    let reach = [remember::MemoryReach::Project, remember::MemoryReach::Agent];
    (0..=dice.below(most))
        .map(|_| remember::NewMemory {
            text: "of which there is more to say ".repeat(1 + dice.below(4)),
            key: Some(format!("key {}", dice.below(12))),
            scope: Some(*dice.one(&reach)),
            ..remember::NewMemory::default()
        })
        .collect()
}

fn any_add(dice: &Dice, tasks: &[String]) -> Op {
    let after: Vec<String> = tasks.iter().filter(|_| dice.once_in(8)).cloned().collect();
    if dice.once_in(6) {
        return Op::new(any_import(dice, &after));
    }
    if !dice.once_in(4) {
        let labels = if dice.once_in(2) { vec![String::from("x")] } else { Vec::new() };
        let priority = seconds(dice) % 5;
        return Op::new(add::Add {
            after: after.into_iter().map(Into::into).collect(),
            labels,
            priority,
            ..add::Add::titled("some work")
        });
    }
    let item = |n: usize| add_many::NewTask {
        title: format!("one of many, {n}"),
        description: "of which there is more to say".repeat(1 + dice.below(40)),
        priority: 2,
        labels: Vec::new(),
        acceptance: String::new(),
        after: Vec::new(),
        key: None,
        line: n,
    };
    Op::new(add_many::AddMany { items: (1..2 + dice.below(8)).map(item).collect() })
}

/// An import of tasks and a note.
fn any_import(dice: &Dice, after: &[String]) -> import::Import {
    let id = |sort| tenure_core::id::draw(sort, 12, &mut |bytes| dice.0.fill(bytes));
    let (task, note) = (id(tenure_core::id::Sort::Task), id(tenure_core::id::Sort::Note));
    let at = "2030-01-31T09:00:00Z";
    let given = serde_json::json!({
        "tasks": [{ "id": task, "title": "from elsewhere", "after": after, "created_by": "b", "created_at": at, "updated_at": at }],
        "notes": [{ "id": note, "task": task, "agent": "b", "at": at, "text": "seen there" }],
    });
    serde_json::from_value(given).unwrap()
}

fn seconds(dice: &Dice) -> i64 {
    i64::try_from(dice.below(600)).unwrap()
}

/// The ids of the tasks in an op's answer that it added.
pub(crate) fn added(op: &Op, body: &str) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    match Known::of(op) {
        Known::Add(_) => vec![body["id"].as_str().unwrap().to_owned()],
        Known::AddMany(_) => serde_json::from_value(body["ids"].clone()).unwrap(),
        _ => Vec::new(),
    }
}
