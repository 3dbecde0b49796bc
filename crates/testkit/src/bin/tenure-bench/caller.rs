//! Calls the kernel in this process, as a program that links the library does.

use std::sync::Arc;

use serde_json::Value;
use tenure_kernel::op::{add, add_many, claim, done, note};
use tenure_kernel::{Actor, Call, Condition, Kernel, Op, RequestId};
use tenure_store::table::project;
use tenure_store::{Location, Options, OsEntropy};

/// One agent in one project. A kernel used by one thread has one connection.
pub(crate) struct Caller {
    pub(crate) kernel: Arc<Kernel>,
    project: project::NamedProject,
    agent: String,
}

impl Caller {
    pub(crate) fn new(location: &Location, project: &str, agent: &str) -> Caller {
        let kernel = Arc::new(Kernel::new(location.clone(), Options::default(), tenure_client::phrasing::of).unwrap());
        Caller { kernel, project: name(project), agent: agent.to_owned() }
    }

    /// The same agent on the same connection, in another project.
    pub(crate) fn elsewhere(&self, project: &str) -> Caller {
        Caller { kernel: self.kernel.clone(), project: name(project), agent: self.agent.clone() }
    }

    pub(crate) fn call(&self) -> Call {
        Call {
            project: self.project.clone(),
            actor: Actor::named(&self.agent),
            request_id: RequestId::draw(&OsEntropy),
            checkout: None,
            pinned_store: None,
            keep_events: None,
            proven_dead: Vec::new(),
            condition: Condition::None,
        }
    }

    /// Runs an op and returns the stored response.
    pub(crate) fn run(&self, op: &Op) -> String {
        self.kernel.run(&self.call(), op).unwrap().body
    }

    /// Adds a task and returns its id.
    pub(crate) fn add(&self) -> String {
        let answer: Value = serde_json::from_str(&self.run(&adding())).unwrap();
        answer["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn add_many(&self, items: Vec<add_many::NewTask>) {
        self.run(&Op::new(add_many::AddMany { items }));
    }
}

fn name(project: &str) -> project::NamedProject {
    project::NamedProject { key: format!("name:{project}").into(), label: project.to_owned() }
}

pub(crate) fn adding() -> Op {
    Op::new(add::Add::titled("one more"))
}

pub(crate) fn claiming(task: &str) -> Op {
    Op::new(claim::Claim { task: Some(task.into()), ..claim::Claim::default() })
}

pub(crate) fn noting(task: &str) -> Op {
    Op::new(note::Note { task: Some(task.into()), text: "half way".to_owned(), ..note::Note::default() })
}

pub(crate) fn finishing(task: &str) -> Op {
    Op::new(done::Done { task: Some(task.into()), ..done::Done::default() })
}
