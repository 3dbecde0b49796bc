//! Sends a message: to agents by name, to all of them, to the holder of a task, or as a reply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::agent::{Liveness, Sign, liveness};
use tenure_core::event::Event;
use tenure_core::event::message::MessageSent;
use tenure_core::id::{HoldId, MessageId, or_empty};
use tenure_core::message::{EVERYONE, EVERYONE_MAX, RECIPIENTS_MAX, Urgency};
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Kind, Result, Span, hold as rule, id, message, name};
use tenure_store::table::{agent, hold, mail, message as table};

use super::inbox::unknown;
use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::query::any_id::sort;
use crate::unit_of_work::{self, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The recipients, at most 20, or `all` for every other agent that is not gone. By default the author of the message
    /// that it replies to, else the holder of the subject.
    #[serde(default)]
    pub to: Vec<AgentName>,
    /// The subject: a task or a hold. A message about a hold, or to the holder of a task, ends with the hold.
    #[serde(default)]
    pub about: Option<String>,
    /// The text, at most 8 KiB.
    pub text: String,
    /// The urgency.
    #[serde(default)]
    pub urgency: Urgency,
    /// Whether the author asks for an action: the message is open until the hold ends or a recipient acknowledges it.
    #[serde(default)]
    pub request: bool,
    /// The message that it answers, which you wrote or received. The reply is about the same thing unless it says
    /// otherwise, and at least as urgent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<MessageId>,
}

/// The subject of a message.
#[derive(Default)]
struct MessageSubject {
    /// As the request names it.
    named: String,
    /// The current hold and its holder.
    held: Option<(HoldId, AgentName)>,
}

impl Operation for Send {
    const NAME: &'static str = "send";
    const ABOUT: &'static str = "Send a message to agents, or to the holder of a task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Sent;

    fn check(&self) -> Result<()> {
        message::text(&self.text)?;
        if self.to.is_empty() && self.about.is_none() && self.reply.is_none() {
            return Err(Error::usage(Code::NoRecipient, "the message names no recipient")
                .hint("Name an agent, or with --about a task whose holder gets it.")
                .attempt(Action::ListAgents));
        }
        if self.to.len() > RECIPIENTS_MAX {
            let message = format!("the message has {} recipients; the limit is {RECIPIENTS_MAX}", self.to.len());
            return Err(Error::usage(Code::TooManyRecipients, message));
        }
        self.to.iter().try_for_each(|to| name::check(to).map(|_| ()))?;
        self.reply.as_ref().map_or(Ok(()), |reply| id::named(reply, id::Sort::Message))?;
        self.about.as_deref().map_or(Ok(()), |about| id::named(about, sort(about)))
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Sent> {
        let text = message::text(&self.text)?;
        let answered = self.reply.as_ref().map(|reply| readable(work, reply)).transpose()?;
        let about = match (&self.about, &answered) {
            (Some(about), _) => find(work, about)?,
            // The reply stays when the hold ends, and that of a notice is none itself.
            (None, Some(answered)) => MessageSubject::of_reply(answered),
            (None, None) => MessageSubject::default(),
        };
        let mut to = self.to.clone();
        if let Some(answered) = answered.as_ref().filter(|_| to.is_empty()) {
            to = answerers(work.me(), answered);
        }
        to.sort();
        to.dedup();
        if to.iter().any(|to| to == EVERYONE) {
            to = everyone(work, to)?;
        }
        // To other agents the message only names the task. To the task's holder, or if the request names a hold, it is
        // about that hold.
        let mut hold = None;
        match &about.held {
            Some((held, holder)) if to.is_empty() => {
                hold = Some(held.clone());
                to.push(holder.clone());
            }
            Some((held, _)) if sort(&about.named) == id::Sort::Hold => hold = Some(held.clone()),
            Some(_) => {}
            None if to.is_empty() => return Err(nobody(&about.named)),
            None => {}
        }
        if to.iter().any(|to| to == work.me()) {
            return Err(Error::new(
                Code::ToYourself,
                "the recipient of the message is its \
                                                     sender",
            )
            .entity(work.me())
            .hint(
                Advice::from(Action::RememberOwn)
                    .text(" stores a memory for yourself; ")
                    .action(Action::Note { task: None, text: None })
                    .text(" tells the next holder of the task."),
            ));
        }
        let urgency = answered.as_ref().map_or(self.urgency, |answered| self.urgency.max(answered.urgency));
        let (id, agents, longest) = known(work, &to)?;
        let sent = MessageSent {
            to: to.iter().map(AgentName::to_string).collect(),
            about: about.named.clone(),
            urgency,
            request: self.request,
            notice: false,
            reply_to: self.reply.as_ref().map(MessageId::to_string),
        };
        let number =
            work.append(unit_of_work::About::of(&id).hold(or_empty(hold.as_ref())), Event::MessageSent(sent))?;
        let row = table::Row {
            id,
            number,
            author: work.me().clone(),
            recipients: to,
            about: Some(about.named).filter(|named| !named.is_empty()),
            hold,
            urgency,
            request: self.request,
            text,
            at: work.now,
            ended: None,
            thread: answered.map(|answered| answered.thread.unwrap_or(answered.id)),
            reply_to: self.reply.clone(),
        };
        let project = &work.project.id;
        table::insert(work.tx, project, &row)?;
        for to in &row.recipients {
            mail::insert(work.tx, project, to, number, &row.id, mail::What::Message)?;
        }
        if let Some(hold) = &row.hold {
            hold::ask(work.tx, project, hold)?;
        }
        Ok(answer::Sent::of(&row, &agents, &longest, work.now))
    }
}

impl MessageSubject {
    /// The subject of a reply that names none: that of the message.
    fn of_reply(answered: &table::Row) -> MessageSubject {
        let named = answered.about.clone().filter(|about| !message::is_notice(about)).unwrap_or_default();
        MessageSubject { named, held: None }
    }
}

/// A message that the actor wrote or received. For the actor, other messages do not exist.
fn readable(work: &mut UnitOfWork<'_>, id: &MessageId) -> Result<table::Row> {
    let me = work.me();
    let found = table::get(work.tx, &work.project.id, id)?;
    found.filter(|row| row.author == me || row.recipients.contains(me)).ok_or_else(|| unknown(id))
}

/// Who gets a reply that names no recipient: the author, or for the author the recipients.
fn answerers(me: &AgentName, answered: &table::Row) -> Vec<AgentName> {
    if answered.author != me {
        return vec![answered.author.clone()];
    }
    answered.recipients.iter().filter(|to| *to != me).cloned().collect()
}

/// Every other agent that is not gone, and the recipients that are named besides. People are not among them: they are
/// asked by name, and only if a person is needed.
fn everyone(work: &mut UnitOfWork<'_>, named: Vec<AgentName>) -> Result<Vec<AgentName>> {
    let project = work.project.id.clone();
    let agents = agent::list(work.tx, &project, "", AGENTS_MAX)?;
    let names: Vec<AgentName> = agents.iter().map(|agent| agent.name.clone()).collect();
    let longest = work.tx.fetch(hold::longest(&project, &names, work.now))?;
    let me = work.me();
    let is_here = |agent: &&agent::Row| {
        let ttl = longest.iter().find(|(holder, _)| *holder == agent.name).map(|(_, ttl)| *ttl);
        let sign = Sign { ttl: ttl.unwrap_or(agent.sign().ttl), ..agent.sign() };
        let is_gone = liveness(work.now, &sign) == Liveness::Gone || work.dead.contains(&agent.name);
        !is_gone && agent.name != me && !name::is_person(&agent.name)
    };
    let mut to: Vec<AgentName> = agents.iter().filter(is_here).map(|agent| agent.name.clone()).collect();
    to.extend(named.into_iter().filter(|to| to != EVERYONE));
    to.sort();
    to.dedup();
    if to.is_empty() {
        return Err(Error::new(Code::NoRecipient, "no other agent is here: the message has no recipient")
            .with_kind(Kind::NotFound)
            .attempt(Action::ListAgents));
    }
    if to.len() > EVERYONE_MAX {
        let message = format!("{} agents are here, at most {EVERYONE_MAX} get one message", to.len());
        return Err(Error::usage(Code::TooManyRecipients, message).hint("Name those that it concerns."));
    }
    Ok(to)
}

/// The most agents of a project that are considered for a message to everyone.
const AGENTS_MAX: usize = 10_000;

/// Finds the subject of a message, and its holder.
fn find(work: &mut UnitOfWork<'_>, about: &str) -> Result<MessageSubject> {
    let named = about.to_owned();
    if sort(about) == id::Sort::Task {
        let held = work.load(&about.into())?.full.held;
        return Ok(MessageSubject { named, held: held.map(|held| (held.id, held.holder)) });
    }
    let row = hold::get(work.tx, &work.project.id, about)?.ok_or_else(|| id::unknown(about, id::Sort::Hold))?;
    // Loading the task ends its hold if that has lapsed or its holder is proven dead.
    let live = match row.held_task() {
        Some(task) => work.load(&task)?.full.held.is_some_and(|held| held.id == row.id),
        None => row.ended.is_none() && !rule::lapsed(work.now, row.expires_at),
    };
    if live {
        return Ok(MessageSubject { named, held: Some((row.id, row.holder)) });
    }
    Err(Error::new(Code::HoldOver, format!("{about} is over: {} no longer holds {}", row.holder, row.subject))
        .entity(about)
        .attempt(Action::why(about))
        .attempt(Action::holds()))
}

fn nobody(task: &str) -> Error {
    Error::new(Code::NotHeld, format!("{task} has no holder, so the message has no recipient"))
        .entity(task)
        .attempt(Action::show(task))
        .attempt(Action::note(task))
}

/// The longest TTL among the holds of some agents.
type Longest = Vec<(AgentName, Span)>;

/// An id for the message, the rows of the recipients, which must all be known, and their longest TTLs, in one round
/// trip.
fn known(work: &mut UnitOfWork<'_>, to: &[AgentName]) -> Result<(MessageId, Vec<agent::Row>, Longest)> {
    let project = work.project.id.clone();
    let fresh = work.draw_next();
    let recipients: Vec<_> = to.iter().map(|to| agent::get(&project, to)).collect();
    let statements = (recipients, hold::longest(&project, to, work.now), table::exists(&project, &fresh));
    let (found, longest, taken) = work.tx.fetch(statements)?;
    let mut agents = Vec::with_capacity(to.len());
    for (name, row) in to.iter().zip(found) {
        match row {
            Some(row) => agents.push(row),
            None => return Err(work.unknown_agent(name)?),
        }
    }
    Ok((if taken { work.redraw()? } else { fresh }, agents, longest))
}
