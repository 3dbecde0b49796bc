//! The session of one command: its settings, its workspace, its connection to the kernel and its caller.
//!
//! A session is resolved once, when it is opened, and does not change. What the command does to the store is the `StoreUse`
//! that it is opened with. Opening makes no store and connects to no server: a `Client` does that with its first request.
//! The one value that is found later is the agent that a hook registered for the caller, since that asks the store.

pub(crate) mod call;
pub(crate) mod caller;
pub(crate) mod connection;
pub(crate) mod evidence;
mod exchange;
mod run;
mod server_timeouts;
mod trust;

use std::time::Duration;

use tenure_client::Client;
use tenure_core::name::AgentName;
use tenure_core::{Result, name};
use tenure_kernel::query::LIMIT_MAX;
use tenure_kernel::query::agents::Agents;
use tenure_kernel::{Actor, Answered, Call, Op, Operation, Query, Reply};
use tenure_store::Deadline;

use self::caller::KnownCaller;
use self::connection::StoreConnection;
pub(crate) use self::exchange::exchange;
pub(crate) use self::run::RunOptions;
pub(crate) use self::trust::is_unconfirmed;
use crate::output::Printer;
use crate::settings::Settings;
use crate::workspace::{self, Workspace};

/// What a command does to the store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreUse {
    /// It asks queries, and ends.
    Read,
    /// It asks queries until it is ended. It reads on a connection that can write: commands that end while it reads leave
    /// what they wrote in the log, and only such a connection can save that log when it is removed.
    Follow,
    /// It runs ops. Its queries share the connection that writes.
    Write,
    /// It fills the store from a backup. The store is made even where the project is pinned to another.
    Restore,
    /// A person chooses the store: it is made whatever the project is pinned to, and needs no consent of its own.
    Choose,
    /// A hook asks or writes, and has little time. It makes no store.
    Hook {
        time: HookTime,
        /// Whether it always writes. The other hooks mostly only look, on a connection that cannot write: one that can
        /// makes files beside the store and removes them again.
        writes: bool,
    },
}

impl StoreUse {
    /// How much time there is, if a hook calls.
    const fn hook(self) -> Option<HookTime> {
        match self {
            StoreUse::Hook { time, .. } => Some(time),
            _ => None,
        }
    }
}

/// How much time a hook has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookTime {
    /// How long it waits for its turn at the store.
    pub(crate) patience: Duration,
    /// When it must have answered, whatever it waits for.
    pub(crate) deadline: Deadline,
}

/// What a command knows of its surroundings.
pub(crate) struct Session<'a> {
    pub(crate) settings: &'a Settings<'a>,
    pub(crate) out: &'a Printer,
    pub(crate) workspace: Workspace,
    store_use: StoreUse,
    caller: KnownCaller,
    /// A refusal is kept until a request needs the store, so that a malformed request and an unknown caller are refused
    /// first, and `whoami` and `doctor` answer where the store cannot be used.
    connection: Result<StoreConnection>,
}

impl<'a> Session<'a> {
    /// Opens a session in the project of the working directory.
    pub(crate) fn open(settings: &'a Settings<'a>, out: &'a Printer, store_use: StoreUse) -> Result<Session<'a>> {
        let workspace = workspace::resolve(&settings.globals, settings.env)?;
        Ok(Session::at(workspace, settings, out, store_use))
    }

    /// Opens a session in a workspace that was resolved from something else than the working directory.
    pub(crate) fn at(
        workspace: Workspace,
        settings: &'a Settings<'a>,
        out: &'a Printer,
        store_use: StoreUse,
    ) -> Session<'a> {
        let connection = StoreConnection::open(settings, &workspace, store_use);
        Session { settings, out, workspace, store_use, caller: KnownCaller::default(), connection }
    }

    /// The same session for a caller that a door has identified.
    pub(crate) fn acting_as(self, actor: Actor) -> Session<'a> {
        Session { caller: KnownCaller::acting(actor), ..self }
    }

    /// Runs an op with what it observes on this machine (`Operation::INPUTS`).
    pub(crate) fn run<O: Operation>(&self, op: O, with: RunOptions) -> Result<Answered<O::Answer>> {
        self.run_any(&Op::new(op), with).map(Answered::from)
    }

    /// The same for an op of any type.
    pub(crate) fn run_any(&self, op: &Op, with: RunOptions) -> Result<Reply> {
        run::any(self, op, with)
    }

    /// Asks a query.
    pub(crate) fn ask<Q: Query>(&self, query: &Q) -> Result<Q::Answer> {
        self.ask_with(Sight::Store, |client, call| client.ask(call, query))
    }

    /// Asks a query that shows holds. An agent whose process is dead holds nothing, as for a claim.
    pub(crate) fn ask_who_holds<Q: Query>(&self, query: &Q) -> Result<Q::Answer> {
        self.ask_with(Sight::Processes, |client, call| client.ask(call, query))
    }

    /// Learns the agents of the project where a text that is to be shown has the long name of one, so that it can be
    /// shortened. Where they cannot be learned, names stay whole.
    pub(crate) fn know_agents<'t>(&self, shown: impl IntoIterator<Item = &'t str>) {
        let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._:-".contains(c);
        if self.out.is_json() || !shown.into_iter().any(|text| text.split(|c| !of_name(c)).any(name::is_long)) {
            return;
        }
        let mut known: Vec<AgentName> = Vec::new();
        let mut cursor = None;
        loop {
            let Ok(page) = self.ask(&Agents { within_us: None, limit: LIMIT_MAX, cursor }) else { return };
            known.extend(page.items.into_iter().map(|agent| agent.name));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        self.out.know_agents(known.iter().map(AgentName::as_str));
    }

    /// Makes a call that consists of several queries or differs from the usual one. It may be made twice.
    pub(crate) fn ask_with<T>(&self, sight: Sight, ask: impl Fn(&Client, &Call) -> Result<T>) -> Result<T> {
        let connection = connection::of(self)?;
        let actor = caller::of_query(self)?;
        let mut call = call::query(self, connection, actor)?;
        if sight == Sight::Processes {
            call.proven_dead = evidence::dead(self.settings.env, &connection.client, &call);
        }
        exchange(self, &mut call, |call| ask(&connection.client, call))
    }
}

/// What a query is told about this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing: it tells what the store has.
    Store,
    /// Which agents are dead, by their processes.
    Processes,
}

#[cfg(test)]
mod tests;
