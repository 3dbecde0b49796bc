//! Lists by a condition that few tasks meet: those tasks are found by an index and sorted.
//!
//! A list has two ways to its page. A rare word is a range of the index of words; the tasks with it are looked up. For
//! words that many tasks have, the tasks are read in the order of the list, and few have to be read until a page is full.
//! Both ways give the same page. With n tasks, m of them with the word, the second one reads about 50 n / m tasks for a
//! page of 50; at [`RARE`] both cost the same among 20,000 tasks.

use std::collections::BTreeSet;

use tenure_core::Result;
use tenure_core::choice::ListPosition;
use tenure_core::id::TaskId;
use tenure_core::number::EventNumber;
use tenure_core::search::{Search, begins};
use tenure_store::table::{hold, label, note, task, task_word};
use tenure_store::{RowsWithin, Tx};

use super::super::Snapshot;
use super::{List, bytes};

/// The most rows of an index for a condition that selects candidates.
const RARE: usize = 1_000;
/// The most tasks that are loaded at once.
const LOADED: usize = 200;
/// How many tasks have their notes read together, and the most notes of each that are.
const READ_TOGETHER: usize = 16;
const NOTES: usize = 8;

/// The tasks that may be in a list, and the words that are still to be looked for in their texts.
pub(super) struct ListCandidates {
    /// Nothing if no condition selects few.
    pub(super) tasks: Option<BTreeSet<TaskId>>,
    pub(super) unchecked: Vec<String>,
}

/// Finds the candidates of a filter.
pub(super) fn of(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    search: Option<&Search>,
) -> Result<ListCandidates> {
    let project = snapshot.project_id();
    let mut sets = Vec::new();
    if let Some(holder) = &filter.holder {
        let holds = hold::all_of_holder(tx, project, holder)?;
        sets.push(holds.iter().filter_map(hold::Row::held_task).collect::<BTreeSet<TaskId>>());
    }
    let words = search.map(Search::beginnings).unwrap_or_default();
    let by_word = words.iter().map(|word| task_word::beginning(project, word, RARE + 1)).collect::<Vec<_>>();
    // In selection order labels have an index with that order.
    let labels = if filter.sort.is_selection() { &[] } else { filter.labels.as_slice() };
    let by_label = labels.iter().map(|label| label::tasks(project, label, RARE + 1)).collect::<Vec<_>>();
    let (by_word, by_label) = tx.fetch((by_word, by_label))?;
    let mut unchecked = Vec::new();
    for (word, found) in words.iter().zip(by_word) {
        if found.len() > RARE {
            unchecked.push(word.clone());
        } else {
            sets.push(found.into_iter().collect());
        }
    }
    sets.extend(by_label.into_iter().filter(|found| found.len() <= RARE).map(|found| found.into_iter().collect()));
    let tasks = sets.into_iter().reduce(|all, set| all.intersection(&set).cloned().collect());
    Ok(ListCandidates { tasks, unchecked })
}

/// The first `limit` candidates after a position that match, up to a number of bytes.
pub(super) fn select(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    (ids, unchecked): (BTreeSet<TaskId>, &[String]),
    start: &ListPosition,
    (limit, most): (usize, usize),
    lets_through: &dyn Fn(&task::Full) -> bool,
) -> Result<RowsWithin<task::Full>> {
    let ids: Vec<TaskId> = ids.into_iter().collect();
    let keys = if ids.is_empty() { Vec::new() } else { tx.fetch(task::sort_keys(snapshot.project_id(), &ids))? };
    let positions = keys.into_iter().map(|(rank, at)| (filter.sort.position(rank.clone(), at), rank.id));
    let mut left: Vec<(ListPosition, TaskId)> = positions.filter(|(position, _)| position > start).collect();
    left.sort();
    let mut left: Vec<TaskId> = left.into_iter().map(|(_, id)| id).collect();
    let (mut rows, mut size) = (Vec::new(), 0);
    while rows.len() < limit && !left.is_empty() {
        if size > most / 2 {
            return Ok(RowsWithin { rows, cut: true });
        }
        let ids = &left[..left.len().min(LOADED)];
        let read = task::get_many_within(tx, snapshot.project_id(), ids, most)?;
        let done = if read.cut { read.rows.len() } else { ids.len() };
        left.drain(..done);
        let mut found = read.rows;
        found.sort_by_cached_key(|full| filter.position(full));
        found.retain(|full| lets_through(full));
        let found = having(tx, snapshot.project_id(), unchecked, found, limit - rows.len())?;
        rows.extend(found.into_iter().inspect(|full| size += bytes(full)));
    }
    Ok(RowsWithin { rows, cut: false })
}

/// The first `limit` of some tasks whose own texts and notes have all of the words.
pub(super) fn having(
    tx: &mut dyn Tx,
    project: &str,
    words: &[String],
    found: Vec<task::Full>,
    limit: usize,
) -> Result<Vec<task::Full>> {
    if words.is_empty() {
        return Ok(found.into_iter().take(limit).collect());
    }
    let mut kept = Vec::new();
    let mut found = found.into_iter();
    while kept.len() < limit && found.len() > 0 {
        let mut group: Vec<(task::Full, Vec<&str>)> = found
            .by_ref()
            .take(READ_TOGETHER)
            .map(|full| {
                let own = full.task.texts().words();
                let missing = words.iter().map(String::as_str).filter(|word| !begins(&own, word)).collect();
                (full, missing)
            })
            .collect();
        look_in_notes(tx, project, &mut group)?;
        kept.extend(group.into_iter().filter(|(_, missing)| missing.is_empty()).map(|(full, _)| full));
    }
    kept.truncate(limit);
    Ok(kept)
}

/// Removes from the missing words of each task those that its notes have.
fn look_in_notes(tx: &mut dyn Tx, project: &str, group: &mut [(task::Full, Vec<&str>)]) -> Result<()> {
    let mut before = vec![EventNumber::new(i64::MAX); group.len()];
    let mut open: Vec<usize> = (0..group.len()).filter(|at| !group[*at].1.is_empty()).collect();
    while !open.is_empty() {
        let pages = open.iter().map(|at| note::texts(project, &group[*at].0.task.id, before[*at], NOTES));
        let pages = tx.fetch(pages.collect::<Vec<_>>())?;
        let mut more = Vec::new();
        for (at, page) in open.into_iter().zip(pages) {
            let missing = &mut group[at].1;
            for (_, text) in &page {
                let words = tenure_core::words::distinct(text);
                missing.retain(|word| !begins(&words, word));
            }
            if let Some((number, _)) = page.last().filter(|_| page.len() == NOTES && !missing.is_empty()) {
                before[at] = *number;
                more.push(at);
            }
        }
        open = more;
    }
    Ok(())
}
