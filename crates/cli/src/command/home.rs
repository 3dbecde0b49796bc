//! `tenure` alone: the project on one screen. What needs the person, who works on what, what is ready, what just happened.

use tenure_core::Result;
use tenure_core::number::EventNumber;
use tenure_core::task::TaskState;
use tenure_core::text::cut;
use tenure_kernel::answer::{LoggedEvent, Page, Task};
use tenure_kernel::query::list::List;
use tenure_kernel::query::log::Log;
use tenure_kernel::query::unread::Unread;

use super::log::Lines;
use super::status::{ProjectStatus, look};
use crate::guard;
use crate::output::layout::columns;
use crate::output::table::table;
use crate::output::task::agents;
use crate::output::time::span;
use crate::output::{Ink, Printer};
use crate::session::{Session, StoreUse};
use crate::settings::Settings;

/// How much of each is shown: all of it fits 24 lines.
const NEEDS: usize = 3;
const WORKING: usize = 4;
const READY: usize = 3;
const LATEST: usize = 3;

/// Shows the project of the working directory, or what to do where there is none.
pub(crate) fn run(settings: &Settings<'_>, out: &Printer) -> Result<u8> {
    let session = &Session::open(settings, out, StoreUse::Read)?;
    // A repository without a key has never been written to.
    if session.workspace.project.key.is_none() && !out.is_json() {
        out.text(&welcome(session));
        return Ok(0);
    }
    let status = look(session)?;
    if out.is_json() {
        out.data(&status);
    } else if status.overview.last_event > EventNumber::START {
        out.text(&page(session, &status)?);
    } else {
        out.text(&welcome(session));
    }
    Ok(0)
}

/// What Tenure is, and three commands to go on with.
fn welcome(session: &Session<'_>) -> String {
    let out = session.out;
    let (where_it_is, steps) = match session.workspace.checkout {
        Some(_) => (
            format!("Nothing has happened in {} yet.", session.workspace.project.label),
            [("tenure setup", "install the hooks of your agent tools"), ("tenure add \"…\"", "add the first task")],
        ),
        None => (
            "This directory is not in a git repository. Go to one to begin.".to_owned(),
            [("cd REPOSITORY && tenure setup", "begin there"), ("tenure status --all", "show your projects")],
        ),
    };
    let steps: Vec<Vec<String>> = steps
        .iter()
        .chain(&[("tenure demo", "watch workers share tasks, on a store that is thrown away")])
        .map(|(command, what)| vec![format!("  {}", out.ink(Ink::Strong, command)), (*what).to_owned()])
        .collect();
    let width = steps.iter().map(|step| columns(&step[0])).max().unwrap_or(0);
    let steps: String = steps
        .iter()
        .map(|step| {
            let pad = " ".repeat(width - columns(&step[0]));
            format!("{}\n", out.prose(&format!("{}{pad}  {}", step[0], step[1]), 2))
        })
        .collect();
    let what = "Tenure: tasks, holds and history for fleets of AI coding agents";
    format!(
        "{}\n{}\n\nNext:\n{steps}\n`tenure --help` lists all commands.\n",
        out.prose(what, 0),
        out.prose(&where_it_is, 0)
    )
}

/// The page of a project.
fn page(session: &Session<'_>, status: &ProjectStatus) -> Result<String> {
    let (out, overview) = (session.out, &status.overview);
    let of =
        |state: TaskState, limit: usize| session.ask_who_holds(&List { states: vec![state], limit, ..List::default() });
    let held = of(TaskState::Held, WORKING)?;
    let ready = of(TaskState::Ready, READY)?;
    let latest = session.ask(&Log { limit: LATEST, titles: true, ..Log::default() })?;
    let summary = format!("{}: {}.", session.workspace.project.label, overview.summary);
    let mut text = format!("{}\n", out.ink(Ink::Strong, &out.prose(&summary, 2)));
    if let Some(server) = &status.server {
        text.push_str(&format!("{}\n", out.prose(&format!("Server  {}", server.line(out)), 8)));
    }
    let mut part = |heading: &str, shown: usize, of: i64, body: String| {
        if shown > 0 {
            let count = usize::try_from(of).ok().filter(|count| *count > shown);
            let count = count.map_or(String::new(), |count| format!(" ({shown} of {count})"));
            text.push_str(&format!("\n{}{}\n{body}", out.ink(Ink::Strong, heading), out.ink(Ink::Faint, &count)));
        }
    };
    let (needs, all) = needs(session, status)?;
    part("Needs you", needs.len(), all, rows(out, &needs));
    part("Working", held.items.len(), overview.started, working(session, &held));
    part("Ready", ready.items.len(), overview.ready, waiting(out, &ready));
    part("Latest", latest.items.len(), 0, happened(session, &latest));
    Ok(text)
}

/// What waits for a person: at most so many rows, and how many there are.
fn needs(session: &Session<'_>, status: &ProjectStatus) -> Result<(Vec<Vec<String>>, i64)> {
    let (out, overview) = (session.out, &status.overview);
    let mut rows = Vec::new();
    if let Some(off) = guard::sentence(&overview.guards) {
        rows.push(vec![out.ink(Ink::Caution, "guards"), off]);
    }
    let (_, unread) = session.ask(&Unread { limit: 1 })?;
    if unread > 0 {
        rows.push(vec![out.ink(Ink::Caution, "mail"), format!("{unread} unread: tenure inbox")]);
    }
    let mut count = i64::try_from(rows.len()).unwrap_or(0);
    for (state, tasks, all) in [
        (TaskState::Stuck, &overview.stuck_by, overview.stuck),
        (TaskState::Blocked, &overview.blocked_by, overview.blocked),
    ] {
        count += all;
        rows.extend(tasks.iter().map(|task| {
            let by = out.brief(&cut(&task.by, 120));
            vec![out.ink(Ink::of_state(state), state.as_str()), format!("{}  {by} — {}", task.id, task.title)]
        }));
    }
    count += i64::try_from(overview.overdue.len()).unwrap_or(0);
    rows.extend(overview.overdue.iter().map(|open| {
        let to: Vec<String> = open.to.iter().map(|agent| out.brief(agent)).collect();
        let what =
            format!("{}  from {} to {}, open for {}", open.id, out.brief(&open.from), to.join(", "), span(open.age_s));
        vec![out.ink(Ink::Caution, "request"), what]
    }));
    rows.truncate(NEEDS);
    Ok((rows, count))
}

/// Rows without a head: the heading of the part says what they are.
fn rows(out: &Printer, rows: &[Vec<String>]) -> String {
    let heads = vec![""; rows.first().map_or(0, Vec::len)];
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            row.iter().enumerate().map(|(at, cell)| if at == 0 { format!("  {cell}") } else { cell.clone() }).collect()
        })
        .collect();
    table(out, &heads, &rows)
}

fn working(session: &Session<'_>, held: &Page<Task>) -> String {
    let out = session.out;
    session.know_agents(agents(&held.items));
    let row = |task: &Task| {
        let who = task
            .holder
            .as_ref()
            .map_or(String::new(), |holder| out.ink(Ink::of_liveness(holder.liveness), &out.brief(&holder.agent)));
        vec![who, task.id.to_string(), task.title.clone()]
    };
    rows(out, &held.items.iter().map(row).collect::<Vec<_>>())
}

fn waiting(out: &Printer, ready: &Page<Task>) -> String {
    let row = |task: &Task| vec![task.id.to_string(), format!("P{}", task.priority), task.title.clone()];
    rows(out, &ready.items.iter().map(row).collect::<Vec<_>>())
}

fn happened(session: &Session<'_>, latest: &Page<LoggedEvent>) -> String {
    let lines = Lines::of(session, &latest.items);
    latest.items.iter().map(|event| format!("  {}\n", lines.brief(session.out, event))).collect()
}
