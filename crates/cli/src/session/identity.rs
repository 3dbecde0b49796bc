//! The identity of the caller, and the agents on this machine whose processes are proven dead.

use tenure_client::Client;
use tenure_core::agent::{Judgement, Process};
use tenure_core::name::AgentName;
use tenure_core::session::CommandOwner;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::query::session_of::SessionOf;
use tenure_kernel::query::suspects::Suspects;
use tenure_kernel::{Actor, Call, Door, Evidence};
use tenure_store::table::project;

use super::Session;
use crate::identity::{self, ResolvedCaller};
use crate::workspace::process::{HostFacts, ancestors, proven_dead};

impl Session<'_> {
    /// Who calls, for an op: an agent tool without a session is refused.
    pub(crate) fn caller(&self) -> Result<identity::Identity> {
        self.as_token(self.asker()?.for_op()?)
    }

    /// The same identity, unless it is given as a person that the token of a server far away is not of. A person whose
    /// name was only found on this machine is whom the token makes it, without a word.
    pub(super) fn as_token(&self, identity: identity::Identity) -> Result<identity::Identity> {
        let given = matches!(identity.source, identity::NameSource::Flag | identity::NameSource::Variable);
        if given && identity.kind == identity::ActorKind::Person && self.is_far()? {
            let principal = self.principal()?;
            if principal.is_some_and(|principal| principal != identity.name) {
                return Err(tenure_core::access::not_yours(&identity.name));
            }
        }
        Ok(identity)
    }

    /// The caller's name as the store knows it.
    pub(crate) fn own_name(&self) -> Result<String> {
        let identity = self.caller()?;
        let principal = match identity.kind {
            identity::ActorKind::Person if self.is_far()? => self.principal()?,
            _ => None,
        };
        Ok(principal.unwrap_or(identity.name))
    }

    /// Whom the token of a server far away makes the caller; none where there is no such server.
    pub(crate) fn principal(&self) -> Result<Option<String>> {
        self.client()?.remote().map_or(Ok(None), |remote| remote.principal())
    }

    fn is_far(&self) -> Result<bool> {
        Ok(matches!(self.workspace()?.store, crate::workspace::StoreLocation::Server(_)))
    }

    /// Who calls, for a query: anyone.
    pub(crate) fn asker(&self) -> Result<ResolvedCaller> {
        let caller = identity::resolve(&self.globals, self.env)?;
        if !caller.is_of_a_session() {
            return Ok(caller);
        }
        let registered = self.registered.get_or_init(|| self.look_up_session().unwrap_or(CommandOwner::Unknown));
        Ok(caller.registered_as(registered))
    }

    /// The agent that a hook registered for this session. What stands in the way of looking stands in the way of the
    /// command too, which says so.
    fn look_up_session(&self) -> Result<CommandOwner> {
        let tools = identity::tools(self.env)?;
        let tools: Vec<_> = tools.iter().map(|(tool, session)| (*tool, session.as_deref())).collect();
        self.session_among(&tools)
    }

    /// The agent that a hook registered for a session of one of some tools, in a process above this one.
    pub(crate) fn session_among(&self, tools: &[(&str, Option<&str>)]) -> Result<CommandOwner> {
        let Some(mut call) = self.call_as(Actor::named("nobody"), "query")? else { return Ok(CommandOwner::Unknown) };
        let query = SessionOf {
            tools: tools.iter().map(|(tool, session)| ((*tool).to_owned(), session.map(str::to_owned))).collect(),
            here: HostFacts::read(self.env).process(0, 0),
            above: ancestors().collect(),
        };
        let client = self.client()?;
        self.answered(&mut call, |call| client.ask(call, &query))
    }

    /// Who calls, for what only people may do.
    pub(crate) fn people_only(&self, what: &str) -> Result<identity::Identity> {
        let identity = self.caller()?;
        if identity.kind == identity::ActorKind::Person {
            return Ok(identity);
        }
        Err(Error::new(Code::PeopleOnly, format!("{what} is for people"))
            .at(Stage::Resolve)
            .hint("Ask a person to run it."))
    }

    /// A call about the whole store, by a person.
    pub(crate) fn person(&self, what: &str) -> Result<Call> {
        let identity = self.people_only(what)?;
        let workspace = self.workspace()?;
        Ok(Call {
            project: project::NamedProject {
                key: workspace.project.key.clone().unwrap_or_default().into(),
                label: workspace.project.label.clone(),
            },
            actor: actor(&identity),
            request_id: self.request_id()?,
            checkout: None,
            pinned_store: None,
            keep_events: None,
            proven_dead: Vec::new(),
            condition: self.store_condition()?,
        })
    }

    /// Looks at the processes of agents on this machine that hold something.
    pub(crate) fn dead(&self, client: &Client, call: &Call) -> Vec<Evidence> {
        // Where this fails the op itself meets the same obstacle and reports it.
        let suspects = client.ask(call, &Suspects { host: HostFacts::host(self.env) }).unwrap_or_default();
        self.evidence(suspects.into_iter().map(|suspect| (suspect.name, suspect.process)))
    }

    /// Proof of which of some processes are dead.
    pub(crate) fn evidence(&self, suspects: impl Iterator<Item = (AgentName, Process)>) -> Vec<Evidence> {
        let mut suspects = suspects.peekable();
        if suspects.peek().is_none() {
            return Vec::new();
        }
        let here = HostFacts::read(self.env).process(0, 0);
        let is_dead = |process: &Process| match process.judged_by(&here) {
            Judgement::Unknown => false,
            Judgement::Dead => true,
            Judgement::Look => proven_dead(process.pid, process.started),
        };
        suspects.filter(|(_, process)| is_dead(process)).map(|(agent, process)| Evidence { agent, process }).collect()
    }
}

pub(super) fn actor(identity: &identity::Identity) -> Actor {
    Actor {
        name: identity.name.clone().into(),
        tool: identity.tool.unwrap_or_default().to_owned(),
        process: None,
        door: Door::Cli,
        principal: None,
    }
}
