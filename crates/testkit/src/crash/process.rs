//! The worker process that gets killed: it reports each op before sending it and after the answer.

use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_kernel::op::{claim, join, resume};
use tenure_kernel::query::list;
use tenure_kernel::{Actor, Call, Checkout, Condition, Kernel, Op, RequestId, Trust, WorkingTree};
use tenure_store::table::project;
use tenure_store::{Location, Options, SHORT_LOG};

use crate::known::Known;
use crate::wander::{AGENTS, Dice, any_op};

/// The location of the store: a path or a URL.
pub(super) const STORE: &str = "TENURE_TESTKIT_STORE";
/// The seed of the process.
pub(super) const SEED: &str = "TENURE_TESTKIT_SEED";

/// The maximum number of tasks that a process tracks.
const KNOWN: usize = 8;

/// A line of the worker's output.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) enum Line {
    /// The op is about to be sent.
    Sent(Sent),
    /// The op was committed, with this response.
    Answered { id: String, body: String },
    /// The op was refused, because the state did not allow it.
    Refused { id: String, code: String },
    /// The op failed, which must never happen.
    Failed { id: String, error: String },
}

/// An op in reproducible form: the seed that generated it and the tasks known at that time.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) agent: String,
    seed: u64,
    tasks: Vec<String>,
}

impl Sent {
    pub(super) fn op(&self) -> Op {
        let dice = Dice::new(self.seed);
        let op = any_op(&dice, &self.tasks);
        // So short that holds of live and of killed processes expire during the run.
        let ttl_s = || Some(1 + i64::try_from(dice.below(3)).unwrap());
        match Known::of(&op) {
            Known::Claim(request) => Op::new(claim::Claim { ttl_s: ttl_s(), ..request.clone() }),
            Known::Resume(request) => Op::new(resume::Resume { ttl_s: ttl_s(), ..request.clone() }),
            _ => op,
        }
    }

    pub(super) fn call(&self) -> Call {
        call(&self.agent, &self.id, self.op().get::<join::Join>().is_some())
    }
}

/// A call in the shared project.
pub(super) fn call(agent: &str, id: &str, joins: bool) -> Call {
    let common = Some(("/copy/.git".to_owned(), 1, 2));
    let copy =
        Checkout { host: "h".into(), path: "/copy".into(), common, trust: Trust::Joined, tree: WorkingTree::default() };
    Call {
        project: project::NamedProject { key: "name:p".into(), label: "p".into() },
        actor: Actor::named(agent),
        request_id: RequestId::given(id).unwrap(),
        checkout: joins.then_some(copy),
        pinned_store: None,
        keep_events: None,
        proven_dead: Vec::new(),
        condition: Condition::None,
    }
}

/// Parses the location of the store.
pub(super) fn location(text: &str) -> Location {
    match text.contains("://") {
        true => Location::Postgres(text.to_owned()),
        false => Location::File(PathBuf::from(text)),
    }
}

/// Runs until it is killed or its output is closed.
pub(super) fn play() -> i32 {
    let store = std::env::var(STORE).unwrap();
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let dice = Dice::new(seed);
    // As on the command line: a process that is not killed leaves its log to the next one.
    let options = Options { leave_log: SHORT_LOG, ..Options::default() };
    let kernel = Kernel::new(location(&store), options, tenure_client::phrasing::of).unwrap();
    let mut tasks = Vec::new();
    for n in 0_u64.. {
        if n % 4 == 0
            && let Ok(known) = some_tasks(&kernel, &dice)
        {
            tasks = known;
        }
        let agent = (*dice.one(&AGENTS)).to_owned();
        let id = format!("{seed:x}-{n}");
        let sent = Sent { id, agent, seed: seed.rotate_left(32) ^ n, tasks: tasks.clone() };
        let line = Line::Sent(sent.clone());
        let answer = |id: String| match kernel.run(&sent.call(), &sent.op()) {
            Ok(reply) => Line::Answered { id, body: reply.body },
            Err(error) if error.is_refusal() => Line::Refused { id, code: error.code().as_str().to_owned() },
            Err(error) => Line::Failed { id, error: format!("{error:?}") },
        };
        if !say(&line) || !say(&answer(sent.id.clone())) {
            return 0;
        }
    }
    0
}

fn some_tasks(kernel: &Kernel, dice: &Dice) -> Result<Vec<String>> {
    let filter = list::List { all: true, limit: 200, ..list::List::default() };
    let page = kernel.ask(&call("person:ann", "a-look", false), &filter)?;
    let mut ids: Vec<String> = page.items.into_iter().map(|task| task.id).map(String::from).collect();
    while ids.len() > KNOWN {
        ids.swap_remove(dice.below(ids.len()));
    }
    Ok(ids)
}

/// Writes a line immediately. Returns whether the reader still exists.
fn say(line: &Line) -> bool {
    let mut text = serde_json::to_string(line).unwrap();
    text.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}
