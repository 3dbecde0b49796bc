//! The brief: everything an agent without other context needs to continue a task. It is gathered from rows and composed
//! by [`tenure_core::brief`] within a budget. The same rows and the same call give the same bytes.
//!
//! Times are shown as instants, not as ages, so that the passing of time alone changes nothing. Text written by agents
//! is quoted with its author, line by line, so that no text can pass for a section of the brief.

mod history;
mod lost_paths;
mod neighbours;
mod words;

use tenure_core::action::{Action, Phrasing, Tasks};
use tenure_core::brief::{Section, compose, compose_as_json};
use tenure_core::id::{CheckoutId, TaskId};
use tenure_core::message::Urgency;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::{dep, hold, place, task};

use crate::answer;
use crate::call::WorkingTree;
use words::{at, lines, quoted};

/// How many dependent tasks are named.
const UNLOCKS: usize = 20;
/// The heading of the section with new messages.
const MAIL: &str = "Mail";
const EVENTS: &str = "Last events";

/// The subject and the reader of a brief.
pub(crate) struct BriefRequest<'a> {
    pub(crate) project: &'a str,
    pub(crate) me: &'a AgentName,
    /// The reader's checkout.
    pub(crate) checkout: Option<&'a CheckoutId>,
    /// The reader's machine.
    pub(crate) host: &'a str,
    /// Agents that are proven dead.
    pub(crate) dead: &'a [AgentName],
    pub(crate) now: Time,
    /// Whether the reader calls tools instead of commands.
    pub(crate) tools: bool,
    /// The phrasing for the reader.
    pub(crate) phrasing: &'static dyn Phrasing,
    pub(crate) tree: &'a WorkingTree,
    /// In bytes.
    pub(crate) budget: usize,
    /// The task, and whether the reader holds it.
    pub(crate) task: Option<(&'a TaskId, bool)>,
    /// Why there is no task.
    pub(crate) nothing: &'a str,
    /// A sentence about what the reader lost since its last visit.
    pub(crate) lost: Option<&'a str>,
    /// The blockers of paths that were held for the task.
    pub(crate) lost_paths: &'a [answer::Blocker],
    pub(crate) news: &'a [answer::News],
    /// The number of the last event that the news offers.
    pub(crate) offered: Option<EventNumber>,
    pub(crate) mail: &'a answer::InboxPage,
    /// The number of places in the waiting line of the project.
    pub(crate) in_line: i64,
}

/// Gathers and composes a brief.
pub(crate) fn of(tx: &mut dyn Tx, ask: &BriefRequest<'_>) -> Result<answer::Brief> {
    let sections = sections(tx, ask)?;
    // An agent may get the answer of a tool as JSON.
    let made = if ask.tools { compose_as_json(&sections, ask.budget) } else { compose(&sections, ask.budget) };
    let shown = |wanted: &str| made.shown.iter().find(|(heading, _)| heading == wanted).map_or(0, |(_, items)| *items);
    let (told, events) = (shown(MAIL), shown(EVENTS));
    Ok(answer::Brief {
        tokens: made.text.len().div_ceil(tenure_core::brief::TOKEN),
        budget: ask.budget / tenure_core::brief::TOKEN,
        left_out: made.left_out,
        events: if events == ask.news.len() { ask.offered } else { last(ask.news.get(..events)) },
        mail: told.checked_sub(1).and_then(|last| ask.mail.items.get(last)).map(|last| last.number),
        text: made.text,
    })
}

fn last(told: Option<&[answer::News]>) -> Option<EventNumber> {
    told.and_then(|told| told.last()).map(|news| news.number)
}

fn sections(tx: &mut dyn Tx, ask: &BriefRequest<'_>) -> Result<Vec<Section>> {
    let full = match ask.task {
        Some((task, _)) => tx.fetch(task::get(ask.project, task))?,
        None => None,
    };
    let mut sections = Vec::new();
    let mut lost: Vec<String> = ask.lost.map(str::to_owned).into_iter().collect();
    lost.extend(lost_paths::of(tx, ask)?);
    if !lost.is_empty() {
        sections.push(Section { needed: true, ..section("Changed while you were away", lost, ask, &Action::Log) });
    }
    let in_line = in_line(tx, ask)?;
    if !in_line.is_empty() {
        sections.push(Section { needed: true, ..section("Waiting line", in_line, ask, &Action::holds()) });
    }
    let Some(full) = full else {
        sections.push(Section { needed: true, ..section("Task", nothing(tx, ask)?, ask, &list()) });
        sections.push(Section { needed: true, ..section("Do next", without_task(ask), ask, &list()) });
        sections.extend(around(tx, ask, None)?);
        return Ok(sections);
    };
    let show = Action::show(&full.task.id);
    sections.push(Section { needed: true, ..section("Task", what(ask, &full), ask, &show) });
    sections.push(Section { needed: true, ..section("Do next", next(ask), ask, &show) });
    let stopped = history::of(tx, ask, &full)?;
    sections.push(Section { needed: true, ..section("Where it stopped", stopped, ask, &show) });
    sections.push(section("Blocked by and unlocks", links(tx, ask, &full)?, ask, &show));
    sections.extend(around(tx, ask, Some(&full))?);
    Ok(sections)
}

/// The sections that do not depend on the task alone: memory, other agents, events.
fn around(tx: &mut dyn Tx, ask: &BriefRequest<'_>, full: Option<&task::Full>) -> Result<Vec<Section>> {
    let (directives, facts) = history::memories(tx, ask, full)?;
    let events = ask
        .news
        .iter()
        .map(|news| format!("- {} {}{}", news.number, news.text, if news.again { " (again)" } else { "" }))
        .collect();
    Ok(vec![
        section("Directives and pins", directives, ask, &Action::ListMemories { pinned: false }),
        section(MAIL, mail(ask), ask, &Action::ReadMail { peek: false }),
        section("Near you", neighbours::of(tx, ask)?, ask, &Action::holds()),
        section("Facts and lessons", facts, ask, &Action::Recall),
        section(EVENTS, events, ask, &Action::Log),
    ])
}

/// An optional section. `more` shows what did not fit.
fn section(heading: &str, items: Vec<String>, ask: &BriefRequest<'_>, more: &Action) -> Section {
    Section { heading: heading.to_owned(), items, needed: false, more: ask.phrasing.rest(more) }
}

fn list() -> Action {
    Action::ListTasks { which: Tasks::Unfinished }
}

fn nothing(tx: &mut dyn Tx, ask: &BriefRequest<'_>) -> Result<Vec<String>> {
    let mut items = vec![format!("You are {}. No task is available: {}.", ask.me, ask.nothing)];
    // A held task without the given labels is not chosen, but it is still named.
    for hold in hold::of_holder(tx, ask.project, ask.me, "", UNLOCKS)? {
        if hold.is_task() && !tenure_core::hold::lapsed(ask.now, hold.expires_at) {
            items.push(format!(
                "You still hold {} {}, which the labels exclude.",
                hold.subject,
                quoted(&hold.reason, 120)
            ));
        }
    }
    Ok(items)
}

fn without_task(ask: &BriefRequest<'_>) -> Vec<String> {
    let say = |action: &Action| ask.phrasing.instruct(action);
    let (add, list, resume) = (say(&Action::AddTask { title: "TITLE".to_owned() }), say(&list()), say(&Action::Resume));
    if ask.tools {
        vec![format!("- {} adds a task, {list} shows the tasks, {resume} takes a ready one.", capital(&add))]
    } else {
        vec![
            format!("- {add} adds a task"),
            format!("- {list} shows the tasks"),
            format!("- {resume} takes a task when one is ready"),
        ]
    }
}

fn what(ask: &BriefRequest<'_>, full: &task::Full) -> Vec<String> {
    let row = &full.task;
    let mut items = vec![format!("{} {} (added by {})", row.id, quoted(&row.title, 500), row.created_by)];
    let mut facts = vec![format!("priority {}", row.priority)];
    // The text counts claims, not attempts: a session that had the task and ended did not necessarily attempt it.
    facts.extend((row.attempt > 1).then(|| format!("taken {} times so far", row.attempt)));
    if !row.labels.is_empty() {
        facts
            .push(format!("labels {}", row.labels.iter().map(|label| quoted(label, 64)).collect::<Vec<_>>().join(" ")));
    }
    let holds = match (ask.task, &full.held) {
        (Some((_, true)), Some(held)) => {
            format!("You are {} and hold it, fence {}; each of your calls renews the hold.", ask.me, held.fence)
        }
        _ => format!("You are {} and do not hold it yet.", ask.me),
    };
    if !row.acceptance.is_empty() {
        items.push(format!("Done when:\n{}", lines(&row.acceptance)));
    }
    items.push(format!("{holds} {}.", capital(&facts.join(", "))));
    if !row.description.is_empty() {
        items.push(format!("In the words of {}:\n{}", row.created_by, lines(&row.description)));
    }
    items
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn next(ask: &BriefRequest<'_>) -> Vec<String> {
    let say = |action: Action| ask.phrasing.instruct(&action);
    if ask.task.is_some_and(|(_, held)| held) {
        let text = "what you did, found or decided".to_owned();
        let reason = "what is missing".to_owned();
        vec![
            format!("- When the task is complete: {}", say(Action::Done)),
            format!("- While you work: {}", say(Action::Note { task: None, text: Some(text) })),
            format!(
                "- If it cannot continue: {}; to return it: {}",
                say(Action::Block { reason }),
                say(Action::Release { what: None })
            ),
        ]
    } else {
        vec![
            format!("- To take it and get this brief: {}", say(Action::Resume)),
            format!("- To see the other tasks: {}", say(list())),
        ]
    }
}

fn links(tx: &mut dyn Tx, ask: &BriefRequest<'_>, full: &task::Full) -> Result<Vec<String>> {
    let mut items = Vec::new();
    if !full.task.reason.is_empty() {
        let on = full.task.blocked_on.as_ref().map_or(String::new(), |on| format!(" on {on}"));
        items.push(format!("- Blocked{on}: {}", quoted(&full.task.reason, 300)));
    }
    let edges = match full.task.deps {
        0 => Vec::new(),
        _ => tx.fetch(dep::of(ask.project, std::slice::from_ref(&full.task.id)))?,
    };
    let unmet: Vec<TaskId> = edges
        .into_iter()
        .filter(|edge| edge.status != tenure_core::task::TaskStatus::Done)
        .map(|edge| edge.after)
        .collect();
    if !unmet.is_empty() {
        items.push(format!("- Comes after {}", unmet.join(", ")));
    }
    let dependents: Vec<TaskId> =
        dep::dependents(tx, ask.project, &full.task.id, UNLOCKS)?.into_iter().map(|edge| edge.after).collect();
    if !dependents.is_empty() {
        for full in task::get_many(tx, ask.project, &dependents)? {
            items.push(format!("- Unlocks {} {}", full.task.id, quoted(&full.task.title, 120)));
        }
    }
    Ok(items)
}

/// New messages, each in full: a shown message counts as read.
fn mail(ask: &BriefRequest<'_>) -> Vec<String> {
    let one = |message: &answer::Message| {
        let mut facts =
            vec![message.sent_at.split_once('.').map_or(message.sent_at.clone(), |(at, _)| format!("{at}Z"))];
        facts.extend(message.notice.then(|| "notice".to_owned()));
        facts.extend(message.request.then(|| "request".to_owned()));
        facts.extend((message.urgency == Urgency::Urgent).then(|| "urgent".to_owned()));
        facts.extend(message.about.as_ref().map(|about| format!("about {about}")));
        facts.extend(message.again.then(|| "again".to_owned()));
        facts.extend(message.ended.as_ref().map(|ended| format!("over: {} by {}", ended.how, ended.by)));
        let from = match message.what.as_str() {
            "ending" => format!("your message to {}", message.to.join(", ")),
            _ => format!("from {}", message.from),
        };
        format!("- {} {from} ({}):\n{}", message.id, facts.join(", "), lines(&message.text))
    };
    ask.mail.items.iter().map(one).collect()
}

/// The reader's offers and its places in the waiting line.
fn in_line(tx: &mut dyn Tx, ask: &BriefRequest<'_>) -> Result<Vec<String>> {
    if ask.in_line == 0 {
        return Ok(Vec::new());
    }
    let mut items = Vec::new();
    let reserve = Action::Reserve { paths: Vec::new(), wait: false, shared: false, all_checkouts: false, ttl_s: None };
    for row in place::of_agent(tx, ask.project, ask.me)? {
        if tenure_core::hold::lapsed(ask.now, row.expires_at) {
            continue;
        }
        let first = row.wanted.first().map(|text| quoted(text, 200)).unwrap_or_default();
        let more = match row.wanted.len() {
            0 | 1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let until = at(row.expires_at);
        items.push(match row.state {
            place::PlaceState::Offered => {
                // A command is repeated as it was typed. A tool is called with the paths named here.
                let same = if ask.tools { "" } else { "the same " };
                let reserve = ask.phrasing.instruct(&reserve);
                format!("- Offered to you: {first}{more}, until {until}: {same}{reserve} takes it")
            }
            _ => format!("- You wait for {first}{more} ({}); the place is kept until {until}", row.id),
        });
    }
    Ok(items)
}
