//! Adds many tasks in one transaction, all or nothing. Each table needs one statement.

mod plain_lines;

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::task::TaskAdded;
use tenure_core::id::TaskId;
use tenure_core::task::{PRIORITY_DEFAULT, TaskStatus};
use tenure_core::text::excerpt;
use tenure_core::{Code, Error, Result, graph, id};
use tenure_store::table::task_word::TaskWords;
use tenure_store::table::{dep, label, task};

use super::add::{self, TaskDraft};
use super::operation::{Access, Decision, Door, Operation, Role};
use crate::unit_of_work::{About, UnitOfWork};
use crate::{answer, json_lines};

/// The maximum number of tasks in one request. Other projects in the same file wait while they are written.
pub const AT_MOST: usize = 100_000;

/// The maximum size of a batch as JSON lines, in bytes.
pub const BYTES_MAX: usize = 64 * 1024 * 1024;

/// How many ids the answer lists.
const LISTED: usize = 1_000;

/// The request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddMany {
    /// The tasks, in the order in which they get their numbers.
    pub items: Vec<NewTask>,
}

/// One task of the batch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Item")]
#[serde(expecting = "struct Item")]
pub struct NewTask {
    /// One line of 1 to 500 characters.
    pub title: String,
    /// More lines.
    #[serde(default)]
    pub description: String,
    /// 0 is first, 4 is last.
    #[serde(default = "default_priority")]
    pub priority: i64,
    /// Labels.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The acceptance criteria.
    #[serde(default)]
    pub acceptance: String,
    /// Ids of tasks, or keys of this batch.
    #[serde(default)]
    pub after: Vec<String>,
    /// A name for references from other tasks of this batch.
    #[serde(default)]
    pub key: Option<String>,
    /// The line of the input it stands on, for messages.
    #[serde(skip)]
    pub line: usize,
}

fn default_priority() -> i64 {
    PRIORITY_DEFAULT
}

fn on_line(line: usize) -> impl Fn(Error) -> Error {
    json_lines::on_line(line, "Nothing was added.")
}

/// The dependencies of an item on tasks outside the batch, by id.
type Outside<'a> = Vec<&'a str>;

/// For each item its dependencies inside the batch, by position, and those outside, by id.
type BatchEdges<'a> = (graph::Edges, Vec<Outside<'a>>);

impl AddMany {
    /// Parses a batch from JSON lines. An error names its line, and nothing of the input is used.
    pub fn parse(input: &[u8]) -> Result<AddMany> {
        if input.len() > BYTES_MAX {
            return Err(
                Error::usage(Code::InputTooLong, "the input is larger than 64 MiB").hint("Send it in several calls.")
            );
        }
        // Counted before parsing, because an error about too many items should come first.
        let count = json_lines::lines(input).count();
        if count > AT_MOST {
            return Err(too_many(count));
        }
        let mut items = Vec::with_capacity(count);
        for (line, bytes) in json_lines::lines(input) {
            let bad = |message: String| {
                Error::usage(Code::BadLine, format!("line {line}: {message}"))
                    .hint("Nothing was added. Each line is one JSON object with a title.")
                    .detail("line", line)
            };
            let text = json_lines::text(bytes).map_err(bad)?;
            let item: NewTask = serde_json::from_str(text).map_err(|error| bad(json_lines::told(&error)))?;
            items.push(NewTask { line, ..item });
        }
        Ok(AddMany { items })
    }

    /// Whether an input looks like such a batch: its first line is a JSON object with a title.
    pub fn is_batch(input: &[u8]) -> bool {
        let first = json_lines::lines(input).next().and_then(|(_, bytes)| json_lines::text(bytes).ok());
        let object = first.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        object.is_some_and(|object| object.get("title").is_some())
    }

    /// All work that needs no store. It runs before the lock, so no other writer waits for it.
    fn batch(&self) -> Result<CheckedBatch> {
        if self.items.is_empty() {
            return Err(Error::usage(Code::NothingToAdd, "the input contains no task"));
        }
        if self.items.len() > AT_MOST {
            return Err(too_many(self.items.len()));
        }
        let drafts = self.items.iter().map(|item| draft(item).map_err(on_line(item.line)));
        let drafts = drafts.collect::<Result<Vec<_>>>()?;
        let (inside, outside) = self.edges()?;
        if let Some(nodes) = graph::cycle(&inside) {
            return Err(self.cycle(&nodes));
        }
        let afters = inside.into_iter().zip(outside);
        let items = self.items.iter().zip(drafts).zip(afters).map(|((item, draft), (inside, outside))| Fitting {
            line: item.line,
            draft,
            inside,
            outside: outside.into_iter().map(TaskId::from).collect(),
        });
        Ok(CheckedBatch(items.collect()))
    }

    /// For each item its dependencies inside the batch, and the ids of those outside.
    fn edges(&self) -> Result<BatchEdges<'_>> {
        let mut keys: HashMap<&str, usize> = HashMap::new();
        for (index, item) in self.items.iter().enumerate() {
            let Some(key) = item.key.as_deref() else { continue };
            if key.is_empty() || key.len() > 200 {
                return Err(on_line(item.line)(Error::usage(Code::BadKey, "a key has 1 to 200 bytes")));
            }
            if let Some(first) = keys.insert(key, index) {
                let (first, key) = (self.items[first].line, excerpt(key));
                return Err(on_line(item.line)(
                    Error::usage(Code::DuplicateKey, format!("the key `{key}` is already on line {first}")).entity(key),
                ));
            }
        }
        let mut inside = Vec::with_capacity(self.items.len());
        let mut outside = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let (mut within, mut beyond) = (Vec::new(), Vec::new());
            for after in &item.after {
                match keys.get(after.as_str()) {
                    Some(&index) => within.push(index),
                    None if !id::is_prefix(after) => return Err(on_line(item.line)(unknown(after))),
                    None => beyond.push(after.as_str()),
                }
            }
            within.sort_unstable();
            within.dedup();
            beyond.sort_unstable();
            beyond.dedup();
            inside.push(within);
            outside.push(beyond);
        }
        Ok((inside, outside))
    }

    fn cycle(&self, nodes: &[usize]) -> Error {
        let named = |index: &usize| {
            self.items[*index].key.as_deref().map_or_else(|| format!("line {}", self.items[*index].line), excerpt)
        };
        let mut shown: Vec<String> = nodes.iter().take(8).map(named).collect();
        if nodes.len() > shown.len() {
            shown.push(format!("… {} more", nodes.len() - shown.len()));
        }
        shown.extend(nodes.first().map(named));
        Error::new(Code::Cycle, format!("these tasks wait for each other: {}", shown.join(" after ")))
            .hint("Nothing was added. Remove one of these dependencies.")
            .detail("cycle", shown)
    }
}

fn draft(item: &NewTask) -> Result<TaskDraft> {
    add::draft(&item.title, &item.description, &item.acceptance, item.priority, &item.labels)
}

/// A batch that was checked.
pub(crate) struct CheckedBatch(Vec<Fitting>);

/// One task of the batch, with its dependencies: other items by position, other tasks by id.
struct Fitting {
    line: usize,
    draft: TaskDraft,
    inside: Vec<usize>,
    outside: Vec<TaskId>,
}

impl Operation for AddMany {
    const NAME: &'static str = "add_many";
    const ABOUT: &'static str = "Add many tasks, all or none";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Added;

    fn check(&self) -> Result<()> {
        self.batch().map(drop)
    }

    fn prepare(&self) -> Result<Option<Decision<answer::Added>>> {
        let batch = self.batch()?;
        Ok(Some(Box::new(move |work| write(work, &batch))))
    }

    fn lines(&self) -> Vec<usize> {
        self.items.iter().map(|item| item.line).collect()
    }

    fn set_lines(&mut self, lines: &[usize]) {
        self.items.iter_mut().zip(lines).for_each(|(item, line)| item.line = *line);
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Added> {
        write(work, &self.batch()?)
    }
}

fn write(work: &mut UnitOfWork<'_>, batch: &CheckedBatch) -> Result<answer::Added> {
    let project = work.project.id.clone();
    let known = known(work, batch)?;
    let ids = draw(work, batch.0.len())?;

    let mut rows = Vec::with_capacity(ids.len());
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut labels = Vec::new();
    let mut words = TaskWords::default();
    let mut events = Vec::with_capacity(ids.len());
    for (id, item) in ids.iter().zip(&batch.0) {
        let mut statuses = vec![TaskStatus::Open; item.inside.len()];
        for after in &item.outside {
            let status = known.get(after).ok_or_else(|| on_line(item.line)(unknown(after)))?;
            statuses.push(*status);
        }
        let within = item.inside.iter().map(|&at| ids[at].as_str());
        let after: Vec<&str> = within.chain(item.outside.iter().map(TaskId::as_str)).collect();
        pairs.extend(after.iter().map(|after| (id.as_str(), *after)));
        let number = work.next_task();
        let row = add::row(work, id.clone(), number, item.draft.clone(), &statuses);
        work.project.counts[row.class() as usize] += 1;
        let (status, ready) = (row.status.as_str(), i64::from(row.ready));
        labels.extend(
            item.draft
                .labels
                .iter()
                .map(|label| (label.as_str(), status, ready, row.priority, row.number, id.as_str())),
        );
        let (title, priority, number) = (row.title.clone(), row.priority, row.number);
        let after = after.into_iter().map(str::to_owned).collect();
        let added = TaskAdded { title, priority, number, after, ..TaskAdded::default() };
        events.push(work.event(About::of(&row.id), Event::TaskAdded(added)));
        words.of_task(&row.id, row.texts());
        rows.push(row);
    }
    task::insert_many(work.tx, &project, &rows)?;
    words.insert(work.tx, &project)?;
    if !pairs.is_empty() {
        dep::insert_many(work.tx, &project, &pairs)?;
    }
    if !labels.is_empty() {
        label::insert_many(work.tx, &project, &labels)?;
    }
    work.append_all(&events)?;
    Ok(answer::Added { count: ids.len(), more: ids.len() > LISTED, ids: ids.into_iter().take(LISTED).collect() })
}

/// The status of every task outside the batch that an item depends on.
fn known(work: &mut UnitOfWork<'_>, batch: &CheckedBatch) -> Result<HashMap<TaskId, TaskStatus>> {
    let mut asked: Vec<TaskId> = batch.0.iter().flat_map(|item| &item.outside).cloned().collect();
    asked.sort();
    asked.dedup();
    Ok(task::existing(work.tx, &work.project.id, &asked)?.into_iter().collect())
}

fn too_many(count: usize) -> Error {
    Error::usage(Code::TooManyItems, format!("the input has {count} tasks; the limit for one call is {AT_MOST}"))
        .hint("Nothing was added. Split the input and add it in several calls.")
        .detail("given", count)
        .detail("limit", AT_MOST)
}

fn unknown(after: &str) -> Error {
    id::unknown(after, id::Sort::Task).hint("`after` takes ids of tasks or keys of this batch.")
}

/// Draws unused, distinct ids, in ascending order. In that order every index that starts with the id is written from
/// one end to the other. In random order each row would touch a page of its own, and other writers would wait twice as
/// long.
fn draw(work: &mut UnitOfWork<'_>, count: usize) -> Result<Vec<TaskId>> {
    let issued = u64::try_from(work.project.last_task).unwrap_or(0) + count as u64;
    let length = id::length(issued);
    let mut ids = BTreeSet::new();
    while ids.len() < count {
        let mut round = BTreeSet::new();
        while ids.len() + round.len() < count {
            let wanted = count - ids.len() - round.len();
            round.extend(work.draw_many(length, wanted).into_iter().filter(|id| !ids.contains(id)));
        }
        // A project that never had a task has none of these.
        if work.project.last_task > 0 {
            let asked: Vec<TaskId> = round.iter().cloned().collect();
            for (taken, _) in task::existing(work.tx, &work.project.id, &asked)? {
                round.remove(&taken);
            }
        }
        ids.append(&mut round);
    }
    Ok(ids.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let line = |text: &[u8]| AddMany::parse(text).unwrap_err().get("line").and_then(serde_json::Value::as_i64);
        assert_eq!(line(b"{\"title\":\"a\"}\n{\"title\":1}"), Some(2));
        assert_eq!(line(b"\n\nnot json"), Some(3));
        assert_eq!(line(b"{\"title\":\"a\",\"colour\":1}"), Some(1));
        assert_eq!(line(b"{\"title\":\"a\0\"}"), Some(1));
        assert_eq!(line(b"{\"title\":\"\xff\"}"), Some(1));
        assert_eq!(line(b"{}"), Some(1));
        let mut long = b"{\"title\":\"".to_vec();
        long.resize(5 << 20, b'x');
        assert_eq!(line(&long), Some(1));
    }

    #[test]
    fn blank_lines_are_passed_over_and_lines_keep_their_numbers() {
        let items = AddMany::parse(b"{\"title\":\"a\"}\r\n\r\n{\"title\":\"b\",\"key\":\"k\"}\n").unwrap().items;
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [1, 3]);
    }
}
