//! `tenure why`

use std::ffi::OsString;

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::id::TaskId;
use tenure_core::task::TaskState;
use tenure_core::text::{cut, quote};
use tenure_core::{Code, Error, Result};
use tenure_kernel::answer::{Hold, Story, Task};
use tenure_kernel::query::look_up::{Found, LookUp};
use tenure_kernel::query::why::Why;
use tenure_kernel::query::why_lock::WhyLock;
use tenure_kernel::query::why_path::WhyPath;

use super::subject::{Subject, find};
use super::{Group, Run, Spec, read};
use crate::output::layout::wrap;
use crate::output::time::span;
use crate::output::{Ink, Printer};
use crate::session::{Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "why",
    aliases: &["blame", "story"],
    group: Group::Everyday,
    about: "Tell the story of a task, hold, lock, memory or path",
    examples: &["tenure why t-7k3fq", "tenure why src/lib.rs", "tenure why deploy"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (session, subject) = find(settings, out, StoreUse::Read, &args.what)?;
        let mut now = None;
        let story = match subject {
            Subject::Id(id) | Subject::Memory(id) => {
                if !session.out.is_json() && id.starts_with(['t', 'h']) {
                    now = Some(session.ask_who_holds(&LookUp { typed: id.clone() })?);
                }
                session.ask_who_holds(&Why { id })?
            }
            Subject::Lock(name) => session.ask(&WhyLock { name })?,
            Subject::Path(typed, unknown) => {
                let question = WhyPath { paths: typed.paths, fold_case: typed.fold_case, ..WhyPath::default() };
                let story = session.ask_who_holds(&question)?;
                if story.story.is_empty() {
                    let shown = cut(&story.subject, 120);
                    let nothing = || Error::new(Code::NothingKnown, format!("the log has nothing about {shown}"));
                    return Err(unknown.unwrap_or_else(|| {
                        nothing()
                            .entity(shown.clone())
                            .hint("No agent has held it, or changed it with a tool that reports changes.")
                            .attempt(Action::holds())
                    }));
                }
                story
            }
        };
        if session.out.is_json() {
            session.out.data(&story);
        } else {
            tell(&session, now.as_ref(), &story)?;
        }
        Ok(0)
    }),
};

/// What is the case now, and then how it came to be.
fn tell(session: &Session<'_>, now: Option<&Found>, story: &Story) -> Result<()> {
    let out = session.out;
    session.know_agents(story.story.iter().map(|sentence| sentence.text.as_str()));
    let present = match now {
        Some(Found::Task(shown)) => {
            Some((format!("{}  {}", shown.task.id, shown.task.title), of_task(session, &shown.task)?))
        }
        Some(Found::Hold(hold)) => Some((format!("{}  {}", hold.id, cut(&hold.subject, 120)), of_hold(out, hold))),
        _ => None,
    };
    if let Some((subject, reason)) = present {
        out.text(&out.prose(&out.ink(Ink::Strong, &subject), 2));
        out.text(&out.prose(&out.brief(&reason), 2));
        out.text("\n");
    }
    if story.more {
        out.text("(what happened before is in `tenure log`)");
    }
    if story.forgotten {
        out.text("(what happened before is no longer kept)");
    }
    for sentence in &story.story {
        let at = out.time(&sentence.at);
        let line = format!("{}  {}", out.ink(Ink::Faint, &at), out.brief(&sentence.text));
        let hang = if out.width() < 60 { 2 } else { at.len() + 2 };
        out.text(&wrap(&line, out.width(), hang));
    }
    Ok(())
}

/// Why a task is in its state.
fn of_task(session: &Session<'_>, task: &Task) -> Result<String> {
    let out = session.out;
    let state = out.ink(Ink::of_state(task.state), task.state.as_str());
    let because = || task.reason.as_ref().map_or(String::new(), |reason| format!(": {}", cut(reason, 300)));
    Ok(match task.state {
        TaskState::Ready => {
            let lapsed = task.lapsed_from.as_ref().map(|from| format!("; the hold of {from} has lapsed"));
            let person = task.assignee.as_ref().map(|agent| format!(", for {agent}"));
            format!("{state}{}{}", person.unwrap_or_default(), lapsed.unwrap_or_default())
        }
        TaskState::Held => match &task.holder {
            Some(holder) => {
                let since = match session.ask_who_holds(&LookUp { typed: holder.hold.to_string() })? {
                    Found::Hold(hold) => format!(" since {}", out.time(&hold.granted_at)),
                    _ => String::new(),
                };
                let liveness = out.ink(Ink::of_liveness(holder.liveness), holder.liveness.as_str());
                format!("{state} by {}{since} ({liveness})", holder.agent)
            }
            None => state,
        },
        TaskState::Waiting if task.unmet.is_empty() => {
            format!("{state} until {}", task.not_before.as_ref().map_or(String::new(), |until| out.time(until)))
        }
        TaskState::Waiting => format!("{state} for {}", named(session, &task.unmet)?),
        TaskState::Stuck => {
            format!("{state}: it comes after {}, and one of them was cancelled", named(session, &task.unmet)?)
        }
        TaskState::Blocked => {
            let on = task.blocked_on.as_ref().map(|on| named(session, std::slice::from_ref(on))).transpose()?;
            format!("{state}{}{}", on.map_or(String::new(), |on| format!(" on {on}")), because())
        }
        TaskState::Done | TaskState::Cancelled => {
            let by = task.finished_by.as_ref().map_or(String::new(), |agent| format!(" by {agent}"));
            let at = task.finished_at.as_ref().map_or(String::new(), |at| format!(", {}", out.time(at)));
            format!("{state}{by}{at}{}", because())
        }
    })
}

/// The first tasks of a list with their titles.
fn named(session: &Session<'_>, tasks: &[TaskId]) -> Result<String> {
    const SHOWN: usize = 3;
    let mut said = Vec::new();
    for id in tasks.iter().take(SHOWN) {
        said.push(match session.ask(&LookUp { typed: id.to_string() })? {
            Found::Task(shown) => format!("{id} {}", quote(&shown.task.title, 60)),
            _ => id.to_string(),
        });
    }
    let more = tasks.len().saturating_sub(SHOWN);
    Ok(format!("{}{}", said.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() }))
}

fn of_hold(out: &Printer, hold: &Hold) -> String {
    let since = out.time(&hold.granted_at);
    match hold.state.as_str() {
        "live" => {
            let liveness = out.ink(Ink::of_liveness(hold.liveness), hold.liveness.as_str());
            format!(
                "held by {} since {since} ({liveness}), ends in {} unless renewed",
                hold.holder,
                span(hold.expires_in_s)
            )
        }
        state => format!("{state}; it was of {}, from {since}", hold.holder),
    }
}

#[derive(clap::Args)]
struct Args {
    /// An id (a unique beginning is enough), a lock, or a path (with `./` if a lock has the same name)
    #[arg(value_name = "ID|LOCK|PATH")]
    what: OsString,
}
