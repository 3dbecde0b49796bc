//! `tenure unblock`

use clap::Args as _;
use tenure_kernel::op::unblock::Unblock;

use super::{Group, Spec, print_task, read};

pub(super) const SPEC: Spec = Spec {
    name: "unblock",
    aliases: &[],
    group: Group::People,
    about: "Say that a blocked task can go on",
    examples: &["tenure unblock t-7k3fq"],
    args: Args::augment_args,
    run: |session, matches| {
        let args: Args = read(matches)?;
        session.will_write();
        let task = session.task_id(&args.task)?;
        let (task, reply) = session.answer(Unblock { task })?;
        print_task(session, "Unblocked", &task, &reply.body);
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    /// The task: any unique beginning of its id
    #[arg(value_name = "ID")]
    task: String,
}
