//! How holds on paths look.

use tenure_core::text::cut;
use tenure_kernel::shape::{Blocker, Checked, Hold, span};

use super::table::table;
use super::{Ink, Printer};

/// The answer to `reserve`.
pub(crate) fn reserved(out: &Printer, holds: &[Hold]) -> String {
    let rows: Vec<Vec<String>> = holds
        .iter()
        .map(|hold| {
            vec![
                out.ink(Ink::Bold, &hold.id),
                cut(&hold.subject, 80),
                hold.mode.clone(),
                hold.task.clone().unwrap_or_default(),
                span(hold.expires_in_s),
                hold.reason.clone(),
            ]
        })
        .collect();
    let mut text = table(&["HOLD", "YOURS", "MODE", "ENDS WITH", "ENDS IN", "FOR"], &rows, out.width());
    text.push_str("\nYour calls renew them.\nNext: tenure release PATH   tenure holds --mine\n");
    text
}

/// The answer to `check`.
pub(crate) fn checked(out: &Printer, checked: &Checked) -> String {
    if checked.free {
        return out.ink(Ink::Green, "Free.");
    }
    let row = |blocker: &Blocker| {
        vec![
            blocker.id.clone(),
            cut(blocker.pattern.as_deref().unwrap_or_default(), 80),
            if blocker.state == "waiting" { format!("{}, waiting", blocker.mode) } else { blocker.mode.clone() },
            blocker.holder.clone(),
            blocker.liveness.as_str().to_owned(),
            span(blocker.age_s),
            span(blocker.expires_in_s),
            cut(&blocker.reason, 60),
        ]
    };
    let rows: Vec<Vec<String>> = checked.blockers.iter().map(row).collect();
    let heads = ["HOLD", "HELD", "MODE", "HOLDER", "IS", "FOR SO LONG", "ENDS IN", "FOR"];
    let mut text = format!("{}\n{}", out.ink(Ink::Red, "Not free."), table(&heads, &rows, out.width()));
    if checked.total > checked.blockers.len() {
        text.push_str(&format!("{} of {} shown\n", checked.blockers.len(), checked.total));
    }
    text
}
