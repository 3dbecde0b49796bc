//! Changes a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::task::{Changes, TaskEdited};
use tenure_core::id::{TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::task::{TaskStatus, priority};
use tenure_core::{Code, Error, Result, graph, text};
use tenure_store::table::task_word::{self, TaskWords};
use tenure_store::table::{dep, label, task};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// The request. Absent fields stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The task.
    pub task: TaskId,
    /// A new title.
    #[serde(default)]
    pub title: Option<String>,
    /// A new description.
    #[serde(default)]
    pub description: Option<String>,
    /// A new acceptance.
    #[serde(default)]
    pub acceptance: Option<String>,
    /// A new priority.
    #[serde(default)]
    pub priority: Option<i64>,
    /// Labels to add.
    #[serde(default)]
    pub add_labels: Vec<String>,
    /// Labels to remove.
    #[serde(default)]
    pub remove_labels: Vec<String>,
    /// The assignee; empty for any agent.
    #[serde(default)]
    pub assignee: Option<AgentName>,
    /// The new dependencies, which replace all others. People only.
    #[serde(default)]
    pub after: Option<Vec<TaskId>>,
    /// The version that the change was made for.
    #[serde(default)]
    pub expect_version: Option<i64>,
}

impl Operation for Edit {
    const NAME: &'static str = "edit";
    const ABOUT: &'static str = "Change a task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Task;

    fn access(&self) -> Access {
        Access::forced(self.after.is_some())
    }

    fn check(&self) -> Result<()> {
        let changes = self.title.is_some()
            || self.description.is_some()
            || self.acceptance.is_some()
            || self.priority.is_some()
            || !self.add_labels.is_empty()
            || !self.remove_labels.is_empty()
            || self.assignee.is_some()
            || self.after.is_some();
        if !changes {
            return Err(Error::usage(Code::NothingToChange, "the request names no change")
                .hint("Give at least one of --title, --description, --acceptance, --priority, --label, --unlabel, --for, --after."));
        }
        self.title.as_deref().map(text::title).transpose()?;
        self.description.as_deref().map(|words| text::body(words, "description")).transpose()?;
        self.acceptance.as_deref().map(|words| text::body(words, "acceptance")).transpose()?;
        self.priority.map(priority).transpose()?;
        text::labels(&self.add_labels)?;
        text::labels(&self.remove_labels).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Task> {
        if self.after.is_some() && !work.call.actor.is_person() {
            return Err(people_only("replacing dependencies"));
        }
        let mut loaded = work.load(&self.task)?;
        let old = loaded.full.task.clone();
        if let Some(expected) = self.expect_version.filter(|expected| *expected != old.version) {
            return Err(Error::new(
                Code::StaleVersion,
                format!("{} has version {}, not {expected}", old.id, old.version),
            )
            .entity(&old.id)
            .attempt(Action::show(&old.id))
            .detail("version", old.version));
        }
        let mut changes = Changes::default();
        let row = &mut loaded.full.task;
        if let Some(title) = &self.title {
            row.title = text::title(title)?;
            changes.title = differs(&old.title, &row.title);
        }
        if let Some(description) = &self.description {
            row.description = text::body(description, "description")?;
            changes.description = differs(&old.description, &row.description);
        }
        if let Some(acceptance) = &self.acceptance {
            row.acceptance = text::body(acceptance, "acceptance")?;
            changes.acceptance = differs(&old.acceptance, &row.acceptance);
        }
        if let Some(rank) = self.priority {
            row.priority = priority(rank)?;
            changes.priority = differs(&old.priority, &row.priority);
        }
        let removed = text::labels(&self.remove_labels)?;
        let mut labels: Vec<String> = row.labels.iter().filter(|label| !removed.contains(label)).cloned().collect();
        labels.extend(self.add_labels.iter().cloned());
        row.labels = text::labels(&labels)?;
        changes.labels = differs(&old.labels, &row.labels);
        if let Some(assignee) = &self.assignee {
            // An empty name removes the assignee.
            row.assignee = match assignee.as_str() {
                "" => None,
                name => Some(work.known_agent(name)?.name),
            };
            work.reserve_for(row.assignee.as_ref())?;
            let shown = |name: &Option<AgentName>| or_empty(name.as_ref()).to_owned();
            changes.assignee = differs(&shown(&old.assignee), &shown(&row.assignee));
        }
        if let Some(after) = &self.after {
            let from: Vec<String> = loaded.edges.iter().map(|edge| edge.after.to_string()).collect();
            let edges = replace_edges(work, &mut loaded.full.task, after)?;
            let to: Vec<String> = edges.iter().map(|edge| edge.after.to_string()).collect();
            let sorted = |mut ids: Vec<String>| {
                ids.sort();
                ids
            };
            changes.after = differs(&sorted(from), &sorted(to));
            loaded.edges = edges;
        }
        if changes == Changes::default() {
            return Ok(work.view(&loaded.full, &loaded.edges));
        }
        let row = &mut loaded.full.task;
        row.version += 1;
        row.updated_at = work.now;
        let id = row.id.clone();
        work.append(About::of(&id), Event::TaskEdited(TaskEdited { changes, version: row.version }))?;
        work.store_task(old.class(), &loaded.full.task)?;
        let (before, now) = (old.texts().words(), loaded.full.task.texts().words());
        let project = work.project.id.clone();
        task_word::remove(work.tx, &project, &id, before.difference(&now))?;
        let mut words = TaskWords::default();
        words.add(&id, now.difference(&before).cloned());
        words.insert(work.tx, &project)?;
        if loaded.full.task.labels.is_empty() && !old.labels.is_empty() {
            label::clear(work.tx, &project, &id)?;
        }
        Ok(work.view(&loaded.full, &loaded.edges))
    }
}

/// The old and the new value of a field, if it changed.
fn differs<T: PartialEq + Clone>(from: &T, to: &T) -> Option<[T; 2]> {
    (from != to).then(|| [from.clone(), to.clone()])
}

/// Replaces the dependencies. A cycle is refused, and the refusal names it.
fn replace_edges(work: &mut UnitOfWork<'_>, row: &mut task::Row, after: &[TaskId]) -> Result<Vec<dep::Edge>> {
    let project = work.project.id.clone();
    let mut after = after.to_vec();
    after.sort();
    after.dedup();
    let found = work.existing(&after)?;
    let edges = super::add::edges(&row.id, &after, found)?;
    let beyond = dep::reachable(work.tx, &project, &after)?;
    if let Some(way) = graph::path(&beyond, &after, &row.id) {
        let shown = format!("{} after {}", row.id, way.join(" after "));
        return Err(Error::new(Code::Cycle, format!("these tasks would wait for each other: {shown}"))
            .entity(&row.id)
            .attempt(Action::show_graph(&row.id))
            .detail("cycle", way));
    }
    dep::clear(work.tx, &project, &row.id)?;
    let pairs: Vec<(&str, &str)> = edges.iter().map(|edge| (edge.task.as_str(), edge.after.as_str())).collect();
    if !pairs.is_empty() {
        dep::insert_many(work.tx, &project, &pairs)?;
    }
    let statuses: Vec<TaskStatus> = edges.iter().map(|edge| edge.status).collect();
    row.set_deps(&statuses);
    Ok(edges)
}
