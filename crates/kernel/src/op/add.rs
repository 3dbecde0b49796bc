//! Adds a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::task::TaskAdded;
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::task::{PRIORITY_DEFAULT, TaskStatus, priority};
use tenure_core::{Result, id, text};
use tenure_store::table::task_word::TaskWords;
use tenure_store::table::{dep, label, task};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// One line of 1 to 500 characters.
    pub title: String,
    /// More lines, at most 64 KiB.
    #[serde(default)]
    pub description: String,
    /// The acceptance criteria.
    #[serde(default)]
    pub acceptance: String,
    /// 0 is first, 4 is last.
    #[serde(default = "default_priority")]
    pub priority: i64,
    /// At most 20 of 64 characters.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The dependencies.
    #[serde(default)]
    pub after: Vec<TaskId>,
    /// The assignee.
    #[serde(default)]
    pub assignee: Option<AgentName>,
}

fn default_priority() -> i64 {
    PRIORITY_DEFAULT
}

impl Add {
    /// A task with a title and defaults.
    pub fn titled(title: &str) -> Add {
        Add {
            title: title.to_owned(),
            description: String::new(),
            acceptance: String::new(),
            priority: PRIORITY_DEFAULT,
            labels: Vec::new(),
            after: Vec::new(),
            assignee: None,
        }
    }
}

/// The texts of a task, checked.
#[derive(Clone)]
pub(crate) struct TaskDraft {
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) acceptance: String,
    pub(crate) priority: i64,
    pub(crate) labels: Vec<String>,
}

/// Checks the texts of a task.
pub(crate) fn draft(
    title: &str,
    description: &str,
    acceptance: &str,
    rank: i64,
    labels: &[String],
) -> Result<TaskDraft> {
    Ok(TaskDraft {
        title: text::title(title)?,
        description: text::body(description, "description")?,
        acceptance: text::body(acceptance, "acceptance")?,
        priority: priority(rank)?,
        labels: text::labels(labels)?,
    })
}

/// The dependencies of a task on existing tasks, in the order of the lookup.
pub(crate) fn edges(task: &TaskId, after: &[TaskId], found: Vec<(TaskId, TaskStatus)>) -> Result<Vec<dep::Edge>> {
    if let Some(missing) = after.iter().find(|after| !found.iter().any(|(id, _)| id == *after)) {
        return Err(id::unknown(missing, id::Sort::Task));
    }
    let wanted = found.into_iter().filter(|(id, _)| after.contains(id));
    Ok(wanted.map(|(after, status)| dep::Edge { task: task.clone(), after, status }).collect())
}

/// The row of a new task.
pub(crate) fn row(work: &UnitOfWork<'_>, id: TaskId, number: i64, draft: TaskDraft, deps: &[TaskStatus]) -> task::Row {
    let mut row = task::Row {
        title: draft.title,
        description: draft.description,
        acceptance: draft.acceptance,
        priority: draft.priority,
        labels: draft.labels,
        ..task::Row::new(id, number, work.me().clone(), work.now)
    };
    row.set_deps(deps);
    row
}

impl Operation for Add {
    const NAME: &'static str = "add";
    const ABOUT: &'static str = "Add a task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Task;

    fn check(&self) -> Result<()> {
        draft(&self.title, &self.description, &self.acceptance, self.priority, &self.labels).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Task> {
        let draft = draft(&self.title, &self.description, &self.acceptance, self.priority, &self.labels)?;
        let mut after = self.after.clone();
        after.sort();
        after.dedup();
        let project = work.project.id.clone();

        // The drawn id is looked up together with the dependencies, in one query.
        let drawn = work.draw_next();
        let mut asked = after.clone();
        asked.push(drawn.clone());
        let found = work.existing(&asked)?;
        let id = if found.iter().any(|(id, _)| *id == drawn) { work.redraw()? } else { drawn };
        let edges = edges(&id, &after, found)?;
        let statuses: Vec<TaskStatus> = edges.iter().map(|edge| edge.status).collect();

        let number = work.project.last_task + 1;
        let mut row = row(work, id, number, draft, &statuses);
        if let Some(assignee) = &self.assignee {
            row.assignee = Some(work.known_agent(assignee)?.name);
            work.reserve_for(row.assignee.as_ref())?;
        }
        work.project.last_task = number;
        work.project.counts[row.class() as usize] += 1;
        task::insert(work.tx, &project, &row)?;
        let mut words = TaskWords::default();
        words.of_task(&row.id, row.texts());
        words.insert(work.tx, &project)?;
        if !row.labels.is_empty() {
            label::put(work.tx, &project, &row)?;
        }
        if !edges.is_empty() {
            let pairs: Vec<(&str, &str)> = edges.iter().map(|edge| (edge.task.as_str(), edge.after.as_str())).collect();
            dep::insert_many(work.tx, &project, &pairs)?;
        }
        let after = after.into_iter().map(String::from).collect();
        let added =
            TaskAdded { title: row.title.clone(), priority: row.priority, number, after, ..TaskAdded::default() };
        work.append(About::of(&row.id), Event::TaskAdded(added))?;
        let full = task::Full { task: row, held: None };
        Ok(work.view(&full, &edges))
    }
}
