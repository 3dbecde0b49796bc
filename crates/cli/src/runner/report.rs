//! What a runner says about the end of its command.

use serde_json::{Value, json};
use tenure_core::action::Action;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, Stage};
use tenure_engine::process::{CommandEnd, EndCause, Processes};
use tenure_kernel::answer::Hold;

use super::{LOST, NOT_ENDED};
use crate::failure;
use crate::session::Session;

/// Says how a command ended, and returns the exit code.
pub(super) fn over(
    session: &Session<'_>,
    hold: &Hold,
    end: &CommandEnd,
    released: &Result<()>,
    why: Option<Error>,
) -> u8 {
    let out = session.out;
    let shown = cut(&hold.subject, 120);
    let status = match (end.status, end.cause) {
        (_, Some(EndCause::Lost | EndCause::RunnerGone)) => {
            let message = format!("the lock {shown} was lost, and the command was ended");
            return ended(session, hold, Error::new(Code::LockLost, message), why);
        }
        (None, _) | (_, Some(EndCause::KeeperGone)) => {
            let message = format!(
                "the keeper of the command under the lock {shown} was killed or does not answer, and the command was ended"
            );
            return ended(session, hold, Error::new(Code::KeeperLost, message).at(Stage::Write), why);
        }
        (Some(status), None | Some(EndCause::Signal)) => status,
    };
    if end.leftovers.count > 0 {
        let count = end.leftovers.count;
        let (what, verb) = if count == 1 { ("process", "runs") } else { ("processes", "run") };
        out.complain(&format!(
            "tenure: {count} {what} of the command still {verb}, without the lock {shown}: {}",
            listed(&end.leftovers)
        ));
    }
    if let Err(error) = released {
        out.complain(&format!("tenure: the lock {shown} was not released: {}", error.message()));
    }
    let exit = status.exit_code();
    if out.is_json() {
        out.data(&json!({
            "exit": exit,
            "signal": status.signal(),
            "released": released.is_ok(),
            "hold": hold,
            "leftovers": shapes(&end.leftovers),
        }));
    }
    exit
}

/// Says that a command was ended for what it ran under.
fn ended(session: &Session<'_>, hold: &Hold, error: Error, why: Option<Error>) -> u8 {
    let error = error
        .entity(cut(&hold.subject, 120))
        .hint("The command did not finish. Check what it left behind before you run it again.")
        .attempt(Action::holds_of("name"))
        .attempt(Action::why(&hold.id))
        .detail("exit", LOST);
    failure::report(session.out, &caused(error, why));
    LOST
}

/// Says that a command was to be ended, and was not: the lock was lost, and processes go on.
pub(super) fn surviving(session: &Session<'_>, hold: &Hold, surviving: &Processes, why: Option<Error>) -> u8 {
    let shown = cut(&hold.subject, 120);
    let message = format!(
        "the lock {shown} was lost, and {} of the command could not be ended: {}",
        if surviving.count == 1 { "a process".to_owned() } else { format!("{} processes", surviving.count) },
        listed(surviving)
    );
    let error = Error::new(Code::CommandNotEnded, message)
        .entity(shown)
        .hint("They may still change what the lock protects. They wait for a device, or belong to another user.")
        .attempt(Action::holds_of("name"))
        .attempt(Action::why(&hold.id))
        .detail("exit", NOT_ENDED)
        .detail("survivors", shapes(surviving));
    failure::report(session.out, &caused(error, why));
    NOT_ENDED
}

/// Says that nothing proves the end of a command: the watch over it failed. The lock is not released, and the keeper ends
/// the command as soon as this process is gone.
pub(super) fn unwatched(session: &Session<'_>, hold: &Hold) -> u8 {
    let shown = cut(&hold.subject, 120);
    let message = format!(
        "the watch over the command under the lock {shown} failed, so it is unknown whether the command has \
                 ended"
    );
    let error = Error::new(Code::CommandNotEnded, message)
        .entity(shown)
        .hint(
            "This is a defect in Tenure. The lock stays held until it expires. Look for processes of the command \
               first.",
        )
        .attempt(Action::holds_of("name"))
        .attempt(Action::why(&hold.id))
        .detail("exit", NOT_ENDED);
    failure::report(session.out, &error);
    NOT_ENDED
}

/// The refusal of a command while processes of an earlier one under the same lock cannot be ended.
pub(super) fn not_alone(hold: &Hold, surviving: &Processes) -> Error {
    let shown = cut(&hold.subject, 120);
    let message = format!(
        "the command was not started: an earlier one under the lock {shown} could not be ended: {}",
        listed(surviving)
    );
    Error::new(Code::CommandNotStarted, message)
        .at(Stage::Arguments)
        .entity(shown)
        .hint("Nothing was run, and the lock is free again. Wait for these processes, or end them, and try again.")
        .detail("survivors", shapes(surviving))
}

/// Says what is waited for.
pub(super) fn waiting(session: &Session<'_>, surviving: &Processes) {
    session.out.complain(&format!("tenure: killed, and waited for: {}", listed(surviving)));
}

fn caused(error: Error, why: Option<Error>) -> Error {
    match why {
        Some(why) => error.cause(why),
        None => error,
    }
}

/// Processes in one line. Their names are what others chose.
fn listed(processes: &Processes) -> String {
    let mut parts: Vec<String> =
        processes.named.iter().map(|process| format!("{} ({})", process.pid, plain(&process.name))).collect();
    match processes.count - processes.named.len() {
        0 => {}
        more => parts.push(format!("and {more} more")),
    }
    parts.join(", ")
}

fn plain(name: &str) -> String {
    cut(&name.escape_debug().to_string(), 60)
}

fn shapes(processes: &Processes) -> Value {
    processes.named.iter().map(|process| json!({ "pid": process.pid, "name": process.name })).collect()
}

#[cfg(test)]
mod tests {
    use tenure_engine::process::CommandProcess;

    use super::*;

    #[test]
    fn hostile_names_are_escaped_and_the_rest_is_counted() {
        let process = |pid, name: &str| CommandProcess { pid, started: 1, name: name.to_owned() };
        let named = vec![process(7, "sleep"), process(8, "a\u{1b}[2J\n\u{202e}")];
        let listed = listed(&Processes { named, count: 5 });
        assert_eq!(listed, "7 (sleep), 8 (a\\u{1b}[2J\\n\\u{202e}), and 3 more");
    }
}
