//! Plans: what happens in a simulation, as plain data that can be stored, shrunk and run again.
//!
//! A plan never names an id, because ids are drawn when it runs: a task is known by the number under which the plan adds
//! it, a request by its number, a fence by how it relates to the newest one. So any step can be taken out and the rest
//! still means something.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure_kernel::Op;
use tenure_kernel::op::{add, add_many, block, cancel, claim, done, edit, note, release, reopen, transfer, unblock};

use super::model::Model;

/// What happens, step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where it comes from or what it shows.
    pub about: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// An agent calls.
    Call(Call),
    /// The clock moves: a little, by hours or years, after a suspend, or back.
    Clock {
        /// By how much, in microseconds.
        by_us: i64,
    },
    /// An agent dies: what it would still have called does not happen.
    Dies {
        /// The agent.
        agent: String,
    },
}

/// A call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Who.
    pub agent: String,
    /// The number of its request id: calls with the same number carry the same id.
    pub request: u32,
    /// Whether that id was given by the caller, whose answers are kept longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
    /// What.
    pub op: Request,
    /// What goes wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Agents whose processes the door has just proven dead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven_dead: Vec<String>,
}

/// What goes wrong in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The lock cannot be had.
    Busy,
    /// This statement fails, counted from 1; none if there are fewer.
    Statement(u32),
    /// The commit fails.
    Commit,
    /// The commit is done and its acknowledgement lost.
    Acknowledgement,
}

/// A fence that a caller gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fence {
    /// The newest of the task.
    Newest,
    /// The one before it.
    Older,
    /// Any number.
    Number(i64),
}

/// A version that a caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// As it is.
    Current,
    /// One less.
    Behind,
}

/// On what and with what right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Acting {
    /// The task, by its number in the plan; without it the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// The fence given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Whether a person overrides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// A new task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The number it has in the plan.
    pub task: u32,
    /// Its priority.
    pub priority: i64,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What it comes after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
}

/// The payload of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Request {
    Add {
        #[serde(flatten)]
        draft: Draft,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<String>,
    },
    AddMany {
        items: Vec<Draft>,
    },
    Claim {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_s: Option<i64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
    },
    Note {
        #[serde(flatten)]
        on: Acting,
    },
    Done {
        #[serde(flatten)]
        on: Acting,
    },
    Block {
        #[serde(flatten)]
        on: Acting,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocker: Option<u32>,
    },
    Release {
        #[serde(flatten)]
        on: Acting,
    },
    Cancel {
        #[serde(flatten)]
        on: Acting,
    },
    Transfer {
        #[serde(flatten)]
        on: Acting,
        to: String,
    },
    Unblock {
        task: u32,
    },
    Reopen {
        task: u32,
    },
    Edit(Edit),
}

/// Changes of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Edit {
    /// The task.
    pub task: u32,
    /// A new priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// Labels to add.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add_labels: Vec<String>,
    /// Labels to take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove_labels: Vec<String>,
    /// Whom it is for; empty for anyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// What it comes after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<u32>>,
    /// The version it is made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Request {
    /// The tasks it adds, by their numbers in the plan, in order.
    pub fn adds(&self) -> Vec<u32> {
        match self {
            Request::Add { draft, .. } => vec![draft.task],
            Request::AddMany { items } => items.iter().map(|item| item.task).collect(),
            _ => Vec::new(),
        }
    }
}

/// Who is who when a plan runs: the ids that its numbers got.
#[derive(Debug, Default)]
pub struct Cast {
    tasks: BTreeMap<u32, String>,
    sent: BTreeMap<u32, Vec<(Request, Op)>>,
}

impl Cast {
    /// The id of a task; one that nothing has where it was never added.
    pub fn id(&self, task: u32) -> String {
        self.tasks.get(&task).cloned().unwrap_or_else(|| format!("t-zzz{task:05}"))
    }

    /// All tasks that were added.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, &String)> {
        self.tasks.iter().map(|(task, id)| (*task, id))
    }

    /// Notes the ids that a request's new tasks got, in order. A number that has one keeps it.
    pub fn added(&mut self, request: &Request, ids: impl Iterator<Item = String>) {
        for (task, id) in request.adds().into_iter().zip(ids) {
            self.tasks.entry(task).or_insert(id);
        }
    }

    /// The op that a call sends. A client that makes a request again sends the very same bytes, whatever has happened
    /// to fences and versions since.
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

    /// What `Acting` means: task, fence, force.
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
            Request::Add { draft, assignee } => Op::Add(add::Request {
                priority: draft.priority,
                labels: draft.labels,
                after: self.ids(&draft.after),
                assignee,
                ..add::Request::titled(&format!("task {}", draft.task))
            }),
            Request::AddMany { items } => Op::AddMany(add_many::Request { items: self.items(&items) }),
            Request::Claim { task, ttl_s, labels } => {
                Op::Claim(claim::Request { task: task.map(|task| self.id(task)), ttl_s, labels })
            }
            Request::Note { on } => {
                let (task, fence, _) = self.acting(&on, agent, model);
                Op::Note(note::Request { task, text: "went on".to_owned(), data: None, fence })
            }
            Request::Done { on } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::Done(done::Request { task, fence, force })
            }
            Request::Block { on, blocker } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                let on = blocker.map(|task| self.id(task));
                Op::Block(block::Request { task, reason: "no way".to_owned(), on, fence, force })
            }
            Request::Release { on } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::Release(release::Request { task, fence, force, ..release::Request::default() })
            }
            Request::Cancel { on } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::Cancel(cancel::Request { task, reason: "not needed".to_owned(), fence, force })
            }
            Request::Transfer { on, to } => {
                let (task, fence, force) = self.acting(&on, agent, model);
                Op::Transfer(transfer::Request { task, to, fence, force })
            }
            Request::Unblock { task } => Op::Unblock(unblock::Request { task: self.id(task) }),
            Request::Reopen { task } => Op::Reopen(reopen::Request { task: self.id(task), reason: String::new() }),
            Request::Edit(edit) => self.edit(edit, model),
        }
    }

    fn edit(&self, edit: Edit, model: &Model) -> Op {
        let task = self.id(edit.task);
        let version = model.tasks.get(&task).map_or(1, |task| task.version);
        Op::Edit(edit::Request {
            task,
            priority: edit.priority,
            add_labels: edit.add_labels,
            remove_labels: edit.remove_labels,
            assignee: edit.assignee,
            after: edit.after.map(|after| self.ids(&after)),
            expect_version: edit.version.map(|wanted| match wanted {
                Version::Current => version,
                Version::Behind => version - 1,
            }),
            ..edit::Request::default()
        })
    }

    /// The items of a batch: each has a key, by which those of the same batch refer to it.
    fn items(&self, items: &[Draft]) -> Vec<add_many::Item> {
        let within = |task: &u32| items.iter().any(|item| item.task == *task);
        let key = |task: u32| format!("item {task}");
        let after = |task: &u32| if within(task) { key(*task) } else { self.id(*task) };
        items
            .iter()
            .enumerate()
            .map(|(index, item)| add_many::Item {
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
}
