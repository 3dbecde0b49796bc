//! JSON lines: one object a line, where an error names its line.

use tenure_core::{Error, Result};

/// Most bytes of one line. The longest that an export has is a task whose texts are full of escapes.
const LINE_MAX: usize = 4 * 1024 * 1024;

/// The lines of an input that have something on them, each with its number. What stands before a newline may be a
/// carriage return: some editors and transports add one.
pub(crate) fn lines(input: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    input
        .split(|byte| *byte == b'\n')
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace))
}

/// A line as text.
pub(crate) fn text(line: &[u8]) -> Result<&str, String> {
    if line.len() > LINE_MAX {
        return Err(format!("it has {} bytes, at most {LINE_MAX} fit", line.len()));
    }
    std::str::from_utf8(line).map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))
}

/// What the JSON reader says, with the column and without its own idea of the line.
pub(crate) fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    format!("{} (column {})", tenure_core::text::cut(text, 200), error.column())
}

/// Puts the line of an item into an error about it. `nothing` says that nothing happened.
pub(crate) fn on_line(line: usize, nothing: &'static str) -> impl Fn(Error) -> Error {
    move |error| {
        Error::new(error.code(), format!("line {line}: {}", error.message()))
            .with_kind(error.kind())
            .at(error.stage())
            .entity(error.about().map_or_else(|| format!("line {line}"), ToOwned::to_owned))
            .hint(match error.advice() {
                Some(advice) => advice.clone().text(format!(" {nothing}")),
                None => format!("{nothing} Correct the line and send all again.").into(),
            })
            .detail("line", line)
    }
}
