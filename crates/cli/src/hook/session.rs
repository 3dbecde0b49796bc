//! The session of a hook: which agent it acts for, and ops under that name.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tenure_client::Client;
use tenure_core::agent::Process;
use tenure_core::name::AgentName;
use tenure_core::session::{Context as Knowledge, Start, StoredSession, UnknownSession, decide, id};
use tenure_core::{Code, Error, Result};
use tenure_kernel::answer::SessionStarted;
use tenure_kernel::op::{session_start, tool_used};
use tenure_kernel::query::outlook::{EditOutlook, Outlook};
use tenure_kernel::query::standing::{Depth, HookContext, Standing};
use tenure_kernel::{Actor, Call, Evidence, Op, RequestId, WorkingTree};
use tenure_store::{Deadline, OsEntropy};

use super::input::Payload;
use super::{tool_used as tool_used_hook, wrapper};
use crate::agent_tool::{AgentTool, HookEvent, HookEventKind};
use crate::identity;
use crate::output::Printer;
use crate::session::{HookTime, Session, StoreUse, call, connection, evidence, exchange};
use crate::settings::Settings;
use crate::workspace;
use crate::workspace::process::words;

/// How often a hook asks again who its session is, when others of the same id begin at the same time.
const TRIES: usize = 20;

/// How long a hook may take in all: its tool waits for it. A remote server needs that long, with name resolution and a TLS
/// handshake.
pub(super) const TIME: Duration = Duration::from_millis(1_500);
/// The same for a guard. A tool ends a hook after 5 s, and a guard that must refuse what it could not check has to answer
/// before that.
pub(super) const GUARD_TIME: Duration = Duration::from_millis(2_000);

/// How long a hook waits for its turn.
const PATIENCE: Duration = Duration::from_millis(250);
/// The same for an edit, which is either taken or not guarded: as many sessions as there are get their turn.
const EDIT_PATIENCE: Duration = Duration::from_millis(1_500);
/// The same for the end of a session, which is said once: what it holds is not free before it is stored.
const END_PATIENCE: Duration = Duration::from_millis(800);

/// A hook that found the project it is in.
pub(super) struct HookSession<'a> {
    pub(super) context: Session<'a>,
    pub(super) tool: &'static AgentTool,
    event: &'static HookEvent,
    session: String,
    pub(super) sub_agent: Option<String>,
    process: Process,
    /// The agent's name, where a person gave it.
    given: Option<String>,
    /// What a tool call did, where the event comes after one.
    pub(super) used: Option<tool_used::ToolUsed>,
    deadline: Deadline,
}

impl<'a> HookSession<'a> {
    /// The session of an event, if there is a project that may be switched on and a session to act for.
    pub(super) fn open(
        tool: &'static AgentTool,
        event: &'static HookEvent,
        settings: &'a Settings<'a>,
        out: &'a Printer,
        payload: &Payload<'_>,
        deadline: Deadline,
    ) -> Result<Option<HookSession<'a>>> {
        let is = |meant: HookEventKind| event.kind == meant;
        let patience = match is(HookEventKind::End) {
            true => END_PATIENCE,
            false if is(HookEventKind::Before) && (tool.edits)(payload).is_some() => EDIT_PATIENCE,
            false => PATIENCE,
        };
        let workspace = workspace::resolve(&settings.globals, settings.env)?;
        // An edit may be of a file in another project than the one that the session is in.
        if workspace.project.key.is_none() && !is(HookEventKind::Before) {
            return Ok(None);
        }
        let given = identity::given_name(&settings.globals, settings.env)?;
        let session = match (payload.session(), &given) {
            (Some(session), _) => id(&session)?.to_owned(),
            // Under a name that was given, a session without an id is as good as any.
            (None, Some(_)) => "-".to_owned(),
            // The agent of this edit is unknown, so whether the file is free for it is unknown too.
            (None, None) if is(HookEventKind::Before) && workspace.project.key.is_some() => {
                return Err(Error::usage(Code::BadSession, "an event of no session"));
            }
            (None, None) => return Ok(None),
        };
        let sub_agent = payload.sub_agent();
        let process = wrapper::tool_process(settings.env).unwrap_or_default();
        let used = match event.kind {
            HookEventKind::After | HookEventKind::Failed => {
                Some(tool_used_hook::of(tool, payload, is(HookEventKind::Failed), (&workspace, settings.env))?)
            }
            _ => None,
        };
        let is_news = used.as_ref().is_some_and(tool_used_hook::is_news);
        let writes = is(HookEventKind::Start) || is(HookEventKind::End) || is_news;
        let store_use = StoreUse::Hook { time: HookTime { patience, deadline }, writes };
        let context = Session::at(workspace, settings, out, store_use);
        Ok(Some(HookSession { context, tool, event, session, sub_agent, process, given, used, deadline }))
    }

    /// The same session at another place; none where there is no project.
    pub(super) fn elsewhere<'b>(&'b self, settings: &'b Settings<'b>) -> Result<Option<HookSession<'b>>> {
        let workspace = workspace::resolve(&settings.globals, settings.env)?;
        if workspace.project.key.is_none() {
            return Ok(None);
        }
        let time = HookTime { patience: EDIT_PATIENCE, deadline: self.deadline };
        let store_use = StoreUse::Hook { time, writes: false };
        Ok(Some(HookSession {
            context: Session::at(workspace, settings, self.context.out, store_use),
            tool: self.tool,
            event: self.event,
            session: self.session.clone(),
            sub_agent: self.sub_agent.clone(),
            process: self.process.clone(),
            given: self.given.clone(),
            used: None,
            deadline: self.deadline,
        }))
    }

    /// How an edit of some files stands; nothing in a project that is not switched on.
    pub(super) fn outlook(&self, files: &[String], fold_case: bool) -> Result<Option<EditOutlook>> {
        let says = self.presence();
        let look = Standing { says, given: self.given.clone(), depth: Depth::News };
        let query = Outlook { look, files: files.to_vec(), fold_case };
        self.ask("nobody", |client, call| client.ask(call, &query))
    }

    /// The report of a hook that has nothing to report but that the session is there.
    pub(super) fn presence(&self) -> tool_used::ToolUsed {
        self.says(tool_used::ToolUsed::default())
    }

    /// A report of this session.
    pub(super) fn says(&self, used: tool_used::ToolUsed) -> tool_used::ToolUsed {
        tool_used::ToolUsed {
            tool: self.tool.name.to_owned(),
            session: self.session.clone(),
            event: self.event.name.to_owned(),
            sub_agent: self.sub_agent.clone(),
            ..used
        }
    }

    /// What is known of the session before anything is said; nothing in a project that is not switched on.
    pub(super) fn standing(&self, says: &tool_used::ToolUsed, depth: Depth) -> Result<Option<HookContext>> {
        if self.context.workspace.project.key.is_none() {
            return Ok(None);
        }
        let query = Standing { says: says.clone(), given: self.given.clone(), depth };
        self.ask("nobody", |client, call| client.ask(call, &query))
    }

    /// Registers the session and says who it is. Asks again where another process was quicker. `dead` proves of others that
    /// they are.
    pub(super) fn start(&self, standing: &HookContext, source: Start, dead: &[Evidence]) -> Result<SessionStarted> {
        let mut standing = standing.clone();
        let mut refused = None;
        for _ in 0..TRIES {
            let proofs = self.proofs(&standing.known);
            let agent = self.agent(&standing, source, &proofs);
            let op = Op::new(session_start::SessionStart {
                tool: self.tool.name.to_owned(),
                session: self.session.clone(),
                source,
                given: self.given.is_some(),
                event: self.event.name.to_owned(),
            });
            match self.run(&agent, &op, proofs.into_iter().chain(dead.iter().cloned()).collect()) {
                Err(error) if error.code() == Code::OtherSession => refused = Some(error),
                other => return other,
            }
            match self.standing(&self.presence(), Depth::Who)? {
                Some(again) => standing = again,
                None => break,
            }
        }
        Err(refused.unwrap_or_else(|| Error::bug("a session that nobody is")))
    }

    /// Who the session is or would be.
    pub(super) fn agent(&self, standing: &HookContext, source: Start, proofs: &[Evidence]) -> AgentName {
        if let Some(given) = self.given.as_deref().or(standing.agent.as_deref()) {
            return given.into();
        }
        let asking =
            UnknownSession { tool: self.tool.name, session: &self.session, start: source, process: &self.process };
        let dead = |seen: &StoredSession| proofs.iter().any(|proof| proof.process == seen.process);
        decide(&asking, &standing.known, standing.now, dead).agent
    }

    /// Says that the session is there, unless that was said just now.
    pub(super) fn present(&self) -> Result<()> {
        self.say(&self.presence())
    }

    /// Says what a tool call did, unless there is nothing new in it.
    pub(super) fn say(&self, says: &tool_used::ToolUsed) -> Result<()> {
        let Some(standing) = self.standing(says, Depth::News)? else { return Ok(()) };
        self.say_after(&standing, says)
    }

    /// The same where it is known how things stand.
    pub(super) fn say_after(&self, standing: &HookContext, says: &tool_used::ToolUsed) -> Result<()> {
        let agent = match &standing.mine {
            Some(mine) if mine.settled && !says.told && says.context == Knowledge::Kept => return Ok(()),
            Some(mine) => mine.agent.clone(),
            // Hooks that were set up in the middle of a session, or one of another project.
            None => self.start(standing, Start::Resume, &[])?.agent,
        };
        let says = tool_used::ToolUsed { first: standing.mine.is_none(), ..says.clone() };
        self.run::<serde_json::Value>(&agent, &Op::new(says), Vec::new()).map(|_| ())
    }

    /// Proof of which sessions run in processes that are dead.
    pub(super) fn proofs(&self, known: &[StoredSession]) -> Vec<Evidence> {
        let others = known.iter().filter(|seen| seen.process != self.process && !seen.ended);
        evidence::among(self.context.settings.env, others.map(|seen| (seen.agent.clone(), seen.process.clone())))
    }

    /// Whether the tool's process serves the sessions of other programs, so that many go on at once.
    pub(super) fn serves_many(&self) -> bool {
        self.process.host.is_empty() || words(self.process.pid).iter().skip(1).any(|word| word.ends_with("-server"))
    }

    /// The sessions that go on in the same process under other ids, as other agents.
    pub(super) fn live_beside<'s>(&self, known: &'s [StoredSession]) -> impl Iterator<Item = &'s StoredSession> {
        let (process, session) = (self.process.clone(), self.session.clone());
        let own: Vec<AgentName> =
            known.iter().filter(|seen| seen.session == session).map(|seen| seen.agent.clone()).collect();
        let given = self.given.is_some();
        known.iter().filter(move |seen| {
            !given && !seen.ended && seen.process == process && seen.session != session && !own.contains(&seen.agent)
        })
    }

    /// The id of the session.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// The event by the tool's own name.
    pub(super) fn event(&self) -> &str {
        self.event.name
    }

    fn actor(&self, agent: &str) -> Actor {
        Actor {
            name: agent.into(),
            tool: self.tool.name.to_owned(),
            process: Some(self.process.clone()).filter(|process| !process.host.is_empty()),
            door: tenure_kernel::Door::Hook,
            principal: None,
        }
    }

    /// Runs an op as an agent.
    pub(super) fn run<T: DeserializeOwned>(&self, agent: &str, op: &Op, proven_dead: Vec<Evidence>) -> Result<T> {
        self.run_seeing(agent, op, proven_dead, WorkingTree::default())
    }

    /// Runs an op that tells the state of the working tree.
    pub(super) fn run_seeing<T: DeserializeOwned>(
        &self,
        agent: &str,
        op: &Op,
        proven_dead: Vec<Evidence>,
        tree: WorkingTree,
    ) -> Result<T> {
        op.check()?;
        let call = call::known(&self.context, self.actor(agent), RequestId::draw(&OsEntropy))?;
        let mut call = call.ok_or_else(|| Error::bug("a project that lost its key"))?;
        call.proven_dead = proven_dead;
        call::see(&mut call, tree);
        let client = &connection::of(&self.context)?.client;
        exchange(&self.context, &mut call, |call| client.run_any(call, op))?.read()
    }

    /// Proof of which agents that hold something are dead.
    pub(super) fn dead(&self, agent: &str) -> Result<Vec<Evidence>> {
        self.ask(agent, |client, call| Ok(evidence::dead(self.context.settings.env, client, call)))
    }

    /// Asks a query as an agent.
    pub(super) fn ask<T>(&self, agent: &str, query: impl Fn(&Client, &Call) -> Result<T>) -> Result<T> {
        let call = call::known(&self.context, self.actor(agent), call::query_id()?)?;
        let mut call = call.ok_or_else(|| Error::bug("a project that lost its key"))?;
        let client = &connection::of(&self.context)?.client;
        exchange(&self.context, &mut call, |call| query(client, call))
    }
}
