//! `tenure add`

use std::path::{Path, PathBuf};

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::{Code, Error, Result, task};
use tenure_kernel::op::add::Add;
use tenure_kernel::op::add_many::{AddMany, BYTES_MAX};

use super::{Group, Run, Spec, bulk, input, print_task, read, task_id};
use crate::output::Printer;
use crate::session::{RunOptions, Session, StoreUse};
use crate::settings::Settings;

pub(super) const SPEC: Spec = Spec {
    name: "add",
    aliases: &["create", "new"],
    group: Group::Everyday,
    about: "Add a task, or many from a list",
    examples: &[
        "tenure add \"Fix the login\" --priority 1 --label backend",
        "tenure add \"Release\" --after t-7k3fq --acceptance \"tag pushed\"",
        "tenure add --lines TODO.md --label backend",
        "tenure add --stdin < tasks.jsonl",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        if args.stdin {
            return bulk::add(settings, out, AddMany::parse(&input::read(Path::new("-"), BYTES_MAX)?)?, false);
        }
        if let Some(file) = &args.lines {
            return lines(settings, out, &args, file);
        }
        let (title, label) = title(&args.title, args.r#type, args.label)?;
        let title = title.ok_or_else(|| {
            Error::usage(Code::TitleEmpty, "no title was given")
                .attempt(Action::AddTask { title: "Fix the login".to_owned() })
        })?;
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let after = args.after.iter().map(|typed| task_id(session, typed)).collect::<Result<_>>()?;
        let request = Add {
            title,
            description: args.description.unwrap_or_default(),
            acceptance: args.acceptance.unwrap_or_default(),
            priority: args.priority.unwrap_or(task::PRIORITY_DEFAULT),
            labels: label,
            after,
            assignee: args.assignee.map(Into::into),
        };
        let reply = session.run(request, RunOptions::default())?;
        let task = reply.read()?;
        print_task(session, "Added", &task, &reply.body);
        Ok(0)
    }),
};

/// Adds one task for each line of a text, all with the given priority and labels.
fn lines(settings: &Settings<'_>, out: &Printer, args: &Args, file: &Path) -> Result<u8> {
    let (mut request, checked) = AddMany::of_lines(&input::read(file, BYTES_MAX)?)?;
    for item in &mut request.items {
        item.priority = args.priority.unwrap_or(item.priority);
        item.labels.clone_from(&args.label);
    }
    if checked > 0 {
        out.aside(&format!("left out {checked} checked {}", if checked == 1 { "item" } else { "items" }));
    }
    bulk::add(settings, out, request, false)
}

#[derive(clap::Args)]
struct Args {
    /// The title: one line of 1 to 500 characters
    #[arg(value_name = "TITLE", conflicts_with_all = ["stdin", "lines"])]
    title: Vec<String>,
    /// The description, at most 64 KiB
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// The acceptance criteria
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    acceptance: Option<String>,
    /// The priority, 0 (first) to 4 (last); default: 2
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = super::priority)]
    priority: Option<i64>,
    /// A label; may be repeated
    #[arg(long, short, value_name = "LABEL")]
    label: Vec<String>,
    // Other trackers have a type, which is a label here, or mean the title by `-t`.
    #[arg(long, short = 't', hide = true)]
    r#type: Option<String>,
    /// A task that must be done first; may be repeated
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    after: Vec<String>,
    /// The assignee
    #[arg(long = "for", value_name = "AGENT")]
    assignee: Option<String>,
    /// Read one JSON object per line: title, description, priority, labels, acceptance, after, key
    #[arg(long, conflicts_with_all = ["description", "acceptance", "priority", "label", "after", "assignee"])]
    stdin: bool,
    /// Add one task per line of a text file, all or none; - for standard input
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["stdin", "description", "acceptance", "after", "assignee"])]
    lines: Option<PathBuf>,
}

/// The title, and the labels with the type among them. Words without quotes are a title; where one of them was quoted, they
/// were meant to be several things.
fn title(words: &[String], kind: Option<String>, mut labels: Vec<String>) -> Result<(Option<String>, Vec<String>)> {
    if words.is_empty() {
        return Ok((kind, labels));
    }
    labels.extend(kind.filter(|kind| kind != "task"));
    if words.len() > 1 && words.iter().any(|word| word.contains(char::is_whitespace)) {
        let [first, second, ..] = words else { return Err(Error::bug("two words that are fewer")) };
        let shown = |text: &str| tenure_core::text::shell_word(text).unwrap_or_else(|| "\"…\"".to_owned());
        let meant = format!("tenure add {} --description {}", shown(first), shown(second));
        return Err(Error::usage(Code::BadArguments, "a task has one title, and several texts were given")
            .hint("The title is one argument; what follows it goes into the description.")
            .attempt(Action::Said { text: meant })
            .attempt(Action::Help { command: Some("add".to_owned()) }));
    }
    Ok((Some(words.join(" ")), labels))
}
