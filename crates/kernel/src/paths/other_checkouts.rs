//! The same file held in two checkouts: neither holder is refused, and both are told.

use tenure_core::hold::Mode;
use tenure_core::id::CheckoutId;
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::pattern::Pattern;
use tenure_core::reserve::{PatternRequest, meets_elsewhere};
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::hold;

use super::{candidates, counts, held, pattern};
use crate::answer::Elsewhere;
use crate::checkouts::Checkouts;

/// How many own holds are compared with those of others, newest first. An agent with more is told about the rest when
/// it uses them.
const OWN_MAX: usize = 500;

/// The context of the comparison.
pub(crate) struct CheckoutView<'a> {
    pub(crate) project: &'a str,
    pub(crate) now: Time,
    pub(crate) dead: &'a [AgentName],
    pub(crate) checkouts: &'a Checkouts,
}

/// What an agent holds or requests in one checkout.
pub(crate) struct OwnHold {
    pub(crate) pattern: Pattern,
    pub(crate) mode: Mode,
    pub(crate) checkout: Option<CheckoutId>,
    pub(crate) since: Time,
}

/// The holds of others that overlap what an agent holds in another checkout, newest overlap first.
pub(crate) fn of(tx: &mut dyn Tx, sight: &CheckoutView<'_>, me: &AgentName, own: &[OwnHold]) -> Result<Vec<Elsewhere>> {
    let own: Vec<(&OwnHold, String)> =
        own.iter().filter(|one| one.checkout.is_some()).map(|one| (one, one.pattern.prefix())).collect();
    if own.is_empty() || !sight.checkouts.are_several() {
        return Ok(Vec::new());
    }
    let first = &own[0].0.checkout;
    let one_place = own.iter().all(|(one, _)| one.checkout == *first);
    let is_other = |id: &&CheckoutId| !(one_place && Some(*id) == first.as_ref());
    let others: Vec<Option<CheckoutId>> = sight.checkouts.ids().filter(is_other).cloned().map(Some).collect();
    let patterns: Vec<Pattern> = own.iter().map(|(one, _)| one.pattern.clone()).collect();
    let mut found: Vec<(Time, Fence, Elsewhere)> = Vec::new();
    for row in candidates(tx, sight.project, &others, &patterns)? {
        if row.holder == me || !counts(&row, sight.now, sight.dead) {
            continue;
        }
        let (its, begins) = (held(&row)?, its_prefix(&row)?);
        let meets = |(one, prefix): &&(&OwnHold, String)| {
            let wanted = PatternRequest { agent: me, checkout: one.checkout.as_ref(), mode: one.mode, patterns: &[] };
            // Patterns without a common prefix do not overlap, which is true of most pairs.
            (begins.starts_with(prefix.as_str()) || prefix.starts_with(&begins))
                && meets_elsewhere(&its, &wanted, &one.pattern)
        };
        if let Some(since) = own.iter().filter(meets).map(|(one, _)| one.since.max(row.granted_at)).max() {
            found.push((since, row.fence, Elsewhere::of(&row, since, sight.checkouts)));
        }
    }
    found.sort_by_key(|found| std::cmp::Reverse((found.0, found.1)));
    Ok(found.into_iter().map(|(.., one)| one).collect())
}

/// Since when an agent holds what answers a pattern: the hold on exactly that pattern, else the earliest that overlaps
/// it.
pub(crate) fn since(asked: &Pattern, own: &[hold::Row]) -> Option<Time> {
    let same = own.iter().find(|row| row.subject == asked.text());
    let meets = |row: &&hold::Row| pattern(row).is_ok_and(|its| its.overlap(asked).is_some());
    same.map(|row| row.granted_at).or_else(|| own.iter().filter(meets).map(|row| row.granted_at).min())
}

fn its_prefix(row: &hold::Row) -> Result<String> {
    Ok(pattern(row)?.prefix())
}

/// The same for everything that an agent holds.
pub(crate) fn of_agent(tx: &mut dyn Tx, sight: &CheckoutView<'_>, agent: &AgentName) -> Result<Vec<Elsewhere>> {
    if !sight.checkouts.are_several() {
        return Ok(Vec::new());
    }
    let mut rows = hold::all_of_holder(tx, sight.project, agent)?;
    rows.retain(|row| row.is_path() && counts(row, sight.now, &[]));
    rows.sort_by_key(|row| std::cmp::Reverse(row.fence));
    rows.truncate(OWN_MAX);
    let own = |row: &hold::Row| {
        Ok(OwnHold { pattern: pattern(row)?, mode: row.mode, checkout: row.checkout.clone(), since: row.granted_at })
    };
    let own = rows.iter().map(own).collect::<Result<Vec<_>>>()?;
    of(tx, sight, agent, &own)
}
