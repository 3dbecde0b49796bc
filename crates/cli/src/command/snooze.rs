//! `tenure snooze`

use clap::Args as _;
use tenure_core::{Span, Time};
use tenure_kernel::op::snooze::Snooze;

use super::{Group, Spec, print_task, read};

pub(super) const SPEC: Spec = Spec {
    name: "snooze",
    aliases: &["defer"],
    group: Group::People,
    about: "Do not offer a task before a time",
    examples: &[
        "tenure snooze t-7k3fq 2h",
        "tenure snooze t-7k3fq 2030-01-31T09:00:00Z",
        "tenure snooze t-7k3fq --clear",
    ],
    args: Args::augment_args,
    run: |session, matches| {
        let args: Args = read(matches)?;
        session.will_write();
        let (for_s, until) = match args.time.as_deref() {
            // A duration has a unit and no `T`.
            Some(time) if time.contains(['T', 't']) => (None, Some(Time::parse(time)?)),
            Some(time) => (Some(Span::parse(time)?.as_seconds()), None),
            None => (Some(0), None),
        };
        let request = Snooze { task: session.task_id(&args.task)?, for_s, until };
        let (task, reply) = session.answer(request)?;
        let verb = if task.not_before.is_some() { "Snoozed" } else { "Offered again:" };
        print_task(session, verb, &task, &reply.body);
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    /// The task: any unique beginning of its id
    #[arg(value_name = "ID")]
    task: String,
    /// How long from now, such as 2h or 3d, or an RFC 3339 time; `claim ID` does not wait for it
    #[arg(value_name = "TIME", required_unless_present = "clear", allow_hyphen_values = true)]
    time: Option<String>,
    /// Offer it again at once
    #[arg(long, conflicts_with = "time")]
    clear: bool,
}
