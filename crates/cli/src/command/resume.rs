//! `tenure resume`

use clap::Args as _;
use tenure_core::{Result, Span, hold};
use tenure_kernel::Call;
use tenure_kernel::answer::Resumed;
use tenure_kernel::op::resume::Resume;
use tenure_kernel::query::peek::Peek;

use super::{Group, Run, Spec, offered, read};
use crate::git_status;
use crate::program_path::callable;
use crate::session::{RunOptions, Session, Sight, StoreUse, call};

pub(super) const SPEC: Spec = Spec {
    name: "resume",
    aliases: &["continue", "prime", "begin"],
    group: Group::Everyday,
    about: "Continue your task or claim the best one, with all context",
    examples: &["tenure resume", "tenure resume --label backend", "tenure resume --peek --budget 600"],
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
        let reply = session.run(request, RunOptions::default())?;
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

/// What `resume` would answer.
pub(super) fn peek(session: &Session<'_>, request: &Resume) -> Result<Resumed> {
    let tree = git_status::of(&session.workspace);
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
    /// How long a new hold lives without a call: 1s to 24h; default: 60m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    #[command(flatten)]
    labels: super::list::Labels,
}
