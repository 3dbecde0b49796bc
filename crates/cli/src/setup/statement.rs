//! The statements of a TOML file in their order: where each begins and ends, and which table it belongs to. What stands in a
//! text or a list is no statement, whatever it looks like.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Blank,
    Comment,
    Header,
    Pair,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) kind: Kind,
    /// With the newline behind it.
    pub(crate) range: Range<usize>,
    /// The names that lead to its table.
    pub(crate) table: Vec<String>,
}

/// The statements of a file that is known to be TOML.
pub(crate) fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut table = Vec::new();
    let mut at = text.len() - text.trim_start_matches('\u{feff}').len();
    while at < text.len() {
        let line_end = text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1);
        let (kind, end) = match text[at..line_end].trim_start().chars().next() {
            None => (Kind::Blank, line_end),
            Some('#') => (Kind::Comment, line_end),
            Some('[') => (Kind::Header, line_end),
            Some(_) => (Kind::Pair, pair_end(text.as_bytes(), at)),
        };
        if kind == Kind::Header {
            table = names(&text[at..end]);
        }
        found.push(Statement { kind, range: at..end, table: table.clone() });
        at = end;
    }
    found
}

/// The names in a header.
fn names(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(parsed) = DeTable::parse(line) else { return found };
    let mut table = parsed.get_ref();
    while let Some((name, value)) = table.iter().next() {
        found.push(name.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(below) => table = below,
            // One table of many is none that has that name.
            _ => {
                found.push("[]".to_owned());
                break;
            }
        }
    }
    found
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
            // A long text may end in quotes of its own.
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
    fn what_stands_in_a_value_is_no_statement() {
        let text = "\u{feff}a = \"\"\"\n# x\n[t]\n\"\"\"\"\"\n['q.r'.\"s\"] # c\nb = [ # ]\n  '[z]', { c = 1 },\n]\n\n[[l]]\nd = '\\'";
        let found: Vec<(Kind, &str, String)> = statements(text)
            .iter()
            .map(|statement| (statement.kind, text[statement.range.clone()].trim(), statement.table.join("|")))
            .collect();
        let kinds: Vec<Kind> = found.iter().map(|found| found.0).collect();
        assert_eq!(kinds, [Kind::Pair, Kind::Header, Kind::Pair, Kind::Blank, Kind::Header, Kind::Pair], "{found:?}");
        assert_eq!((found[0].2.as_str(), found[1].2.as_str(), found[2].2.as_str()), ("", "q.r|s", "q.r|s"));
        assert_eq!((found[2].1.ends_with(']'), found[5].2.as_str(), found[5].1), (true, "l|[]", "d = '\\'"));
    }
}
