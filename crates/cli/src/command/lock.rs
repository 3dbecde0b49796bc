//! `tenure lock`

use std::ffi::OsString;
use std::time::Duration;

use clap::Args as _;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, Span, hold};
use tenure_kernel::Op;
use tenure_kernel::answer::{Hold, span};
use tenure_kernel::op::lock::{Lock, LockRenewal};

use super::{Group, Run, Spec, read};
use crate::output::Ink;
use crate::runner;
use crate::session::{RunOptions, Session, StoreUse};
use crate::settings::Settings;
use crate::wait;

pub(super) const SPEC: Spec = Spec {
    name: "lock",
    aliases: &["mutex"],
    group: Group::Everyday,
    about: "Take a named lock, or run a command under one",
    examples: &[
        "tenure lock deploy --reason \"release 1.4\"",
        "tenure lock deploy -- ./deploy.sh --all",
        "tenure lock db --ttl 5m -- make migrate",
        "tenure lock deploy --wait -- ./deploy.sh",
        "tenure release deploy",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        refuse_no_run(settings, &args)?;
        let ttl = args.ttl.as_deref().map(Span::parse).transpose()?.map(hold::ttl).transpose()?;
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let times = session.workspace.config.wait;
        let limit = args.wait.as_deref().map(|given| wait::limit(given, times.call)).transpose()?;
        let request = Lock {
            name: args.name,
            ttl_s: ttl.map(Span::as_seconds),
            reason: args.reason.unwrap_or_default(),
            fence: args.fence.map(Into::into),
            renewal: if args.command.is_empty() { LockRenewal::Session } else { LockRenewal::Runner },
            force: args.force,
            wait: limit.is_some(),
            place_ttl_s: times.place.map(Span::as_seconds),
            offer_ttl_s: times.offer.map(Span::as_seconds),
        };
        if args.command.is_empty() {
            let (hold, body) = take(session, request, limit)?;
            say(session, &hold, &body);
            return Ok(0);
        }
        let request = match limit {
            None => request,
            // A wait is long: what the runner trusts begins with the renewal that comes after it.
            Some(_) => {
                let (hold, _) = take(session, request.clone(), limit)?;
                Lock { fence: Some(hold.fence), force: false, wait: false, ..request }
            }
        };
        let again = limit.is_some();
        let taken = runner::take(|| {
            if again { renew(session, request) } else { take(session, request, None).map(|(hold, _)| hold) }
        })?;
        runner::run(session, &taken, &args.command)
    }),
};

/// A run that could not be what its caller means: of no command, or of one that an answer from before would stand for.
#[expect(clippy::disallowed_methods, reason = "whether two dashes were typed is in the words of the process alone")]
fn refuse_no_run(settings: &Settings<'_>, args: &Args) -> Result<()> {
    if args.command.is_empty() && std::env::args_os().any(|word| word == "--") {
        return Err(Error::usage(Code::NoCommand, "there is no command after `--`")
            .hint("Give a command, or omit `--` to take the lock only."));
    }
    if !args.command.is_empty() && settings.globals.request_id.is_some() {
        return Err(Error::usage(Code::RunNotRepeated, "a command under a lock cannot be repeated by its request id")
            .hint("Omit --request-id: each run takes the lock anew."));
    }
    Ok(())
}

/// Takes the lock: the answer, and how it was written.
fn take(session: &Session<'_>, request: Lock, limit: Option<Duration>) -> Result<(Hold, String)> {
    let op = Op::new(request);
    let reply = match limit {
        None => session.run_any(&op, RunOptions::default())?,
        Some(limit) => wait::until_held(session, &op, limit)?,
    };
    Ok((reply.read()?, reply.body))
}

/// Renews the lock by an op of its own: the request id that was given is that of the first.
fn renew(session: &Session<'_>, request: Lock) -> Result<Hold> {
    session.run_any(&Op::new(request), RunOptions::aside())?.read()
}

fn say(session: &Session<'_>, hold: &Hold, body: &str) {
    let out = session.out;
    if out.is_json() {
        out.body(body);
        return;
    }
    let name = cut(&hold.subject, 120);
    out.text(&format!(
        "{} {}  fence {}, ends in {}\nYour calls renew it.\nNext: tenure release {}   tenure holds --mine",
        out.ink(Ink::Strong, &hold.id),
        name,
        hold.fence,
        span(hold.expires_in_s),
        hold.id,
    ));
}

#[derive(clap::Args)]
struct Args {
    /// The name of the lock: 1 to 128 characters on one line
    #[arg(value_name = "NAME")]
    name: String,
    /// How long the lock lives without renewal: 1s to 24h; default: 10m, with a command 60s
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    /// The purpose
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// The fence of a lock that you hold, to renew it
    #[arg(long, value_name = "N", conflicts_with = "command")]
    fence: Option<i64>,
    /// Take it from its holder (people; agents only from a holder that is gone; recorded)
    #[arg(long)]
    force: bool,
    /// Wait in line if it is held, at most 90s per call; repeat the command to continue waiting
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "fence")]
    wait: Option<String>,
    /// The command to run under the lock; the lock is renewed until the command ends
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}
