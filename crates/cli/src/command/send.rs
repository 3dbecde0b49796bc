//! `tenure send`

use std::ffi::OsString;

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::agent::Liveness;
use tenure_core::id::MessageId;
use tenure_core::message::Urgency;
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Kind, Result};
use tenure_kernel::answer::Recipient;
use tenure_kernel::op::send::Send;
use tenure_kernel::query::any_id::ResolveAny;
use tenure_kernel::query::check::Check;
use tenure_kernel::query::lock_of::LockOf;

use super::subject::{self, Subject};
use super::{Group, Run, Spec, read};
use crate::output::Printer;
use crate::output::time::span;
use crate::session::{RunOptions, Session, StoreUse};
use crate::settings::Settings;

pub(super) const SPEC: Spec = Spec {
    name: "send",
    aliases: &["message", "msg", "tell"],
    group: Group::Everyday,
    about: "Send a message to agents, or to the holder of something",
    examples: &[
        "tenure send codex-2 \"the schema is merged, you can go on\"",
        "tenure send --to codex-2 --to person:ann \"tests are red on main\"",
        "tenure send all \"main is frozen until the release is out\"",
        "tenure send --reply g-7k3fq \"it is merged\"",
        "tenure send --about src/lib.rs \"I need it for an hour\" --request",
        "tenure send --about t-7k3fq \"please release it when you can\" --request --urgent",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let mut to = args.to;
        let text = match (args.first, args.second) {
            (names, Some(text)) => {
                to.extend(names.split(',').map(|name| name.trim().to_owned()));
                text
            }
            (text, None) => text,
        };
        let (session, about) = match &args.about {
            Some(typed) => what(settings, out, typed).map(|(session, about)| (session, Some(about)))?,
            None => (Session::open(settings, out, StoreUse::Write)?, None),
        };
        let urgency = if args.urgent { Urgency::Urgent } else { Urgency::Normal };
        let reply = args.reply.map(|typed| session.ask(&ResolveAny { typed })).transpose()?.map(MessageId::from);
        let to = to.into_iter().map(AgentName::from).collect();
        let request = Send { to, about, text, urgency, request: args.request, reply };
        let reply = session.run(request, RunOptions::default())?;
        let sent = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
            return Ok(0);
        }
        let names: Vec<String> = sent.to.iter().map(|to| format!("{} ({})", to.agent, presence(to))).collect();
        let about = sent.about.map_or(String::new(), |about| format!(" about {about}"));
        let reply = sent.reply_to.map_or(String::new(), |reply| format!(", in reply to {reply}"));
        session.out.text(&format!("Sent {} to {}{about}{reply}", sent.id, names.join(", ")));
        if sent.hold.is_some() {
            session.out.text("It ends when the hold ends; `tenure inbox` then tells you how.");
        }
        Ok(0)
    }),
};

/// The subject of a message, in the session of its project: a task or a hold by its id, or the hold on a path or a lock.
fn what<'a>(settings: &'a Settings<'a>, out: &'a Printer, typed: &OsString) -> Result<(Session<'a>, String)> {
    let (session, subject) = subject::find(settings, out, StoreUse::Write, typed)?;
    let blockers = match subject {
        Subject::Id(id) | Subject::Memory(id) => return Ok((session, id)),
        Subject::Lock(name) => {
            let found = session.ask(&LockOf { name })?;
            found.map(|hold| hold.id.as_str().into()).into_iter().collect()
        }
        Subject::Path(typed, _) => {
            let (fold_case, paths) = (typed.fold_case, typed.with_targets());
            let question = Check { paths, fold_case, ..Check::default() };
            let found = session.ask_who_holds(&question)?;
            found.blockers.into_iter().filter(|found| found.state == "held").map(|found| found.id).collect::<Vec<_>>()
        }
    };
    let shown = tenure_core::text::excerpt(&typed.to_string_lossy());
    match blockers.as_slice() {
        [one] => Ok((session, one.to_string())),
        [] => Err(Error::new(Code::NotHeld, format!("no other agent holds {shown}"))
            .with_kind(Kind::NotFound)
            .attempt(Action::holds())),
        several => Err(Error::new(Code::SeveralHolds, format!("other agents have {} holds on {shown}", several.len()))
            .hint("Name the hold by its id.")
            .attempt(Action::holds_around(&shown))
            .detail("candidates", several)),
    }
}

/// Whether the recipient of a message is likely to see it soon.
fn presence(to: &Recipient) -> String {
    match to.liveness {
        Liveness::Alive => "alive".to_owned(),
        other => format!("{}, last seen {} ago", other.as_str(), span(to.last_seen_s)),
    }
}

#[derive(clap::Args)]
struct Args {
    /// The text, or an agent (or several, with commas) followed by the text
    #[arg(value_name = "[AGENT] TEXT", allow_hyphen_values = true)]
    first: String,
    #[arg(hide = true, allow_hyphen_values = true)]
    second: Option<String>,
    /// A recipient, or `all` for every agent that is not gone; may be repeated
    #[arg(long, value_name = "AGENT")]
    to: Vec<String>,
    /// The task, hold, path or lock of the message; without a recipient, its holder gets the message until the hold ends
    #[arg(long, value_name = "THING")]
    about: Option<OsString>,
    /// The message to reply to: a unique beginning of its id; its author is the default recipient
    #[arg(long, value_name = "ID")]
    reply: Option<String>,
    /// Mark the message as urgent: it blocks your work
    #[arg(long)]
    urgent: bool,
    /// Ask for an action: the message stays open until the hold ends or it is acknowledged
    #[arg(long)]
    request: bool,
}
