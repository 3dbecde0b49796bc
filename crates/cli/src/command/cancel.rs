//! `tenure cancel`

use clap::Args as _;
use tenure_kernel::op::cancel::Cancel;

use super::several::{Acted, SeveralArgs};
use super::{Group, Run, Spec, read, task_id_or_focus};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "cancel",
    aliases: &["drop"],
    group: Group::People,
    about: "Cancel a task; tasks that depend on it are stuck",
    examples: &["tenure cancel t-7k3fq --reason \"no longer wanted\""],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        args.acting.each(session, |typed| {
            let request = Cancel {
                task: task_id_or_focus(session, typed)?,
                reason: args.reason.clone().unwrap_or_default(),
                fence: args.acting.fence.map(Into::into),
                force: args.acting.force,
            };
            let reply = session.run(request, RunOptions::default())?;
            Ok(Acted::on(session, "Cancelled", &reply.read()?, reply.body))
        })
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    acting: SeveralArgs,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}
