//! `tenure unblock`

use clap::Args as _;
use tenure_kernel::op::unblock::Unblock;

use super::several::{self, Acted};
use super::{Group, Run, Spec, read, task_id};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "unblock",
    aliases: &[],
    group: Group::People,
    about: "Unblock a task",
    examples: &["tenure unblock t-7k3fq"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        several::each(session, &args.tasks, |typed| {
            let reply = session.run(Unblock { task: task_id(session, typed)? }, RunOptions::default())?;
            Ok(Acted::on(session, "Unblocked", &reply.read()?, reply.body))
        })
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The tasks, by a unique beginning of each id
    #[arg(value_name = "ID", required = true)]
    tasks: Vec<String>,
}
