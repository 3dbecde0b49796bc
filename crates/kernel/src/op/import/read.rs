//! Parses an export.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tenure_core::action::{Action, Advice};
use tenure_core::{Code, Error, Result, text};

use super::{Import, NOTES_MAX, TASKS_MAX};
use crate::answer::export::{ExportEnd, ExportedNote, ExportedTask, FORMAT, Header};
use crate::json_lines;

/// The maximum size of an export in bytes.
pub const BYTES_MAX: usize = 512 * 1024 * 1024;

/// One line after the first: exactly one of its fields is set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "struct Line")]
struct ImportLine {
    task: Option<Box<ExportedTask>>,
    note: Option<Box<ExportedNote>>,
    event: Option<IgnoredAny>,
    end: Option<bool>,
    tasks: Option<usize>,
    notes: Option<usize>,
    events: Option<usize>,
}

fn bad(line: usize, message: &str) -> Error {
    Error::usage(Code::BadLine, format!("line {line}: {message}"))
        .hint("Nothing was imported. docs/export.md has the format.")
        .detail("line", line)
}

/// The error for a file that is not an export, or not one that this version can read.
fn bad_file(message: impl Into<String>) -> Error {
    Error::usage(Code::BadExport, message).hint(
        Advice::from("Nothing was imported. Give a file that ")
            .action(Action::Export)
            .text(" wrote, or JSON lines of tasks, each with a title."),
    )
}

/// The error for a file that ends too soon, or whose last line gives other counts than the file has.
fn truncated(message: impl Into<String>) -> Error {
    Error::usage(Code::ExportTruncated, message).hint("Nothing was imported. Get the whole file and try again.")
}

impl Import {
    /// Parses an export from JSON lines. An error names its line, and nothing of the input is used.
    pub fn parse(input: &[u8]) -> Result<Import> {
        if input.len() > BYTES_MAX {
            return Err(Error::usage(
                Code::InputTooLong,
                format!("the file is larger than {} MiB", BYTES_MAX / 1024 / 1024),
            ));
        }
        let mut lines = json_lines::lines(input);
        let (number, first) = lines.next().ok_or_else(|| bad_file("the file is empty"))?;
        header(number, first)?;
        let mut request = Import::default();
        for (number, bytes) in lines.by_ref() {
            let words = json_lines::text(bytes).map_err(|message| bad(number, &message))?;
            let line: ImportLine = serde_json::from_str(words).map_err(|error| told(number, bytes, &error, input))?;
            if let Some(end) = request.take(number, line)? {
                request.compare(end)?;
                return match lines.next() {
                    None => Ok(request),
                    Some((number, _)) => Err(bad(number, "there is text after the last line of the export")),
                };
            }
        }
        Err(truncated("the last line is missing: the file is truncated"))
    }

    /// Adds the contents of a line. The last line is returned.
    fn take(&mut self, number: usize, line: ImportLine) -> Result<Option<ExportEnd>> {
        match line {
            ImportLine {
                task: Some(task),
                note: None,
                event: None,
                end: None,
                tasks: None,
                notes: None,
                events: None,
            } => {
                if self.tasks.len() == TASKS_MAX {
                    return Err(too_many("tasks", TASKS_MAX));
                }
                self.tasks.push(ExportedTask { line: number, ..*task });
                Ok(None)
            }
            ImportLine {
                task: None,
                note: Some(note),
                event: None,
                end: None,
                tasks: None,
                notes: None,
                events: None,
            } => {
                if self.notes.len() == NOTES_MAX {
                    return Err(too_many("notes", NOTES_MAX));
                }
                self.notes.push(ExportedNote { line: number, ..*note });
                Ok(None)
            }
            ImportLine {
                task: None,
                note: None,
                event: Some(_),
                end: None,
                tasks: None,
                notes: None,
                events: None,
            } => {
                self.events += 1;
                Ok(None)
            }
            ImportLine {
                task: None,
                note: None,
                event: None,
                end: Some(true),
                tasks: Some(tasks),
                notes: Some(notes),
                events: Some(events),
            } => Ok(Some(ExportEnd { end: true, tasks, notes, events })),
            _ => Err(bad(number, "a line is one task, one note, one event, or the end")),
        }
    }

    /// Compares the file with the counts on its last line.
    fn compare(&self, said: ExportEnd) -> Result<()> {
        let found = ExportEnd { end: true, tasks: self.tasks.len(), notes: self.notes.len(), events: self.events };
        if found == said {
            return Ok(());
        }
        let told = |end: &ExportEnd| format!("{} tasks, {} notes and {} events", end.tasks, end.notes, end.events);
        Err(truncated(format!("the last line says {}, but there are {}", told(&said), told(&found))))
    }
}

fn too_many(what: &str, most: usize) -> Error {
    Error::usage(Code::TooManyItems, format!("the file has more than {most} {what}"))
        .hint(super::split())
        .detail("limit", most)
}

/// The error of a line. An incomplete last line without a newline means that the file was truncated.
fn told(number: usize, line: &[u8], error: &serde_json::Error, input: &[u8]) -> Error {
    if error.is_eof() && input.ends_with(line) {
        return truncated(format!("line {number} is incomplete: the file is truncated")).detail("line", number);
    }
    bad(number, &json_lines::told(error))
}

/// Checks that the first line is the header of an export in a known format. The format is checked first, because a
/// newer one may have unknown fields.
fn header(number: usize, line: &[u8]) -> Result<()> {
    let not_one = || bad_file("this is not an export of Tenure: its first line is different");
    let words = json_lines::text(line).map_err(|_| not_one())?;
    let value: Value = serde_json::from_str(words.trim_start_matches('\u{feff}')).map_err(|_| not_one())?;
    if value.get("tenure").and_then(Value::as_str) != Some("export") {
        return Err(not_one());
    }
    match value.get("format").and_then(Value::as_i64) {
        Some(FORMAT) => {}
        Some(newer) if newer > FORMAT => {
            return Err(Error::usage(
                Code::NewerExport,
                format!("the file has format {newer}; this version reads up to {FORMAT}"),
            )
            .hint("Nothing was imported. Install the version of Tenure that wrote it."));
        }
        _ => return Err(bad_file("the first line names no format")),
    }
    match serde_json::from_value::<Header>(value) {
        Ok(_) => Ok(()),
        Err(error) => Err(bad(number, &text::cut(&error.to_string(), 200))),
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::action::Plain;

    use super::*;
    use crate::op::Operation;

    const HEADER: &str = r#"{"tenure":"export","format":1,"project":{"key":"k","label":"l"},"exported_at":"x"}"#;
    const TASK: &str = r#"{"task":{"id":"t-00000","title":"a","created_by":"a","created_at":"x","updated_at":"x"}}"#;
    const END: &str = r#"{"end":true,"tasks":1,"notes":0,"events":0}"#;

    fn code(input: &[u8]) -> (&'static str, Option<u64>) {
        let error = Import::parse(input).unwrap_err();
        (error.code().as_str(), error.get("line").and_then(Value::as_u64))
    }

    #[test]
    fn lines_may_end_in_either_way_and_blank_ones_are_passed_over() {
        for end in ["\n", "\r\n", "\n\n", "\r\n \r\n"] {
            let file = [HEADER, TASK, END, ""].join(end);
            let request = Import::parse(file.as_bytes()).unwrap();
            assert_eq!((request.tasks.len(), request.notes.len(), request.events), (1, 0, 0));
        }
        let request = Import::parse([HEADER, TASK, END].join("\n").as_bytes()).unwrap();
        assert_eq!(request.tasks[0].line, 2);
    }

    #[test]
    fn inv_l11_more_than_one_import_takes_is_refused_before_any_store_is_looked_at() {
        let many = [HEADER, "\n", &format!("{TASK}\n").repeat(TASKS_MAX + 1)].concat();
        let error = Import::parse(many.as_bytes()).unwrap_err();
        assert_eq!(
            (error.code().as_str(), error.get("limit").and_then(Value::as_u64)),
            ("too_many_items", Some(200_000))
        );
        assert!(error.advice().unwrap().say(&Plain).contains("Nothing was imported"), "{error:?}");
        let one = Import::parse([HEADER, TASK, END].join("\n").as_bytes()).unwrap();
        let tasks = vec![one.tasks[0].clone(); TASKS_MAX + 1];
        let error = Import { tasks, ..Import::default() }.check().unwrap_err();
        assert_eq!(error.message(), "the input has 200001 tasks; the limit for one import is 200000");
        assert_eq!(error.get("given").and_then(Value::as_u64), Some(200_001));
    }

    #[test]
    fn a_file_that_was_cut_off_anywhere_is_refused() {
        let file = [HEADER, TASK, r#"{"event":{}}"#, r#"{"end":true,"tasks":1,"notes":0,"events":1}"#, ""].join("\n");
        assert!(Import::parse(file.as_bytes()).is_ok());
        for cut in 0..file.len() - 1 {
            let refused = code(&file.as_bytes()[..cut]).0;
            let expected = if cut < HEADER.len() { "bad_export" } else { "export_truncated" };
            assert_eq!(refused, expected, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_export_is_refused() {
        let with = |line: &str| [HEADER, line, END].join("\n").into_bytes();
        for (input, expected) in [
            (b"".to_vec(), ("bad_export", None)),
            (b"\n \n".to_vec(), ("bad_export", None)),
            (b"\x7fELF\x02\x01\x01\0\0\0".to_vec(), ("bad_export", None)),
            (b"{\"title\":\"a\"}\n".to_vec(), ("bad_export", None)),
            (b"{\"tenure\":\"export\"}\n".to_vec(), ("bad_export", None)),
            (HEADER.replace(":1,", ":0,").into_bytes(), ("bad_export", None)),
            (HEADER.replace(":1,", ":2,\"new\":true,").into_bytes(), ("newer_export", None)),
            (HEADER.replace(":1,", ":1,\"new\":true,").into_bytes(), ("bad_line", Some(1))),
            (with("{}"), ("bad_line", Some(2))),
            (with("[]"), ("bad_line", Some(2))),
            (with(&TASK.replace("\"title\"", "\"colour\":1,\"title\"")), ("bad_line", Some(2))),
            (with(&TASK.replace("}}", "},\"event\":{}}")), ("bad_line", Some(2))),
            (with("{\"end\":false,\"tasks\":0,\"notes\":0,\"events\":0}"), ("bad_line", Some(2))),
            ([HEADER, TASK, END, TASK].join("\n").into_bytes(), ("bad_line", Some(4))),
            ([HEADER, TASK, TASK, END].join("\n").into_bytes(), ("export_truncated", None)),
            ([HEADER.as_bytes(), b"\n{\"task\":\"\xff\"}\n"].concat(), ("bad_line", Some(2))),
            ([HEADER.as_bytes(), b"\n", &vec![b'['; 5 << 20], b"\n"].concat(), ("bad_line", Some(2))),
        ] {
            assert_eq!(code(&input), expected, "{}", String::from_utf8_lossy(&input[..input.len().min(200)]));
        }
    }
}
