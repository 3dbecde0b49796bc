//! `tenure cancel`

use clap::Args as _;
use tenure_kernel::op::cancel::Cancel;

use super::done::ActingArgs;
use super::{Group, Run, Spec, print_task, read, task_id_or_focus};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "cancel",
    aliases: &["drop"],
    group: Group::People,
    about: "Give a task up; what depends on it is stuck until somebody edits or reopens",
    examples: &["tenure cancel t-7k3fq --reason \"no longer wanted\""],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        let task = task_id_or_focus(session, args.acting.task.as_deref())?;
        let request = Cancel {
            task,
            reason: args.reason.unwrap_or_default(),
            fence: args.acting.fence.map(Into::into),
            force: args.acting.force,
        };
        let reply = session.run(request, RunOptions::default())?;
        let task = reply.read()?;
        print_task(session, "Cancelled", &task, &reply.body);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    acting: ActingArgs,
    /// Why
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}
