//! Bulk add: atomicity, and the ids that are drawn.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tenure_client::phrasing::Commands;
use tenure_core::task::TaskState;
use tenure_kernel::Op;
use tenure_kernel::op::add_many::{self, AddMany, NewTask};
use tenure_kernel::query;
use tenure_kernel::query::list;
use tenure_store::Location;

use super::Case;
use super::shorthand::{taken, words};
use crate::fixture::{Dictated, World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l11_a_batch_is_one_unit_and_its_count_is_true", one_unit),
    Case::everywhere("inv_l11_one_bad_item_leaves_nothing", one_bad_item),
    Case::everywhere("inv_l11_a_batch_may_depend_on_itself_and_on_what_exists", dependencies),
    Case::everywhere("inv_l8_a_batch_with_a_cycle_is_refused_and_the_cycle_named", cycles),
    Case::everywhere("inv_l11_a_batch_is_replayed_as_one_record", replayed),
    Case::everywhere("the_ids_of_a_batch_rise_with_its_numbers", rising_ids),
    Case::everywhere("inv_l11_a_batch_of_more_than_the_limit_is_refused_before_the_store_is_touched", too_many),
    Case::everywhere("the_work_of_a_batch_under_the_lock_rises_with_its_rows_alone", work_of_a_batch),
    Case::everywhere("an_id_that_is_taken_is_drawn_again", taken_ids),
    Case::everywhere("ids_grow_with_what_was_issued_and_old_ones_stay", ids_grow),
];

fn item(title: &str) -> NewTask {
    NewTask {
        title: title.into(),
        description: String::new(),
        priority: 2,
        labels: Vec::new(),
        acceptance: String::new(),
        after: Vec::new(),
        key: None,
        line: 0,
    }
}

/// A batch whose items have line numbers.
fn batch(items: Vec<NewTask>) -> Op {
    let items = items.into_iter().enumerate().map(|(n, item)| NewTask { line: n + 1, ..item }).collect();
    Op::new(AddMany { items })
}

fn one_unit(world: &World) {
    world.add("before");
    let before = world.last_event();
    let items = (0..1_200)
        .map(|n| NewTask {
            priority: n % 5,
            labels: if n % 3 == 0 { words(&["third"]) } else { Vec::new() },
            ..item(&format!("item {n}"))
        })
        .collect();
    let added = world.run("person:ann", batch(items)).unwrap();
    assert_eq!((&added["count"], &added["more"]), (&json!(1_200), &json!(true)));
    assert_eq!(added["ids"].as_array().unwrap().len(), 1_000);
    assert_eq!(world.last_event().get(), before.get() + 1_200, "one event a task");
    let all = world.list(&list::List { limit: 1_000, ..list::List::default() });
    assert_eq!(all.len(), 1_201);
    let numbers: BTreeSet<i64> = all.iter().map(|task| task.number).collect();
    assert_eq!(numbers, (1..=1_201).collect(), "numbered in the order of the input");
    let first = all.iter().find(|task| task.number == 2).unwrap();
    assert_eq!((first.title.as_str(), &json!(first.id)), ("item 0", &added["ids"][0]));
    let labelled = list::List { labels: words(&["third"]), limit: 1_000, ..list::List::default() };
    assert_eq!(world.list(&labelled).len(), 400);
    assert_eq!(taken(&world.claim_labelled("a", &["third"]).unwrap()), first.id);
    assert_eq!(world.kernel.ask(&world.call("a"), &query::status::Status {}).unwrap().ready, 1_200);
    world.sound();
}

fn one_bad_item(world: &World) {
    let exists = world.add("exists");
    let bad: [(&str, fn(&mut NewTask)); 10] = [
        ("title_empty", |item| item.title = String::new()),
        ("control_character", |item| item.title = "a\u{7}".into()),
        ("bad_priority", |item| item.priority = 9),
        ("bad_label", |item| item.labels = words(&["x", ""])),
        ("not_found", |item| item.after = words(&["t-none0"])),
        ("not_found", |item| item.after = words(&["a key of nobody"])),
        ("not_found", |item| item.after = words(&["t-abcde\0"])),
        ("duplicate_key", |item| item.key = Some("k0".into())),
        ("bad_key", |item| item.key = Some(String::new())),
        ("text_too_long", |item| item.description = "x".repeat(65 * 1_024)),
    ];
    for at in [0, 25, 49] {
        for (code, spoil) in bad {
            let mut items: Vec<NewTask> = (0..50)
                .map(|n| NewTask { key: (n == 10).then(|| "k0".into()), ..item(&format!("item {n}")) })
                .collect();
            spoil(&mut items[at]);
            let error = refusal(world.unchanged(&exists, || world.run("person:ann", batch(items))));
            assert_eq!(error.code(), code, "item {at}");
            // Of two equal keys, the second is the error.
            let line = if code == "duplicate_key" { at.max(10) + 1 } else { at + 1 };
            assert_eq!(error.get("line"), Some(&json!(line)), "{code}");
            assert!(error.message().starts_with(&format!("line {line}: ")), "{}", error.message());
            assert!(error.advice().unwrap().say(&Commands).contains("Nothing was added"));
        }
    }
    assert_eq!(world.in_state(TaskState::Ready), [exists.as_str()]);
    assert_eq!(code_of(world.run("person:ann", batch(Vec::new()))), "nothing_to_add");
    // Numbers drawn by a refused batch are returned.
    let next = world.run("person:ann", batch(vec![item("second")])).unwrap()["ids"][0].clone();
    assert_eq!(world.show(next.as_str().unwrap())["number"], 2);
    world.sound();
}

/// Ids are random individually and ascending within a batch: the indexes over ids are written in order, which matters
/// while other projects wait for the file.
fn rising_ids(world: &World) {
    world.add("before");
    let added = world.run("p", batch((0..300).map(|n| item(&format!("item {n}"))).collect())).unwrap();
    let ids: Vec<&str> = added["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    let numbers: Vec<_> = [0, 150, 299].map(|at| world.show(ids[at])["number"].as_i64().unwrap()).into();
    assert_eq!(numbers, [2, 152, 301]);
}

fn too_many(world: &World) {
    let items = || (0..=add_many::AT_MOST).map(|_| item("one of many")).collect();
    let trips = world.kernel.store().round_trips();
    let error = refusal(world.run("p", batch(items())));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("usage", "too_many_items"));
    let (given, limit) = (add_many::AT_MOST + 1, add_many::AT_MOST);
    assert_eq!(error.message(), format!("the input has {given} tasks; the limit for one call is {limit}"));
    assert_eq!((error.get("given"), error.get("limit")), (Some(&json!(given)), Some(&json!(limit))));
    assert!(error.advice().unwrap().say(&Commands).contains("Split the input"), "{error:?}");
    let lines = "{\"title\":\"one of many\"}\n".repeat(given);
    assert_eq!(AddMany::parse(lines.as_bytes()).unwrap_err().message(), error.message());
    assert_eq!(world.kernel.store().round_trips(), trips);
    if let Location::File(path) = &world.location {
        assert!(!path.exists(), "a store was made for a batch that was refused");
    }
}

/// One statement per table, whatever the number of items: on SQLite ten times the items are ten times the steps, on
/// PostgreSQL the round trips are constant.
fn work_of_a_batch(world: &World) {
    let work = |count: usize| {
        let items = (0..count)
            .map(|n| NewTask {
                key: Some(format!("k{n}")),
                labels: words(&["x"]),
                after: n.checked_sub(1).map(|before| format!("k{before}")).into_iter().collect(),
                ..item(&format!("item {n}"))
            })
            .collect();
        let store = world.kernel.store();
        let (steps, trips) = (store.steps(), store.round_trips());
        world.run("p", batch(items)).unwrap();
        (store.steps() - steps, store.round_trips() - trips)
    };
    world.add("before");
    work(10);
    let (few, few_trips) = work(200);
    let (many, many_trips) = work(2_000);
    assert_eq!(few_trips, many_trips);
    assert!(many <= few * 11, "{few} steps for 200 items, {many} for 2,000");
    assert!(many <= 2_000 * 340, "{many} steps for 2,000 items");
}

fn dependencies(world: &World) {
    let (done, cancelled, open) = (world.add("done"), world.add("cancelled"), world.add("open"));
    world.done("p", &done).unwrap();
    world.cancel("p", &cancelled).unwrap();
    let items = vec![
        // A key may be used before the line that defines it.
        NewTask { after: words(&["base", "base"]), ..item("after base") },
        NewTask { key: Some("base".into()), after: vec![done.clone()], labels: words(&["x"]), ..item("base") },
        NewTask { after: vec![cancelled, "base".into()], ..item("stuck") },
        NewTask { after: vec![open.clone(), done], ..item("waits") },
        // A key that looks like an id names the line of the batch.
        NewTask { key: Some(open.clone()), ..item("named like a task") },
    ];
    let added = world.run("p", batch(items)).unwrap();
    let ids: Vec<String> = added["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    let states: Vec<_> = ids.iter().map(|id| world.show(id)["state"].clone()).collect();
    assert_eq!(states, ["waiting", "ready", "stuck", "waiting", "ready"]);
    assert_eq!(world.show(&ids[0])["after"], json!([ids[1]]));
    assert_eq!(world.show(&ids[3])["unmet"], json!([ids[4]]));
    assert_eq!(world.done("p", &ids[1]).unwrap()["unlocked"], json!([ids[0]]));
    assert_eq!(world.done("p", &open).unwrap()["unlocked"], json!([]));
    assert_eq!(world.done("p", &ids[4]).unwrap()["unlocked"], json!([ids[3]]));
    world.sound();
}

fn cycles(world: &World) {
    let exists = world.add("exists");
    let keyed = |key: &str, after: &[&str]| NewTask { key: Some(key.into()), after: words(after), ..item(key) };
    for (items, cycle) in [
        (vec![keyed("a", &["a"])], json!(["a", "a"])),
        (vec![keyed("a", &["b"]), keyed("b", &["a"])], json!(["a", "b", "a"])),
        (
            vec![keyed("free", &[]), keyed("a", &["c", "free"]), keyed("b", &["a"]), keyed("c", &["b"])],
            json!(["a", "c", "b", "a"]),
        ),
    ] {
        let error = refusal(world.unchanged(&exists, || world.run("p", batch(items))));
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "cycle"));
        assert_eq!(error.get("cycle"), Some(&cycle));
    }
    let ring: Vec<NewTask> = (0..5_000).map(|n| keyed(&format!("k{n}"), &[&format!("k{}", (n + 1) % 5_000)])).collect();
    assert_eq!(kind_of(world.unchanged(&exists, || world.run("p", batch(ring)))), "conflict");
}

fn replayed(world: &World) {
    let call = world.call("p");
    let op = batch(vec![item("one"), item("two")]);
    let first = world.kernel.run(&call, &op).unwrap();
    let before = world.last_event();
    let again = world.kernel.run(&call, &op).unwrap();
    assert!(again.replayed && again.body == first.body);
    assert_eq!(world.last_event(), before);
    assert_eq!(world.in_state(TaskState::Ready).len(), 2);
    assert_eq!(kind_of(world.kernel.run(&call, &batch(vec![item("one"), item("three")]))), "mismatch");
}

fn taken_ids(world: &World) {
    let entropy = Arc::new(Dictated::new(Vec::new()));
    let world = World::with(world.engine, |options| options.entropy = entropy.clone());
    world.add("makes the store and the project");
    let script = |bytes: &[u8]| entropy.dictate(bytes.iter().map(|byte| vec![*byte]).collect());
    script(&[1]);
    let task = world.add("first");
    assert_eq!(task, "t-11111");
    script(&[1, 1, 2]);
    assert_eq!(world.add("collides twice"), "t-22222");
    // The ids of a hold and a note are drawn together with the lookup of their task.
    script(&[3]);
    assert_eq!(world.claim("a", &task).unwrap()["hold"]["id"], "h-33333");
    script(&[3, 4]);
    assert_eq!(world.claim("a", "t-22222").unwrap()["hold"]["id"], "h-44444");
    world.release("a", &task).unwrap();
    script(&[4, 3, 5]);
    assert_eq!(world.claim("a", &task).unwrap()["hold"]["id"], "h-55555", "an ended hold keeps its id");
    script(&[6]);
    assert_eq!(world.note("a", &task, "one").unwrap()["id"], "n-66666");
    script(&[6, 7]);
    assert_eq!(world.note("a", &task, "two").unwrap()["id"], "n-77777");
    // In a batch, ids must differ from existing ids and from each other.
    let drawn = |ids: &[u8]| ids.iter().flat_map(|byte| [*byte; 5]).collect::<Vec<u8>>();
    entropy.dictate(vec![drawn(&[1, 8, 8]), drawn(&[2]), drawn(&[10, 10]), drawn(&[8]), drawn(&[9])]);
    let added = world.run("p", batch(vec![item("x"), item("y"), item("z")])).unwrap();
    assert_eq!(added["ids"], json!(["t-88888", "t-99999", "t-aaaaa"]));
    world.sound();
}

/// Up to 32,767 tasks have ids of five characters, later ones are longer. An old id stays valid even if new ones start
/// with it.
fn ids_grow(world: &World) {
    let entropy = Arc::new(Dictated::new(Vec::new()));
    let world = World::with(world.engine, |options| options.entropy = entropy.clone());
    world.add("makes the store and the project");
    entropy.dictate(vec![vec![3]]);
    let short = world.add("short");
    assert_eq!(short, "t-33333");
    let items = (0..32_766).map(|n| item(&format!("{n}"))).collect();
    let added = world.run("p", batch(items)).unwrap();
    assert_eq!(added["count"], 32_766);
    assert_eq!(world.kernel.ask(&world.call("p"), &query::status::Status {}).unwrap().ready, 32_768);
    entropy.dictate(vec![vec![3]]);
    let long = world.add("long");
    assert_eq!(long, "t-333333");
    let call = world.call("p");
    for (typed, id) in [("t-33333", &short), ("33333", &short), ("t-333333", &long), ("333333", &long)] {
        assert_eq!(world.kernel.ask(&call, &query::task_id::ResolveTask { typed: typed.into() }).unwrap(), *id);
    }
    let error = refusal(world.kernel.ask(&call, &query::task_id::ResolveTask { typed: "t-3333".into() }));
    assert_eq!(error.code(), "ambiguous_id");
    assert_eq!(error.get("candidates"), Some(&json!([short, long])));
    assert_eq!(
        kind_of(world.kernel.ask(&call, &query::task_id::ResolveTask { typed: "t-3333333".into() })),
        "not_found"
    );
}
