//! `tenure resume`

use clap::Args as _;
use tenure_core::{Result, Span, hold};
use tenure_kernel::Call;
use tenure_kernel::op::resume::Resume;
use tenure_kernel::query::peek::Peek;
use tenure_kernel::shape::Resumed;

use super::{Group, Spec, read};
use crate::callable::callable;
use crate::context::Context;

pub(super) const SPEC: Spec = Spec {
    name: "resume",
    aliases: &["continue", "prime", "begin"],
    group: Group::Everyday,
    about: "Go on where you stopped, or take the best task: with everything there is to know about it",
    examples: &["tenure resume", "tenure resume --label backend", "tenure resume --peek --budget 600"],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        if !args.peek {
            context.will_write();
        }
        let given = args.ttl.as_deref().map(Span::parse).transpose()?.map(hold::ttl).transpose()?;
        let ttl = given.or(context.place()?.config.task_ttl);
        let labels = args.labels.or_default(context)?;
        let request = Resume { labels, ttl_s: ttl.map(Span::as_seconds), budget: args.budget, limit: args.limit };
        if args.peek {
            let seen = peek(context, &request)?;
            if context.out.is_json() {
                context.out.data(&seen);
            } else {
                context.out.text(&callable(seen.brief.text, context.env));
            }
            return Ok(0);
        }
        let (answer, reply) = context.answer(request)?;
        if context.out.is_json() {
            context.out.body(&reply.body);
        } else {
            context.out.text(&callable(answer.brief.text.clone(), context.env));
        }
        let new = !answer.events.items.is_empty() || answer.events.more;
        // The text has what found room in it, the document has all that is offered.
        let (events, mail) = match context.out.is_json() {
            true => (answer.events.offered, answer.mail.offered),
            false => (answer.brief.events, answer.brief.mail),
        };
        context.confirm(events.filter(|_| new), mail);
        Ok(0)
    },
};

/// What `resume` would answer now.
pub(super) fn peek(context: &Context<'_>, request: &Resume) -> Result<Resumed> {
    let tree = context.tree();
    let query = Peek(request.clone());
    context.ask_who_holds_with(|client, call| {
        let mut call: Call = call.clone();
        if let Some(here) = &mut call.checkout {
            here.tree = tree.clone();
        }
        client.ask(&call, &query)
    })
}

#[derive(clap::Args)]
struct Args {
    /// Only look: take nothing, and count nothing as told
    #[arg(long)]
    peek: bool,
    /// The size of the brief in tokens of 4 bytes, 1500 by default
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    budget: Option<i64>,
    /// How many events since last time are told at the most, 20 by default
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How long a new hold lives without a call of yours: 1s to 24h, 60m by default
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    #[command(flatten)]
    labels: super::list::Labels,
}
