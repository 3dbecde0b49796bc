//! `tenure restore`: a backup becomes the store of this place.

use std::cell::{Cell, RefCell};
use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args as _;
use serde_json::json;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::restore::{Ledger, Replace, Restored};
use tenure_store::copy::{Backup, Existing, HEAD, bad, declared_size};

use super::backup::{describe, progress, stamp};
use super::{Group, Run, Spec, read};
use crate::session::{Session, StoreUse, call, caller, connection};
use crate::workspace::restore_record;
use crate::workspace::scratch::{Scratch, may_read, may_write, unreadable};
use crate::workspace::{StoreLocation, Workspace};

pub(super) const SPEC: Spec = Spec {
    name: "restore",
    aliases: &[],
    group: Group::People,
    about: "Restore a backup; all holds end (people only)",
    examples: &[
        "tenure restore /backups/tenure.db",
        "tenure restore /backups/tenure.db --store /tmp/look.db",
        "tenure restore - --replace < /backups/tenure.db",
    ],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Restore, |session, matches| restore(session, &read(matches)?)),
};

#[derive(clap::Args)]
struct Args {
    /// A file that `tenure backup` wrote, or - for standard input
    file: PathBuf,
    /// Replace the content of the store, after a backup of it
    #[arg(long)]
    replace: bool,
    /// The file for that backup; default: beside an embedded store
    #[arg(long, value_name = "FILE", requires = "replace")]
    safety: Option<PathBuf>,
}

fn restore(session: &Session<'_>, args: &Args) -> Result<u8> {
    caller::person(session, "`restore`")?;
    session.workspace.needs_store("`restore`")?;
    let call = call::by_person(session, "`restore`")?;
    let place = &session.workspace;
    let safety = args.replace.then(|| safety(session, args.safety.as_deref(), "restore")).transpose()?;
    let source = source(session, place, &args.file)?;
    let scratch = Scratch::new(session.settings.env)?;
    let copy = scratch.file("backup.db");
    fetch(source, &copy)?;
    let backup = Backup::open(&copy)?;
    // It is read without a name from here on, so that a kill leaves nothing.
    drop(scratch);
    let replace = safety.as_deref().map_or(Replace::Never, Replace::After);
    let store = &backup.identity().id;
    let mut remarks = Vec::new();
    let earlier = restore_record::earlier(session.settings.env, store).unwrap_or_else(|error| {
        remarks.push(format!("the record of an earlier restore cannot be used: {}", error.message()));
        None
    });
    let unrecorded = RefCell::new(None);
    let continued = Cell::new(None);
    let record = |point| {
        continued.set(Some(point));
        if let Err(error) = restore_record::record(session.settings.env, store, point, None) {
            *unrecorded.borrow_mut() = Some(error);
        }
    };
    let ledger = Ledger { earlier, record: &record };
    let kernel = connection::kernel(session, "`restore`")?;
    let restored = kernel.restore(&call, &backup, replace, ledger, &progress(session, "Restoring"))?;
    // The place is recorded after the commit only: if the restore fails, the file there stays as it is and is not behind.
    if let (Some(point), StoreLocation::Sqlite(database)) = (continued.get(), &place.store)
        && let Err(error) = restore_record::record(session.settings.env, store, point, Some(database))
    {
        *unrecorded.borrow_mut() = Some(error);
    }
    if let Some(error) = unrecorded.take() {
        remarks.push(format!(
            "this machine could not record this restore: {}; before you restore this backup again, make sure that \
             the clock was not set back, or fences may repeat",
            error.message()
        ));
    }
    report(session, place, safety.as_deref(), &restored, remarks)
}

/// Where the backup goes that is made before a command removes something: the given file, or one beside the database.
pub(super) fn safety(session: &Session<'_>, given: Option<&Path>, command: &str) -> Result<PathBuf> {
    let store = &session.workspace.store;
    let path = match (given, store) {
        (Some(given), _) => session.settings.env.cwd()?.join(given),
        (None, StoreLocation::Sqlite(database)) => {
            database.with_file_name(format!("before-{command}-{}.backup", stamp()))
        }
        (None, StoreLocation::Postgres(_) | StoreLocation::Server(_)) => {
            let message = format!("`{command}` needs a file for a backup of the current content");
            return Err(Error::usage(Code::SafetyNeeded, message).hint("Name a new file with --safety."));
        }
    };
    may_write(&path, Existing::Keep, store)?;
    Ok(path)
}

/// What was given, as far as its first bytes: they say that it is a backup, and how long it is.
struct BackupSource {
    name: PathBuf,
    head: Vec<u8>,
    rest: Box<dyn Read>,
    size: u64,
}

#[expect(clippy::disallowed_methods, reason = "a backup; the store's own files are refused before")]
fn source(session: &Session<'_>, place: &Workspace, given: &Path) -> Result<BackupSource> {
    if given.as_os_str() == "-" {
        if std::io::stdin().is_terminal() {
            return Err(Error::usage(Code::TerminalInput, "a backup cannot be read from a terminal")
                .hint("Send a backup to standard input, or name a file."));
        }
        return begin("standard input".into(), Box::new(std::io::stdin().lock()));
    }
    let path = session.settings.env.cwd()?.join(given);
    may_read(&path, &place.store)?;
    let mut wal = path.clone().into_os_string();
    wal.push("-wal");
    if std::fs::metadata(&wal).is_ok_and(|meta| meta.len() > 0) {
        return Err(bad("there is a -wal file beside it, so it is a store in use and is incomplete by itself")
            .entity(path.display().to_string())
            .hint("Nothing was changed. Take a backup of that store with `tenure backup --store FILE`."));
    }
    let input = std::fs::File::open(&path).map_err(|error| unreadable(&path, error))?;
    let length = input.metadata().map_err(|error| unreadable(&path, error))?.len();
    let source = begin(path, Box::new(input))?;
    if length != source.size {
        return Err(wrong_length(&source));
    }
    Ok(source)
}

fn begin(name: PathBuf, mut input: Box<dyn Read>) -> Result<BackupSource> {
    let mut head = Vec::with_capacity(HEAD);
    input.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(|error| unreadable(&name, error))?;
    let size = declared_size(&head).map_err(|error| error.entity(name.display().to_string()))?;
    Ok(BackupSource { name, head, rest: input, size })
}

/// Copies the backup to a private file, so that the bytes that are checked are the bytes that are used even if the original
/// changes. One byte more than it declares is enough to see that it is too long.
#[expect(clippy::disallowed_methods, reason = "a new file")]
fn fetch(mut source: BackupSource, to: &Path) -> Result<()> {
    let fail = |error| no_copy(to, error);
    let mut output = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(fail)?;
    output.write_all(&source.head).map_err(fail)?;
    let mut left = (source.size + 1).saturating_sub(source.head.len() as u64);
    let mut buffer = vec![0; 256 * 1024];
    while left > 0 {
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match source.rest.read(&mut buffer[..wanted]) {
            Ok(0) => break,
            Ok(read) => {
                output.write_all(&buffer[..read]).map_err(fail)?;
                left -= read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(&source.name, error)),
        }
    }
    if left == 1 { Ok(()) } else { Err(wrong_length(&source)) }
}

fn wrong_length(source: &BackupSource) -> Error {
    bad(format!("its size is not {} bytes", source.size)).entity(source.name.display().to_string())
}

fn no_copy(to: &Path, error: std::io::Error) -> Error {
    let message = format!("the backup cannot be copied to {}: {error}", to.display());
    Error::new(Code::NoScratch, message)
        .at(Stage::Open)
        .hint("Nothing was changed. Set TMPDIR to a directory with enough space for the backup.")
        .cause(error)
}

fn report(
    session: &Session<'_>,
    place: &Workspace,
    safety: Option<&Path>,
    restored: &Restored,
    mut remarks: Vec<String>,
) -> Result<u8> {
    let safety = restored.safety.as_ref().zip(safety).map(|(taken, path)| (path.display().to_string(), taken));
    // The restore is done: a pin that cannot be read must not make it look as if it were not.
    let elsewhere = place.pin().ok().flatten().filter(|pin| pin.store != restored.store);
    remarks.extend(elsewhere.map(|pin| {
        format!(
            "this repository is pinned to another store, at {}; a person changes that with `tenure project pin`",
            pin.location
        )
    }));
    if session.out.is_json() {
        session.out.data(&json!({
            "store": restored.store,
            "location": place.store.display(),
            "incarnation": restored.incarnation,
            "projects": restored.projects,
            "events": restored.events,
            "ended_holds": restored.ended_holds,
            "safety": safety.map(|(path, taken)| describe(&path, taken)),
            "remarks": remarks,
        }));
        return Ok(0);
    }
    let mut text = format!(
        "Restored into {}\n  projects     {}\n  events       {}\n  holds ended  {}\n",
        place.store.display(),
        restored.projects,
        restored.events,
        restored.ended_holds
    );
    if let Some((path, _)) = safety {
        text.push_str(&format!("  before it    {path}\n"));
    }
    remarks.iter().for_each(|remark| text.push_str(&format!("  remark       {remark}\n")));
    session.out.text(&text);
    Ok(0)
}
