//! `tenure resume`

use std::time::{Duration, Instant};

use clap::Args as _;
use tenure_core::{Code, Error, Result, Span, hold};
use tenure_kernel::answer::Resumed;
use tenure_kernel::op::resume::Resume;
use tenure_kernel::query::peek::Peek;
use tenure_kernel::{Answered, Call};

use super::{Group, Run, Spec, offered, read};
use crate::git_status;
use crate::output::progress::Progress;
use crate::program_path::callable;
use crate::session::{RunOptions, Session, Sight, StoreUse, call};
use crate::wait;

pub(super) const SPEC: Spec = Spec {
    name: "resume",
    aliases: &["continue", "prime", "begin"],
    group: Group::Everyday,
    about: "Continue your task or claim the best one, with all context",
    examples: &[
        "tenure resume",
        "tenure resume --label backend",
        "tenure resume --wait=30s",
        "tenure resume --peek --budget 600",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let given = args.ttl.as_deref().map(Span::parse).transpose()?.map(hold::ttl).transpose()?;
        let store_use = if args.peek { StoreUse::Read } else { StoreUse::Write };
        let session = &Session::open(settings, out, store_use)?;
        let ttl = given.or(session.workspace.config.task_ttl);
        let labels = args.labels.or_default(session)?;
        let request = Resume { labels, ttl_s: ttl.map(Span::as_seconds), budget: args.budget, limit: args.limit };
        if args.peek {
            let seen = peek(session, &request)?;
            if session.out.is_json() {
                session.out.data(&seen);
            } else {
                session.out.text(&callable(seen.brief.text, session.settings.env));
            }
            return Ok(0);
        }
        let reply = match &args.wait {
            None => session.run(request, RunOptions::default())?,
            Some(typed) => {
                let limit = wait::limit(typed, session.workspace.config.wait.call)?;
                wait_for_task(session, &request, limit)?
            }
        };
        let answer = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
        } else {
            session.out.text(&callable(answer.brief.text.clone(), session.settings.env));
        }
        let new = !answer.events.items.is_empty() || answer.events.more;
        // The text has what found room in it, the document has all that is offered.
        let (events, mail) = match session.out.is_json() {
            true => (answer.events.offered, answer.mail.offered),
            false => (answer.brief.events, answer.brief.mail),
        };
        offered::confirm(session, events.filter(|_| new), mail);
        Ok(0)
    }),
};

/// The pause between two looks for a task.
const PAUSE: Duration = Duration::from_secs(1);

/// Resumes as soon as there is a task for this agent. Until then only queries run, so waiting changes nothing: an op that
/// found no task would count what it offers as told.
#[expect(clippy::disallowed_methods, reason = "how long a call waits is a time of the process")]
fn wait_for_task(session: &Session<'_>, request: &Resume, limit: Duration) -> Result<Answered<Resumed>> {
    let begun = Instant::now();
    let query = Peek(request.clone());
    let progress = Progress::begin(session.out, "Waiting for a task");
    loop {
        let seen = session.ask_who_holds(&query)?;
        if seen.task.is_some() {
            let reply = session.run(request.clone(), RunOptions::default())?;
            // Another agent may have been faster.
            if reply.read()?.task.is_some() {
                return Ok(reply);
            }
        }
        let left = limit.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let waited = Span(i64::try_from(limit.as_micros()).unwrap_or(i64::MAX));
            return Err(Error::new(Code::StillWaiting, format!("no task became ready for you in {waited}"))
                .hint("The same command goes on waiting.")
                .detail("waiting", true));
        }
        progress.tell(&format!("Waiting for a task: {}", seen.reason));
        std::thread::sleep(PAUSE.min(left));
    }
}

/// What `resume` would answer.
pub(super) fn peek(session: &Session<'_>, request: &Resume) -> Result<Resumed> {
    let tree = git_status::of(&session.workspace, session.settings.env);
    let query = Peek(request.clone());
    session.ask_with(Sight::Processes, |client, call| {
        let mut call: Call = call.clone();
        call::see(&mut call, tree.clone());
        client.ask(&call, &query)
    })
}

#[derive(clap::Args)]
struct Args {
    /// Only show: claim nothing, and keep events and mail as new
    #[arg(long)]
    peek: bool,
    /// The size of the brief in tokens of 4 bytes; default: 1500
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    budget: Option<i64>,
    /// The maximum number of new events to show; default: 20
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// Wait until there is a task to take, at most 90s a call
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "", require_equals = true, conflicts_with = "peek")]
    wait: Option<String>,
    /// How long a new hold lives without a call: 1s to 24h; default: 60m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    #[command(flatten)]
    labels: super::list::Labels,
}
