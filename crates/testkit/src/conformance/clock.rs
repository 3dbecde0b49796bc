//! Time: one reading per transaction, one test for expiry, and a clock that may be set to any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tenure_core::number::EventNumber;
use tenure_core::{Span, Time};
use tenure_kernel::query;
use tenure_kernel::query::{list, log};
use tenure_store::Clock;

use super::Case;
use super::shorthand::id;
use crate::fixture::{Engine, TestClock, World, code_of, kind_of};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t9_a_hold_is_over_at_its_expiry_and_not_before", over_at_expiry),
    Case::everywhere("inv_t9_one_reading_a_transaction", one_reading),
    Case::everywhere("inv_t9_a_clock_that_is_a_minute_behind_stands_still", stands_still),
    Case::everywhere("inv_t9_a_clock_that_was_set_back_is_believed_and_told", set_back),
    Case::everywhere("inv_t9_a_clock_that_jumps_forward_lapses_holds_once", jumps_forward),
    Case::everywhere("inv_t9_an_agent_was_never_seen_in_the_future", never_seen_in_the_future),
    Case::everywhere("inv_t9_every_page_since_a_time_passes_over_what_was_before", pages_since_a_time),
    Case::everywhere("inv_t9_times_are_shown_in_utc", shown_in_utc),
    Case::only(&[Engine::Postgres], "inv_t9_the_database_has_the_time_however_wrong_a_host_is", database_time),
];

fn back(span: Span) -> Span {
    Span(-span.0)
}

fn over_at_expiry(world: &World) {
    let task = world.add("first");
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span(59_999_999));
    assert_eq!(code_of(world.claim("b", &task)), "task_held");
    assert_eq!(world.show(&task)["state"], "held");
    world.advance(Span(1));
    assert_eq!(world.show(&task)["state"], "ready", "queries use the same test");
    assert_eq!(world.next("b", &[]).task.unwrap().id, task);
    world.claim("b", &task).unwrap();
    let expired = world.events().into_iter().find(|event| event.kind == "hold.expired").unwrap();
    assert_eq!(expired.data["ended_at"], expired.data["expires_at"]);
}

/// A clock that advances by a second at each reading.
struct Restless(AtomicI64);

impl Clock for Restless {
    fn now(&self) -> Time {
        Time(self.0.fetch_add(1_000_000, Ordering::SeqCst))
    }
}

fn one_reading(world: &World) {
    let world = World::with(world.engine, |options| {
        options.clock = Arc::new(Restless(AtomicI64::new(TestClock::START.0)));
    });
    let first = world.add("first");
    let second = world.add_after("second", &[&first]);
    let third = world.add_after("third", &[&first]);
    let claimed = world.claim_for("a", &first, 3_600).unwrap();
    let done = world.done("a", &first).unwrap();
    let events = world.events();
    for request in events.iter().map(|event| &event.request_id) {
        let times: Vec<_> = events.iter().filter(|event| event.request_id == *request).map(|event| &event.at).collect();
        assert!(times.iter().all(|at| *at == times[0]), "{times:?}");
    }
    let at = |kind: &str| Time::parse(&events.iter().find(|event| event.kind == kind).unwrap().at).unwrap();
    let granted = at("task.claimed");
    assert_eq!(claimed["hold"]["granted_at"], granted.to_string());
    assert_eq!(claimed["hold"]["expires_at"], (granted + Span::hours(1)).to_string());
    assert_eq!(claimed["hold"]["expires_in_s"], 3_600);
    assert_eq!(done["finished_at"], at("task.done").to_string());
    assert_eq!((at("task.ready"), done["unlocked"].as_array().unwrap().len()), (at("task.done"), 2));
    assert_eq!([second, third].map(|task| world.show(&task)["state"].clone()), ["ready", "ready"]);
}

fn stands_still(world: &World) {
    let task = world.add("first");
    let before = world.events().pop().unwrap().at;
    world.advance(back(Span::seconds(60)));
    world.claim_for("a", &task, 600).unwrap();
    let event = world.events().pop().unwrap();
    assert_eq!((event.kind.as_str(), &event.at), ("task.claimed", &before), "60 s behind: time stands still");
    world.advance(back(Span(1)));
    world.note("a", &task, "x").unwrap();
    let kinds = world.kinds_after(event.number);
    assert_eq!(kinds, ["clock.stepped", "task.noted"], "one microsecond more: it was set back");
    let stepped = world.events().into_iter().find(|event| event.kind == "clock.stepped").unwrap();
    assert_eq!(stepped.data["seconds"], 60);
    assert!(stepped.at < before);
}

/// Runs the queries: no time may make a query fail.
fn look(world: &World, task: &str) {
    let call = world.call("person:ann");
    world.kernel.ask(&call, &query::status::Status {}).unwrap();
    world.kernel.ask(&call, &query::holds::Holds::of(None, 100)).unwrap();
    world
        .kernel
        .ask(&call, &query::agents::Agents { within_us: Some(Span::hours(1)), limit: 100, cursor: None })
        .unwrap();
    world.kernel.ask(&call, &list::List { all: true, ..list::List::default() }).unwrap();
    world.kernel.ask(&call, &query::why::Why { id: task.into() }).unwrap();
    world.kernel.ask(&call, &query::next::Next { labels: Vec::new() }).unwrap();
    let since = Some(log::Since::Time(TestClock::START));
    world.kernel.ask(&call, &log::Log { since, limit: 50, ..log::Log::default() }).unwrap();
    world.show(task);
}

/// After the clock was set back, an event with a higher number may be earlier than the requested time: no page may
/// include it.
fn pages_since_a_time(world: &World) {
    let task = world.add("first");
    for round in 0..4 {
        world.advance(if round % 2 == 0 { Span::hours(2) } else { back(Span::hours(2)) });
        (0..3).for_each(|_| drop(world.note("a", &task, "x").unwrap()));
    }
    let call = world.call("person:ann");
    let since = TestClock::START + Span::hours(1);
    let expected: Vec<EventNumber> =
        world.events().iter().filter(|event| event.at >= since.to_string()).map(|event| event.number).collect();
    let mut page = Some(log::Since::Time(since));
    let mut seen = Vec::new();
    while let Some(since) = page.take() {
        let filter = log::Log { since: Some(since), limit: 2, ..log::Log::default() };
        let found = world.kernel.ask(&call, &filter).unwrap();
        seen.extend(found.items.iter().map(|event| event.number));
        page = found.next.map(log::Since::Cursor);
    }
    assert!(expected.len() > 5);
    assert_eq!(seen, expected);
}

fn set_back(world: &World) {
    for step in [Span::seconds(61), Span::hours(1), Span::days(3_653)] {
        let task = world.add("first");
        world.claim_for("a", &task, 3_600).unwrap();
        world.advance(back(step));
        look(world, &task);
        let last = world.last_event();
        assert_eq!(code_of(world.claim("b", &task)), "task_held", "the hold is still a hold");
        // The op is refused, and the step is still recorded, because recording it is settling.
        assert_eq!(world.kinds_after(last), ["clock.stepped"]);
        look(world, &task);
        let hold = &world.kernel.ask(&world.call("b"), &query::holds::Holds::of(Some("a"), 10)).unwrap().items[0];
        assert!(hold.expires_in_s <= 3_600, "{} s", hold.expires_in_s);
        assert!(hold.granted_at <= Time(world.clock.now().0).to_string());
        world.advance(Span::hours(1));
        assert_eq!(id(&world.claim("b", &task).unwrap()["task"]), task, "no hold outlasts its time to live");
        world.done("b", &task).unwrap();
        world.sound();
        world.advance(step);
    }
}

fn jumps_forward(world: &World) {
    // A suspend of three days is the same as a clock that was set forward.
    for forward in [Span::hours(1), Span::days(3), Span::days(3_653)] {
        let tasks: Vec<String> = (0..3).map(|n| world.add(&format!("task {n}"))).collect();
        for task in &tasks {
            world.claim_for("a", task, 1_800).unwrap();
        }
        let last = world.last_event();
        let until = world.show(&tasks[0])["holder"]["expires_at"].clone();
        world.advance(forward);
        look(world, &tasks[0]);
        let taken = world.claim("b", &tasks[0]).unwrap();
        assert_eq!(taken["task"]["attempt"], 2);
        let expired: Vec<_> =
            world.events().into_iter().filter(|e| e.number > last && e.kind == "hold.expired").collect();
        assert_eq!(expired.len(), 3, "each hold ends once");
        assert!(expired.iter().all(|event| event.data["ended_at"] == until), "at its expiry, whenever it is settled");
        assert_eq!(kind_of(world.done("a", &tasks[0])), "stale");
        for task in &tasks {
            world.claim("b", task).unwrap();
            world.done("b", task).unwrap();
        }
        world.sound();
    }
}

fn never_seen_in_the_future(world: &World) {
    let task = world.add("first");
    // An agent is seen while the clock is ten years ahead; then the clock is corrected.
    world.advance(Span::days(3_653));
    world.claim_for("a", &task, 3_600).unwrap();
    world.advance(back(Span::days(3_653)));
    world.note("person:ann", &task, "the clock is right again").unwrap();
    world.advance(Span::minutes(59));
    assert_eq!(world.show(&task)["holder"]["liveness"], "stale");
    world.advance(Span::minutes(2));
    assert_eq!(world.agent("a").unwrap().liveness.as_str(), "gone");
}

fn shown_in_utc(world: &World) {
    let task = world.add("first");
    world.claim("a", &task).unwrap();
    let shown = world.show(&task);
    assert_eq!(shown["created_at"], "2033-05-18T03:33:20.000000Z");
    assert_eq!(shown["holder"]["expires_at"], "2033-05-18T04:33:20.000000Z");
    assert!(world.events().iter().all(|event| event.at == "2033-05-18T03:33:20.000000Z"));
}

/// Two hosts, one five hours ahead and one five hours behind: only the database's clock counts.
fn database_time(world: &World) {
    let server = crate::pg::server();
    let now = || {
        let rows = server.query("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)");
        Time(rows[0][0].as_deref().unwrap().parse().unwrap())
    };
    let begun = now();
    let host = |wrong: Span| {
        let clock = Arc::new(TestClock::at(begun + wrong));
        let options = tenure_store::Options { clock, own_clock: false, ..world.options.clone() };
        tenure_kernel::Kernel::new(world.location.clone(), options, tenure_client::phrasing::of).unwrap()
    };
    let (ahead, behind) = (host(Span::hours(5)), host(back(Span::hours(5))));
    let add = tenure_kernel::Op::new(tenure_kernel::op::add::Add::titled("first"));
    let added = ahead.run(&world.call("person:ann"), &add).unwrap();
    let task = id(&serde_json::from_str(&added.body).unwrap());
    let claim = super::shorthand::claiming(&task);
    ahead.run(&world.call("a"), &claim).unwrap();
    // By a clock five hours behind, the hold would seem to last six hours; by one five hours ahead, it would be over at
    // once.
    assert_eq!(code_of(behind.run(&world.call("b"), &claim)), "task_held");
    assert_eq!(code_of(ahead.run(&world.call("b"), &claim)), "task_held");
    for kernel in [&ahead, &behind] {
        let hold = &kernel.ask(&world.call("b"), &query::holds::Holds::of(None, 10)).unwrap().items[0];
        assert!((3_500..=3_600).contains(&hold.expires_in_s), "{} s", hold.expires_in_s);
    }
    // The hour is over by the database's clock only.
    raw::both(&ahead, "UPDATE hold SET granted_at = granted_at - 3600000000, expires_at = expires_at - 3600000000");
    behind.run(&world.call("b"), &claim).unwrap();
    let filter = log::Log { since: Some(log::Since::Number(EventNumber::START)), limit: 100, ..log::Log::default() };
    let events = behind.ask(&world.call("b"), &filter).unwrap().items;
    let ended = now();
    assert!(events.iter().all(|event| event.kind != "clock.stepped"));
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
    for event in &events {
        let at = Time::parse(&event.at).unwrap();
        assert!(begun <= at && at <= ended, "{} is not between {begun} and {ended}", event.at);
    }
}
