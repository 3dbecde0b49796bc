//! The part of a brief about the past: notes, files, commits, memories.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::action::Action;
use tenure_core::hold::lapsed;
use tenure_core::id::{CheckoutId, MemoryId, TaskId};
use tenure_core::memory::{MemoryKind, MemoryScope};
use tenure_core::number::EventNumber;
use tenure_core::{Result, event};
use tenure_store::Tx;
use tenure_store::table::{artifact, edited_file, event as log, memory, note, path, task};

use super::BriefRequest;
use super::words::{at, lines_cut, quoted};
use crate::checkouts::Checkouts;
use crate::paths::pattern;
use crate::query::memory::{Effort, ScopeKey, SearchRequest, places, search};

/// How many notes are shown, and the maximum length of the last one and of the others.
const NOTES: usize = 3;
const LAST_NOTE: usize = 1_500;
const EARLIER_NOTE: usize = 300;
/// How many files are named.
const FILES: usize = 20;
/// How many edited files are compared with the uncommitted ones.
const EDITED: usize = 1_000;
/// How many memories are read in each scope.
const MEMORIES: usize = 30;
/// The maximum number of facts and lessons that compete for the budget.
const FACTS: usize = 25;

/// Where the work on a task stopped.
pub(super) fn of(tx: &mut dyn Tx, ask: &BriefRequest<'_>, full: &task::Full) -> Result<Vec<String>> {
    let mut items = Vec::new();
    if full.task.attempt > 1 {
        items.push(format!("- Taken {} times so far{}", full.task.attempt, left(tx, ask, &full.task.id)?));
    }
    let notes = note::newest(tx, ask.project, &full.task.id, NOTES)?;
    if let Some(last) = notes.last() {
        items.push(format!("- Last note, by {} at {}:\n{}", last.agent, at(last.at), lines_cut(&last.text, LAST_NOTE)));
    }
    // Uncommitted files from before the work on a task belong to other work.
    let begun = match &full.held {
        Some(held) => full.task.attempt > 1 || held.granted_at < ask.now,
        None => full.task.attempt > 0,
    };
    items.extend(tree(ask, notes.last().and_then(|note| note.head.as_deref()), full.task.attempt));
    if begun {
        items.extend(uncommitted(tx, ask, &full.task.id)?);
    }
    items.extend(paths(tx, ask, &full.task.id)?);
    items.extend(changed(tx, ask, &full.task.id)?);
    let files = artifact::newest(tx, ask.project, &full.task.id, FILES)?;
    if !files.is_empty() {
        let named: Vec<String> = files
            .iter()
            .map(|file| {
                let sum = file.sha256.get(..12).unwrap_or(&file.sha256);
                format!("  - {} {} ({} bytes, sha256 {sum}…)", file.kind, quoted(&file.path, 300), file.size)
            })
            .collect();
        items.push(format!("- Files that notes name:\n{}", named.join("\n")));
    }
    for note in notes.iter().rev().skip(1) {
        let text = lines_cut(&note.text, EARLIER_NOTE);
        items.push(format!("- Earlier note, by {} at {}:\n{text}", note.agent, at(note.at)));
    }
    if notes.len() == NOTES {
        let more = note::count(tx, ask.project, &full.task.id)? - NOTES;
        let show = ask.phrasing.rest(&Action::show(&full.task.id));
        match more {
            0 => {}
            1 => items.push(format!("- 1 more note: {show}")),
            more => items.push(format!("- {more} more notes: {show}")),
        }
    }
    if items.is_empty() {
        items.push("No work has been recorded yet.".to_owned());
    }
    Ok(items)
}

/// The files changed for a task: those in this checkout first, then those of each other checkout. The files of another
/// working tree are not in this one until they are committed and merged.
fn changed(tx: &mut dyn Tx, ask: &BriefRequest<'_>, task: &TaskId) -> Result<Vec<String>> {
    let touched = edited_file::for_task(tx, ask.project, task, FILES)?;
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        touched.into_iter().partition(|(_, checkout)| checkout.is_none() || checkout.as_ref() == ask.checkout);
    let names = |files: &[(String, Option<CheckoutId>)]| {
        let named: Vec<String> = files.iter().map(|(path, _)| quoted(path, 300)).collect();
        named.join(", ")
    };
    let mut items = Vec::new();
    if !here.is_empty() {
        items.push(format!("- Files changed for it so far: {}", names(&here)));
    }
    if elsewhere.is_empty() {
        return Ok(items);
    }
    let mut others: BTreeMap<CheckoutId, Vec<(String, Option<CheckoutId>)>> = BTreeMap::new();
    for (path, checkout) in elsewhere {
        if let Some(id) = checkout.clone() {
            others.entry(id).or_default().push((path, checkout));
        }
    }
    let tops = Checkouts::load(tx, ask.project, ask.host)?;
    for (checkout, files) in others {
        let top = tops.get(&checkout);
        let place = top.map_or_else(|| "that was removed".to_owned(), |_| quoted(&tops.place(&checkout), 300));
        items.push(format!("- Files changed for it in another checkout, {place}: {}", names(&files)));
    }
    Ok(items)
}

/// The uncommitted files that the task left behind: those that were edited for it, or that its paths covered. Other files
/// of the checkout belong to other work, and are only counted.
fn uncommitted(tx: &mut dyn Tx, ask: &BriefRequest<'_>, task: &TaskId) -> Result<Vec<String>> {
    let tree = ask.tree;
    if tree.uncommitted.is_empty() {
        return Ok(Vec::new());
    }
    let is_here = |checkout: Option<&CheckoutId>| checkout.is_none() || checkout == ask.checkout;
    let edited = edited_file::for_task(tx, ask.project, task, EDITED)?;
    let edited: BTreeSet<String> =
        edited.into_iter().filter(|(_, checkout)| is_here(checkout.as_ref())).map(|(path, _)| path).collect();
    let held = path::last_of_task(tx, ask.project, task, (None, ask.me))?;
    let held = held.iter().filter(|row| row.is_path() && is_here(row.checkout.as_ref()));
    let held = held.map(pattern).collect::<Result<Vec<_>>>()?;
    let is_left = |path: &&String| edited.contains(*path) || held.iter().any(|pattern| pattern.matches(path));
    let (left, others): (Vec<&String>, Vec<&String>) = tree.uncommitted.iter().partition(is_left);
    let others = others.len() + tree.uncommitted_more;
    let mut items = Vec::new();
    if !left.is_empty() {
        let more = left.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named: Vec<String> = left.iter().take(FILES).map(|path| quoted(path, 300)).collect();
        items.push(format!("- Left uncommitted in this checkout: {}{more}", named.join(", ")));
    }
    if others > 0 {
        items.push(format!("- Uncommitted here, not known to be of this task: {others} {}", files(others)));
    }
    Ok(items)
}

fn files(count: usize) -> &'static str {
    if count == 1 { "file" } else { "files" }
}

/// The paths held for a task, and those its reader could not get back.
fn paths(tx: &mut dyn Tx, ask: &BriefRequest<'_>, task: &TaskId) -> Result<Vec<String>> {
    let held = tx.fetch(path::of_tasks(ask.project, std::slice::from_ref(task)))?;
    let live = held.iter().filter(|row| row.holder == ask.me && !lapsed(ask.now, row.expires_at));
    let named: Vec<String> = live.map(|row| quoted(&row.subject, 200)).collect();
    let mut items = Vec::new();
    if !named.is_empty() {
        let more = named.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        items.push(format!("- Paths you hold for it: {}{more}", named[..named.len().min(FILES)].join(", ")));
    }
    for blocker in ask.lost_paths.iter().take(FILES) {
        let pattern = quoted(blocker.pattern.as_deref().unwrap_or_default(), 200);
        items.push(format!("- You did not get the path {pattern} back: {} now holds it", blocker.holder));
    }
    Ok(items)
}

/// How the previous attempt ended.
fn left(tx: &mut dyn Tx, ask: &BriefRequest<'_>, task: &TaskId) -> Result<String> {
    let ends = [
        event::kind::HOLD_EXPIRED,
        event::kind::HOLD_TRANSFERRED,
        event::kind::TASK_RELEASED,
        event::kind::TASK_BLOCKED,
        event::kind::TASK_DONE,
        event::kind::TASK_CANCELLED,
    ];
    let mut newest: Option<log::Row> = None;
    for kind in ends {
        let after = newest.as_ref().map_or(EventNumber::START, |event| event.number);
        let filter = log::EventFilter {
            subject: Some(task.to_string()),
            kind: Some(kind.to_owned()),
            ..log::EventFilter::default()
        };
        newest = tx.fetch(log::page(ask.project, &filter, (after, EventNumber::MAX), true, 1))?.pop().or(newest);
    }
    let Some(end) = newest else { return Ok(String::new()) };
    let at = at(end.at);
    let end = crate::answer::LoggedEvent::of(end)?;
    Ok(format!(": {} ({at})", end.sentence()))
}

fn tree(ask: &BriefRequest<'_>, noted: Option<&str>, attempt: i64) -> Vec<String> {
    let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
    let head = ask.tree.head.as_str();
    let mut items = Vec::new();
    match (noted, head) {
        (None, "") => {}
        (None, head) if attempt > 1 => items.push(format!("- This working tree is at commit {}", short(head))),
        (None, _) => {}
        (Some(noted), head) if noted == head || head.is_empty() => {
            items.push(format!("- Last commit then: {}", short(noted)));
        }
        (Some(noted), head) => {
            items.push(format!("- Last commit then: {}; this working tree is at {}", short(noted), short(head)));
        }
    }
    items
}

/// Directives and pins, then facts and lessons that fit the task: each once, nearest scope first.
pub(super) fn memories(
    tx: &mut dyn Tx,
    ask: &BriefRequest<'_>,
    full: Option<&task::Full>,
) -> Result<(Vec<String>, Vec<String>)> {
    let places = places(tx, ask.project, ask.me, full.map(|full| &full.task.id))?;
    let places = filled(tx, places)?;
    if places.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let (mut directives, mut facts) = (Vec::<memory::Row>::new(), Vec::<memory::Row>::new());
    for (project, scope) in &places {
        let mut rows = memory::pinned(tx, project, scope, ask.now, MEMORIES)?;
        rows.extend(memory::directives(tx, project, scope, ask.now, MEMORIES)?);
        for row in rows {
            if directives.iter().all(|known| known.id != row.id) {
                directives.push(row);
            }
        }
    }
    if let Some(full) = full {
        // Memories in the scope of this task are shown whatever their words.
        for (project, scope) in places.iter().filter(|(_, scope)| matches!(scope, MemoryScope::Task(_))) {
            let newest = (tenure_core::Time(i64::MAX), "");
            facts.extend(memory::newest(tx, project, scope, ask.now, newest, MEMORIES)?);
        }
        let question = format!(
            "{} {} {}",
            full.task.title,
            full.task.labels.join(" "),
            tenure_core::text::cut(&full.task.description, 500)
        );
        let known: Vec<MemoryId> = directives.iter().chain(&facts).map(|row| row.id.clone()).collect();
        let takes = |weight: &memory::Weight| weight.kind != MemoryKind::Directive && !known.contains(&weight.id);
        let wanted = SearchRequest { takes: &takes, most: FACTS, effort: Effort::BRIEF };
        facts.extend(search(tx, ask.now, &places, &question, &wanted)?.rows);
    } else {
        for (project, scope) in &places {
            facts.extend(memory::newest(tx, project, scope, ask.now, (tenure_core::Time(i64::MAX), ""), MEMORIES)?);
        }
    }
    let mut shown: Vec<MemoryId> = directives.iter().map(|row| row.id.clone()).collect();
    facts.retain(|row| {
        let new = row.kind != MemoryKind::Directive && !shown.contains(&row.id);
        shown.push(row.id.clone());
        new
    });
    facts.truncate(FACTS);
    let item = |row: &memory::Row| {
        let kind = if row.pinned { format!("pinned {}", row.kind.as_str()) } else { row.kind.as_str().to_owned() };
        format!("- {} ({kind} `{}`, by {})", quoted(&row.text, 600), row.key, row.author)
    };
    Ok((directives.iter().map(item).collect(), facts.iter().map(item).collect()))
}

/// The scopes with any memory. Most have none, and each statement about a scope has to be prepared.
fn filled(tx: &mut dyn Tx, places: Vec<ScopeKey>) -> Result<Vec<ScopeKey>> {
    let sums = places.iter().map(|(project, scope)| memory::sums(project, scope));
    let sums = tx.fetch(sums.collect::<Vec<_>>())?;
    Ok(places.into_iter().zip(sums).filter(|(_, (memories, _))| *memories > 0).map(|(place, _)| place).collect())
}
