//! Mail under load: many processes write to one agent while two processes of that agent read and confirm. Each reader
//! sometimes dies between reading and confirming.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tenure_client::phrasing::Commands;
use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_kernel::answer::InboxPage;
use tenure_kernel::op::{confirm, inbox, note, send};
use tenure_kernel::{Kernel, Op};
use tenure_store::{Durability, Options};

use super::{Order, add, call, events, heard, location, say};
use crate::report::{Budget, Section};

/// The recipient of all messages.
const READER: &str = "reader";
/// The second recipient of every other message.
const OTHER: &str = "other";
/// The page size of a reader.
const PAGE: usize = 7;
/// The number of processes that read as one agent.
const READERS: usize = 2;

/// A response to a reader: the numbers of its messages, and whether each was offered before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Response {
    messages: Vec<(EventNumber, bool)>,
    confirmed: bool,
}

fn open(store: &str) -> Kernel {
    // Durability is tested elsewhere; here most of the time would be waiting for the disk.
    Kernel::new(
        location(store),
        Options { durability: Durability::Fast, ..Options::default() },
        tenure_client::phrasing::of,
    )
    .unwrap()
}

/// A sender: waits for a byte, sends, and reports failures.
pub(super) fn write(input: &mut impl BufRead, store: &str, sender: usize, messages: usize) -> i32 {
    let kernel = open(store);
    let mut start = [0];
    input.read_exact(&mut start).unwrap();
    let mut failed = Vec::new();
    for n in 0..messages {
        let mut to = vec![READER.to_owned()];
        to.extend((n % 2 == 0).then(|| OTHER.to_owned()));
        let request = send::Send {
            to: to.into_iter().map(Into::into).collect(),
            text: format!("{sender}.{n}"),
            ..send::Send::default()
        };
        if let Err(error) = kernel.run(&call("p", &format!("sender-{sender}")), &Op::new(request)) {
            failed.push(error.to_json(&Commands).to_string());
        }
    }
    say(&mut std::io::stdout().lock(), &failed);
    0
}

/// A reader: waits for a byte, reads for some rounds, waits for another byte, and reads until there is nothing new.
pub(super) fn read(input: &mut impl BufRead, store: &str, reader: usize, rounds: usize) -> i32 {
    let kernel = open(store);
    let mut byte = [0];
    let mut responses = Vec::new();
    input.read_exact(&mut byte).unwrap();
    for round in 0..rounds {
        responses.push(one(&kernel, READER, round % 3 != reader));
    }
    input.read_exact(&mut byte).unwrap();
    loop {
        let response = one(&kernel, READER, true);
        // A confirmed message that returns would return for ever: seeing it once more is a violation.
        let stuck = responses.last().is_some_and(|last: &Response| {
            last.confirmed && !last.messages.is_empty() && last.messages.first() == response.messages.first()
        });
        if response.messages.is_empty() {
            break;
        }
        responses.push(response);
        if stuck {
            break;
        }
    }
    say(&mut std::io::stdout().lock(), &responses);
    0
}

/// Reads once, and confirms unless it dies before that.
fn one(kernel: &Kernel, agent: &str, confirms: bool) -> Response {
    let request = inbox::Inbox { limit: Some(PAGE), ..inbox::Inbox::default() };
    let reply = kernel.run(&call("p", agent), &Op::new(request)).unwrap();
    let found: InboxPage = serde_json::from_str(&reply.body).unwrap();
    if confirms && found.offered.is_some() {
        let request = confirm::Confirm { events: None, mail: found.offered };
        kernel.run(&call("p", agent), &Op::new(request)).unwrap();
    }
    let messages = found.items.iter().map(|message| (message.number, message.again)).collect();
    Response { messages, confirmed: confirms }
}

struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

fn start(order: &Order) -> Worker {
    let mut command = crate::worker::command("race");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut orders = child.stdin.take().unwrap();
    say(&mut orders, order);
    let answers = BufReader::new(child.stdout.take().unwrap());
    Worker { child, orders, answers }
}

/// Runs the senders and the two readers, and returns the violations.
fn run(store: &str, senders: usize, messages: usize) -> Vec<String> {
    let kernel = Kernel::new(location(store), Options::default(), tenure_client::phrasing::of).unwrap();
    let task = add(&kernel, 1).remove(0);
    for agent in [READER, OTHER] {
        let request = note::Note { task: Some(task.clone().into()), text: "here".into(), ..note::Note::default() };
        kernel.run(&call("p", agent), &Op::new(request)).unwrap();
    }
    let store = || store.to_owned();
    let mut writers: Vec<Worker> =
        (0..senders).map(|sender| start(&Order::Write { store: store(), sender, messages })).collect();
    let mut readers: Vec<Worker> =
        (0..READERS).map(|reader| start(&Order::Read { store: store(), reader, rounds: 2 * messages })).collect();
    for worker in readers.iter_mut().chain(&mut writers) {
        worker.orders.write_all(b"!").unwrap();
    }
    let mut wrong: Vec<String> = Vec::new();
    for worker in &mut writers {
        let failed: Vec<String> = heard(&mut worker.answers);
        wrong.extend(failed.into_iter().map(|error| format!("a message was not sent: {error}")));
    }
    for worker in &mut readers {
        worker.orders.write_all(b"!").unwrap();
    }
    let read: Vec<Vec<Response>> = readers.iter_mut().map(|worker| heard(&mut worker.answers)).collect();
    for worker in writers.iter_mut().chain(&mut readers) {
        assert!(worker.child.wait().unwrap().success());
    }
    let log = events(&kernel, "p").unwrap();
    let of = |agent: &str| -> Vec<EventNumber> {
        let has = |to: &serde_json::Value| to.as_array().is_some_and(|to| to.iter().any(|to| to == agent));
        log.iter()
            .filter(|event| event.kind == kind::MESSAGE_SENT && has(&event.data["to"]))
            .map(|event| event.number)
            .collect()
    };
    let sent = of(READER);
    if sent.len() != senders * messages {
        wrong.push(format!("{} messages in the log, not {}", sent.len(), senders * messages));
    }
    wrong.extend(judge(&sent, &read));
    // The other recipient has read nothing so far: all its messages are new, once.
    let mut others = Vec::new();
    loop {
        let response = one(&kernel, OTHER, true);
        if response.messages.is_empty() {
            break;
        }
        others.push(response);
    }
    wrong.extend(judge(&of(OTHER), &[others]));
    wrong
}

/// Each message is new in one response, is in a confirmed response, and messages arrive in order.
fn judge(sent: &[EventNumber], read: &[Vec<Response>]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut new: BTreeMap<EventNumber, usize> = BTreeMap::new();
    let mut confirmed: BTreeSet<EventNumber> = BTreeSet::new();
    for responses in read {
        let (mut begins, mut shown) = (EventNumber::START, EventNumber::START);
        for Response { messages, confirmed: is_confirmed } in responses {
            let numbers: Vec<EventNumber> = messages.iter().map(|(number, _)| *number).collect();
            let Some(first) = numbers.first() else { continue };
            let at = sent.partition_point(|number| number < first);
            if !sent[at..].starts_with(&numbers) || numbers.len() > PAGE {
                wrong.push(format!("a response has {numbers:?}, which is not a part of what was sent"));
            }
            if *first < begins {
                wrong.push(format!("a reader went back from {begins} to {first}"));
            }
            begins = *first;
            if *first <= shown {
                wrong.push(format!("{first} came again after {shown} was confirmed"));
            }
            messages.iter().filter(|(_, again)| !again).for_each(|(number, _)| *new.entry(*number).or_default() += 1);
            if *is_confirmed {
                shown = numbers.last().copied().unwrap_or(shown);
                confirmed.extend(numbers);
            }
        }
    }
    for number in sent {
        match new.get(number) {
            Some(1) => {}
            times => wrong.push(format!("{number} was new {} times", times.copied().unwrap_or(0))),
        }
        if !confirmed.contains(number) {
            wrong.push(format!("{number} was never confirmed"));
        }
    }
    wrong
}

fn assert_right(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} violations, the first of them:\n{}", wrong.len(), wrong[0]);
}

pub(super) fn on_sqlite() {
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    assert_right(&run(&dir.path().join("tenure.db").display().to_string(), 8, 10));
}

pub(super) fn on_postgres() {
    let server = crate::pg::server();
    assert_right(&run(&server.url(&server.fresh_schema()), 8, 10));
}

pub(super) fn soak(budget: Budget) -> Section {
    let mut section = Section::new("Mail");
    section.figure("senders, messages of each, readers", format!("30, 50, {READERS}"));
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    let server = crate::pg::server();
    for name in ["SQLite", "PostgreSQL"] {
        let begun = Instant::now();
        let mut rounds = 0;
        while rounds == 0 || begun.elapsed() < budget.time / 2 {
            let store = match name {
                "SQLite" => dir.path().join(format!("{rounds}.db")).display().to_string(),
                _ => server.url(&server.fresh_schema()),
            };
            section.violations.extend(run(&store, 30, 50).into_iter().map(|what| format!("{name}: {what}")));
            rounds += 1;
        }
        section.figure(&format!("{name}: rounds"), rounds);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(messages: &[(i64, bool)], confirmed: bool) -> Response {
        let messages = messages.iter().map(|(number, again)| (EventNumber::new(*number), *again)).collect();
        Response { messages, confirmed }
    }

    #[test]
    fn inv_m6_what_is_lost_told_twice_or_out_of_order_is_seen() {
        let sent = [3, 5].map(EventNumber::new);
        let dead = response(&[(3, false)], false);
        let good = response(&[(3, true), (5, false)], true);
        assert_eq!(judge(&sent, &[vec![dead.clone()], vec![good.clone()]]), [""; 0]);
        let bad: [Vec<Vec<Response>>; 6] = [
            // Invalid: never confirmed, new twice, never new, with a gap, out of order, and returned after it was
            // confirmed.
            vec![vec![response(&[(3, false), (5, false)], false)]],
            vec![vec![response(&[(3, false), (5, false)], true)], vec![response(&[(3, false)], false)]],
            vec![vec![response(&[(3, true), (5, false)], true)]],
            vec![vec![response(&[(5, false)], true), response(&[(3, false)], true)]],
            vec![vec![response(&[(5, false), (3, false)], true)]],
            vec![vec![response(&[(3, false), (5, false)], true), response(&[(5, true)], true)]],
        ];
        for read in bad {
            assert_ne!(judge(&sent, &read), [""; 0], "{read:?}");
        }
    }
}
