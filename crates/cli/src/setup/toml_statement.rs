//! The statements of a TOML file in order: where each begins and ends, and its table. Text inside strings and arrays is
//! never a statement.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    Blank,
    Comment,
    Header,
    Pair,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TomlStatement {
    pub(crate) kind: StatementKind,
    /// With its newline.
    pub(crate) range: Range<usize>,
    /// The names that lead to its table.
    pub(crate) table: Vec<String>,
}

/// The statements of a valid TOML file.
pub(crate) fn statements(text: &str) -> Vec<TomlStatement> {
    let mut found = Vec::new();
    let mut table = Vec::new();
    let mut at = text.len() - text.trim_start_matches('\u{feff}').len();
    while at < text.len() {
        let line_end = text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1);
        let (kind, end) = match text[at..line_end].trim_start().chars().next() {
            None => (StatementKind::Blank, line_end),
            Some('#') => (StatementKind::Comment, line_end),
            Some('[') => (StatementKind::Header, line_end),
            Some(_) => (StatementKind::Pair, pair_end(text.as_bytes(), at)),
        };
        if kind == StatementKind::Header {
            table = names(&text[at..end]);
        }
        found.push(TomlStatement { kind, range: at..end, table: table.clone() });
        at = end;
    }
    found
}

/// The names in a header or in the key of a pair.
fn names(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(parsed) = DeTable::parse(line) else { return found };
    let mut table = parsed.get_ref();
    while let Some((name, value)) = table.iter().next().filter(|_| table.len() == 1) {
        found.push(name.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(below) => table = below,
            // An element of an array of tables is not the table of that name.
            _ => {
                found.push("[]".to_owned());
                break;
            }
        }
    }
    found
}

/// The names that lead to the value of a pair, from the top of the file, also through inline tables with one value.
fn full_names(text: &str, statement: &TomlStatement) -> Vec<String> {
    let below = if statement.kind == StatementKind::Pair { names(&text[statement.range.clone()]) } else { Vec::new() };
    statement.table.iter().cloned().chain(below).collect()
}

/// A file without the value or table at these names, however it is written. Comments stay.
pub(crate) fn without(text: &str, path: &[&str]) -> String {
    let is_meant =
        |names: &[String]| names.len() >= path.len() && names.iter().zip(path).all(|(name, own)| name == own);
    let mut out = String::new();
    let mut found = false;
    for statement in statements(text) {
        let goes = match statement.kind {
            StatementKind::Comment => false,
            StatementKind::Blank => is_meant(&statement.table),
            StatementKind::Header | StatementKind::Pair => is_meant(&full_names(text, &statement)),
        };
        found |= goes && statement.kind != StatementKind::Blank;
        if !goes {
            out.push_str(&text[statement.range]);
        }
    }
    let mark = &text[..text.len() - text.trim_start_matches('\u{feff}').len()];
    if found { format!("{mark}{out}") } else { without_inline(text, path).unwrap_or_else(|| text.to_owned()) }
}

/// The same for a value in an inline table with other values.
fn without_inline(text: &str, path: &[&str]) -> Option<String> {
    let parsed = DeTable::parse(text).ok()?;
    let (last, above) = path.split_last()?;
    let mut table = parsed.get_ref();
    for name in above {
        table = table.get(*name)?.get_ref().as_table()?;
    }
    let mut items: Vec<(&str, Range<usize>)> =
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span().start..value.span().end)).collect();
    items.sort_by_key(|(_, span)| span.start);
    let index = items.iter().position(|(name, _)| name == last)?;
    let spans: Vec<Range<usize>> = items.into_iter().map(|(_, span)| span).collect();
    Some(cut(text, &spans, index))
}

/// A text without one item of a list separated by commas.
pub(crate) fn cut(text: &str, items: &[Range<usize>], index: usize) -> String {
    let (mut start, mut end) = (items[index].start, items[index].end);
    match index.checked_sub(1).map(|before| items[before].end) {
        Some(before) if text[before..start].trim() == "," => start = before,
        _ => {
            let rest = text[end..].trim_start_matches([' ', '\t']);
            if let Some(rest) = rest.strip_prefix(',') {
                end = text.len() - rest.trim_start_matches(' ').len();
            }
        }
    }
    let mut out = text.to_owned();
    out.replace_range(start..end, "");
    out
}

fn pair_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < bytes.len() {
        match bytes[at] {
            b'#' => at += bytes[at..].iter().take_while(|byte| **byte != b'\n').count(),
            b'"' | b'\'' => at = string_end(bytes, at),
            b'\n' if depth == 0 => return at + 1,
            byte => {
                depth += usize::from(b"[{".contains(&byte));
                depth = depth.saturating_sub(usize::from(b"]}".contains(&byte)));
                at += 1;
            }
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let marks: &[u8] = if bytes[start..].starts_with(&[quote; 3]) { &[quote; 3] } else { &[quote] };
    let mut at = start + marks.len();
    while at < bytes.len() {
        if quote == b'"' && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(marks) {
            at += marks.len();
            // A multi-line string may end with quotes of its own.
            let more = bytes[at..].iter().take_while(|byte| marks.len() == 3 && **byte == quote).count();
            return at + more;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_out_however_it_is_written() {
        let path = ["s", "t"];
        for (text, left) in [
            ("a = 1\n\n[s.t]\nx = 1\n\n[s.t.env]\ny = 2\n\n# o\n[s.o]\nz = 1\n", "a = 1\n\n# o\n[s.o]\nz = 1\n"),
            ("[s]\nt = { x = 1 } # c\no = { z = 1 }\n", "[s]\no = { z = 1 }\n"),
            ("s.t.x = 1\ns.o.z = 1\ns.t.args = [\n1,\n]\n", "s.o.z = 1\n"),
            ("s = { o = { z = 1 }, t = { x = 1 } }\n", "s = { o = { z = 1 } }\n"),
            ("s = { t = { x = 1 }, o = { z = 1 } }\n", "s = { o = { z = 1 } }\n"),
            ("[s.\"t\"]\nx = 1\n[s.tt]\nx = 1\n", "[s.tt]\nx = 1\n"),
            ("s = 1\n", "s = 1\n"),
            ("x = \"[s.t]\"\n", "x = \"[s.t]\"\n"),
        ] {
            assert_eq!(without(text, &path), left, "{text}");
        }
    }

    #[test]
    fn what_stands_in_a_value_is_no_statement() {
        let text = "\u{feff}a = \"\"\"\n# x\n[t]\n\"\"\"\"\"\n['q.r'.\"s\"] # c\nb = [ # ]\n  '[z]', { c = 1 },\n]\n\n[[l]]\nd = '\\'";
        let found: Vec<(StatementKind, &str, String)> = statements(text)
            .iter()
            .map(|statement| (statement.kind, text[statement.range.clone()].trim(), statement.table.join("|")))
            .collect();
        let kinds: Vec<StatementKind> = found.iter().map(|found| found.0).collect();
        assert_eq!(
            kinds,
            [
                StatementKind::Pair,
                StatementKind::Header,
                StatementKind::Pair,
                StatementKind::Blank,
                StatementKind::Header,
                StatementKind::Pair
            ],
            "{found:?}"
        );
        assert_eq!((found[0].2.as_str(), found[1].2.as_str(), found[2].2.as_str()), ("", "q.r|s", "q.r|s"));
        assert_eq!((found[2].1.ends_with(']'), found[5].2.as_str(), found[5].1), (true, "l|[]", "d = '\\'"));
    }
}
