//! `tenure complete-words`: what may stand where the cursor is. Shells ask it; people do not.
//!
//! It only reads, and says nothing where something is wrong: an error would be in the middle of what a person types.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Arg, Args as _, Command};
use tenure_core::Result;
use tenure_core::text::cut;
use tenure_kernel::query::LIMIT_MAX;
use tenure_kernel::query::agents::Agents;
use tenure_kernel::query::list::List;
use tenure_kernel::query::projects::Projects;

use super::super::{Group, Run, Spec, read};
use crate::args::{build, root};
use crate::command::ALL;
use crate::intent;
use crate::output::{ColourChoice, Printer};
use crate::session::{Session, StoreUse};
use crate::settings::{Globals, Settings};

/// How much of a title stands beside its id.
const TITLE: usize = 60;
/// How many tasks are offered.
const TASKS: usize = 200;

pub(in crate::command) const SPEC: Spec = Spec {
    name: "complete-words",
    aliases: &[],
    group: Group::Hidden,
    about: "Print what may stand at the cursor, for completion scripts",
    examples: &[],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let lines: String = candidates(settings, &args.words).iter().map(|found| found.line(&args.shell)).collect();
        out.raw(lines.as_bytes());
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    shell: String,
    /// The words after `tenure`, up to the cursor.
    #[arg(last = true)]
    words: Vec<OsString>,
}

/// Something that may stand at the cursor.
#[derive(Debug, PartialEq, Eq)]
struct CompletionCandidate {
    value: String,
    about: String,
}

impl CompletionCandidate {
    fn new(value: &str, about: &str) -> CompletionCandidate {
        CompletionCandidate { value: value.to_owned(), about: cut(about, TITLE) }
    }

    fn line(&self, shell: &str) -> String {
        let CompletionCandidate { value, about } = self;
        match shell {
            "zsh" => format!("{}:{about}\n", value.replace(':', "\\:")),
            _ if about.is_empty() => format!("{value}\n"),
            _ => format!("{value}\t{about}\n"),
        }
    }
}

/// What a word at the cursor stands for.
#[derive(Debug, PartialEq, Eq)]
enum WordKind {
    Command,
    /// A flag, or the value of an argument.
    Flag,
    /// One of these values.
    Value(Vec<CompletionCandidate>),
    Task,
    Agent,
    Label,
    Project,
    Other,
}

/// The candidates for the last of some words, which may be empty or half typed.
fn candidates(settings: &Settings<'_>, words: &[OsString]) -> Vec<CompletionCandidate> {
    let Some(words) = words.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>() else { return Vec::new() };
    let (&current, before) = words.split_last().unwrap_or((&"", &[]));
    let command = command(before);
    let found = match kind_of(&command, before, current) {
        WordKind::Command => commands(),
        WordKind::Flag => flags(&command),
        WordKind::Value(values) => values,
        WordKind::Other => Vec::new(),
        stored => asked(settings, before, &stored).unwrap_or_default(),
    };
    found.into_iter().filter(|candidate| candidate.value.starts_with(current)).collect()
}

/// The command that was typed, with its subcommand, and all global flags; without one the root.
fn command(before: &[&str]) -> Command {
    let typed: Vec<OsString> = before.iter().map(OsString::from).collect();
    let spec = intent::position(&typed).and_then(|at| Some((at, intent::of_name(before[at])?)));
    let Some((at, spec)) = spec else { return root() };
    let command = build(spec);
    let verb = before[at + 1..].iter().find_map(|word| command.find_subcommand(word).cloned());
    root().get_arguments().fold(verb.unwrap_or(command), |command, global| command.arg(global.clone()))
}

fn kind_of(command: &Command, before: &[&str], current: &str) -> WordKind {
    if let Some(flag) = before.last().and_then(|word| flag(command, word))
        && flag.get_action().takes_values()
    {
        return of_value(flag);
    }
    if current.starts_with('-') && !before.contains(&"--") {
        return WordKind::Flag;
    }
    if command.get_name() == "tenure" {
        return WordKind::Command;
    }
    let verbs: Vec<CompletionCandidate> = command.get_subcommands().map(described).collect();
    if !verbs.is_empty() {
        return WordKind::Value(verbs);
    }
    command.get_positionals().find(|positional| !positional.is_hide_set()).map_or(WordKind::Other, of_value)
}

/// The argument that a flag names.
fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    command.get_opts().chain(command.get_arguments()).find(|argument| match word.strip_prefix("--") {
        Some(long) => argument.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
        None => word.strip_prefix('-').is_some_and(|short| {
            short.chars().count() == 1 && argument.get_short().is_some_and(|known| short.starts_with(known))
        }),
    })
}

/// What the value of an argument is: what its parser takes, else what its name says.
fn of_value(argument: &Arg) -> WordKind {
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let about = |value: &clap::builder::PossibleValue| value.get_help().map_or(String::new(), ToString::to_string);
        let values = possible.iter().filter(|value| !value.is_hide_set());
        return WordKind::Value(
            values.map(|value| CompletionCandidate::new(value.get_name(), &about(value))).collect(),
        );
    }
    let name = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    match name {
        "ID" | "ID|LOCK|PATH" | "ID|PATH" | "[ID] TEXT" | "TASK" => WordKind::Task,
        "AGENT" | "HOLDER" => WordKind::Agent,
        "LABEL" => WordKind::Label,
        "PROJECT" => WordKind::Project,
        "NAME" if argument.get_id() == "project" => WordKind::Project,
        "NAME" if argument.get_id() == "agent" => WordKind::Agent,
        name if name.contains("ID") && !name.contains("WIDTH") => WordKind::Task,
        _ => WordKind::Other,
    }
}

fn described(command: &Command) -> CompletionCandidate {
    CompletionCandidate::new(command.get_name(), &command.get_about().map_or(String::new(), ToString::to_string))
}

fn commands() -> Vec<CompletionCandidate> {
    let shown = ALL.iter().filter(|spec| spec.group != Group::Hidden);
    shown.map(|spec| CompletionCandidate::new(spec.name, spec.about)).collect()
}

fn flags(command: &Command) -> Vec<CompletionCandidate> {
    let about = |argument: &Arg| argument.get_help().map_or(String::new(), ToString::to_string);
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let mut flags: Vec<CompletionCandidate> = shown
        .filter_map(|flag| Some(CompletionCandidate::new(&format!("--{}", flag.get_long()?), &about(flag))))
        .collect();
    flags.push(CompletionCandidate::new("--help", "Print help"));
    flags
}

/// What the store has.
fn asked(settings: &Settings<'_>, before: &[&str], kind: &WordKind) -> Result<Vec<CompletionCandidate>> {
    let given = |flag: &str| {
        let typed = before.iter().position(|word| *word == flag).and_then(|at| before.get(at + 1));
        let joined = before.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        typed.copied().or(joined).map(str::to_owned)
    };
    let globals = Globals { project: given("--project"), store: given("--store"), ..Globals::default() };
    let settings = &Settings::new(globals, settings.env);
    let out = Printer::new(false, true, ColourChoice::Never, settings.env);
    let session = Session::open(settings, &out, StoreUse::Read)?;
    let open = || session.ask(&List { limit: TASKS, ..List::default() });
    Ok(match kind {
        WordKind::Task => open()?.items.iter().map(|task| CompletionCandidate::new(&task.id, &task.title)).collect(),
        WordKind::Label => {
            let labels: BTreeSet<String> = open()?.items.into_iter().flat_map(|task| task.labels).collect();
            labels.iter().map(|label| CompletionCandidate::new(label, "")).collect()
        }
        WordKind::Agent => {
            let page = session.ask(&Agents { within_us: None, limit: LIMIT_MAX, cursor: None })?;
            page.items.iter().map(|agent| CompletionCandidate::new(&agent.name, agent.liveness.as_str())).collect()
        }
        WordKind::Project => {
            let page = session.ask(&Projects { limit: LIMIT_MAX, cursor: None })?;
            page.items.iter().map(|project| CompletionCandidate::new(&project.label, &project.key)).collect()
        }
        WordKind::Command | WordKind::Flag | WordKind::Value(_) | WordKind::Other => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &str) -> WordKind {
        let words: Vec<&str> = line.split(' ').collect();
        let (current, before) = words.split_last().unwrap();
        kind_of(&command(before), before, current)
    }

    #[test]
    fn what_may_stand_at_the_cursor_follows_from_the_words_before_it() {
        for (line, expected) in [
            ("", WordKind::Command),
            ("cla", WordKind::Command),
            ("claim ", WordKind::Task),
            ("close ", WordKind::Task),
            ("list --label ", WordKind::Label),
            ("list -l ", WordKind::Label),
            ("list --holder ", WordKind::Agent),
            ("--project ", WordKind::Project),
            ("list --pro", WordKind::Flag),
            ("backup ", WordKind::Other),
        ] {
            assert_eq!(at(line), expected, "{line}");
        }
        let WordKind::Value(states) = at("list --state ") else { panic!("states") };
        assert!(states.iter().any(|state| state.value == "ready"));
        let WordKind::Value(verbs) = at("project ") else { panic!("verbs") };
        assert!(verbs.iter().any(|verb| verb.value == "forget"));
        assert_eq!(at("member set person:ann --role x --in "), WordKind::Project);
    }
}
