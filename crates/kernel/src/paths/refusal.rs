//! How a path that others hold or wait for is refused: what, who, what helps now, and how a person overrides it.

use std::collections::HashMap;

use serde_json::json;
use tenure_core::pattern::Pattern;
use tenure_core::text::cut;
use tenure_core::{Error, Kind, Result, Span, Time};
use tenure_store::Tx;
use tenure_store::table::agent;

use crate::line::InTheWay;
use crate::shape::Blocker;

/// How many of those who stand in the way are named.
pub(crate) const BLOCKERS_MAX: usize = 50;

/// The first holds and places that stand in the way, as whoever they block sees them.
pub(crate) fn blockers(tx: &mut dyn Tx, project: &str, in_the_way: &InTheWay, now: Time) -> Result<Vec<Blocker>> {
    let mut agents: HashMap<String, Option<agent::Row>> = HashMap::new();
    let mut known = |tx: &mut dyn Tx, name: &str| -> Result<Option<agent::Row>> {
        if let Some(row) = agents.get(name) {
            return Ok(row.clone());
        }
        let row = agent::get(tx, project, name)?;
        agents.insert(name.to_owned(), row.clone());
        Ok(row)
    };
    let mut found = Vec::new();
    for row in in_the_way.holds.iter().take(BLOCKERS_MAX) {
        found.push(Blocker::of_path(row, known(tx, &row.holder)?.as_ref(), now));
    }
    for (row, number) in in_the_way.places.iter().take(BLOCKERS_MAX - found.len()) {
        found.push(Blocker::of_place(row, *number, known(tx, &row.agent)?.as_ref(), now));
    }
    Ok(found)
}

/// The four-part refusal of paths that others hold or wait for.
pub(crate) fn held_by(
    tx: &mut dyn Tx,
    project: &str,
    (patterns, in_the_way): (&[Pattern], &InTheWay),
    now: Time,
) -> Result<Error> {
    let blockers = blockers(tx, project, in_the_way, now)?;
    let Some(first) = blockers.first() else { return Err(Error::bug("a refusal without a blocker")) };
    let total = in_the_way.holds.len() + in_the_way.places.len();
    let held = cut(first.pattern.as_deref().unwrap_or_default(), 120);
    let asked = match patterns {
        [only] => cut(only.text(), 120),
        _ => format!("{} of {} paths", if total == 1 { "one" } else { "some" }, patterns.len()),
    };
    let message = match (total, in_the_way.holds.len()) {
        (1, 1) => format!("{asked} is held by {}", first.holder),
        (1, _) => format!("{asked} is free, and {} waits for it", first.holder),
        (_, 0) => format!("{asked} is free, and {total} wait for it, the first is {}", first.holder),
        (_, holds) if holds == total => {
            format!("{asked}: {total} holds stand in the way, the first is that of {}", first.holder)
        }
        (_, holds) => {
            let waiting = total - holds;
            let waiting = if waiting == 1 { "1 more waits".to_owned() } else { format!("{waiting} more wait") };
            match holds {
                1 => format!("{asked}: 1 hold stands in the way, that of {}, and {waiting}", first.holder),
                _ => format!(
                    "{asked}: {holds} holds stand in the way, the first is that of {}, and {waiting}",
                    first.holder
                ),
            }
        }
    };
    let why = if first.reason.is_empty() { String::new() } else { format!(", for “{}”", cut(&first.reason, 60)) };
    let does = match first.state.as_str() {
        "waiting" => format!("has waited for {held} ({}) for {}", first.mode, Span::seconds(first.age_s)),
        _ => format!(
            "has held {held} ({}) for {} and keeps it for {} unless renewed",
            first.mode,
            Span::seconds(first.age_s),
            Span::seconds(first.expires_in_s)
        ),
    };
    Ok(Error::refused(Kind::Conflict, "path_held", message)
        .entity(held)
        .who(format!(
            "{} is {} (last seen {} ago), {does}{why}",
            first.holder,
            first.liveness.as_str(),
            Span::seconds(first.last_seen_s),
        ))
        .attempt(match first.state.as_str() {
            "waiting" => "tenure holds".to_owned(),
            _ => format!("tenure why {}", first.id),
        })
        .attempt("tenure list --state ready")
        .person("A person can end the hold: `release` with its id and --force.")
        .detail("blockers", json!(blockers))
        .detail("total", total))
}
