//! Compares the queries with the model after every step, settled or not.

use serde_json::{Value, json};
use tenure_core::task::TaskState;
use tenure_kernel::Call;
use tenure_kernel::op::resume;
use tenure_kernel::query;
use tenure_kernel::query::{list, memories};

use super::continuity::promised;
use super::property::{Broken, Property, difference, without_names};
use super::run::Scene;
use crate::raw::WRONG_SUMS;

/// L2, L3, L5, L6, L7, L8, I3, I4, M1, M3: lists, counts, holds, agents and the next choice.
pub(super) struct Seen;

impl Property for Seen {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let call = scene.world.call("person:eve");
        holds(scene, &call)?;
        tasks(scene, &call)?;
        agents(scene, &call)?;
        counters(scene, &call)?;
        status(scene, &call)?;
        filtered(scene, &call)?;
        next(scene)?;
        peek(scene)?;
        memories(scene)?;
        sums(scene)?;
        super::mailbox::seen(scene)?;
        super::mailbox::paths(scene)?;
        show(scene, &call)
    }
}

pub(super) fn compare(property: &'static str, expected: &Value, found: &Value) -> Result<(), Broken> {
    let found = without_names(found.clone());
    difference(expected, &found).map_or(Ok(()), |what| Err(Broken::new(property, what)))
}

/// Compares lists item by item, so that the failure names the first difference.
fn compare_all(property: &'static str, expected: &[Value], found: &[Value], id: &str) -> Result<(), Broken> {
    let ids = |of: &[Value]| Value::Array(of.iter().map(|item| item[id].clone()).collect());
    compare(property, &ids(expected), &ids(found))?;
    let both = expected.iter().zip(found);
    both.map(|(expected, found)| (&expected[id], difference(expected, &without_names(found.clone()))))
        .find_map(|(id, what)| what.map(|what| format!("{id}: {what}")))
        .map_or(Ok(()), |what| Err(Broken::new(property, what)))
}

fn tasks(scene: &Scene<'_>, call: &Call) -> Result<(), Broken> {
    let filter = list::List { all: true, limit: 1_000, ..list::List::default() };
    let found: Vec<Value> =
        scene.world.kernel.ask(call, &filter).unwrap().items.into_iter().map(|task| json!(task)).collect();
    compare_all("inv_l3_tasks_as_seen", &scene.model.list(scene.now), &found, "id")
}

fn holds(scene: &Scene<'_>, call: &Call) -> Result<(), Broken> {
    let page = scene.world.kernel.ask(call, &query::holds::Holds::of(None, 1_000)).unwrap();
    let in_line: Vec<Value> =
        page.waiting.iter().map(|place| json!([place.id, place.agent, place.wanted, place.place])).collect();
    compare("inv_r7_line_as_seen", &json!(scene.model.in_line(scene.now)), &json!(in_line))?;
    let found: Vec<Value> = page.items.into_iter().map(|hold| json!(hold)).collect();
    compare_all("inv_l5_holds_as_seen", &scene.model.holds(scene.now), &found, "id")
}

fn agents(scene: &Scene<'_>, call: &Call) -> Result<(), Broken> {
    let page =
        scene.world.kernel.ask(call, &query::agents::Agents { within_us: None, limit: 1_000, cursor: None }).unwrap();
    let found: Vec<Value> = page
        .items
        .into_iter()
        .map(|agent| {
            json!({
                "name": agent.name, "liveness": agent.liveness, "last_seen": agent.last_seen, "focus": agent.focus,
                "registered_at": agent.registered_at,
            })
        })
        .collect();
    compare_all("inv_i4_agents_as_seen", &scene.model.agent_list(scene.now), &found, "name")
}

fn status(scene: &Scene<'_>, call: &Call) -> Result<(), Broken> {
    let found = scene.world.kernel.ask(call, &query::status::Status {}).unwrap();
    let mut found = json!({
        "ready": found.ready, "waiting": found.waiting, "stuck": found.stuck, "started": found.started,
        "blocked": found.blocked, "done": found.done, "cancelled": found.cancelled, "held": found.held,
        "last_event": found.last_event, "next_expiry": found.next_expiry,
        "agents": found.agents.iter().map(|agent| agent.name.clone()).collect::<Vec<_>>(),
        "holds": found.holds.iter().map(|hold| hold.id.clone()).collect::<Vec<_>>(),
        "blocked_by": found.blocked_by.iter().map(|task| json!([task.id, task.gone])).collect::<Vec<_>>(),
        "overdue": found.overdue.iter().map(|message| message.id.clone()).collect::<Vec<_>>(),
        "stuck_by": found.stuck_by.iter().map(|task| task.id.clone()).collect::<Vec<_>>(),
    });
    let mut expected = scene.model.status(scene.now);
    // An agent whose session ended may or may not appear among the agents seen within the hour.
    if scene.stepped || scene.model.agents.values().any(|agent| agent.ended) {
        // After the clock was set back, the agents seen within the hour are undefined until a write records the step.
        expected["agents"] = Value::Null;
        found["agents"] = Value::Null;
    }
    compare("inv_l3_status_as_seen", &expected, &found)
}

fn counters(scene: &Scene<'_>, call: &Call) -> Result<(), Broken> {
    let health = scene.world.kernel.ask(call, &query::health::Health {}).unwrap();
    if !health.wrong_counters.is_empty() {
        let what = format!("(class, stored, counted): {:?}", health.wrong_counters);
        return Err(Broken::new("inv_l8_counters_count", what));
    }
    let expected = json!([scene.model.unsettled(scene.now), scene.model.last_event]);
    compare("inv_r8_unsettled_holds", &expected, &json!([health.lapsed, health.events]))
}

/// Filters by each state and label in turn.
fn filtered(scene: &Scene<'_>, call: &Call) -> Result<(), Broken> {
    let state = TaskState::ALL[scene.step % TaskState::ALL.len()];
    let label = ["", "x", "y"][scene.step % 3].to_owned();
    let label = Some(label).filter(|label| !label.is_empty());
    let filter = list::List {
        states: vec![state],
        labels: label.iter().cloned().collect(),
        limit: 1_000,
        ..list::List::default()
    };
    let page = scene.world.kernel.ask(call, &filter).unwrap();
    let found: Vec<String> = page.items.into_iter().map(|task| task.id).map(String::from).collect();
    let expected = scene.model.filtered(state, label.as_ref(), scene.now);
    compare("inv_l7_lists_by_state_and_label", &json!(expected), &json!(found))
}

fn next(scene: &Scene<'_>) -> Result<(), Broken> {
    let actor = ["a", "b", "person:ann", "nobody"][scene.step % 4];
    let labels: Vec<String> = if scene.step.is_multiple_of(5) { vec!["x".to_owned()] } else { Vec::new() };
    let found =
        scene.world.kernel.ask(&scene.world.call(actor), &query::next::Next { labels: labels.clone() }).unwrap();
    let found = json!({ "task": found.task.map(|task| task.id), "rule": found.rule, "reason": found.reason });
    compare("inv_l7_next_as_seen", &scene.model.next(actor, &labels, scene.now), &found)
}

/// Compares `peek`: the task that `resume` would take, and the events it would report.
fn peek(scene: &Scene<'_>) -> Result<(), Broken> {
    let actor = ["a", "b", "c", "d", "person:ann", "nobody"][scene.step % 6];
    let labels: Vec<String> = if scene.step.is_multiple_of(4) { vec!["x".to_owned()] } else { Vec::new() };
    let limit = if scene.step.is_multiple_of(3) { 3 } else { 20 };
    let request = resume::Resume { labels: labels.clone(), limit: Some(limit), ..resume::Resume::default() };
    let found = scene.world.kernel.ask(&scene.world.call(actor), &query::peek::Peek(request.clone())).unwrap();
    let expected = scene.model.peek(actor, &labels, limit, scene.now);
    compare("inv_l6_peek_as_seen", &expected, &promised(&json!(found)))
}

/// Lists the memories as each reader in turn, about each task in turn.
fn memories(scene: &Scene<'_>) -> Result<(), Broken> {
    let reader = ["a", "b", "c", "person:ann", "nobody"][scene.step % 5];
    let tasks = scene.model.tasks.len();
    let task =
        (scene.step.is_multiple_of(2) && tasks > 0).then(|| scene.model.tasks.keys().nth(scene.step / 2 % tasks));
    let task = task.flatten().cloned();
    let filter =
        memories::Memories { task: task.clone().map(Into::into), limit: 1_000, ..memories::Memories::default() };
    let call = scene.world.call(reader);
    let found = scene.world.kernel.ask(&call, &filter).unwrap().items;
    let found: Vec<Value> = found.into_iter().map(|memory| json!(memory)).collect();
    let expected = scene.model.memory_list(reader, task.as_deref(), scene.now);
    compare_all("inv_m3_memories_as_seen", &expected, &found, "id")?;
    let word = ["kiwi", "mango", "plum", "quince"][scene.step % 4];
    let found = scene
        .world
        .kernel
        .ask(&call, &query::recall::Recall { question: word.into(), filter: filter.clone() })
        .unwrap()
        .items;
    let mut found: Vec<String> = found.into_iter().map(|memory| memory.id).map(String::from).collect();
    found.sort();
    let expected = scene.model.recalled(reader, task.as_deref(), word, scene.now);
    compare("inv_m3_recall_as_seen", &json!(expected), &json!(found))
}

/// M1: the sums used for ranking match the rows.
fn sums(scene: &Scene<'_>) -> Result<(), Broken> {
    let rows = scene.world.kernel.store().read("", |tx, _| tx.query(WRONG_SUMS, &[])).unwrap();
    if rows.is_empty() { Ok(()) } else { Err(Broken::new("inv_m1_sums_count", format!("{rows:?}"))) }
}

/// Compares `show` for each task in turn.
fn show(scene: &Scene<'_>, call: &Call) -> Result<(), Broken> {
    if scene.model.tasks.is_empty() {
        return Ok(());
    }
    let id = scene.model.tasks.keys().nth(scene.step % scene.model.tasks.len()).unwrap();
    let found = scene.world.kernel.ask(call, &query::show::Show { id: id.into() }).unwrap();
    let notes = found.notes.iter().map(
        |note| json!({ "id": note.id, "number": note.number, "agent": note.agent, "at": note.at, "late": note.late }),
    );
    let found = json!({
        "blocker_gone": found.blocker_gone, "notes": notes.collect::<Vec<_>>(), "dependents": found.dependents.len(),
        "events": found.events.iter().map(|event| event.number).collect::<Vec<_>>(),
    });
    compare("inv_l3_task_as_shown", &scene.model.around(id), &found)
}
