//! `tenure log`

use std::time::Duration;

use clap::Args as _;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::text::quote;
use tenure_core::{Code, Kind, Result, name, since};
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::query::any_id::ResolveAny;
use tenure_kernel::query::log::{Log, Since};
use tenure_store::{Clock as _, SystemClock};

use super::{Group, Run, Spec, read};
use crate::output::layout::{columns, fit, wrap};
use crate::output::time::short;
use crate::output::{Ink, Printer};
use crate::session::{Session, Sight, StoreUse, caller};
use crate::settings::Settings;

pub(super) const SPEC: Spec = Spec {
    name: "log",
    aliases: &["events", "history"],
    group: Group::Everyday,
    about: "Show the newest events, or those since a number or time",
    examples: &[
        "tenure log",
        "tenure log t-7k3fq",
        "tenure log --since 120 --kind task.done",
        "tenure log --since yesterday --by codex-2",
        "tenure log --follow --json",
        "tenure log --whole-store --kind access.denied",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let since = match (&args.cursor, &args.since) {
            (Some(cursor), _) => Some(Since::Cursor(cursor.clone())),
            (None, Some(since)) => Some(parse(since, settings)?),
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
            titles: !session.out.is_json(),
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
            session.out.text(&format!("(events before {oldest} were removed by the retention setting)"));
        }
        let mut lines = Lines::of(&session, &page.items);
        page.items.iter().for_each(|event| session.out.text(&lines.line(session.out, event)));
        if let (true, Some(next)) = (page.more, &page.next) {
            let total = page.total.map_or(String::new(), |total| format!(" of {total}"));
            let more = format!("{} shown{total}; more: --cursor {next}", page.items.len());
            session.out.text(&session.out.prose(&more, 2));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// Only events about this: a task, a hold, an agent
    #[arg(value_name = "ID", conflicts_with = "subject")]
    about: Option<String>,
    /// The same as ID
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Only events by this agent; `--agent NAME` means the same here
    #[arg(long, visible_alias = "actor", value_name = "AGENT")]
    by: Option<String>,
    /// Only events of this kind, such as task.claimed
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only events from here on: an event number, 1h, 18:00, yesterday, 2030-01-31, RFC 3339 or a cursor
    #[arg(long, value_name = "N|TIME|CURSOR", allow_negative_numbers = true)]
    since: Option<String>,
    /// The position of the page: `next` of the previous page
    #[arg(long, value_name = "CURSOR", conflicts_with = "since")]
    cursor: Option<String>,
    /// The number of events per page, 1 to 1000
    #[arg(long, short = 'n', value_name = "N", default_value = "50", allow_negative_numbers = true)]
    limit: i64,
    /// Continue with new events; with --json, one event per line
    #[arg(long, short)]
    follow: bool,
    /// Show events of the whole store: granted and denied access, sign-ins (people only)
    #[arg(long, conflicts_with = "follow")]
    whole_store: bool,
}

/// From where to read: a number, a cursor, or a time as the person at the terminal means it.
fn parse(text: &str, settings: &Settings<'_>) -> Result<Since> {
    if let Ok(number) = text.parse() {
        return Ok(Since::Number(number));
    }
    if text.starts_with("s-") {
        return Ok(Since::Cursor(text.to_owned()));
    }
    since::parse(text, SystemClock.now(), &settings.zone()).map(Since::Time)
}

/// Events as lines.
#[derive(Default)]
pub(super) struct Lines {
    /// How many digits the largest number has.
    digits: usize,
    /// The local date of the line before: a terminal shows it once.
    date: String,
}

impl Lines {
    /// Lines for these events, whose agents become known.
    pub(super) fn of(session: &Session<'_>, events: &[LoggedEvent]) -> Lines {
        let mut lines = Lines::default();
        lines.learn(session, events);
        lines
    }

    fn learn(&mut self, session: &Session<'_>, events: &[LoggedEvent]) {
        let sentences: Vec<String> = events.iter().map(LoggedEvent::sentence).collect();
        session.know_agents(sentences.iter().map(String::as_str));
        let digits = events.iter().map(|event| event.number.to_string().len()).max().unwrap_or(0);
        self.digits = self.digits.max(digits).max(if session.out.is_terminal() { 0 } else { 6 });
    }

    /// An event in a line, after the date where it is another than before.
    pub(super) fn line(&mut self, out: &Printer, event: &LoggedEvent) -> String {
        let mut text = String::new();
        let time = match out.local(&event.at) {
            Some((date, clock)) => {
                if date != self.date {
                    text = format!("{}\n", out.ink(Ink::Strong, &date));
                    self.date = date;
                }
                clock
            }
            None => short(&event.at),
        };
        let place = format!("{:>width$}  {time}", event.number, width = self.digits);
        let hang = columns(&place) + 2;
        let line = format!("{}  {}", out.ink(Ink::Faint, &place), sentence(out, event));
        // In a narrow window the sentence gets more room than the alignment would leave.
        let hang = if out.width() < 60 { 2 } else { hang };
        text + &wrap(&line, out.width(), hang)
    }

    /// An event in one line of an indented list.
    pub(super) fn brief(&self, out: &Printer, event: &LoggedEvent) -> String {
        let time = out.local(&event.at).map_or_else(|| short(&event.at), |(_, clock)| clock);
        let room = out.width().saturating_sub(2);
        fit(&format!("{}  {}", out.ink(Ink::Faint, &time), sentence(out, event)), room)
    }
}

/// An event as a person reads it.
fn sentence(out: &Printer, event: &LoggedEvent) -> String {
    let subject = match &event.title {
        // An event that tells the title itself.
        Some(title) if !event.data["title"].is_string() => format!("{} {}", event.subject, quote(title, TITLE)),
        _ => event.subject.clone(),
    };
    out.brief(&event.fact().sentence(&event.actor, &subject))
}

/// How much of a title stands beside its id.
const TITLE: usize = 60;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(250);

/// Prints events as they happen: the newest page first, then whatever comes. A new transaction for each poll, none
/// open in between, so that a follower never keeps the store from tidying up. One that has begun goes on when the store is
/// out of reach for a while: its cursor says where.
#[expect(clippy::disallowed_methods, reason = "the pause between two polls")]
fn follow(mut session: Session<'_>, mut filter: Log) -> Result<u8> {
    let (settings, out) = (session.settings, session.out);
    let (mut begun, mut told, mut reopened) = (false, false, false);
    let mut lines = Lines::default();
    loop {
        let page = match session.ask(&filter) {
            Err(error) if begun && error.kind() == Kind::Busy => {
                if !told {
                    session.out.complain(&format!("tenure: {}; retrying until it answers", error.message()));
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
        if !session.out.is_json() {
            lines.learn(&session, &page.items);
        }
        for event in &page.items {
            match (session.out.is_json(), serde_json::to_string(event)) {
                (true, Ok(json)) => session.out.document(&json),
                _ => session.out.text(&lines.line(session.out, event)),
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
