//! Tasks and holds as people read them.

use tenure_core::agent::Liveness;
use tenure_core::event::task::Changes;
use tenure_core::search::MatchedText;
use tenure_core::task::TaskState;
use tenure_core::text::cut;
use tenure_kernel::answer::{Claimed, Hold, Page, Place, Shown, Task};

use super::path::globs;
use super::table::table;
use super::time::span;
use super::{Ink, Printer};

/// A state, set off.
pub(crate) fn state(out: &Printer, task: &Task) -> String {
    out.ink(Ink::of_state(task.state), task.state.as_str())
}

/// One line about a task.
pub(crate) fn line(out: &Printer, task: &Task) -> String {
    let (id, state) = (out.ink(Ink::Strong, &task.id), state(out, task));
    out.prose(&format!("{id}  {}  ({state}, priority {})", task.title, task.priority), 2)
}

/// Who has a task, or what it waits for, in few words.
fn whom(out: &Printer, task: &Task) -> String {
    match task.state {
        TaskState::Held => task.holder.as_ref().map_or(String::new(), |holder| match holder.liveness {
            Liveness::Alive => out.brief(&holder.agent),
            other => format!("{} ({})", out.brief(&holder.agent), out.ink(Ink::of_liveness(other), other.as_str())),
        }),
        TaskState::Waiting | TaskState::Stuck => match task.unmet.as_slice() {
            [] => task.not_before.as_deref().map_or(String::new(), |until| format!("until {}", out.time(until))),
            [only] => format!("after {only}"),
            [first, rest @ ..] => format!("after {first} +{}", rest.len()),
        },
        TaskState::Blocked => {
            let on = task.blocked_on.as_ref().map(|on| format!("on {on}"));
            let reason = task.reason.as_deref().map(|reason| out.brief(&cut(reason, REASON)));
            [on, reason].into_iter().flatten().collect::<Vec<_>>().join(": ")
        }
        TaskState::Ready => task.assignee.as_ref().map_or_else(
            || task.lapsed_from.as_ref().map_or(String::new(), |from| format!("expired: {}", out.brief(from))),
            |agent| format!("for {}", out.brief(agent)),
        ),
        TaskState::Done | TaskState::Cancelled => {
            task.finished_by.as_deref().map_or(String::new(), |agent| out.brief(agent))
        }
    }
}

/// How much of a reason a list shows: it may have several paragraphs.
const REASON: usize = 120;

/// The names of agents in a list of tasks.
pub(crate) fn agents(tasks: &[Task]) -> impl Iterator<Item = &str> {
    tasks.iter().flat_map(|task| {
        let holder = task.holder.as_ref().map(|holder| &holder.agent);
        let names = [holder, task.assignee.as_ref(), task.lapsed_from.as_ref(), task.finished_by.as_ref()];
        names.into_iter().flatten().map(|name| name.as_str()).chain(task.reason.as_deref())
    })
}

/// A page of tasks.
pub(crate) fn list(out: &Printer, page: &Page<Task>) -> String {
    if page.items.is_empty() {
        return "No tasks.".to_owned();
    }
    let title = |task: &Task| match matched(task) {
        None => task.title.clone(),
        Some(places) => format!("{}  ({places})", task.title),
    };
    let rows: Vec<Vec<String>> = page
        .items
        .iter()
        .map(|task| {
            vec![
                task.id.to_string(),
                task.priority.to_string(),
                state(out, task),
                whom(out, task),
                task.labels.join(","),
                title(task),
            ]
        })
        .collect();
    let mut text = table(out, &["ID", "P", "STATE", "WHO OR WHY", "LABELS", "TITLE"], &rows);
    if let Some(next) = &page.next {
        let of = page.total.map_or(String::new(), |total| format!(" of {total}"));
        let more = format!("{} shown{of}; more: --cursor {next}", page.items.len());
        text.push_str(&format!("{}\n", out.prose(&more, 2)));
    }
    text
}

/// Where a search found the task, unless the title shows all of it.
fn matched(task: &Task) -> Option<String> {
    let other: Vec<&str> =
        task.matched.iter().filter(|place| **place != MatchedText::Title).map(|place| place.as_str()).collect();
    (!other.is_empty()).then(|| format!("in {}", other.join(", ")))
}

fn indent(out: &Printer, text: &str) -> String {
    text.lines().map(|line| format!("{}\n", out.prose(&format!("  {line}"), 0))).collect()
}

/// What is to be known about a task and its words, below its line.
pub(crate) fn body(out: &Printer, task: &Task) -> String {
    format!("{}{}", facts(out, task), words(out, task))
}

fn facts(out: &Printer, task: &Task) -> String {
    let mut text = String::new();
    let mut facts = vec![format!("priority {}", task.priority), format!("attempt {}", task.attempt)];
    if !task.labels.is_empty() {
        facts.push(format!("labels {}", task.labels.join(", ")));
    }
    if let Some(agent) = &task.assignee {
        facts.push(format!("for {agent}"));
    }
    text.push_str(&indent(out, &facts.join(" · ")));
    if let Some(holder) = &task.holder {
        text.push_str(&indent(
            out,
            &format!(
                "held by {} ({}) until {}, fence {}",
                holder.agent,
                holder.liveness.as_str(),
                out.time(&holder.expires_at),
                holder.fence
            ),
        ));
    }
    if let Some(from) = &task.lapsed_from {
        text.push_str(&indent(out, &format!("the hold of {from} has expired")));
    }
    if let Some(until) = &task.not_before {
        text.push_str(&indent(out, &format!("not offered before {}", out.time(until))));
    }
    if let Some(reason) = &task.reason {
        let on = task.blocked_on.as_ref().map_or(String::new(), |on| format!(" on {on}"));
        text.push_str(&indent(out, &format!("{}{on}: {reason}", task.state)));
    }
    if let (Some(by), Some(at)) = (&task.finished_by, &task.finished_at) {
        text.push_str(&indent(out, &format!("{} by {by} at {}", task.state, out.time(at))));
    }
    if !task.after.is_empty() {
        let unmet =
            if task.unmet.is_empty() { String::new() } else { format!(", still open: {}", task.unmet.join(", ")) };
        text.push_str(&indent(out, &format!("after {}{unmet}", task.after.join(", "))));
    }
    text
}

fn words(out: &Printer, task: &Task) -> String {
    let mut text = String::new();
    if !task.description.is_empty() {
        text.push('\n');
        text.push_str(&indent(out, &task.description));
    }
    if !task.acceptance.is_empty() {
        text.push_str(&format!("\n  {}\n", out.ink(Ink::Strong, "Acceptance")));
        text.push_str(&indent(out, &task.acceptance));
    }
    text
}

/// What an edit changed: each field as its old and its new value.
pub(crate) fn changes(before: &Task, after: &Task) -> Vec<String> {
    let ids = |task: &Task| {
        let mut ids: Vec<String> = task.after.iter().map(ToString::to_string).collect();
        ids.sort();
        ids
    };
    let assignee = |task: &Task| task.assignee.as_ref().map_or(String::new(), ToString::to_string);
    let changes = Changes {
        title: differs(&before.title, &after.title),
        description: differs(&before.description, &after.description),
        acceptance: differs(&before.acceptance, &after.acceptance),
        priority: differs(&before.priority, &after.priority),
        labels: differs(&before.labels, &after.labels),
        assignee: differs(&assignee(before), &assignee(after)),
        after: differs(&ids(before), &ids(after)),
    };
    changes.sentences()
}

fn differs<T: PartialEq + Clone>(before: &T, after: &T) -> Option<[T; 2]> {
    (before != after).then(|| [before.clone(), after.clone()])
}

/// The answer to `claim`.
pub(crate) fn claimed(out: &Printer, claimed: &Claimed) -> String {
    let (Some(task), Some(hold)) = (&claimed.task, &claimed.hold) else {
        return format!("No task to take: {}.", claimed.reason);
    };
    let head = format!("{}  {}", out.ink(Ink::Strong, &task.id), task.title);
    let mut text = format!("{}\n", out.prose(&head, 2));
    text.push_str(&indent(out, &format!("yours: {}", claimed.reason)));
    text.push_str(&body(out, task));
    if !claimed.paths.is_empty() {
        let paths: Vec<String> = claimed.paths.iter().map(|hold| cut(&hold.subject, 80)).collect();
        text.push_str(&indent(out, &format!("its paths are yours: {}", paths.join(", "))));
    }
    for blocker in &claimed.lost_paths {
        let path = cut(blocker.pattern.as_deref().unwrap_or_default(), 80);
        text.push_str(&indent(
            out,
            &format!("not free: {path} is held by {} ({})", blocker.holder, blocker.liveness.as_str()),
        ));
    }
    text.push_str(&format!(
        "\nYour calls renew it; without a call it expires in {}.\nNext: tenure note \"…\"   tenure done   tenure \
         block --reason \"…\"   tenure release\n",
        span(hold.ttl_s)
    ));
    text
}

/// The answer to `show`.
pub(crate) fn shown(out: &Printer, shown: &Shown) -> String {
    let task = &shown.task;
    let head = format!("{}  {}  {}", out.ink(Ink::Strong, &task.id), task.title, state(out, task));
    let mut text = format!("{}\n", out.prose(&head, 2));
    text.push_str(&facts(out, task));
    if shown.blocker_gone {
        text.push_str(&indent(out, &format!("its blocker is done: tenure unblock {}", task.id)));
    }
    if !shown.dependents.is_empty() {
        text.push_str(&indent(out, &format!("before {}", shown.dependents.join(", "))));
    }
    text.push_str(&words(out, task));
    if !shown.notes.is_empty() {
        text.push_str(&format!("\n  {}\n", out.ink(Ink::Strong, "Notes")));
        for note in &shown.notes {
            let late = if note.late { " (late)" } else { "" };
            text.push_str(&indent(out, &out.ink(Ink::Faint, &format!("{} {}{late}", out.time(&note.at), note.agent))));
            text.push_str(&indent(out, &indent(out, &note.text)));
            if let Some(data) = &note.data {
                text.push_str(&indent(out, &indent(out, &format!("data {data}"))));
            }
            for file in &note.artifacts {
                let (kind, sum) = (file.kind.as_deref().unwrap_or("file"), file.sha256.get(..12).unwrap_or_default());
                text.push_str(&indent(
                    out,
                    &indent(out, &format!("{kind} {} ({} bytes, sha256 {sum}…)", file.path, file.size)),
                ));
            }
        }
    }
    if !shown.events.is_empty() {
        text.push_str(&format!("\n  {}\n", out.ink(Ink::Strong, "Events")));
        for event in &shown.events {
            text.push_str(&indent(
                out,
                &format!(
                    "{} {}",
                    out.ink(Ink::Faint, &format!("{:>5} {}", event.number, out.time(&event.at))),
                    event.sentence()
                ),
            ));
        }
    }
    text
}

/// A page of holds.
pub(crate) fn holds(out: &Printer, page: &Page<Hold>, here: Option<&str>) -> String {
    let several = several(page.items.iter(), page.waiting.iter(), here);
    let mut text = if page.items.is_empty() { "No holds.".to_owned() } else { held(out, page, several) };
    if !page.waiting.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Strong, "Waiting, in order")));
        text.push_str(&waiting(out, &page.waiting, several));
    }
    if !page.globs.is_empty() {
        text.push_str(&format!("\n{}", globs(&page.globs)));
    }
    text
}

/// Whether paths of more than one checkout are to be told apart, that of the reader among them.
pub(crate) fn several<'a>(
    holds: impl Iterator<Item = &'a Hold>,
    places: impl Iterator<Item = &'a Place>,
    here: Option<&'a str>,
) -> bool {
    let held = holds.filter(|hold| hold.kind == "path").filter_map(|hold| hold.checkout.as_deref());
    let wanted = places.filter(|place| place.kind == "path").filter_map(|place| place.checkout.as_deref());
    let mut known: Vec<&str> = held.chain(wanted).collect();
    if !known.is_empty() {
        known.extend(here);
    }
    known.sort_unstable();
    known.dedup();
    known.len() > 1
}

/// Where a path is meant, for those who look at more than one checkout.
fn place(kind: &str, name: Option<&str>) -> String {
    match (kind, name) {
        ("path", Some(name)) => cut(name, 40),
        ("path", None) => "all".to_owned(),
        _ => String::new(),
    }
}

/// Who waits for what.
pub(crate) fn waiting(out: &Printer, places: &[Place], several: bool) -> String {
    let row = |place: &Place| {
        let checkout = if several { self::place(&place.kind, place.checkout_name.as_deref()) } else { String::new() };
        let more = match place.wanted.len() {
            0 | 1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        vec![
            place.id.to_string(),
            format!("{}{more}", cut(place.wanted.first().map_or("", String::as_str), 80)),
            checkout,
            if place.mode == "shared" { "shared".to_owned() } else { String::new() },
            out.brief(&place.agent),
            place.place.map_or_else(|| "offered".to_owned(), |number| number.to_string()),
            span(place.age_s),
            place.reason.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = places.iter().map(row).collect();
    table(out, &["PLACE", "WANTED", "CHECKOUT", "MODE", "BY", "NUMBER", "FOR SO LONG", "FOR"], &rows)
}

fn held(out: &Printer, page: &Page<Hold>, several: bool) -> String {
    let rows: Vec<Vec<String>> = page.items.iter().map(|hold| hold_row(out, hold, several)).collect();
    let mut text = table(out, &HOLD_HEADS, &rows);
    if let Some(next) = &page.next {
        text.push_str(&format!("{} shown; more: --cursor {next}\n", page.items.len()));
    }
    text
}

fn kind(hold: &Hold) -> String {
    let shared = if hold.mode == "shared" { ", shared" } else { "" };
    let offered = if hold.state == "offered" { ", offered" } else { "" };
    format!("{}{shared}{offered}", hold.kind)
}

/// What the columns of a hold are called.
pub(crate) const HOLD_HEADS: [&str; 9] =
    ["HOLD", "KIND", "WHAT", "CHECKOUT", "HOLDER", "IS", "ENDS IN", "FENCE", "FOR"];

/// One hold as a row, with its checkout where there are several to be told apart.
pub(crate) fn hold_row(out: &Printer, hold: &Hold, several: bool) -> Vec<String> {
    vec![
        hold.id.to_string(),
        kind(hold),
        cut(&hold.subject, 80),
        if several { place(&hold.kind, hold.checkout_name.as_deref()) } else { String::new() },
        out.brief(&hold.holder),
        out.ink(Ink::of_liveness(hold.liveness), hold.liveness.as_str()),
        span(hold.expires_in_s),
        hold.fence.to_string(),
        hold.reason.clone(),
    ]
}
