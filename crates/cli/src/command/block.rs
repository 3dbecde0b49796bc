//! `tenure block`

use clap::Args as _;
use tenure_kernel::op::block::Block;

use super::done::ActingArgs;
use super::{Group, Run, Spec, print_task, read, task_id, task_id_or_focus};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "block",
    aliases: &[],
    group: Group::Everyday,
    about: "Block a task that cannot continue, with a reason",
    examples: &[
        "tenure block --reason \"needs the staging key\"",
        "tenure block t-7k3fq --reason \"API first\" --on t-9m2xq",
    ],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        let task = task_id_or_focus(session, args.acting.task.as_deref())?;
        let on = args.on.as_deref().map(|typed| task_id(session, typed)).transpose()?;
        let request =
            Block { task, reason: args.reason, on, fence: args.acting.fence.map(Into::into), force: args.acting.force };
        let reply = session.run(request, RunOptions::default())?;
        let task = reply.read()?;
        print_task(session, "Blocked", &task, &reply.body);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    acting: ActingArgs,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
    /// The task that blocks it, until that task is done
    #[arg(long, value_name = "ID")]
    on: Option<String>,
}
