//! `tenure snooze`

use clap::Args as _;
use tenure_core::{Span, Time};
use tenure_kernel::op::snooze::Snooze;

use super::{Group, Run, Spec, print_task, read, task_id};
use crate::session::{RunOptions, Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "snooze",
    aliases: &["defer"],
    group: Group::People,
    about: "Withhold a task until a given time",
    examples: &["tenure snooze t-7k3fq 2h", "tenure snooze t-7k3fq 3d", "tenure snooze t-7k3fq --clear"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (for_s, until) = match args.time.as_deref() {
            // A duration has a unit and no `T`.
            Some(time) if time.contains(['T', 't']) => (None, Some(Time::parse(time)?)),
            Some(time) => (Some(Span::parse(time)?.as_seconds()), None),
            None => (Some(0), None),
        };
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let request = Snooze { task: task_id(session, &args.task)?, for_s, until };
        let reply = session.run(request, RunOptions::default())?;
        let task = reply.read()?;
        let verb = if task.not_before.is_some() { "Snoozed" } else { "Offered again:" };
        print_task(session, verb, &task, &reply.body);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The task, by a unique beginning of its id
    #[arg(value_name = "ID")]
    task: String,
    /// A duration such as 2h or 3d, or an RFC 3339 time; `claim ID` still works
    #[arg(value_name = "TIME", required_unless_present = "clear", allow_hyphen_values = true)]
    time: Option<String>,
    /// End the snooze
    #[arg(long, conflicts_with = "time")]
    clear: bool,
}
