//! Resolves the symbolic numbers, relations and texts of a plan to concrete ids, fences and ops while the plan runs.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::message::Urgency;
use tenure_core::number::EventNumber;
use tenure_kernel::Op;
use tenure_kernel::op::remember::MemoryReach;
use tenure_kernel::op::{
    add, add_many, block, cancel, claim, confirm, done, edit, inbox, lock, memory_forget, memory_pin, note, release,
    remember, reopen, reserve, resume, send, session_end, snooze, transfer, unblock,
};

use super::model::files::PATTERNS;
use super::model::{Lock, Model, PathHold, Place};
use super::plan::{
    About, Acting, Call, Draft, Edit, Fence, Kept, Memory, Moved, Request, Shown, Version, Which, Whose,
};

/// The texts of memories.
pub const TEXTS: [&str; 6] =
    ["kiwi mango", "mango plum", "plum kiwi", "quince", "kiwi kiwi quince", "plum quince mango"];

/// The names of locks. One of them is also a valid pattern, because holds of different kinds never conflict.
pub const NAMES: [&str; 3] = ["deploy", "src/a.rs", "the test database"];

/// Maps the task numbers of a plan to the ids that the kernel drew, and keeps the ops already sent.
#[derive(Debug, Default)]
pub struct Cast {
    tasks: BTreeMap<u32, String>,
    sent: BTreeMap<u32, Vec<(Request, Op)>>,
    /// Per agent: the last event offered by an answer that arrived.
    told: BTreeMap<String, i64>,
    /// Per agent: the last letter offered by an answer that arrived.
    mailed: BTreeMap<String, i64>,
}

impl Cast {
    /// The id of a task, or an id that matches no task if this one was never added.
    pub fn id(&self, task: u32) -> String {
        self.tasks.get(&task).cloned().unwrap_or_else(|| format!("t-zzz{task:05}"))
    }

    /// All tasks that were added.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, &String)> {
        self.tasks.iter().map(|(task, id)| (*task, id))
    }

    /// Records the ids of the tasks that a request added, in order. A number that already has an id keeps it.
    pub fn added(&mut self, request: &Request, ids: impl Iterator<Item = String>) {
        for (task, id) in request.adds().into_iter().zip(ids) {
            self.tasks.entry(task).or_insert(id);
        }
    }

    /// Records the events and mail that an answer offered to an agent.
    pub fn heard(&mut self, agent: &str, answer: &Value) {
        if let Some(offered) = answer["events"]["offered"].as_i64() {
            self.told.insert(agent.to_owned(), offered);
        }
        if let Some(offered) = answer["mail"]["offered"].as_i64().or(answer["offered"].as_i64()) {
            self.mailed.insert(agent.to_owned(), offered);
        }
    }

    /// The op that a call sends. A retry sends the same bytes as the first attempt, even if fences and versions have
    /// changed since.
    pub fn op(&mut self, call: &Call, model: &Model) -> Op {
        let sent = self.sent.entry(call.request).or_default();
        if let Some((_, op)) = sent.iter().find(|(request, _)| *request == call.op) {
            return op.clone();
        }
        let op = self.resolve(&call.op, &call.agent, model);
        self.sent.entry(call.request).or_default().push((call.op.clone(), op.clone()));
        op
    }

    fn ids(&self, tasks: &[u32]) -> Vec<String> {
        tasks.iter().map(|task| self.id(*task)).collect()
    }

    /// Resolves `Acting` to task, fence and force.
    fn acting(&self, on: &Acting, agent: &str, model: &Model) -> (Option<String>, Option<i64>, bool) {
        let task = on.task.map(|task| self.id(task));
        let meant = task.clone().or_else(|| model.agents.get(agent).map(|agent| agent.focus.clone()));
        let fences = meant.and_then(|id| model.tasks.get(&id)).map_or(Vec::new(), |task| task.fences.clone());
        let fence = on.fence.map(|fence| match fence {
            Fence::Newest => fences.last().copied().unwrap_or(1),
            Fence::Older => fences.iter().rev().nth(1).copied().unwrap_or(1),
            Fence::Number(number) => number,
        });
        (task, fence, on.force)
    }

    fn resolve(&self, request: &Request, agent: &str, model: &Model) -> Op {
        match request.clone() {
            Request::Add { draft, assignee } => Op::new(add::Add {
                priority: draft.priority,
                labels: draft.labels,
                after: self.ids(&draft.after).into_iter().map(Into::into).collect(),
                assignee: assignee.map(Into::into),
                ..add::Add::titled(&format!("task {}", draft.task))
            }),
            Request::AddMany { items } => Op::new(add_many::AddMany { items: self.items(&items) }),
            Request::Claim { task, ttl_s, labels } => {
                Op::new(claim::Claim { task: task.map(|task| self.id(task)).map(Into::into), ttl_s, labels })
            }
            Request::Resume { labels, ttl_s, budget, limit } => {
                Op::new(resume::Resume { labels, ttl_s, budget, limit })
            }
            Request::Confirm { up_to } => {
                let events = shown(up_to, self.told.get(agent).copied().unwrap_or(0), model);
                Op::new(confirm::Confirm { events: Some(EventNumber::new(events)), mail: None })
            }
            Request::ConfirmMail { up_to } => {
                let mail = shown(up_to, self.mailed.get(agent).copied().unwrap_or(0), model);
                Op::new(confirm::Confirm { events: None, mail: Some(EventNumber::new(mail)) })
            }
            Request::Reserve(wanted) => Op::new(reserve::Reserve {
                paths: typed(&wanted.patterns),
                shared: wanted.shared,
                ttl_s: wanted.ttl_s,
                reason: wanted.reason,
                all_checkouts: wanted.all_checkouts,
                wait: wanted.wait,
                ..reserve::Reserve::default()
            }),
            Request::Lock(wanted) => Op::new(lock::Lock {
                name: NAMES[wanted.name as usize % NAMES.len()].to_owned(),
                ttl_s: wanted.ttl_s,
                reason: wanted.reason,
                fence: wanted.fence.map(|fence| lock_fence(fence, wanted.name, model)).map(Into::into),
                renewal: if wanted.runner { lock::LockRenewal::Runner } else { lock::LockRenewal::Session },
                wait: wanted.wait,
                ..lock::Lock::default()
            }),
            Request::ReleaseLock { name, fence, force } => Op::new(release::Release {
                lock: Some(NAMES[name as usize % NAMES.len()].to_owned()),
                fence: fence.map(|fence| lock_fence(fence, name, model)).map(Into::into),
                force,
                ..release::Release::default()
            }),
            Request::ReleasePaths { patterns, fence, force } => {
                let fence = fence.map(|fence| path_fence(fence, newest(model, agent, patterns.first().copied())));
                Op::new(release::Release {
                    paths: typed(&patterns),
                    fence: fence.map(Into::into),
                    force,
                    ..release::Release::default()
                })
            }
            Request::ReleaseHold { hold, fence, force } => {
                let fence = fence.map(|fence| Cast::hold_fence(&hold, fence, model));
                let hold = Some(self.hold(&hold, model));
                Op::new(release::Release {
                    hold: hold.map(Into::into),
                    fence: fence.map(Into::into),
                    force,
                    ..release::Release::default()
                })
            }
            Request::Send { to, about, request, urgent, reply } => Op::new(send::Send {
                to: to.into_iter().map(Into::into).collect(),
                about: about.map(|about| match about {
                    About::Task(task) => self.id(task),
                    About::Hold(which) => self.hold(&which, model),
                }),
                text: "how long?".to_owned(),
                urgency: if urgent { Urgency::Urgent } else { Urgency::Normal },
                request,
                reply: reply.map(|at| letter(model, agent, at)).map(Into::into),
            }),
            Request::Inbox { limit, ack } => {
                let id = |at: usize| letter(model, agent, at);
                Op::new(inbox::Inbox { limit, ack: ack.into_iter().map(id).map(Into::into).collect() })
            }
            Request::SessionEnd => Op::new(session_end::SessionEnd {
                tool: "claude".to_owned(),
                session: format!("session-of-{agent}").replace(':', "-"),
                reason: String::new(),
                event: String::new(),
            }),
            Request::Note { on, memories, artifacts } => {
                let (task, fence, _) = self.acting(&on, agent, model);
                let about = task.clone().or_else(|| model.agents.get(agent).map(|agent| agent.focus.clone()));
                let memories = memories.iter().map(|item| self.memory(item, agent, about.as_deref())).collect();
                let artifacts = artifacts.into_iter().map(artifact).collect();
                let text = "went on".to_owned();
                Op::new(note::Note {
                    task: task.map(Into::into),
                    text,
                    fence: fence.map(Into::into),
                    memories,
                    artifacts,
                    data: None,
                })
            }
            Request::Remember { items } => {
                let focus = model.agents.get(agent).map(|agent| agent.focus.clone());
                let items = items.iter().map(|item| self.memory(item, agent, focus.as_deref())).collect();
                Op::new(remember::Remember { items })
            }
            Request::MemoryPin { of, pinned } => {
                Op::new(memory_pin::MemoryPin { memory: self.kept(&of, model).into(), pinned })
            }
            Request::MemoryForget { of } => {
                Op::new(memory_forget::MemoryForget { memory: self.kept(&of, model).into() })
            }
            Request::Done { on } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::new(done::Done {
                    task: task.map(Into::into),
                    fence: fence.map(Into::into),
                    force,
                    ..done::Done::default()
                })
            }
            Request::Block { on, blocker } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                let on = blocker.map(|task| self.id(task));
                Op::new(block::Block {
                    task: task.map(Into::into),
                    reason: "no way".to_owned(),
                    on: on.map(Into::into),
                    fence: fence.map(Into::into),
                    force,
                })
            }
            Request::Release { on } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::new(release::Release {
                    task: task.map(Into::into),
                    fence: fence.map(Into::into),
                    force,
                    ..release::Release::default()
                })
            }
            Request::Cancel { on } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::new(cancel::Cancel {
                    task: task.map(Into::into),
                    reason: "not needed".to_owned(),
                    fence: fence.map(Into::into),
                    force,
                })
            }
            Request::Transfer { on, to } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::new(transfer::Transfer {
                    task: task.map(Into::into),
                    to: to.into(),
                    fence: fence.map(Into::into),
                    force,
                    ..transfer::Transfer::default()
                })
            }
            Request::Move { what, to, fence, force } => {
                let given = |of: &Which, fence: Fence| Cast::hold_fence(of, fence, model);
                let base = transfer::Transfer { to: to.into(), force, ..transfer::Transfer::default() };
                Op::new(match what {
                    Moved::Hold(which) => transfer::Transfer {
                        fence: fence.map(|fence| given(&which, fence)).map(Into::into),
                        hold: Some(self.hold(&which, model).into()),
                        ..base
                    },
                    Moved::Paths(patterns) => {
                        let newest = newest(model, agent, patterns.first().copied());
                        let fence = fence.map(|fence| path_fence(fence, newest)).map(Into::into);
                        transfer::Transfer { fence, paths: typed(&patterns), ..base }
                    }
                    Moved::Lock(name) => transfer::Transfer {
                        fence: fence.map(|fence| lock_fence(fence, name, model)).map(Into::into),
                        lock: Some(NAMES[name as usize % NAMES.len()].to_owned()),
                        ..base
                    },
                    Moved::All(from) => transfer::Transfer { all: true, from: from.map(Into::into), ..base },
                })
            }
            Request::Unblock { task } => Op::new(unblock::Unblock { task: self.id(task).into() }),
            Request::Reopen { task } => Op::new(reopen::Reopen { task: self.id(task).into(), reason: String::new() }),
            Request::Snooze { task, for_s } => {
                Op::new(snooze::Snooze { task: self.id(task).into(), for_s: Some(for_s), until: None })
            }
            Request::Edit(edit) => self.edit(edit, model),
        }
    }

    fn edit(&self, edit: Edit, model: &Model) -> Op {
        let task = self.id(edit.task);
        let version = model.tasks.get(&task).map_or(1, |task| task.version);
        Op::new(edit::Edit {
            task: task.into(),
            priority: edit.priority,
            add_labels: edit.add_labels,
            remove_labels: edit.remove_labels,
            assignee: edit.assignee.map(Into::into),
            after: edit.after.map(|after| self.ids(&after).into_iter().map(Into::into).collect()),
            expect_version: edit.version.map(|wanted| match wanted {
                Version::Current => version,
                Version::Behind => version - 1,
            }),
            ..edit::Edit::default()
        })
    }

    /// The items of a batch. Each has a key, so that items of the same batch can refer to it.
    fn items(&self, items: &[Draft]) -> Vec<add_many::NewTask> {
        let within = |task: &u32| items.iter().any(|item| item.task == *task);
        let key = |task: u32| format!("item {task}");
        let after = |task: &u32| if within(task) { key(*task) } else { self.id(*task) };
        items
            .iter()
            .enumerate()
            .map(|(index, item)| add_many::NewTask {
                title: format!("task {}", item.task),
                description: String::new(),
                priority: item.priority,
                labels: item.labels.clone(),
                acceptance: String::new(),
                after: item.after.iter().map(after).collect(),
                key: Some(key(item.task)),
                line: index + 1,
            })
            .collect()
    }

    fn hold_fence(which: &Which, fence: Fence, model: &Model) -> i64 {
        match which {
            Which::Path(holder, pattern) => path_fence(fence, newest(model, holder, Some(*pattern))),
            Which::Lock(name) => lock_fence(fence, *name, model),
            Which::Task(_) => path_fence(fence, None),
        }
    }

    fn hold(&self, which: &Which, model: &Model) -> String {
        let none = || "h-zzz00000".to_owned();
        match which {
            Which::Task(task) => model.hold_of(&self.id(*task)).unwrap_or_else(none),
            Which::Path(holder, pattern) => {
                newest(model, holder, Some(*pattern)).map_or_else(none, |path| path.id.clone())
            }
            Which::Lock(name) => locks_named(model, *name).next_back().map_or_else(none, |lock| lock.id.clone()),
        }
    }

    /// The memory as sent. The text names its audience, so that a leak is recognisable in any output.
    fn memory(&self, item: &Memory, agent: &str, about: Option<&str>) -> remember::NewMemory {
        let task = item.task.map(|task| self.id(task));
        let words = TEXTS[item.text as usize % TEXTS.len()];
        let about = about.filter(|about| !about.is_empty());
        let text = match (item.scope, task.as_deref().or(about)) {
            (Some(MemoryReach::Agent), _) => format!("{words} only {agent}"),
            (Some(MemoryReach::Task) | None, Some(task)) => format!("{words} within {task}"),
            _ => words.to_owned(),
        };
        let (key, kind, scope, ttl_s) = (item.key.clone(), item.kind, item.scope, item.ttl_s);
        remember::NewMemory { text, key, kind, scope, task: task.map(Into::into), ttl_s }
    }

    fn kept(&self, of: &Kept, model: &Model) -> String {
        let place = match &of.whose {
            Whose::Project => Place::Project,
            Whose::Agent(agent) => Place::Agent(agent.clone()),
            Whose::Task(task) => Place::Task(self.id(*task)),
        };
        model.memory_under(&place, &of.key).unwrap_or_else(|| "m-zzz00000".to_owned())
    }
}

/// The number up to which a door confirms delivery.
fn shown(up_to: Shown, told: i64, model: &Model) -> i64 {
    match up_to {
        Shown::All => told,
        Shown::ButLast(less) => told - less,
        Shown::Beyond(more) => model.last_event + more,
    }
}

/// A letter of an agent, counted from the newest.
fn letter(model: &Model, agent: &str, at: usize) -> String {
    model.newest_letters(agent).get(at).cloned().unwrap_or_else(|| "g-zzz00000".to_owned())
}

/// The patterns as typed by the caller.
fn typed(patterns: &[u32]) -> Vec<String> {
    patterns.iter().map(|at| PATTERNS[*at as usize % PATTERNS.len()].0.to_owned()).collect()
}

/// The newest hold of an agent on a pattern.
fn newest<'a>(model: &'a Model, holder: &str, pattern: Option<u32>) -> Option<&'a PathHold> {
    let spelling = PATTERNS[pattern? as usize % PATTERNS.len()].1;
    model.paths.iter().rev().find(|path| path.holder == holder && path.pattern == spelling)
}

fn path_fence(fence: Fence, of: Option<&PathHold>) -> i64 {
    let newest = of.map_or(1, |path| path.fence);
    match fence {
        Fence::Newest => newest,
        Fence::Older => newest - 1,
        Fence::Number(number) => number,
    }
}

/// All locks with a name, ended or not, in the order of their grants.
fn locks_named(model: &Model, name: u32) -> impl DoubleEndedIterator<Item = &Lock> {
    let name = NAMES[name as usize % NAMES.len()];
    model.locks.iter().filter(move |lock| lock.name == name)
}

fn lock_fence(fence: Fence, name: u32, model: &Model) -> i64 {
    let mut fences = locks_named(model, name).rev().map(|lock| lock.fence);
    match fence {
        Fence::Newest => fences.next().unwrap_or(1),
        Fence::Older => fences.nth(1).unwrap_or(1),
        Fence::Number(number) => number,
    }
}

/// An artifact. Number 0 produces an invalid size.
fn artifact(number: u32) -> note::Artifact {
    let size = i64::from(number) - 1;
    note::Artifact { path: format!("out/{number}.txt"), kind: None, sha256: "0a".repeat(32), size }
}
