//! JSON as people keep it: with comments, trailing commas and their own layout. The parser records the position of
//! every value. Changes insert and remove text, so that all other content stays byte for byte.
//!
//! Inserted text can be removed again without a trace and without a record, because the layout shows how it was
//! inserted: a container that is created here has its first item on a line of its own; an empty container that existed
//! gets its first item directly after its bracket; other items follow the last one, with a trailing comma only if that
//! one had one.
//!
//! The parser is written by hand because `jsonc-parser` refuses a string with an unpaired surrogate. Tools written in
//! JavaScript put such strings into their configuration when they cut a text in the middle.

use std::ops::Range;

/// The maximum nesting of values. The parser is recursive, and no tool's configuration comes near.
const DEPTH: usize = 128;

/// A value and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonNode {
    pub(crate) span: Range<usize>,
    pub(crate) kind: JsonKind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object(Vec<JsonMember>),
    Array(Vec<JsonMember>),
    Text(String),
    /// A number, `true`, `false` or `null`.
    Other,
}

/// A member of an object or an element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonMember {
    /// Empty in an array.
    pub(crate) key: String,
    /// Where it begins: at the key of a member, or at the value of an element.
    pub(crate) start: usize,
    pub(crate) node: JsonNode,
}

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl JsonNode {
    /// The items of a container; empty for any other value.
    pub(crate) fn items(&self) -> &[JsonMember] {
        match &self.kind {
            JsonKind::Object(items) | JsonKind::Array(items) => items,
            _ => &[],
        }
    }

    /// The last member of that name, which is the one that counts if a name occurs twice.
    pub(crate) fn get(&self, key: &str) -> Option<&JsonNode> {
        match &self.kind {
            JsonKind::Object(items) => items.iter().rev().find(|item| item.key == key).map(|item| &item.node),
            _ => None,
        }
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            JsonKind::Text(text) => Some(text),
            _ => None,
        }
    }

    fn is_container(&self) -> bool {
        matches!(self.kind, JsonKind::Object(_) | JsonKind::Array(_))
    }
}

/// Parses a text.
pub(crate) fn parse(text: &str) -> Result<JsonNode, Fault> {
    let mut reader = JsonReader { text, bytes: text.as_bytes(), at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let node = reader.blank().and_then(|()| reader.value(0)).and_then(|node| {
        reader.blank()?;
        if reader.at < reader.bytes.len() { Err(reader.fault("there is text after the end")) } else { Ok(node) }
    })?;
    Ok(node)
}

struct JsonReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl JsonReader<'_> {
    fn fault(&self, what: &str) -> Fault {
        let before = &self.bytes[..self.at.min(self.bytes.len())];
        Fault { line: before.iter().filter(|byte| **byte == b'\n').count() + 1, what: what.to_owned() }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space and comments.
    fn blank(&mut self) -> Result<(), Fault> {
        loop {
            match blank_at(self.bytes, self.at) {
                Blank::None => return Ok(()),
                Blank::Until(end) => self.at = end,
                Blank::Open => return Err(self.fault("a comment has no end")),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<JsonNode, Fault> {
        if depth > DEPTH {
            return Err(self.fault("values are nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => JsonKind::Object(self.items(b'}', true, depth)?),
            Some(b'[') => JsonKind::Array(self.items(b']', false, depth)?),
            Some(b'"') => JsonKind::Text(self.string()?),
            Some(_) => self.word()?,
            None => return Err(self.fault("a value is missing at the end")),
        };
        Ok(JsonNode { span: start..self.at, kind })
    }

    fn items(&mut self, close: u8, keyed: bool, depth: usize) -> Result<Vec<JsonMember>, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blank()?;
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(items);
                }
                None => return Err(self.fault("a bracket is not closed")),
                Some(b',') => return Err(self.fault("a value is missing before a comma")),
                Some(_) => {}
            }
            let start = self.at;
            let mut key = String::new();
            if keyed {
                if self.peek() != Some(b'"') {
                    return Err(self.fault("a name in quotes is missing"));
                }
                key = self.string()?;
                self.blank()?;
                if self.peek() != Some(b':') {
                    return Err(self.fault("a colon is missing"));
                }
                self.at += 1;
                self.blank()?;
            }
            let node = self.value(depth + 1)?;
            items.push(JsonMember { key, start, node });
            self.blank()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => {}
                Some(_) => return Err(self.fault("a comma is missing")),
                None => return Err(self.fault("a bracket is not closed")),
            }
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(byte) if byte >= 0x20 => self.at += 1,
                Some(_) => return Err(self.fault("a string contains a control character")),
                None => return Err(self.fault("a string has no end")),
            }
        }
        self.at += 1;
        let Some(raw) = self.text.get(start..self.at) else { return Err(self.fault("a string has no end")) };
        // JavaScript writes half a surrogate pair for a text cut in the middle. No entry of Tenure contains one.
        Ok(serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()))
    }

    fn word(&mut self) -> Result<JsonKind, Fault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
        let known = serde_json::from_str::<serde::de::IgnoredAny>(&self.text[start..self.at]).is_ok();
        if known { Ok(JsonKind::Other) } else { Err(self.fault("this is not a value")) }
    }
}

enum Blank {
    None,
    Until(usize),
    Open,
}

/// White space or one comment at a position.
fn blank_at(bytes: &[u8], at: usize) -> Blank {
    let rest = &bytes[at.min(bytes.len())..];
    if rest.starts_with(b"//") {
        return Blank::Until(at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()));
    }
    if rest.starts_with(b"/*") {
        let end = rest[2..].windows(2).position(|pair| pair == b"*/");
        return end.map_or(Blank::Open, |end| Blank::Until(at + 2 + end + 2));
    }
    match rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count() {
        0 => Blank::None,
        count => Blank::Until(at + count),
    }
}

/// The comma after a value, if there is one before the next value or the end of the container.
fn comma_after(text: &str, mut at: usize) -> Option<usize> {
    while let Blank::Until(end) = blank_at(text.as_bytes(), at) {
        at = end;
    }
    (text.as_bytes().get(at) == Some(&b',')).then_some(at)
}

/// The layout of a text: its line ending and its indentation.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) newline: &'static str,
    pub(crate) unit: String,
}

impl Layout {
    pub(crate) fn of(text: &str, root: &JsonNode) -> Layout {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.items().first().filter(|item| begins_line(text, item.start));
        let unit = first.map(|item| indent_at(text, item.start).to_owned()).filter(|unit| !unit.is_empty());
        Layout { newline, unit: unit.unwrap_or_else(|| "  ".to_owned()) }
    }
}

/// The indentation of the line of a position.
fn indent_at(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = text[line..].trim_start_matches('\u{feff}');
    let line = text.len() - rest.len();
    &text[line..line + rest.bytes().take_while(|byte| b" \t".contains(byte)).count()]
}

/// Whether only white space precedes a position on its line.
fn begins_line(text: &str, at: usize) -> bool {
    text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
}

/// What is inserted: a value in one line, under names that are created if they do not exist.
pub(crate) struct JsonEntry<'a> {
    /// The names that lead to the container, from the top.
    pub(crate) path: &'a [&'a str],
    /// The name in the container; `None` for an element of an array.
    pub(crate) key: Option<&'a str>,
    /// The value as JSON.
    pub(crate) value: &'a str,
    /// Whether the whole text is new. Its first item is then on a line of its own.
    pub(crate) fresh: bool,
}

/// A value on the path to an entry that is not a container, named from the top.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAContainer(pub(crate) String);

/// Inserts an entry at the end of its container.
pub(crate) fn insert(text: &str, root: &JsonNode, entry: &JsonEntry<'_>) -> Result<String, NotAContainer> {
    let layout = Layout::of(text, root);
    let mut node = root;
    let mut depth = 0;
    for (index, key) in entry.path.iter().enumerate() {
        match node.get(key) {
            Some(next) => (node, depth) = (next, index + 1),
            None => break,
        }
    }
    let keyed = depth < entry.path.len() || entry.key.is_some();
    let fits = match node.kind {
        JsonKind::Object(_) => keyed,
        JsonKind::Array(_) => !keyed,
        _ => false,
    };
    if !fits {
        return Err(NotAContainer(entry.path[..depth].join(".")));
    }
    if entry.fresh && depth == 0 && node.items().is_empty() {
        let item = render(entry, entry.path, &layout, &layout.unit);
        let mut out = text.to_owned();
        out.insert_str(node.span.start + 1, &format!("{}{}{item}", layout.newline, layout.unit));
        return Ok(out);
    }
    let multi = node.items().first().is_some_and(|item| begins_line(text, item.start));
    let indent = match node.items().first() {
        Some(item) if multi => indent_at(text, item.start).to_owned(),
        _ => indent_at(text, node.span.start).to_owned(),
    };
    let item = render(entry, &entry.path[depth..], &layout, &indent);
    Ok(append(text, node, &item, &if multi { format!("{}{indent}", layout.newline) } else { " ".to_owned() }))
}

/// An entry as text, within the containers that have to be created for it.
fn render(entry: &JsonEntry<'_>, missing: &[&str], layout: &Layout, indent: &str) -> String {
    let name = |key: &str| format!("{}: ", serde_json::Value::from(key));
    let Some((first, rest)) = missing.split_first() else {
        return format!("{}{}", entry.key.map(name).unwrap_or_default(), entry.value);
    };
    let (open, close) = if rest.is_empty() && entry.key.is_none() { ('[', ']') } else { ('{', '}') };
    let inner = format!("{indent}{}", layout.unit);
    let newline = layout.newline;
    let item = render(entry, rest, layout, &inner);
    format!("{}{open}{newline}{inner}{item}{newline}{indent}{close}", name(first))
}

fn append(text: &str, node: &JsonNode, item: &str, separator: &str) -> String {
    let mut out = text.to_owned();
    let Some(last) = node.items().last() else {
        out.insert_str(node.span.start + 1, item);
        return out;
    };
    let trailing = comma_after(text, last.node.span.end);
    let mut at = trailing.map_or(last.node.span.end, |comma| comma + 1);
    if separator.contains('\n') {
        at = behind_remark(text, at);
    }
    let end = if trailing.is_some() { "," } else { "" };
    out.insert_str(at, &format!("{separator}{item}{end}"));
    if trailing.is_none() {
        out.insert(last.node.span.end, ',');
    }
    out
}

/// The position after the comments on the same line, which belong to the item before.
fn behind_remark(text: &str, mut at: usize) -> usize {
    loop {
        let blank = text[at..].bytes().take_while(|byte| b" \t".contains(byte)).count();
        if !text[at + blank..].starts_with('/') {
            return at;
        }
        match blank_at(text.as_bytes(), at + blank) {
            Blank::Until(end) if !text[at + blank..end].contains('\n') => {
                at = if text[..end].ends_with('\r') { end - 1 } else { end };
            }
            _ => return at,
        }
    }
}

/// Removes an item from the container at a path of positions, and every container above it that was made for it and
/// becomes empty. `made` tells whether a container, named from the top, was made; if it does not know, the layout
/// decides.
pub(crate) fn remove(text: &str, root: &JsonNode, place: &[usize], made: &dyn Fn(&[&str]) -> Option<bool>) -> String {
    let mut place = place.to_vec();
    loop {
        let Some((index, above)) = place.split_last() else { return text.to_owned() };
        let mut container = root;
        let mut names = Vec::new();
        for index in above {
            let item = &container.items()[*index];
            names.push(item.key.as_str());
            container = &item.node;
        }
        let alone = container.items().len() == 1 && container.is_container();
        if alone && !above.is_empty() && made(&names).unwrap_or_else(|| was_made(text, container)) {
            place.pop();
            continue;
        }
        return cut(text, container, *index);
    }
}

/// Whether a container with one item has the layout of `render`, with no other content.
fn was_made(text: &str, container: &JsonNode) -> bool {
    let [item] = container.items() else { return false };
    let inside = |range: Range<usize>| text[range].chars().all(char::is_whitespace);
    let before = container.span.start + 1..item.start;
    text[before.clone()].trim_start_matches('\r').starts_with('\n')
        && inside(before)
        && inside(item.node.span.end..container.span.end - 1)
}

fn cut(text: &str, container: &JsonNode, index: usize) -> String {
    let items = container.items();
    let item = &items[index];
    let (mut start, mut end) = (item.start, item.node.span.end);
    let bytes = text.as_bytes();
    let own_line = begins_line(text, start);
    if own_line {
        while start > 0 && b" \t".contains(&bytes[start - 1]) {
            start -= 1;
        }
        start -= 1;
        start -= usize::from(start > 0 && bytes[start - 1] == b'\r');
    } else if index > 0 && text[..start].ends_with(' ') {
        start -= 1;
    }
    let comma = comma_after(text, end);
    if let Some(comma) = comma {
        // A comment between them stays.
        if text[end..comma].trim().is_empty() {
            end = comma + 1;
        } else {
            let mut out = text.to_owned();
            out.replace_range(comma..=comma, "");
            out.replace_range(start..end, "");
            return out;
        }
        let next = items.get(index + 1).map(|next| next.start);
        if let (0, false, Some(next)) = (index, own_line, next)
            && text[end..next].chars().all(|c| c == ' ')
        {
            end = next;
        }
    }
    let mut out = text.to_owned();
    out.replace_range(start..end, "");
    // The last item is removed with the comma that was inserted before it.
    if comma.is_none()
        && index > 0
        && let Some(before) = comma_after(text, items[index - 1].node.span.end)
    {
        out.replace_range(before..=before, "");
    }
    out
}

#[cfg(test)]
mod tests;
