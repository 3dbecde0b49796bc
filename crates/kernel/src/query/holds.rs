//! `holds`: who has what, by expiry.

use std::collections::HashMap;

use tenure_core::{Result, Time, id, name};
use tenure_store::Tx;
use tenure_store::table::{agent, hold};

use super::{Scene, bad_cursor, limit};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::{Hold, Page};

impl Kernel {
    /// A page of live holds, the next to end first, of all agents or of one.
    pub fn holds(&self, call: &Call, holder: Option<&str>, rows: usize, cursor: Option<&str>) -> Result<Page<Hold>> {
        limit(rows)?;
        holder.map(name::check).transpose()?;
        let start = cursor.map(parse).transpose()?;
        self.ask(call, |tx, scene| page(tx, scene, holder, rows, start.as_ref()))
    }
}

fn page(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    holder: Option<&str>,
    rows: usize,
    start: Option<&(Time, String)>,
) -> Result<Page<Hold>> {
    let project = scene.project_id();
    // A lapsed hold is over, settled or not: the page begins after now.
    let now = (scene.now, "\u{7f}".to_owned());
    let begin = start.map_or(&now, |start| if *start > now { start } else { &now });
    let mut found = match holder {
        None => soonest(tx, scene, begin, rows + 1)?,
        Some(holder) => {
            let mut own = hold::all_of_holder(tx, project, holder)?;
            own.sort_by(|a, b| (a.expires_at, &a.id).cmp(&(b.expires_at, &b.id)));
            own.retain(|hold| (hold.expires_at, hold.id.clone()) > *begin && !scene.dead.contains(&hold.holder));
            own.truncate(rows + 1);
            own
        }
    };
    let more = found.len() > rows;
    found.truncate(rows);
    let next = more.then(|| found.last().map(|hold| format!("{}.{}", hold.expires_at.0, hold.id))).flatten();
    let total = (!more && start.is_none()).then_some(i64::try_from(found.len()).unwrap_or(i64::MAX));
    Ok(Page::of(views(tx, scene, &found)?, total, next))
}

/// The first holds after a place in the order of their end. What a dead agent holds is over.
pub(super) fn soonest(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    begin: &(Time, String),
    limit: usize,
) -> Result<Vec<hold::Row>> {
    let mut found = Vec::new();
    let mut after = begin.clone();
    loop {
        let page = hold::page(tx, scene.project_id(), (after.0, &after.1), limit)?;
        let last = page.last().filter(|_| page.len() == limit).map(|hold| (hold.expires_at, hold.id.clone()));
        found.extend(page.into_iter().filter(|hold| !scene.dead.contains(&hold.holder)));
        match last {
            Some(last) if found.len() < limit => after = last,
            _ => {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }
}

/// Holds with the liveness of their holders.
pub(crate) fn views(tx: &mut dyn Tx, scene: &Scene<'_>, found: &[hold::Row]) -> Result<Vec<Hold>> {
    let mut holders: HashMap<String, Option<agent::Row>> = HashMap::new();
    for hold in found {
        if !holders.contains_key(&hold.holder) {
            holders.insert(hold.holder.clone(), agent::get(tx, scene.project_id(), &hold.holder)?);
        }
    }
    let seen = |hold: &hold::Row| {
        let mut hold = hold.clone();
        if hold.ended_how.is_empty() {
            hold.expires_at = scene.end_of(&hold.holder, hold.expires_at);
        }
        Hold::of(&hold, holders.get(&hold.holder).and_then(Option::as_ref), scene.now)
    };
    Ok(found.iter().map(seen).collect())
}

fn parse(text: &str) -> Result<(Time, String)> {
    let (time, id) = text.split_once('.').filter(|(_, id)| id::is_prefix(id)).ok_or_else(|| bad_cursor(text))?;
    Ok((Time(time.parse().map_err(|_| bad_cursor(text))?), id.to_owned()))
}
