//! Imports tasks and notes that were exported elsewhere, all or nothing. Rows are written with few statements.

mod plan;
mod read;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::agent::Process;
use tenure_core::event::Event;
use tenure_core::event::project::AgentRegistered;
use tenure_core::event::task::{TaskAdded, TaskNoted};
use tenure_core::id::TaskId;
use tenure_core::task::{TaskStatus, priority};
use tenure_core::{Code, Error, Result, Time, graph, id, name, text};
use tenure_store::table::task_word::TaskWords;
use tenure_store::table::{agent, dep, event as log, label, note, task};

use self::plan::PreparedImport;
pub use self::read::BYTES_MAX;
use super::note as noting;
use super::operation::{Access, Decision, Door, Operation, Role};
use crate::answer::export::{ExportedNote, ExportedTask, Imported};
use crate::call::Call;
use crate::json_lines;
use crate::kernel::Kernel;
use crate::unit_of_work::{About, UnitOfWork};

/// The maximum number of tasks in one request. Other projects in the same file wait while they are written, and give up
/// after ten seconds.
pub const TASKS_MAX: usize = 200_000;
/// The maximum number of notes in one request.
pub const NOTES_MAX: usize = 1_000_000;
/// The maximum attempt count, and the maximum version, of an imported task.
const COUNT_MAX: i64 = 1_000_000_000;
/// The number of tasks or notes that are converted to rows at once, and sent as one parameter on PostgreSQL.
const ROWS: usize = 20_000;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// The tasks, in the order in which they get their numbers.
    #[serde(default)]
    pub tasks: Vec<ExportedTask>,
    /// The notes, oldest first.
    #[serde(default)]
    pub notes: Vec<ExportedNote>,
    /// The number of events in the input, which are not imported.
    #[serde(default)]
    pub events: usize,
}

fn on_line(line: usize) -> impl Fn(Error) -> Error {
    json_lines::on_line(line, "Nothing was imported.")
}

impl Import {
    /// All work that needs no store. It runs before the lock, so no other writer waits for it.
    fn batch(&self) -> Result<CheckedImport> {
        if self.tasks.len() > TASKS_MAX {
            return Err(too_many(self.tasks.len(), "tasks", TASKS_MAX));
        }
        if self.notes.len() > NOTES_MAX {
            return Err(too_many(self.notes.len(), "notes", NOTES_MAX));
        }
        let places = self.places()?;
        let fit = |given: &ExportedTask| fit_task(given).map_err(on_line(given.line));
        let tasks = self.tasks.iter().map(fit).collect::<Result<Vec<_>>>()?;
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut notes = Vec::with_capacity(self.notes.len());
        for given in &self.notes {
            notes.push(fit_note(given).map_err(on_line(given.line))?);
            if let Some(first) = seen.insert(&given.id, given.line) {
                return Err(on_line(given.line)(duplicate(&given.id, first)));
            }
        }
        let edges: graph::Edges = self
            .tasks
            .iter()
            .map(|given| given.after.iter().filter_map(|after| places.get(after.as_str()).copied()).collect())
            .collect();
        if let Some(nodes) = graph::cycle(&edges) {
            return Err(self.cycle(&nodes));
        }
        Ok(CheckedImport { named: self.named(), tasks, notes, events: self.events })
    }

    /// Every task that is imported or referred to, each once, sorted.
    fn named(&self) -> Vec<TaskId> {
        let mut named: HashSet<&TaskId> = HashSet::new();
        for given in &self.tasks {
            named.insert(&given.id);
            named.extend(given.after.iter().chain(&given.blocked_on));
        }
        named.extend(self.notes.iter().map(|given| &given.task));
        let mut named: Vec<TaskId> = named.into_iter().cloned().collect();
        named.sort();
        named
    }

    /// The position of each task in the input.
    fn places(&self) -> Result<HashMap<&str, usize>> {
        let mut places = HashMap::with_capacity(self.tasks.len());
        for (at, given) in self.tasks.iter().enumerate() {
            if let Some(first) = places.insert(given.id.as_str(), at) {
                return Err(on_line(given.line)(duplicate(&given.id, self.tasks[first].line)));
            }
        }
        Ok(places)
    }

    fn cycle(&self, nodes: &[usize]) -> Error {
        let named = |at: &usize| self.tasks[*at].id.to_string();
        let mut shown: Vec<String> = nodes.iter().take(8).map(named).collect();
        if nodes.len() > shown.len() {
            shown.push(format!("… {} more", nodes.len() - shown.len()));
        }
        shown.extend(nodes.first().map(named));
        Error::new(Code::Cycle, format!("these tasks wait for each other: {}", shown.join(" after ")))
            .hint("Nothing was imported. Remove one of these dependencies.")
            .detail("cycle", shown)
    }
}

/// A checked import, in the canonical form that is stored.
pub(crate) struct CheckedImport {
    tasks: Vec<ExportedTask>,
    /// Each note with its data in the stored form.
    notes: Vec<(ExportedNote, String)>,
    named: Vec<TaskId>,
    events: usize,
}

/// The advice for an import that is too large.
fn split() -> Advice {
    let part = "Nothing was imported. Import it in parts, beginning with the tasks that others depend on; ";
    Advice::from(part)
        .text("to move a whole store, use ")
        .action(Action::Backup { named: false })
        .text(" and ")
        .action(Action::Restore { named: false })
        .text(".")
}

fn too_many(count: usize, what: &str, most: usize) -> Error {
    Error::usage(Code::TooManyItems, format!("the input has {count} {what}; the limit for one import is {most}"))
        .hint(split())
        .detail("given", count)
        .detail("limit", most)
}

fn duplicate(id: &str, first: usize) -> Error {
    let shown = text::excerpt(id);
    Error::usage(Code::DuplicateId, format!("`{shown}` is already on line {first}")).entity(shown)
}

/// A task in the canonical form, with every check that needs no store.
fn fit_task(given: &ExportedTask) -> Result<ExportedTask> {
    id::check(&given.id, id::Sort::Task)?;
    let mut after = given.after.clone();
    after.sort();
    after.dedup();
    for id in after.iter().chain(&given.blocked_on) {
        known_shape(id)?;
        if *id == given.id {
            return Err(Error::new(Code::Cycle, format!("{id} depends on itself")).entity(id));
        }
    }
    for name in [&given.assignee, &given.was_held_by, &given.finished_by].into_iter().flatten() {
        name::check(name)?;
    }
    name::check(&given.created_by)?;
    let reason = match (&given.reason, given.status) {
        (Some(words), TaskStatus::Blocked) => Some(text::required(words, "reason")?),
        (Some(words), _) => Some(text::body(words, "reason")?).filter(|words| !words.is_empty()),
        (None, TaskStatus::Blocked) => return Err(shape(given, "is blocked and has no reason")),
        (None, _) => None,
    };
    let closed = given.status.is_closed();
    if given.status == TaskStatus::Started {
        return Err(shape(
            given,
            "has the state started, but holds are not imported: use open, and name the holder in \
                                 was_held_by",
        ));
    }
    if given.finished_by.is_some() != closed || given.finished_at.is_some() != closed {
        return Err(shape(given, "must have finished_by and finished_at if it is done or cancelled, and only then"));
    }
    if given.was_held_by.is_some() && closed {
        return Err(shape(given, "is done or cancelled, so it cannot have was_held_by"));
    }
    if given.not_before.is_some() && closed {
        return Err(shape(given, "is done or cancelled, so it cannot have not_before"));
    }
    if given.blocked_on.is_some() && given.status != TaskStatus::Blocked {
        return Err(shape(given, "has blocked_on but is not blocked"));
    }
    count("attempt", given.attempt, 0)?;
    count("version", given.version, 1)?;
    Ok(ExportedTask {
        title: text::title(&given.title)?,
        description: text::body(&given.description, "description")?,
        acceptance: text::body(&given.acceptance, "acceptance")?,
        priority: priority(given.priority)?,
        labels: text::labels(&given.labels)?,
        after,
        reason,
        created_at: instant(&given.created_at)?.to_string(),
        updated_at: instant(&given.updated_at)?.to_string(),
        finished_at: given.finished_at.as_deref().map(instant).transpose()?.map(|at| at.to_string()),
        not_before: given.not_before.as_deref().map(instant).transpose()?.map(|at| at.to_string()),
        ..given.clone()
    })
}

/// A note in the canonical form.
fn fit_note(given: &ExportedNote) -> Result<(ExportedNote, String)> {
    id::check(&given.id, id::Sort::Note)?;
    known_shape(&given.task)?;
    name::check(&given.agent)?;
    let data = match &given.data {
        None => String::new(),
        Some(raw) => noting::given(raw.get())?,
    };
    let words = text::required(&given.text, "note")?;
    Ok((ExportedNote { text: words, at: instant(&given.at)?.to_string(), ..given.clone() }, data))
}

/// A text that does not have the form of an id names nothing, neither in the store nor in the file.
fn known_shape(named: &str) -> Result<()> {
    id::check(named, id::Sort::Task).map(|_| ()).map_err(|_| plan::unknown(named))
}

fn shape(given: &ExportedTask, what: &str) -> Error {
    Error::usage(Code::BadTask, format!("{} {what}", given.id)).entity(&given.id)
}

fn count(what: &str, value: i64, least: i64) -> Result<()> {
    if (least..=COUNT_MAX).contains(&value) {
        return Ok(());
    }
    Err(Error::usage(Code::BadCount, format!("the {what} is {value}")).hint(format!(
        "It must be {least} to \
                                              {COUNT_MAX}."
    )))
}

/// A time after 1970. Zero is how an absent time is stored.
fn instant(given: &str) -> Result<Time> {
    match Time::parse(given)? {
        at if at > Time(0) => Ok(at),
        _ => Err(Error::usage(Code::BadTime, format!("`{}` is before 1970", text::excerpt(given)))),
    }
}

/// What an import would do. It is decided like the op, over one snapshot, and changes nothing.
pub(crate) fn plan_only(kernel: &Kernel, call: &Call, request: &Import) -> Result<Imported> {
    let batch = request.batch()?;
    kernel.in_snapshot(call, |tx, snapshot| {
        let last_task = snapshot.project.map_or(0, |project| project.last_task);
        let plan = plan::make(tx, (snapshot.project_id(), last_task), &batch)?;
        let agents = plan.strangers(tx, snapshot.project_id(), &call.actor.name)?.len();
        Ok(Imported { dry_run: true, ..plan.summary(&batch, agents) })
    })
}

impl Operation for Import {
    const NAME: &'static str = "import";
    const ABOUT: &'static str = "Import exported tasks and notes, all or none";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Operator);
    type Answer = Imported;

    fn check(&self) -> Result<()> {
        self.batch().map(drop)
    }

    fn prepare(&self) -> Result<Option<Decision<Imported>>> {
        let batch = self.batch()?;
        Ok(Some(Box::new(move |work| write(work, &batch))))
    }

    fn lines(&self) -> Vec<usize> {
        self.tasks.iter().map(|task| task.line).chain(self.notes.iter().map(|note| note.line)).collect()
    }

    fn set_lines(&mut self, lines: &[usize]) {
        let tasks = self.tasks.iter_mut().map(|task| &mut task.line);
        tasks.chain(self.notes.iter_mut().map(|note| &mut note.line)).zip(lines).for_each(|(to, line)| *to = *line);
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<Imported> {
        write(work, &self.batch()?)
    }
}

fn write(work: &mut UnitOfWork<'_>, batch: &CheckedImport) -> Result<Imported> {
    let project = work.project.id.clone();
    let plan = plan::make(work.tx, (&project, work.project.last_task), batch)?;
    let agents = meet(work, &plan)?;
    let numbered: Vec<(i64, &ExportedTask)> = plan.tasks.iter().map(|given| (work.next_task(), *given)).collect();
    for page in numbered.chunks(ROWS) {
        let events: Vec<_> = page.iter().map(|(number, given)| added(work, *number, given)).collect();
        work.append_all(&events)?;
    }
    // In the order of their numbers only the index of ids is written out of order; in the order of ids the table and the
    // indexes of the order of choice would be.
    for page in numbered.chunks(ROWS) {
        add_tasks(work, &project, &plan, page)?;
    }
    for page in plan.notes.chunks(ROWS) {
        add_notes(work, &project, page)?;
    }
    Ok(plan.summary(batch, agents))
}

/// Registers unknown assignees, so that a task keeps its assignee here. An assignee that does not appear within the
/// usual time counts as gone, and its task is then free for any agent.
fn meet(work: &mut UnitOfWork<'_>, plan: &PreparedImport<'_>) -> Result<usize> {
    let project = work.project.id.clone();
    let me = work.me().to_owned();
    let strangers = plan.strangers(work.tx, &project, &me)?;
    for name in &strangers {
        let process = Process::default();
        let row = agent::Row {
            name: name.clone(),
            tool: String::new(),
            registered_at: work.now,
            last_seen: work.now,
            ended_at: None,
            focus: None,
            mcp: false,
            process,
            owner: None,
        };
        agent::insert(work.tx, &project, &row)?;
        let registered = AgentRegistered { tool: None, imported: true };
        work.append(About::of(name), Event::AgentRegistered(registered))?;
    }
    for name in plan.assignees().filter(|name| !strangers.contains(name)) {
        work.reserve_for(Some(name))?;
    }
    Ok(strangers.len())
}

/// The event of an imported task.
fn added(work: &mut UnitOfWork<'_>, number: i64, given: &ExportedTask) -> log::Row {
    let added = TaskAdded {
        title: given.title.clone(),
        priority: given.priority,
        number,
        after: given.after.iter().map(String::from).collect(),
        imported: true,
        status: Some(given.status),
        reason: Some(given.reason.clone()),
        was_held_by: Some(given.was_held_by.as_ref().map(String::from)),
        attempt: Some(given.attempt),
        version: Some(given.version),
        created_by: Some(given.created_by.to_string()),
        created_at: Some(given.created_at.clone()),
        not_before: given.not_before.clone(),
    };
    work.event(About::of(&given.id), Event::TaskAdded(added))
}

fn add_tasks(
    work: &mut UnitOfWork<'_>,
    project: &str,
    plan: &PreparedImport<'_>,
    page: &[(i64, &ExportedTask)],
) -> Result<()> {
    let (mut rows, mut labels, mut words) = (Vec::new(), Vec::new(), TaskWords::default());
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (number, given) in page {
        let row = row(given, *number, &plan.dependencies(given)?)?;
        work.project.counts[row.class() as usize] += 1;
        pairs.extend(given.after.iter().map(|after| (given.id.as_str(), after.as_str())));
        let (status, ready) = (row.status.as_str(), i64::from(row.ready));
        labels.extend(
            given
                .labels
                .iter()
                .map(|label| (label.as_str(), status, ready, row.priority, row.number, given.id.as_str())),
        );
        words.of_task(&row.id, row.texts());
        rows.push(row);
    }
    pairs.sort_unstable();
    task::insert_many(work.tx, project, &rows)?;
    words.insert(work.tx, project)?;
    if !pairs.is_empty() {
        dep::insert_many(work.tx, project, &pairs)?;
    }
    if !labels.is_empty() {
        label::insert_many(work.tx, project, &labels)?;
    }
    Ok(())
}

/// The row of a task, with the state that follows from its dependencies in this store.
fn row(given: &ExportedTask, number: i64, deps: &[TaskStatus]) -> Result<task::Row> {
    let mut row = task::Row {
        title: given.title.clone(),
        description: given.description.clone(),
        acceptance: given.acceptance.clone(),
        priority: given.priority,
        labels: given.labels.clone(),
        assignee: given.assignee.clone(),
        status: given.status,
        reason: given.reason.clone().unwrap_or_default(),
        blocked_on: given.blocked_on.clone(),
        attempt: given.attempt,
        version: given.version,
        // A fence of another log means nothing here, so there is no last fence.
        last_holder: given.was_held_by.clone(),
        lapsed: given.was_held_by.is_some(),
        updated_at: instant(&given.updated_at)?,
        finished_by: given.finished_by.clone(),
        finished_at: given.finished_at.as_deref().map(instant).transpose()?,
        not_before: given.not_before.as_deref().map(instant).transpose()?,
        ..task::Row::new(given.id.clone(), number, given.created_by.clone(), instant(&given.created_at)?)
    };
    row.set_deps(deps);
    Ok(row)
}

fn add_notes(work: &mut UnitOfWork<'_>, project: &str, page: &[&(ExportedNote, String)]) -> Result<()> {
    let (mut rows, mut events, mut words) = (Vec::new(), Vec::new(), TaskWords::default());
    for (given, data) in page {
        words.of_note(&given.task, &given.text);
        let noted = TaskNoted {
            note: given.id.to_string(),
            text: given.text.clone(),
            late: given.late,
            artifacts: Vec::new(),
            imported: true,
            agent: Some(given.agent.to_string()),
            at: Some(given.at.clone()),
        };
        let event = work.event(About::of(&given.task), Event::TaskNoted(noted));
        rows.push(note::Row {
            id: given.id.clone(),
            task: given.task.clone(),
            number: event.number,
            agent: given.agent.clone(),
            at: instant(&given.at)?,
            text: given.text.clone(),
            data: Some(data.clone()).filter(|data| !data.is_empty()),
            late: given.late,
            head: None,
        });
        events.push(event);
    }
    note::insert_many(work.tx, project, &rows)?;
    words.insert(work.tx, project)?;
    work.append_all(&events)
}
