//! `why_path`: who held or changed a path, when, for which task, and in which commits.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::kind::PATH_COMMITTED;
use tenure_core::number::{EventNumber, Fence};
use tenure_core::pattern::{GLOB, Pattern};
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, Time};
use tenure_store::Tx;
use tenure_store::table::{edited_file, event, hold, note, path};

use super::Snapshot;
use super::query::{Access, Query, Role};
use super::why::{LONGEST, over, sentence};
use crate::answer::{Sentence, Story};
use crate::call::Call;
use crate::fact;
use crate::kernel::Kernel;
use crate::paths;

/// How many holds with one prefix are read, newest first.
const HOLDS: usize = 200;
/// How many events of one hold are shown.
const EVENTS: usize = 20;
/// How many file changes are read.
const CHANGES: usize = 500;
/// How many commits are read, newest first.
const COMMITS: usize = 500;
/// How many notes of a task are searched for the commit of a change.
const NOTES: usize = 50;

/// The story of one path or pattern, in all checkouts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WhyPath {
    /// The one pattern, relative to the top of the checkout.
    pub paths: Vec<String>,
    /// As for `check`; a story does not depend on it.
    pub shared: bool,
    /// As for `check`; a story does not depend on it.
    pub all_checkouts: bool,
    /// Whether the checkout's file system does not tell `A` from `a`.
    pub fold_case: bool,
}

impl Query for WhyPath {
    const NAME: &'static str = "why_path";
    const ABOUT: &'static str = "The story of one path or pattern";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Story;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Story> {
        let patterns = paths::read(&self.paths, self.fold_case)?;
        let [pattern] = patterns.as_slice() else {
            return Err(Error::usage(Code::OnePath, "a story is about one path").hint("Ask for each."));
        };
        kernel.in_snapshot(call, |tx, snapshot| tell(tx, snapshot, pattern))
    }
}

/// A sentence with its sort key.
type DatedSentence = (Time, EventNumber, Sentence);

fn tell(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, pattern: &Pattern) -> Result<Story> {
    let mut sentences: Vec<DatedSentence> = Vec::new();
    let mut more = held(tx, snapshot, pattern, &mut sentences)?;
    more |= changed(tx, snapshot, pattern, &mut sentences)?;
    committed(tx, snapshot, pattern, &mut sentences)?;
    sentences.sort_by(|a, b| (a.0, a.1, &a.2.text).cmp(&(b.0, b.1, &b.2.text)));
    let surplus = sentences.len().saturating_sub(LONGEST);
    let story = sentences.into_iter().skip(surplus).map(|(.., sentence)| sentence).collect();
    let forgotten = snapshot.project.is_some_and(|row| row.first_event > EventNumber::FIRST);
    Ok(Story { subject: pattern.text().to_owned(), story, more: more || surplus > 0, forgotten })
}

/// The events of all holds that overlap the pattern.
fn held(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    pattern: &Pattern,
    sentences: &mut Vec<DatedSentence>,
) -> Result<bool> {
    let project = snapshot.project_id();
    let here = snapshot.here();
    let mut statements: Vec<_> =
        pattern.shorter_prefixes().iter().map(|prefix| path::past(project, prefix, HOLDS)).collect();
    statements.extend(pattern.longer_prefixes().map(|(begin, end)| path::past_below(project, &begin, &end, HOLDS)));
    let mut found: BTreeMap<Fence, hold::Row> = BTreeMap::new();
    let mut more = false;
    for rows in tx.fetch(statements)? {
        more |= rows.len() == HOLDS;
        found.extend(rows.into_iter().map(|row| (row.fence, row)));
    }
    let mut found: Vec<hold::Row> = found.into_values().collect();
    paths::as_found(tx, project, &mut found)?;
    let checkouts = snapshot.checkouts(tx)?;
    let mut count = 0;
    for row in found.into_iter().rev() {
        if paths::pattern(&row)?.overlap(pattern).is_none() {
            continue;
        }
        count += 1;
        if count > HOLDS / 2 {
            return Ok(true);
        }
        let place = match &row.checkout {
            None => String::new(),
            Some(id) if *id == here => String::new(),
            Some(id) => format!(" (in another checkout, {})", cut(&checkouts.name(id), 120)),
        };
        let filter = event::EventFilter { hold: Some(row.id.clone()), ..event::EventFilter::default() };
        for event in tx.fetch(event::page(project, &filter, event::ALL, false, EVENTS))? {
            let (at, number) = (event.at, event.number);
            // Mail about it is private, and commits are reported below.
            if event.kind == PATH_COMMITTED || event.kind.starts_with("message.") {
                continue;
            }
            let mut sentence = sentence(snapshot, event)?;
            sentence.text.push_str(&place);
            sentences.push((at, number, sentence));
        }
        if let Some(mut over) = over(snapshot, &row) {
            over.text.push_str(&place);
            sentences.push((row.expires_at.min(snapshot.now), EventNumber::MAX, over));
        }
    }
    Ok(more)
}

/// Who changed files of the pattern, and the commit that was noted afterwards.
fn changed(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    pattern: &Pattern,
    sentences: &mut Vec<DatedSentence>,
) -> Result<bool> {
    let project = snapshot.project_id();
    let mut rows = match pattern.longer_prefixes() {
        None => edited_file::of_path(tx, project, literal(pattern), CHANGES)?,
        Some(_) => edited_file::below(tx, project, literal(pattern), CHANGES)?,
    };
    let more = rows.len() == CHANGES;
    rows.retain(|row| pattern.matches(&row.path));
    let mut noted: Vec<EventNumber> = Vec::new();
    for row in &rows {
        let task = row.task.as_ref().map_or(String::new(), |task| format!(" for {task}"));
        let text = format!("{} changed {}{task}", row.agent, cut(&row.path, 200));
        sentences.push((
            row.last_at,
            EventNumber::START,
            Sentence { number: EventNumber::START, at: row.last_at.to_string(), text },
        ));
        let Some(task) = &row.task else { continue };
        let notes = note::newest(tx, project, task, NOTES)?;
        let after = |note: &&note::Row| note.agent == row.agent && note.head.is_some() && note.at >= row.last_at;
        if let Some(note) = notes.iter().rev().find(after).filter(|note| !noted.contains(&note.number)) {
            noted.push(note.number);
            let text = format!(
                "{} noted on {} at commit {}",
                note.agent,
                note.task,
                cut(note.head.as_deref().unwrap_or_default(), 12)
            );
            sentences.push((note.at, note.number, Sentence { number: note.number, at: note.at.to_string(), text }));
        }
    }
    Ok(more)
}

/// The common prefix of all file names of a pattern, in the spelling of the pattern.
fn literal(pattern: &Pattern) -> &str {
    match pattern.text().strip_prefix(GLOB) {
        Some(body) => body.split(['*', '?', '[', '{']).next().unwrap_or_default(),
        None => pattern.text().trim_start_matches("./"),
    }
}

/// The commits that contain files of the pattern.
fn committed(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    pattern: &Pattern,
    sentences: &mut Vec<DatedSentence>,
) -> Result<()> {
    let filter = event::EventFilter { kind: Some(PATH_COMMITTED.to_owned()), ..event::EventFilter::default() };
    for row in tx.fetch(event::page(snapshot.project_id(), &filter, event::ALL, true, COMMITS))? {
        let Event::PathCommitted(committed) = fact::seen(&row.kind, &row.data) else { continue };
        let is_its = |path: &&String| pattern.matches(path.trim_start_matches("./"));
        let its: Vec<&String> = committed.paths.iter().filter(is_its).collect();
        let Some(first) = its.first() else { continue };
        let rest = if its.len() > 1 { format!(" and {} more", its.len() - 1) } else { String::new() };
        let task = if committed.task.is_empty() { String::new() } else { format!(" for {}", committed.task) };
        let commit = cut(&committed.commit, 12);
        let text = format!("{} committed {}{rest}{task} as {commit}", row.actor, cut(first, 200));
        sentences.push((row.at, row.number, Sentence { number: row.number, at: row.at.to_string(), text }));
    }
    Ok(())
}
