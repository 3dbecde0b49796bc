//! Hooks in git's configuration. Sections are recognised by their content, because other programs that write the file
//! may drop the marks.

use std::ops::Range;

use super::super::Problem;
use super::super::json_entries::FileOutcome;
use super::super::marked_section::{self, TOML};
use super::script::{HookProgram, named_section, sections};
use super::{LinePresence, locate};

/// A section of one of Tenure's hooks.
struct HookSection {
    range: Range<usize>,
    /// `None` if it was edited.
    named: Option<HookProgram>,
}

/// The sections of Tenure's hooks, in their order.
fn own(text: &str) -> Vec<HookSection> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let bare = line.trim();
        if bare.starts_with('[') {
            open = bare.starts_with("[hook \"tenure-");
            if open {
                found.push(range);
            }
        } else if bare == TOML.begin || bare == TOML.end {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.end = range.end;
        }
    }
    found.into_iter().map(|range| HookSection { named: named_section(&text[range.clone()]), range }).collect()
}

/// Git's configuration with the hooks for a program, or without them.
pub(crate) fn configured(text: Option<&str>, program: Option<&str>, set: bool) -> Result<FileOutcome, Problem> {
    let whole = text.unwrap_or_default();
    let found = own(whole);
    if found.iter().any(|section| section.named.is_none()) {
        let remark = "a section of Tenure's hooks was changed and is kept".to_owned();
        return Ok(FileOutcome { text: text.map(str::to_owned), remarks: vec![remark] });
    }
    let is_known = presence_of(&found) == LinePresence::There(HookProgram::of(program));
    let span = locate(whole).ok().flatten();
    // If the marks enclose exactly the sections, the removal restores the file byte for byte.
    let is_whole = span.as_ref().is_some_and(|span| {
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return false };
        first.range.start == span.inside.start && last.range.end == span.inside.end
    });
    let outcome = |text| Ok(FileOutcome { text, remarks: Vec::new() });
    match (span, set) {
        (_, true) if is_known => outcome(text.map(str::to_owned)),
        (Some(span), true) if is_whole => {
            let mut after = whole.to_owned();
            after.replace_range(span.inside, &format!("{}\n", sections(program)));
            outcome(Some(after))
        }
        (Some(span), false) if is_whole => outcome(span.cut(whole)),
        (_, set) => {
            let rest = text.map(|text| without(text, &found));
            let rest = rest.as_deref();
            outcome(if set {
                Some(marked_section::append(rest, &TOML, &sections(program)))
            } else {
                rest.map(str::to_owned)
            })
        }
    }
}

/// Removes some sections and unpaired marks from a configuration.
fn without(text: &str, sections: &[HookSection]) -> String {
    let mut out = text.to_owned();
    for section in sections.iter().rev() {
        out.replace_range(section.range.clone(), "");
    }
    let is_mark = |line: &str| [TOML.begin, TOML.end].contains(&line.trim());
    out.split_inclusive('\n').filter(|line| !is_mark(line)).collect()
}

fn presence_of(sections: &[HookSection]) -> LinePresence {
    let Some(first) = sections.first() else { return LinePresence::Absent };
    match &first.named {
        Some(named) if sections.len() == super::EVENTS.len() && sections.iter().all(|one| one.named == first.named) => {
            LinePresence::There(named.clone())
        }
        _ => LinePresence::Changed,
    }
}

/// The state of the hooks in git's configuration.
pub(crate) fn configured_presence(text: &str) -> LinePresence {
    presence_of(&own(text))
}
