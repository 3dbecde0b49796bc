//! Random choices that are the same in every run, and random ops made with them.

use tenure_kernel::Op;
use tenure_kernel::op::{
    add, add_many, block, cancel, claim, confirm, done, edit, import, join, note, release, remember, reopen, resume,
    transfer, unblock,
};
use tenure_store::Entropy;

use crate::fixture::Seeded;

/// Random choices from a seed.
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

/// The agents that wander.
pub(crate) const AGENTS: [&str; 4] = ["a", "b", "c", "person:ann"];

/// Any op on one of these tasks; each op comes up sooner or later, most are not refused.
pub(crate) fn any_op(dice: &Dice, tasks: &[String]) -> Op {
    if tasks.len() < 4 || dice.once_in(6) {
        return any_add(dice, tasks);
    }
    let task = dice.one(tasks).clone();
    let named = Some(task.clone());
    let reason = String::from("because");
    match dice.below(21) {
        0..=2 => Op::Claim(claim::Request { ttl_s: Some(30 + seconds(dice)), ..claim::Request::default() }),
        3 => Op::Claim(claim::Request { task: named, ttl_s: Some(30), ..claim::Request::default() }),
        4 | 5 => Op::Note(note::Request { task: named, text: "seen".repeat(1 + dice.below(60)), ..Default::default() }),
        6 | 7 => Op::Done(done::Request { task: (!dice.once_in(3)).then_some(task), ..done::Request::default() }),
        8 => Op::Block(block::Request { task: named, reason, ..block::Request::default() }),
        9 => Op::Unblock(unblock::Request { task }),
        10 => Op::Release(release::Request { task: named, reason, ..release::Request::default() }),
        11 => Op::Cancel(cancel::Request { task: named, reason, ..cancel::Request::default() }),
        12 => Op::Reopen(reopen::Request { task, reason }),
        13 => {
            let to = (*dice.one(&AGENTS)).to_owned();
            Op::Transfer(transfer::Request { task: named, to, ..transfer::Request::default() })
        }
        14 => Op::Join(join::Request::default()),
        15 | 16 => Op::Resume(resume::Request { ttl_s: Some(30 + seconds(dice)), ..resume::Request::default() }),
        17 => Op::Note(whole_note(dice, named)),
        18 => Op::Remember(remember::Request { items: memories(dice, 3) }),
        19 => Op::Confirm(confirm::Request { events: Some(seconds(dice)), mail: None }),
        _ => {
            let priority = Some(seconds(dice) % 5);
            let labels = vec![String::from("y")];
            Op::Edit(edit::Request { task, priority, add_labels: labels, ..edit::Request::default() })
        }
    }
}

/// A note with everything that can go with one: some keys are new, some are those of others.
fn whole_note(dice: &Dice, task: Option<String>) -> note::Request {
    let file = |n: usize| note::Artifact {
        path: format!("out/{n}.txt"),
        kind: None,
        sha256: "0a".repeat(32),
        size: i64::try_from(n).unwrap(),
    };
    let artifacts = (0..dice.below(4)).map(file).collect();
    note::Request { task, text: "seen".to_owned(), memories: memories(dice, 4), artifacts, data: None, fence: None }
}

fn memories(dice: &Dice, most: usize) -> Vec<remember::Item> {
    let reach = [remember::Reach::Project, remember::Reach::Agent];
    (0..=dice.below(most))
        .map(|_| remember::Item {
            text: "of which there is more to say ".repeat(1 + dice.below(4)),
            key: Some(format!("key {}", dice.below(12))),
            scope: Some(*dice.one(&reach)),
            ..remember::Item::default()
        })
        .collect()
}

fn any_add(dice: &Dice, tasks: &[String]) -> Op {
    let after: Vec<String> = tasks.iter().filter(|_| dice.once_in(8)).cloned().collect();
    if dice.once_in(6) {
        return Op::Import(any_import(dice, &after));
    }
    if !dice.once_in(4) {
        let labels = if dice.once_in(2) { vec![String::from("x")] } else { Vec::new() };
        let priority = seconds(dice) % 5;
        return Op::Add(add::Request { after, labels, priority, ..add::Request::titled("some work") });
    }
    let item = |n: usize| add_many::Item {
        title: format!("one of many, {n}"),
        description: "of which there is more to say".repeat(1 + dice.below(40)),
        priority: 2,
        labels: Vec::new(),
        acceptance: String::new(),
        after: Vec::new(),
        key: None,
        line: n,
    };
    Op::AddMany(add_many::Request { items: (1..2 + dice.below(8)).map(item).collect() })
}

/// Tasks and a note from elsewhere.
fn any_import(dice: &Dice, after: &[String]) -> import::Request {
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

/// The ids of the tasks that an op has added, in its answer.
pub(crate) fn added(op: &Op, body: &str) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    match op {
        Op::Add(_) => vec![body["id"].as_str().unwrap().to_owned()],
        Op::AddMany(_) => serde_json::from_value(body["ids"].clone()).unwrap(),
        _ => Vec::new(),
    }
}
