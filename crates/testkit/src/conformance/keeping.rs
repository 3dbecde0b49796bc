//! Retention: old events are pruned if a setting says so, and whole projects can be forgotten.

use serde_json::json;
use tenure_core::number::EventNumber;
use tenure_core::session::Start;
use tenure_core::{Kind, Span};
use tenure_kernel::op::{
    add, claim, done, forget, inbox, note, release, remember, reserve, send, session_start, tool_used, transfer,
};
use tenure_kernel::query;
use tenure_kernel::query::log::{Log, Since};
use tenure_kernel::{Call, Checkout, Op, Trust, WorkingTree};
use tenure_store::table::project;

use super::Case;
use crate::fixture::{TestClock, World, code_of, refusal};
use crate::raw::{OF_STORE, TABLES, dump, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t14_old_events_are_dropped_and_asking_for_them_is_stale", old_events),
    Case::everywhere("inv_t14_a_backlog_shrinks_a_little_with_each_write", backlog),
    Case::everywhere("inv_t14_an_ended_hold_goes_with_its_last_event", ended_holds),
    Case::everywhere("inv_t14_an_ended_place_goes_with_its_last_event", ended_places),
    Case::everywhere("inv_t14_a_forgotten_project_leaves_nothing_but_its_numbers", forgotten),
    Case::everywhere("inv_t14_an_event_at_the_limit_is_kept", at_the_limit),
    Case::everywhere("inv_t14_asking_since_a_time_before_the_oldest_says_so", since_a_time),
    Case::everywhere("inv_t14_a_hold_that_was_handed_on_goes_too", handed_on),
    Case::everywhere("inv_t14_a_clock_that_jumps_drops_nothing_at_once", jumping_clock),
    Case::everywhere("inv_t15_a_project_in_use_is_not_forgotten", in_use),
    Case::everywhere("projects_are_listed_by_key_and_found_by_name", listed),
];

const WEEK: Span = Span::days(7);

fn all() -> Log {
    Log { limit: 1_000, ..Log::default() }
}

/// Writes notes until at least this many events were appended by writers that keep events for a week.
fn write_on(world: &World, task: &str, events: i64) {
    let until = world.last_event().get() + events;
    while world.last_event().get() < until {
        let call = Call { keep_events: Some(WEEK), ..world.call("a") };
        let request = note::Note { task: Some(task.into()), text: "x".into(), ..note::Note::default() };
        world.kernel.run(&call, &Op::new(request)).unwrap();
    }
}

fn old_events(world: &World) {
    let task = world.add("old");
    let call = world.call("person:ann");
    let cursor = world.kernel.ask(&call, &all()).unwrap().cursor.unwrap();
    world.note("a", &task, "soon forgotten").unwrap();
    assert!(!world.kernel.ask(&call, &query::why::Why { id: task.clone() }).unwrap().forgotten);
    world.advance(Span::days(8));
    // Without the setting nothing is pruned.
    for _ in 0..70 {
        world.note("a", &task, "x").unwrap();
    }
    assert_eq!(world.events()[0].number, 1);
    write_on(world, &task, 64);
    let page = world.kernel.ask(&call, &all()).unwrap();
    let oldest = page.items[0].number;
    assert_eq!(
        (oldest, page.kept_from),
        (EventNumber::new(6), Some(EventNumber::new(6))),
        "five events are older than a week"
    );
    assert_eq!(page.total, Some(i64::try_from(page.items.len()).unwrap()));
    for since in [Since::Cursor(cursor), Since::Number(EventNumber::new(3))] {
        let error = refusal(world.kernel.ask(&call, &Log { since: Some(since), ..all() }));
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Stale, "stale_cursor"));
        assert_eq!(error.get("oldest").unwrap(), &json!(oldest.previous()));
        let again = Since::Cursor(error.get("oldest_cursor").unwrap().as_str().unwrap().to_owned());
        let rest = world.kernel.ask(&call, &Log { since: Some(again), ..all() }).unwrap();
        assert_eq!(rest.items[0].number, oldest);
    }
    assert!(world.kernel.ask(&call, &query::why::Why { id: task.clone() }).unwrap().forgotten);
    assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), 100, "notes are not events");
    assert!(world.kernel.ask(&call, &query::switched_on::SwitchedOn {}).unwrap());
}

fn backlog(world: &World) {
    let task = world.add("old");
    for _ in 0..600 {
        world.note("a", &task, "x").unwrap();
    }
    world.advance(Span::days(30));
    let kept = || number(&world.kernel, "SELECT COUNT(*) FROM event", &[]);
    let (before, last) = (kept(), world.last_event());
    write_on(world, &task, 64);
    let after = kept();
    assert!(after >= before + 64 - 256 - 3 && after < before, "{before} then {after}: some, not all at once");
    write_on(world, &task, 64 * 3);
    let first = number(&world.kernel, "SELECT first_event FROM project", &[]);
    assert!(first > last.get(), "everything old is gone: {first}");
    let counted = number(&world.kernel, "SELECT events FROM project", &[]);
    assert_eq!(counted, kept());
    // The newest event stays, however old it is.
    world.advance(Span::days(300));
    write_on(world, &task, 64);
    assert!(kept() > 0);
}

fn ended_holds(world: &World) {
    let [ended, live] = ["ended", "live"].map(|title| world.add(title));
    let of = |task: &str| world.claim_for("a", task, 3_600).unwrap()["hold"]["id"].as_str().unwrap().to_owned();
    let first = of(&ended);
    world.done("a", &ended).unwrap();
    world.advance(Span::days(8));
    let second = of(&live);
    write_on(world, &live, 64);
    let call = world.call("person:ann");
    assert_eq!(code_of(world.kernel.ask(&call, &query::show_hold::ShowHold { id: first.clone() })), "not_found");
    assert_eq!(
        world.kernel.ask(&call, &query::show_hold::ShowHold { id: second.clone() }).unwrap().state.as_str(),
        "live"
    );
    world.done("a", &live).unwrap();
    // A hold whose grant was pruned and whose end is kept stays.
    let long = world.add("long");
    let third = of(&long);
    for _ in 0..300 {
        world.advance(Span::minutes(40));
        world.note("a", &long, "still at it").unwrap();
    }
    world.done("a", &long).unwrap();
    write_on(world, &long, 64);
    write_on(world, &long, 64);
    let grant =
        world.events().iter().any(|event| event.kind == "task.claimed" && event.hold.as_deref() == Some(&third));
    assert!(!grant, "its grant is no longer kept");
    assert_eq!(
        world.kernel.ask(&call, &query::show_hold::ShowHold { id: third.clone() }).unwrap().state.as_str(),
        "finished"
    );
}

fn ended_places(world: &World) {
    let task = world.add("old");
    world.reserve("a", &["x"]).unwrap();
    for agent in ["b", "c"] {
        world.wait(agent, &["x"]).unwrap();
    }
    // One agent leaves the line, the other gets its path.
    world.release_paths("c", &["x"]).unwrap();
    world.release_paths("a", &["x"]).unwrap();
    assert_eq!(world.wait("b", &["x"]).unwrap()["holds"].as_array().unwrap().len(), 1);
    world.release_paths("b", &["x"]).unwrap();
    let places = || number(&world.kernel, "SELECT COUNT(*) FROM place", &[]);
    assert_eq!((places(), number(&world.kernel, "SELECT COUNT(*) FROM place WHERE ended_at = 0", &[])), (2, 0));
    world.advance(Span::days(8));
    world.reserve("a", &["y"]).unwrap();
    world.wait("b", &["y"]).unwrap();
    world.release_paths("b", &["y"]).unwrap();
    world.wait("c", &["y"]).unwrap();
    write_on(world, &task, 64);
    let kept = number(&world.kernel, "SELECT COUNT(*) FROM place WHERE wanted = '[\"y\"]'", &[]);
    assert_eq!((places(), kept), (2, 2), "one that ended lately, and one that waits");
    assert_eq!(number(&world.kernel, "SELECT COUNT(*) FROM hold WHERE subject = 'x'", &[]), 0, "as with holds");
}

fn at_the_limit(world: &World) {
    let task = world.add("kept");
    world.advance(Span(WEEK.0 - 1_000_000));
    write_on(world, &task, 1);
    world.advance(Span::seconds(1));
    write_on(world, &task, 64);
    assert_eq!(world.events()[0].number, 1, "exactly a week old");
    world.advance(Span(1));
    write_on(world, &task, 64);
    assert!(world.events()[0].number > EventNumber::FIRST);
}

fn since_a_time(world: &World) {
    let task = world.add("old");
    let start = TestClock::START;
    world.advance(Span::days(8));
    write_on(world, &task, 1);
    let first = world.claim("a", &task).unwrap();
    write_on(world, &task, 64);
    let call = world.call("person:ann");
    let since = |time| {
        let filter = Log { since: Some(Since::Time(time)), ..all() };
        world.kernel.ask(&call, &filter).unwrap().kept_from
    };
    assert_eq!(since(start), Some(EventNumber::new(4)));
    assert_eq!(since(start + Span::days(8)), None);
    assert!(first["task"]["id"] == json!(task));
    // The oldest kept events of the task are a note and a claim: neither is its creation.
    assert!(world.kernel.ask(&call, &query::why::Why { id: task.clone() }).unwrap().forgotten);
}

fn handed_on(world: &World) {
    let task = world.add("old");
    world.note("b", &task, "here").unwrap();
    let held = world.claim_for("a", &task, 86_400).unwrap()["hold"]["id"].as_str().unwrap().to_owned();
    // Its grant was pruned long before the transfer.
    for _ in 0..9 {
        world.advance(Span::hours(23));
        world.note("a", &task, "still at it").unwrap();
    }
    write_on(world, &task, 64);
    let call = world.call("person:ann");
    assert_eq!(
        world.kernel.ask(&call, &query::show_hold::ShowHold { id: held.clone() }).unwrap().state.as_str(),
        "live"
    );
    let transfer =
        transfer::Transfer { task: Some(task.clone().into()), to: "b".into(), ..transfer::Transfer::default() };
    world.run("a", Op::new(transfer)).unwrap();
    world.kernel.ask(&call, &query::show_hold::ShowHold { id: held.clone() }).unwrap();
    for _ in 0..9 {
        world.advance(Span::hours(23));
        world.note("b", &task, "on with it").unwrap();
    }
    write_on(world, &task, 64);
    assert_eq!(code_of(world.kernel.ask(&call, &query::show_hold::ShowHold { id: held.clone() })), "not_found");
}

/// One call under a clock that is years ahead must not prune the log.
fn jumping_clock(world: &World) {
    let task = world.add("kept");
    while world.last_event().get() < 63 {
        write_on(world, &task, 1);
    }
    let events = world.events().len();
    world.advance(Span::days(3_650));
    write_on(world, &task, 1);
    assert_eq!(world.last_event().get() % 64, 0, "that was a write that looks for what is old");
    assert_eq!(world.events().len(), events + 1);
    // If the clock stays there, it is taken as correct, and the next check prunes old events.
    write_on(world, &task, 64);
    assert_eq!(world.events()[0].number, 64);
}

fn elsewhere(world: &World, agent: &str) -> Call {
    Call { project: project::NamedProject { key: "name:q".into(), label: "q".into() }, ..world.call(agent) }
}

fn forgotten(world: &World) {
    let task = world.add("stays");
    let call = elsewhere(world, "a");
    let add = Op::new(add::Add { labels: vec!["x".into()], ..add::Add::titled("goes") });
    let run = |agent: &str, op: &Op| -> String {
        let reply = world.kernel.run(&elsewhere(world, agent), op).unwrap();
        let body: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
        body["id"].as_str().unwrap_or_default().to_owned()
    };
    // Rows in every table.
    let here =
        Checkout { host: "h".into(), path: "/q".into(), common: None, trust: Trust::Any, tree: WorkingTree::default() };
    world.kernel.run(&Call { checkout: Some(here), ..call.clone() }, &add).unwrap();
    let first = run("a", &add);
    run("a", &Op::new(add::Add { after: vec![first.clone().into()], ..add::Add::titled("later") }));
    run("a", &Op::new(claim::Claim { task: Some(first.clone().into()), ..claim::Claim::default() }));
    let memories = vec![remember::NewMemory { text: "a fact".into(), ..remember::NewMemory::default() }];
    let artifacts = vec![note::Artifact { path: "out".into(), kind: None, sha256: "ab".repeat(32), size: 3 }];
    run("a", &Op::new(note::Note { text: "half".into(), memories, artifacts, ..note::Note::default() }));
    let text = String::from("hello");
    run("person:ann", &Op::new(send::Send { to: vec!["a".into()], text, ..send::Send::default() }));
    run("a", &Op::new(inbox::Inbox::default()));
    let (tool, session, event) = (String::from("claude"), String::from("S"), String::from("SessionStart"));
    let begin = session_start::SessionStart {
        tool: tool.clone(),
        session: session.clone(),
        source: Start::Startup,
        given: false,
        event,
    };
    run("claude-s", &Op::new(begin));
    let paths = vec!["src/lib.rs".to_owned()];
    run("claude-s", &Op::new(tool_used::ToolUsed { tool, session, paths, ..tool_used::ToolUsed::default() }));
    run("a", &Op::new(done::Done { task: Some(first.into()), ..done::Done::default() }));
    for agent in ["x", "y", "x", "y"] {
        let paths = vec!["f".to_owned()];
        let given = release::Release { paths: paths.clone(), ..release::Release::default() };
        let asked = reserve::Reserve { paths, all_checkouts: true, wait: true, ..reserve::Reserve::default() };
        if world.kernel.run(&elsewhere(world, agent), &Op::new(given)).is_err() {
            run(agent, &Op::new(asked));
        }
    }
    let page = world.kernel.ask(&call, &all()).unwrap();
    let (last, cursor) = (page.items.last().unwrap().number, page.cursor.unwrap());
    let id = world.kernel.store().read("name:q", |_, entered| Ok(entered.project.unwrap().id)).unwrap();

    let full = dump(&world.kernel);
    let refused =
        world.kernel.run(&elsewhere(world, "a"), &Op::new(forget::Forget { key: "name:q".into(), force: true }));
    assert_eq!(code_of(refused), "people_only");
    let ann = elsewhere(world, "person:ann");
    let other = world.kernel.run(&ann, &Op::new(forget::Forget { key: "name:p".into(), force: true }));
    assert_eq!(code_of(other), "other_project");
    let request = Op::new(forget::Forget { key: "name:q".into(), force: false });
    let reply = world.kernel.run(&ann, &request).unwrap();
    assert_eq!(world.kernel.run(&ann, &request).unwrap().body, reply.body, "asked again, it is answered again");

    for (table, _) in TABLES.iter().filter(|(table, _)| !OF_STORE.contains(table)) {
        assert!(full[table].iter().any(|row| row.contains(id.as_str())), "there was something in {table}");
    }
    let rows = dump(&world.kernel);
    for (table, _) in TABLES {
        let left = rows[table].iter().filter(|row| row.contains(id.as_str())).count();
        let expected = usize::from(table == "project" || table == "request");
        assert_eq!(left, expected, "{table}");
    }
    assert!(!world.kernel.ask(&call, &query::switched_on::SwitchedOn {}).unwrap());
    assert_eq!(world.kernel.ask(&call, &all()).unwrap().total, Some(0));
    // Used again, the project continues its numbers, so an old cursor does not match the new events.
    world.kernel.run(&elsewhere(world, "b"), &add).unwrap();
    let page = world.kernel.ask(&call, &all()).unwrap();
    assert!(page.items[0].number > last && page.items[0].kind == "project.created");
    assert_eq!(page.total, Some(3));
    let old = world.kernel.ask(&call, &Log { since: Some(Since::Cursor(cursor)), ..all() });
    assert_eq!(code_of(old), "stale_cursor");
    assert_eq!(world.show(&task)["title"], "stays");
    world.sound();
}

fn in_use(world: &World) {
    let task = world.add("held");
    world.claim("a", &task).unwrap();
    let forget = |force| Op::new(forget::Forget { key: "name:p".into(), force });
    let error = refusal(world.run("person:ann", forget(false)));
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Conflict, "project_in_use"));
    assert_eq!(world.show(&task)["status"], "started");
    world.run("person:ann", forget(true)).unwrap();
    assert_eq!(code_of(world.done("a", &task)), "not_found");
}

fn listed(world: &World) {
    let call = world.call("person:ann");
    assert_eq!(world.kernel.ask(&call, &query::projects::Projects { limit: 10, cursor: None }).unwrap().items.len(), 0);
    world.add("first");
    world.kernel.run(&elsewhere(world, "a"), &Op::new(add::Add::titled("other"))).unwrap();
    let twin = project::NamedProject { key: "name:r".into(), label: "q".into() };
    world.kernel.run(&Call { project: twin, ..world.call("a") }, &Op::new(add::Add::titled("twin"))).unwrap();
    let page = world.kernel.ask(&call, &query::projects::Projects { limit: 2, cursor: None }).unwrap();
    assert_eq!((page.items.len(), page.total, page.next.as_deref()), (2, None, Some("name:q")));
    assert!(page.items[0].here && !page.items[1].here);
    assert_eq!((page.items[0].open, page.items[0].events), (1, 3));
    let rest = world.kernel.ask(&call, &query::projects::Projects { limit: 2, cursor: page.next.clone() }).unwrap();
    assert_eq!((rest.items.len(), rest.more), (1, false));
    let called = |name: &str| {
        world.kernel.ask(&call, &query::project_called::ProjectCalled { name: name.into(), also_forgotten: false })
    };
    assert_eq!(called("p").unwrap().key, "name:p");
    assert_eq!(called("name:r").unwrap().key, "name:r");
    let error = refusal(called("q"));
    assert_eq!(
        (error.code().as_str(), error.get("candidates").unwrap()),
        ("ambiguous_project", &json!(["name:q", "name:r"]))
    );
    assert_eq!(code_of(called("nothing")), "unknown_project");
}
