//! `tenure add --stdin`: one JSON object a line, all or none.

use std::io::Read;

use tenure_core::{Error, Kind, Result, Stage};
use tenure_kernel::Op;
use tenure_kernel::op::add_many::{AT_MOST, Item, Request};
use tenure_kernel::shape::Added;

use crate::context::Context;

/// Most bytes of input.
const BYTES_MAX: usize = 64 * 1024 * 1024;

pub(super) fn add(context: &Context<'_>) -> Result<u8> {
    let mut input = Vec::new();
    std::io::stdin().lock().take(BYTES_MAX as u64 + 1).read_to_end(&mut input).map_err(|error| {
        Error::new(Kind::Usage, "unreadable_input", Stage::Arguments, "standard input cannot be read").cause(error)
    })?;
    let items = parse(&input)?;
    let count = items.len();
    if count > 5_000 {
        context.out.aside(&format!("adding {count} tasks …"));
    }
    let (added, reply) = context.answer::<Added>(&Op::AddMany(Request { items }))?;
    if context.out.is_json() {
        context.out.body(&reply.body);
    } else {
        context.out.text(&summary(&added));
    }
    Ok(0)
}

fn summary(added: &Added) -> String {
    let mut text = format!("Added {} tasks", added.count);
    let shown = added.ids.iter().take(10).cloned().collect::<Vec<_>>().join(" ");
    text.push_str(&format!(": {shown}{}\n", if added.count > 10 { " …" } else { "" }));
    text
}

/// Reads the lines. An error names its line; nothing of the input is used then.
fn parse(input: &[u8]) -> Result<Vec<Item>> {
    if input.len() > BYTES_MAX {
        return Err(Error::usage("input_too_long", "the input has more than 64 MiB").hint("Send it in several calls."));
    }
    let mut items = Vec::new();
    for (index, bytes) in input.split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let bad = |message: String| {
            Error::usage("bad_line", format!("line {number}: {message}"))
                .hint("Nothing was added. Each line is one JSON object with a title.")
                .detail("line", number)
        };
        let line = std::str::from_utf8(bytes)
            .map_err(|error| bad(format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1)))?;
        if line.trim().is_empty() {
            continue;
        }
        if items.len() == AT_MOST {
            return Err(Error::usage("too_many_items", format!("the input has more than {AT_MOST} tasks"))
                .hint("Send it in several calls."));
        }
        let mut item: Item = serde_json::from_str(line).map_err(|error| bad(told(&error)))?;
        item.line = number;
        items.push(item);
    }
    Ok(items)
}

/// What the JSON reader says, with the column and without its own idea of the line.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    format!("{text} (column {})", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let line = |text: &[u8]| parse(text).unwrap_err().get("line").and_then(serde_json::Value::as_i64);
        assert_eq!(line(b"{\"title\":\"a\"}\n{\"title\":1}"), Some(2));
        assert_eq!(line(b"\n\nnot json"), Some(3));
        assert_eq!(line(b"{\"title\":\"a\",\"colour\":1}"), Some(1));
        assert_eq!(line(b"{\"title\":\"a\0\"}"), Some(1));
        assert_eq!(line(b"{\"title\":\"\xff\"}"), Some(1));
        assert_eq!(line(b"{}"), Some(1));
    }

    #[test]
    fn blank_lines_are_passed_over_and_lines_keep_their_numbers() {
        let items = parse(b"{\"title\":\"a\"}\n\n{\"title\":\"b\",\"key\":\"k\"}\n").unwrap();
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [1, 3]);
    }
}
