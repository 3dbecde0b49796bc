//! `tenure transfer`

use clap::Args as _;
use tenure_core::text::cut;
use tenure_kernel::op::transfer::Transfer;

use super::held::{self, Held, HeldArgs};
use super::{Group, Run, Spec, read};
use crate::session::RunOptions;

pub(super) const SPEC: Spec = Spec {
    name: "transfer",
    aliases: &["handoff", "reassign"],
    group: Group::People,
    about: "Transfer a task, paths, a lock or everything you hold",
    examples: &[
        "tenure transfer t-7k3fq --to codex-2",
        "tenure transfer src/store/ --to codex-2",
        "tenure transfer deploy --to codex-2",
        "tenure transfer --all --to codex-2",
        "tenure transfer --all --from claude-5f0c --to codex-2 --force",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (session, Held { task, hold, paths, fold_case, lock }) = held::named(settings, out, args.held)?;
        let request = Transfer {
            task,
            to: args.to.into(),
            fence: args.fence.map(Into::into),
            force: args.force,
            hold,
            paths,
            lock,
            fold_case,
            all: args.all,
            from: args.from.map(Into::into),
        };
        let reply = session.run(request, RunOptions::default())?;
        let answer = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
            return Ok(0);
        }
        for hold in &answer.holds {
            let shown = cut(&hold.subject, 120);
            session.out.text(&format!("{shown} is now held by {}, fence {}", hold.holder, hold.fence));
        }
        if answer.holds.is_empty() {
            session.out.text("Your hold has ended; the other agent shares the same path already.");
        }
        if let Some(more) = answer.more {
            session.out.text(&format!("and {more} more"));
        }
        for hold in &answer.stays {
            let shown = cut(&hold.subject, 120);
            session.out.text(&format!("The lock {shown} stays with the command that runs under it"));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    held: HeldArgs,
    /// The new holder
    #[arg(long, value_name = "AGENT")]
    to: String,
    /// Everything that is held, all or none
    #[arg(long, conflicts_with_all = ["what", "lock", "fence"])]
    all: bool,
    /// With --all: the agent that holds it; you without it
    #[arg(long, value_name = "AGENT", requires = "all")]
    from: Option<String>,
    /// The fence to act under, in place of the one last shown to you
    #[arg(long, value_name = "N")]
    fence: Option<i64>,
    /// Override the holder (people only; recorded)
    #[arg(long)]
    force: bool,
}
