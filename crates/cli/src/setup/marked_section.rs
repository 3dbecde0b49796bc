//! A section of a text file between two marks: in AGENTS.md, or tables of a TOML file. It is appended together with the
//! newline before its first mark, so that removing it restores the end of the file.
//!
//! The marks show where to look, not what is Tenure's: other programs write between them too.

use std::ops::Range;

use super::Problem;
use super::json_entries::FileOutcome;

/// The two marks of a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

pub(crate) const TOML: Marks = Marks { begin: "# tenure setup: begin", end: "# tenure setup: end" };
pub(crate) const MARKDOWN: Marks = Marks { begin: "<!-- tenure setup: begin -->", end: "<!-- tenure setup: end -->" };

/// The position of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SectionSpan {
    /// With the marks.
    pub(crate) whole: Range<usize>,
    /// Between the lines of the marks.
    pub(crate) inside: Range<usize>,
}

impl SectionSpan {
    /// The text without the section; `None` if the file was made for the section and has no other content.
    pub(crate) fn cut(&self, text: &str) -> Option<String> {
        if self.whole == (0..text.len()) {
            return None;
        }
        let (mut front, back) = (&text[..self.whole.start], &text[self.whole.end..]);
        front = front.strip_suffix('\n').unwrap_or(front);
        front = front.strip_suffix('\r').unwrap_or(front);
        // Text that was added after the section must not join the line before it.
        let apart = if front.is_empty() || front.ends_with('\n') || back.is_empty() { "" } else { "\n" };
        Some(format!("{front}{apart}{back}"))
    }

    /// The text with this rest of the section, without the marks.
    pub(crate) fn leave(&self, text: &str, rest: &str) -> Option<String> {
        if rest.trim().is_empty() {
            return self.cut(text);
        }
        let rest = rest.trim_start_matches(['\r', '\n']);
        Some(format!("{}{rest}{}", &text[..self.whole.start], &text[self.whole.end..]))
    }
}

/// The section between lines that can be marks. Marks that do not form one pair are refused: the text between them
/// could belong to anybody.
pub(crate) fn locate(
    text: &str,
    lines: impl Iterator<Item = Range<usize>>,
    marks: &Marks,
) -> Result<Option<SectionSpan>, Problem> {
    let is = |line: &Range<usize>, mark: &str| text[line.clone()].trim_end() == mark;
    let found: Vec<(Range<usize>, bool)> = lines
        .filter(|line| is(line, marks.begin) || is(line, marks.end))
        .map(|line| (line.clone(), is(&line, marks.begin)))
        .collect();
    let refused = |line: &Range<usize>, what: String| {
        let line = text[..line.start].matches('\n').count() + 1;
        Err(Problem::Malformed { line, what })
    };
    let mut open: Option<&Range<usize>> = None;
    for (line, begins) in &found {
        match (begins, open) {
            (true, None) => open = Some(line),
            (true, Some(first)) => return refused(first, format!("the mark `{}` has no end", marks.begin)),
            (false, None) => return refused(line, format!("the mark `{}` has no beginning", marks.end)),
            (false, Some(_)) => open = None,
        }
    }
    if let Some(first) = open {
        return refused(first, format!("the mark `{}` has no end", marks.begin));
    }
    match found.as_slice() {
        [] => Ok(None),
        [(begin, _), (end, _)] => Ok(Some(SectionSpan { whole: begin.start..end.end, inside: begin.end..end.start })),
        [_, _, (third, _), ..] => refused(third, format!("the mark `{}` occurs twice", marks.begin)),
        [_] => Ok(None),
    }
}

/// A text with a section of these lines at its end. `None` stands for a file that does not exist yet.
pub(crate) fn append(before: Option<&str>, marks: &Marks, lines: &str) -> String {
    let newline = newline(before.unwrap_or_default());
    let front = before.map(|before| format!("{before}{newline}")).unwrap_or_default();
    let lines: Vec<&str> = lines.lines().collect();
    format!("{front}{}{newline}{}{newline}{}{newline}", marks.begin, lines.join(newline), marks.end)
}

/// The line ending of a text.
pub(crate) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A text with a section: the first of the known ones, which replaces any other of them.
pub(crate) fn put_section(before: Option<&str>, known: &[&str]) -> Result<FileOutcome, Problem> {
    let section = known.first().copied().unwrap_or_default();
    let Some(text) = before else { return Ok(outcome(Some(append(None, &MARKDOWN, section)))) };
    let Some(span) = locate(text, prose(text).into_iter(), &MARKDOWN)? else {
        let after = append(before, &MARKDOWN, section);
        if locate(&after, prose(&after).into_iter(), &MARKDOWN)?.is_none() {
            let line = text.lines().count().max(1);
            return Err(Problem::Malformed { line, what: "a block of code has no end".to_owned() });
        }
        return Ok(outcome(Some(after)));
    };
    let inside = &text[span.inside.clone()];
    let Some(own) = own_lines(inside, known) else { return Ok(changed(text)) };
    if same_lines(&inside[own.clone()], section) {
        return Ok(outcome(Some(text.to_owned())));
    }
    let newline = newline(text);
    let lines: String = section.lines().map(|line| format!("{line}{newline}")).collect();
    let mut after = text.to_owned();
    after.replace_range(span.inside.start + own.start..span.inside.start + own.end, &lines);
    Ok(outcome(Some(after)))
}

/// A text without the section. What others wrote between the marks stays.
pub(crate) fn take_section(text: &str, known: &[&str]) -> Result<FileOutcome, Problem> {
    let Some(span) = locate(text, prose(text).into_iter(), &MARKDOWN)? else {
        return Ok(outcome(Some(text.to_owned())));
    };
    let inside = &text[span.inside.clone()];
    let Some(own) = own_lines(inside, known) else { return Ok(changed(text)) };
    let rest = format!("{}{}", &inside[..own.start], &inside[own.end..]);
    Ok(outcome(span.leave(text, &rest)))
}

/// Whether there is a section, whatever its content.
pub(crate) fn has_section(text: &str) -> bool {
    matches!(locate(text, prose(text).into_iter(), &MARKDOWN), Ok(Some(_)))
}

fn outcome(text: Option<String>) -> FileOutcome {
    FileOutcome { text, remarks: Vec::new() }
}

fn changed(text: &str) -> FileOutcome {
    let remark = "the section between the marks was changed and is kept";
    FileOutcome { text: Some(text.to_owned()), remarks: vec![remark.to_owned()] }
}

/// The positions of the lines of one of these sections; empty if there is none.
fn own_lines(inside: &str, known: &[&str]) -> Option<Range<usize>> {
    let lines = lines(inside);
    if inside.trim().is_empty() {
        return Some(0..inside.len());
    }
    known.iter().find_map(|section| {
        let count = section.lines().count();
        let mut windows = lines.windows(count);
        let found = windows.find(|window| same_lines(&inside[window[0].start..window[count - 1].end], section))?;
        Some(found[0].start..found[count - 1].end)
    })
}

fn same_lines(one: &str, other: &str) -> bool {
    one.lines().eq(other.lines())
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            at += line.len();
            at - line.len()..at
        })
        .collect()
}

/// The lines of a Markdown file that are not in a fenced code block.
fn prose(text: &str) -> Vec<Range<usize>> {
    let mut fence: Option<(char, usize)> = None;
    let mut found = Vec::new();
    for range in lines(text) {
        let line = text[range.clone()].trim_end();
        let bare = line.trim_start_matches(' ');
        let mark = bare.chars().next().filter(|c| "`~".contains(*c) && line.len() - bare.len() <= 3);
        let count = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        match (fence, mark.filter(|_| count >= 3)) {
            (None, None) => found.push(range),
            (None, Some('`')) if bare[count..].contains('`') => found.push(range),
            (None, Some(mark)) => fence = Some((mark, count)),
            (Some((open, least)), Some(mark)) if mark == open && count >= least && bare.len() == count => fence = None,
            (Some(_), _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 2] = ["## New\n\nnew", "## Old"];

    fn put(text: Option<&str>) -> String {
        put_section(text, &KNOWN).unwrap().text.unwrap()
    }

    fn take(text: &str) -> FileOutcome {
        take_section(text, &KNOWN).unwrap()
    }

    #[test]
    fn what_was_put_in_is_taken_out_without_a_trace() {
        for before in ["", "\n", "x", "x\n", "x\r\n", "x\n\n\n", "see `<!-- tenure setup: begin -->`\n"] {
            let after = put(Some(before));
            assert!(has_section(&after));
            assert_eq!(put(Some(&after)), after, "{before:?}");
            assert_eq!(take(&after).text.as_deref(), Some(before), "{before:?}");
        }
        assert_eq!(take(&put(None)).text, None);
        let old = append(Some("x"), &MARKDOWN, "## Old");
        assert_eq!(put(Some(&old)), put(Some("x")));
        assert_eq!(take(&old).text.as_deref(), Some("x"));
    }

    #[test]
    fn what_others_wrote_stays() {
        for before in ["one", "one\n"] {
            let after = put(Some(before)) + "two\n";
            assert_eq!(take(&after).text.as_deref(), Some("one\ntwo\n"));
        }
        let added = put(Some("x\n")).replace(MARKDOWN.end, "- mine\n<!-- tenure setup: end -->");
        assert_eq!(put(Some(&added)), added);
        assert_eq!(take(&added).text.as_deref(), Some("x\n\n- mine\n"));
        let edited = put(Some("x\n")).replace("\nnew", "\nchanged");
        for left in [take(&edited), put_section(Some(&edited), &KNOWN).unwrap()] {
            assert_eq!((left.text.as_deref(), left.remarks.len()), (Some(edited.as_str()), 1));
        }
        let shown = "```\n<!-- tenure setup: begin -->\nexample\n<!-- tenure setup: end -->\n```\nrest\n";
        assert_eq!(take(shown).text.as_deref(), Some(shown));
        assert_eq!(take(&put(Some(shown))).text.as_deref(), Some(shown));
    }

    #[test]
    fn marks_that_are_not_one_pair_are_refused() {
        let (begin, end) = (MARKDOWN.begin, MARKDOWN.end);
        for (text, line) in [
            (format!("{begin}\nmine\n"), 1),
            (format!("mine\n{end}\n"), 2),
            (format!("{begin}\nmine\n\n{begin}\n## Old\n{end}\n"), 1),
            (format!("{begin}\n{end}\n{end}\n{begin}\n"), 3),
            (format!("{begin}\n## Old\n{end}\nmine\n{begin}\n## Old\n{end}\n"), 5),
        ] {
            for refused in [take_section(&text, &KNOWN), put_section(Some(&text), &KNOWN)] {
                assert!(
                    matches!(refused, Err(Problem::Malformed { line: at, .. }) if at == line),
                    "{text}: {refused:?}"
                );
            }
        }
        assert!(put_section(Some("```\nopen\n"), &KNOWN).is_err());
    }
}
