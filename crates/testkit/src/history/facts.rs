//! Checks a history against the log, independent of its order: each acknowledged change is present once, in an order
//! consistent with real time, and nothing else is.

use std::collections::{BTreeMap, HashMap, HashSet};

use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_kernel::answer::LoggedEvent;

use super::record::{Answer, Ask, Got, Reading, Record, digest};
use super::search::Evidence;

/// Whether an event records the effect of an op.
fn tells(event: &LoggedEvent) -> bool {
    matches!(
        event.kind.as_str(),
        kind::TASK_CLAIMED
            | kind::HOLD_TRANSFERRED
            | kind::TASK_DONE
            | kind::TASK_RELEASED
            | kind::TASK_BLOCKED
            | kind::TASK_UNBLOCKED
            | kind::TASK_REOPENED
            | kind::TASK_NOTED
            | kind::TASK_EDITED
    )
}

/// The event number and the task that the log records for each request.
pub(super) fn evidence(events: &[LoggedEvent], tasks: &[String]) -> Evidence {
    let place = |event: &LoggedEvent| tasks.iter().position(|task| *task == event.subject);
    events
        .iter()
        .filter(|event| tells(event))
        .filter_map(|event| Some((event.request_id.clone(), (event.number, place(event)?))))
        .collect()
}

/// All violations.
pub(super) fn violations(
    records: &[&Record],
    readings: &[&Reading],
    events: &[LoggedEvent],
    tasks: &[String],
) -> Vec<String> {
    let mut wrong = Vec::new();
    for record in records {
        if let Got::Odd(what) = &record.got {
            wrong.push(format!("{record:?} was answered with {what}"));
        }
    }
    wrong.extend(once_each(records, events));
    wrong.extend(in_real_time(records, &evidence(events, tasks)));
    wrong.extend(fences(records, events));
    wrong.extend(versions(records, events, tasks));
    wrong.extend(readers(readings, events));
    wrong.extend(memories(records, events));
    wrong
}

/// Whether the answer implies a change with an event.
fn took_effect(record: &Record, numbers: &HashMap<&str, Vec<EventNumber>>) -> Option<bool> {
    match (&record.ask, &record.got) {
        (_, Got::Unknown | Got::Odd(_)) => None,
        (Ask::Show { .. }, _) | (_, Got::Undone | Got::Answer(Answer::Refused { .. } | Answer::Nothing)) => Some(false),
        // A repeated claim by the holder is answered without an event; the fence is then that of an earlier request.
        (Ask::Claim { .. }, Got::Answer(Answer::Task { view, .. })) => {
            let own = numbers
                .get(record.request.as_str())
                .is_some_and(|told| view.holder.is_some_and(|(_, f)| told == &[EventNumber::new(f)]));
            if own { Some(true) } else { Some(false) }
        }
        _ => Some(true),
    }
}

/// T6, T15: an acknowledged change is in the log once, a refusal is not, and an unanswered call is at most once.
fn once_each(records: &[&Record], events: &[LoggedEvent]) -> Vec<String> {
    let mut numbers: HashMap<&str, Vec<EventNumber>> = HashMap::new();
    for event in events.iter().filter(|event| tells(event)) {
        numbers.entry(&event.request_id).or_default().push(event.number);
    }
    let mut wrong = Vec::new();
    for record in records {
        let told = numbers.get(record.request.as_str()).map_or(0, Vec::len);
        let right = match took_effect(record, &numbers) {
            Some(true) => told == 1,
            Some(false) => told == 0,
            None => told <= 1,
        };
        if !right {
            wrong.push(format!("{record:?} is in the log {told} times"));
        }
    }
    wrong
}

/// T3: a call that returned before another was invoked has the smaller number.
fn in_real_time(records: &[&Record], evidence: &Evidence) -> Vec<String> {
    let mut numbered: Vec<(EventNumber, &Record)> =
        records.iter().filter_map(|record| Some((evidence.get(&record.request)?.0, *record))).collect();
    numbered.sort_by_key(|(number, _)| *number);
    // From the newest to the oldest: no call may be invoked after the earliest return among the later numbers.
    let mut wrong = Vec::new();
    let mut first_return = i64::MAX;
    for (number, record) in numbered.into_iter().rev() {
        if record.invoked > first_return {
            wrong.push(format!("event {number} was asked for after a later event had been answered: {record:?}"));
        }
        if !matches!(record.got, Got::Unknown | Got::Undone) {
            first_return = first_return.min(record.returned);
        }
    }
    wrong
}

/// L1, L4: a fence belongs to one holder of one task, and a task is finished under its newest fence.
fn fences(records: &[&Record], events: &[LoggedEvent]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut owners: HashMap<i64, (usize, usize)> = HashMap::new();
    for record in records {
        let seen = match &record.got {
            Got::Answer(Answer::Task { task, view, .. }) => view.holder.map(|(holder, fence)| (fence, (*task, holder))),
            _ => None,
        };
        if let Some((fence, owner)) = seen
            && *owners.entry(fence).or_insert(owner) != owner
        {
            wrong.push(format!("fence {fence} was given to {:?} and to {owner:?} (task, agent)", owners[&fence]));
        }
    }
    let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
    let asked: HashMap<&str, &Record> = records.iter().map(|record| (record.request.as_str(), *record)).collect();
    for event in events {
        match (event.kind.as_str(), asked.get(event.request_id.as_str()).map(|record| &record.ask)) {
            (kind::TASK_CLAIMED | kind::HOLD_TRANSFERRED, _) => {
                newest.insert(&event.subject, event.number.get());
            }
            (kind::TASK_DONE, Some(Ask::Done { fence: Some(fence), .. })) => {
                let current = newest.get(event.subject.as_str()).copied().unwrap_or(0);
                if *fence != current {
                    wrong.push(format!(
                        "event {} finished under {fence} while {current} had been granted",
                        event.number
                    ));
                }
            }
            _ => {}
        }
    }
    wrong
}

/// L9: each acknowledged change raised the version once, and no two produced the same version.
fn versions(records: &[&Record], events: &[LoggedEvent], tasks: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let raising =
            events.iter().filter(|event| event.subject == *task && tells(event) && event.kind != kind::TASK_NOTED);
        let last = 1 + i64::try_from(raising.count()).unwrap_or(i64::MAX);
        let mut made: HashMap<i64, &Record> = HashMap::new();
        for record in records {
            let Got::Answer(Answer::Task { task, view, .. }) = &record.got else { continue };
            if *task != place {
                continue;
            }
            if view.version > last {
                wrong.push(format!("version {} of {place} was told, and the log has {last}: {record:?}", view.version));
            }
            let reads = matches!(record.ask, Ask::Show { .. } | Ask::Claim { .. });
            if !reads && let Some(other) = made.insert(view.version, record) {
                wrong.push(format!("version {} of {place} was made twice: {other:?} and {record:?}", view.version));
            }
        }
    }
    wrong
}

/// L11, M1: each note stored its memory, and each memory records the text of its predecessor.
fn memories(records: &[&Record], events: &[LoggedEvent]) -> Vec<String> {
    let asked: HashSet<&str> = records.iter().map(|record| record.request.as_str()).collect();
    let is_memory = |event: &&LoggedEvent| [kind::MEMORY_ADDED, kind::MEMORY_CHANGED].contains(&event.kind.as_str());
    let requests = |of: &dyn Fn(&&LoggedEvent) -> bool| -> Vec<&str> {
        events.iter().filter(of).map(|event| event.request_id.as_str()).collect()
    };
    let (notes, memories) = (
        requests(&|event| event.kind == kind::TASK_NOTED && asked.contains(event.request_id.as_str())),
        requests(&is_memory),
    );
    let mut wrong = Vec::new();
    if notes != memories {
        wrong.push(format!("noted by {notes:?}, remembered by {memories:?}"));
    }
    let mut before = None;
    for event in events.iter().filter(is_memory) {
        let old = event.data.pointer("/old/text").and_then(|text| text.as_str());
        if old != before || (event.kind == kind::MEMORY_ADDED) != before.is_none() {
            wrong.push(format!("event {} changed {old:?}, and {before:?} was there", event.number));
        }
        before = event.data["text"].as_str();
    }
    wrong
}

/// T3: a reader that has read up to N has read everything up to N: no event appears at or below N later.
fn readers(readings: &[&Reading], events: &[LoggedEvent]) -> Vec<String> {
    let mut upto = vec![0];
    for event in events {
        upto.push(digest(*upto.last().unwrap_or(&0), event.number, &event.kind, &event.request_id));
    }
    let differs = |reading: &&&Reading| {
        let end = usize::try_from(reading.upto.get()).ok().and_then(|end| upto.get(end));
        end != Some(&reading.digest)
    };
    readings
        .iter()
        .filter(differs)
        .map(|reading| format!("process {} read other events up to {} than there are", reading.process, reading.upto))
        .collect()
}
