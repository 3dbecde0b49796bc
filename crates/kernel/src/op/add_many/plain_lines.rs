//! Tasks from plain text: one title a line, as people write lists.

use tenure_core::task::PRIORITY_DEFAULT;
use tenure_core::{Code, Error, Result};

use super::{AddMany, NewTask};
use crate::json_lines;

/// A line of a list.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Title(&'a str),
    /// An item with a check mark: it is done already.
    Checked,
    /// A blank line, or a comment.
    Nothing,
}

impl AddMany {
    /// Reads one title a line. Blank lines and lines that begin with `#` are skipped; so are items with a check mark, which
    /// are counted. Bullets, numbers and empty boxes before a title are removed.
    pub fn of_lines(input: &[u8]) -> Result<(AddMany, usize)> {
        let mut items = Vec::new();
        let mut checked = 0;
        for (line, bytes) in json_lines::lines(input) {
            let bad = |message: String| {
                Error::usage(Code::BadLine, format!("line {line}: {message}"))
                    .hint("Nothing was added. Each line is the title of one task.")
                    .detail("line", line)
            };
            let text = json_lines::text(bytes).map_err(bad)?;
            match parse(text.trim_start_matches('\u{feff}')) {
                Line::Title(title) => items.push(NewTask { line, ..NewTask::titled(title) }),
                Line::Checked => checked += 1,
                Line::Nothing => {}
            }
        }
        Ok((AddMany { items }, checked))
    }
}

impl NewTask {
    fn titled(title: &str) -> NewTask {
        NewTask {
            title: title.to_owned(),
            description: String::new(),
            priority: PRIORITY_DEFAULT,
            labels: Vec::new(),
            acceptance: String::new(),
            after: Vec::new(),
            key: None,
            line: 0,
        }
    }
}

fn parse(line: &str) -> Line<'_> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Line::Nothing;
    }
    let item = without_bullet(line);
    let (is_box, rest) = match item.get(..3) {
        Some("[ ]" | "[x]" | "[X]") => (true, &item[3..]),
        _ => (false, item),
    };
    let is_item = is_box && (rest.is_empty() || rest.starts_with(char::is_whitespace));
    match (is_item, rest.trim()) {
        (true, _) if !item.starts_with("[ ]") => Line::Checked,
        (true, "") => Line::Nothing,
        (true, title) => Line::Title(title),
        (false, _) if item.is_empty() => Line::Nothing,
        (false, _) => Line::Title(item),
    }
}

/// The text after `-`, `*`, `+`, `•`, `1.` or `1)` and a blank. A line that is a bullet alone is empty.
fn without_bullet(line: &str) -> &str {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = match digits.len() < line.len() {
        true => digits.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+', '•']),
    };
    match after {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bullets_are_removed_and_what_is_no_task_is_skipped() {
        for (line, title) in [
            ("Fix the login", "Fix the login"),
            ("  - [ ] Fix the login\r", "Fix the login"),
            ("\t* Fix the login", "Fix the login"),
            ("12. Fix the login", "Fix the login"),
            ("3) Fix the login", "Fix the login"),
            ("- Fix [x] in the login", "Fix [x] in the login"),
            ("2.0 release", "2.0 release"),
            ("-flag is ignored", "-flag is ignored"),
            ("[draft] page", "[draft] page"),
            ("*bold* title", "*bold* title"),
            ("[ ] Fix", "Fix"),
        ] {
            assert_eq!(parse(line), Line::Title(title), "{line}");
        }
        for nothing in ["", "  ", "# Heading", "  # comment", "-", "1.", "- [ ]"] {
            assert_eq!(parse(nothing), Line::Nothing, "{nothing}");
        }
        assert_eq!((parse("- [x] done"), parse("[X] done")), (Line::Checked, Line::Checked));
    }

    #[test]
    fn items_know_their_lines() {
        let (request, checked) = AddMany::of_lines(b"# todo\n\n- [ ] one\n- [x] two\n3. three\n").unwrap();
        let items: Vec<_> = request.items.iter().map(|item| (item.line, item.title.as_str())).collect();
        assert_eq!((items, checked), (vec![(3, "one"), (5, "three")], 1));
        assert_eq!(AddMany::of_lines(b"one\n\xff\n").unwrap_err().code(), "bad_line");
    }

    proptest! {
        #[test]
        fn a_title_is_trimmed_text_of_its_line(line in "\\PC{0,60}") {
            if let Line::Title(title) = parse(&line) {
                prop_assert!(!title.is_empty() && title.trim() == title && line.contains(title));
            }
        }
    }
}
