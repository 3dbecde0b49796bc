//! What an import would do, decided on the existing rows.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value, json};
use tenure_core::action::Action;
use tenure_core::id::{NoteId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::task::TaskStatus;
use tenure_core::{Code, Error, Result, id};
use tenure_store::Tx;
use tenure_store::table::{agent, note, task};

use super::{CheckedImport, on_line};
use crate::answer::export::{ExportedNote, ExportedTask, Imported};
use crate::query::export::whole;

/// How many ids one query looks up.
const PAGE: usize = 1_000;
/// How many differences an error names.
const NAMED: usize = 20;

/// The rows to import, and the data they are decided by.
pub(super) struct PreparedImport<'a> {
    /// The tasks that do not exist yet, in the order of the input.
    pub(super) tasks: Vec<&'a ExportedTask>,
    /// The notes that do not exist yet, with their data in the stored form.
    pub(super) notes: Vec<&'a (ExportedNote, String)>,
    /// The status of every task that the import refers to.
    statuses: HashMap<TaskId, TaskStatus>,
}

/// Compares the input with the existing rows. Existing rows with other content are refused, all of them in one error.
///
/// A project that never had a task has nothing to compare with, and a large import is often the first thing in a project.
pub(super) fn make<'a>(
    tx: &mut dyn Tx,
    (project, last_task): (&str, i64),
    batch: &'a CheckedImport,
) -> Result<PreparedImport<'a>> {
    let is_first = last_task == 0;
    let mut statuses = if is_first { HashMap::with_capacity(batch.tasks.len()) } else { known(tx, project, batch)? };
    let mut differing = Vec::new();
    let here: Vec<TaskId> =
        batch.tasks.iter().filter(|given| statuses.contains_key(&given.id)).map(|given| given.id.clone()).collect();
    let mut stored: HashMap<TaskId, ExportedTask> = HashMap::new();
    for page in here.chunks(PAGE) {
        stored.extend(whole(tx, project, page)?.into_iter().map(|task| (task.id.clone(), task)));
    }
    let mut tasks = Vec::new();
    for given in &batch.tasks {
        match stored.get(&given.id) {
            Some(stored) => compare(&mut differing, &given.id, given.line, given, stored)?,
            None => {
                statuses.insert(given.id.clone(), given.status);
                tasks.push(given);
            }
        }
    }
    let notes = if is_first { batch.notes.iter().collect() } else { new_notes(tx, project, batch, &mut differing)? };
    if !differing.is_empty() {
        return Err(differs(&differing));
    }
    let plan = PreparedImport { tasks, notes, statuses };
    for given in &plan.tasks {
        plan.dependencies(given)?;
        if let Some(on) = given.blocked_on.as_ref().filter(|on| !plan.statuses.contains_key(*on)) {
            return Err(on_line(given.line)(unknown(on)));
        }
    }
    for (given, _) in &plan.notes {
        if !plan.statuses.contains_key(&given.task) {
            return Err(on_line(given.line)(unknown(&given.task)));
        }
    }
    Ok(plan)
}

/// The status of every existing task that the input names.
fn known(tx: &mut dyn Tx, project: &str, batch: &CheckedImport) -> Result<HashMap<TaskId, TaskStatus>> {
    let mut known = HashMap::new();
    for page in batch.named.chunks(PAGE * 10) {
        known.extend(task::existing(tx, project, page)?);
    }
    Ok(known)
}

fn new_notes<'a>(
    tx: &mut dyn Tx,
    project: &str,
    batch: &'a CheckedImport,
    differing: &mut Vec<Value>,
) -> Result<Vec<&'a (ExportedNote, String)>> {
    let mut fresh = Vec::new();
    for page in batch.notes.chunks(PAGE) {
        let ids: Vec<NoteId> = page.iter().map(|(given, _)| given.id.clone()).collect();
        let stored =
            note::get_many(tx, project, &ids)?.into_iter().map(|row| Ok((row.id.clone(), ExportedNote::of(row)?)));
        let stored: HashMap<NoteId, ExportedNote> = stored.collect::<Result<_>>()?;
        for one in page {
            let (given, _) = one;
            match stored.get(&given.id) {
                Some(stored) => compare(differing, &given.id, given.line, given, stored)?,
                None => fresh.push(one),
            }
        }
    }
    Ok(fresh)
}

/// Collects the fields in which two things with one id differ.
fn compare<T: Serialize>(differing: &mut Vec<Value>, id: &str, line: usize, given: &T, stored: &T) -> Result<()> {
    let (given, stored) = (fields(given)?, fields(stored)?);
    let fields: Vec<&String> =
        given.iter().filter(|(field, value)| stored.get(*field) != Some(value)).map(|(field, _)| field).collect();
    if !fields.is_empty() {
        differing.push(json!({ "id": id, "line": line, "fields": fields }));
    }
    Ok(())
}

fn fields<T: Serialize>(thing: &T) -> Result<Map<String, Value>> {
    match serde_json::to_value(thing) {
        Ok(Value::Object(fields)) => Ok(fields),
        other => Err(tenure_store::error::corrupt(format!("this is not an object: {other:?}"))),
    }
}

fn differs(differing: &[Value]) -> Error {
    let named: Vec<String> = differing
        .iter()
        .take(NAMED)
        .map(|one| {
            let fields: Vec<&str> = one["fields"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            format!("{} ({})", one["id"].as_str().unwrap_or_default(), fields.join(", "))
        })
        .collect();
    let more = match differing.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Error::new(
        Code::ImportDiffers,
        format!("{} in this project with other content: {}{more}", are(differing.len()), named.join(", ")),
    )
    .hint("Nothing was imported. Import into a project without these ids, or remove their lines.")
    .attempt(Action::show(differing[0]["id"].as_str().filter(|id| id.starts_with("t-")).unwrap_or("ID")))
    .detail("differing", differing.iter().take(NAMED).cloned().collect::<Vec<_>>())
    .detail("total", differing.len())
}

fn are(count: usize) -> String {
    if count == 1 { "1 id is".to_owned() } else { format!("{count} ids are") }
}

pub(super) fn unknown(id: &str) -> Error {
    id::unknown(id, id::Sort::Task).hint("It is neither in the file nor in this project.")
}

impl PreparedImport<'_> {
    /// The status of every dependency of a task.
    pub(super) fn dependencies(&self, given: &ExportedTask) -> Result<Vec<TaskStatus>> {
        let status = |after: &TaskId| self.statuses.get(after).copied().ok_or_else(|| unknown(after));
        given.after.iter().map(status).collect::<Result<_>>().map_err(on_line(given.line))
    }

    /// The assignees of new tasks, each once.
    pub(super) fn assignees(&self) -> impl Iterator<Item = &AgentName> {
        self.tasks.iter().filter_map(|given| given.assignee.as_ref()).collect::<BTreeSet<_>>().into_iter()
    }

    /// The assignees that are unknown here, without `me`: the importing agent is registered by the import itself.
    pub(super) fn strangers(&self, tx: &mut dyn Tx, project: &str, me: &AgentName) -> Result<Vec<AgentName>> {
        let named: Vec<AgentName> = self.assignees().filter(|name| *name != me).cloned().collect();
        let mut strangers = Vec::new();
        for page in named.chunks(PAGE) {
            let known: HashSet<AgentName> = agent::existing(tx, project, page)?.into_iter().collect();
            strangers.extend(page.iter().filter(|name| !known.contains(*name)).cloned());
        }
        Ok(strangers)
    }

    pub(super) fn summary(&self, batch: &CheckedImport, agents: usize) -> Imported {
        Imported {
            tasks: self.tasks.len(),
            notes: self.notes.len(),
            unchanged: batch.tasks.len() - self.tasks.len(),
            unchanged_notes: batch.notes.len() - self.notes.len(),
            events_left_out: batch.events,
            agents,
            dry_run: false,
        }
    }
}
