//! `memory`: one memory; also which memories a reader sees, and how they are searched.
//!
//! A reader sees the memories of the task it asks about, its own, the project's and the whole store's. It never sees
//! those of another agent, task or project.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::{MemoryId, ProjectId, TaskId};
use tenure_core::memory::{Candidate, Corpus, MemoryScope, order, score};
use tenure_core::name::AgentName;
use tenure_core::{Result, Time, id, words};
use tenure_store::Tx;
use tenure_store::table::{agent, memory, project};

use super::Snapshot;
use super::query::{Access, Query, Role};
use crate::answer;
use crate::call::Call;
use crate::kernel::Kernel;

/// The limits of a search.
pub(crate) struct Effort {
    /// The maximum number of words that are looked up.
    words: usize,
    /// The maximum number of memories of one scope that are read for one word. A word that more of them contain says
    /// little.
    having: usize,
}

impl Effort {
    /// For a caller that searches.
    pub(crate) const ASKED: Effort = Effort { words: 32, having: 2_000 };
    /// For a brief, which must be quick: a project with 10,000 memories costs no more than one with 1,000.
    pub(crate) const BRIEF: Effort = Effort { words: 16, having: 100 };
}

/// A memory that the caller can see, by its whole id.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowMemory {
    /// The whole id.
    pub id: String,
}

impl Query for ShowMemory {
    const NAME: &'static str = "memory";
    const ABOUT: &'static str = "Get one memory";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access { project: Some(Role::Viewer), store: Some(Role::Admin) };
    type Answer = answer::Memory;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<answer::Memory> {
        id::named(&self.id, id::Sort::Memory)?;
        kernel.in_snapshot(call, |tx, snapshot| {
            let me = MemoryScope::Agent(snapshot.call.actor.name.clone());
            let whole = project::enter(tx, project::WHOLE_STORE, project::LockMode::Read)?.1;
            for project in
                [Some(snapshot.project_id()), whole.as_ref().map(|row| row.id.as_str())].into_iter().flatten()
            {
                let row = memory::get(tx, project, &self.id)?;
                if let Some(row) = row.filter(|row| !matches!(row.scope, MemoryScope::Agent(_)) || row.scope == me) {
                    return Ok(answer::Memory::of(&row));
                }
            }
            Err(id::unknown(&self.id, id::Sort::Memory))
        })
    }
}

/// A scope that a reader sees, with the project that has its rows.
pub(crate) type ScopeKey = (ProjectId, MemoryScope);

/// The scopes that a reader sees, nearest first.
pub(crate) fn visible(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, task: Option<&TaskId>) -> Result<Vec<ScopeKey>> {
    let me = &snapshot.call.actor.name;
    let here = snapshot.project_id();
    let focus = match task {
        Some(task) => Some(task.clone()),
        None => tx.fetch(agent::get(here, me))?.and_then(|row| row.focus),
    };
    places(tx, here, me, focus.as_ref())
}

/// The same for a known task.
pub(crate) fn places(tx: &mut dyn Tx, here: &str, me: &AgentName, task: Option<&TaskId>) -> Result<Vec<ScopeKey>> {
    let mut places = Vec::new();
    if let Some(task) = task {
        places.push((here.into(), MemoryScope::Task(task.clone())));
    }
    places.push((here.into(), MemoryScope::Agent(me.clone())));
    places.push((here.into(), MemoryScope::Project));
    if let (_, Some(whole), _) = project::enter(tx, project::WHOLE_STORE, project::LockMode::Read)? {
        places.push((whole.id, MemoryScope::Global));
    }
    Ok(places)
}

/// The memories that a search wants.
pub(crate) struct SearchRequest<'a> {
    /// A filter for the memories that contain a word of the question.
    pub(crate) takes: &'a dyn Fn(&memory::Weight) -> bool,
    /// The maximum number of memories to read.
    pub(crate) most: usize,
    pub(crate) effort: Effort,
}

/// The result of a search.
pub(crate) struct SearchResult {
    /// The best memories, best first.
    pub(crate) rows: Vec<memory::Row>,
    /// The number of matches.
    pub(crate) total: usize,
}

/// A memory that contains a word of the question: the index of its scope, its ranking data, and how often it contains
/// each word.
struct Hit {
    place: usize,
    weight: memory::Weight,
    counts: Vec<u32>,
}

/// The memories of some scopes that contain a word of the question, best first. The ranking is the same for every door
/// and engine. All matches are weighed, but only the best are read.
pub(crate) fn search(
    tx: &mut dyn Tx,
    now: Time,
    places: &[ScopeKey],
    question: &str,
    wanted: &SearchRequest<'_>,
) -> Result<SearchResult> {
    let mut terms = words::in_order(question);
    terms.truncate(wanted.effort.words);
    terms.sort();
    let sums = places.iter().map(|(project, scope)| memory::sums(project, scope));
    let sums = tx.fetch(sums.collect::<Vec<_>>())?;
    // Most scopes are empty: that of a task, of an agent, of the whole store.
    let filled: Vec<usize> = (0..places.len()).filter(|at| sums[*at].0 > 0).collect();
    let mut having = vec![0_u64; terms.len()];
    let hits = hits(tx, places, &filled, &terms, &wanted.effort, &mut having)?;
    let hits: Vec<Hit> =
        hits.into_iter().filter(|hit| !hit.weight.is_over(now) && (wanted.takes)(&hit.weight)).collect();
    let number = |value: i64| u64::try_from(value).unwrap_or(0);
    let (size, length) = sums.iter().fold((0, 0), |(size, length), sum| (size + sum.0, length + sum.1));
    let corpus = Corpus { size: number(size), length: number(length), having: &having };
    let candidates: Vec<Candidate<'_>> = hits
        .iter()
        .map(|hit| Candidate {
            id: &hit.weight.id,
            scope: &places[hit.place].1,
            kind: hit.weight.kind,
            pinned: hit.weight.pinned,
            updated_at: hit.weight.updated_at,
            length: number(hit.weight.words),
            counts: &hit.counts,
        })
        .collect();
    let scores: Vec<u64> = candidates.iter().map(|candidate| score(&corpus, candidate)).collect();
    let mut ranked: Vec<usize> = (0..hits.len()).collect();
    ranked.sort_by(|&a, &b| order((scores[a], &candidates[a]), (scores[b], &candidates[b])));
    ranked.truncate(wanted.most);
    let best: Vec<&Hit> = ranked.into_iter().map(|at| &hits[at]).collect();
    let mut rows = Vec::new();
    for (at, (project, _)) in places.iter().enumerate() {
        let ids: Vec<MemoryId> = best.iter().filter(|hit| hit.place == at).map(|hit| hit.weight.id.clone()).collect();
        if !ids.is_empty() {
            rows.extend(memory::get_many(tx, project, &ids)?);
        }
    }
    let rank =
        |row: &memory::Row| best.iter().position(|hit| hit.weight.id == row.id && places[hit.place].1 == row.scope);
    rows.sort_by_cached_key(rank);
    Ok(SearchResult { rows, total: hits.len() })
}

/// All memories that contain a word, and for each word how many contain it.
fn hits(
    tx: &mut dyn Tx,
    places: &[ScopeKey],
    filled: &[usize],
    terms: &[(String, u32)],
    effort: &Effort,
    having: &mut [u64],
) -> Result<Vec<Hit>> {
    let of_scope = |(project, scope): &ScopeKey| {
        let having = terms.iter().map(|(term, _)| memory::having(project, scope, term, effort.having));
        having.collect::<Vec<_>>()
    };
    let found = tx.fetch(filled.iter().map(|at| of_scope(&places[*at])).collect::<Vec<_>>())?;
    let mut counted: Vec<BTreeMap<MemoryId, Vec<u32>>> = Vec::new();
    let mut weighing = Vec::new();
    for (at, found) in filled.iter().zip(found) {
        let mut counts: BTreeMap<MemoryId, Vec<u32>> = BTreeMap::new();
        for (term, (having, memories)) in having.iter_mut().zip(found).enumerate() {
            for (id, count) in memories {
                *having += 1;
                counts.entry(id).or_insert_with(|| vec![0; terms.len()])[term] = count;
            }
        }
        let ids: Vec<MemoryId> = counts.keys().cloned().collect();
        weighing.push(memory::weights(&places[*at].0, &ids));
        counted.push(counts);
    }
    let mut found = Vec::new();
    for ((at, mut counts), weights) in filled.iter().zip(counted).zip(tx.fetch(weighing)?) {
        found.extend(weights.into_iter().filter_map(|weight| {
            let counts = counts.remove(&weight.id)?;
            Some(Hit { place: *at, weight, counts })
        }));
    }
    Ok(found)
}
