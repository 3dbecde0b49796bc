//! `tenure next`

use clap::Args as _;
use tenure_kernel::query::next::Next;

use super::{Group, Run, Spec, read};
use crate::output::task::{body, line};
use crate::session::StoreUse;

pub(super) const SPEC: Spec = Spec {
    name: "next",
    aliases: &[],
    group: Group::Everyday,
    about: "Show the task that `claim` would take, and why",
    examples: &["tenure next", "tenure next --label backend --json"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Read, |session, matches| {
        let args: Args = read(matches)?;
        let labels = args.labels.or_default(session)?;
        let next = session.ask_who_holds(&Next { labels })?;
        if session.out.is_json() {
            session.out.data(&next);
            return Ok(0);
        }
        match &next.task {
            None => session.out.text(&format!("No task to take: {}.", next.reason)),
            Some(task) => session.out.text(&format!(
                "{}\n  {}\n{}\nTake it: tenure claim {}\n",
                line(session.out, task),
                next.reason,
                body(session.out, task),
                task.id
            )),
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    #[command(flatten)]
    labels: super::list::Labels,
}
