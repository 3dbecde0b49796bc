//! Lists by words and in other orders: against all tasks, page by page, and the upkeep of the index of words.

use tenure_core::choice::ListOrder;
use tenure_core::search::{MatchedText, Search, TaskTexts};
use tenure_core::task::TaskState;
use tenure_core::words::distinct;
use tenure_kernel::Op;
use tenure_kernel::answer::Task;
use tenure_kernel::op::{add, add_many, edit, forget};
use tenure_kernel::query::list::List;
use tenure_kernel::query::show::Show;
use tenure_store::table::project::NamedProject;
use tenure_store::{CommitDecision, Sql};

use super::Case;
use super::shorthand::words;
use crate::fixture::{Engine, World, code_of};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("lists_by_words_and_in_any_order_are_complete_page_by_page", pages),
    Case::everywhere("a_search_says_where_the_words_are", places),
    Case::everywhere("the_words_of_a_task_follow_its_texts", follow),
    Case::everywhere("a_forgotten_project_has_no_words", forgotten),
    Case::shared("the_words_of_an_older_store_are_filled_in", older),
    Case::everywhere("common_words_are_found_by_reading_the_list", common),
    Case::only(&[Engine::Memory], "inv_t13_a_page_by_any_word_costs_the_same_among_twenty_thousand_tasks", costs),
    Case::only(&[Engine::Memory], "inv_t13_a_word_adds_few_steps_to_a_call", upkeep),
];

const TITLES: [&str; 8] = [
    "Fix the login page",
    "Write the docs",
    "Log rotation",
    "Login tests for readFile",
    "Straße und Ärger",
    "数据库 backup",
    "Release 2.0",
    "Pages of the docs",
];

fn populate(world: &World) {
    let hello = world.add("hello");
    world.note("a", &hello, "so that a is known").unwrap();
    for n in 0..48_usize {
        let text = |every: usize, words: &str| if n.is_multiple_of(every) { words.to_owned() } else { String::new() };
        let task = world.add_with(add::Add {
            priority: (n % 5) as i64,
            description: text(3, "The login needs a cookie"),
            acceptance: text(5, "All tests are green"),
            labels: [vec![], words(&["x"]), words(&["x", "y"])][n % 3].clone(),
            assignee: n.is_multiple_of(4).then(|| "a".into()),
            ..add::Add::titled(TITLES[n % TITLES.len()])
        });
        if n.is_multiple_of(2) {
            world.note("b", &task, "the cookie is stored in the database").unwrap();
        }
        match n % 6 {
            1 => drop(world.claim("b", &task)),
            3 => drop(world.done("b", &task).unwrap()),
            5 => drop(world.block("b", &task, "x").unwrap()),
            _ => {}
        }
        world.advance(tenure_core::Span::seconds(1));
    }
}

/// Whether a task has all words, told from its texts alone.
fn has(world: &World, task: &Task, search: &Search) -> bool {
    let mut words = of(task).words();
    let shown = world.kernel.ask(&world.call("a"), &Show { id: task.id.to_string() }).unwrap();
    shown.notes.iter().for_each(|note| words.append(&mut distinct(&note.text)));
    search.missing(&words).is_empty()
}

fn of(task: &Task) -> TaskTexts<'_> {
    TaskTexts { title: &task.title, description: &task.description, acceptance: &task.acceptance }
}

fn pages(world: &World) {
    populate(world);
    let mut filters = vec![List::default(), List { all: true, ..List::default() }];
    filters.push(List { states: vec![TaskState::Held, TaskState::Done], ..List::default() });
    filters.push(List { all: true, labels: words(&["y", "x"]), ..List::default() });
    filters.push(List { assignee: Some("a".into()), ..List::default() });
    filters.push(List { holder: Some("b".into()), ..List::default() });
    let all = world.list(&List { all: true, limit: 1_000, ..List::default() });
    let mut found_any = 0;
    for text in
        ["", "login", "log", "LOGIN page", "docs cookie", "数据", "ärger", "readFile", "database green", "nothing"]
    {
        let search = (!text.is_empty()).then(|| Search::parse(text).unwrap());
        let having: Vec<&str> = all
            .iter()
            .filter(|task| search.as_ref().is_none_or(|search| has(world, task, search)))
            .map(|task| task.id.as_str())
            .collect();
        for filter in &filters {
            for sort in [ListOrder::Priority, ListOrder::Created, ListOrder::Updated] {
                let filter = List { sort, ..filter.clone() };
                let plain = world.list(&List { sort: ListOrder::Priority, limit: 1_000, ..filter.clone() });
                let mut expected: Vec<&Task> = plain.iter().filter(|task| having.contains(&task.id.as_str())).collect();
                expected.sort_by_key(|task| match sort {
                    ListOrder::Priority => (0, String::new(), String::new()),
                    ListOrder::Created => (-task.number, String::new(), String::new()),
                    ListOrder::Updated => (0, task.updated_at.to_string(), task.id.to_string()),
                });
                if sort == ListOrder::Updated {
                    expected.reverse();
                }
                let expected: Vec<&str> = expected.iter().map(|task| task.id.as_str()).collect();
                found_any += expected.len();
                for limit in [1, 7, 1_000] {
                    let text = (!text.is_empty()).then(|| text.to_owned());
                    let found = world.list(&List { limit, text, ..filter.clone() });
                    let found: Vec<&str> = found.iter().map(|task| task.id.as_str()).collect();
                    assert_eq!(found, expected, "{text:?} {filter:?} by {limit}", text = search);
                }
            }
        }
    }
    assert!(found_any > 500, "{found_any}");
    for text in ["", "the", "!"] {
        let refused = world.kernel.ask(&world.call("a"), &List { text: Some(text.into()), ..List::default() });
        assert_eq!(code_of(refused), "bad_search", "{text}");
    }
    let ranked = world.kernel.ask(&world.call("a"), &List { limit: 1, ..List::default() }).unwrap();
    let other = List { cursor: ranked.next, sort: ListOrder::Created, ..List::default() };
    assert_eq!(code_of(world.kernel.ask(&world.call("a"), &other)), "bad_cursor");
    world.sound();
}

fn places(world: &World) {
    let task = world.add_with(add::Add { description: "with a cookie".into(), ..add::Add::titled("Fix the login") });
    world.note("a", &task, "tried Firefox").unwrap();
    let found = |text: &str| {
        let list = world.list(&List { text: Some(text.into()), ..List::default() });
        list.first().map(|task| task.matched.clone()).unwrap_or_default()
    };
    assert_eq!(found("login"), [MatchedText::Title]);
    assert_eq!(found("fix cookie"), [MatchedText::Title, MatchedText::Description]);
    assert_eq!(found("firefox cookie"), [MatchedText::Description, MatchedText::Note]);
    assert_eq!(found("chrome"), []);
    assert!(world.list(&List::default())[0].matched.is_empty());
}

fn follow(world: &World) {
    let task = world.add("Fix the login");
    world.note("a", &task, "the login works").unwrap();
    let finds = |text: &str| world.list(&List { text: Some(text.into()), ..List::default() }).len();
    let edited = |request: edit::Edit| {
        world.run("a", Op::new(edit::Edit { task: task.as_str().into(), ..request })).unwrap();
        world.sound();
    };
    edited(edit::Edit { title: Some("Repair the page".into()), ..edit::Edit::default() });
    assert_eq!((finds("repair"), finds("fix"), finds("login")), (1, 0, 1), "a note still has the word");
    edited(edit::Edit { description: Some("fix the form".into()), ..edit::Edit::default() });
    edited(edit::Edit { acceptance: Some("green".into()), priority: Some(0), ..edit::Edit::default() });
    assert_eq!((finds("fix form"), finds("green"), finds("page")), (1, 1, 1));
    edited(edit::Edit { description: Some(String::new()), ..edit::Edit::default() });
    assert_eq!((finds("form"), finds("page")), (0, 1));
    world.done("a", &task).unwrap();
    assert_eq!(finds("page"), 0);
    world.sound();
}

fn forgotten(world: &World) {
    let task = world.add("Fix the login");
    world.note("a", &task, "noted").unwrap();
    assert!(!raw::words(&world.kernel)[0].is_empty());
    world.run("person:ann", Op::new(forget::Forget { key: "name:p".into(), force: true })).unwrap();
    assert!(raw::words(&world.kernel)[0].is_empty());
}

fn older(world: &World) {
    let task = world.add_with(add::Add { description: "with a cookie".into(), ..add::Add::titled("Fix the login") });
    world.note("a", &task, "tried Firefox").unwrap();
    let name = NamedProject { key: "name:p".into(), label: "p".into() };
    let mut statements = vec![Sql::pair("PRAGMA user_version = 1", "SELECT 1")];
    statements.extend(raw::BACK_TO_THE_FIRST.iter().map(|sql| Sql::same(sql)));
    statements.push(Sql::same(raw::first_view()));
    let age = world.kernel.store().write(&name, |tx, _| {
        statements.iter().try_for_each(|sql| tx.query(*sql, &[]).map(|_| ()))?;
        Ok(CommitDecision::Commit(()))
    });
    age.unwrap();
    let list = List { text: Some("login cookie firefox".into()), ..List::default() };
    assert_eq!(world.another().ask(&world.call("a"), &list).unwrap().items.len(), 1);
    world.sound();
}

/// Tasks of which all have the word `common` and every hundredth has `rare` in its title; some words are in notes alone.
fn fill(world: &World, tasks: usize) -> Vec<String> {
    let item = |n: usize| add_many::NewTask {
        title: format!("common task{n} {}", if n.is_multiple_of(tasks / 20) { "rare" } else { "usual" }),
        description: String::new(),
        priority: (n % 5) as i64,
        labels: Vec::new(),
        acceptance: String::new(),
        after: Vec::new(),
        key: None,
        line: n,
    };
    let added = world.run("person:ann", Op::new(add_many::AddMany { items: (0..tasks).map(item).collect() })).unwrap();
    added["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// A word of more tasks than are looked up is found in their texts, and in their notes.
fn common(world: &World) {
    let ids = fill(world, 1_200);
    for id in ids.iter().take(60) {
        for n in 0..10 {
            world.note("a", id, if n == 0 { "usual oddity" } else { "some progress" }).unwrap();
        }
    }
    let found = |text: &str, limit: usize| {
        let list = world.list(&List { text: Some(text.into()), limit, ..List::default() });
        list.iter().map(|task| (task.priority, task.number)).collect::<Vec<_>>()
    };
    let all = found("common", 1_000);
    assert_eq!((all.len(), all.is_sorted()), (1_200, true));
    assert_eq!(found("comm", 70), all);
    assert_eq!(found("common rare", 7).len(), 20);
    assert_eq!(found("usual", 1_000).len(), 1_181, "one has it in its oldest note alone");
    assert_eq!(found("common oddity", 7).len(), 60);
    assert_eq!(found("common usual task", 1_000).len(), found("usual", 1_000).len());
    assert_eq!(found("common nowhere", 1_000).len(), 0);
}

fn costs(_: &World) {
    let costs = |tasks: usize| {
        let world = World::new(Engine::Memory);
        fill(&world, tasks);
        let of = |text: &str| {
            let page = List { text: Some(text.into()), limit: 20, ..List::default() };
            let ask = || drop(world.kernel.ask(&world.call("a"), &page).unwrap());
            ask();
            let before = world.kernel.store().steps();
            ask();
            world.kernel.store().steps() - before
        };
        [("a rare word", of("rare")), ("a common word", of("common")), ("both", of("rare common")), ("none", of("zzz"))]
    };
    for ((name, few), (_, many)) in costs(2_000).into_iter().zip(costs(20_000)) {
        println!("{name}: {few} steps among 2,000 tasks, {many} among 20,000");
        assert!(many <= few * 2, "{name}: {few} steps among 2,000 tasks, {many} among 20,000");
    }
}

fn upkeep(_: &World) {
    let world = World::new(Engine::Memory);
    let task = world.add("Warm the statements up");
    world.note("a", &task, "and those of notes").unwrap();
    let steps = |work: &dyn Fn()| {
        let before = world.kernel.store().steps();
        work();
        world.kernel.store().steps() - before
    };
    let add = steps(&|| drop(world.add("Fix login page shop cart")));
    let empty = steps(&|| drop(world.add("the")));
    let note = steps(&|| drop(world.note("a", &task, "form sends cookie twice while second refused").unwrap()));
    let plain = steps(&|| drop(world.note("a", &task, "the").unwrap()));
    println!("add {add}, without words {empty}; note {note}, without words {plain}");
    assert!(add <= empty + 40 * 5 && note <= plain + 40 * 7, "add {add} of {empty}, note {note} of {plain} steps");
}
