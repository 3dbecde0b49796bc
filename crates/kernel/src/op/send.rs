//! Sends a message: to agents by name, or to the holder of a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::event::Event;
use tenure_core::event::message::MessageSent;
use tenure_core::id::{HoldId, MessageId, or_empty};
use tenure_core::message::{RECIPIENTS_MAX, Urgency};
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Result, Span, hold as rule, id, message, name};
use tenure_store::table::{agent, hold, mail, message as table};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::query::any_id::sort;
use crate::unit_of_work::{self, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The recipients, at most 20; by default the holder of the subject.
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
        if self.to.is_empty() && self.about.is_none() {
            return Err(Error::usage(Code::NoRecipient, "the message names no recipient")
                .hint("Name an agent, or with --about a task whose holder gets it.")
                .attempt(Action::ListAgents));
        }
        if self.to.len() > RECIPIENTS_MAX {
            let message = format!("the message has {} recipients; the limit is {RECIPIENTS_MAX}", self.to.len());
            return Err(Error::usage(Code::TooManyRecipients, message));
        }
        self.to.iter().try_for_each(|to| name::check(to).map(|_| ()))?;
        self.about.as_deref().map_or(Ok(()), |about| id::named(about, sort(about)))
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Sent> {
        let text = message::text(&self.text)?;
        let about = self.about.as_deref().map_or_else(|| Ok(MessageSubject::default()), |about| find(work, about))?;
        let mut to = self.to.clone();
        to.sort();
        to.dedup();
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
        let (id, agents, longest) = known(work, &to)?;
        let sent = MessageSent {
            to: to.iter().map(AgentName::to_string).collect(),
            about: about.named.clone(),
            urgency: self.urgency,
            request: self.request,
            notice: false,
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
            urgency: self.urgency,
            request: self.request,
            text,
            at: work.now,
            ended: None,
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
