//! Export: one snapshot of a project's own data, and a round trip without a difference.

use serde_json::{Value, json};
use tenure_core::Span;
use tenure_core::task::TaskState;
use tenure_kernel::Op;
use tenure_kernel::op::import::Import;
use tenure_kernel::op::{add, block, note};
use tenure_kernel::query;
use tenure_kernel::query::export::ExportSink;
use tenure_kernel::query::list;

use super::Case;
use super::shorthand::words;
use crate::fixture::{Engine, World};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("an_export_has_every_task_and_note_and_its_own_end", has_everything),
    Case::everywhere("what_is_exported_and_imported_is_exported_again_to_the_byte", round_trip),
    Case::everywhere("an_export_of_more_than_a_page_has_all_of_it", more_than_a_page),
    Case::everywhere("an_export_of_nothing_is_an_export", of_nothing),
    Case::shared("inv_t5_an_export_is_one_snapshot_beside_writers", beside_writers),
    Case::shared("ten_thousand_tasks_go_there_and_back", many),
];

/// The lines of an export.
pub(super) fn exported(world: &World, with_log: bool) -> Vec<u8> {
    let mut lines = Vec::new();
    world.kernel.export(&world.call("person:ann"), with_log, &mut lines).unwrap();
    lines
}

/// All lines but the first, which contains the time.
pub(super) fn content(export: &[u8]) -> &str {
    std::str::from_utf8(export).unwrap().split_once('\n').unwrap().1
}

pub(super) fn lines(export: &[u8]) -> Vec<Value> {
    std::str::from_utf8(export).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn more_than_a_page(world: &World) {
    let task = world.add("one");
    (0..1_010).for_each(|n| drop(world.note("a", &task, &n.to_string()).unwrap()));
    let lines = lines(&exported(world, true));
    let count = |field: &str| lines.iter().filter(|line| line.get(field).is_some()).count();
    let end = lines.last().unwrap();
    assert_eq!((&end["notes"], &end["events"]), (&json!(1_010), &json!(world.last_event())));
    assert_eq!(count("note"), 1_010, "{}", lines[2]);
    assert_eq!(count("event"), usize::try_from(world.last_event().get()).unwrap());
}

/// A project with tasks in every state and every field in use.
pub(super) fn furnish(world: &World) {
    let first = world.add_with(add::Add {
        description: "two\nlines \u{1f980} \"quoted\" \\".into(),
        acceptance: "tests\tpass".into(),
        priority: 0,
        labels: words(&["z", "a b", "ü"]),
        ..add::Add::titled("first — “with” words")
    });
    for agent in ["a", "b", "c"] {
        world.note(agent, &first, "hello").unwrap();
    }
    let done = world.add_ranked("done", 1, &["x"]);
    world.claim("a", &done).unwrap();
    world.done("a", &done).unwrap();
    let cancelled = world.add_after("cancelled", &[&first]);
    world.cancel("person:ann", &cancelled).unwrap();
    world.add_after("stuck", &[&cancelled, &first]);
    world.add_after("ready after done", &[&done]);
    world.add_after("waiting", &[&first, &done]);
    let blocked = world.add_ranked("blocked", 3, &["x"]);
    let on = Some(first.clone());
    let reason = String::from("waits\nfor the first");
    world
        .run(
            "b",
            Op::new(block::Block {
                task: Some(blocked.clone().into()),
                reason,
                on: on.map(Into::into),
                ..block::Block::default()
            }),
        )
        .unwrap();
    let lapsing = world.add("lapsed");
    world.claim_for("c", &lapsing, 60).unwrap();
    let unsettled = world.add("unsettled");
    world.claim_for("c", &unsettled, 600).unwrap();
    world.advance(Span::seconds(61));
    world.note("b", &lapsing, "settles what is over").unwrap();
    let held = world.add_with(add::Add { assignee: Some("b".into()), ..add::Add::titled("held") });
    world.claim("b", &held).unwrap();
    // Numbers in unusual notation: they are kept exactly.
    let data = serde_json::from_str(r#"{"b":[1.0,2e-7,0.1,18446744073709551615],"a":{"ü":null}}"#).unwrap();
    let text = String::from("with data");
    world.run("b", Op::new(note::Note { text, data: Some(data), ..note::Note::default() })).unwrap();
    world
        .run(
            "a",
            Op::new(note::Note {
                task: Some(held.into()),
                text: "null".into(),
                data: Some(json!(null)),
                ..note::Note::default()
            }),
        )
        .unwrap();
    let again = world.add("opened again");
    world.claim("a", &again).unwrap();
    world.done("a", &again).unwrap();
    world.reopen("person:ann", &again).unwrap();
    world.edit("person:ann", &again, |request| request.add_labels = words(&["late"])).unwrap();
    world.advance(Span::seconds(600));
}

fn has_everything(world: &World) {
    furnish(world);
    let export = lines(&exported(world, true));
    let header = &export[0];
    assert_eq!((&header["tenure"], &header["format"]), (&json!("export"), &json!(1)));
    assert_eq!(header["project"], json!({ "key": "name:p", "label": "p" }));
    let sort = |name: &str| -> Vec<&Value> { export.iter().filter_map(|line| line.get(name)).collect() };
    let (tasks, notes, events) = (sort("task"), sort("note"), sort("event"));
    assert_eq!(
        export.last().unwrap(),
        &json!({ "end": true, "tasks": tasks.len(), "notes": notes.len(), "events": events.len() })
    );
    assert_eq!(tasks.len() + notes.len() + events.len() + 2, export.len());
    // In order of creation, with the fields of `show`.
    let all = world.list(&list::List { all: true, ..list::List::default() });
    assert_eq!(tasks.len(), all.len());
    let mut by_number = all.clone();
    by_number.sort_by_key(|task| task.number);
    for (task, shown) in tasks.iter().zip(by_number) {
        let shown = json!(shown);
        for field in ["id", "title", "description", "acceptance", "priority", "labels", "assignee", "reason"] {
            assert_eq!(task[field], shown[field], "{field}");
        }
        for field in ["blocked_on", "attempt", "version", "created_at", "updated_at", "finished_by", "finished_at"] {
            assert_eq!(task[field], shown[field], "{field}");
        }
        let status = if shown["status"] == "started" { json!("open") } else { shown["status"].clone() };
        assert_eq!(task["status"], status);
        let held = if shown["holder"].is_null() { &shown["lapsed_from"] } else { &shown["holder"]["agent"] };
        assert_eq!(task["was_held_by"], *held, "{task}");
    }
    let held: Vec<_> = tasks.iter().filter_map(|task| task["was_held_by"].as_str()).collect();
    assert_eq!(held, ["c", "c", "b"], "lapsed, lapsed and not settled, held");
    let log: Vec<Value> = world.events().iter().map(|event| json!(event)).collect();
    assert_eq!(events.into_iter().cloned().collect::<Vec<_>>(), log);
    assert_eq!(sort("event").len(), log.len());
    let numbers: Vec<_> = notes.iter().map(|note| note["text"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["hello", "hello", "hello", "settles what is over", "with data", "null"]);
    // Without the log there are only fewer lines.
    let without = lines(&exported(world, false));
    assert!(without.iter().all(|line| line.get("event").is_none()));
    assert_eq!(without.len(), export.len() - log.len());
    // The fields have a fixed order.
    let raw = String::from_utf8(exported(world, false)).unwrap();
    assert!(raw.starts_with(r#"{"tenure":"export","format":1,"project":{"key":"name:p","label":"p"},"exported_at":""#));
    let fields = "id title description acceptance priority labels after assignee status reason blocked_on was_held_by \
                  attempt version created_by created_at updated_at finished_by finished_at";
    let line = raw.lines().nth(1).unwrap();
    let places: Vec<_> = fields.split_whitespace().map(|name| line.find(&format!("\"{name}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{line}");
}

fn round_trip(world: &World) {
    furnish(world);
    let first = exported(world, true);
    let mut request = Import::parse(&first).unwrap();
    assert_eq!(request.events, world.events().len());
    for engine in Engine::ALL {
        let other = World::new(engine);
        let planned = other.kernel.ask(&other.call("z"), &query::import_plan::ImportPlan(request.clone())).unwrap();
        let imported = other.run("z", Op::new(request.clone())).unwrap();
        assert_eq!(imported["tasks"], request.tasks.len());
        assert_eq!(json!(tenure_kernel::answer::export::Imported { dry_run: false, ..planned }), imported);
        assert_eq!(content(&exported(&other, false)), content(&exported(world, false)), "{engine:?}");
        compare_states(world, &other);
        other.sound();
    }
    // Also if the input uses a different spelling.
    request.tasks.iter_mut().for_each(|task| {
        task.labels.reverse();
        task.after.extend(task.after.clone());
        task.title = format!(" {} ", task.title);
        task.description = task.description.replace('\n', "\r\n");
        task.created_at = task.created_at.replace("000Z", "000+00:00");
    });
    let other = World::new(world.engine);
    other.run("z", Op::new(request)).unwrap();
    assert_eq!(content(&exported(&other, false)), content(&exported(world, false)));
}

/// Derived state is recomputed and equal; only holds are not transferred.
fn compare_states(world: &World, other: &World) {
    let all = list::List { all: true, ..list::List::default() };
    let theirs = other.list(&all);
    for (at, task) in world.list(&all).into_iter().enumerate() {
        assert_eq!((&theirs[at].id, theirs[at].number), (&task.id, task.number), "the same order of choice");
        let expected = if task.state == TaskState::Held { TaskState::Ready } else { task.state };
        assert_eq!(theirs[at].state, expected, "{}", task.id);
        assert_eq!((&theirs[at].unmet, &theirs[at].after), (&task.unmet, &task.after));
        let lapsed = task.holder.map(|holder| holder.agent).or(task.lapsed_from);
        assert_eq!(theirs[at].lapsed_from, lapsed);
    }
    for label in ["x", "z", "late"] {
        let filter = list::List { labels: words(&[label]), all: true, ..list::List::default() };
        let ids = |world: &World| world.list(&filter).into_iter().map(|task| task.id).collect::<Vec<_>>();
        assert_eq!(ids(other), ids(world), "{label}");
        assert!(!ids(other).is_empty());
    }
    assert_eq!(other.kernel.ask(&other.call("z"), &query::holds::Holds::of(None, 10)).unwrap().items.len(), 0);
    assert_eq!(other.kernel.ask(&other.call("z"), &query::health::Health {}).unwrap().wrong_counters, []);
}

fn of_nothing(world: &World) {
    let empty = exported(world, true);
    assert_eq!(content(&empty), "{\"end\":true,\"tasks\":0,\"notes\":0,\"events\":0}\n");
    let none_made = world.engine == Engine::Memory || world.kernel.store().identity().unwrap().is_none();
    assert!(none_made, "asking made a store");
    let request = Import::parse(&empty).unwrap();
    assert_eq!(world.run("z", Op::new(request)).unwrap()["tasks"], 0);
    assert_eq!(content(&exported(world, false)), content(&empty));
}

/// A sink that makes a change at every line.
struct Meddling<'a> {
    world: &'a World,
    writer: tenure_kernel::Kernel,
    lines: Vec<u8>,
}

impl ExportSink for Meddling<'_> {
    fn begin(&mut self) -> tenure_core::Result<()> {
        self.lines.begin()
    }

    fn line(&mut self, line: &str) -> tenure_core::Result<()> {
        let request = add::Add::titled("added while the export was under way");
        self.writer.run(&self.world.call("b"), &Op::new(request))?;
        self.lines.line(line)
    }
}

fn beside_writers(world: &World) {
    furnish(world);
    let before = exported(world, true);
    let mut sink = Meddling { world, writer: world.another(), lines: Vec::new() };
    world.kernel.export(&world.call("a"), true, &mut sink).unwrap();
    assert_eq!(content(&sink.lines), content(&before));
    assert_ne!(content(&exported(world, true)), content(&before));
}

fn many(world: &World) {
    let at = "2033-01-01T00:00:00.000000Z";
    let id = |n: usize| {
        tenure_core::id::draw(tenure_core::id::Sort::Task, 5, &mut |bytes| {
            bytes
                .iter_mut()
                .enumerate()
                .for_each(|(place, byte)| *byte = u8::try_from((n >> (5 * place)) & 31).unwrap());
        })
    };
    let mut export = exported(world, false);
    export.truncate(export.iter().position(|byte| *byte == b'\n').unwrap() + 1);
    for n in 0..10_000 {
        let after: Vec<String> = [n / 2, n / 3].into_iter().filter(|before| *before < n).map(id).collect();
        let task = json!({ "task": {
            "id": id(n), "title": format!("task {n}"), "after": after, "labels": ["x"], "created_by": "a",
            "created_at": at, "updated_at": at,
        }});
        export.line(&task.to_string()).unwrap();
    }
    export.line("{\"end\":true,\"tasks\":10000,\"notes\":0,\"events\":0}").unwrap();
    let request = Import::parse(&export).unwrap();
    assert_eq!(world.run("z", Op::new(request)).unwrap()["tasks"], 10_000);
    let status = world.kernel.ask(&world.call("z"), &query::status::Status {}).unwrap();
    assert_eq!((status.ready, status.waiting), (1, 9_999));
    // More than a page, and still in order of creation, which is not the order of ids.
    let order: Vec<Value> = lines(&exported(world, false))
        .iter()
        .filter_map(|line| line.get("task"))
        .map(|task| task["id"].clone())
        .collect();
    assert_eq!(order, (0..10_000).map(|n| json!(id(n))).collect::<Vec<_>>());
    let again = World::new(Engine::Memory);
    again.run("z", Op::new(Import::parse(&exported(world, false)).unwrap())).unwrap();
    assert_eq!(content(&exported(&again, false)), content(&exported(world, false)));
    assert_eq!(world.kernel.ask(&world.call("z"), &query::health::Health {}).unwrap().wrong_counters, []);
}
