//! `tenure add`

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::{Code, Error, task};
use tenure_kernel::op::add::Add;

use super::{Group, Run, Spec, bulk, print_task, read, task_id};
use crate::session::{RunOptions, Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "add",
    aliases: &["create", "new"],
    group: Group::Everyday,
    about: "Add a task, or many from standard input",
    examples: &[
        "tenure add \"Fix the login\" --priority 1 --label backend",
        "tenure add \"Release\" --after t-7k3fq --acceptance \"tag pushed\"",
        "tenure add --stdin < tasks.jsonl",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        if args.stdin {
            return bulk::add(settings, out);
        }
        let title = args.title.ok_or_else(|| {
            Error::usage(Code::TitleEmpty, "no title was given")
                .attempt(Action::AddTask { title: "Fix the login".to_owned() })
        })?;
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let after = args.after.iter().map(|typed| task_id(session, typed)).collect::<Result<_, _>>()?;
        let request = Add {
            title,
            description: args.description.unwrap_or_default(),
            acceptance: args.acceptance.unwrap_or_default(),
            priority: args.priority.unwrap_or(task::PRIORITY_DEFAULT),
            labels: args.label,
            after,
            assignee: args.assignee.map(Into::into),
        };
        let reply = session.run(request, RunOptions::default())?;
        let task = reply.read()?;
        print_task(session, "Added", &task, &reply.body);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// One line of 1 to 500 characters
    #[arg(value_name = "TITLE", conflicts_with = "stdin")]
    title: Option<String>,
    /// More lines, at most 64 KiB
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// What must be true when it is done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    acceptance: Option<String>,
    /// 0 (first) to 4 (last), 2 by default
    #[arg(long, short, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// A label; may be repeated
    #[arg(long, short, value_name = "LABEL")]
    label: Vec<String>,
    /// A task it comes after; may be repeated
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    after: Vec<String>,
    /// The agent it is for
    #[arg(long = "for", value_name = "AGENT")]
    assignee: Option<String>,
    /// Read one JSON object a line: title, description, priority, labels, acceptance, after, key
    #[arg(long, conflicts_with_all = ["description", "acceptance", "priority", "label", "after", "assignee"])]
    stdin: bool,
}
