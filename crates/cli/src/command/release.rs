//! `tenure release`

use clap::Args as _;
use tenure_kernel::Op;
use tenure_kernel::op::release::Request;
use tenure_kernel::shape::Task;

use super::done::Acting;
use super::{Group, Spec, print_task, read};

pub(super) const SPEC: Spec = Spec {
    name: "release",
    aliases: &["unlock", "unclaim"],
    group: Group::Everyday,
    about: "Give your task back",
    examples: &["tenure release", "tenure release t-7k3fq --reason \"not my area\""],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        context.will_write();
        let task = context.task_id_or_focus(args.acting.task.as_deref())?;
        let request = Request {
            task,
            reason: args.reason.unwrap_or_default(),
            fence: args.acting.fence,
            force: args.acting.force,
        };
        let (task, reply) = context.answer::<Task>(&Op::Release(request))?;
        print_task(context, "Released", &task, &reply.body);
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    acting: Acting,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}
