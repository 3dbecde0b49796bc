//! The part of a brief about other agents: first those that hold the reader's files in other checkouts, then other
//! holds.

use std::collections::HashSet;

use tenure_core::Result;
use tenure_core::action::Action;
use tenure_core::hold::{Mode, lapsed};
use tenure_store::Tx;
use tenure_store::table::hold;

use super::BriefRequest;
use super::words::{at, quoted};
use crate::checkouts::Checkouts;
use crate::locks;
use crate::paths::{self, other_checkouts};

/// How many holds of other agents are named, and how many are read for that.
const NAMED: usize = 10;
const LOOKED_AT: usize = 200;

pub(super) fn of(tx: &mut dyn Tx, ask: &BriefRequest<'_>) -> Result<Vec<String>> {
    let checkouts = Checkouts::load(tx, ask.project, ask.host)?;
    let sight =
        other_checkouts::CheckoutView { project: ask.project, now: ask.now, dead: ask.dead, checkouts: &checkouts };
    let met = other_checkouts::of_agent(tx, &sight, ask.me)?;
    let mut items: Vec<String> = met
        .iter()
        .take(NAMED)
        .map(|one| {
            format!(
                "- {} holds the path {} in another checkout ({}), and you hold it in yours: the changes meet when they are \
                 merged",
                one.holder,
                quoted(&one.pattern, 200),
                quoted(&one.checkout_name, 120)
            )
        })
        .collect();
    let met: HashSet<&str> = met.iter().map(|one| one.hold.as_str()).collect();
    let mut others = tx.fetch(hold::page(ask.project, None, (ask.now, "\u{10ffff}"), LOOKED_AT))?;
    let are_all = others.len() < LOOKED_AT;
    paths::as_found(tx, ask.project, &mut others)?;
    // As in `holds`, a hold of a dead agent is over.
    let died = |hold: &hold::Row| ask.dead.contains(&hold.holder) && !locks::outlives_holder(hold);
    others.retain(|hold| {
        hold.holder != ask.me && !lapsed(ask.now, hold.expires_at) && !died(hold) && !met.contains(hold.id.as_str())
    });
    // Holds in the reader's checkout concern it more than holds elsewhere.
    others.sort_by_key(|hold| hold.is_path() && hold.checkout.is_some() && hold.checkout.as_ref() != ask.checkout);
    let room = NAMED - items.len();
    let rest = met.len().saturating_sub(NAMED) + others.len().saturating_sub(room);
    items.extend(others.iter().take(room).map(|hold| one(ask, &checkouts, hold)));
    if rest > 0 {
        let least = if are_all { "" } else { "at least " };
        let more = if ask.tools { String::new() } else { format!(": {}", ask.phrasing.instruct(&Action::holds())) };
        items.push(format!("- and {least}{rest} more{more}"));
    }
    Ok(items)
}

fn one(ask: &BriefRequest<'_>, checkouts: &Checkouts, hold: &hold::Row) -> String {
    let what = if hold.is_path() { path(ask, checkouts, hold) } else { hold.subject.clone() };
    let why = if hold.reason.is_empty() { String::new() } else { format!(" {}", quoted(&hold.reason, 120)) };
    format!("- {} holds {what}{why} until {}", hold.holder, at(hold.expires_at))
}

/// A hold on a path: the quoted pattern, because it may contain any character, and its checkout.
fn path(ask: &BriefRequest<'_>, checkouts: &Checkouts, hold: &hold::Row) -> String {
    let shared = if hold.mode == Mode::Shared { ", shared" } else { "" };
    let place = match &hold.checkout {
        None => " in every checkout".to_owned(),
        here if here.as_ref() == ask.checkout => String::new(),
        Some(other) => format!(" in another checkout ({})", quoted(&checkouts.name(other), 120)),
    };
    format!("the path {}{place}{shared},", quoted(&hold.subject, 200))
}
