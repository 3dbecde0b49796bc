//! Properties that must hold after every step of every plan. Each is named after the invariants it proves.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_kernel::Op;
use tenure_kernel::answer::LoggedEvent;
use tenure_store::Moment;

use super::continuity::{Batches, NothingSkipped, OneTask, promised};
use super::line::SomebodyGoesOn;
use super::mailbox::NewOnce;
use super::model::{Outcome, Refusal, Told};
use super::run::{Happened, Scene, code, events, quietly};
use super::seen::Seen;
use crate::known::Known;
use crate::raw::{TABLES, differing, dump};
use crate::replay::replay;

/// A violated property and the evidence.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The property.
    pub property: &'static str,
    /// The evidence.
    pub what: String,
}

impl Broken {
    /// Creates a violation.
    pub fn new(property: &'static str, what: impl Into<String>) -> Broken {
        Broken { property, what: what.into() }
    }
}

/// A check that runs after every step.
pub trait Property {
    /// Checks the scene. It may ask any query and must change nothing.
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken>;
}

/// All properties, in the order in which they are checked: the most specific cause comes first.
pub fn all() -> Vec<Box<dyn Property>> {
    vec![
        Box::new(AllOrNothing),
        Box::new(OncePerRequest::default()),
        Box::new(Answers),
        Box::new(Refused),
        Box::new(Log),
        Box::new(OneTask),
        Box::new(NothingSkipped::default()),
        Box::new(Batches),
        Box::new(NewOnce::default()),
        Box::new(SomebodyGoesOn),
        Box::new(Seen),
        Box::new(Pure),
        Box::new(OneHolder),
    ]
}

/// The differences of two JSON values, one per line.
pub(super) fn difference(expected: &Value, found: &Value) -> Option<String> {
    if expected == found {
        return None;
    }
    if let (Value::Object(expected), Value::Object(found)) = (expected, found) {
        let fields = expected.keys().chain(found.keys().filter(|key| !expected.contains_key(*key)));
        let lines: Vec<String> = fields
            .filter_map(|key| {
                let none = Value::String("(absent)".to_owned());
                let deeper = difference(expected.get(key).unwrap_or(&none), found.get(key).unwrap_or(&none));
                deeper.map(|deeper| format!("{key}: {deeper}"))
            })
            .collect();
        return Some(lines.join("\n"));
    }
    Some(format!("expected {expected}, found {found}"))
}

/// An answer without the names of checkouts and the agents in other checkouts, which the model does not know.
/// `conformance/elsewhere.rs` tests those.
pub(super) fn without_names(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !matches!(
                    name.as_str(),
                    "checkout_id" | "checkout_name" | "elsewhere" | "elsewhere_total" | "globs" | "remarks"
                )
            });
            fields.values_mut().for_each(|value| *value = without_names(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_names(item.take())),
        _ => {}
    }
    answer
}

/// T4: a failed op leaves no trace; an op whose acknowledgement is lost is applied completely.
struct AllOrNothing;

impl Property for AllOrNothing {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let broken = |what: String| Err(Broken::new("inv_t4_all_or_nothing", what));
        let Some(Happened { struck: Some(at), answer, before, after, .. }) = &scene.happened else { return Ok(()) };
        let told = match at {
            Moment::Lock => ("busy", "store_busy"),
            Moment::Statement | Moment::Commit => ("storage", "io_failure"),
            Moment::Committed => ("busy", "connection_lost"),
        };
        if code(answer) != told {
            return broken(format!("{at:?} failed and the caller was told {:?}", code(answer)));
        }
        let changed = differing(before, after);
        if *at != Moment::Committed && !changed.is_empty() {
            return broken(format!("{at:?} failed and these tables changed: {changed:?}"));
        }
        Ok(())
    }
}

/// T6: a retried request has the same answer, byte for byte, and no further effect. A different request under the same
/// id is refused.
#[derive(Default)]
struct OncePerRequest(BTreeMap<(String, &'static str, String), String>);

impl Property for OncePerRequest {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let broken = |what: String| Err(Broken::new("inv_t6_once_per_request", what));
        let Some(happened) = &scene.happened else { return Ok(()) };
        let Some(expected) = happened.expected else { return Ok(()) };
        let key = (happened.call.agent.clone(), happened.op.name(), happened.request.to_owned());
        if happened.struck.is_some() {
            // The request ran again after its record was pruned, and the answer was lost.
            self.0.remove(&key);
            return Ok(());
        }
        let reply = happened.answer.as_ref().ok();
        let is_mismatch = |code: (&str, &str)| code.0 == "mismatch";
        let refused = is_mismatch(code(happened.answer));
        if refused != expected.answer.as_ref().err().is_some_and(|refusal| is_mismatch(*refusal)) {
            return broken(format!("expected {:?}, found {:?}", expected.answer, code(happened.answer)));
        }
        if expected.replayed != reply.is_some_and(|reply| reply.replayed) {
            return broken(format!("expected from the record: {}, found {reply:?}", expected.replayed));
        }
        let changed = differing(happened.before, happened.after);
        if (expected.replayed || refused) && !changed.is_empty() {
            return broken(format!("{} again, and these tables changed: {changed:?}", happened.op.name()));
        }
        if let Some(reply) = reply {
            let first = self.0.get(&key).filter(|_| expected.replayed);
            if first.is_some_and(|first| *first != reply.body) {
                return broken(format!("first {first:?}, then {}", reply.body));
            }
            self.0.insert(key, reply.body.clone());
        }
        Ok(())
    }
}

/// L4, L7, L8, L9, L10: every answer matches the model.
struct Answers;

impl Property for Answers {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = &scene.happened else { return Ok(()) };
        let (Some(expected), None) = (happened.expected, happened.struck) else { return Ok(()) };
        let found = match happened.answer {
            Ok(reply) => {
                let body = without_names(serde_json::from_str::<Value>(&reply.body).unwrap());
                Ok(if matches!(Known::of(happened.op), Known::Resume(_)) { promised(&body) } else { body })
            }
            Err(_) => Err(code(happened.answer)),
        };
        let different = match (&expected.answer, &found) {
            (Ok(expected), Ok(found)) => difference(expected, found),
            (Err(code), Err(found)) if code == found => in_the_way(happened, expected),
            _ => Some(format!("expected {:?}, found {found:?}", expected.answer)),
        };
        match different {
            None => Ok(()),
            Some(what) => Err(Broken::new(proven(happened.op, expected, &found), format!("{:?}\n{what}", happened.op))),
        }
    }
}

/// R6: a refusal names every blocker.
fn in_the_way(happened: &Happened<'_>, expected: &Outcome) -> Option<String> {
    let error = happened.answer.as_ref().err()?;
    if !["path_held", "lock_held"].contains(&error.code().as_str()) {
        return None;
    }
    let found = error.get("blockers").cloned().unwrap_or_default();
    let total = error.get("total").cloned().unwrap_or_default();
    difference(&json!([expected.blockers, expected.blockers.len()]), &json!([found, total]))
}

/// The invariant that an unexpected answer violates.
fn proven(op: &Op, expected: &Outcome, found: &Result<Value, Refusal>) -> &'static str {
    let codes =
        [expected.answer.as_ref().err(), found.as_ref().err()].map(|refusal| refusal.map_or("", |refusal| refusal.1));
    let either = |of: &[&str]| codes.iter().any(|code| of.contains(code));
    let field = |path: &str| {
        let of =
            |answer: &Result<Value, Refusal>| answer.as_ref().ok().and_then(|answer| answer.pointer(path).cloned());
        expected.answer.is_ok() && found.is_ok() && of(&expected.answer) != of(found)
    };
    let op = Known::of(op);
    let resumed = matches!(op, Known::Resume(_));
    let chosen = resumed || matches!(op, Known::Claim(request) if request.task.is_none());
    let paths = either(&["path_held", "transfer_splits"]) || matches!(op, Known::Reserve(_));
    if paths {
        let line = either(&["waits_in_circle"]) || field("/waiting") || field("/place");
        if line || matches!(op, Known::Reserve(request) if request.wait) {
            return "inv_r7_the_line";
        }
        return if either(&["path_held"]) { "inv_r2_r6_who_conflicts_with_whom" } else { "inv_r5_own_paths" };
    }
    if let Known::Lock(request) = op {
        return if request.wait { "inv_r7_the_line" } else { "inv_r5_only_the_fence_opens_a_lock_again" };
    }
    if matches!(op, Known::Release(request) if request.lock.is_some() || request.hold.is_some() || !request.paths.is_empty())
    {
        return "inv_r9_release";
    }
    if matches!(op, Known::Transfer(request) if request.all || request.lock.is_some() || request.hold.is_some() || !request.paths.is_empty())
    {
        return "inv_r9_transfer";
    }
    if matches!(op, Known::Send(_) | Known::Inbox(_)) || field("/mail") {
        return "inv_m6_m7_mail";
    }
    if field("/paths") || field("/lost_paths") || field("/holds") {
        return "inv_l12_paths_go_with_their_task";
    }
    if chosen && (field("/task/id") || field("/rule")) {
        "inv_l7_choice"
    } else if matches!(op, Known::Confirm(_)) || resumed && field("/events") {
        "inv_i3_offered_until_confirmed"
    } else if matches!(op, Known::Remember(_) | Known::MemoryPin(_) | Known::MemoryForget(_)) || field("/memories") {
        "inv_m1_memories"
    } else if either(&["stale_version"]) {
        "inv_l9_versions"
    } else if either(&["stale_fence", "lapsed", "task_held", "not_held", "nothing_to_transfer", "people_only"])
        || field("/late")
    {
        "inv_l4_the_right_to_act"
    } else if field("/attempt") || field("/task/attempt") {
        "inv_l3_attempts"
    } else if field("/version") || field("/task/version") {
        "inv_l9_versions"
    } else if either(&["illegal_transition"]) {
        "inv_l10_transitions"
    } else if either(&["cycle", "not_ready", "blocker_gone"]) || field("/unlocked") {
        "inv_l8_dependencies"
    } else if chosen {
        "inv_l7_choice"
    } else {
        "answers"
    }
}

/// T3, T9, L8, R8: the log matches the model, event by event, without a gap.
struct Log;

fn same(expected: &Told, found: &LoggedEvent, happened: &Happened<'_>) -> bool {
    let data = expected.data.as_object().unwrap().iter().all(|(key, value)| found.data.get(key) == Some(value));
    let subject = expected.kind == kind::PROJECT_CREATED || expected.subject == found.subject;
    data && subject
        && (expected.number, expected.kind, expected.actor.as_str())
            == (found.number.get(), found.kind.as_str(), found.actor.as_str())
        && Time(expected.at).to_string() == found.at
        && expected.hold == found.hold.clone().unwrap_or_default()
        && expected.cause == found.cause.map(EventNumber::get)
        && (found.op.as_str(), found.request_id.as_str()) == (happened.op.name(), happened.request)
}

impl Property for Log {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = &scene.happened else { return Ok(()) };
        let expected = happened.expected.map_or(&[][..], |outcome| &outcome.events);
        let found = happened.events;
        let first = (0..expected.len().max(found.len())).find(|at| match (expected.get(*at), found.get(*at)) {
            (Some(expected), Some(found)) => !same(expected, found, happened),
            _ => true,
        });
        let Some(at) = first else { return Ok(()) };
        let kinds =
            [expected.get(at).map_or("", |told| told.kind), found.get(at).map_or("", |event| event.kind.as_str())];
        let property = match kinds {
            kinds if kinds.contains(&kind::CLOCK_STEPPED) => "inv_t9_one_time",
            kinds if kinds.contains(&kind::HOLD_EXPIRED) => "inv_r8_each_expiry_once",
            kinds if kinds.iter().any(|kind| kind.starts_with("message.")) => "inv_m7_messages_end_with_their_hold",
            kinds if kinds.iter().any(|kind| kind.starts_with("place.") || kind.ends_with(".offered")) => {
                "inv_r7_the_line"
            }
            kinds if kinds.iter().any(|kind| kind.starts_with("lock.")) => "inv_r5_only_the_fence_opens_a_lock_again",
            kinds if kinds.iter().any(|kind| kind.starts_with("path.")) => "inv_l12_paths_end_and_move",
            kinds if kinds.contains(&kind::TASK_READY) || kinds.contains(&kind::TASK_WAITING) => "inv_l8_dependencies",
            _ => "inv_t3_events_in_order",
        };
        Err(Broken::new(property, format!("expected {:?}\nfound {:?}", expected.get(at), found.get(at))))
    }
}

/// T15: a refused op may commit settling and presence, but no effect of its own.
struct Refused;

impl Property for Refused {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = &scene.happened else { return Ok(()) };
        let Err(error) = happened.answer else { return Ok(()) };
        if happened.struck.is_some() || !error.is_refusal() {
            return Ok(());
        }
        let settles = [kind::HOLD_EXPIRED, kind::TASK_UNASSIGNED, kind::CLOCK_STEPPED, kind::MESSAGE_ENDED];
        // Settling may make offers to waiting agents, and a shared hold may become exclusive.
        let line = [kind::PLACE_LAPSED, kind::PATH_OFFERED, kind::LOCK_OFFERED, kind::PATH_CHANGED];
        let offers = [kind::PATH_OFFERED, kind::LOCK_OFFERED];
        let offered = happened.events.iter().filter(|event| offers.contains(&event.kind.as_str())).count();
        let told = happened.events.iter().filter(|event| event.kind == kind::MESSAGE_ENDED).count();
        let own = happened
            .events
            .iter()
            .find(|event| !settles.contains(&event.kind.as_str()) && !line.contains(&event.kind.as_str()));
        if let Some(own) = own {
            return Err(Broken::new(
                "inv_t15_a_refusal_leaves_nothing",
                format!("{} and {own:?}", error.code().as_str()),
            ));
        }
        // Expired request records may be pruned; no other row may appear or disappear.
        let kept = |table: &str| table != "event" && table != "request" && table != "project";
        for (table, _) in TABLES.iter().filter(|(table, _)| kept(table)) {
            let (before, after) = (happened.before[table].len(), happened.after[table].len());
            // Settling notifies the authors of messages about ended holds.
            let more = match *table {
                "mail" => told,
                "hold" => offered,
                _ => 0,
            };
            if before + more != after {
                let what = format!("{} and {table} has {after} rows, not {before}", error.code().as_str());
                return Err(Broken::new("inv_t15_a_refusal_leaves_nothing", what));
            }
        }
        let untouched = ["note", "dep", "shown", "memory", "memory_term", "memory_scope", "artifact", "delivery"];
        let changed = differing(happened.before, happened.after);
        match changed.into_iter().find(|table| untouched.contains(table)) {
            None => Ok(()),
            Some(table) => {
                let what = format!("{} and {table} changed", error.code().as_str());
                Err(Broken::new("inv_t15_a_refusal_leaves_nothing", what))
            }
        }
    }
}

/// T5: the queries of the other properties have changed nothing.
struct Pure;

impl Property for Pure {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = scene.happened.as_ref().filter(|_| scene.step.is_multiple_of(4)) else { return Ok(()) };
        let changed = differing(happened.after, &dump(&scene.world.kernel));
        if changed.is_empty() { Ok(()) } else { Err(Broken::new("inv_t5_queries_are_pure", format!("{changed:?}"))) }
    }
}

/// L1: by the log alone, a task has at most one holder at a time.
struct OneHolder;

impl Property for OneHolder {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        if !scene.last && !scene.step.is_multiple_of(50) {
            return Ok(());
        }
        let log = events(scene.world, 0);
        let replayed = quietly(|| replay(&log)).map_err(|what| Broken::new("inv_l1_one_holder_at_a_time", what))?;
        let fences: Vec<i64> = replayed.intervals.iter().map(|interval| interval.fence).collect();
        match fences.is_sorted() && log.len() as i64 == scene.model.last_event {
            true => Ok(()),
            false => Err(Broken::new("inv_l1_one_holder_at_a_time", json!(fences).to_string())),
        }
    }
}
