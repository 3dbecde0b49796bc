//! `tenure done`

use clap::Args as _;
use tenure_kernel::op::done::Done;

use super::several::{Acted, SeveralArgs};
use super::{Group, Run, Spec, read, task_id_or_focus};
use crate::output::task::line;
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "done",
    aliases: &["close", "complete", "finish"],
    group: Group::Everyday,
    about: "Finish your task, or tasks by id",
    examples: &["tenure done", "tenure done -m \"login works again, tests added\"", "tenure done t-7k3fq t-9m2xq"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let Args { acting, summary } = read(matches)?;
        acting.each(session, |typed| {
            let task = task_id_or_focus(session, typed)?;
            let summary = summary.clone().unwrap_or_default();
            let request = Done { task, fence: acting.fence.map(Into::into), force: acting.force, summary };
            let reply = session.run(request, RunOptions::default())?;
            let done = reply.read()?;
            let mut text = format!("Done {}", line(session.out, &done.task));
            if done.late {
                text.push_str("\n  late: your hold had expired, and no agent had taken over");
            }
            if !done.unlocked.is_empty() {
                text.push_str(&format!("\n  ready now: {}", done.unlocked.join(" ")));
            }
            Ok(Acted { text, body: reply.body })
        })
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    acting: SeveralArgs,
    /// What was done, in a few words; kept as a note
    #[arg(long, short = 'm', visible_alias = "message", value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
}

// The arguments of commands that act on a task under a fence.
#[derive(clap::Args)]
pub(super) struct ActingArgs {
    /// The task, by a unique beginning of its id; default: your focus
    #[arg(value_name = "ID")]
    pub(super) task: Option<String>,
    /// The fence to use instead of the one last shown to you
    #[arg(long, value_name = "N")]
    pub(super) fence: Option<i64>,
    /// Override the holder (people only; recorded)
    #[arg(long)]
    pub(super) force: bool,
}
