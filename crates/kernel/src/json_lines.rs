//! JSON lines: one object a line. Errors name their line.

use tenure_core::{Error, Result};

/// The maximum size of a line in bytes. The longest line of an export is a task whose texts are full of escapes.
const LINE_MAX: usize = 4 * 1024 * 1024;

/// The non-empty lines of an input, with their numbers. A carriage return before the newline is allowed: some editors
/// and transports add one.
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
        return Err(format!("it has {} bytes; the limit is {LINE_MAX}", line.len()));
    }
    std::str::from_utf8(line).map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))
}

/// The message of the JSON parser with its column, but without its own line number.
pub(crate) fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    format!("{} (column {})", tenure_core::text::cut(text, 200), error.column())
}

/// Adds the line of an item to its error. `nothing` says that nothing happened.
pub(crate) fn on_line(line: usize, nothing: &'static str) -> impl Fn(Error) -> Error {
    move |error| {
        Error::new(error.code(), format!("line {line}: {}", error.message()))
            .with_kind(error.kind())
            .at(error.stage())
            .entity(error.about().map_or_else(|| format!("line {line}"), ToOwned::to_owned))
            .hint(match error.advice() {
                Some(advice) => advice.clone().text(format!(" {nothing}")),
                None => format!("{nothing} Correct the line and send the whole input again.").into(),
            })
            .detail("line", line)
    }
}
