//! `tenure release`

use clap::Args as _;
use tenure_core::text::cut;
use tenure_kernel::answer::Released;
use tenure_kernel::op::release::Release;

use super::held::{self, Held, HeldArgs};
use super::{Group, Run, Spec, print_task, read};
use crate::output::path::globs;
use crate::session::RunOptions;

pub(super) const SPEC: Spec = Spec {
    name: "release",
    aliases: &["unlock", "unclaim"],
    group: Group::Everyday,
    about: "Release your task, paths or a lock",
    examples: &[
        "tenure release",
        "tenure release t-7k3fq --reason \"not my area\"",
        "tenure release src/lib.rs",
        "tenure release h-7k3fq",
        "tenure release deploy",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (session, Held { task, hold, paths, fold_case, lock }) = held::named(settings, out, args.held)?;
        let (reason, fence) = (args.reason.unwrap_or_default(), args.fence.map(Into::into));
        let request = Release { task, hold, paths, lock, fold_case, reason, fence, force: args.force };
        let reply = session.run(request, RunOptions::default())?;
        let answer = reply.read()?;
        match answer {
            Released::Task(task) => print_task(&session, "Released", &task, &reply.body),
            Released::Paths(_) if session.out.is_json() => session.out.body(&reply.body),
            Released::Paths(ended) => {
                for hold in ended.holds {
                    session.out.text(&format!("Released {}", cut(&hold.subject, 120)));
                }
                for place in ended.left {
                    session.out.text(&format!("Left the waiting line: {place}"));
                }
                if !ended.globs.is_empty() {
                    session.out.text(globs(&ended.globs).trim_end());
                }
            }
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    held: HeldArgs,
    /// The reason
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// The fence to use instead of the one last shown to you
    #[arg(long, value_name = "N")]
    fence: Option<i64>,
    /// Override the holder (people only; recorded)
    #[arg(long)]
    force: bool,
}
