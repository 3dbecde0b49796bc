//! `tenure log`

use std::time::Duration;

use clap::Args as _;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Code, Kind, Result, Time, name};
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::query::any_id::ResolveAny;
use tenure_kernel::query::log::{Log, Since};

use super::{Group, Run, Spec, read};
use crate::output::time::short;
use crate::output::{Ink, Printer};
use crate::session::{Session, Sight, StoreUse, caller};

pub(super) const SPEC: Spec = Spec {
    name: "log",
    aliases: &["events", "history"],
    group: Group::Everyday,
    about: "Show what happened: the newest events, or from a number or time on",
    examples: &[
        "tenure log",
        "tenure log t-7k3fq",
        "tenure log --since 120 --kind task.done",
        "tenure log --since 2030-01-31T09:00:00Z --by codex-2",
        "tenure log --follow --json",
        "tenure log --whole-store --kind access.denied",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let since = match (&args.cursor, &args.since) {
            (Some(cursor), _) => Some(Since::Cursor(cursor.clone())),
            (None, Some(since)) => Some(parse(since)?),
            (None, None) => None,
        };
        let store_use = if args.follow { StoreUse::Follow } else { StoreUse::Read };
        let session = Session::open(settings, out, store_use)?;
        let subject = match args.about.as_deref().or(args.subject.as_deref()) {
            Some(typed) if typed.starts_with("t-") || typed.starts_with("h-") => {
                Some(session.ask(&ResolveAny { typed: typed.into() })?)
            }
            other => other.map(str::to_owned),
        };
        let filter = Log {
            subject,
            agent: match args.by.as_deref() {
                Some(by) => Some(AgentName::from(name::check(by)?)),
                None => super::list::flagged(&session),
            },
            kind: args.kind,
            since,
            limit: super::list::limit(args.limit)?,
        };
        if args.follow {
            return follow(session, filter);
        }
        if args.whole_store {
            caller::person(&session, "`log --whole-store`")?;
        }
        let page = session.ask_with(Sight::Store, |client, call| match args.whole_store {
            true => client.ask(&call.about_store(), &filter),
            false => client.ask(call, &filter),
        })?;
        if session.out.is_json() {
            session.out.data(&page);
            return Ok(0);
        }
        if page.items.is_empty() {
            session.out.text("No events.");
        } else if let Some(oldest) = page.kept_from {
            session.out.text(&format!("(events before {oldest} are no longer kept)"));
        }
        let digits = page.items.iter().map(digits).max().unwrap_or(0);
        page.items.iter().for_each(|event| session.out.text(&line(session.out, event, digits)));
        if let (true, Some(next)) = (page.more, &page.next) {
            let total = page.total.map_or(String::new(), |total| format!(" of {total}"));
            session.out.text(&format!("{} shown{total}; more: --cursor {next}", page.items.len()));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// Only events about this: a task, a hold, an agent
    #[arg(value_name = "ID", conflicts_with = "subject")]
    about: Option<String>,
    /// The same
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Only events by this agent; `--agent NAME` means the same here
    #[arg(long, visible_alias = "actor", value_name = "AGENT")]
    by: Option<String>,
    /// Only events of this kind, such as task.claimed
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// From here forward: after an event number or cursor, or at and after a time
    #[arg(long, value_name = "N|TIME|CURSOR", allow_negative_numbers = true)]
    since: Option<String>,
    /// The page that `next` of another page names
    #[arg(long, value_name = "CURSOR", conflicts_with = "since")]
    cursor: Option<String>,
    /// Events on a page, 1 to 1000
    #[arg(long, short = 'n', value_name = "N", default_value = "50", allow_negative_numbers = true)]
    limit: i64,
    /// Go on as events happen; with --json one event a line
    #[arg(long, short)]
    follow: bool,
    /// What concerns the whole store in place of a project: who was given access, denied it, signed in (people only)
    #[arg(long, conflicts_with = "follow")]
    whole_store: bool,
}

fn parse(text: &str) -> Result<Since> {
    if let Ok(number) = text.parse() {
        return Ok(Since::Number(number));
    }
    if text.starts_with("s-") {
        return Ok(Since::Cursor(text.to_owned()));
    }
    Time::parse(text).map(Since::Time)
}

/// How many digits the number of an event has.
fn digits(event: &LoggedEvent) -> usize {
    event.number.to_string().len()
}

fn line(out: &Printer, event: &LoggedEvent, digits: usize) -> String {
    let place = out.ink(Ink::Dim, &format!("{:>width$}  {}", event.number, short(&event.at), width = digits.max(6)));
    format!("{place}  {}", event.sentence())
}

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(250);

/// Prints events as they happen: the newest page first, then whatever comes. A new transaction for each poll, none
/// open in between, so that a follower never keeps the store from tidying up. One that has begun goes on when the store is
/// out of reach for a while: its cursor says where.
#[expect(clippy::disallowed_methods, reason = "the pause between two polls")]
fn follow(mut session: Session<'_>, mut filter: Log) -> Result<u8> {
    let (settings, out) = (session.settings, session.out);
    let (mut begun, mut told, mut reopened) = (false, false, false);
    loop {
        let page = match session.ask(&filter) {
            Err(error) if begun && error.kind() == Kind::Busy => {
                if !told {
                    session.out.complain(&format!("tenure: {}; going on when it answers", error.message()));
                }
                told = true;
                std::thread::sleep(PAUSE);
                continue;
            }
            // Another process has continued the log of the store: opening it again finds what it wrote.
            Err(error) if begun && !reopened && error.code() == Code::StoreMoved => {
                (session, reopened) = (Session::open(settings, out, StoreUse::Follow)?, true);
                continue;
            }
            other => other?,
        };
        (begun, told, reopened) = (true, false, false);
        for event in &page.items {
            match (session.out.is_json(), serde_json::to_string(event)) {
                (true, Ok(json)) => session.out.document(&json),
                _ => session.out.text(&line(session.out, event, digits(event))),
            }
        }
        if session.out.is_hung_up() || session.out.is_quiet() {
            return Ok(0);
        }
        let backward = filter.since.is_none();
        filter.since = match (page.next, page.cursor) {
            (Some(next), _) if !backward => Some(Since::Cursor(next)),
            // A store that does not exist yet has no incarnation to follow.
            (_, Some(cursor)) if !cursor.starts_with('.') => Some(Since::Cursor(cursor)),
            _ => Some(Since::Number(EventNumber::START)),
        };
        if backward || !page.more {
            std::thread::sleep(PAUSE);
        }
        // The first write gives the repository a project.
        if session.workspace.project.key.is_none() {
            session = Session::open(settings, out, StoreUse::Follow)?;
        }
    }
}
