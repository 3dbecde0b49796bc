//! `tenure unblock`

use clap::Args as _;
use tenure_kernel::op::unblock::Unblock;

use super::{Group, Run, Spec, print_task, read, task_id};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "unblock",
    aliases: &[],
    group: Group::People,
    about: "Say that a blocked task can go on",
    examples: &["tenure unblock t-7k3fq"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        let task = task_id(session, &args.task)?;
        let reply = session.run(Unblock { task }, RunOptions::default())?;
        let task = reply.read()?;
        print_task(session, "Unblocked", &task, &reply.body);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The task: any unique beginning of its id
    #[arg(value_name = "ID")]
    task: String,
}
