//! Memory: one live row per scope and key, no leak to other readers, and one order everywhere.

use serde_json::{Value, json};
use tenure_core::memory::MemoryKind;
use tenure_core::{Result, Span};
use tenure_kernel::op::remember::{MemoryReach, NewMemory, Remember};
use tenure_kernel::op::{memory_forget, memory_pin, resume};
use tenure_kernel::query;
use tenure_kernel::query::log;
use tenure_kernel::query::memories::Memories;
use tenure_kernel::{Call, Op};
use tenure_store::table::project;

use super::Case;
use crate::fixture::{World, code_of};
use crate::raw::{dump, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_m1_a_key_has_one_live_row_and_a_change_records_old_and_new", one_row),
    Case::shared("inv_m1_many_writers_of_one_key_leave_one_row", many_writers),
    Case::everywhere("inv_m1_a_memory_whose_time_is_over_is_gone_and_its_key_is_free", time_over),
    Case::everywhere("inv_m2_recall_ranks_alike_and_being_shown_changes_nothing", ranks),
    Case::everywhere("inv_m2_what_is_over_takes_no_room", no_room),
    Case::everywhere("inv_m2_pins_are_few_and_shared_ones_are_for_people", pins),
    Case::everywhere("inv_m2_what_people_pinned_for_everybody_is_changed_by_people", pinned_by_people),
    Case::everywhere("inv_m2_the_words_said_first_are_looked_for_first", first_words),
    Case::everywhere("inv_m3_scopes_do_not_leak", scopes),
    Case::everywhere("inv_m3_the_whole_store_has_a_memory_of_its_own", whole_store),
    Case::everywhere("inv_l11_memories_come_all_or_none", all_or_none),
    Case::everywhere("memories_are_listed_in_pages", pages),
];

fn item(text: &str) -> NewMemory {
    NewMemory { text: text.into(), ..NewMemory::default() }
}

fn said(scope: MemoryReach, key: &str, text: &str) -> NewMemory {
    NewMemory { key: Some(key.into()), scope: Some(scope), ..item(text) }
}

fn remember(world: &World, agent: &str, item: NewMemory) -> Result<Value> {
    let answer = world.run(agent, Op::new(Remember { items: vec![item] }))?;
    assert_eq!(answer["count"], 1);
    Ok(answer["items"][0].clone())
}

fn filter() -> Memories {
    Memories { limit: 100, ..Memories::default() }
}

fn recall(world: &World, agent: &str, words: &str) -> Vec<String> {
    let page = world
        .kernel
        .ask(&world.call(agent), &query::recall::Recall { question: words.into(), filter: filter() })
        .unwrap();
    page.items.into_iter().map(|memory| memory.text).collect()
}

fn listed(world: &World, agent: &str) -> Vec<String> {
    let page = world.kernel.ask(&world.call(agent), &filter()).unwrap();
    page.items.into_iter().map(|memory| memory.text).collect()
}

fn one_row(world: &World) {
    world.add("first");
    let first = remember(world, "a", said(MemoryReach::Project, "DB Schema", "tables are wide")).unwrap();
    assert_eq!((&first["key"], &first["outcome"]), (&json!("db-schema"), &json!("added")));
    let events = world.last_event();
    let same = remember(world, "b", said(MemoryReach::Project, "db_schema", "tables are wide")).unwrap();
    assert_eq!((&same["outcome"], &same["id"]), (&json!("unchanged"), &first["id"]));
    assert_eq!(world.kinds_after(events), ["agent.registered"], "saying the same again is no event");
    let changed = remember(world, "b", said(MemoryReach::Project, "db-schema", "tables are narrow")).unwrap();
    assert_eq!(
        (&changed["outcome"], &changed["id"], &changed["version"]),
        (&json!("changed"), &first["id"], &json!(2))
    );
    let event = world.events().pop().unwrap();
    assert_eq!((event.kind.as_str(), &event.data["text"]), ("memory.changed", &json!("tables are narrow")));
    assert_eq!((&event.data["old"]["text"], &event.data["old"]["author"]), (&json!("tables are wide"), &json!("a")));
    assert_eq!(recall(world, "c", "wide"), [""; 0], "words that are gone find nothing");
    assert_eq!(recall(world, "c", "narrow schema"), ["tables are narrow"]);
    // Without a key, the first words are the key: repeated, it is the same memory.
    let one =
        remember(world, "a", NewMemory { scope: Some(MemoryReach::Project), ..item("Use make, not cargo.") }).unwrap();
    let two =
        remember(world, "a", NewMemory { scope: Some(MemoryReach::Project), ..item("use Make not cargo") }).unwrap();
    assert_eq!((&one["id"], &two["outcome"]), (&two["id"], &json!("changed")));
    assert_eq!(number(&world.kernel, "SELECT CAST(SUM(memories) AS BIGINT) FROM memory_scope", &[]), 2);
    let (counted, stored) = (
        number(&world.kernel, "SELECT CAST(SUM(count) AS BIGINT) FROM memory_term", &[]),
        number(&world.kernel, "SELECT CAST(SUM(words) AS BIGINT) FROM memory_scope", &[]),
    );
    assert_eq!(counted, stored);
}

fn many_writers(world: &World) {
    world.add("first");
    world.race(8, |n, kernel| {
        for round in 0..5 {
            let item = said(MemoryReach::Project, "same key", &format!("writer {n} round {round}"));
            kernel.run(&world.call(&format!("agent-{n}")), &Op::new(Remember { items: vec![item] })).unwrap();
        }
    });
    assert_eq!(number(&world.kernel, "SELECT COUNT(*) FROM memory", &[]), 1);
    assert_eq!(number(&world.kernel, "SELECT version FROM memory", &[]), 40);
    assert_eq!(world.count("memory.added") + world.count("memory.changed"), 40);
}

fn time_over(world: &World) {
    world.add("first");
    let short = NewMemory { ttl_s: Some(3_600), ..said(MemoryReach::Project, "staging", "staging is down") };
    let first = remember(world, "a", short).unwrap();
    assert_eq!(recall(world, "b", "staging"), ["staging is down"]);
    world.advance(Span::hours(1));
    assert_eq!((recall(world, "b", "staging"), listed(world, "b")), (Vec::new(), Vec::new()));
    let id = first["id"].as_str().unwrap().to_owned();
    let forget = Op::new(memory_forget::MemoryForget { memory: id.into() });
    assert_eq!(code_of(world.run("a", forget)), "not_found");
    let again = remember(world, "a", said(MemoryReach::Project, "staging", "staging is up")).unwrap();
    assert_eq!((&again["outcome"], &again["version"]), (&json!("added"), &json!(1)));
    assert_eq!(recall(world, "b", "staging"), ["staging is up"]);
    let long = NewMemory { ttl_s: Some(30), ..item("too short") };
    assert_eq!(code_of(remember(world, "a", long)), "bad_memory_ttl");
}

fn pinned_by_people(world: &World) {
    world.add("first");
    let rule = remember(world, "person:ann", said(MemoryReach::Project, "rules", "never force-push")).unwrap();
    let memory = rule["id"].as_str().unwrap().to_owned();
    world.run("person:ann", Op::new(memory_pin::MemoryPin { memory: memory.into(), pinned: true })).unwrap();
    let changed = said(MemoryReach::Project, "rules", "always force-push");
    assert_eq!(code_of(remember(world, "a", changed.clone())), "people_only");
    let ending = NewMemory { ttl_s: Some(60), ..said(MemoryReach::Project, "rules", "never force-push") };
    assert_eq!(code_of(remember(world, "a", ending)), "people_only");
    let task = world.add("work");
    let note = tenure_kernel::op::note::Note {
        task: Some(task.into()),
        text: "by the way".into(),
        memories: vec![changed.clone()],
        ..Default::default()
    };
    assert_eq!(code_of(world.run("a", Op::new(note))), "people_only");
    assert_eq!(remember(world, "person:bob", changed).unwrap()["outcome"], "changed");
    assert_eq!(listed(world, "a"), ["always force-push"]);
}

fn first_words(world: &World) {
    world.add("first");
    remember(world, "a", said(MemoryReach::Project, "zk", "zookeeper must be restarted by hand")).unwrap();
    let many: String = (0..40).map(|n| format!(" aword{n}")).collect();
    assert_eq!(recall(world, "b", &format!("zookeeper{many}")).len(), 1);
}

fn ranks(world: &World) {
    let task = world.add("fix the importer");
    for n in 0..30 {
        remember(world, "a", said(MemoryReach::Project, &format!("filler {n}"), "the build runs on a machine"))
            .unwrap();
    }
    remember(world, "a", said(MemoryReach::Project, "locale", "the importer needs LC_ALL=C")).unwrap();
    remember(world, "a", NewMemory { task: Some(task.clone().into()), ..item("importer: the machine has no locale") })
        .unwrap();
    let found = || {
        let near = Memories { task: Some(task.clone().into()), ..filter() };
        let page = world
            .kernel
            .ask(&world.call("b"), &query::recall::Recall { question: "importer locale".into(), filter: near.clone() })
            .unwrap();
        page.items.into_iter().map(|memory| memory.id).collect::<Vec<_>>()
    };
    let first = found();
    assert_eq!(first.len(), 2);
    let before = dump(&world.kernel);
    (0..20).for_each(|_| assert_eq!(found(), first));
    assert_eq!(dump(&world.kernel), before, "being shown leaves no trace");
    assert_eq!(recall(world, "b", "machine").len(), 30, "the memory of a task is for whoever works on it");
    // Reading page by page gives the same result as reading all at once.
    let (mut paged, mut cursor) = (Vec::new(), None);
    loop {
        let part = Memories { limit: 7, cursor: cursor.take(), ..filter() };
        let page = world
            .kernel
            .ask(&world.call("b"), &query::recall::Recall { question: "machine".into(), filter: part.clone() })
            .unwrap();
        assert_eq!((page.total, page.more), (Some(30), page.next.is_some()));
        paged.extend(page.items.into_iter().map(|memory| memory.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let all = world
        .kernel
        .ask(&world.call("b"), &query::recall::Recall { question: "machine".into(), filter: filter() })
        .unwrap();
    assert_eq!(paged, all.items.into_iter().map(|memory| memory.id).collect::<Vec<_>>());
    let bad = Memories { cursor: Some("x".into()), ..filter() };
    assert_eq!(
        world
            .kernel
            .ask(&world.call("b"), &query::recall::Recall { question: "machine".into(), filter: bad.clone() })
            .unwrap_err()
            .kind(),
        tenure_core::Kind::Usage
    );
    assert_eq!(recall(world, "b", "the of and"), [""; 0]);
    assert_eq!(recall(world, "b", "'; DROP TABLE memory; --"), [""; 0]);
}

fn pins(world: &World) {
    world.add("first");
    let pin = |agent: &str, memory: &Value, pinned| {
        let memory = memory["id"].as_str().unwrap().to_owned();
        world.run(agent, Op::new(memory_pin::MemoryPin { memory: memory.into(), pinned }))
    };
    let shared = remember(world, "a", said(MemoryReach::Project, "k", "for all")).unwrap();
    assert_eq!(code_of(pin("a", &shared, true)), "people_only");
    assert_eq!(pin("person:ann", &shared, true).unwrap()["pinned"], true);
    let forget = memory_forget::MemoryForget { memory: shared["id"].as_str().unwrap().into() };
    assert_eq!(code_of(world.run("a", Op::new(forget))), "people_only", "people put it there");
    remember(world, "person:ann", said(MemoryReach::Project, "k", "for all of us")).unwrap();
    let only = Memories { pinned: true, ..filter() };
    let pinned = world.kernel.ask(&world.call("b"), &only).unwrap().items;
    assert_eq!(pinned.len(), 1);
    assert!(pinned[0].text == "for all of us" && pinned[0].pinned, "a change keeps the pin");
    for n in 0..20 {
        let own = remember(world, "a", said(MemoryReach::Agent, &format!("own {n}"), "mine")).unwrap();
        pin("a", &own, true).unwrap();
    }
    let one_more = remember(world, "a", said(MemoryReach::Agent, "one more", "mine")).unwrap();
    assert_eq!(code_of(pin("a", &one_more, true)), "too_many_pins");
    pin("person:ann", &shared, false).unwrap();
    assert_eq!(world.events().pop().unwrap().kind, "memory.pinned");
}

fn no_room(world: &World) {
    world.add("first");
    let old = NewMemory { kind: MemoryKind::Directive, ..said(MemoryReach::Agent, "old", "keep to the old rule") };
    remember(world, "a", old).unwrap();
    world.advance(Span::seconds(1));
    let pin = |memory: &Value| {
        let memory = memory["id"].as_str().unwrap().to_owned();
        world.run("a", Op::new(memory_pin::MemoryPin { memory: memory.into(), pinned: true }))
    };
    for n in 0..40 {
        let brief = NewMemory {
            ttl_s: Some(60),
            kind: MemoryKind::Directive,
            ..said(MemoryReach::Agent, &format!("k{n}"), "for now")
        };
        let kept = remember(world, "a", brief).unwrap();
        if n < 20 {
            pin(&kept).unwrap();
        }
    }
    world.advance(Span::seconds(1));
    let late = remember(world, "a", said(MemoryReach::Agent, "late", "always")).unwrap();
    assert_eq!(code_of(pin(&late)), "too_many_pins");
    world.advance(Span::minutes(1));
    pin(&late).unwrap();
    let brief = world.run("a", Op::new(resume::Resume::default())).unwrap()["brief"]["text"].to_string();
    assert!(
        brief.contains("keep to the old rule") && brief.contains("always") && !brief.contains("for now"),
        "{brief}"
    );
    assert_eq!(listed(world, "a"), ["always", "keep to the old rule"]);
}

fn scopes(world: &World) {
    let [mine, other] = ["mine", "other"].map(|title| world.add(title));
    world.claim("a", &mine).unwrap();
    // With a focus, it belongs to the task; without one, to the project.
    assert_eq!(remember(world, "a", item("secret of the task")).unwrap()["of"], json!(mine));
    assert_eq!(remember(world, "b", item("secret of the project")).unwrap()["scope"], "project");
    let own = remember(world, "a", said(MemoryReach::Agent, "k", "secret of the agent")).unwrap();
    remember(world, "b", NewMemory { task: Some(other.clone().into()), ..item("secret of the other task") }).unwrap();
    assert_eq!(listed(world, "a"), ["secret of the task", "secret of the agent", "secret of the project"]);
    assert_eq!(listed(world, "b"), ["secret of the project"]);
    let mut found = recall(world, "b", "secret");
    assert_eq!(found, ["secret of the project"]);
    let of_other = Memories { task: Some(other.into()), ..filter() };
    found = world
        .kernel
        .ask(&world.call("b"), &query::recall::Recall { question: "secret".into(), filter: of_other.clone() })
        .unwrap()
        .items
        .into_iter()
        .map(|m| m.text)
        .collect();
    assert_eq!(found.len(), 2);
    // Another agent's memory appears not to exist, also by its id.
    let memory = own["id"].as_str().unwrap().to_owned();
    for op in [
        Op::new(memory_forget::MemoryForget { memory: memory.clone().into() }),
        Op::new(memory_pin::MemoryPin { memory: memory.clone().into(), pinned: true }),
    ] {
        assert_eq!(code_of(world.run("b", op)), "not_found");
    }
    assert_eq!(
        code_of(world.kernel.ask(&world.call("b"), &query::memory_id::ResolveMemory { typed: memory.clone() })),
        "not_found"
    );
    assert_eq!(
        world.kernel.ask(&world.call("a"), &query::memory_id::ResolveMemory { typed: memory.clone() }).unwrap(),
        (false, memory.clone())
    );
    assert_eq!(code_of(remember(world, "a", NewMemory { task: Some("t-00000".into()), ..item("x") })), "not_found");
    // Events do not reveal it to others either.
    remember(world, "a", said(MemoryReach::Agent, "k", "another secret of the agent")).unwrap();
    world.run("a", Op::new(memory_forget::MemoryForget { memory: memory.clone().into() })).unwrap();
    let about = log::Log { subject: Some(memory), limit: 10, ..log::Log::default() };
    let told = |reader: &str| {
        let events = world.kernel.ask(&world.call(reader), &about).unwrap().items;
        assert_eq!(events.len(), 3);
        let sentences: Vec<String> = events.iter().map(tenure_kernel::answer::LoggedEvent::sentence).collect();
        format!("{} {}", serde_json::to_string(&events).unwrap(), sentences.join(" "))
    };
    assert_eq!(told("a").matches("secret of the agent").count(), 7, "{}", told("a"));
    for reader in ["b", "person:ann"] {
        assert!(!told(reader).contains("secret"), "{}", told(reader));
    }
    // Another project sees none of it.
    let elsewhere =
        Call { project: project::NamedProject { key: "name:q".into(), label: "q".into() }, ..world.call("a") };
    assert_eq!(
        world
            .kernel
            .ask(&elsewhere, &query::recall::Recall { question: "secret".into(), filter: filter() })
            .unwrap()
            .items
            .len(),
        0
    );
}

fn whole_store(world: &World) {
    world.add("first");
    assert_eq!(code_of(remember(world, "a", said(MemoryReach::Global, "k", "x"))), "global_apart");
    let call = Call { project: project::whole_store(), ..world.call("a") };
    let item = said(MemoryReach::Global, "proxy", "the proxy drops idle connections");
    world.kernel.run(&call, &Op::new(Remember { items: vec![item] })).unwrap();
    assert_eq!(recall(world, "b", "proxy"), ["the proxy drops idle connections"]);
    let elsewhere =
        Call { project: project::NamedProject { key: "name:q".into(), label: "q".into() }, ..world.call("c") };
    assert_eq!(
        world
            .kernel
            .ask(&elsewhere, &query::recall::Recall { question: "proxy".into(), filter: filter() })
            .unwrap()
            .items[0]
            .scope,
        "global"
    );
    assert_eq!(
        world.kernel.ask(&world.call("a"), &query::projects::Projects { limit: 10, cursor: None }).unwrap().items.len(),
        1,
        "it is no project of anybody"
    );
    let local = said(MemoryReach::Project, "k", "x");
    let refused = world.kernel.run(&Call { ..call }, &Op::new(Remember { items: vec![local] }));
    assert!(matches!(code_of(refused), "global_apart" | "request_mismatch"));
}

fn all_or_none(world: &World) {
    world.add("first");
    let before = dump(&world.kernel);
    let bad = NewMemory { task: Some("t-00000".into()), ..item("for nobody") };
    let items = vec![said(MemoryReach::Project, "one", "1"), said(MemoryReach::Agent, "two", "2"), bad];
    assert_eq!(code_of(world.run("person:ann", Op::new(Remember { items }))), "not_found");
    let after = dump(&world.kernel);
    assert_eq!(
        (&before["memory"], &before["memory_term"], &before["event"]),
        (&after["memory"], &after["memory_term"], &after["event"])
    );
    let many = (0..50).map(|n| said(MemoryReach::Project, &format!("k{n}"), "x")).collect();
    assert_eq!(world.run("a", Op::new(Remember { items: many })).unwrap()["count"], 50);
    let too_many = (0..51).map(|n| said(MemoryReach::Project, &format!("k{n}"), "x")).collect();
    assert_eq!(code_of(world.run("a", Op::new(Remember { items: too_many }))), "too_many_memories");
    assert_eq!(code_of(world.run("a", Op::new(Remember { items: Vec::new() }))), "nothing_to_remember");
    // A later item with the same key changes the earlier one.
    let twice = vec![said(MemoryReach::Project, "twice", "first"), said(MemoryReach::Project, "twice", "second")];
    let answer = world.run("a", Op::new(Remember { items: twice })).unwrap();
    assert_eq!(
        (&answer["items"][0]["id"], &answer["items"][1]["outcome"]),
        (&answer["items"][1]["id"], &json!("changed"))
    );
    assert_eq!(recall(world, "a", "second"), ["second"]);
}

fn pages(world: &World) {
    world.add("first");
    for n in 0..7 {
        let kind = if n % 2 == 0 { MemoryKind::Fact } else { MemoryKind::Lesson };
        remember(world, "a", NewMemory { kind, ..said(MemoryReach::Project, &format!("k{n}"), &format!("text {n}")) })
            .unwrap();
        world.advance(Span::seconds(1));
    }
    remember(world, "a", said(MemoryReach::Agent, "own", "my own")).unwrap();
    let all = listed(world, "a");
    assert_eq!((all.len(), all[0].as_str(), all[1].as_str(), all[7].as_str()), (8, "my own", "text 6", "text 0"));
    let mut paged = Vec::new();
    let mut cursor = None;
    loop {
        let filter = Memories { limit: 3, cursor: cursor.take(), ..Memories::default() };
        let page = world.kernel.ask(&world.call("a"), &filter).unwrap();
        paged.extend(page.items.into_iter().map(|memory| memory.text));
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(paged, all);
    let lessons = Memories { kind: Some(MemoryKind::Lesson), ..filter() };
    assert_eq!(world.kernel.ask(&world.call("a"), &lessons).unwrap().items.len(), 3);
    for bad in ["x", "0.x.y", "99999999999999999999.1.m-1", ""] {
        let filter = Memories { cursor: Some(bad.into()), ..filter() };
        assert_eq!(code_of(world.kernel.ask(&world.call("a"), &filter)), "bad_cursor", "{bad}");
    }
}
