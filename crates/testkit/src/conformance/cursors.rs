//! Cursors: a position that is no longer or not yet readable is an error, never an empty page.

use tenure_core::number::EventNumber;
use tenure_core::{Kind, Result, Span, Time};
use tenure_kernel::answer::{LoggedEvent, Page};
use tenure_kernel::query;
use tenure_kernel::query::list;
use tenure_kernel::query::log::{Log, Since};

use super::Case;
use crate::fixture::{Engine, TestClock, World, code_of, refusal};
use crate::raw::both;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t14_a_cursor_beyond_the_end_is_stale", beyond_the_end),
    Case::everywhere("inv_t14_a_cursor_below_the_oldest_kept_event_is_stale", below_the_oldest),
    Case::everywhere("inv_t14_a_cursor_of_another_incarnation_is_stale", other_incarnation),
    Case::everywhere("inv_t14_pages_meet_every_event_once_in_both_directions", pages_meet_all),
    Case::everywhere("inv_t14_a_cursor_of_an_empty_log_goes_on_when_there_is_one", empty_log),
    Case::everywhere("inv_t13_pages_of_tasks_and_holds_meet_each_once_while_others_come", pages_are_stable),
];

fn read(world: &World, since: Option<Since>, limit: usize) -> Result<Page<LoggedEvent>> {
    world.kernel.ask(&world.call("b"), &Log { since, limit, ..Log::default() })
}

fn cursor(text: &str) -> Since {
    Since::Cursor(text.to_owned())
}

/// The refusal names the oldest readable cursor, and that one works.
fn stale(world: &World, since: &Since) {
    let error = refusal(read(world, Some(since.clone()), 10));
    assert_eq!(
        (error.kind(), error.code().as_str(), error.retryable()),
        (Kind::Stale, "stale_cursor", false),
        "{since:?}"
    );
    assert!(error.advice().is_some());
    let oldest = error.get("oldest_cursor").unwrap().as_str().unwrap();
    let page = read(world, Some(cursor(oldest)), 1_000).unwrap();
    assert_eq!(page.items.first().map(|event| event.number.previous().into()), error.get("oldest").cloned());
    assert_eq!(page.items.last().unwrap().number, world.last_event());
    assert_eq!(error.get("newest").unwrap(), world.last_event().get());
}

fn incarnation(world: &World) -> String {
    world.kernel.store().identity().unwrap().unwrap().incarnation.into()
}

fn six_events(world: &World) {
    let task = world.add("first");
    for n in 4..=6 {
        world.note("person:ann", &task, &format!("event {n}")).unwrap();
    }
    assert_eq!(world.last_event(), 6);
}

fn beyond_the_end(world: &World) {
    six_events(world);
    let own = incarnation(world);
    stale(world, &Since::Number(EventNumber::new(7)));
    stale(world, &cursor(&format!("{own}.7")));
    stale(world, &cursor(&format!("{own}.b9")));
    // The end is not beyond the end: an empty page with the same cursor.
    let page = read(world, Some(Since::Number(EventNumber::new(6))), 10).unwrap();
    assert_eq!((page.items.len(), page.next, page.cursor), (0, None, Some(format!("{own}.6"))));
    for bad in ["", "7", "x.y", "a.b.c", "s-0.", "s-0.b", "s-0.-"] {
        assert_eq!(code_of(read(world, Some(cursor(bad)), 10)), "bad_cursor", "{bad}");
    }
}

fn below_the_oldest(world: &World) {
    six_events(world);
    let own = incarnation(world);
    let older = read(world, None, 2).unwrap().next.unwrap();
    let oldest_pages = read(world, None, 4).unwrap().next.unwrap();
    // Simulates retention: the oldest events are deleted, and the row records the first one kept.
    both(&world.kernel, "DELETE FROM event WHERE number < 4");
    both(&world.kernel, "UPDATE project SET first_event = 4, events = 3");
    for below in [0, 2] {
        stale(world, &Since::Number(EventNumber::new(below)));
        stale(world, &cursor(&format!("{own}.{below}")));
    }
    assert_eq!(read(world, Some(Since::Number(EventNumber::new(3))), 10).unwrap().items.len(), 3);
    // A reader that pages backwards gets the error too, instead of the start of the log.
    let page = read(world, Some(cursor(&older)), 10).unwrap();
    assert_eq!((page.items.len(), page.items[0].number), (1, EventNumber::new(4)));
    stale(world, &cursor(&oldest_pages));
    assert_eq!(read(world, None, 10).unwrap().total, Some(3));
}

fn other_incarnation(world: &World) {
    six_events(world);
    let (forward, back) =
        (read(world, Some(Since::Number(EventNumber::START)), 3).unwrap().next, read(world, None, 3).unwrap().next);
    both(&world.kernel, "UPDATE store SET incarnation = 's-restored'");
    stale(world, &cursor(&forward.unwrap()));
    stale(world, &cursor(&back.unwrap()));
    // A bare number belongs to no incarnation.
    assert_eq!(read(world, Some(Since::Number(EventNumber::new(3))), 10).unwrap().items.len(), 3);
}

fn pages_meet_all(world: &World) {
    six_events(world);
    world.advance(Span::seconds(1));
    six_more(world);
    let last = world.last_event();
    for limit in [1, 3, 1_000] {
        let (mut forward, mut since) = (Vec::new(), Some(Since::Number(EventNumber::START)));
        while let Some(from) = since.take() {
            let page = read(world, Some(from), limit).unwrap();
            assert_eq!((page.more, page.total), (page.next.is_some(), Some(last.get())));
            forward.extend(page.items.iter().map(|event| event.number));
            since = page.next.map(Since::Cursor);
        }
        assert_eq!(forward, (1..=last.get()).collect::<Vec<_>>());
        let (mut back, mut since) = (Vec::new(), None);
        loop {
            let page = read(world, since.take(), limit).unwrap();
            // Oldest first within a page, newest page first.
            back.splice(0..0, page.items.iter().map(|event| event.number));
            match page.next {
                Some(next) => since = Some(Since::Cursor(next)),
                None => break,
            }
        }
        assert_eq!(back, (1..=last.get()).collect::<Vec<_>>());
    }
    // The cursor of the newest page continues from there.
    let newest = read(world, None, 2).unwrap();
    world.add("one more");
    let page = read(world, newest.cursor.map(Since::Cursor), 10).unwrap();
    assert_eq!(page.items.iter().map(|event| event.number).collect::<Vec<_>>(), [last.next()]);
    let at = |time: Time| read(world, Some(Since::Time(time)), 100).unwrap().items.first().map(|event| event.number);
    assert_eq!(at(TestClock::START), Some(EventNumber::FIRST));
    assert_eq!(at(TestClock::START + Span(1)), Some(EventNumber::new(7)));
    assert_eq!(at(TestClock::START + Span::seconds(2)), None);
}

fn six_more(world: &World) {
    for n in 0..6 {
        world.add(&format!("more {n}"));
    }
}

fn empty_log(world: &World) {
    // A reader that started before the store existed loses nothing.
    let before = read(world, Some(Since::Number(EventNumber::START)), 10).unwrap();
    assert_eq!((before.items.len(), before.next), (0, None));
    if world.engine != Engine::Memory {
        assert_eq!(world.kernel.store().identity().unwrap(), None);
    }
    six_events(world);
    let page = read(world, before.cursor.map(Since::Cursor), 10).unwrap();
    assert_eq!(page.items.len(), 6);
}

fn pages_are_stable(world: &World) {
    let mut tasks: Vec<String> = (0..9).map(|n| world.add_ranked(&format!("task {n}"), n % 3, &[])).collect();
    for task in &tasks {
        world.claim("a", task).unwrap();
    }
    let (mut seen, mut held) = (Vec::new(), Vec::new());
    let mut cursor = None;
    loop {
        let filter = list::List { limit: 2, cursor, ..list::List::default() };
        let page = world.kernel.ask(&world.call("a"), &filter).unwrap();
        seen.extend(page.items.into_iter().map(|task| task.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
        // A task before the cursor's position is not listed, and shifts nothing.
        world.add_ranked("comes first", 0, &[]);
    }
    let mut cursor = None;
    loop {
        let page = world
            .kernel
            .ask(&world.call("a"), &query::holds::Holds { cursor: cursor.clone(), ..query::holds::Holds::of(None, 2) })
            .unwrap();
        held.extend(page.items.into_iter().map(|hold| hold.subject));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
        let early = world.add("ends before all others");
        world.claim_for("b", &early, 60).unwrap();
    }
    held.retain(|id| tasks.contains(id));
    let mut seen: Vec<String> = seen.into_iter().map(String::from).collect();
    seen.retain(|id| tasks.contains(id));
    seen.sort();
    held.sort();
    tasks.sort();
    assert_eq!((&seen, &held), (&tasks, &tasks));
}
