//! Plans the changes from the current files. Nothing here writes.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use tenure_core::{Code, Error, Result, Stage};

use super::githook::{self, Move};
use super::json_entries::{self, FileOutcome, JsonPart, RecordedFile};
use super::marked_section;
use super::target::{Content, SetupScope, SetupTarget, TargetFile};
use super::writer::SetupRecord;
use super::{Problem, codex_config};
use crate::agent_tool::is_plugin;

/// The maximum size of a configuration. Claude Code's own grows with every project, to some megabytes.
const LARGEST: u64 = 32 * 1024 * 1024;

/// Whether entries are installed or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanDirection {
    Set,
    Remove,
}

/// One file, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) way: PlanDirection,
    pub(crate) target: SetupTarget,
    pub(crate) scope: SetupScope,
    pub(crate) path: PathBuf,
    /// `None` if there is no such file.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// Remarks about this file.
    pub(crate) remarks: Vec<String>,
    /// Directories that the sandbox of a tool may write because of this change.
    pub(crate) grants: Vec<String>,
    /// The objects, tables and lists that this change makes; `None` if that is unknown.
    pub(crate) containers: Option<Vec<Vec<String>>>,
    /// What else happens to the existing file.
    pub(crate) moved: Option<Move>,
    /// The mode of a new file, if it is not the usual one.
    pub(crate) mode: Option<u32>,
}

impl FileChange {
    pub(crate) fn is_change(&self) -> bool {
        self.before != self.after || self.moved == Some(Move::Mode)
    }

    /// The current bytes. A hook of git may contain anything.
    pub(crate) fn now(&self) -> Result<Option<String>> {
        if self.mode.is_some() { githook::read(&self.path) } else { read(&self.path) }
    }
}

/// The changes of the files of all tools, and the tools that are left out with the reason.
#[derive(Debug, Default)]
pub(crate) struct SetupPlan {
    pub(crate) changes: Vec<FileChange>,
    pub(crate) failed: Vec<(SetupTarget, Error)>,
}

/// Reads all files and plans the change of each. A file that cannot be parsed leaves out all files of its tool, and of
/// no other tool.
pub(crate) fn plan(files: &[TargetFile], way: PlanDirection, record: &SetupRecord) -> SetupPlan {
    let mut plan = SetupPlan::default();
    for file in files {
        match one(file, way, record) {
            _ if plan.failed.iter().any(|(target, _)| *target == file.target) => {}
            Ok(change) => plan.changes.push(change),
            Err(error) => plan.failed.push((file.target, error)),
        }
    }
    plan.changes.retain(|change| plan.failed.iter().all(|(target, _)| *target != change.target));
    plan
}

fn one(file: &TargetFile, way: PlanDirection, record: &SetupRecord) -> Result<FileChange> {
    if let Content::Hook(hook) = &file.content {
        let planned = githook::plan(&file.path, hook, way)?;
        return Ok(FileChange {
            way,
            target: file.target,
            scope: file.scope,
            path: file.path.clone(),
            before: planned.before,
            after: planned.after,
            remarks: planned.remarks,
            grants: Vec::new(),
            containers: None,
            moved: planned.moved,
            mode: Some(planned.mode),
        });
    }
    let before = read(&file.path)?;
    let refused = |problem: Problem| problem.of(&file.path);
    let granted = |dir: &str| record.has_granted(&file.path, dir);
    let container = |names: &[&str]| record.has_made(&file.path, names);
    let made = RecordedFile { granted: &granted, container: &container };
    let outcome = match (way, &file.content, &before) {
        (PlanDirection::Set, Content::Json(parts), _) => json_entries::apply(before.as_deref(), parts),
        (PlanDirection::Set, Content::Roots { program, dir }, _) => {
            codex_config::apply(before.as_deref(), program, dir.as_deref())
        }
        (_, Content::Hooks { wanted, program }, _) => {
            githook::configured(before.as_deref(), program.as_deref(), *wanted && way == PlanDirection::Set)
        }
        (_, Content::Hook(_), _) => Ok(FileOutcome { text: before.clone(), remarks: Vec::new() }),
        (PlanDirection::Set, Content::Section, _) => marked_section::put_section(before.as_deref(), &SECTIONS),
        (PlanDirection::Set, Content::Plugin(text), Some(found)) if !is_plugin(found) => {
            let remark = "a file of that name that Tenure did not write is kept".to_owned();
            _ = text;
            Ok(FileOutcome { text: before.clone(), remarks: vec![remark] })
        }
        (PlanDirection::Set, Content::Plugin(text), _) => Ok(whole(text.clone())),
        (PlanDirection::Remove, _, None) => Ok(FileOutcome { text: None, remarks: Vec::new() }),
        (PlanDirection::Remove, Content::Json(parts), Some(before)) => json_entries::strip(before, parts, &made),
        (PlanDirection::Remove, Content::Roots { program, dir }, Some(before)) => {
            codex_config::strip(before, program, dir.as_deref(), &made)
        }
        (PlanDirection::Remove, Content::Section, Some(before)) => marked_section::take_section(before, &SECTIONS),
        (PlanDirection::Remove, Content::Plugin(_), Some(found)) => {
            Ok(FileOutcome { text: (!is_plugin(found)).then(|| found.clone()), remarks: Vec::new() })
        }
    };
    let FileOutcome { text: after, remarks } = outcome.map_err(refused)?;
    let grants = if way == PlanDirection::Set && before != after {
        new_grants(file, before.as_deref(), after.as_deref())
    } else {
        Vec::new()
    };
    let containers =
        (way == PlanDirection::Set && before != after).then(|| new_containers(file, &before, &after, record)).flatten();
    Ok(FileChange {
        way,
        target: file.target,
        scope: file.scope,
        path: file.path.clone(),
        before,
        after,
        remarks,
        grants,
        containers,
        moved: None,
        mode: None,
    })
}

/// A directory that is in a file after the change and was not before.
fn new_grants(file: &TargetFile, before: Option<&str>, after: Option<&str>) -> Vec<String> {
    let dirs: Vec<&String> = match &file.content {
        Content::Json(parts) => parts
            .iter()
            .filter_map(|part| match part {
                JsonPart::Grant { dir, .. } => Some(dir),
                _ => None,
            })
            .collect(),
        Content::Roots { dir, .. } => dir.iter().collect(),
        _ => Vec::new(),
    };
    let has = |text: Option<&str>, dir: &str| {
        let quoted = serde_json::Value::from(dir).to_string();
        text.is_some_and(|text| text.contains(&quoted))
    };
    dirs.into_iter().filter(|dir| has(after, dir) && !has(before, dir)).cloned().collect()
}

/// The containers that are in a file after the change and were not before. If a file had entries of Tenure and is not
/// on record, it is unknown which containers were made for them.
fn new_containers(
    file: &TargetFile,
    before: &Option<String>,
    after: &Option<String>,
    record: &SetupRecord,
) -> Option<Vec<Vec<String>>> {
    let in_text = |text: &Option<String>| {
        let text = text.as_deref()?;
        let mut found = match &file.content {
            Content::Json(parts) => json_entries::containers(text, parts),
            Content::Roots { .. } => codex_config::containers(text),
            _ => return None,
        };
        found.push(Vec::new());
        Some(found)
    };
    let had = before.as_deref().is_some_and(|text| match &file.content {
        Content::Json(parts) => json_entries::has_own(text, parts),
        Content::Roots { program, .. } => codex_config::is_set_up(text, program),
        _ => false,
    });
    if had && record.has_made(&file.path, &[]).is_none() {
        return None;
    }
    let had = in_text(before).unwrap_or_default();
    Some(in_text(after)?.into_iter().filter(|names| !had.contains(names)).collect())
}

fn whole(text: String) -> FileOutcome {
    FileOutcome { text: Some(text), remarks: Vec::new() }
}

/// The text of a file; `None` if it does not exist.
#[expect(clippy::disallowed_methods, reason = "a tool's configuration; never the database")]
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(unusable(path, "something above it is not a directory").cause(error));
        }
        _ => {}
    }
    let meta = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => unusable(path, "it is a dangling symbolic link"),
        _ => unusable(path, &error.to_string()).cause(error),
    })?;
    if !meta.is_file() {
        return Err(unusable(path, "it is not a regular file"));
    }
    if meta.len() > LARGEST {
        return Err(unusable(path, "it is larger than 32 MiB"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| unusable(path, &error.to_string()).cause(error))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unusable(path, &error.to_string()).cause(error))?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem::Malformed { line, what: "it is not UTF-8".to_owned() }.of(path)
    })
}

pub(super) fn unusable(path: &Path, why: &str) -> Error {
    Error::new(Code::ToolConfigUnusable, format!("{} cannot be used: {why}", path.display()))
        .at(Stage::Read)
        .entity(path.display().to_string())
        .hint("The files of this tool were not changed. Correct this file, then repeat the command.")
}

/// The section in its current version, then in all earlier ones. A section is recognised by its text.
const SECTIONS: [&str; 2] = [SECTION, FIRST_SECTION];

/// The instructions for a tool without hooks.
const SECTION: &str = "\
## Tenure

Several agents may work in this repository at the same time. Tenure keeps the list of tasks and shows who works on what.

- Name yourself once for your session: `export TENURE_AGENT=NAME`.
- `tenure resume` gives you a task with its context; `tenure next` only shows it.
- `tenure note \"…\"` regularly: the next agent continues from your notes.
- `tenure done` when it is finished, `tenure block --reason \"…\"` when it cannot continue.
- If `tenure` is not installed, ignore this section.";

/// The section of the first version.
const FIRST_SECTION: &str = "\
## Tenure

Several agents may work in this repository at the same time. Tenure keeps the list of tasks and says who works on what.

- Name yourself once for your session: `export TENURE_AGENT=NAME`.
- `tenure resume` gives you a task and everything needed to go on with it; `tenure next` only shows it.
- `tenure note \"…\"` now and then: whoever follows you goes on from there.
- `tenure done` when it is finished, `tenure block --reason \"…\"` when it cannot go on.
- Where `tenure` is not installed, leave this section aside.";
