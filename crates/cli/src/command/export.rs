//! `tenure export`

use std::path::{Path, PathBuf};

use clap::Args as _;
use serde_json::json;
use tenure_core::Result;
use tenure_kernel::answer::export::ExportEnd;
use tenure_kernel::query::export::ExportSink;

use super::{Group, Run, Spec, read};
use crate::output::progress::Progress;
use crate::output::refuse_closed;
use crate::output::spool::{Spool, check_target};
use crate::session::{Session, Sight, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "export",
    aliases: &["dump"],
    group: Group::People,
    about: "Export all tasks and notes as JSON lines",
    examples: &["tenure export tasks.jsonl", "tenure export --log | gzip > project.jsonl.gz"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Read, |session, matches| {
        let args: Args = read(matches)?;
        match args.file.filter(|file| *file != Path::new("-")) {
            None => to_output(session, args.log),
            Some(file) => to_file(session, &file, args.log, args.force),
        }
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The output file; default, or -: standard output
    #[arg(value_name = "FILE|-")]
    file: Option<PathBuf>,
    /// Include the log, which `import` ignores
    #[arg(long)]
    log: bool,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// The lines that are collected while the snapshot is open. A slow reader of the output does not keep the store from
/// cleaning up, and an export that loses its connection can begin again.
enum Gathered {
    File(Spool),
    Memory(Vec<u8>),
}

impl ExportSink for Gathered {
    fn begin(&mut self) -> Result<()> {
        match self {
            Gathered::File(spool) => spool.clear(),
            Gathered::Memory(lines) => lines.begin(),
        }
    }

    fn line(&mut self, line: &str) -> Result<()> {
        match self {
            Gathered::File(spool) => spool.line(line),
            Gathered::Memory(lines) => lines.line(line),
        }
    }
}

fn gather(session: &Session<'_>, with_log: bool, mut sink: Gathered) -> Result<(ExportEnd, Gathered)> {
    let _progress = Progress::begin(session.out, "Exporting");
    let cell = std::cell::RefCell::new(&mut sink);
    let end = session.ask_with(Sight::Store, |client, call| client.export(call, with_log, &mut **cell.borrow_mut()))?;
    Ok((end, sink))
}

fn to_output(session: &Session<'_>, with_log: bool) -> Result<u8> {
    refuse_closed()?;
    let dir = session.settings.env.os("TMPDIR").filter(|dir| !dir.is_empty()).map_or(Path::new("/tmp"), Path::new);
    // Where no file can be made, a read-only machine for one, there is still memory.
    let sink = Spool::nameless(dir).map_or_else(|_| Gathered::Memory(Vec::new()), Gathered::File);
    match gather(session, with_log, sink)?.1 {
        Gathered::File(spool) => spool.read_back(|piece| session.out.raw(piece))?,
        Gathered::Memory(lines) => _ = session.out.raw(&lines),
    }
    Ok(0)
}

fn to_file(session: &Session<'_>, file: &Path, with_log: bool, force: bool) -> Result<u8> {
    check_target(file, force, &session.workspace.store)?;
    let (end, sink) = gather(session, with_log, Gathered::File(Spool::beside(file)?))?;
    let Gathered::File(spool) = sink else { return Ok(0) };
    let bytes = spool.publish(file, force)?;
    if session.out.is_json() {
        let ExportEnd { tasks, notes, events, .. } = end;
        let file = file.display().to_string();
        session.out.data(&json!({ "file": file, "tasks": tasks, "notes": notes, "events": events, "bytes": bytes }));
    } else {
        let log = if with_log { format!(" and {} events", end.events) } else { String::new() };
        session.out.text(&format!("Exported {} tasks, {} notes{log} to {}", end.tasks, end.notes, file.display()));
    }
    Ok(0)
}
