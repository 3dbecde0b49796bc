//! `tenure status --all`: a line for each project of the store.

use serde::Serialize;
use tenure_core::Result;
use tenure_core::task::TaskState;
use tenure_kernel::Call;
use tenure_kernel::answer::{Overview, ProjectOverview};
use tenure_kernel::query::LIMIT_MAX;
use tenure_kernel::query::projects::Projects;
use tenure_kernel::query::status::Status;
use tenure_store::table::project::NamedProject;

use crate::output::Ink;
use crate::output::table::table;
use crate::session::{Session, Sight};

/// A project with what is going on in it.
#[derive(Serialize)]
struct ProjectLine {
    #[serde(flatten)]
    project: ProjectOverview,
    ready: i64,
    started: i64,
    waiting: i64,
    blocked: i64,
    stuck: i64,
}

pub(super) fn projects(session: &Session<'_>) -> Result<u8> {
    let mut found: Vec<ProjectOverview> = Vec::new();
    let mut cursor = None;
    loop {
        let page = session.ask(&Projects { limit: LIMIT_MAX, cursor })?;
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    // The last used first: those are the ones that one works on.
    found.sort_by(|a, b| b.last_at.cmp(&a.last_at).then_with(|| a.key.cmp(&b.key)));
    let lines = found.into_iter().map(|project| line(session, project)).collect::<Result<Vec<_>>>()?;
    if session.out.is_json() {
        session.out.data(&serde_json::json!({ "projects": lines }));
    } else if lines.is_empty() {
        session.out.text("No projects.");
    } else {
        session.out.text(&page(session, &lines));
    }
    Ok(0)
}

fn line(session: &Session<'_>, project: ProjectOverview) -> Result<ProjectLine> {
    let named = NamedProject { key: project.key.clone(), label: project.label.clone() };
    // In a project without open tasks nothing can be ready, held or stuck.
    let overview: Option<Overview> = match project.open {
        0 => None,
        _ => Some(session.ask_with(Sight::Store, |client, call| {
            client.ask(&Call { project: named.clone(), ..call.about_store() }, &Status {})
        })?),
    };
    let count = |of: fn(&Overview) -> i64| overview.as_ref().map_or(0, of);
    Ok(ProjectLine {
        project,
        ready: count(|overview| overview.ready),
        started: count(|overview| overview.started),
        waiting: count(|overview| overview.waiting),
        blocked: count(|overview| overview.blocked),
        stuck: count(|overview| overview.stuck),
    })
}

fn page(session: &Session<'_>, lines: &[ProjectLine]) -> String {
    let out = session.out;
    let number = |state: TaskState, count: i64| match count {
        0 => out.ink(Ink::Faint, "0"),
        count => out.ink(Ink::of_state(state), &count.to_string()),
    };
    let row = |line: &ProjectLine| {
        vec![
            if line.project.here { "*".to_owned() } else { String::new() },
            line.project.label.clone(),
            number(TaskState::Ready, line.ready),
            number(TaskState::Held, line.started),
            number(TaskState::Waiting, line.waiting),
            number(TaskState::Blocked, line.blocked),
            number(TaskState::Stuck, line.stuck),
            line.project.done.to_string(),
            out.time(&line.project.last_at),
        ]
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    let heads = ["", "PROJECT", "READY", "HELD", "WAITING", "BLOCKED", "STUCK", "DONE", "LAST USED"];
    table(out, &heads, &rows)
}
