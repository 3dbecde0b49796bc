//! Tasks and holds as people read them.

use tenure_core::agent::Liveness;
use tenure_core::task::TaskState;
use tenure_core::text::cut;
use tenure_kernel::answer::{Claimed, Hold, Page, Place, Shown, Task};

use super::path::globs;
use super::table::table;
use super::time::{short, span};
use super::{Ink, Printer};

/// The colour of a state.
fn ink(state: TaskState) -> Ink {
    match state {
        TaskState::Ready => Ink::Green,
        TaskState::Held => Ink::Blue,
        TaskState::Blocked | TaskState::Stuck => Ink::Red,
        TaskState::Waiting => Ink::Yellow,
        TaskState::Done | TaskState::Cancelled => Ink::Dim,
    }
}

/// A state, set off.
pub(crate) fn state(out: &Printer, task: &Task) -> String {
    out.ink(ink(task.state), task.state.as_str())
}

/// One line about a task.
pub(crate) fn line(out: &Printer, task: &Task) -> String {
    format!("{}  {}  ({}, priority {})", out.ink(Ink::Bold, &task.id), task.title, state(out, task), task.priority)
}

/// Who or what a task waits for, in few words.
fn whom(task: &Task) -> String {
    match task.state {
        TaskState::Held => task.holder.as_ref().map_or(String::new(), |holder| match holder.liveness {
            Liveness::Alive => holder.agent.to_string(),
            other => format!("{} ({})", holder.agent, other.as_str()),
        }),
        TaskState::Waiting | TaskState::Stuck => match task.unmet.as_slice() {
            [] => task.not_before.as_deref().map_or(String::new(), |until| format!("until {}", short(until))),
            [only] => format!("after {only}"),
            [first, rest @ ..] => format!("after {first} +{}", rest.len()),
        },
        TaskState::Blocked => task.blocked_on.as_ref().map_or(String::new(), |on| format!("on {on}")),
        TaskState::Ready => task.assignee.as_ref().map_or_else(
            || task.lapsed_from.as_ref().map_or(String::new(), |from| format!("lapsed: {from}")),
            |agent| format!("for {agent}"),
        ),
        TaskState::Done | TaskState::Cancelled => task.finished_by.clone().unwrap_or_default().into(),
    }
}

/// A page of tasks.
pub(crate) fn list(out: &Printer, page: &Page<Task>) -> String {
    if page.items.is_empty() {
        return "No tasks.".to_owned();
    }
    let rows: Vec<Vec<String>> = page
        .items
        .iter()
        .map(|task| {
            vec![
                task.id.to_string(),
                task.priority.to_string(),
                state(out, task),
                whom(task),
                task.labels.join(","),
                task.title.clone(),
            ]
        })
        .collect();
    let mut text = table(&["ID", "P", "STATE", "WHO", "LABELS", "TITLE"], &rows, out.width());
    if let Some(next) = &page.next {
        let of = page.total.map_or(String::new(), |total| format!(" of {total}"));
        text.push_str(&format!("{} shown{of}; more: --cursor {next}\n", page.items.len()));
    }
    text
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// What is to be known about a task and its words, below its line.
pub(crate) fn body(out: &Printer, task: &Task) -> String {
    format!("{}{}", facts(task), words(out, task))
}

fn facts(task: &Task) -> String {
    let mut text = String::new();
    let mut facts = vec![format!("priority {}", task.priority), format!("attempt {}", task.attempt)];
    if !task.labels.is_empty() {
        facts.push(format!("labels {}", task.labels.join(", ")));
    }
    if let Some(agent) = &task.assignee {
        facts.push(format!("for {agent}"));
    }
    text.push_str(&indent(&facts.join(" · ")));
    if let Some(holder) = &task.holder {
        text.push_str(&indent(&format!(
            "held by {} ({}) until {}, fence {}",
            holder.agent,
            holder.liveness.as_str(),
            short(&holder.expires_at),
            holder.fence
        )));
    }
    if let Some(from) = &task.lapsed_from {
        text.push_str(&indent(&format!("the hold of {from} has lapsed")));
    }
    if let Some(until) = &task.not_before {
        text.push_str(&indent(&format!("not offered before {}", short(until))));
    }
    if let Some(reason) = &task.reason {
        let on = task.blocked_on.as_ref().map_or(String::new(), |on| format!(" on {on}"));
        text.push_str(&indent(&format!("{}{on}: {reason}", task.state)));
    }
    if let (Some(by), Some(at)) = (&task.finished_by, &task.finished_at) {
        text.push_str(&indent(&format!("{} by {by} at {}", task.state, short(at))));
    }
    if !task.after.is_empty() {
        let unmet =
            if task.unmet.is_empty() { String::new() } else { format!(", still open: {}", task.unmet.join(", ")) };
        text.push_str(&indent(&format!("after {}{unmet}", task.after.join(", "))));
    }
    text
}

fn words(out: &Printer, task: &Task) -> String {
    let mut text = String::new();
    if !task.description.is_empty() {
        text.push('\n');
        text.push_str(&indent(&task.description));
    }
    if !task.acceptance.is_empty() {
        text.push_str(&format!("\n  {}\n", out.ink(Ink::Bold, "Acceptance")));
        text.push_str(&indent(&task.acceptance));
    }
    text
}

/// The answer to `claim`.
pub(crate) fn claimed(out: &Printer, claimed: &Claimed) -> String {
    let (Some(task), Some(hold)) = (&claimed.task, &claimed.hold) else {
        return format!("Nothing to take: {}.", claimed.reason);
    };
    let mut text = format!("{}  {}\n", out.ink(Ink::Bold, &task.id), task.title);
    text.push_str(&indent(&format!("yours: {}", claimed.reason)));
    text.push_str(&body(out, task));
    if !claimed.paths.is_empty() {
        let paths: Vec<String> = claimed.paths.iter().map(|hold| cut(&hold.subject, 80)).collect();
        text.push_str(&indent(&format!("its paths are yours: {}", paths.join(", "))));
    }
    for blocker in &claimed.lost_paths {
        let path = cut(blocker.pattern.as_deref().unwrap_or_default(), 80);
        text.push_str(&indent(&format!(
            "not free: {path} is held by {} ({})",
            blocker.holder,
            blocker.liveness.as_str()
        )));
    }
    text.push_str(&format!(
        "\nYour calls renew it; without one it lapses in {}.\nNext: tenure note \"…\"   tenure done   tenure block --reason \"…\"   tenure release\n",
        span(hold.ttl_s)
    ));
    text
}

/// The answer to `show`.
pub(crate) fn shown(out: &Printer, shown: &Shown) -> String {
    let task = &shown.task;
    let mut text = format!("{}  {}  {}\n", out.ink(Ink::Bold, &task.id), task.title, state(out, task));
    text.push_str(&facts(task));
    if shown.blocker_gone {
        text.push_str(&indent(&format!("what blocked it is done: tenure unblock {}", task.id)));
    }
    if !shown.dependents.is_empty() {
        text.push_str(&indent(&format!("before {}", shown.dependents.join(", "))));
    }
    text.push_str(&words(out, task));
    if !shown.notes.is_empty() {
        text.push_str(&format!("\n  {}\n", out.ink(Ink::Bold, "Notes")));
        for note in &shown.notes {
            let late = if note.late { " (late)" } else { "" };
            text.push_str(&indent(&out.ink(Ink::Dim, &format!("{} {}{late}", short(&note.at), note.agent))));
            text.push_str(&indent(&indent(&note.text)));
            if let Some(data) = &note.data {
                text.push_str(&indent(&indent(&format!("data {data}"))));
            }
            for file in &note.artifacts {
                let (kind, sum) = (file.kind.as_deref().unwrap_or("file"), file.sha256.get(..12).unwrap_or_default());
                text.push_str(&indent(&indent(&format!("{kind} {} ({} bytes, sha256 {sum}…)", file.path, file.size))));
            }
        }
    }
    if !shown.events.is_empty() {
        text.push_str(&format!("\n  {}\n", out.ink(Ink::Bold, "Events")));
        for event in &shown.events {
            text.push_str(&indent(&format!(
                "{} {}",
                out.ink(Ink::Dim, &format!("{:>5} {}", event.number, short(&event.at))),
                event.sentence()
            )));
        }
    }
    text
}

/// A page of holds.
pub(crate) fn holds(out: &Printer, page: &Page<Hold>, here: Option<&str>) -> String {
    let several = several(page.items.iter(), page.waiting.iter(), here);
    let mut text = if page.items.is_empty() { "Nothing is held.".to_owned() } else { held(out, page, several) };
    if !page.waiting.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Bold, "Waiting, in the order of the line")));
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
            place.agent.to_string(),
            place.place.map_or_else(|| "offered".to_owned(), |number| number.to_string()),
            span(place.age_s),
            place.reason.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = places.iter().map(row).collect();
    table(&["PLACE", "WANTED", "CHECKOUT", "MODE", "BY", "NUMBER", "FOR SO LONG", "FOR"], &rows, out.width())
}

fn held(out: &Printer, page: &Page<Hold>, several: bool) -> String {
    let rows: Vec<Vec<String>> = page.items.iter().map(|hold| hold_row(out, hold, several)).collect();
    let mut text = table(&HOLD_HEADS, &rows, out.width());
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
    let ink = match hold.liveness {
        Liveness::Alive => Ink::Green,
        Liveness::Idle => Ink::Yellow,
        Liveness::Stale | Liveness::Gone => Ink::Red,
    };
    vec![
        hold.id.to_string(),
        kind(hold),
        cut(&hold.subject, 80),
        if several { place(&hold.kind, hold.checkout_name.as_deref()) } else { String::new() },
        hold.holder.to_string(),
        out.ink(ink, hold.liveness.as_str()),
        span(hold.expires_in_s),
        hold.fence.to_string(),
        hold.reason.clone(),
    ]
}
