//! Delivery: events of others are offered until a door confirms them, none is skipped, and private events reach no
//! other agent.

use serde_json::{Value, json};
use tenure_core::Result;
use tenure_core::number::EventNumber;
use tenure_kernel::Op;
use tenure_kernel::op::{confirm, memory_forget, memory_pin, remember, resume};

use super::Case;
use super::resume::resume;
use crate::fixture::World;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_i3_what_was_offered_is_offered_again_until_it_is_confirmed", delivery),
    Case::everywhere("inv_i3_there_is_more_only_where_more_would_be_told", more),
    Case::everywhere("inv_m3_what_is_remembered_for_few_is_no_news_to_others", no_news),
    Case::everywhere("inv_i3_a_cursor_neither_goes_back_nor_beyond_the_offer", cursor),
];

fn told(answer: &Value) -> Vec<(i64, bool)> {
    let items = answer["events"]["items"].as_array().unwrap();
    items.iter().map(|item| (item["number"].as_i64().unwrap(), item["again"].as_bool().unwrap())).collect()
}

fn confirm_up_to(world: &World, agent: &str, number: Option<i64>) -> Result<Value> {
    world.run(agent, Op::new(confirm::Confirm { events: number.map(EventNumber::new), mail: None }))
}

fn delivery(world: &World) {
    let task = world.add("work");
    world.add("more");
    assert_eq!(told(&resume(world, "a")), [], "nothing happened to it before it came");
    world.note("b", &task, "one").unwrap();
    world.note("a", &task, "its own").unwrap();
    let first = resume(world, "a");
    let numbers: Vec<i64> = told(&first).into_iter().map(|(number, _)| number).collect();
    assert_eq!((numbers.len(), told(&first)[0].1), (1, false), "its own doings are no news: {first}");
    // Unconfirmed: offered again, and new events beside them are marked as new.
    world.note("b", &task, "two").unwrap();
    let second = resume(world, "a");
    assert_eq!(told(&second).iter().map(|(_, again)| *again).collect::<Vec<_>>(), [true, false]);
    assert!(second["brief"]["text"].as_str().unwrap().contains("“two”"));
    confirm_up_to(world, "a", second["events"]["offered"].as_i64()).unwrap();
    assert_eq!(told(&resume(world, "a")), []);
    // Each agent has its own cursor.
    assert_eq!(told(&resume(world, "c")), []);
    // One page at a time, in order, without gaps.
    for n in 0..25 {
        world.note("b", &task, &format!("note {n}")).unwrap();
    }
    let mut seen = Vec::new();
    loop {
        let request = resume::Resume { limit: Some(10), ..resume::Resume::default() };
        let page = world.run("a", Op::new(request)).unwrap();
        seen.extend(told(&page));
        confirm_up_to(world, "a", page["events"]["offered"].as_i64()).unwrap();
        if page["events"]["more"] == false {
            break;
        }
    }
    let notes: Vec<i64> =
        world.events().iter().filter(|event| event.kind == "task.noted").map(|event| event.number.get()).collect();
    let numbers: Vec<i64> = seen.iter().map(|(number, _)| *number).filter(|number| notes.contains(number)).collect();
    assert_eq!(numbers.len(), 25);
    assert!(numbers.is_sorted() && seen.iter().all(|(_, again)| !again));
}

fn more(world: &World) {
    let task = world.add("work");
    resume(world, "a");
    world.note("b", &task, "one").unwrap();
    world.note("b", &task, "two").unwrap();
    world.note("a", &task, "its own").unwrap();
    world.run("c", Op::new(resume::Resume::default())).unwrap();
    let page = |limit| world.run("a", Op::new(resume::Resume { limit: Some(limit), ..Default::default() })).unwrap();
    assert_eq!((told(&page(1)).len(), &page(1)["events"]["more"]), (1, &json!(true)));
    let all = page(2);
    assert_eq!((told(&all).len(), &all["events"]["more"]), (2, &json!(false)), "its own doings are not more to tell");
    assert_eq!(all["events"]["offered"], json!(world.events().pop().unwrap().number));
}

fn no_news(world: &World) {
    let task = world.add("work");
    world.add("other work");
    resume(world, "a");
    world.run("b", Op::new(resume::Resume::default())).unwrap();
    let item = |scope, text: &str| remember::NewMemory { scope: Some(scope), text: text.into(), ..Default::default() };
    let items = vec![
        item(remember::MemoryReach::Agent, "between me and myself"),
        item(remember::MemoryReach::Task, "for whoever does this"),
        item(remember::MemoryReach::Project, "for all to know"),
    ];
    let kept = world.run("b", Op::new(remember::Remember { items })).unwrap();
    for n in [0, 1] {
        let memory = kept["items"][n]["id"].as_str().unwrap().to_owned();
        world.run("b", Op::new(memory_pin::MemoryPin { memory: memory.clone().into(), pinned: true })).unwrap();
        world.run("b", Op::new(memory_forget::MemoryForget { memory: memory.into() })).unwrap();
    }
    let answer = resume(world, "a");
    assert_eq!(answer["focus"], json!(task));
    let kinds: Vec<&str> =
        answer["events"]["items"].as_array().unwrap().iter().filter_map(|item| item["kind"].as_str()).collect();
    assert_eq!(kinds, ["task.claimed", "memory.added"], "{answer}");
    let all = answer.to_string();
    assert!(all.contains("for all to know") && !all.contains("myself") && !all.contains("whoever"), "{all}");
}

fn cursor(world: &World) {
    let task = world.add("work");
    let begun = confirm_up_to(world, "a", Some(i64::MAX)).unwrap();
    assert_eq!(begun["events"].as_i64(), Some(world.last_event().get()), "from its first op on");
    let first = resume(world, "a")["events"]["offered"].as_i64().unwrap();
    world.note("b", &task, "one").unwrap();
    let beyond = confirm_up_to(world, "a", Some(i64::MAX)).unwrap();
    assert_eq!(beyond["events"].as_i64(), Some(first), "nobody has seen what nobody offered");
    let second = resume(world, "a");
    assert_eq!(told(&second).len(), 1);
    for number in [second["events"]["offered"].as_i64(), Some(0), Some(i64::MIN), None] {
        let place = confirm_up_to(world, "a", number).unwrap();
        assert_eq!(place["events"], second["events"]["offered"]);
    }
    assert_eq!(told(&resume(world, "a")), []);
}
