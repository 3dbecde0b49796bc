//! Shorthand shared by several themes.

use std::sync::Barrier;

use serde_json::{Value, json};
use tenure_core::agent::Process;
use tenure_core::task::TaskState;
use tenure_core::{Kind, Result};
use tenure_kernel::answer::{Agent, NextChoice, Task};
use tenure_kernel::op::{add, block, cancel, claim, done, edit, note, release, reopen, transfer, unblock};
use tenure_kernel::query;
use tenure_kernel::query::list;
use tenure_kernel::{Call, Evidence, Kernel, Op};
use tenure_store::table::project;

use crate::fixture::{Engine, World};

impl World {
    /// Adds a task by `person:ann` from a complete request and returns its id.
    pub(super) fn add_with(&self, request: add::Add) -> String {
        id(&self.run("person:ann", Op::new(request)).unwrap())
    }

    /// Adds a task with a priority and labels.
    pub(super) fn add_ranked(&self, title: &str, priority: i64, labels: &[&str]) -> String {
        self.add_with(add::Add { priority, labels: words(labels), ..add::Add::titled(title) })
    }

    pub(super) fn unblock(&self, agent: &str, task: &str) -> Result<Value> {
        self.run(agent, Op::new(unblock::Unblock { task: task.into() }))
    }

    pub(super) fn reopen(&self, agent: &str, task: &str) -> Result<Value> {
        self.run(agent, Op::new(reopen::Reopen { task: task.into(), ..reopen::Reopen::default() }))
    }

    pub(super) fn transfer(&self, agent: &str, task: &str, to: &str) -> Result<Value> {
        let request = transfer::Transfer { task: Some(task.into()), to: to.into(), ..transfer::Transfer::default() };
        self.run(agent, Op::new(request))
    }

    /// Edits a task: `change` fills the request.
    pub(super) fn edit(&self, agent: &str, task: &str, change: impl FnOnce(&mut edit::Edit)) -> Result<Value> {
        let mut request = edit::Edit { task: task.into(), ..edit::Edit::default() };
        change(&mut request);
        self.run(agent, Op::new(request))
    }

    /// Replaces the dependencies of a task.
    pub(super) fn edit_after(&self, agent: &str, task: &str, after: &[&str]) -> Result<Value> {
        self.edit(agent, task, |request| request.after = Some(words(after)))
    }

    /// Claims the first task that has all of these labels.
    pub(super) fn claim_labelled(&self, agent: &str, labels: &[&str]) -> Result<Value> {
        self.run(agent, Op::new(claim::Claim { labels: words(labels), ..claim::Claim::default() }))
    }

    pub(super) fn next(&self, agent: &str, labels: &[&str]) -> NextChoice {
        self.kernel.ask(&self.call(agent), &query::next::Next { labels: words(labels) }).unwrap()
    }

    /// All tasks that match a filter, read page by page.
    pub(super) fn list(&self, filter: &list::List) -> Vec<Task> {
        let mut filter = filter.clone();
        let mut all = Vec::new();
        loop {
            let page = self.kernel.ask(&self.call("person:ann"), &filter).unwrap();
            assert_eq!(page.more, page.next.is_some());
            assert!(page.items.len() <= filter.limit);
            all.extend(page.items);
            match page.next {
                Some(next) => filter.cursor = Some(next),
                None => return all,
            }
        }
    }

    /// The ids of the tasks in a state, in order of choice.
    pub(super) fn in_state(&self, state: TaskState) -> Vec<String> {
        let filter = list::List { states: vec![state], ..list::List::default() };
        self.list(&filter).into_iter().map(|task| task.id).map(String::from).collect()
    }

    /// An agent from the list of agents.
    pub(super) fn agent(&self, name: &str) -> Option<Agent> {
        let page = self
            .kernel
            .ask(&self.call("person:ann"), &query::agents::Agents { within_us: None, limit: 1_000, cursor: None })
            .unwrap();
        page.items.into_iter().find(|agent| agent.name == name)
    }

    pub(super) fn focus(&self, agent: &str) -> Option<String> {
        self.agent(agent).and_then(|agent| agent.focus).map(String::from)
    }

    /// Runs a closure that must neither change a task nor append an event.
    pub(super) fn unchanged<T>(&self, task: &str, what: impl FnOnce() -> T) -> T {
        let before = (self.show(task), self.last_event());
        let answer = what();
        assert_eq!((self.show(task), self.last_event()), before);
        answer
    }

    /// The number of events of a kind.
    pub(super) fn count(&self, kind: &str) -> usize {
        self.events().iter().filter(|event| event.kind == kind).count()
    }

    /// Asserts the invariants of every project: the log replays without a conflict and yields the current holds, and
    /// the counters are correct.
    pub(crate) fn sound(&self) {
        let call = self.call("person:ann");
        let replay = crate::replay::replay(&self.events());
        for interval in &replay.intervals {
            let hold = self.kernel.ask(&call, &query::show_hold::ShowHold { id: interval.hold.clone() }).unwrap();
            assert_eq!(
                (hold.fence.0, hold.holder.as_str(), &hold.subject),
                (interval.fence, interval.holder.as_str(), &interval.task)
            );
            let is_open = matches!(hold.state.as_str(), "live" | "offered" | "lapsed");
            assert_eq!(is_open, interval.until.is_none(), "the log and the row of {} differ", interval.hold);
        }
        let live = self.kernel.ask(&call, &query::holds::Holds::of(None, 1_000)).unwrap();
        for hold in live.items {
            assert!(replay.intervals.iter().any(|interval| interval.hold == hold.id), "{} is not in the log", hold.id);
        }
        let all = list::List { all: true, ..list::List::default() };
        for task in self.list(&all) {
            let known = &replay.tasks[task.id.as_str()];
            // An expired hold that is not yet settled is over for queries and not yet for the log.
            if task.lapsed_from.is_none() {
                assert_eq!(known.status, task.status.as_str(), "{}", task.id);
            }
            if let Some(after) = &known.after {
                let mut shown = task.after.clone();
                shown.sort();
                assert_eq!(*after, shown, "{}", task.id);
            }
        }
        assert_eq!(self.kernel.ask(&call, &query::health::Health {}).unwrap().wrong_counters, []);
        let counted = "SELECT (SELECT COUNT(*) FROM place WHERE ended_at = 0) - CAST(COALESCE(SUM(waiting), 0) AS BIGINT) FROM project";
        assert_eq!(crate::raw::number(&self.kernel, counted, &[]), 0, "places are counted right");
        let [stored, expected] = crate::raw::words(&self.kernel);
        assert_eq!(stored, expected, "the words of tasks");
    }

    /// Runs `body` in several threads at once, each with its own kernel if the engine supports that.
    pub(super) fn race<T: Send>(&self, threads: usize, body: impl Fn(usize, &Kernel) -> T + Sync) -> Vec<T> {
        let barrier = Barrier::new(threads);
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads)
                .map(|n| {
                    let (barrier, body) = (&barrier, &body);
                    scope.spawn(move || {
                        let own = (self.engine != Engine::Memory).then(|| self.another());
                        barrier.wait();
                        body(n, own.as_ref().unwrap_or(&self.kernel))
                    })
                })
                .collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Runs an op, and retries the same call while the store is busy. Fifty threads on a loaded machine can wait for
    /// their turn longer than one call may. A caller that gets the busy error retries under the same request id.
    pub(super) fn run_patiently(&self, kernel: &Kernel, agent: &str, op: &Op) -> Value {
        let call = self.call(agent);
        let reply = (0..20).map(|_| kernel.run(&call, op)).find(|answer| match answer {
            Err(error) => error.kind() != Kind::Busy,
            Ok(_) => true,
        });
        serde_json::from_str(&reply.expect("the store is busy for longer than twenty calls wait").unwrap().body)
            .unwrap()
    }

    /// A call whose door has just proven some agents dead.
    pub(super) fn call_knowing_dead(&self, agent: &str, dead: &[&str]) -> Call {
        Call { proven_dead: dead.iter().map(|name| proof(name)).collect(), ..self.call(agent) }
    }

    /// Runs an op on the whole store.
    pub(crate) fn in_store(&self, agent: &str, op: Op) -> Result<Value> {
        self.run_call(&Call { project: project::whole_store(), ..self.call(agent) }, &op)
    }

    /// Runs an op with the given call.
    pub(crate) fn run_call(&self, call: &Call, op: &Op) -> Result<Value> {
        self.kernel.run(call, op).map(|reply| serde_json::from_str(&reply.body).unwrap())
    }
}

/// The ops that act on a task under a fence.
pub(super) fn acting(task: Option<&str>, fence: Option<i64>, force: bool) -> [Op; 4] {
    let task = task.map(str::to_owned);
    let reason = String::from("because");
    [
        Op::new(done::Done {
            task: task.clone().map(Into::into),
            fence: fence.map(Into::into),
            force,
            ..done::Done::default()
        }),
        Op::new(block::Block {
            task: task.clone().map(Into::into),
            reason: reason.clone(),
            on: None,
            fence: fence.map(Into::into),
            force,
        }),
        Op::new(cancel::Cancel {
            task: task.clone().map(Into::into),
            reason: reason.clone(),
            fence: fence.map(Into::into),
            force,
        }),
        Op::new(release::Release {
            task: task.map(Into::into),
            reason,
            fence: fence.map(Into::into),
            force,
            ..release::Release::default()
        }),
    ]
}

/// A note on the task in focus.
pub(super) fn note_in_focus(text: &str) -> Op {
    Op::new(note::Note { text: text.into(), ..note::Note::default() })
}

/// A claim of a task by its id.
pub(super) fn claiming(task: &str) -> Op {
    Op::new(claim::Claim { task: Some(task.into()), ..claim::Claim::default() })
}

/// Evidence that an agent is dead whose process no door has seen.
pub(super) fn proof(agent: &str) -> Evidence {
    Evidence { agent: agent.into(), process: Process::default() }
}

pub(super) fn words<T: for<'a> From<&'a str>>(words: &[&str]) -> Vec<T> {
    words.iter().map(|word| T::from(word)).collect()
}

/// The id of a task in a response.
pub(super) fn id(task: &Value) -> String {
    task["id"].as_str().unwrap().to_owned()
}

/// The fence in the answer to a claim.
pub(super) fn fence(claimed: &Value) -> i64 {
    claimed["hold"]["fence"].as_i64().unwrap()
}

/// The task in the answer to a claim.
pub(super) fn taken(claimed: &Value) -> String {
    assert_ne!(claimed["task"], json!(null), "nothing was taken: {}", claimed["reason"]);
    id(&claimed["task"])
}
