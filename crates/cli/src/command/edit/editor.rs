//! Editing a task in the editor of the person.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use tenure_core::id::TaskId;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::RequestId;
use tenure_kernel::answer::Task;
use tenure_kernel::op::edit::Edit;
use tenure_kernel::query::show::Show;
use tenure_store::{AtomicFile, Existing, OsEntropy};

use super::form::Form;
use crate::command::print_task;
use crate::session::{RunOptions, Session};

/// Opens a task in the editor and applies what was changed there. The text stays in a file if it cannot be applied.
pub(super) fn edit(session: &Session<'_>, id: &TaskId) -> Result<u8> {
    let env = session.settings.env;
    if !std::io::stdin().is_terminal() || !session.out.is_terminal() {
        return Err(Error::usage(Code::NothingToChange, "nothing to change was given, and there is no terminal for an editor")
            .hint("Give at least one of --title, --description, --acceptance, --priority, --label, --unlabel, --for, --after."));
    }
    let task = session.ask(&Show { id: id.to_string() })?.task;
    let before = form(&task);
    let text = before.write(&task.id);
    let dir = env.os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let file = dir.join(format!("tenure-{}-{}.txt", task.id, RequestId::draw(&OsEntropy).as_str()));
    write(&file, &text)?;
    let program = env.os("VISUAL").or_else(|| env.os("EDITOR")).unwrap_or_else(|| OsStr::new("vi"));
    let applied =
        run(program, &file).and_then(|()| read(&file)).and_then(|edited| apply(session, &task, &before, &edited));
    match applied {
        Ok(done) => {
            remove(&file);
            if let Some((task, body)) = done {
                print_task(session, "Edited", &task, &body);
            } else if session.out.is_json() {
                session.out.data(&task);
            } else {
                session.out.text("Nothing was changed.");
            }
            Ok(0)
        }
        Err(error) => {
            let kept = format!("Your text is in {}.", file.display());
            Err(match error.advice() {
                Some(advice) => {
                    let advice = advice.clone().text(format!(" {kept}"));
                    error.hint(advice)
                }
                None => error.hint(kept),
            })
        }
    }
}

fn form(task: &Task) -> Form {
    Form {
        title: task.title.clone(),
        priority: task.priority,
        labels: task.labels.clone(),
        description: task.description.clone(),
        acceptance: task.acceptance.clone(),
    }
}

/// Applies the differences, if the task still has the version that was shown.
fn apply(session: &Session<'_>, task: &Task, before: &Form, edited: &str) -> Result<Option<(Task, String)>> {
    let Some(after) = Form::read(edited, before)? else { return Ok(None) };
    if after == *before {
        return Ok(None);
    }
    let not_in = |labels: &[String], others: &[String]| {
        labels.iter().filter(|label| !others.contains(label)).cloned().collect::<Vec<_>>()
    };
    let request = Edit {
        task: task.id.clone(),
        add_labels: not_in(&after.labels, &before.labels),
        remove_labels: not_in(&before.labels, &after.labels),
        title: (after.title != before.title).then_some(after.title),
        description: (after.description != before.description.trim()).then_some(after.description),
        acceptance: (after.acceptance != before.acceptance.trim()).then_some(after.acceptance),
        priority: (after.priority != before.priority).then_some(after.priority),
        expect_version: Some(task.version),
        ..Edit::default()
    };
    let reply = session.run(request, RunOptions::default())?;
    Ok(Some((reply.read()?, reply.body)))
}

/// Runs the editor as a shell would: the variable may have arguments in it.
fn run(program: &OsStr, file: &Path) -> Result<()> {
    let mut line = program.to_owned();
    line.push(" \"$1\"");
    let failed = |why: String| {
        Error::usage(Code::CommandNotStarted, format!("the editor `{}` {why}", program.display()))
            .hint("Set VISUAL or EDITOR to an editor that ends when the file is closed.")
    };
    let status = Command::new("sh").arg("-c").arg(line).arg("sh").arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(error) => Err(failed(format!("cannot be started: {error}"))),
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    let written = AtomicFile::create(file).and_then(|(new, mut to)| {
        to.write_all(text.as_bytes())?;
        new.place(Existing::Keep)
    });
    written.map_err(|error| unusable(file, "written", error))
}

#[expect(clippy::disallowed_methods, reason = "the file of this call, which the editor has written")]
fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(|error| unusable(file, "read", error))
}

fn remove(file: &Path) {
    // What stays is a text of the person in a directory for such files.
    _ = std::fs::remove_file(file);
}

fn unusable(file: &Path, what: &str, error: std::io::Error) -> Error {
    Error::new(Code::UnreadableInput, format!("{} cannot be {what}", file.display()))
        .at(Stage::Arguments)
        .entity(file.display().to_string())
        .cause(error)
}
