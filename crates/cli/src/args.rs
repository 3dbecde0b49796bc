//! From the words of the command line to a command: parse, resolve, act.
//!
//! Only the command that was named is built: putting together the arguments of all of them would cost a call as much
//! as opening the store.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use tenure_core::action::Action;
use tenure_core::{Code, Error, Result};

use crate::command::{self, Group, Run, Spec};
use crate::env::Env;
use crate::intent;
use crate::output::{ColourChoice, Printer};
use crate::session::Session;
use crate::settings::{Globals, Settings};

/// Flags of every command that take a value.
pub(crate) const VALUED: [&str; 5] = ["--project", "--agent", "--store", "--request-id", "--color"];
/// Flags of every command that take none.
const PLAIN: [&str; 2] = ["--json", "--quiet"];

/// Runs the command that the words name and returns how the process ends.
pub(crate) fn run(typed: &[OsString], env: &Env) -> ExitCode {
    let meant = intent::meant(typed, std::io::stdout().is_terminal());
    let (words, unmeant) = match meant {
        Ok(words) => (words, None),
        Err(error) => (typed.to_vec(), Some(error)),
    };
    let words = &words;
    let json = wants_json(words, env);
    let quiet = before_dashes(words).any(|word| word == PLAIN[1] || word == "-q");
    let colour = ColourChoice::among(before_dashes(words));
    let out = Printer::new(json, quiet, colour, env);
    let acted = match unmeant {
        None => act(words, env, &out),
        Some(error) => Err(error),
    };
    let exit = match acted {
        Ok(exit) => exit,
        // The caller of a command under a lock can tell by the exit code that it was not the command's own.
        Err(error) if runs_a_command(words) => {
            let exit = crate::runner::not_started(&error);
            crate::failure::report(&out, &error.detail("exit", exit));
            exit
        }
        Err(error) => crate::failure::report(&out, &error),
    };
    ExitCode::from(out.finish(exit))
}

fn act(words: &[OsString], env: &Env, out: &Printer) -> Result<u8> {
    let named = named(words);
    let spec = match &named {
        Some(name) => Some(find(name)?),
        None => None,
    };
    let mut root = root();
    root = match spec {
        Some(spec) => root.subcommand(build(spec)),
        None => root.override_help(overview()),
    };
    // The command may have been named by an alias; clap knows it by its one name.
    let mut line: Vec<OsString> = vec!["tenure".into()];
    line.extend(words.iter().cloned());
    if let Some(spec) = spec
        && let Some(at) = intent::position(words)
    {
        line[at + 1] = spec.name.into();
    }
    let matches = match root.try_get_matches_from_mut(line) {
        Ok(matches) => matches,
        Err(error) => return usage(out, &error, spec),
    };
    let settings = Settings::new(globals(&matches), env);
    let Some((_, own)) = matches.subcommand() else { return command::home::run(&settings, out) };
    let spec = spec.ok_or_else(|| Error::bug("a command without its name"))?;
    match spec.run {
        Run::Plain(run) => run(&settings, out, own),
        Run::InProject(store_use, run) => run(&Session::open(&settings, out, store_use)?, own),
    }
}

/// Prints help, or turns a refusal of clap's into an error of ours.
fn usage(out: &Printer, error: &clap::Error, spec: Option<&Spec>) -> Result<u8> {
    match error.kind() {
        // Help is the answer to a person who left the rest away; a program gets the error.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if out.is_json() => {
            let name = spec.map_or("tenure", |spec| spec.name);
            return Err(Error::usage(Code::BadArguments, format!("`{name}` needs an argument or a subcommand"))
                .attempt(Action::Help { command: Some(name.to_string()) }));
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            out.text(&error.render().to_string());
            return Ok(0);
        }
        ErrorKind::DisplayVersion => {
            out.text(concat!("tenure ", env!("CARGO_PKG_VERSION")));
            return Ok(0);
        }
        _ => {}
    }
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let message = first.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let suggested = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(flag)) => Some(flag.clone()),
        _ => None,
    };
    let command = spec.map(|spec| spec.name.to_owned());
    let refusal = Error::usage(Code::BadArguments, message).attempt(Action::Help { command });
    Err(match suggested {
        Some(flag) => refusal.hint(format!("Did you mean {flag}?")),
        None => refusal,
    })
}

fn globals(matches: &ArgMatches) -> Globals {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    Globals { project: text("project"), store: text("store"), agent: text("agent"), request_id: text("request-id") }
}

/// `tenure` with the flags of every command.
pub(crate) fn root() -> Command {
    let valued = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).global(true).help(help).help_heading("Global")
    };
    let plain = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).global(true).action(ArgAction::SetTrue).help(help).help_heading("Global")
    };
    Command::new("tenure")
        .version(env!("CARGO_PKG_VERSION"))
        .about("The coordination kernel for fleets of AI coding agents")
        .disable_help_subcommand(true)
        .arg(plain("json", "Print one JSON document instead of text (also TENURE_FORMAT=json)"))
        .arg(valued("project", "NAME", "The project by name (also TENURE_PROJECT)"))
        .arg(valued("agent", "NAME", "The name of the calling agent (also TENURE_AGENT)"))
        .arg(valued("store", "PATH|URL", "The store: a file or a postgres:// URL (also TENURE_STORE)"))
        .arg(plain("quiet", "Print nothing but errors").short('q'))
        .arg(
            valued("color", "WHEN", "Colours: auto, always or never (also NO_COLOR)")
                .value_parser(ColourChoice::WORDS)
                .hide_possible_values(true),
        )
        .arg(valued("request-id", "ID", "The id of this request; the same id is executed once"))
}

/// A command as clap sees it.
pub(crate) fn build(spec: &Spec) -> Command {
    let command = Command::new(spec.name).about(spec.about).hide(spec.group == Group::Hidden).after_help(format!(
        "Examples:\n{}",
        spec.examples.iter().map(|line| format!("  {line}\n")).collect::<String>()
    ));
    let aliases: Vec<&'static str> = spec.aliases.to_vec();
    (spec.args)(command.visible_aliases(aliases))
}

/// `tenure` with all its commands, for what describes them.
pub(crate) fn whole() -> Command {
    command::ALL.iter().map(build).fold(root(), Command::subcommand)
}

/// The list of commands that `tenure --help` prints.
pub(crate) fn overview() -> String {
    let mut text = String::from(
        "Tenure: tasks, holds and history for fleets of AI coding agents\n\nUsage: tenure [GLOBAL] <COMMAND> [ARGUMENTS]\n",
    );
    for (group, heading) in [(Group::Everyday, "Everyday"), (Group::People, "People and set-up")] {
        text.push_str(&format!("\n{heading}:\n"));
        for spec in command::ALL.iter().filter(|spec| spec.group == group) {
            text.push_str(&format!("  {:<11} {}\n", spec.name, spec.about));
        }
    }
    text.push_str(
        "\nGlobal, before or after the command:\n  --json  --project NAME  --agent NAME  --store PATH|URL  --quiet  --color WHEN  --request-id ID\n\
         \n`tenure COMMAND --help` has the details and examples. Start with `tenure add \"…\"` and `tenure claim`.\n",
    );
    text
}

/// The command among the words.
pub(crate) fn named(words: &[OsString]) -> Option<OsString> {
    intent::position(words).map(|at| words[at].clone())
}

/// Whether the words are `lock NAME -- COMMAND`.
fn runs_a_command(words: &[OsString]) -> bool {
    words.iter().any(|word| word == "--")
        && named(words).is_some_and(|name| find(&name).is_ok_and(|spec| spec.name == "lock"))
}

fn before_dashes(words: &[OsString]) -> impl Iterator<Item = &OsString> {
    words.iter().take_while(|word| *word != "--")
}

/// Whether the answer is to be JSON, found before anything can fail.
fn wants_json(words: &[OsString], env: &Env) -> bool {
    before_dashes(words).any(|word| word == PLAIN[0])
        || env.os("TENURE_FORMAT").is_some_and(|format| format.eq_ignore_ascii_case(OsStr::new("json")))
}

/// The command of a name or an alias.
fn find(name: &OsStr) -> Result<&'static Spec> {
    name.to_str().and_then(intent::of_name).ok_or_else(|| intent::unknown(name))
}

#[cfg(test)]
mod tests {
    use tenure_client::phrasing::Commands;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_command_is_found_behind_global_flags() {
        assert_eq!(named(&words("--json --agent a list --all")), Some("list".into()));
        assert_eq!(named(&words("--store=x add hello")), Some("add".into()));
        assert_eq!(named(&words("--help")), None);
        assert_eq!(named(&words("-- add")), None);
    }

    #[test]
    fn every_command_is_described_in_one_short_line() {
        for command in whole().get_subcommands() {
            let about = command.get_about().unwrap().to_string();
            assert!(about.chars().count() <= 60 && !about.ends_with('.'), "{}: {about}", command.get_name());
            assert!(about.starts_with(|c: char| c.is_ascii_uppercase()), "{}: {about}", command.get_name());
        }
    }

    #[test]
    fn an_unknown_command_names_the_nearest() {
        let error = find(OsStr::new("clam")).unwrap_err();
        assert_eq!(error.code(), "unknown_command");
        assert_eq!(error.advice().unwrap().say(&Commands), "Did you mean `claim`?");
        assert_eq!(find(OsStr::new("close")).unwrap().name, "done");
    }

    #[test]
    fn every_command_is_well_formed_and_no_name_stands_twice() {
        let mut names = Vec::new();
        for spec in command::ALL {
            build(spec).debug_assert();
            names.push(spec.name);
            names.extend(spec.aliases);
            assert!(!spec.examples.is_empty() || spec.group == Group::Hidden, "{} has no example", spec.name);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
