//! Properties of continuation: every answer of `resume` is about one task, no event is skipped, batches are atomic, and
//! private memories do not leak.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenure_core::event::kind;
use tenure_kernel::query;

use super::property::{Broken, Property};
use super::run::{Happened, Scene};
use crate::known::Known;

/// The part of a `resume` answer that the model predicts. Only the shape of the rest is checked.
pub(super) fn promised(answer: &Value) -> Value {
    let item = |item: &Value| {
        let fields = ["number", "at", "kind", "actor", "subject", "again"];
        Value::Object(fields.iter().map(|field| ((*field).to_owned(), item[field].clone())).collect())
    };
    let items: Vec<Value> = answer["events"]["items"].as_array().into_iter().flatten().map(item).collect();
    json!({
        "focus": answer["focus"], "task": answer["task"], "hold": answer["hold"], "rule": answer["rule"],
        "reason": answer["reason"], "lost": !answer["lost"].is_null(), "budget": answer["brief"]["budget"],
        "paths": answer.get("paths").unwrap_or(&json!([])), "lost_paths": answer.get("lost_paths").unwrap_or(&json!([])),
        "mail": answer["mail"],
        "events": { "items": items, "more": answer["events"]["more"], "offered": answer["events"]["offered"] },
    })
}

/// The answer to a call, if it reached the caller and is not a replay.
fn answered(happened: &Happened<'_>) -> Option<Value> {
    let reply = happened.answer.as_ref().ok().filter(|reply| happened.struck.is_none() && !reply.replayed)?;
    Some(serde_json::from_str(&reply.body).unwrap())
}

/// L6, M2, M3: in every answer of `resume`, the focus, the task, the hold and the brief belong to the same task, and
/// that task is the stored focus. The brief respects its budget, contains the required parts, and contains nothing
/// private to another reader.
pub(super) struct OneTask;

impl Property for OneTask {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = &scene.happened else { return Ok(()) };
        let (Known::Resume(_), Some(answer)) = (Known::of(happened.op), answered(happened)) else { return Ok(()) };
        let me = happened.call.agent.as_str();
        let agents = scene
            .world
            .kernel
            .ask(
                &scene.world.call("person:eve"),
                &query::agents::Agents { within_us: None, limit: 1_000, cursor: None },
            )
            .unwrap()
            .items;
        let stored = agents.into_iter().find(|agent| agent.name == me).map_or(Value::Null, |agent| json!(agent.focus));
        let of = |path: &str| answer.pointer(path).cloned().unwrap_or(Value::Null);
        let said = [of("/focus"), of("/task/id"), of("/hold/subject"), stored];
        if said.iter().any(|one| *one != said[0]) {
            return Err(Broken::new("inv_l6_one_task_in_every_answer", json!(said).to_string()));
        }
        let task = answer["focus"].as_str();
        let holder = [of("/hold/holder"), of("/task/holder/agent")];
        if task.is_some() && holder.iter().any(|holder| holder != me) {
            return Err(Broken::new("inv_l6_one_task_in_every_answer", json!(holder).to_string()));
        }
        shape_of_brief(&answer["brief"], task)?;
        private(scene, &answer, me)
    }
}

fn shape_of_brief(brief: &Value, task: Option<&str>) -> Result<(), Broken> {
    let broken = |what: &str| Err(Broken::new("inv_m2_a_brief_keeps_its_budget", format!("{what}: {brief:#}")));
    let text = brief["text"].as_str().unwrap();
    let (tokens, budget) = (brief["tokens"].as_u64().unwrap(), brief["budget"].as_u64().unwrap());
    if tokens > budget || text.len().div_ceil(4) as u64 != tokens {
        return broken("too long");
    }
    if !text.contains("## Do next\n") {
        return broken("nothing to do next");
    }
    if let Some(task) = task {
        let first = text.find("## Task\n").map(|at| &text[at + "## Task\n".len()..]);
        if !first.is_some_and(|rest| rest.starts_with(&format!("{task} "))) {
            return broken("not of its task");
        }
        if !text.contains("## Where it stopped\n") {
            return broken("nothing about where it stopped");
        }
    }
    Ok(())
}

/// A memory of another agent or task appears neither in the brief nor among the events.
fn private(scene: &Scene<'_>, answer: &Value, me: &str) -> Result<(), Broken> {
    let (mut seen, mut unseen) = (BTreeSet::new(), BTreeSet::new());
    for memory in &scene.model.memories {
        let side = if scene.model.sees(memory, me, None, scene.now) { &mut seen } else { &mut unseen };
        side.insert(memory.text.as_str());
    }
    let open = scene.model.news_between("", 0, i64::MAX).filter_map(|told| told.data["text"].as_str());
    seen.extend(open);
    let all = format!("{} {}", answer["brief"]["text"].as_str().unwrap(), answer["events"]);
    // A private text may be a substring of a visible one, so the search is for the whole text after a quote.
    let leaks = |text: &&&str| ['"', '“', '\u{201d}'].iter().any(|quote| all.contains(&format!("{quote}{text}")));
    match unseen.difference(&seen).find(leaks) {
        None => Ok(()),
        Some(text) => Err(Broken::new("inv_m3_memories_do_not_leak", format!("{text:?} is told to {me}:\n{all}"))),
    }
}

/// I3: the events that a door confirmed are all events of other agents, in order and without a gap. Unconfirmed events
/// are offered again.
#[derive(Default)]
pub(super) struct NothingSkipped {
    readers: BTreeMap<String, Reader>,
}

struct Reader {
    /// Every event up to this number was confirmed as shown.
    confirmed: i64,
    /// The last event offered by an answer that arrived.
    heard: i64,
    /// The events contained in answers that arrived.
    told: BTreeSet<i64>,
}

impl Property for NothingSkipped {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = &scene.happened else { return Ok(()) };
        let broken = |what: String| Err(Broken::new("inv_i3_nothing_is_skipped", what));
        let me = &happened.call.agent;
        match (Known::of(happened.op), happened.answer) {
            (Known::Resume(_), Ok(reply)) if happened.struck.is_none() => {
                let answer: Value = serde_json::from_str(&reply.body).unwrap();
                let items = answer["events"]["items"].as_array().unwrap();
                let numbers: Vec<i64> = items.iter().map(|item| item["number"].as_i64().unwrap()).collect();
                let first = scene.model.registered(me);
                let new = || Reader { confirmed: first, heard: 0, told: BTreeSet::new() };
                let reader = self.readers.entry(me.clone()).or_insert_with(new);
                let beyond = !reply.replayed && numbers.first().is_some_and(|number| *number <= reader.confirmed);
                if !numbers.is_sorted_by(|a, b| a < b) || beyond {
                    return broken(format!("{me} had confirmed {} and is told {numbers:?}", reader.confirmed));
                }
                reader.told.extend(numbers);
                reader.heard = answer["events"]["offered"].as_i64().unwrap();
            }
            // The kernel offered events for the first time, but the answer was lost.
            (Known::Resume(_), _) if happened.expected.is_some_and(|expected| expected.answer.is_ok()) => {
                let first = scene.model.registered(me);
                let new = || Reader { confirmed: first, heard: 0, told: BTreeSet::new() };
                self.readers.entry(me.clone()).or_insert_with(new);
            }
            (Known::Confirm(request), _) if happened.expected.is_some_and(|expected| expected.answer.is_ok()) => {
                let Some(reader) = self.readers.get_mut(me) else { return Ok(()) };
                let up_to = happened.expected.unwrap().answer.as_ref().unwrap()["events"].as_i64().unwrap();
                // A door that confirms more than it received is trusted up to the offer; any gap is then the door's own
                // error.
                let honest = request.events.unwrap_or_default().get() <= reader.heard;
                let mut all = scene.model.news_between(me, reader.confirmed, up_to);
                let skipped = all.find(|told| !reader.told.contains(&told.number));
                if let Some(skipped) = skipped.filter(|_| honest) {
                    return broken(format!("{me} confirmed {up_to} and was never told of {skipped:?}"));
                }
                reader.confirmed = reader.confirmed.max(up_to);
            }
            _ => {}
        }
        Ok(())
    }
}

/// L11, M1: a batch is applied completely, every reported row exists, and a key is unique within its scope.
pub(super) struct Batches;

impl Property for Batches {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = &scene.happened else { return Ok(()) };
        let Some(answer) = answered(happened) else { return Ok(()) };
        let (items, memories, files) = match Known::of(happened.op) {
            Known::Remember(request) => (&answer["items"], request.items.len(), 0),
            Known::Note(request) => (&answer["memories"], request.memories.len(), request.artifacts.len()),
            _ => return Ok(()),
        };
        let items = items.as_array().unwrap();
        let outcome = |outcome: &str| items.iter().filter(|item| item["outcome"] == outcome).count();
        let told = |kind: &str| happened.events.iter().filter(|event| event.kind == kind).count();
        let rows = |table: &str| happened.after[table].len() - happened.before[table].len();
        let notes = usize::from(matches!(Known::of(happened.op), Known::Note(_)));
        let found = [items.len(), told(kind::MEMORY_ADDED), told(kind::MEMORY_CHANGED), rows("note"), rows("artifact")];
        let expected = [memories, outcome("added"), outcome("changed"), notes, files];
        // The key of an expired memory is reusable, and so is its row.
        if found != expected || rows("memory") > outcome("added") {
            return Err(Broken::new("inv_l11_batches_are_whole", format!("expected {expected:?}, found {found:?}")));
        }
        Ok(())
    }
}
