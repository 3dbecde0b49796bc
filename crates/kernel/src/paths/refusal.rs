//! The refusal of a path that others hold or wait for: what, who, what helps now, and how a person overrides it.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use tenure_core::action::{Action, Tasks};
use tenure_core::name::AgentName;
use tenure_core::pattern::Pattern;
use tenure_core::text::cut;
use tenure_core::waiting::HoldTarget;
use tenure_core::{Code, Error, Result, Span, Time, text};
use tenure_store::Tx;
use tenure_store::table::{agent, hold};

use super::nested_holds::{Nested, OtherProject};
use crate::answer::{Blocker, Blockers, Hold};
use crate::waiting::{LivePlace, Obstacles};

/// How many blockers are named.
pub(crate) const BLOCKERS_MAX: usize = 50;
/// How many holders are named if there are more holds than that.
const HOLDERS_MAX: usize = 1_000;
/// What helps if everything is taken. If some paths are free, reserving those is the better attempt.
pub(crate) const ANOTHER_TASK: Action = Action::ListTasks { which: Tasks::Ready };

/// One blocker.
enum Blocking<'a> {
    Hold(&'a hold::Row),
    Nested(&'a Nested),
    Place(&'a LivePlace, i64),
}

impl Blocking<'_> {
    fn holder(&self) -> &AgentName {
        match self {
            Blocking::Hold(row) => &row.holder,
            Blocking::Nested(nested) => &nested.row.holder,
            Blocking::Place(place, _) => &place.row.agent,
        }
    }

    /// The project of its holder, if that is another.
    fn owner(&self) -> Option<&OtherProject> {
        match self {
            Blocking::Hold(_) => None,
            Blocking::Nested(nested) => nested.owner.as_ref(),
            Blocking::Place(place, _) => place.owner.as_ref(),
        }
    }

    /// The root of its checkout, if that is not the checkout of the request.
    fn place(&self) -> Option<String> {
        let site = match self {
            Blocking::Hold(_) => return None,
            Blocking::Nested(nested) => &nested.site,
            Blocking::Place(LivePlace { owner: Some(_), thing: HoldTarget::Paths { site, .. }, .. }, _) => site,
            Blocking::Place(..) => return None,
        };
        site.tops.first().map(|top| top.path.clone())
    }
}

/// All blockers. If not all of them are named, the holders matter more than their number of holds: every holder comes
/// once before any comes twice.
fn all(in_the_way: &Obstacles) -> Vec<Blocking<'_>> {
    let mut all: Vec<Blocking<'_>> = in_the_way.holds.iter().map(Blocking::Hold).collect();
    all.extend(in_the_way.nested.iter().map(Blocking::Nested));
    all.extend(in_the_way.places.iter().map(|(place, number)| Blocking::Place(place, *number)));
    if all.len() <= BLOCKERS_MAX {
        return all;
    }
    let mut seen = HashSet::new();
    let (mut first, again): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| seen.insert(one.holder().to_owned()));
    first.extend(again);
    first
}

/// The holders of all blockers, if not all blockers are named.
pub(crate) fn holders(in_the_way: &Obstacles) -> Vec<AgentName> {
    if in_the_way.total() <= BLOCKERS_MAX {
        return Vec::new();
    }
    let mut holders: Vec<AgentName> = all(in_the_way).iter().map(|one| one.holder().to_owned()).collect();
    let mut seen = HashSet::new();
    holders.retain(|holder| seen.insert(holder.clone()));
    holders.truncate(HOLDERS_MAX);
    holders
}

/// A cache of holders.
#[derive(Default)]
struct HoldingAgents(HashMap<(String, String), Option<agent::Row>>);

impl HoldingAgents {
    fn get(&mut self, tx: &mut dyn Tx, project: &str, name: &str) -> Result<Option<&agent::Row>> {
        let key = (project.to_owned(), name.to_owned());
        if !self.0.contains_key(&key) {
            let row = tx.fetch(agent::get(project, name))?;
            self.0.insert(key.clone(), row);
        }
        Ok(self.0.get(&key).and_then(Option::as_ref))
    }
}

/// The first holds and places that block a request, as shown to the blocked agent.
pub(crate) fn blockers(tx: &mut dyn Tx, project: &str, in_the_way: &Obstacles, now: Time) -> Result<Vec<Blocker>> {
    let mut agents = HoldingAgents::default();
    let mut found = Vec::new();
    for one in all(in_the_way).into_iter().take(BLOCKERS_MAX) {
        let whose = one.owner().map_or(project, |owner| &owner.project);
        let holder = agents.get(tx, whose, one.holder())?;
        let mut blocker = match &one {
            Blocking::Hold(row) => Blocker::of_path(row, holder, now),
            Blocking::Nested(nested) => Blocker::of_path(&nested.row, holder, now),
            Blocking::Place(place, number) => Blocker::of_place(&place.row, *number, holder, now),
        };
        blocker.checkout = one.place();
        blocker.project = one.owner().map(|owner| owner.label.clone());
        found.push(blocker);
    }
    Ok(found)
}

/// Holds of other projects, as shown beside those of the project of the request.
pub(crate) fn nested_views(tx: &mut dyn Tx, nested: &[Nested], now: Time) -> Result<Vec<Hold>> {
    let mut agents = HoldingAgents::default();
    let mut views = Vec::new();
    for one in nested {
        let whose = one.owner.as_ref().map_or("", |owner| &owner.project);
        let mut view = Hold::of(&one.row, agents.get(tx, whose, &one.row.holder)?, now);
        let top = one.site.tops.first().map(|top| top.path.clone());
        let name = top.as_deref().and_then(|top| top.rsplit('/').next()).map(str::to_owned);
        view.checkout_id = view.checkout.take().map(Into::into);
        (view.checkout, view.checkout_name) = (top, name);
        view.project = one.owner.as_ref().map(|owner| owner.label.clone());
        views.push(view);
    }
    Ok(views)
}

/// The four-part refusal of paths that others hold or wait for.
pub(crate) fn held_by(
    tx: &mut dyn Tx,
    project: &str,
    (patterns, in_the_way): (&[Pattern], &Obstacles),
    now: Time,
) -> Result<Error> {
    let blockers = blockers(tx, project, in_the_way, now)?;
    let Some(first) = blockers.first() else { return Err(Error::bug("a refusal without a blocker")) };
    let (total, holds) = (in_the_way.total(), in_the_way.total() - in_the_way.places.len());
    let held = cut(first.pattern.as_deref().unwrap_or_default(), 120);
    let asked = match patterns {
        [only] => cut(only.text(), 120),
        _ => format!("{} of {} paths", if total == 1 { "one" } else { "some" }, patterns.len()),
    };
    let message = match (total, holds) {
        (1, 1) => format!("{asked} is held by {}", first.holder),
        (1, _) => format!("{asked} is free, but {} waits for it", first.holder),
        (_, 0) => format!("{asked} is free, but {total} agents wait for it; the first is {}", first.holder),
        (_, holds) if holds == total => {
            format!("{asked}: {total} holds conflict; the first is held by {}", first.holder)
        }
        (_, holds) => {
            let waiting = total - holds;
            let waiting = if waiting == 1 { "1 more waits".to_owned() } else { format!("{waiting} more wait") };
            match holds {
                1 => format!("{asked}: 1 hold conflicts, held by {}, and {waiting}", first.holder),
                _ => format!("{asked}: {holds} holds conflict; the first is held by {}, and {waiting}", first.holder),
            }
        }
    };
    let place = first.whereabouts();
    let why = if first.reason.is_empty() { String::new() } else { format!(", for “{}”", cut(&first.reason, 60)) };
    let does = match first.state.as_str() {
        "waiting" => format!("has waited for {held} ({}){place} for {}", first.mode, Span::seconds(first.age_s)),
        _ => format!(
            "has held {held} ({}){place} for {} and keeps it for {} unless renewed",
            first.mode,
            Span::seconds(first.age_s),
            Span::seconds(first.expires_in_s)
        ),
    };
    let refusal = Error::new(Code::PathHeld, message)
        .entity(held)
        .who(format!(
            "{} is {} (last seen {} ago), {does}{why}",
            first.holder,
            first.liveness.as_str(),
            Span::seconds(first.last_seen_s),
        ))
        .attempt(match (first.state.as_str(), &first.project) {
            // An id is known only in its own project.
            (_, Some(_)) => holds_around(patterns),
            ("waiting", _) => Action::holds(),
            _ => Action::why(&first.id),
        })
        .attempt(ANOTHER_TASK)
        .person(first.override_by_person())
        .with(&Blockers(blockers))
        .detail("total", total);
    let holders = holders(in_the_way);
    Ok(if holders.is_empty() { refusal } else { refusal.detail("holders", json!(holders)) })
}

/// The action that shows who holds some paths, in other repositories too.
fn holds_around(patterns: &[Pattern]) -> Action {
    // A pattern that cannot be written as one shell word is not named.
    let first = patterns.first().map(|first| first.text().to_owned());
    let first = first.filter(|text| text::shell_words(std::slice::from_ref(text)).is_some());
    first.map_or_else(Action::holds, Action::holds_around)
}
