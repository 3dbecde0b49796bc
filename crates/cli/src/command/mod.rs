//! The commands: a plain list. One command is one file: its arguments, its use of the store, its action and its output.
//!
//! A command does not look for its project, its caller or its store: `session` resolves them.

mod add;
mod agent;
mod backup;
mod block;
mod bulk;
mod cancel;
mod check;
mod claim;
mod completions;
mod config;
mod demo;
mod doctor;
mod done;
mod down;
mod edit;
mod export;
mod held;
mod holds;
pub(crate) mod home;
mod hook;
mod import;
mod inbox;
mod input;
mod lessons;
mod list;
mod lock;
mod log;
mod man;
mod mcp;
mod member;
mod memory;
mod next;
mod note;
mod off;
mod offered;
mod open;
mod project;
mod recall;
mod reference;
mod release;
mod remember;
mod reopen;
mod reserve;
mod restore;
mod resume;
mod send;
mod serve;
mod setup;
mod several;
mod show;
mod snooze;
mod status;
mod subject;
mod token;
mod transfer;
mod unblock;
mod whoami;
mod why;

use std::io::{BufRead, IsTerminal};

use clap::{ArgMatches, Command};
use tenure_core::id::TaskId;
use tenure_core::{Code, Error, Result};
use tenure_kernel::answer::Task;
use tenure_kernel::query::task_id;

use crate::output::Printer;
use crate::output::task::line;
use crate::session::{Session, StoreUse};
use crate::settings::Settings;

/// A command.
#[derive(Debug)]
pub(crate) struct Spec {
    /// Its one name.
    pub(crate) name: &'static str,
    /// Other names that it answers to: those that models guess.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) group: Group,
    /// One line.
    pub(crate) about: &'static str,
    /// Whole command lines.
    pub(crate) examples: &'static [&'static str],
    /// Adds its arguments.
    pub(crate) args: fn(Command) -> Command,
    pub(crate) run: Run,
}

/// How a command is run. It returns the exit code.
#[derive(Debug)]
pub(crate) enum Run {
    /// With its settings alone. A command that needs a session opens it here when its arguments decide where it acts or
    /// what it does to the store, or when it refuses arguments before it looks for a project.
    Plain(fn(&Settings<'_>, &Printer, &ArgMatches) -> Result<u8>),
    /// In the project of the working directory.
    InProject(StoreUse, fn(&Session<'_>, &ArgMatches) -> Result<u8>),
}

/// Who mostly types a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Everyday,
    People,
    Hidden,
}

/// All commands, in the order help lists them.
pub(crate) const ALL: &[Spec] = &[
    resume::SPEC,
    next::SPEC,
    claim::SPEC,
    add::SPEC,
    list::SPEC,
    show::SPEC,
    note::SPEC,
    done::SPEC,
    block::SPEC,
    release::SPEC,
    reserve::SPEC,
    check::SPEC,
    holds::SPEC,
    lock::SPEC,
    remember::SPEC,
    recall::SPEC,
    send::SPEC,
    inbox::SPEC,
    log::SPEC,
    status::SPEC,
    why::SPEC,
    setup::SPEC,
    off::SPEC,
    whoami::SPEC,
    config::SPEC,
    doctor::SPEC,
    edit::SPEC,
    snooze::SPEC,
    unblock::SPEC,
    reopen::SPEC,
    cancel::SPEC,
    transfer::SPEC,
    memory::SPEC,
    agent::SPEC,
    project::SPEC,
    token::SPEC,
    member::SPEC,
    backup::SPEC,
    restore::SPEC,
    export::SPEC,
    import::SPEC,
    serve::UP,
    open::SPEC,
    down::SPEC,
    serve::SERVE,
    demo::SPEC,
    completions::SPEC,
    lessons::SPEC,
    mcp::SPEC,
    man::SPEC,
    hook::SPEC,
    reference::SPEC,
    demo::WORKER,
    completions::candidates::SPEC,
];

// The arguments of a command that has subcommands. Not a doc comment: clap would take it for the text of the command.
#[derive(clap::Args)]
struct Verbs<V: clap::Subcommand> {
    #[command(subcommand)]
    verb: V,
}

/// Asks a person to agree, unless they agreed beforehand with `--yes`. `undone` says what did not happen without that;
/// `shown` is what they agree to, for a caller that cannot be asked.
fn confirm(out: &Printer, yes: bool, question: &str, undone: &str, shown: Agreement) -> Result<()> {
    let is_yes = |answer: &str| ["y", "yes"].contains(&answer.to_lowercase().as_str());
    agree(out, yes, (&format!("{question} [y/N] "), "Answer `y`"), is_yes, undone, shown)
}

/// The same for an answer other than yes. The question comes with the advice for a caller that gave another answer.
fn agree(
    out: &Printer,
    yes: bool,
    (question, expected): (&str, &str),
    agrees: impl Fn(&str) -> bool,
    undone: &str,
    shown: Agreement,
) -> Result<()> {
    if yes {
        return Ok(());
    }
    let refused = |message: String| Error::usage(Code::ConfirmationNeeded, message);
    if out.is_json() || !std::io::stdin().is_terminal() || !out.is_terminal() {
        return Err(refused(format!("{undone}: there is no terminal to ask for confirmation"))
            .hint(format!("Read {}, then repeat the command with --yes.", shown.what))
            .detail(shown.detail, shown.value));
    }
    out.prompt(question);
    let mut answer = String::new();
    let heard = std::io::stdin().lock().read_line(&mut answer);
    if heard.is_ok() && agrees(answer.trim()) {
        return Ok(());
    }
    Err(refused(undone.to_owned()).hint(format!("{expected}, or call with --yes.")))
}

/// What a person agrees to.
struct Agreement {
    /// In words.
    what: &'static str,
    /// The name and the value of it in a refusal.
    detail: &'static str,
    value: serde_json::Value,
}

/// Reads a command's arguments out of what clap matched.
fn read<T: clap::FromArgMatches>(matches: &ArgMatches) -> Result<T> {
    T::from_arg_matches(matches)
        .map_err(|error| Error::bug(format!("arguments that were matched cannot be read: {error}")))
}

/// Reads a priority: its number, or a word that other trackers have for it. Whether a number is one is for the op to say.
fn priority(typed: &str) -> std::result::Result<i64, String> {
    Ok(match typed.to_lowercase().as_str() {
        "p0" | "critical" | "urgent" | "highest" => 0,
        "p1" | "high" => 1,
        "p2" | "medium" | "normal" => 2,
        "p3" | "low" => 3,
        "p4" | "lowest" | "backlog" => 4,
        number => number.parse().map_err(|_| "it is 0 (first) to 4 (last)".to_owned())?,
    })
}

/// The full id of a task from a beginning of it.
fn task_id(session: &Session<'_>, typed: &str) -> Result<TaskId> {
    session.ask(&task_id::ResolveTask { typed: typed.into() }).map(TaskId::from)
}

/// The same where no id may have been typed, which means the caller's focus.
fn task_id_or_focus(session: &Session<'_>, typed: Option<&str>) -> Result<Option<TaskId>> {
    typed.map(|typed| task_id(session, typed)).transpose()
}

/// Prints the answer of an op that returns a task.
fn print_task(session: &Session<'_>, verb: &str, task: &Task, body: &str) {
    if session.out.is_json() {
        session.out.body(body);
    } else {
        session.out.text(&format!("{verb} {}", line(session.out, task)));
    }
}
