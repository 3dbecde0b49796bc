//! Tests of the checker itself with hand-written histories, valid and invalid. Times are in milliseconds.

use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_kernel::answer::LoggedEvent;

use super::facts;
use super::model::Project;
use super::record::{Answer, Ask, Got, Reading, Record, View, digest};
use super::search::{Evidence, History};

/// The only task: status, version, attempt, holder.
fn view(status: &str, version: i64, attempt: i64, holder: Option<(usize, i64)>) -> View {
    View { status: status.into(), version, attempt, title: "task 0".into(), holder, lapsed_from: None }
}

fn told(view: View) -> Got {
    Got::Answer(Answer::Task { task: 0, view, late: false })
}

fn refused(code: &str) -> Answer {
    Answer::Refused { code: code.into(), holder: None, version: None, fence: None, status: None }
}

/// A call by the agent with the number of its process.
fn at(process: usize, from: i64, to: i64, ask: Ask, got: Got) -> Record {
    let request = format!("r{process}-{from}");
    Record {
        process,
        project: 0,
        agent: process,
        request,
        invoked: from * 1_000_000,
        returned: to * 1_000_000,
        ask,
        got,
    }
}

fn claim(process: usize, from: i64, to: i64, ttl_s: i64, got: Got) -> Record {
    at(process, from, to, Ask::Claim { task: Some(0), ttl_s }, got)
}

fn done(process: usize, from: i64, to: i64, fence: i64, got: Got) -> Record {
    at(process, from, to, Ask::Done { task: 0, fence: Some(fence) }, got)
}

fn show(process: usize, from: i64, to: i64, view: View) -> Record {
    at(process, from, to, Ask::Show { task: 0 }, told(view))
}

fn edit(process: usize, from: i64, to: i64, expect: i64, got: Got) -> Record {
    at(process, from, to, Ask::Edit { task: 0, title: "task 0".into(), expect: Some(expect) }, got)
}

fn granted(holder: usize, fence: i64, version: i64, attempt: i64) -> Got {
    told(view("started", version, attempt, Some((holder, fence))))
}

fn has_order(records: &[Record], evidence: &[(&str, i64)]) -> bool {
    let evidence: Evidence =
        evidence.iter().map(|(request, number)| ((*request).to_owned(), (EventNumber::new(*number), 0))).collect();
    let records: Vec<&Record> = records.iter().collect();
    History::new(&records, &evidence).explain(Project::new(&["task 0".to_owned()], 4)).is_ok()
}

fn held_by(holder: usize) -> Got {
    let Answer::Refused { code, version, fence, status, .. } = refused("task_held") else { unreachable!() };
    Got::Answer(Answer::Refused { code, holder: Some(holder), version, fence, status })
}

fn stale(current: i64) -> Got {
    let Answer::Refused { code, holder, version, status, .. } = refused("stale_fence") else { unreachable!() };
    Got::Answer(Answer::Refused { code, holder, version, fence: Some(current), status })
}

#[test]
fn inv_l1_one_of_two_claims_at_once_is_granted() {
    let winner = claim(0, 0, 10, 60, granted(0, 5, 2, 1));
    assert!(has_order(&[winner.clone(), claim(1, 0, 10, 60, held_by(0))], &[]));
    // Invalid: both win; or the loser is told a holder that has nothing.
    assert!(!has_order(&[winner.clone(), claim(1, 0, 10, 60, granted(1, 6, 3, 2))], &[]));
    assert!(!has_order(&[winner, claim(1, 0, 10, 60, held_by(2))], &[]));
}

#[test]
fn inv_t3_real_time_is_part_of_the_order() {
    // Invalid: the refusal names a holder that asked only after the refusal was given.
    let early = claim(1, 0, 1, 60, held_by(0));
    assert!(!has_order(&[early, claim(0, 5, 10, 60, granted(0, 5, 2, 1))], &[]));
    // A query that began after the grant returned must see it; one that overlaps need not.
    let grant = claim(0, 0, 10, 60, granted(0, 5, 2, 1));
    assert!(!has_order(&[grant.clone(), show(1, 11, 12, view("open", 1, 0, None))], &[]));
    assert!(has_order(&[grant.clone(), show(1, 9, 12, view("open", 1, 0, None))], &[]));
    // Two consecutive queries do not go back in time.
    let after = show(1, 1, 2, view("started", 2, 1, Some((0, 5))));
    assert!(!has_order(&[grant, after, show(2, 3, 4, view("open", 1, 0, None))], &[]));
}

#[test]
fn inv_l2_a_hold_ends_when_its_time_can_have_passed_and_not_before() {
    let grant = claim(0, 0, 10, 1, granted(0, 5, 2, 1));
    let taken = |from: i64| claim(1, from, from + 10, 60, granted(1, 9, 3, 2));
    assert!(has_order(&[grant.clone(), taken(1_000)], &[]));
    assert!(!has_order(&[grant.clone(), taken(900)], &[]));
    // A call at 700 ms renews the hold until 1,450 ms at least.
    let note = at(0, 700, 710, Ask::Note { task: 0, fence: None }, Got::Answer(Answer::Noted { late: false }));
    assert!(!has_order(&[grant.clone(), note.clone(), taken(1_300)], &[]));
    assert!(has_order(&[grant, note, taken(1_450)], &[]));
}

#[test]
fn inv_l4_who_finishes_does_so_under_the_newest_fence() {
    let lapses = claim(0, 0, 10, 1, granted(0, 5, 2, 1));
    let takes_over = claim(1, 1_500, 1_510, 60, granted(1, 9, 3, 2));
    let finished = |holder| told(view("done", 4, 2, holder));
    assert!(has_order(&[lapses.clone(), takes_over.clone(), done(0, 1_600, 1_610, 5, stale(9))], &[]));
    assert!(!has_order(&[lapses.clone(), takes_over.clone(), done(0, 1_600, 1_610, 5, finished(None))], &[]));
    assert!(has_order(&[lapses.clone(), takes_over, done(1, 1_600, 1_610, 9, finished(None))], &[]));
    // Finished late, with no other claim in between.
    let late = |late| Got::Answer(Answer::Task { task: 0, view: view("done", 3, 1, None), late });
    assert!(has_order(&[lapses.clone(), done(0, 1_600, 1_610, 5, late(true))], &[]));
    assert!(!has_order(&[lapses, done(0, 500, 510, 5, late(true))], &[]));
}

#[test]
fn inv_l1_fences_rise() {
    let gives_back = at(0, 20, 30, Ask::Release { task: 0, fence: Some(5) }, told(view("open", 3, 1, None)));
    let first = claim(0, 0, 10, 60, granted(0, 5, 2, 1));
    assert!(has_order(&[first.clone(), gives_back.clone(), claim(1, 40, 50, 60, granted(1, 7, 4, 2))], &[]));
    assert!(!has_order(&[first.clone(), gives_back.clone(), claim(1, 40, 50, 60, granted(1, 5, 4, 2))], &[]));
    assert!(!has_order(&[first, gives_back, claim(1, 40, 50, 60, granted(1, 4, 4, 2))], &[]));
}

#[test]
fn inv_l9_a_version_is_compared_and_raised_once() {
    let second = edit(1, 0, 10, 1, told(view("open", 3, 0, None)));
    let stale = Got::Answer(Answer::Refused {
        code: "stale_version".into(),
        holder: None,
        version: Some(2),
        fence: None,
        status: None,
    });
    let first = edit(0, 0, 10, 1, told(view("open", 2, 0, None)));
    assert!(has_order(&[first.clone(), edit(1, 0, 10, 1, stale)], &[]));
    assert!(!has_order(&[first.clone(), second], &[]), "accepted for a version that was gone");
    assert!(!has_order(&[first.clone(), edit(1, 0, 10, 1, told(view("open", 2, 0, None)))], &[]), "made twice");
    assert!(!has_order(&[first, show(2, 20, 30, view("open", 3, 0, None))], &[]), "raised by nobody");
}

#[test]
fn inv_t6_what_was_not_answered_takes_effect_once_or_never() {
    let unknown = claim(0, 0, 10, 60, Got::Unknown);
    let open = show(1, 20, 30, view("open", 1, 0, None));
    let held = show(1, 40, 50, view("started", 2, 1, Some((0, 5))));
    // The call never took effect, or after its client gave up.
    assert!(has_order(&[unknown.clone(), open.clone()], &[]));
    assert!(has_order(&[unknown.clone(), open.clone(), held.clone()], &[("r0-0", 5)]));
    // Invalid: the log has no such event, or the effect was undone without an event.
    assert!(!has_order(&[unknown.clone(), held.clone()], &[]));
    assert!(!has_order(&[unknown, held, show(1, 60, 70, view("open", 1, 0, None))], &[("r0-0", 5)]));
}

fn event(number: i64, kind: &str, request: &str) -> LoggedEvent {
    LoggedEvent {
        number: EventNumber::new(number),
        at: "2033-05-18T03:33:20Z".into(),
        kind: kind.into(),
        actor: "a0".into(),
        subject: "t-1".into(),
        hold: None,
        op: "x".into(),
        request_id: request.into(),
        cause: None,
        data: serde_json::Value::Null,
        title: None,
    }
}

fn is_told_rightly(records: &[Record], readings: &[Reading], events: &[LoggedEvent]) -> bool {
    let (records, readings): (Vec<_>, Vec<_>) = (records.iter().collect(), readings.iter().collect());
    facts::violations(&records, &readings, events, &["t-1".to_owned()]).is_empty()
}

#[test]
fn inv_t6_the_log_tells_each_change_once_and_no_refusal() {
    let grant = claim(0, 0, 10, 60, granted(0, 1, 2, 1));
    let loser = claim(1, 0, 10, 60, held_by(0));
    let one = event(1, kind::TASK_CLAIMED, "r0-0");
    assert!(is_told_rightly(&[grant.clone(), loser.clone()], &[], std::slice::from_ref(&one)));
    assert!(!is_told_rightly(&[grant.clone(), loser], &[], &[one.clone(), event(2, kind::TASK_CLAIMED, "r1-0")]));
    assert!(!is_told_rightly(&[grant], &[], &[one, event(2, kind::TASK_CLAIMED, "r0-0")]));
    let edited = edit(0, 0, 10, 1, told(view("open", 2, 0, None)));
    assert!(!is_told_rightly(&[edited], &[], &[]));
}

#[test]
fn inv_t3_numbers_follow_real_time_and_readers_miss_nothing() {
    let first = edit(0, 0, 10, 1, told(view("open", 2, 0, None)));
    let second = edit(1, 20, 30, 2, told(view("open", 3, 0, None)));
    let log = |a: &str, b: &str| [event(1, kind::TASK_EDITED, a), event(2, kind::TASK_EDITED, b)];
    let both = [first, second];
    assert!(is_told_rightly(&both, &[], &log("r0-0", "r1-20")));
    assert!(!is_told_rightly(&both, &[], &log("r1-20", "r0-0")));
    // Invalid: a reader read up to 2 before event 1 existed.
    let read = |digest| Reading { process: 2, project: 0, upto: EventNumber::new(2), digest };
    let one = digest(0, EventNumber::FIRST, kind::TASK_EDITED, "r0-0");
    let two = |before| digest(before, EventNumber::new(2), kind::TASK_EDITED, "r1-20");
    assert!(is_told_rightly(&both, &[read(two(one))], &log("r0-0", "r1-20")));
    assert!(!is_told_rightly(&both, &[read(two(0))], &log("r0-0", "r1-20")));
}

#[test]
fn inv_l4_a_finish_under_an_old_fence_is_seen_in_the_log() {
    let log = [
        event(1, kind::TASK_CLAIMED, "r0-0"),
        event(2, kind::TASK_CLAIMED, "r1-2000"),
        event(3, kind::TASK_DONE, "r0-3000"),
    ];
    let history = |fence| {
        [
            claim(0, 0, 10, 1, granted(0, 1, 2, 1)),
            claim(1, 2_000, 2_010, 1, granted(1, 2, 3, 2)),
            done(0, 3_000, 3_010, fence, told(view("done", 4, 2, None))),
        ]
    };
    assert!(is_told_rightly(&history(2), &[], &log));
    assert!(!is_told_rightly(&history(1), &[], &log));
}

#[test]
fn inv_m1_a_note_without_its_memory_and_a_change_that_was_lost_are_seen() {
    let note =
        |from| at(0, from, from + 10, Ask::Note { task: 0, fence: None }, Got::Answer(Answer::Noted { late: false }));
    let both = [note(0), note(20)];
    let memory = |number, kind: &str, request: &str, old: Option<&str>| {
        let old = old.map(|text| serde_json::json!({ "text": text }));
        LoggedEvent { data: serde_json::json!({ "text": request, "old": old }), ..event(number, kind, request) }
    };
    let log = |memories: &[LoggedEvent]| {
        let mut log = vec![event(1, kind::TASK_NOTED, "r0-0"), event(3, kind::TASK_NOTED, "r0-20")];
        log.extend(memories.iter().cloned());
        log.sort_by_key(|event| event.number);
        log
    };
    let first = memory(2, kind::MEMORY_ADDED, "r0-0", None);
    let second = memory(4, kind::MEMORY_CHANGED, "r0-20", Some("r0-0"));
    assert!(is_told_rightly(&both, &[], &log(&[first.clone(), second])));
    assert!(!is_told_rightly(&both, &[], &log(std::slice::from_ref(&first))));
    assert!(!is_told_rightly(&both, &[], &log(&[first, memory(4, kind::MEMORY_ADDED, "r0-20", None)])));
}
