//! Adds a note about the progress on a task. It is the only progress call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::event::Event;
use tenure_core::event::task::{self as told, TaskNoted};
use tenure_core::hold::Right;
use tenure_core::id::{NoteId, TaskId};
use tenure_core::number::Fence;
use tenure_core::{Code, Error, Result, text};
use tenure_store::table::task_word::TaskWords;
use tenure_store::table::{artifact as table, note};

use super::operation::{Access, Door, Input, Operation, Role};
use super::remember;
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The task; by default the one in focus. A note on a named task needs no hold and renews none.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// What was done, found or decided.
    pub text: String,
    /// Memories to store, at most 50; the default scope is the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<remember::NewMemory>,
    /// Files that the work produced, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Structured data of the note.
    #[serde(default)]
    pub data: Option<Value>,
    /// The fence to use instead of the one last shown.
    #[serde(default)]
    pub fence: Option<Fence>,
}

/// A file, with its content at the time of the note.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// The path, relative to the top of the checkout if it is inside.
    pub path: String,
    /// The kind, such as `report`; by default `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// The size in bytes.
    pub size: i64,
}

/// The maximum number of files in one note.
const ARTIFACTS_MAX: usize = 50;
/// The maximum length of a file's path.
const PATH_MAX: usize = 4_096;

impl Artifact {
    /// The file as the event stores it.
    fn told(&self) -> told::NotedArtifact {
        told::NotedArtifact {
            path: self.path.clone(),
            kind: self.kind.clone().unwrap_or_default(),
            sha256: self.sha256.clone(),
            size: self.size,
        }
    }
}

fn artifact(given: &Artifact) -> Result<Artifact> {
    let bad = |what: String| Err(Error::usage(Code::BadArtifact, what).entity(text::excerpt(&given.path)));
    if given.path.is_empty() || given.path.len() > PATH_MAX || given.path.chars().any(char::is_control) {
        return bad(format!("the path of a file must have 1 to {PATH_MAX} bytes and no control character"));
    }
    let is_sum = given.sha256.len() == 64 && given.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_sum {
        return bad("the SHA-256 of a file must have 64 hexadecimal digits".to_owned());
    }
    if given.size < 0 {
        return bad("the size of a file cannot be negative".to_owned());
    }
    let kind = text::label(given.kind.as_deref().unwrap_or("file"))?;
    Ok(Artifact { kind: Some(kind), sha256: given.sha256.to_ascii_lowercase(), ..given.clone() })
}

/// How deep data may be nested. JSON parsers stop at 128 levels, and answers add some around it.
const DEPTH_MAX: usize = 100;

fn is_deeper(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(items) => most == 0 || items.iter().any(|item| is_deeper(item, most - 1)),
        Value::Object(fields) => most == 0 || fields.values().any(|field| is_deeper(field, most - 1)),
        _ => false,
    }
}

fn data(value: Option<&Value>) -> Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let stored = value.to_string();
    if stored.len() > text::TEXT_MAX {
        return Err(Error::usage(
            Code::DataTooLong,
            format!("the data has {} bytes; the limit is {}", stored.len(), text::TEXT_MAX),
        ));
    }
    if is_deeper(value, DEPTH_MAX) {
        let message = format!("the data is nested deeper than {DEPTH_MAX} levels");
        return Err(Error::usage(Code::DataTooDeep, message).hint("Keep the data in a file and name the file."));
    }
    if has_nul(value) {
        return Err(Error::usage(Code::ControlCharacter, "the data contains the control character U+0000"));
    }
    Ok(Some(stored))
}

/// Checks data that is stored byte for byte. A raw newline in it is whitespace between tokens, because significant ones
/// are escaped; it becomes a space.
pub(crate) fn given(raw: &str) -> Result<String> {
    let value: Value = serde_json::from_str(raw)
        .map_err(|error| Error::usage(Code::BadData, format!("the data is not JSON: {error}")))?;
    data(Some(&value))?;
    let stored = raw.replace(['\n', '\r'], " ");
    if stored.len() > text::TEXT_MAX {
        return Err(Error::usage(
            Code::DataTooLong,
            format!("the data has {} bytes; the limit is {}", stored.len(), text::TEXT_MAX),
        ));
    }
    Ok(stored)
}

/// NUL is the only character that PostgreSQL cannot store.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

impl Operation for Note {
    const NAME: &'static str = "note";
    const ABOUT: &'static str = "Note progress on a task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    const INPUTS: &'static [Input] = &[Input::Head];
    type Answer = answer::Noted;

    fn check(&self) -> Result<()> {
        text::required(&self.text, "note")?;
        remember::check(&self.memories)?;
        if self.artifacts.len() > ARTIFACTS_MAX {
            let message = format!("the note names {} files; the limit is {ARTIFACTS_MAX}", self.artifacts.len());
            return Err(Error::usage(Code::TooManyArtifacts, message));
        }
        self.artifacts.iter().try_for_each(|given| artifact(given).map(|_| ()))?;
        data(self.data.as_ref()).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Noted> {
        let task = work.meant(self.task.as_ref())?;
        let (loaded, fresh) = work.load_and_draw(&task)?;
        let right = work.right(&loaded, self.fence);
        // Any agent may add a note to a task named by id. Only a given fence, or the focus, requires that the hold
        // still stands.
        let late = match right {
            Ok(right) => right == Right::Late,
            Err(_) if self.task.is_some() && self.fence.is_none() => false,
            Err(error) => return Err(error),
        };
        let text = text::required(&self.text, "note")?;
        let artifacts = self.artifacts.iter().map(artifact).collect::<Result<Vec<_>>>()?;
        let row = write(work, (fresh, &task), (text, late), data(self.data.as_ref())?, &artifacts)?;
        let files: Vec<table::Row> = (0..)
            .zip(artifacts)
            .map(|(position, file)| table::Row {
                note: row.id.clone(),
                position,
                task: task.clone(),
                number: row.number,
                path: file.path,
                kind: file.kind.unwrap_or_default(),
                sha256: file.sha256,
                size: file.size,
            })
            .collect();
        table::insert_many(work.tx, &work.project.id, &files)?;
        let memories = remember::write(work, &self.memories, Some(&task))?;
        Ok(answer::Noted { id: row.id, task, late, memories, artifacts: files.len() })
    }
}

/// Writes a note: its event and its row.
pub(super) fn write(
    work: &mut UnitOfWork<'_>,
    (id, task): (NoteId, &TaskId),
    (text, late): (String, bool),
    data: Option<String>,
    artifacts: &[Artifact],
) -> Result<note::Row> {
    let noted = TaskNoted {
        note: id.to_string(),
        text: text.clone(),
        late,
        artifacts: artifacts.iter().map(Artifact::told).collect(),
        ..TaskNoted::default()
    };
    let number = work.append(About::of(task), Event::TaskNoted(noted))?;
    let row = note::Row {
        id,
        task: task.clone(),
        number,
        agent: work.me().clone(),
        at: work.now,
        text,
        data,
        late,
        head: work.call.checkout.as_ref().map(|here| here.tree.head.clone()).filter(|head| !head.is_empty()),
    };
    note::insert(work.tx, &work.project.id, &row)?;
    let mut words = TaskWords::default();
    words.of_note(task, &row.text);
    words.insert(work.tx, &work.project.id)?;
    Ok(row)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nul_is_refused_wherever_it_stands_and_a_spelled_out_one_is_not() {
        for bad in [json!("a\0"), json!([["\0"]]), json!({ "a\0": 1 }), json!({ "a": { "b": "\0" } })] {
            assert_eq!(data(Some(&bad)).unwrap_err().code(), "control_character", "{bad}");
        }
        assert!(data(Some(&json!({ "pattern": "\\u0000" }))).is_ok());
    }

    #[test]
    fn data_that_readers_would_give_up_on_is_refused() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(given(&nested(DEPTH_MAX)).is_ok());
        assert_eq!(given(&nested(DEPTH_MAX + 1)).unwrap_err().code(), "data_too_deep");
        assert_eq!(given(&nested(200)).unwrap_err().code(), "bad_data");
    }
}
