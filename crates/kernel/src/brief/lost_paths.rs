//! The part of a brief about paths that the reader held, did not release, and that another agent has now.

use std::collections::{BTreeMap, HashSet};

use tenure_core::Result;
use tenure_core::hold::lapsed;
use tenure_core::id::CheckoutId;
use tenure_core::number::Fence;
use tenure_core::pattern::Pattern;
use tenure_core::reserve::{PatternRequest, blocks};
use tenure_store::Tx;
use tenure_store::table::{hold, path};

use super::BriefRequest;
use super::words::{at, quoted};
use crate::paths;

/// How many ended holds are read, newest first, and how many of the lost ones are named.
const LOOKED_AT: usize = 200;
const NAMED: usize = 10;

pub(super) fn of(tx: &mut dyn Tx, ask: &BriefRequest<'_>) -> Result<Vec<String>> {
    let lost = lost(tx, ask)?;
    let mut by_checkout: BTreeMap<Option<CheckoutId>, Vec<(hold::Row, Pattern)>> = BTreeMap::new();
    for row in lost {
        let its = paths::pattern(&row)?;
        by_checkout.entry(row.checkout.clone()).or_default().push((row, its));
    }
    let mut found: Vec<(Fence, String)> = Vec::new();
    for (checkout, lost) in by_checkout {
        let patterns: Vec<Pattern> = lost.iter().map(|(_, its)| its.clone()).collect();
        let scope = paths::scope(tx, ask.project, checkout.as_ref())?;
        let mut others = paths::candidates(tx, ask.project, &scope, &patterns)?;
        others.retain(|other| paths::counts(other, ask.now, ask.dead));
        for (row, its) in &lost {
            let wanted = PatternRequest { agent: ask.me, checkout: checkout.as_ref(), mode: row.mode, patterns: &[] };
            for other in others.iter().filter(|other| other.fence > row.fence) {
                // The blockers of the task's own paths are reported with the task.
                let told = ask.lost_paths.iter().any(|told| *told.id == *other.id);
                if !told && blocks(&paths::held(other)?, &wanted, its) {
                    found.push((row.fence, sentence(row, other)));
                    break;
                }
            }
        }
    }
    found.sort_by_key(|(fence, _)| std::cmp::Reverse(*fence));
    let rest = found.len().saturating_sub(NAMED);
    let mut items: Vec<String> = found.into_iter().take(NAMED).map(|(_, sentence)| sentence).collect();
    if rest > 0 {
        items.push(format!("- and {rest} more of your paths"));
    }
    Ok(items)
}

fn sentence(row: &hold::Row, other: &hold::Row) -> String {
    let ended_at = row.ended.map_or(row.expires_at, |ended| ended.at);
    let what = quoted(&row.subject, 200);
    let has = if other.subject == row.subject { "it".to_owned() } else { quoted(&other.subject, 200) };
    format!(
        "- The path {what} is no longer yours: your hold ended at {}, and {} has {has} since {} ({}). Do not change \
         it.",
        at(ended_at),
        other.holder,
        at(other.granted_at),
        other.id,
    )
}

/// The holds that the reader lost most recently, one for each pattern that it does not hold again.
fn lost(tx: &mut dyn Tx, ask: &BriefRequest<'_>) -> Result<Vec<hold::Row>> {
    let mut own = hold::all_of_holder(tx, ask.project, ask.me)?;
    own.retain(hold::Row::is_path);
    paths::as_found(tx, ask.project, &mut own)?;
    own.sort_by_key(|row| std::cmp::Reverse(row.fence));
    let mut seen: HashSet<(Option<CheckoutId>, String)> = HashSet::new();
    let mut lost = Vec::new();
    // A lapsed hold that is not settled yet is just as lost.
    for row in own.into_iter().chain(path::past_of(tx, ask.project, ask.me, LOOKED_AT)?) {
        let is_live = row.ended.is_none() && !lapsed(ask.now, row.expires_at);
        if seen.insert((row.checkout.clone(), row.subject.clone())) && !is_live && paths::is_lost(&row) {
            lost.push(row);
        }
    }
    Ok(lost)
}
