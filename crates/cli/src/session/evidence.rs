//! Proof that agents of this machine are dead, by their processes.

use tenure_client::Client;
use tenure_core::agent::{Judgement, Process};
use tenure_core::name::AgentName;
use tenure_kernel::query::suspects::Suspects;
use tenure_kernel::{Call, Evidence};

use crate::env::Env;
use crate::workspace::process::{HostFacts, proven_dead};

/// The dead among the agents of this machine that hold something.
pub(crate) fn dead(env: &Env, client: &Client, call: &Call) -> Vec<Evidence> {
    // Where this fails the request itself fails for the same reason and reports it.
    let suspects = client.ask(call, &Suspects { host: HostFacts::host(env) }).unwrap_or_default();
    among(env, suspects.into_iter().map(|suspect| (suspect.name, suspect.process)))
}

/// The dead among some agents.
pub(crate) fn among(env: &Env, suspects: impl Iterator<Item = (AgentName, Process)>) -> Vec<Evidence> {
    let mut suspects = suspects.peekable();
    if suspects.peek().is_none() {
        return Vec::new();
    }
    let here = HostFacts::read(env).process(0, 0);
    let is_dead = |process: &Process| match process.judged_by(&here) {
        Judgement::Unknown => false,
        Judgement::Dead => true,
        Judgement::Look => proven_dead(process.pid, process.started),
    };
    suspects.filter(|(_, process)| is_dead(process)).map(|(agent, process)| Evidence { agent, process }).collect()
}
