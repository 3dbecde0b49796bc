//! `tenure status`

use clap::Args as _;
use tenure_core::{Code, Result};
use tenure_kernel::answer::{Hindered, Overview};
use tenure_kernel::query::status::Status;

use super::{Group, Run, Spec, read};
use crate::guard;
use crate::output::table::table;
use crate::output::task::{HOLD_HEADS, hold_row, several, waiting};
use crate::output::time::span;
use crate::output::{Ink, Printer};
use crate::session::{Session, StoreUse};
use crate::settings::Settings;

pub(super) const SPEC: Spec = Spec {
    name: "status",
    aliases: &["overview"],
    group: Group::Everyday,
    about: "Show what is happening and what is stuck",
    examples: &["tenure status", "tenure status --watch"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        if args.watch {
            return watch(settings, out);
        }
        let session = &Session::open(settings, out, StoreUse::Read)?;
        let overview = look(session)?;
        if session.out.is_json() {
            session.out.data(&overview);
        } else {
            session.out.text(&page(session.out, &overview));
        }
        Ok(0)
    }),
};

fn look(session: &Session<'_>) -> Result<Overview> {
    let overview = session.ask_who_holds(&Status {})?;
    Ok(Overview { guards: guard::here(session.settings.env, overview.guards), ..overview })
}

#[derive(clap::Args)]
struct Args {
    /// Refresh the display after each change
    #[arg(long, short)]
    watch: bool,
}

/// Shows the status until the reader hangs up or the person has enough.
#[expect(clippy::disallowed_methods, reason = "the pause between two looks")]
fn watch(settings: &Settings<'_>, out: &Printer) -> Result<u8> {
    let mut last = String::new();
    let mut session = Session::open(settings, out, StoreUse::Follow)?;
    let mut reopened = true;
    loop {
        let overview = match look(&session) {
            // Another process has continued the log of the store: opening it again finds what it wrote.
            Err(error) if !reopened && error.code() == Code::StoreMoved => {
                (session, reopened) = (Session::open(settings, out, StoreUse::Follow)?, true);
                continue;
            }
            other => other?,
        };
        reopened = false;
        let shown = if session.out.is_json() {
            serde_json::to_string(&overview).unwrap_or_default()
        } else {
            page(session.out, &overview)
        };
        if shown != last {
            match (session.out.is_json(), session.out.is_terminal()) {
                (true, _) => session.out.document(&shown),
                (false, true) => session.out.text(&format!("\u{1b}[H\u{1b}[2J{shown}")),
                (false, false) => session.out.text(&format!("{shown}\n")),
            }
            last = shown;
        }
        if session.out.is_hung_up() {
            return Ok(0);
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
        // The first write gives the repository a project.
        if session.workspace.project.key.is_none() {
            session = Session::open(settings, out, StoreUse::Follow)?;
        }
    }
}

fn page(out: &Printer, overview: &Overview) -> String {
    let mut text = format!("{}\n\n", out.ink(Ink::Bold, &sentence(&overview.summary)));
    if let Some(off) = guard::sentence(&overview.guards) {
        text.push_str(&format!("{}\n\n", out.ink(Ink::Yellow, &off)));
    }
    let counts = [
        ("ready", overview.ready),
        ("held", overview.started),
        ("waiting", overview.waiting),
        ("blocked", overview.blocked),
        ("stuck", overview.stuck),
        ("done", overview.done),
        ("cancelled", overview.cancelled),
    ];
    let width = counts.iter().map(|(_, count)| count.to_string().len()).max().unwrap_or(1);
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    for (name, count) in counts {
        let bar = "█".repeat(usize::try_from((count * 30 + most - 1) / most).unwrap_or(0));
        text.push_str(format!("  {name:<10}{count:>width$}  {}", out.ink(Ink::Dim, &bar)).trim_end());
        text.push('\n');
    }
    hindered(&mut text, out, "Blocked", &overview.blocked_by);
    hindered(&mut text, out, "Stuck", &overview.stuck_by);
    let several = several(overview.holds.iter(), overview.line.iter(), None);
    if !overview.holds.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Bold, "Holds, by the time they end")));
        let rows: Vec<Vec<String>> =
            overview.holds.iter().map(|hold| hold_row(out, hold, several)[2..].to_vec()).collect();
        text.push_str(&table(&HOLD_HEADS[2..], &rows, out.width()));
    }
    if !overview.line.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Bold, "Waiting, in order")));
        text.push_str(&waiting(out, &overview.line, several));
    }
    if !overview.overdue.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Bold, "Open requests")));
        let rows: Vec<Vec<String>> = overview
            .overdue
            .iter()
            .map(|open| {
                let about = open.about.clone().unwrap_or_default();
                vec![open.id.to_string(), open.from.to_string(), open.to.join(", "), about, span(open.age_s)]
            })
            .collect();
        text.push_str(&table(&["MESSAGE", "FROM", "TO", "ABOUT", "OPEN FOR"], &rows, out.width()));
    }
    if !overview.agents.is_empty() {
        text.push_str(&format!("\n{}\n", out.ink(Ink::Bold, "Agents of the last hour")));
        let rows: Vec<Vec<String>> = overview
            .agents
            .iter()
            .map(|agent| {
                vec![
                    agent.name.to_string(),
                    agent.liveness.as_str().to_owned(),
                    format!("{} ago", span(agent.last_seen_s)),
                    agent.focus.clone().unwrap_or_default().into(),
                ]
            })
            .collect();
        text.push_str(&table(&["AGENT", "IS", "SEEN", "FOCUS"], &rows, out.width()));
    }
    text
}

fn hindered(text: &mut String, out: &Printer, heading: &str, tasks: &[Hindered]) {
    if tasks.is_empty() {
        return;
    }
    text.push_str(&format!("\n{}\n", out.ink(Ink::Bold, heading)));
    let rows: Vec<Vec<String>> = tasks
        .iter()
        .map(|task| {
            let gone = if task.gone { format!(" (gone: tenure unblock {})", task.id) } else { String::new() };
            vec![task.id.to_string(), tenure_core::text::cut(&task.title, 40), format!("{}{gone}", task.by)]
        })
        .collect();
    text.push_str(&table(&["TASK", "TITLE", "BY"], &rows, out.width()));
}

/// A summary as a sentence: a capital letter and a full stop.
fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    chars.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}
