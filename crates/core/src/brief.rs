//! The brief: what an agent needs to continue, within a budget in bytes.
//!
//! Sections appear in reading order. The needed sections always appear, truncated if necessary. The other sections
//! share the remaining room: they show whole items only, and say how many were left out and which command shows them.

use crate::error::{Code, Error, Result};

/// The number of bytes that count as one token.
pub const TOKEN: usize = 4;
/// The default budget, in tokens.
pub const DEFAULT: usize = 1_500;
/// The smallest budget, in tokens: the three needed sections still have useful content in it.
pub const LEAST: usize = 150;
/// The largest budget, in tokens.
pub const MOST: usize = 50_000;
/// The overhead, in bytes, of a document that contains little more than a brief.
pub const AROUND: usize = 80;
/// The size, in bytes, in which the three needed sections still have useful content.
const CORE_LEAST: usize = 450;
/// The shortest beginning of an item, in bytes, that is worth showing without the rest.
const WORTH_CUTTING: usize = 80;
/// The share of the budget, in percent, that the needed sections get before the other sections.
const CORE_SHARE: usize = 70;

/// One section of a brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The section's title.
    pub heading: String,
    /// The content, one paragraph or list entry per item.
    pub items: Vec<String>,
    /// Whether the section must appear in every brief.
    pub needed: bool,
    /// The command that shows the items that did not fit.
    pub more: String,
}

/// A rendered brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposedBrief {
    /// The brief in Markdown.
    pub text: String,
    /// The number of items that did not fit, over all sections.
    pub left_out: usize,
    /// The number of whole items shown per section heading. They are the first items of the section.
    pub shown: Vec<(String, usize)>,
}

/// Checks a budget given in tokens and returns it in bytes.
pub fn budget(tokens: i64) -> Result<usize> {
    match usize::try_from(tokens) {
        Ok(tokens) if (LEAST..=MOST).contains(&tokens) => Ok(tokens * TOKEN),
        _ => Err(Error::usage(Code::BadBudget, format!("{tokens} is not a budget"))
            .hint(format!("Give {LEAST} to {MOST} tokens; a token is {TOKEN} bytes."))),
    }
}

/// Composes the sections into at most `budget` bytes. Empty sections are left out.
pub fn compose(sections: &[Section], budget: usize) -> ComposedBrief {
    let sections: Vec<&Section> = sections.iter().filter(|section| !section.items.is_empty()).collect();
    let needed = sections.iter().filter(|section| section.needed).count();
    let any_other = needed < sections.len();
    let core = if any_other { budget * CORE_SHARE / 100 } else { budget };
    let wanted: Vec<usize> = sections.iter().map(|section| if section.needed { full(section) } else { 0 }).collect();
    let shares = share(&wanted, core.min(budget));
    let others = share_others(&sections, budget - shares.iter().sum::<usize>());
    let mut carried = 0;
    let mut left_out = 0;
    let mut shown = Vec::with_capacity(sections.len());
    let mut text = String::new();
    for (section, (granted, other)) in sections.iter().zip(shares.into_iter().zip(others)) {
        // A section passes the unused part of its share on to the sections after it.
        let allowed = if section.needed { granted } else { other + carried };
        let (written, out) = write(section, allowed);
        left_out += out;
        shown.push((section.heading.clone(), section.items.len() - out));
        if !section.needed {
            carried = allowed - written.len();
        }
        text.push_str(&written);
    }
    let text = text.trim_end_matches('\n').to_owned();
    ComposedBrief { text, left_out, shown }
}

/// Composes a brief that fits the budget even as a JSON string with [`AROUND`] bytes around it. Only the needed
/// sections may exceed the budget, and only if it is below 250 tokens.
pub fn compose_as_json(sections: &[Section], budget: usize) -> ComposedBrief {
    let room = budget - AROUND.min(budget);
    let mut bytes = room.max(CORE_LEAST);
    loop {
        let brief = compose(sections, bytes);
        let written = as_json(&brief.text);
        if written <= room || bytes <= CORE_LEAST {
            return brief;
        }
        // The characters that JSON escapes are spread over the text roughly evenly.
        bytes = (bytes * room / written).clamp(CORE_LEAST, bytes - 1);
    }
}

/// The length of a text inside the quotes of JSON, in bytes.
fn as_json(text: &str) -> usize {
    let more = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..=31 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(more).sum::<usize>()
}

fn full(section: &Section) -> usize {
    head(section).len() + section.items.iter().map(|item| item.len() + 1).sum::<usize>() + 1
}

fn head(section: &Section) -> String {
    format!("## {}\n", section.heading)
}

/// Divides room fairly: no section gets more than it wants, and a section that wants less than a fair share gets all of
/// that.
fn share(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut granted = vec![0; wanted.len()];
    let mut order: Vec<usize> = (0..wanted.len()).filter(|&at| wanted[at] > 0).collect();
    order.sort_by_key(|&at| wanted[at]);
    let mut left = room;
    for (position, &at) in order.iter().enumerate() {
        let fair = left / (order.len() - position);
        granted[at] = wanted[at].min(fair);
        left -= granted[at];
    }
    granted
}

/// Divides room among the sections that are not needed. A section that gets any room gets enough to say how many items
/// it has; if there is too little for all, the last sections get none.
fn share_others(sections: &[&Section], room: usize) -> Vec<usize> {
    let least = |section: &Section| head(section).len() + section.more.len() + "(+1000 more: )\n\n".len();
    let mut wanted: Vec<usize> =
        sections.iter().map(|section| if section.needed { 0 } else { full(section).max(least(section)) }).collect();
    loop {
        let shares = share(&wanted, room);
        let starved = sections
            .iter()
            .zip(&wanted)
            .zip(&shares)
            .any(|((section, wanted), share)| *wanted > 0 && *share < (*wanted).min(least(section)));
        match wanted.iter().rposition(|wanted| *wanted > 0) {
            Some(last) if starved => wanted[last] = 0,
            _ => return shares,
        }
    }
}

/// Renders a section in at most `room` bytes and returns the number of items left out. A needed section is cut inside
/// its first item rather than left empty; any other section says at least how many items it has. The section ends with
/// an empty line, so that the next one starts on a new line.
fn write(section: &Section, room: usize) -> (String, usize) {
    let mut text = head(section);
    if full(section) <= room {
        section.items.iter().for_each(|item| text.extend([item, "\n"]));
        text.push('\n');
        return (text, 0);
    }
    let note = |left: usize| format!("(+{left} more: {})\n\n", section.more);
    let cut_short = format!("(cut short: {})\n\n", section.more);
    let reserve = note(section.items.len()).len().max(cut_short.len());
    if text.len() + reserve > room {
        let inside = room.saturating_sub(text.len() + 2);
        if !section.needed || inside == 0 {
            return (String::new(), section.items.len());
        }
        text.extend([floor(&section.items[0], inside), "\n\n"]);
        return (text, section.items.len());
    }
    let mut kept = 0;
    for item in &section.items {
        if text.len() + item.len() + 1 + reserve > room {
            break;
        }
        text.extend([item, "\n"]);
        kept += 1;
    }
    let mut out = section.items.len() - kept;
    let inside = room.saturating_sub(text.len() + reserve + '…'.len_utf8() + 1);
    // The beginning of a long item is better than nothing, and a needed section is never empty.
    let worth = inside >= WORTH_CUTTING || (kept == 0 && inside > 0);
    if let Some(next) = section.items.get(kept).filter(|_| section.needed && worth) {
        text.extend([floor(next, inside), "…\n"]);
        out -= 1;
    }
    text.push_str(&if out > 0 { note(out) } else { cut_short });
    (text, out)
}

/// The longest prefix of at most `bytes` bytes that ends on a character boundary.
fn floor(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes.min(text.len()))]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn section(heading: &str, needed: bool, items: &[&str]) -> Section {
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        Section { heading: heading.into(), items, needed, more: "tenure show t-1".into() }
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let brief = compose(&[section("Task", true, &["do it"]), section("Facts", false, &["- a", "- b"])], 600);
        assert_eq!(brief.text, "## Task\ndo it\n\n## Facts\n- a\n- b");
        assert_eq!(brief.left_out, 0);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_named() {
        let many: Vec<String> = (0..100).map(|n| format!("- fact {n}")).collect();
        let facts = Section { items: many, ..section("Facts", false, &[]) };
        let brief = compose(&[section("Task", true, &["do it"]), facts], 600);
        assert!(brief.text.contains("(+") && brief.text.contains("more: tenure show t-1)"), "{}", brief.text);
        assert!(brief.left_out > 40 && brief.text.len() <= 600);
    }

    #[test]
    fn inv_m2_every_heading_begins_a_line_however_long_what_is_before_it() {
        for length in 0..1_200 {
            let long = "x".repeat(length);
            let sections = [
                section("Task", true, &["t-1", &long]),
                section("Do next", true, &["tenure done"]),
                section("Mail", false, &[&long, "- two"]),
                section("Facts", false, &["- a"]),
            ];
            let brief = compose(&sections, 600);
            assert!(brief.text.len() <= 600 && brief.text.contains("\n\n## Do next\n"), "{}", brief.text);
            assert!(brief.text.contains("\n\n## Mail\n"), "what does not fit is counted: {}", brief.text);
        }
    }

    #[test]
    fn a_long_task_leaves_room_for_the_others() {
        let long = "x".repeat(5_000);
        let sections = [
            section("Task", true, &[&long]),
            section("Next", true, &["tenure done"]),
            section("Facts", false, &["- a"]),
        ];
        let text = compose(&sections, 800).text;
        assert!(text.contains("…") && text.contains("tenure done") && text.contains("- a"), "{text}");
    }

    prop_compose! {
        fn any_section()(heading in "[A-Z][a-z]{2,12}", items in prop::collection::vec("\\PC{0,300}", 0..12), needed: bool)
            -> Section
        {
            Section { heading, items, needed, more: "tenure show t-7k3fq".into() }
        }
    }

    proptest! {
        #[test]
        fn inv_m2_as_json_a_brief_does_not_exceed_its_budget_either(
            others in prop::collection::vec(any_section(), 0..8),
            task in "[a\"\\\\\n]{1,3000}", next in "\\PC{1,200}", stopped in "[\\PC\n]{1,3000}", tokens in 250..2_000_usize,
        ) {
            let mut sections = vec![section("Task", true, &[&task]), section("Do next", true, &[&next])];
            sections.push(section("Stopped", true, &[&stopped]));
            sections.extend(others.into_iter().map(|section| Section { needed: false, ..section }));
            let text = compose_as_json(&sections, tokens * TOKEN).text;
            let written = serde_json::to_string(&text).unwrap().len() - "\"\"".len();
            prop_assert_eq!(written, as_json(&text));
            prop_assert!(written + AROUND <= tokens * TOKEN, "{} of {}", written, tokens * TOKEN);
            for heading in ["## Task\n", "## Do next\n", "## Stopped\n"] {
                prop_assert!(text.contains(heading), "{heading} in {text}");
            }
        }

        #[test]
        fn inv_m2_a_brief_never_exceeds_its_budget(
            sections in prop::collection::vec(any_section(), 0..10), budget in 600_usize..8_000,
        ) {
            prop_assert!(compose(&sections, budget).text.len() <= budget);
        }

        #[test]
        fn inv_m2_a_brief_always_has_what_is_needed(
            others in prop::collection::vec(any_section(), 0..8),
            task in "\\PC{1,3000}", next in "\\PC{1,200}", stopped in "\\PC{1,3000}", budget in CORE_LEAST..8_000,
        ) {
            let mut sections: Vec<Section> =
                others.into_iter().map(|section| Section { needed: false, ..section }).collect();
            for (at, (heading, item)) in [("Task", task), ("Do next", next), ("Stopped", stopped)].into_iter().enumerate() {
                sections.insert(at.min(sections.len()), section(heading, true, &[&item]));
            }
            let text = compose(&sections, budget).text;
            for heading in ["## Task\n", "## Do next\n", "## Stopped\n"] {
                let at = text.find(heading).map(|at| at + heading.len());
                prop_assert!(at.is_some_and(|at| text.len() > at), "{heading} in {text}");
                prop_assert!(text.starts_with(heading) || text.contains(&format!("\n{heading}")), "{heading} in {text}");
            }
        }
    }
}
