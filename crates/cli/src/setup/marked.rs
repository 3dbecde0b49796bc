//! A part of a text file between two marks: a section of AGENTS.md, tables of a TOML file. It stands at the end, and the
//! newline before the first mark came with it, so that the file ends afterwards as it did before.

/// What a part is framed by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

pub(crate) const TOML: Marks = Marks { begin: "# tenure setup: begin", end: "# tenure setup: end" };
pub(crate) const MARKDOWN: Marks = Marks { begin: "<!-- tenure setup: begin -->", end: "<!-- tenure setup: end -->" };

/// The part between the marks, if both are there, each on a line of its own.
pub(crate) fn find<'a>(text: &'a str, marks: &Marks) -> Option<&'a str> {
    let (start, end) = span(text, marks)?;
    let inside = &text[start..end];
    let first = inside.find(marks.begin)? + marks.begin.len();
    let last = inside.rfind(marks.end)?;
    Some(inside[first..last].trim_matches(['\r', '\n']))
}

/// A text with a part of these lines; one that was there is replaced. None: a file that does not exist yet.
pub(crate) fn put(before: Option<&str>, marks: &Marks, lines: &str) -> String {
    let Some(before) = before else { return framed(marks, lines, "\n") };
    if find(before, marks).is_some_and(|found| same_lines(found, lines)) {
        return before.to_owned();
    }
    let mut text = take(before, marks).unwrap_or_default();
    let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
    text.push_str(newline);
    text.push_str(&framed(marks, lines, newline));
    text
}

/// A text without the part; None if there is nothing else in it because it was made for the part.
pub(crate) fn take(before: &str, marks: &Marks) -> Option<String> {
    let Some((start, end)) = span(before, marks) else { return Some(before.to_owned()) };
    if start == 0 && end == before.len() && before.starts_with(marks.begin) {
        return None;
    }
    let (front, back) = (&before[..start], &before[end..]);
    // What was added behind it must not run into the last line before it.
    let apart = if front.is_empty() || front.ends_with('\n') || back.is_empty() { "" } else { "\n" };
    Some(format!("{front}{apart}{back}"))
}

/// Where the part is, with the newline that came before it and the one behind it.
fn span(text: &str, marks: &Marks) -> Option<(usize, usize)> {
    let begin = line_of(text, marks.begin, 0)?;
    let last = line_of(text, marks.end, begin)?;
    let mut end = last + marks.end.len();
    end += text[end..].find('\n').map_or(text.len() - end, |newline| newline + 1);
    let mut start = begin;
    if text[..start].ends_with('\n') {
        start -= 1;
        start -= usize::from(text[..start].ends_with('\r'));
    }
    Some((start, end))
}

/// Where a line that is exactly this begins, from a place on.
fn line_of(text: &str, line: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = text[at..].find(line) {
        let start = at + found;
        let whole = start == 0 || text[..start].ends_with('\n');
        if whole && text[start + line.len()..].trim_start_matches(['\r', ' ']).chars().next().is_none_or(|c| c == '\n')
        {
            return Some(start);
        }
        at = start + line.len();
    }
    None
}

fn framed(marks: &Marks, lines: &str, newline: &str) -> String {
    let lines: Vec<&str> = lines.lines().collect();
    format!("{}{newline}{}{newline}{}{newline}", marks.begin, lines.join(newline), marks.end)
}

fn same_lines(one: &str, other: &str) -> bool {
    one.lines().eq(other.lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_taken_out_without_a_trace() {
        let lines = "[a]\nb = 1";
        for before in ["", "\n", "x = 1", "x = 1\n", "x = 1\r\n", "x = 1\n\n\n", "# tenure setup: begin of nothing\n"] {
            let after = put(Some(before), &TOML, lines);
            assert_eq!(find(&after, &TOML).map(|found| found.replace('\r', "")).as_deref(), Some(lines), "{before:?}");
            assert_eq!(put(Some(&after), &TOML, lines), after, "{before:?}");
            assert_eq!(take(&after, &TOML).as_deref(), Some(before), "{before:?}");
            let other = put(Some(&after), &TOML, "c = 2");
            assert_eq!(take(&other, &TOML).as_deref(), Some(before), "{before:?}");
        }
        assert_eq!(take(&put(None, &TOML, lines), &TOML), None);
    }

    #[test]
    fn what_came_behind_it_stays() {
        for before in ["one", "one\n"] {
            let after = put(Some(before), &MARKDOWN, "ours") + "two\n";
            assert_eq!(take(&after, &MARKDOWN).as_deref(), Some("one\ntwo\n"));
        }
    }
}
