//! `tenure reopen`

use clap::Args as _;
use tenure_kernel::op::reopen::Reopen;

use super::{Group, Spec, print_task, read};

pub(super) const SPEC: Spec = Spec {
    name: "reopen",
    aliases: &[],
    group: Group::People,
    about: "Open a finished or cancelled task again",
    examples: &["tenure reopen t-7k3fq --reason \"broke on staging\""],
    args: Args::augment_args,
    run: |session, matches| {
        let args: Args = read(matches)?;
        session.will_write();
        let request = Reopen { task: session.task_id(&args.task)?, reason: args.reason.unwrap_or_default() };
        let (task, reply) = session.answer(request)?;
        print_task(session, "Reopened", &task, &reply.body);
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    /// The task: any unique beginning of its id
    #[arg(value_name = "ID")]
    task: String,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}
