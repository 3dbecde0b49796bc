//! `tenure claim`

use clap::Args as _;
use tenure_core::{Span, hold};
use tenure_kernel::op::claim::Claim;

use super::{Group, Run, Spec, read, task_id};
use crate::output::task::claimed;
use crate::session::{RunOptions, Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "claim",
    aliases: &["take", "start"],
    group: Group::Everyday,
    about: "Claim a task: the named one, or the best ready one",
    examples: &["tenure claim", "tenure claim t-7k3fq", "tenure claim --label backend --ttl 20m"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let given = args.ttl.as_deref().map(Span::parse).transpose()?.map(hold::ttl).transpose()?;
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let ttl = given.or(session.workspace.config.task_ttl);
        let task = args.task.as_deref().map(|typed| task_id(session, typed)).transpose()?;
        // A task that is named is meant, whatever its labels.
        let labels = if task.is_some() { args.labels.label } else { args.labels.or_default(session)? };
        let request = Claim { task, ttl_s: ttl.map(Span::as_seconds), labels };
        let reply = session.run(request, RunOptions::default())?;
        let answer = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
        } else {
            session.out.text(&claimed(session.out, &answer));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The task, by a unique beginning of its id
    #[arg(value_name = "ID")]
    task: Option<String>,
    /// How long the hold lives without a call: 1s to 24h; default: 60m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    #[command(flatten)]
    labels: super::list::Labels,
}
