//! `tenure reopen`

use clap::Args as _;
use tenure_kernel::op::reopen::Reopen;

use super::{Group, Run, Spec, print_task, read, task_id};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "reopen",
    aliases: &[],
    group: Group::People,
    about: "Open a finished or cancelled task again",
    examples: &["tenure reopen t-7k3fq --reason \"broke on staging\""],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        let request = Reopen { task: task_id(session, &args.task)?, reason: args.reason.unwrap_or_default() };
        let reply = session.run(request, RunOptions::default())?;
        let task = reply.read()?;
        print_task(session, "Reopened", &task, &reply.body);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The task: any unique beginning of its id
    #[arg(value_name = "ID")]
    task: String,
    /// Why
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}
