//! `tenure transfer`

use clap::Args as _;
use tenure_kernel::op::transfer::Transfer;

use super::done::Acting;
use super::{Group, Spec, read};

pub(super) const SPEC: Spec = Spec {
    name: "transfer",
    aliases: &["handoff", "reassign"],
    group: Group::People,
    about: "Hand a held task to another agent",
    examples: &["tenure transfer t-7k3fq --to codex-2", "tenure transfer --to codex-2"],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        context.will_write();
        let task = context.task_id_or_focus(args.acting.task.as_deref())?;
        let request =
            Transfer { task, to: args.to.into(), fence: args.acting.fence.map(Into::into), force: args.acting.force };
        let (answer, reply) = context.answer(request)?;
        if context.out.is_json() {
            context.out.body(&reply.body);
            return Ok(0);
        }
        for hold in &answer.holds {
            context.out.text(&format!("{} is held by {} now, fence {}", hold.subject, hold.holder, hold.fence));
        }
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    acting: Acting,
    /// The agent that gets it
    #[arg(long, value_name = "AGENT")]
    to: String,
}
