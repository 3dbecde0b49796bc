//! Lists: stable order, complete pages under every filter, and the resolution of id prefixes.

use serde_json::json;
use tenure_core::Span;
use tenure_core::task::TaskState;
use tenure_kernel::Op;
use tenure_kernel::op::{add, add_many};
use tenure_kernel::query;
use tenure_kernel::query::list::List;
use tenure_store::Durability;

use super::Case;
use super::shorthand::words;
use crate::fixture::{World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l7_pages_are_complete_and_in_order_under_every_filter", pages),
    Case::everywhere("a_page_goes_on_where_the_last_one_ended", stable_cursor),
    Case::everywhere("totals_are_told_where_they_are_free", totals),
    Case::everywhere("a_beginning_of_an_id_means_the_only_one_there_is", prefixes),
    Case::everywhere("holds_are_listed_by_their_end", holds),
    Case::everywhere("an_agent_with_very_many_holds_is_listed_whole", many_holds),
];

/// Tasks in every state, some held, expired, labelled or assigned.
fn populate(world: &World) {
    let hello = world.add("hello");
    world.note("a", &hello, "so that a is known").unwrap();
    world.cancel("a", &hello).unwrap();
    let base = world.add("base");
    for n in 0..60 {
        let request = add::Add {
            priority: n % 5,
            labels: [vec![], words(&["x"]), words(&["x", "y"])][usize::try_from(n % 3).unwrap()].clone(),
            after: if n % 7 == 0 { vec![base.clone().into()] } else { Vec::new() },
            assignee: (n % 4 == 0).then(|| "a".to_owned()).map(Into::into),
            ..add::Add::titled(&format!("task {n}"))
        };
        let task = world.add_with(request);
        match n % 10 {
            1 => drop(world.claim("b", &task)),
            2 => drop(world.claim_for("c", &task, 60)),
            3 => drop(world.block("b", &task, "x").unwrap()),
            4 => drop(world.done("b", &task).unwrap()),
            5 => drop(world.cancel("b", &task).unwrap()),
            _ => {}
        }
    }
    let given_up = world.add("given up");
    for n in 0..4 {
        world.add_after(&format!("stuck {n}"), &[&given_up]);
    }
    world.cancel("b", &given_up).unwrap();
    world.advance(Span::minutes(5));
}

fn pages(world: &World) {
    populate(world);
    let all = world.list(&List { all: true, limit: 1_000, ..List::default() });
    let ranks: Vec<_> = all.iter().map(|task| (task.priority, task.number, task.id.clone())).collect();
    assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "a total order");
    assert_eq!(all.len(), 67);
    let mut filters = vec![List::default(), List { all: true, ..List::default() }];
    filters.extend(TaskState::ALL.map(|state| List { states: vec![state], ..List::default() }));
    filters.push(List { states: vec![TaskState::Ready, TaskState::Done, TaskState::Stuck], ..List::default() });
    let narrowed: Vec<List> = filters
        .iter()
        .flat_map(|filter| {
            [
                List { labels: words(&["x"]), ..filter.clone() },
                List { labels: words(&["y", "x"]), ..filter.clone() },
                List { assignee: Some("a".into()), ..filter.clone() },
                List { assignee: Some("a".into()), labels: words(&["x"]), ..filter.clone() },
                List { holder: Some("b".into()), ..filter.clone() },
                List { holder: Some("c".into()), ..filter.clone() },
            ]
        })
        .collect();
    filters.extend(narrowed);
    let mut states = std::collections::BTreeSet::new();
    for filter in filters {
        let expected: Vec<&str> = all
            .iter()
            .filter(|task| match (filter.states.as_slice(), filter.all) {
                ([], true) => true,
                ([], false) => !task.status.is_closed(),
                (states, _) => states.contains(&task.state),
            })
            .filter(|task| filter.labels.iter().all(|label| task.labels.contains(label)))
            .filter(|task| filter.assignee.is_none() || filter.assignee == task.assignee)
            .filter(|task| {
                filter.holder.is_none() || task.holder.as_ref().map(|held| &held.agent) == filter.holder.as_ref()
            })
            .map(|task| task.id.as_str())
            .collect();
        for limit in [1, 7, 1_000] {
            let found = world.list(&List { limit, ..filter.clone() });
            states.extend(found.iter().map(|task| task.state.as_str()));
            let found: Vec<&str> = found.iter().map(|task| task.id.as_str()).collect();
            assert_eq!(found, expected, "{filter:?} by {limit}");
        }
    }
    assert_eq!(states.len(), 7, "all states were met: {states:?}");
    for limit in [0, 1_001] {
        let refused = world.kernel.ask(&world.call("a"), &List { limit, ..List::default() });
        assert_eq!(code_of(refused), "bad_limit");
    }
    for cursor in ["", "x", "1.2", "a.b.c"] {
        let refused = world.kernel.ask(&world.call("a"), &List { cursor: Some(cursor.into()), ..List::default() });
        assert_eq!(code_of(refused), "bad_cursor", "{cursor}");
    }
}

/// Changes between two pages neither repeat nor hide an unchanged task.
fn stable_cursor(world: &World) {
    let tasks: Vec<String> = (0..9).map(|n| world.add(&format!("task {n}"))).collect();
    let page = |cursor| world.kernel.ask(&world.call("a"), &List { limit: 3, cursor, ..List::default() }).unwrap();
    let first = page(None);
    world.done("a", &tasks[1]).unwrap();
    world.done("a", &tasks[2]).unwrap();
    world.done("a", &tasks[4]).unwrap();
    world.add_ranked("before all", 0, &[]);
    let last = world.add_ranked("after all", 4, &[]);
    let second = page(first.next);
    let ids: Vec<String> = second.items.into_iter().map(|task| task.id).map(String::from).collect();
    assert_eq!(ids, [tasks[3].as_str(), &tasks[5], &tasks[6]]);
    let third = page(second.next);
    let ids: Vec<String> = third.items.into_iter().map(|task| task.id).map(String::from).collect();
    assert_eq!(ids, [tasks[7].as_str(), &tasks[8], &last]);
    assert_eq!((third.more, third.next), (false, None));
}

fn totals(world: &World) {
    populate(world);
    let total = |filter: List| world.kernel.ask(&world.call("a"), &filter).unwrap().total;
    let all = List { all: true, ..List::default() };
    assert_eq!(total(List { limit: 5, ..all.clone() }), Some(67));
    assert_eq!(total(List { limit: 100, ..all.clone() }), Some(67));
    let open = world.list(&List::default()).len();
    assert_eq!(total(List { limit: 5, ..List::default() }), Some(i64::try_from(open).unwrap()));
    let labelled = List { labels: words(&["y"]), ..all };
    assert_eq!(total(List { limit: 5, ..labelled.clone() }), None, "not counted for a filter");
    assert_eq!(total(List { limit: 100, ..labelled }), Some(20), "but known when it fits a page");
    let status = world.kernel.ask(&world.call("a"), &query::status::Status {}).unwrap();
    for (state, counted) in [
        (TaskState::Ready, status.ready),
        (TaskState::Waiting, status.waiting),
        (TaskState::Stuck, status.stuck),
        (TaskState::Held, status.started),
        (TaskState::Blocked, status.blocked),
        (TaskState::Done, status.done),
        (TaskState::Cancelled, status.cancelled),
    ] {
        assert_eq!(i64::try_from(world.in_state(state).len()).unwrap(), counted, "{state}");
    }
    assert_eq!(status.held, status.started);
}

fn prefixes(world: &World) {
    let tasks: Vec<String> = (0..40).map(|n| world.add(&format!("task {n}"))).collect();
    let hold = world.claim("a", &tasks[0]).unwrap()["hold"]["id"].as_str().unwrap().to_owned();
    let call = world.call("a");
    for task in &tasks {
        for length in 3..=task.len() {
            let typed = &task[..length];
            let same: Vec<&String> = tasks.iter().filter(|other| other.starts_with(typed)).collect();
            for typed in [typed, &typed[2..]] {
                let found = world.kernel.ask(&call, &query::task_id::ResolveTask { typed: typed.into() });
                if same.len() == 1 {
                    assert_eq!(found.unwrap(), *task);
                    continue;
                }
                let error = refusal(found);
                assert_eq!((error.kind().as_str(), error.code().as_str()), ("usage", "ambiguous_id"));
                let mut sorted = same.clone();
                sorted.sort();
                sorted.truncate(10);
                assert_eq!(error.get("candidates"), Some(&json!(sorted)));
            }
        }
    }
    let error = refusal(world.kernel.ask(&call, &query::task_id::ResolveTask { typed: "t-".into() }));
    assert_eq!(error.get("candidates").unwrap().as_array().unwrap().len(), 10, "at most ten are named");
    assert_eq!(world.kernel.ask(&call, &query::any_id::ResolveAny { typed: hold[..5].into() }).unwrap(), hold);
    assert_eq!(world.kernel.ask(&call, &query::any_id::ResolveAny { typed: tasks[1].clone() }).unwrap(), tasks[1]);
    for typed in ["", "h-zzzzz", "zzzzzz", "t-ilou", "T-", "{", "t-\u{7f}", &hold] {
        assert_eq!(
            kind_of(world.kernel.ask(&call, &query::task_id::ResolveTask { typed: typed.into() })),
            "not_found",
            "{typed:?}"
        );
    }
}

fn holds(world: &World) {
    for n in 0..12 {
        let task = world.add(&format!("task {n}"));
        world.claim_for(if n % 2 == 0 { "a" } else { "b" }, &task, 600 - 50 * (n % 6)).unwrap();
    }
    world.advance(Span::seconds(360));
    let read = |holder: Option<&str>, rows: usize| {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = world
                .kernel
                .ask(
                    &world.call("c"),
                    &query::holds::Holds { cursor: cursor.clone(), ..query::holds::Holds::of(holder, rows) },
                )
                .unwrap();
            all.extend(page.items);
            match page.next {
                Some(next) => cursor = Some(next),
                None => return all,
            }
        }
    };
    for rows in [1, 3, 100] {
        let all = read(None, rows);
        assert_eq!(all.len(), 10, "those of 350 seconds are over");
        assert!(all.windows(2).all(|pair| (&pair[0].expires_at, &pair[0].id) < (&pair[1].expires_at, &pair[1].id)));
        let mine = read(Some("a"), rows);
        assert!(mine.iter().all(|hold| hold.holder == "a"));
        assert_eq!(mine.len() + read(Some("b"), rows).len(), 10);
    }
    let status = world.kernel.ask(&world.call("c"), &query::status::Status {}).unwrap();
    assert_eq!((status.held, status.next_expiry), (10, Some(read(None, 1)[0].expires_at.clone())));
}

/// More than any page: none may be omitted.
fn many_holds(world: &World) {
    // Thousands of writes that need no durability.
    let world = World::with(world.engine, |options| options.durability = Durability::Fast);
    let items = (0..1_050).map(|n| serde_json::from_value(json!({ "title": format!("task {n}") })).unwrap()).collect();
    world.run("a", Op::new(add_many::AddMany { items })).unwrap();
    for _ in 0..1_050 {
        world.claim_any("a").unwrap();
    }
    let filter = List { holder: Some("a".into()), limit: 1_000, ..List::default() };
    assert_eq!(world.list(&filter).len(), 1_050);
    let page = world.kernel.ask(&world.call("b"), &query::holds::Holds::of(Some("a"), 1_000)).unwrap();
    assert_eq!((page.items.len(), page.more), (1_000, true));
    let rest = world
        .kernel
        .ask(
            &world.call("b"),
            &query::holds::Holds { cursor: page.next.clone(), ..query::holds::Holds::of(Some("a"), 1_000) },
        )
        .unwrap();
    assert_eq!(rest.items.len(), 50);
    // All of them expire at once: the counts reflect it before any write.
    world.advance(Span::minutes(60));
    let status = world.kernel.ask(&world.call("b"), &query::status::Status {}).unwrap();
    assert_eq!((status.ready, status.started, status.held), (1_050, 0, 0));
    assert_eq!(world.list(&filter).len(), 0);
}
