//! `tenure edit`

mod editor;
mod form;

use clap::Args as _;
use tenure_core::id::TaskId;
use tenure_kernel::op::edit::Edit;
use tenure_kernel::query::show::Show;

use super::several::{self, Acted};
use super::{Group, Run, Spec, read, task_id};
use crate::output::task::changes;
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "edit",
    aliases: &["update"],
    group: Group::People,
    about: "Change a task's text, priority, labels or dependencies",
    examples: &[
        "tenure edit t-7k3fq --priority 0 --label urgent",
        "tenure edit t-7k3fq --title \"Fix the login page\" --expect-version 3",
        "tenure edit t-7k3fq --after t-9m2xq",
        "tenure edit t-7k3fq",
    ],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        let after: Option<Vec<TaskId>> = if args.no_after {
            Some(Vec::new())
        } else if args.after.is_empty() {
            None
        } else {
            Some(args.after.iter().map(|typed| task_id(session, typed)).collect::<Result<_, _>>()?)
        };
        if let ([typed], true) = (args.tasks.as_slice(), args.is_bare()) {
            return editor::edit(session, &task_id(session, typed)?);
        }
        several::each(session, &args.tasks, |typed| {
            let args = args.clone();
            let task = task_id(session, typed)?;
            // What a person is told is the difference. Another edit in between only shows in it.
            let before = match session.out.is_json() {
                true => None,
                false => Some(session.ask(&Show { id: task.to_string() })?.task),
            };
            let request = Edit {
                task,
                title: args.title,
                description: args.description,
                acceptance: args.acceptance,
                priority: args.priority,
                add_labels: args.label,
                remove_labels: args.unlabel,
                assignee: args.assignee.map(Into::into),
                after: after.clone(),
                expect_version: args.expect_version,
            };
            let reply = session.run(request, RunOptions::default())?;
            let after = reply.read()?;
            let changed = before.map_or_else(Vec::new, |before| changes(&before, &after));
            let verb = if changed.is_empty() { "Unchanged:" } else { "Edited" };
            let mut acted = Acted::on(session, verb, &after, reply.body);
            changed
                .iter()
                .for_each(|change| acted.text.push_str(&format!("\n{}", session.out.prose(&format!("  {change}"), 2))));
            Ok(acted)
        })
    }),
};

impl Args {
    /// Whether nothing to change was given.
    fn is_bare(&self) -> bool {
        let texts = [&self.title, &self.description, &self.acceptance, &self.assignee];
        let lists = [&self.label, &self.unlabel, &self.after];
        texts.iter().all(|text| text.is_none())
            && lists.iter().all(|list| list.is_empty())
            && self.priority.is_none()
            && self.expect_version.is_none()
            && !self.no_after
    }
}

#[derive(Clone, clap::Args)]
struct Args {
    /// The tasks, by a unique beginning of each id
    #[arg(value_name = "ID", required = true)]
    tasks: Vec<String>,
    /// A new title
    #[arg(long, value_name = "TITLE", allow_hyphen_values = true)]
    title: Option<String>,
    /// A new description
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// A new acceptance
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    acceptance: Option<String>,
    /// A new priority, 0 (first) to 4 (last)
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = super::priority)]
    priority: Option<i64>,
    /// A label to add; may be repeated
    #[arg(long, short, value_name = "LABEL")]
    label: Vec<String>,
    /// A label to remove; may be repeated
    #[arg(long, value_name = "LABEL")]
    unlabel: Vec<String>,
    /// The assignee; "" for any agent
    #[arg(long = "for", value_name = "AGENT")]
    assignee: Option<String>,
    /// A task that must be done first; replaces all dependencies (people only); may be repeated
    #[arg(long, value_name = "ID", value_delimiter = ',', conflicts_with = "no_after")]
    after: Vec<String>,
    /// Remove all dependencies (people only)
    #[arg(long)]
    no_after: bool,
    /// Refuse if the task has another version
    #[arg(long, value_name = "N")]
    expect_version: Option<i64>,
}
