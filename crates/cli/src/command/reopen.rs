//! `tenure reopen`

use clap::Args as _;
use tenure_kernel::op::reopen::Reopen;

use super::several::{self, Acted};
use super::{Group, Run, Spec, read, task_id};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "reopen",
    aliases: &[],
    group: Group::People,
    about: "Reopen a finished or cancelled task",
    examples: &["tenure reopen t-7k3fq --reason \"broke on staging\""],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        several::each(session, &args.tasks, |typed| {
            let request = Reopen { task: task_id(session, typed)?, reason: args.reason.clone().unwrap_or_default() };
            let reply = session.run(request, RunOptions::default())?;
            Ok(Acted::on(session, "Reopened", &reply.read()?, reply.body))
        })
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The tasks, by a unique beginning of each id
    #[arg(value_name = "ID", required = true)]
    tasks: Vec<String>,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}
