//! Checks the result of a fleet: files, log and the reports of the processes must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use tenure_core::event::kind;
use tenure_kernel::answer::LoggedEvent;

use super::ground::Ground;
use super::{By, Found, Life, Line};
use crate::replay::replay;

pub(super) const RESERVATIONS: &str = "reservations granted";
const GUARDED: &str = "of these by the edit guard";
const WRITTEN: &str = "updates acknowledged, each in its file once";
const CUT_OFF: &str = "updates cut off by a kill, there or not";
pub(super) const KILLS: &str = "processes killed";
const KILLED_INSIDE: &str = "of these between reading and writing a file";
pub(super) const CONFLICTS: &str = "conflicts";
const WAITED: &str = "of these ended by waiting in line";
const REQUESTED: &str = "of these ended by a request that was answered";
const DIED: &str = "of these ended by the death of who asked";
const CIRCLES: &str = "circles of waiting refused, and given way";
const LONGEST: &str = "longest conflict, in ms";
const QUEUED: &str = "places in line";
const OFFERS: &str = "offers taken";
const REQUESTS: &str = "requests to holders";
const OBLIGED: &str = "holds released because somebody asked";
const PAGE: &str = "messages in the longest page of an inbox";
const BYTES: &str = "bytes of text in the largest page of an inbox";
const BACKLOG: &str = "messages read from the inboxes of all agents at the end, page by page";
const AGENTS: &str = "agents, each under one name";
const EVENTS: &str = "events replayed";
const SLOW: &str = "times that something was granted too slowly to be used";
const BLIND: &str = "times that the store was busy";

/// All figures, in print order.
pub(super) const FIGURES: [&str; 23] = [
    RESERVATIONS,
    GUARDED,
    WRITTEN,
    CUT_OFF,
    KILLS,
    KILLED_INSIDE,
    CONFLICTS,
    WAITED,
    REQUESTED,
    DIED,
    CIRCLES,
    LONGEST,
    QUEUED,
    OFFERS,
    REQUESTS,
    OBLIGED,
    PAGE,
    BYTES,
    BACKLOG,
    AGENTS,
    EVENTS,
    SLOW,
    BLIND,
];

/// The maximum number of messages, and bytes of text, in a page of an inbox.
const PAGE_MOST: usize = 20;
const BYTES_MOST: usize = 16 << 10;

pub(super) fn check(ground: &Ground, lives: &[Life]) -> Found {
    let mut found = Found::default();
    files(ground, lives, &mut found);
    for life in lives {
        conflicts(life, &mut found);
        requests(life, &mut found);
        names(life, &mut found);
    }
    inboxes(lives, &mut found);
    backlogs(ground, lives, &mut found);
    let events = ground.events();
    log(&events, lives, &mut found);
    left(ground, lives, &mut found);
    let killed = lives.iter().filter(|life| life.killed);
    for life in killed {
        add(&mut found, KILLS, 1);
        let inside = matches!(life.lines.last(), Some(Line::Read | Line::Writing { .. }));
        add(&mut found, KILLED_INSIDE, usize::from(inside));
    }
    found
}

fn add(found: &mut Found, figure: &'static str, count: usize) {
    *found.figures.entry(figure).or_default() += u64::try_from(count).unwrap();
}

fn most(found: &mut Found, figure: &'static str, value: u64) {
    let most = found.figures.entry(figure).or_default();
    *most = value.max(*most);
}

/// Each file contains every acknowledged update exactly once, plus at most those interrupted by a kill, and each line
/// is well-formed.
fn files(ground: &Ground, lives: &[Life], found: &mut Found) {
    let mut must: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut may: BTreeSet<(&str, &str)> = BTreeSet::new();
    for line in lives.iter().flat_map(|life| &life.lines) {
        match line {
            Line::Writing { file, update } => _ = may.insert((file, update)),
            Line::Wrote { file, update } => _ = must.insert((file, update)),
            _ => {}
        }
    }
    add(found, WRITTEN, must.len());
    add(found, CUT_OFF, may.difference(&must).count());
    for file in ground.files() {
        let text = std::fs::read_to_string(ground.repo().join(&file)).unwrap_or_default();
        let mut there = BTreeSet::new();
        for (at, line) in text.lines().enumerate() {
            let (number, update) = line.split_once(' ').unwrap_or_default();
            if number != (at + 1).to_string() || !may.contains(&(file.as_str(), update)) || !there.insert(update) {
                found.violations.push(format!("{file}: line {} is {line:?}", at + 1));
            }
        }
        for (_, update) in must.iter().filter(|(of, _)| *of == file) {
            if !there.contains(update) {
                found.violations.push(format!("{file}: the update {update} was acknowledged and is missing"));
            }
        }
    }
}

/// Every conflict of a surviving process ended with a grant. A killed process has at most one open.
fn conflicts(life: &Life, found: &mut Found) {
    let mut open: BTreeSet<usize> = BTreeSet::new();
    for line in &life.lines {
        match line {
            Line::Conflict(conflict) => {
                add(found, CONFLICTS, 1);
                open.insert(*conflict);
            }
            Line::Settled { conflict, by, ms } => {
                open.remove(conflict);
                add(found, if *by == By::Waiting { WAITED } else { REQUESTED }, 1);
                most(found, LONGEST, *ms);
            }
            Line::Circle => add(found, CIRCLES, 1),
            Line::Granted { guard } => {
                add(found, RESERVATIONS, 1);
                add(found, GUARDED, usize::from(*guard));
            }
            Line::TooSlow => add(found, SLOW, 1),
            Line::Blind => add(found, BLIND, 1),
            Line::Odd(what) => found.violations.push(format!("{}: {what}", life.name)),
            _ => {}
        }
    }
    if life.killed {
        add(found, DIED, open.len());
    }
    if open.len() > usize::from(life.killed) {
        found.violations.push(format!("{}: conflicts without an end: {open:?}", life.name));
    }
}

/// Every request of a surviving process was answered: the process was told how the requested hold ended.
fn requests(life: &Life, found: &mut Found) {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for line in &life.lines {
        match line {
            Line::Asked(message) => {
                add(found, REQUESTS, 1);
                open.insert(message);
            }
            Line::Answered { message, how } => {
                open.remove(message.as_str());
                if how.is_empty() {
                    found.violations.push(format!("{}: {message} is over, and nobody says how", life.name));
                }
            }
            Line::Obliged => add(found, OBLIGED, 1),
            _ => {}
        }
    }
    if !open.is_empty() && !life.killed {
        found.violations.push(format!("{}: requests without an answer: {open:?}", life.name));
    }
}

/// `whoami` reports one name, from the first call of a process to its last.
fn names(life: &Life, found: &mut Found) {
    let heard = life.lines.iter().filter_map(|line| match line {
        Line::Am(name) => Some(name),
        _ => None,
    });
    for name in heard.filter(|name| **name != life.name) {
        found.violations.push(format!("{} is told that it is {name}", life.name));
    }
    if !life.killed && !matches!(life.lines.last(), Some(Line::Bye)) {
        found.violations.push(format!("{} ended without a word after {:?}", life.name, life.lines.last()));
    }
}

/// A page of mail is bounded, and a message is new in one page only, even if its reader is killed.
fn inboxes(lives: &[Life], found: &mut Found) {
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for life in lives {
        for line in &life.lines {
            let Line::Inbox { items, bytes, new } = line else { continue };
            bounded(&life.name, *items, *bytes, found);
            for message in new {
                if !seen.entry(&life.name).or_default().insert(message) {
                    found.violations.push(format!("{}: {message} was new twice", life.name));
                }
            }
        }
    }
}

fn bounded(name: &str, items: usize, bytes: usize, found: &mut Found) {
    most(found, PAGE, u64::try_from(items).unwrap());
    most(found, BYTES, u64::try_from(bytes).unwrap());
    if items > PAGE_MOST || bytes > BYTES_MOST {
        found.violations.push(format!("{name}: a page of {items} messages, {bytes} bytes"));
    }
}

/// Any backlog of mail can be read to its end in bounded pages.
fn backlogs(ground: &Ground, lives: &[Life], found: &mut Found) {
    let names: BTreeSet<&str> = lives.iter().map(|life| life.name.as_str()).collect();
    for name in names {
        loop {
            let page = ground.call(&[("TENURE_AGENT", name)], &["inbox"], "").data;
            let (items, bytes) = page["items"].as_array().map_or((0, 0), |items| size(items));
            bounded(name, items, bytes, found);
            add(found, BACKLOG, items);
            if page["more"] != true {
                break;
            }
            if items == 0 {
                found.violations.push(format!("{name}: an empty page, and more is said to come"));
                break;
            }
        }
    }
}

/// The number of messages in a page, and their bytes of text.
pub(super) fn size(items: &[Value]) -> (usize, usize) {
    (items.len(), items.iter().map(|item| item["text"].as_str().unwrap_or_default().len()).sum())
}

/// The log never has two holders at once, and contains only names of known agents.
fn log(events: &[LoggedEvent], lives: &[Life], found: &mut Found) {
    add(found, EVENTS, events.len());
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| replay(events))) {
        let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        found.violations.push(format!("the log does not replay: {why}"));
    }
    let names: BTreeSet<&str> = lives.iter().map(|life| life.name.as_str()).collect();
    add(found, AGENTS, names.len());
    let actors: BTreeSet<&str> = events.iter().map(|event| event.actor.as_str()).collect();
    for actor in actors.iter().filter(|actor| !names.contains(*actor) && !actor.starts_with("person:")) {
        found.violations.push(format!("nobody of the fleet is {actor}"));
    }
    for (figure, of) in [(QUEUED, kind::PLACE_QUEUED), (OFFERS, kind::OFFER_TAKEN)] {
        add(found, figure, events.iter().filter(|event| event.kind == of).count());
    }
}

/// A process that ended normally leaves no holds and no place in line.
fn left(ground: &Ground, lives: &[Life], found: &mut Found) {
    let held = ground.call(&[], &["holds", "--limit", "1000"], "").data;
    let killed: BTreeSet<&str> = lives.iter().filter(|life| life.killed).map(|life| life.name.as_str()).collect();
    let who = |list: &str, field: &str| -> Vec<String> {
        let items = held[list].as_array().into_iter().flatten();
        items.filter_map(|item| item[field].as_str().map(str::to_owned)).collect()
    };
    for name in who("items", "holder").into_iter().chain(who("waiting", "agent")) {
        if !killed.contains(name.as_str()) {
            found.violations.push(format!("{name} is gone and still holds something or waits"));
        }
    }
}
