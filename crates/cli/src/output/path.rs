//! How holds on paths look.

use tenure_core::pattern::GLOB;
use tenure_core::text::cut;
use tenure_kernel::answer::{Blocker, Checked, Elsewhere, Hold, Reserved, span};

use super::table::table;
use super::{Ink, Printer};

/// The answer to `reserve`.
pub(crate) fn reserved(out: &Printer, answer: &Reserved) -> String {
    let holds: &[Hold] = &answer.holds;
    let rows: Vec<Vec<String>> = holds
        .iter()
        .map(|hold| {
            vec![
                out.ink(Ink::Strong, &hold.id),
                cut(&hold.subject, 80),
                hold.mode.clone(),
                hold.task.clone().unwrap_or_default().into(),
                span(hold.expires_in_s),
                hold.reason.clone(),
            ]
        })
        .collect();
    let mut text = table(out, &["HOLD", "YOURS", "MODE", "ENDS WITH", "ENDS IN", "FOR"], &rows);
    text.push_str(&globs(&answer.globs));
    if let Some(line) = elsewhere(&answer.elsewhere, answer.elsewhere_total) {
        text.push_str(&format!("\n{line}\n"));
    }
    // By its id: that is the same word in every directory.
    let release = holds.first().map_or(String::new(), |hold| format!("tenure release {}   ", hold.id));
    text.push_str(&format!("\nYour calls renew them.\nNext: {release}tenure holds --mine\n"));
    text
}

/// A line for each glob: a name with a star may have been meant instead.
pub(crate) fn globs(globs: &[String]) -> String {
    let line = |text: &String| {
        let text = cut(text.strip_prefix(GLOB).unwrap_or(text), 80);
        format!("{text} is a glob: it means all files that match. With path: before it, it is the name of one file.\n")
    };
    globs.iter().map(line).collect()
}

/// That others hold the same in other checkouts, in one line.
fn elsewhere(all: &[Elsewhere], total: Option<usize>) -> Option<String> {
    let first = all.first()?;
    let more = match total.unwrap_or(all.len()) - 1 {
        0 => String::new(),
        more => format!(", and {more} more (tenure holds)"),
    };
    Some(format!(
        "{} holds {} in another checkout, {} ({}){more}. The changes will meet when they are merged.",
        first.holder,
        cut(&first.pattern, 80),
        cut(&first.checkout_name, 80),
        first.hold,
    ))
}

/// The answer to `check`.
pub(crate) fn checked(out: &Printer, checked: &Checked) -> String {
    let globs = globs(&checked.globs);
    if checked.free {
        let free = out.ink(Ink::Good, "Free.");
        let free = elsewhere(&checked.elsewhere, None).map_or(free.clone(), |line| format!("{free}\n{line}"));
        return if globs.is_empty() { free } else { format!("{free}\n{}", globs.trim_end()) };
    }
    let row = |blocker: &Blocker| {
        vec![
            blocker.id.to_string(),
            cut(blocker.pattern.as_deref().unwrap_or_default(), 80),
            cut(blocker.checkout.as_deref().unwrap_or_default(), 120),
            if blocker.state == "waiting" { format!("{}, waiting", blocker.mode) } else { blocker.mode.clone() },
            blocker.holder.to_string(),
            blocker.liveness.as_str().to_owned(),
            span(blocker.age_s),
            span(blocker.expires_in_s),
            cut(&blocker.reason, 60),
        ]
    };
    let rows: Vec<Vec<String>> = checked.blockers.iter().map(row).collect();
    let heads = ["HOLD", "HELD", "CHECKOUT", "MODE", "HOLDER", "IS", "FOR SO LONG", "ENDS IN", "FOR"];
    let mut text = format!("{}\n{}{globs}", out.ink(Ink::Bad, "Not free."), table(out, &heads, &rows));
    if checked.total > checked.blockers.len() {
        text.push_str(&format!("{} of {} shown\n", checked.blockers.len(), checked.total));
    }
    text
}
