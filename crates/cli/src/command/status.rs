//! `tenure status`

mod all;
mod watch;

use clap::Args as _;
use serde::Serialize;
use tenure_core::Result;
use tenure_core::task::TaskState;
use tenure_core::text::cut;
use tenure_kernel::answer::{Hindered, Overview};
use tenure_kernel::query::status::Status;

use super::{Group, Run, Spec, read};
use crate::guard;
use crate::output::table::table;
use crate::output::task::{HOLD_HEADS, hold_row, several, waiting};
use crate::output::time::{short, span};
use crate::output::{Ink, Printer};
use crate::session::{Session, StoreUse};
use crate::workspace::server_record::ServerRecord;

pub(super) const SPEC: Spec = Spec {
    name: "status",
    aliases: &["overview"],
    group: Group::Everyday,
    about: "Show what is happening and what is stuck",
    examples: &["tenure status", "tenure status --watch", "tenure status --all"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        if args.watch {
            return watch::watch(settings, out);
        }
        let session = &Session::open(settings, out, StoreUse::Read)?;
        if args.all {
            return all::projects(session);
        }
        let status = look(session)?;
        if session.out.is_json() {
            session.out.data(&status);
        } else {
            session.out.text(&page(session, &status));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// Refresh the display after each change; q or Ctrl-C ends it
    #[arg(long, short)]
    watch: bool,
    /// Show all projects of the store, a line for each
    #[arg(long, short, conflicts_with = "watch")]
    all: bool,
}

/// The state of the project, and the server that serves it.
#[derive(Serialize)]
pub(super) struct ProjectStatus {
    #[serde(flatten)]
    pub(super) overview: Overview,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<ServedAt>,
}

/// A running server, as commands show it.
#[derive(Serialize)]
pub(super) struct ServedAt {
    url: Option<String>,
    pid: i64,
    since: String,
}

impl ServedAt {
    /// The server of the store of a session.
    pub(super) fn of(session: &Session<'_>) -> Option<ServedAt> {
        let server = ServerRecord::find(session.settings.env, &session.workspace.store)?;
        Some(ServedAt { pid: server.pid(), url: server.url, since: server.since })
    }

    pub(super) fn line(&self, out: &Printer) -> String {
        self.since(&out.time(&self.since))
    }

    /// The same without a terminal.
    pub(super) fn told(&self) -> String {
        self.since(&short(&self.since))
    }

    fn since(&self, time: &str) -> String {
        let since = format!("since {time}");
        match &self.url {
            Some(url) => format!("{url} ({since}; `tenure open` signs you in)"),
            None => format!("process {} ({since}; commands of this machine only)", self.pid),
        }
    }
}

/// Looks at the project.
pub(super) fn look(session: &Session<'_>) -> Result<ProjectStatus> {
    let overview = session.ask_who_holds(&Status {})?;
    let overview = Overview { guards: guard::here(session.settings.env, overview.guards), ..overview };
    let holders = overview.holds.iter().map(|hold| hold.holder.as_str());
    let others = overview.agents.iter().map(|agent| agent.name.as_str());
    let waiting = overview.line.iter().map(|place| place.agent.as_str());
    session.know_agents(
        holders.chain(others).chain(waiting).chain(overview.overdue.iter().map(|open| open.from.as_str())),
    );
    Ok(ProjectStatus { overview, server: ServedAt::of(session) })
}

fn page(session: &Session<'_>, status: &ProjectStatus) -> String {
    let (out, overview) = (session.out, &status.overview);
    let mut text = format!("{}\n\n", out.ink(Ink::Strong, &sentence(&overview.summary)));
    if let Some(server) = &status.server {
        text.push_str(&format!("{}\n\n", out.prose(&format!("Server  {}", server.line(out)), 8)));
    }
    if let Some(off) = guard::sentence(&overview.guards) {
        text.push_str(&format!("{}\n\n", out.ink(Ink::Caution, &out.prose(&off, 0))));
    }
    let counts = [
        (TaskState::Ready, overview.ready),
        (TaskState::Held, overview.started),
        (TaskState::Waiting, overview.waiting),
        (TaskState::Blocked, overview.blocked),
        (TaskState::Stuck, overview.stuck),
        (TaskState::Done, overview.done),
        (TaskState::Cancelled, overview.cancelled),
    ];
    let width = counts.iter().map(|(_, count)| count.to_string().len()).max().unwrap_or(1);
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    for (state, count) in counts {
        let bar = "█".repeat(usize::try_from((count * 20 + most - 1) / most).unwrap_or(0));
        let ink = if count == 0 { Ink::Faint } else { Ink::of_state(state) };
        let name = out.ink(ink, &format!("{:<10}", state.as_str()));
        text.push_str(format!("  {name}{count:>width$}  {}", out.ink(ink, &bar)).trim_end());
        text.push('\n');
    }
    hindered(&mut text, out, "Blocked", &overview.blocked_by);
    hindered(&mut text, out, "Stuck", &overview.stuck_by);
    let several = several(overview.holds.iter(), overview.line.iter(), None);
    if !overview.holds.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Strong, "Holds, by the time they end")));
        let rows: Vec<Vec<String>> =
            overview.holds.iter().map(|hold| hold_row(out, hold, several)[2..].to_vec()).collect();
        text.push_str(&table(out, &HOLD_HEADS[2..], &rows));
    }
    if !overview.line.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Strong, "Waiting, in order")));
        text.push_str(&waiting(out, &overview.line, several));
    }
    if !overview.overdue.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Strong, "Open requests")));
        let rows: Vec<Vec<String>> = overview
            .overdue
            .iter()
            .map(|open| {
                let about = open.about.clone().unwrap_or_default();
                let to: Vec<String> = open.to.iter().map(|agent| out.brief(agent)).collect();
                vec![open.id.to_string(), out.brief(&open.from), to.join(", "), about, span(open.age_s)]
            })
            .collect();
        text.push_str(&table(out, &["MESSAGE", "FROM", "TO", "ABOUT", "OPEN FOR"], &rows));
    }
    if !overview.agents.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Strong, "Agents of the last hour")));
        let rows: Vec<Vec<String>> = overview
            .agents
            .iter()
            .map(|agent| {
                vec![
                    out.brief(&agent.name),
                    out.ink(Ink::of_liveness(agent.liveness), agent.liveness.as_str()),
                    format!("{} ago", span(agent.last_seen_s)),
                    agent.focus.clone().unwrap_or_default().into(),
                ]
            })
            .collect();
        text.push_str(&table(out, &["AGENT", "IS", "SEEN", "FOCUS"], &rows));
    }
    text
}

/// How much of a reason is shown: it may have several paragraphs.
const BY: usize = 120;

fn hindered(text: &mut String, out: &Printer, heading: &str, tasks: &[Hindered]) {
    if tasks.is_empty() {
        return;
    }
    text.push_str(&format!("\n{}\n", out.ink(Ink::Strong, heading)));
    let rows: Vec<Vec<String>> = tasks
        .iter()
        .map(|task| {
            let gone = if task.gone { format!(" (gone: tenure unblock {})", task.id) } else { String::new() };
            vec![task.id.to_string(), format!("{}{gone}", out.brief(&cut(&task.by, BY))), task.title.clone()]
        })
        .collect();
    text.push_str(&table(out, &["TASK", "BY", "TITLE"], &rows));
}

/// A summary as a sentence: a capital letter and a full stop.
fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    chars.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}
