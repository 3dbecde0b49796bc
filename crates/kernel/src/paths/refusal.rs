//! How a path that others hold is refused: what, who, what helps now, and how a person overrides it.

use std::collections::HashMap;

use serde_json::json;
use tenure_core::pattern::Pattern;
use tenure_core::text::cut;
use tenure_core::{Error, Kind, Result, Span, Time};
use tenure_store::Tx;
use tenure_store::table::{agent, hold};

use crate::shape::Blocker;

/// How many of those who stand in the way are named.
pub(crate) const BLOCKERS_MAX: usize = 50;

/// The first holds that stand in the way, as whoever they block sees them.
pub(crate) fn blockers(tx: &mut dyn Tx, project: &str, rows: &[&hold::Row], now: Time) -> Result<Vec<Blocker>> {
    let mut holders: HashMap<&str, Option<agent::Row>> = HashMap::new();
    let mut found = Vec::new();
    for row in rows.iter().take(BLOCKERS_MAX) {
        if !holders.contains_key(row.holder.as_str()) {
            holders.insert(&row.holder, agent::get(tx, project, &row.holder)?);
        }
        found.push(Blocker::of_path(row, holders.get(row.holder.as_str()).and_then(Option::as_ref), now));
    }
    Ok(found)
}

/// The four-part refusal of paths that others hold.
pub(crate) fn held_by(
    tx: &mut dyn Tx,
    project: &str,
    (patterns, rows): (&[Pattern], &[&hold::Row]),
    now: Time,
) -> Result<Error> {
    let blockers = blockers(tx, project, rows, now)?;
    let Some(first) = blockers.first() else { return Err(Error::bug("a refusal without a blocker")) };
    let held = cut(first.pattern.as_deref().unwrap_or_default(), 120);
    let asked = match patterns {
        [only] => cut(only.text(), 120),
        _ => format!("{} of {} paths", if rows.len() == 1 { "one" } else { "some" }, patterns.len()),
    };
    let message = match rows {
        [_] => format!("{asked} is held by {}", first.holder),
        _ => format!("{asked}: {} holds stand in the way, the first is that of {}", rows.len(), first.holder),
    };
    let span = |seconds: i64| Span::seconds(seconds);
    let why = if first.reason.is_empty() { String::new() } else { format!(", for “{}”", cut(&first.reason, 60)) };
    Ok(Error::refused(Kind::Conflict, "path_held", message)
        .entity(held.clone())
        .who(format!(
            "{} is {} (last seen {} ago), has held {held} ({}) for {} and keeps it for {} unless renewed{why}",
            first.holder,
            first.liveness.as_str(),
            span(first.last_seen_s),
            first.mode,
            span(first.age_s),
            span(first.expires_in_s),
        ))
        .attempt(format!("tenure why {}", first.id))
        .attempt("tenure holds --kind path")
        .attempt("tenure list --state ready")
        .person("A person can end the hold: `release` with its id and --force.")
        .detail("blockers", json!(blockers))
        .detail("total", rows.len()))
}
