//! `tenure transfer`

use clap::Args as _;
use tenure_kernel::op::transfer::Transfer;

use super::done::ActingArgs;
use super::{Group, Run, Spec, read, task_id_or_focus};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "transfer",
    aliases: &["handoff", "reassign"],
    group: Group::People,
    about: "Transfer a held task to another agent",
    examples: &["tenure transfer t-7k3fq --to codex-2", "tenure transfer --to codex-2"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        let task = task_id_or_focus(session, args.acting.task.as_deref())?;
        let request =
            Transfer { task, to: args.to.into(), fence: args.acting.fence.map(Into::into), force: args.acting.force };
        let reply = session.run(request, RunOptions::default())?;
        let answer = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
            return Ok(0);
        }
        for hold in &answer.holds {
            session.out.text(&format!("{} is now held by {}, fence {}", hold.subject, hold.holder, hold.fence));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    acting: ActingArgs,
    /// The new holder
    #[arg(long, value_name = "AGENT")]
    to: String,
}
