//! `tenure backup`: the whole store as one file, while everybody goes on.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args as _;
use serde_json::json;
use tenure_client::phrasing::Commands;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::backup::BackupTaken;
use tenure_store::copy::Existing;
use tenure_store::{Clock, SystemClock};

use super::{Group, Run, Spec, read};
use crate::output::progress::Progress;
use crate::output::{Printer, refuse_closed};
use crate::session::{Session, Sight, StoreUse};
use crate::workspace::scratch::{Scratch, may_write};

pub(super) const SPEC: Spec = Spec {
    name: "backup",
    aliases: &["snapshot"],
    group: Group::People,
    about: "Write a verified backup of the whole store to one file",
    examples: &[
        "tenure backup",
        "tenure backup /backups/tenure.db --force",
        "tenure backup - | ssh host 'cat > tenure.db'",
    ],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Read, |session, matches| {
        let args: Args = read(matches)?;
        session.workspace.needs_store("`backup`")?;
        match &args.file {
            Some(file) if file.as_os_str() == "-" => to_stdout(session, args.force),
            Some(file) => to_file(session, &session.settings.env.cwd()?.join(file), args.force),
            None => {
                let name = format!("tenure-{}.backup", stamp());
                to_file(session, &session.settings.env.cwd()?.join(name), args.force)
            }
        }
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The file to write, or - for standard output; without it a new file in this directory
    file: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

fn to_file(session: &Session<'_>, path: &Path, force: bool) -> Result<u8> {
    let existing = if force { Existing::Replace } else { Existing::Keep };
    let hinted = |error: Error| match error.code() {
        Code::FileExists => error.hint("Nothing was written. Name another file; --force replaces this one."),
        _ => error,
    };
    may_write(path, existing, &session.workspace.store).map_err(hinted)?;
    let taken = session
        .ask_with(Sight::Store, |client, call| {
            client.kernel("`backup`")?.backup(call, path, existing, &progress(session, "Backing up"))
        })
        .map_err(hinted)?;
    let report = describe(&path.display().to_string(), &taken);
    if session.out.is_json() {
        session.out.data(&report);
    } else {
        session.out.text(&page(session.out, &format!("Backed up to {}", path.display()), &taken));
    }
    Ok(0)
}

/// The backup is made and checked as a whole before its first byte is written.
fn to_stdout(session: &Session<'_>, force: bool) -> Result<u8> {
    if force {
        return Err(Error::usage(Code::BadArguments, "--force applies to files, not to standard output"));
    }
    if session.out.is_terminal() {
        return Err(Error::usage(Code::TerminalOutput, "a backup cannot be written to a terminal")
            .hint("Redirect the output to a file or a program, or name a file."));
    }
    refuse_closed()?;
    let scratch = Scratch::new(session.settings.env)?;
    let path = scratch.file("backup.db");
    let taken = session.ask_with(Sight::Store, |client, call| {
        client.kernel("`backup`")?.backup(call, &path, Existing::Replace, &progress(session, "Backing up"))
    })?;
    match stream(scratch, &path) {
        Ok(()) => {
            let report = describe("-", &taken);
            session.out.aside(&match session.out.is_json() {
                true => json!({ "ok": true, "data": report }).to_string(),
                false => page(session.out, "Backed up to standard output", &taken),
            });
            Ok(0)
        }
        // Not on standard output, which has a part of the backup in it already.
        Err(error) => {
            let why = match error.kind() {
                ErrorKind::BrokenPipe => "its reader closed the pipe".to_owned(),
                _ => error.to_string(),
            };
            let error = Error::new(Code::OutputCut, format!("the backup was cut short: {why}"))
                .at(Stage::Reply)
                .hint("The output so far is not a backup.");
            session.out.complain(&match session.out.is_json() {
                true => json!({ "ok": false, "error": error.to_json(&Commands) }).to_string(),
                false => format!("tenure: {}\n  The output so far is not a backup.", error.message()),
            });
            Ok(error.kind().exit())
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a copy of our own, closed by SQLite before")]
fn stream(scratch: Scratch, path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::File::open(path)?;
    // It is read without a name, so that a kill leaves nothing.
    drop(scratch);
    let mut stdout = std::io::stdout().lock();
    std::io::copy(&mut file, &mut stdout)?;
    stdout.flush()
}

/// Tells a person who watches how far it is.
pub(super) fn progress(session: &Session<'_>, doing: &'static str) -> impl Fn(u64) {
    let line = Progress::begin(session.out, doing);
    move |rows| {
        if rows > 0 && rows.is_multiple_of(1_024) {
            line.tell(&format!("{doing}: {rows} rows"));
        }
    }
}

/// The time as it stands in the name of a file.
pub(super) fn stamp() -> String {
    SystemClock.now().to_string().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// A backup as JSON.
pub(super) fn describe(path: &str, taken: &BackupTaken) -> serde_json::Value {
    let mut report = json!(taken);
    report["path"] = path.into();
    report
}

fn page(out: &Printer, heading: &str, taken: &BackupTaken) -> String {
    let mut text = format!(
        "{heading}\n  size      {} bytes\n  sha256    {}\n  projects  {}\n  events    {}\n  taken at  {}\n",
        taken.size,
        taken.sha256,
        taken.projects,
        taken.events,
        out.time(&taken.taken_at.to_string())
    );
    for remark in &taken.remarks {
        text.push_str(&format!("  remark    {remark}: see tenure doctor\n"));
    }
    text
}
