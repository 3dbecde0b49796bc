//! Holds that their holder lost, by expiry or by a takeover. The former holder is told that its hold ended and who has
//! the path now, before it is told that another agent holds it.

use std::collections::BTreeSet;

use serde_json::json;
use tenure_core::action::Action;
use tenure_core::hold::{Ended, Ending};
use tenure_core::id::CheckoutId;
use tenure_core::name::AgentName;
use tenure_core::pattern::Pattern;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result};
use tenure_store::Tx;
use tenure_store::table::{event as log, hold, lock, path};

use super::{live, pattern};
use crate::unit_of_work::UnitOfWork;

/// How many ended holds of one agent with the prefix of a pattern are compared with it, newest first.
const COMPARED: usize = 100;

/// Whether a hold that is over was lost and not released.
pub(crate) fn is_lost(row: &hold::Row) -> bool {
    row.ended.is_none_or(|ended| matches!(ended.how, Ending::Expired | Ending::Forced))
}

/// The newest ended hold of an agent that overlaps a pattern, in one checkout, or in any if there is none.
pub(crate) fn last_own(
    tx: &mut dyn Tx,
    project: &str,
    (agent, here): (&AgentName, Option<&CheckoutId>),
    asked: &Pattern,
) -> Result<Option<hold::Row>> {
    let prefixes: BTreeSet<String> = asked.shorter_prefixes().into_iter().collect();
    let prefixes: Vec<String> = prefixes.into_iter().collect();
    let below = asked.longer_prefixes();
    let below = below.map(|(begin, end)| path::lost_below(project, agent, (&begin, &end), COMPARED));
    let (lost, below) = tx.fetch((path::lost(project, agent, &prefixes, COMPARED), below))?;
    let mut newest: Option<hold::Row> = None;
    for row in lost.into_iter().chain(below.into_iter().flatten()) {
        let meets = here.is_none() || row.checkout.is_none() || row.checkout.as_ref() == here;
        let is_newer = newest.as_ref().is_none_or(|newest| row.fence > newest.fence);
        if meets && is_newer && pattern(&row)?.overlap(asked).is_some() {
            newest = Some(row);
        }
    }
    Ok(newest)
}

/// The refusal for an agent that lost a hold: when, to whom, and who has it now.
pub(crate) fn stale(work: &mut UnitOfWork<'_>, row: &hold::Row) -> Result<Error> {
    let now_with = now_with(work, row)?;
    let ended_by = match row.ended {
        Some(Ended { how: Ending::Forced, .. }) => {
            let filter = log::EventFilter { hold: Some(row.id.clone()), ..log::EventFilter::default() };
            let last = work.tx.fetch(log::page(&work.project.id, &filter, log::ALL, true, 1))?.pop();
            last.map(|event| event.actor)
        }
        _ => None,
    };
    let shown = cut(&row.subject, 120);
    let ended_at = row.ended.map_or(row.expires_at, |ended| ended.at);
    let how = match &ended_by {
        Some(by) => format!("{by} ended it at {ended_at}"),
        None => format!("it expired at {ended_at}"),
    };
    let since = match &now_with {
        Some(other) => format!("{} has held {} since {}", other.holder, cut(&other.subject, 120), other.granted_at),
        None => "it has no holder now".to_owned(),
    };
    let message = format!("your hold on {shown} is over: {how}, and {since}; there is nothing to give back");
    let error = Error::new(Code::Lapsed, message)
        .entity(shown)
        .attempt(Action::own_holds())
        .attempt(Action::why(&row.id))
        .detail("hold", row.id.clone())
        .detail("fence", row.fence)
        .detail("ended_at", ended_at.to_string())
        .detail("ended_by", ended_by);
    let other = now_with.map(|other| {
        let since = other.granted_at.to_string();
        json!({ "holder": other.holder, "hold": other.id, "fence": other.fence, "since": since })
    });
    Ok(error.detail("now_held_by", json!(other)))
}

/// The live hold of another agent that followed a lost one.
fn now_with(work: &mut UnitOfWork<'_>, row: &hold::Row) -> Result<Option<hold::Row>> {
    let me = work.me();
    if row.is_name() {
        let live = work.tx.fetch(lock::live(&work.project.id, &row.subject))?;
        return Ok(live.filter(|live| live.holder != me && super::counts(live, work.now, &[])));
    }
    if !row.is_path() {
        return Ok(None);
    }
    let asked = [pattern(row)?];
    for other in live(work, row.checkout.as_ref(), &asked)? {
        if other.holder != me && other.fence > row.fence && pattern(&other)?.overlap(&asked[0]).is_some() {
            return Ok(Some(other));
        }
    }
    Ok(None)
}
