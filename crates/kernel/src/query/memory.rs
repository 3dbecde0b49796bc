//! `memory`: one memory; and what a reader sees of what is remembered, and how it is searched.
//!
//! A reader sees the memories of the task it asks about, its own, the project's and the whole store's; never those of
//! another agent, task or project.

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

/// How hard a question is thought about.
pub(crate) struct Effort {
    /// Most words of it that are looked for.
    words: usize,
    /// Most memories of one scope that are looked at for one word. A word that more of them have says little.
    having: usize,
}

impl Effort {
    /// For a caller that asks.
    pub(crate) const ASKED: Effort = Effort { words: 32, having: 2_000 };
    /// For a brief, which must be quick: a project with 10,000 memories costs no more than one with 1,000.
    pub(crate) const BRIEF: Effort = Effort { words: 16, having: 100 };
}

/// A memory that the caller can see, by its whole id.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The whole id.
    pub id: String,
}

impl Query for Memory {
    const NAME: &'static str = "memory";
    const ABOUT: &'static str = "One memory";
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

/// A scope that a reader sees, in the project that has its rows.
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

/// The same for a task that is known.
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

/// Which memories a search is for.
pub(crate) struct SearchRequest<'a> {
    /// Which of those that have a word of the question.
    pub(crate) takes: &'a dyn Fn(&memory::Weight) -> bool,
    /// Most that are read.
    pub(crate) most: usize,
    pub(crate) effort: Effort,
}

/// What a search found.
pub(crate) struct SearchResult {
    /// The best, best first.
    pub(crate) rows: Vec<memory::Row>,
    /// How many there are.
    pub(crate) total: usize,
}

/// One that has a word of the question: its place, what it is ranked by, how often it has each word.
struct Hit {
    place: usize,
    weight: memory::Weight,
    counts: Vec<u32>,
}

/// The memories of some places that have a word of the question, best first. One ranking for every door and engine. All
/// are weighed, and only the best are read.
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

/// All that have a word, and for each word how many have it.
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
