//! `export`: all data of a project, line by line, over one snapshot.

use std::cell::RefCell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::id::TaskId;
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result, Time};
use tenure_store::Tx;
use tenure_store::error::corrupt;
use tenure_store::table::{event, note, task};

use super::Snapshot;
use super::list::with_edges;
use super::query::{Access, Query, Role};
use crate::access;
use crate::answer::LoggedEvent;
use crate::answer::export::{ExportEnd, ExportLine, ExportedNote, ExportedProject, ExportedTask, FORMAT, Header};
use crate::call::Call;
use crate::kernel::Kernel;

/// How many rows are read at a time.
const PAGE: usize = 500;
/// The maximum size in bytes of an export in one document: it is in memory on both sides.
const EXPORT_MAX: usize = 64 * 1024 * 1024;

/// All tasks and notes of a project, and its log if that is wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// With the log.
    #[serde(default)]
    pub with_log: bool,
}

/// An export in one piece.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// The lines, each with its newline.
    pub lines: String,
    /// What the last of them says.
    pub end: ExportEnd,
}

impl Query for Export {
    const NAME: &'static str = "export";
    const ABOUT: &'static str = "Export the project as lines";
    const PUBLIC: bool = true;
    /// The export includes the private memories of agents.
    const ACCESS: Access = Access::project(Role::Admin);
    type Answer = Exported;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Exported> {
        let mut lines = ExportBuffer { text: String::new(), most: EXPORT_MAX };
        let end = kernel.export(call, self.with_log, &mut lines)?;
        Ok(Exported { lines: lines.text, end })
    }
}

/// The destination of the lines.
///
/// If the snapshot is lost, the export starts again from the beginning: a sink must discard everything it got before
/// `begin`. Lines come while the snapshot is open, so a sink must not make the reader wait for a person or another
/// program.
pub trait ExportSink {
    /// Starts or restarts the export: the first line comes next.
    fn begin(&mut self) -> Result<()>;

    /// One line, without its newline.
    fn line(&mut self, line: &str) -> Result<()>;
}

impl ExportSink for Vec<u8> {
    fn begin(&mut self) -> Result<()> {
        self.clear();
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<()> {
        self.extend_from_slice(line.as_bytes());
        self.push(b'\n');
        Ok(())
    }
}

impl Kernel {
    /// The query [`Export`] as a stream. Only the ids of a long project are kept in memory; its rows are read page by
    /// page.
    pub fn export(&self, call: &Call, with_log: bool, sink: &mut dyn ExportSink) -> Result<ExportEnd> {
        access::admit_query::<Export>(call)?;
        let sink = RefCell::new(sink);
        self.in_snapshot(call, |tx, snapshot| {
            let mut sink = sink.borrow_mut();
            sink.begin()?;
            everything(tx, snapshot, with_log, &mut **sink)
        })
    }
}

fn everything(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    with_log: bool,
    sink: &mut dyn ExportSink,
) -> Result<ExportEnd> {
    let name = &snapshot.call.project;
    let header = Header {
        tenure: "export".to_owned(),
        format: FORMAT,
        project: ExportedProject { key: name.key.clone(), label: name.label.clone() },
        exported_at: snapshot.now.to_string(),
    };
    write(sink, &header)?;
    let project = snapshot.project_id();
    let tasks = task::order(tx, project)?;
    for page in tasks.chunks(PAGE) {
        for task in whole(tx, project, page)? {
            write(sink, &ExportLine::Task(&task))?;
        }
    }
    let notes = note::order(tx, project)?;
    for page in notes.chunks(PAGE) {
        for row in note::get_many(tx, project, page)? {
            write(sink, &ExportLine::Note(&ExportedNote::of(row)?))?;
        }
    }
    let events = if with_log { log(tx, project, sink)? } else { 0 };
    let end = ExportEnd { end: true, tasks: tasks.len(), notes: notes.len(), events };
    write(sink, &end)?;
    Ok(end)
}

/// An upper bound for the counts of a task.
const COUNT_MAX: i64 = 1 << 53;

/// Reads all data of a project as an export would, so that a corrupt row is found now and not when it is needed.
pub(crate) fn read_through(tx: &mut dyn Tx, project: &str) -> Result<()> {
    for page in task::order(tx, project)?.chunks(PAGE) {
        for task in whole(tx, project, page)? {
            let times = [Some(&task.created_at), Some(&task.updated_at), task.finished_at.as_ref()];
            let readable = times.into_iter().flatten().all(|time| Time::parse(time).is_ok());
            let counted = (0..=COUNT_MAX).contains(&task.attempt) && (1..=COUNT_MAX).contains(&task.version);
            if !readable || !counted {
                return Err(corrupt(format!("a number or time of {} is out of range", task.id)).entity(&task.id));
            }
        }
    }
    for page in note::order(tx, project)?.chunks(PAGE) {
        for row in note::get_many(tx, project, page)? {
            ExportedNote::of(row)?;
        }
    }
    log(tx, project, &mut Nowhere).map(|_| ())
}

/// A sink that discards its lines.
struct Nowhere;

impl ExportSink for Nowhere {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn line(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
}

/// Tasks with their dependencies, in the order of their creation. Missing ids are skipped.
pub(crate) fn whole(tx: &mut dyn Tx, project: &str, ids: &[TaskId]) -> Result<Vec<ExportedTask>> {
    let mut found = task::get_many(tx, project, ids)?;
    found.sort_by(|a, b| (a.task.number, &a.task.id).cmp(&(b.task.number, &b.task.id)));
    with_edges(tx, project, &found, ExportedTask::of)
}

fn log(tx: &mut dyn Tx, project: &str, sink: &mut dyn ExportSink) -> Result<usize> {
    let (mut above, mut count) = (EventNumber::START, 0);
    loop {
        let rows =
            tx.fetch(event::page(project, &event::EventFilter::default(), (above, EventNumber::MAX), false, PAGE))?;
        let more = rows.len() == PAGE;
        count += rows.len();
        for row in rows {
            above = row.number;
            write(sink, &ExportLine::Event(&LoggedEvent::of(row)?))?;
        }
        if !more {
            return Ok(count);
        }
    }
}

fn write(sink: &mut dyn ExportSink, line: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(line).map_err(|error| Error::bug(format!("a line has no JSON: {error}")))?;
    sink.line(&json)
}

/// An export in memory.
struct ExportBuffer {
    text: String,
    most: usize,
}

impl ExportSink for ExportBuffer {
    fn begin(&mut self) -> Result<()> {
        self.text.clear();
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if self.text.len() + line.len() >= self.most {
            let most = self.most / (1024 * 1024);
            return Err(Error::usage(Code::ExportTooLarge, format!("the export is larger than {most} MiB")).hint(
                Advice::from("Run ")
                    .action(Action::Export)
                    .text(" where the store is: on the server, or with TENURE_STORE."),
            ));
        }
        self.text.push_str(line);
        self.text.push('\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_in_one_piece_is_bounded() {
        let mut lines = ExportBuffer { text: String::new(), most: 8 };
        lines.line("abc").unwrap();
        assert_eq!(lines.line("defg").unwrap_err().code(), "export_too_large");
        lines.begin().unwrap();
        lines.line("defg").unwrap();
        assert_eq!(lines.text, "defg\n");
    }
}
