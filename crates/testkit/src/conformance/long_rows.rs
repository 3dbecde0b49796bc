//! Rows of maximum length: a page ends when it has enough bytes, and the next continues there.

use serde::Serialize;
use tenure_core::id::TaskId;
use tenure_core::number::EventNumber;
use tenure_kernel::Op;
use tenure_kernel::op::{add, add_many, reserve};
use tenure_kernel::query;
use tenure_kernel::query::{holds, list, log};
use tenure_store::{CommitDecision, Sql};

use super::Case;
use super::shorthand::words;
use crate::fixture::World;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_u10_pages_of_long_tasks_meet_each_once_in_their_order", tasks),
    Case::everywhere("inv_u10_pages_of_long_events_meet_each_once_in_both_directions", events),
    Case::everywhere("inv_u10_pages_of_long_holds_meet_each_once", held),
    Case::everywhere("inv_u10_one_task_with_much_to_tell_is_shown_as_far_as_it_fits", shown),
    Case::everywhere("inv_u10_a_read_stops_before_the_row_that_does_not_fit", read),
];

/// The maximum length of a text.
const LONG: usize = 64 * 1024;
/// The maximum size of a page: its rows and their metadata.
const PAGE: usize = 4 * 1024 * 1024 + 256 * 1024;

fn long() -> String {
    "x".repeat(LONG)
}

/// Asserts that a page is within the maximum.
fn fits<T: Serialize>(page: T) -> T {
    fits_in(PAGE, page)
}

fn fits_in<T: Serialize>(most: usize, answer: T) -> T {
    let size = serde_json::to_string(&answer).unwrap().len();
    assert!(size < most, "{size} bytes");
    answer
}

fn tasks(world: &World) {
    // Short and long rows in every state and priority: a page is merged from several lists.
    let item = |n: i64| add_many::NewTask {
        title: format!("t{n}"),
        description: if n % 7 == 0 { String::new() } else { long() },
        acceptance: if n % 3 == 0 { long() } else { String::new() },
        priority: n % 5,
        labels: Vec::new(),
        after: Vec::new(),
        key: None,
        line: 0,
    };
    let added = world.run("person:ann", Op::new(add_many::AddMany { items: (0..150).map(item).collect() })).unwrap();
    for (at, id) in added["ids"].as_array().unwrap().iter().enumerate() {
        let id = id.as_str().unwrap();
        match at % 6 {
            0 => drop(world.cancel("person:ann", id).unwrap()),
            1 => drop(world.done("a", id).unwrap()),
            2 => drop(world.block("a", id, "no").unwrap()),
            3 => drop(world.claim("a", id).unwrap()),
            _ => {}
        }
    }
    let read = |limit: usize| {
        let (mut all, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let filter = list::List { all: true, limit, cursor, ..list::List::default() };
            let page = fits(world.kernel.ask(&world.call("b"), &filter).unwrap());
            assert_eq!((page.more, page.total), (page.next.is_some(), Some(150)));
            all.extend(page.items.into_iter().map(|task| task.id));
            pages += 1;
            match page.next {
                Some(next) => cursor = Some(next),
                None => return (all, pages),
            }
        }
    };
    let (all, pages) = read(1_000);
    assert!((3..=5).contains(&pages), "{pages} pages");
    // One at a time, in the same order.
    assert_eq!(all, read(1).0);
    assert_eq!(all.len(), 150);
}

fn events(world: &World) {
    let task = world.add("long");
    for _ in 0..90 {
        world.claim("a", &task).unwrap();
        world.block("a", &task, &long()).unwrap();
        world.run("a", Op::new(tenure_kernel::op::unblock::Unblock { task: task.clone().into() })).unwrap();
    }
    let last = world.last_event();
    for start in [None, Some(log::Since::Number(EventNumber::START)), Some(log::Since::Time(tenure_core::Time(0)))] {
        let (mut numbers, mut since, mut pages) = (Vec::new(), start.clone(), 0);
        loop {
            let filter = log::Log { since, limit: 1_000, ..log::Log::default() };
            let page = fits(world.kernel.ask(&world.call("b"), &filter).unwrap());
            assert!(page.items.windows(2).all(|two| two[0].number < two[1].number));
            numbers.extend(page.items.into_iter().map(|event| event.number));
            pages += 1;
            match page.next {
                Some(next) => since = Some(log::Since::Cursor(next)),
                None => break,
            }
        }
        assert!(pages > 1, "{start:?}");
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=last.get()).collect::<Vec<_>>(), "{start:?}");
    }
}

fn held(world: &World) {
    for n in 0..90 {
        let paths = words(&[&format!("src/{n}.rs")]);
        let request = reserve::Reserve { paths, reason: long(), all_checkouts: true, ..reserve::Reserve::default() };
        world.run("a", Op::new(request)).unwrap();
    }
    for holder in [None, Some("a".to_owned())] {
        let filter = holds::Filter { holder: holder.map(Into::into), ..holds::Filter::default() };
        let (mut all, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
        loop {
            let page = world
                .kernel
                .ask(&world.call("b"), &holds::Holds { filter: filter.clone(), limit: 1_000, cursor: cursor.clone() })
                .unwrap();
            all.extend(fits(page.items).into_iter().map(|hold| hold.subject));
            pages += 1;
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        all.sort();
        all.dedup();
        assert_eq!((all.len(), pages), (90, 2), "{filter:?}");
    }
}

fn shown(world: &World) {
    let root = world.add("root");
    for _ in 0..100 {
        world.note("person:ann", &root, &long()).unwrap();
    }
    for n in 0..90 {
        let request =
            add::Add { after: vec![root.clone().into()], description: long(), ..add::Add::titled(&n.to_string()) };
        world.run("person:ann", Op::new(request)).unwrap();
    }
    let call = world.call("b");
    // Including its 20 newest events, which contain the notes.
    let task = fits_in(PAGE + 20 * LONG, world.kernel.ask(&call, &query::show::Show { id: root.clone() }).unwrap());
    // The newest notes are shown, oldest first.
    assert!((50..100).contains(&task.notes.len()), "{} notes", task.notes.len());
    assert_eq!(
        task.notes.last().unwrap().id,
        world.kernel.ask(&call, &query::show::Show { id: root.clone() }).unwrap().notes.last().unwrap().id
    );
    assert!(task.notes.windows(2).all(|two| two[0].number < two[1].number));
    let graph = fits(world.kernel.ask(&call, &query::graph::Graph { id: root.clone() }).unwrap());
    assert!(graph.more && graph.tasks.iter().any(|task| task.id == root));
    let is_shown = |id: &TaskId| graph.tasks.iter().any(|task| task.id == *id);
    assert!(graph.edges.iter().all(|(task, after)| is_shown(task) && is_shown(after)));
    assert_eq!(graph.edges.len() + 1, graph.tasks.len());
}

fn read(world: &World) {
    for n in 0..5 {
        world.run("person:ann", Op::new(add::Add { description: long(), ..add::Add::titled(&n.to_string()) })).unwrap();
    }
    let name = tenure_store::table::project::NamedProject { key: "name:p".into(), label: "p".into() };
    let sizes = |bytes: usize| {
        world.kernel.store().write(&name, |tx, _| {
            let sql = Sql::same("SELECT description FROM task ORDER BY number, id");
            let found = tx.query_within(sql, &[], bytes)?;
            // Unread rows do not affect the next query.
            let count = tx.query(Sql::same("SELECT CAST(COUNT(*) AS BIGINT) FROM task"), &[])?.remove(0).int(0)?;
            Ok(CommitDecision::Undo((found.rows.len(), found.cut, count)))
        })
    };
    for (bytes, expected) in [
        (usize::MAX, (5, false)),
        (0, (1, true)),
        (LONG / 2, (1, true)),
        (3 * LONG + 100, (3, true)),
        (6 * LONG, (5, false)),
    ] {
        let (rows, cut, count) = sizes(bytes).unwrap();
        assert_eq!((rows, cut, count), (expected.0, expected.1, 5), "{bytes}");
    }
}
