//! Adds many tasks in one transaction, all or none. Rows go in by one statement a table.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::task::{PRIORITY_DEFAULT, Status};
use tenure_core::text::excerpt;
use tenure_core::{Error, Kind, Result, event, graph, id};
use tenure_store::table::{dep, label, task};

use super::add::{self, Draft};
use crate::unit::Unit;
use crate::{json_lines, shape};

/// Most tasks in one request.
pub const AT_MOST: usize = 200_000;

/// Most bytes of a batch as JSON lines.
pub const BYTES_MAX: usize = 64 * 1024 * 1024;

/// How many ids the answer lists.
const LISTED: usize = 1_000;

/// The request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The tasks, in the order in which they get their numbers.
    pub items: Vec<Item>,
}

/// One task of the batch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
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
    /// What must be true when it is done.
    #[serde(default)]
    pub acceptance: String,
    /// Ids of tasks, or keys of this batch.
    #[serde(default)]
    pub after: Vec<String>,
    /// A name by which others of this batch refer to it.
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

/// For each item the items of this batch that it comes after, and the ids that it comes after otherwise.
type Edges<'a> = (Vec<Vec<usize>>, Vec<Vec<&'a str>>);

impl Request {
    /// Reads a batch from JSON lines. An error names its line; nothing of the input is used then.
    pub fn parse(input: &[u8]) -> Result<Request> {
        if input.len() > BYTES_MAX {
            return Err(
                Error::usage("input_too_long", "the input has more than 64 MiB").hint("Send it in several calls.")
            );
        }
        let mut items = Vec::new();
        for (line, bytes) in json_lines::lines(input) {
            let bad = |message: String| {
                Error::usage("bad_line", format!("line {line}: {message}"))
                    .hint("Nothing was added. Each line is one JSON object with a title.")
                    .detail("line", line)
            };
            if items.len() == AT_MOST {
                return Err(Error::usage("too_many_items", format!("the input has more than {AT_MOST} tasks"))
                    .hint("Send it in several calls."));
            }
            let text = json_lines::text(bytes).map_err(bad)?;
            let item: Item = serde_json::from_str(text).map_err(|error| bad(json_lines::told(&error)))?;
            items.push(Item { line, ..item });
        }
        Ok(Request { items })
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.items.is_empty() {
            return Err(Error::usage("nothing_to_add", "there is no task in the input"));
        }
        if self.items.len() > AT_MOST {
            return Err(Error::usage(
                "too_many_items",
                format!("{} tasks given, at most {AT_MOST} fit into one call", self.items.len()),
            ));
        }
        for item in &self.items {
            draft(item).map_err(on_line(item.line))?;
        }
        let (edges, _) = self.edges()?;
        match graph::cycle(&edges) {
            None => Ok(()),
            Some(nodes) => Err(self.cycle(&nodes)),
        }
    }

    /// For each item the items it comes after, and the ids that are not of this batch.
    fn edges(&self) -> Result<Edges<'_>> {
        let mut keys: HashMap<&str, usize> = HashMap::new();
        for (index, item) in self.items.iter().enumerate() {
            let Some(key) = item.key.as_deref() else { continue };
            if key.is_empty() || key.len() > 200 {
                return Err(on_line(item.line)(Error::usage("bad_key", "a key has 1 to 200 bytes")));
            }
            if let Some(first) = keys.insert(key, index) {
                let (first, key) = (self.items[first].line, excerpt(key));
                return Err(on_line(item.line)(
                    Error::usage("duplicate_key", format!("the key `{key}` stands on line {first} already"))
                        .entity(key),
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
        Error::refused(Kind::Conflict, "cycle", format!("these tasks wait for each other: {}", shown.join(" after ")))
            .hint("Nothing was added. Take one of these dependencies out.")
            .detail("cycle", shown)
    }
}

fn draft(item: &Item) -> Result<Draft> {
    add::draft(&item.title, &item.description, &item.acceptance, item.priority, &item.labels)
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Added> {
    let project = unit.project.id.clone();
    let (inside, outside) = request.edges()?;
    let known = known(unit, &outside)?;
    let ids = draw(unit, request.items.len())?;

    let mut rows = Vec::with_capacity(ids.len());
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut labels = Vec::new();
    let mut events = Vec::with_capacity(ids.len());
    for (index, item) in request.items.iter().enumerate() {
        let mut statuses = vec![Status::Open; inside[index].len()];
        for after in &outside[index] {
            let status = known.get(*after).ok_or_else(|| on_line(item.line)(unknown(after)))?;
            statuses.push(*status);
        }
        pairs.extend(inside[index].iter().map(|&after| (ids[index].as_str(), ids[after].as_str())));
        pairs.extend(outside[index].iter().map(|after| (ids[index].as_str(), *after)));
        unit.project.last_task += 1;
        let row = add::row(unit, ids[index].clone(), unit.project.last_task, draft(item)?, &statuses);
        unit.project.counts[row.class() as usize] += 1;
        for label in &row.labels {
            labels.push((
                label.clone(),
                row.status.as_str(),
                i64::from(row.ready),
                row.priority,
                row.number,
                row.id.clone(),
            ));
        }
        let after: Vec<&str> =
            inside[index].iter().map(|&at| ids[at].as_str()).chain(outside[index].iter().copied()).collect();
        let data = json!({ "title": row.title, "priority": row.priority, "number": row.number, "after": after });
        events.push(unit.event(event::kind::TASK_ADDED, &row.id, "", None, &data));
        rows.push(row);
    }
    task::insert_many(unit.tx, &project, &rows)?;
    if !pairs.is_empty() {
        dep::insert_many(unit.tx, &project, &pairs)?;
    }
    if !labels.is_empty() {
        let json = serde_json::to_string(&labels).map_err(|error| Error::bug(error.to_string()))?;
        label::insert_many(unit.tx, &project, json)?;
    }
    unit.append_all(&events)?;
    Ok(shape::Added { count: ids.len(), more: ids.len() > LISTED, ids: ids.into_iter().take(LISTED).collect() })
}

/// The status of every task outside the batch that something in it comes after.
fn known(unit: &mut Unit<'_>, outside: &[Vec<&str>]) -> Result<HashMap<String, Status>> {
    let mut asked: Vec<String> = outside.iter().flatten().map(|id| (*id).to_owned()).collect();
    asked.sort();
    asked.dedup();
    Ok(task::existing(unit.tx, &unit.project.id, &asked)?.into_iter().collect())
}

fn unknown(after: &str) -> Error {
    id::unknown(after, id::Sort::Task).hint("`after` takes ids of tasks or keys of this batch.")
}

/// Draws ids that are free and differ from each other.
fn draw(unit: &mut Unit<'_>, count: usize) -> Result<Vec<String>> {
    let issued = u64::try_from(unit.project.last_task).unwrap_or(0) + count as u64;
    let length = id::length(issued);
    let mut seen = std::collections::HashSet::with_capacity(count);
    let mut ids = Vec::with_capacity(count);
    while ids.len() < count {
        let mut round = Vec::new();
        while ids.len() + round.len() < count {
            let drawn = unit.draw(id::Sort::Task, length);
            if seen.insert(drawn.clone()) {
                round.push(drawn);
            }
        }
        let taken = task::existing(unit.tx, &unit.project.id, &round)?;
        let taken: std::collections::HashSet<String> = taken.into_iter().map(|(id, _)| id).collect();
        ids.extend(round.into_iter().filter(|id| !taken.contains(id)));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let line = |text: &[u8]| Request::parse(text).unwrap_err().get("line").and_then(serde_json::Value::as_i64);
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
        let items = Request::parse(b"{\"title\":\"a\"}\r\n\r\n{\"title\":\"b\",\"key\":\"k\"}\n").unwrap().items;
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [1, 3]);
    }
}
