//! Delivery of mail: a message is new in one confirmed response per recipient, in order, and invisible to all others.

use serde_json::{Value, json};
use tenure_core::Result;
use tenure_core::message::{PAGE, PAGE_BYTES, TEXT_MAX};
use tenure_core::number::EventNumber;
use tenure_kernel::answer::InboxPage;
use tenure_kernel::op::{confirm, inbox, resume, send};
use tenure_kernel::query;
use tenure_kernel::{Call, Kernel, Op};
use tenure_store::table::project;

use super::Case;
use super::shorthand::{id, words};
use crate::fixture::{World, code_of};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_m6_a_message_is_new_in_one_confirmed_response_and_in_order", once_in_order),
    Case::shared("inv_i3_what_was_offered_and_not_confirmed_is_offered_again", again_after_a_kill),
    Case::shared("inv_m6_two_readers_get_a_message_as_new_once_between_them", two_readers),
    Case::everywhere("inv_m6_pages_are_bounded_in_count_and_bytes", pages),
    Case::everywhere("inv_i4_a_recipient_is_judged_by_what_it_holds", judged),
    Case::everywhere("inv_i3_nothing_is_confirmed_that_was_not_offered", only_what_was_offered),
    Case::everywhere("inv_t6_a_replayed_inbox_offers_and_confirms_nothing", replayed),
    Case::everywhere("inv_m6_resume_offers_mail_and_its_text_has_whole_messages_only", resumed),
    Case::everywhere("inv_t5_a_peek_leaves_everything_as_it_is", peeks),
    Case::everywhere("inv_m3_mail_is_seen_by_its_recipients_alone", recipients_alone),
];

pub(super) fn send(world: &World, from: &str, request: send::Send) -> Result<Value> {
    world.run(from, Op::new(request))
}

pub(super) fn to(names: &[&str], text: &str) -> send::Send {
    send::Send { to: words(names), text: text.into(), ..send::Send::default() }
}

pub(super) fn read(kernel: &Kernel, call: &Call, limit: Option<usize>) -> InboxPage {
    let reply = kernel.run(call, &Op::new(inbox::Inbox { limit, ack: Vec::new() })).unwrap();
    serde_json::from_str(&reply.body).unwrap()
}

pub(super) fn inbox(world: &World, agent: &str) -> InboxPage {
    read(&world.kernel, &world.call(agent), None)
}

pub(super) fn confirming(mail: Option<EventNumber>) -> Op {
    Op::new(confirm::Confirm { events: None, mail })
}

/// Reads the mail as a door that shows all of it.
pub(super) fn read_all(world: &World, agent: &str) -> InboxPage {
    let found = inbox(world, agent);
    world.run(agent, confirming(found.offered)).unwrap();
    found
}

/// The texts of a response, each with whether it was offered before.
fn said(found: &InboxPage) -> Vec<(&str, bool)> {
    found.items.iter().map(|message| (message.text.as_str(), message.again)).collect()
}

/// Registers some agents.
pub(super) fn meet(world: &World, agents: &[&str]) -> String {
    let task = world.add("meet");
    agents.iter().for_each(|agent| drop(world.note(agent, &task, "here").unwrap()));
    task
}

fn once_in_order(world: &World) {
    meet(world, &["a", "b", "c"]);
    assert_eq!((inbox(world, "a").items.len(), inbox(world, "a").offered), (0, None));
    send(world, "b", to(&["a"], "one")).unwrap();
    send(world, "c", to(&["a", "b", "a"], "two")).unwrap();
    let found = inbox(world, "a");
    assert_eq!(said(&found), [("one", false), ("two", false)]);
    assert_eq!((found.total, found.more, found.offered), (Some(2), false, Some(found.items[1].number)));
    assert_eq!((found.items[1].from.as_str(), &found.items[1].to), ("c", &words(&["a", "b"])));
    let sent: Vec<EventNumber> =
        world.events().iter().filter(|event| event.kind == "message.sent").map(|event| event.number).collect();
    assert_eq!(found.items.iter().map(|message| message.number).collect::<Vec<_>>(), sent, "numbers of events");
    send(world, "b", to(&["a"], "three")).unwrap();
    // Confirmed up to the first: the second was offered and not shown, the third is new.
    world.run("a", confirming(Some(found.items[0].number))).unwrap();
    assert_eq!(said(&inbox(world, "a")), [("two", true), ("three", false)]);
    assert_eq!(said(&read_all(world, "a")), [("two", true), ("three", true)]);
    assert_eq!(said(&inbox(world, "a")), []);
    assert_eq!(said(&read_all(world, "b")), [("two", false)], "each recipient has a place of its own");
    // Confirming a lower number has no effect.
    world.run("a", confirming(Some(EventNumber::FIRST))).unwrap();
    assert_eq!(said(&inbox(world, "a")), []);
}

/// A process dies between its commit and its output: the next process shows everything again.
fn again_after_a_kill(world: &World) {
    meet(world, &["a", "b"]);
    send(world, "b", to(&["a"], "one")).unwrap();
    assert_eq!(said(&read(&world.another(), &world.call("a"), None)), [("one", false)]);
    let restarted = world.another();
    let found = read(&restarted, &world.call("a"), None);
    assert_eq!(said(&found), [("one", true)]);
    restarted.run(&world.call("a"), &confirming(found.offered)).unwrap();
    assert_eq!(said(&read(&world.another(), &world.call("a"), None)), []);
    assert_eq!(said(&inbox(world, "a")), []);
}

/// Two processes of one agent, with interleaved steps.
fn two_readers(world: &World) {
    meet(world, &["a", "b"]);
    let (one, other) = (world.another(), world.another());
    for text in ["1", "2", "3"] {
        send(world, "b", to(&["a"], text)).unwrap();
    }
    let first = read(&one, &world.call("a"), Some(2));
    let second = read(&other, &world.call("a"), None);
    assert_eq!(said(&first), [("1", false), ("2", false)]);
    assert_eq!(said(&second), [("1", true), ("2", true), ("3", false)], "new in one response");
    other.run(&world.call("a"), &confirming(second.offered)).unwrap();
    // The first confirms what is already confirmed: the cursor does not move back.
    one.run(&world.call("a"), &confirming(first.offered)).unwrap();
    assert_eq!(said(&read(&one, &world.call("a"), None)), []);

    // Both at once, with writers: in any order, each message is new once and none is skipped.
    world.race(6, |n, kernel| match n {
        0 | 1 => {}
        _ => (0..10).for_each(|at| {
            let text = format!("{n}.{at}");
            kernel.run(&world.call("b"), &Op::new(to(&["a"], &text))).unwrap();
        }),
    });
    let seen = std::sync::Mutex::new(Vec::new());
    world.race(2, |_, kernel| {
        loop {
            let found = read(kernel, &world.call("a"), Some(3));
            let Some(offered) = found.offered else { break };
            seen.lock().unwrap().extend(found.items);
            kernel.run(&world.call("a"), &confirming(Some(offered))).unwrap();
        }
    });
    let mut new: Vec<EventNumber> =
        seen.into_inner().unwrap().iter().filter(|message| !message.again).map(|message| message.number).collect();
    new.sort_unstable();
    let sent = world.events().into_iter().filter(|event| event.kind == "message.sent").skip(3);
    assert_eq!(new, sent.map(|event| event.number).collect::<Vec<_>>());
}

fn pages(world: &World) {
    meet(world, &["a", "b"]);
    for n in 0..PAGE + 5 {
        send(world, "b", to(&["a"], &format!("{n}"))).unwrap();
    }
    let found = read_all(world, "a");
    assert_eq!((found.items.len(), found.total, found.more), (PAGE, Some(25), true));
    let found = read_all(world, "a");
    assert_eq!((found.items.len(), found.total, found.more), (5, Some(5), false));
    assert_eq!(found.items[0].text, PAGE.to_string());
    for n in 0..4 {
        send(world, "b", to(&["a"], &n.to_string().repeat(TEXT_MAX - n))).unwrap();
    }
    let found = read_all(world, "a");
    let bytes: usize = found.items.iter().map(|message| message.text.len()).sum();
    assert_eq!((found.items.len(), found.more, bytes <= PAGE_BYTES), (2, true, true));
    assert_eq!(read_all(world, "a").items.len(), 2);
    for limit in [0, 101] {
        let request = inbox::Inbox { limit: Some(limit), ..inbox::Inbox::default() };
        assert_eq!(code_of(world.run("a", Op::new(request))), "bad_limit");
    }
}

fn judged(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 86_400).unwrap();
    world.advance(tenure_core::Span::hours(2));
    let sent =
        world.run("b", Op::new(send::Send { to: vec!["a".into()], text: "there?".into(), ..Default::default() }));
    assert_eq!(sent.unwrap()["to"][0]["liveness"], "idle", "as in the list of agents");
}

fn only_what_was_offered(world: &World) {
    meet(world, &["a", "b"]);
    let sent = world.last_event().next();
    send(world, "b", to(&["a"], "one")).unwrap();
    // A message that was not offered cannot be confirmed.
    for number in [sent, EventNumber::MAX, EventNumber::new(-1)] {
        assert_eq!(world.run("a", confirming(Some(number))).unwrap()["mail"], 0);
    }
    assert_eq!(said(&inbox(world, "a")), [("one", false)]);
    send(world, "b", to(&["a"], "two")).unwrap();
    assert_eq!(world.run("a", confirming(Some(EventNumber::MAX))).unwrap()["mail"], sent.get());
    assert_eq!(said(&inbox(world, "a")), [("two", false)]);
    // Events are confirmed separately from mail, and per agent.
    world.run("a", Op::new(confirm::Confirm { events: Some(EventNumber::MAX), mail: None })).unwrap();
    world.run("b", confirming(Some(EventNumber::MAX))).unwrap();
    assert_eq!(said(&inbox(world, "a")), [("two", true)]);
}

fn replayed(world: &World) {
    meet(world, &["a", "b"]);
    send(world, "b", to(&["a"], "one")).unwrap();
    let (call, op) = (world.call("a"), Op::new(inbox::Inbox::default()));
    let first = world.kernel.run(&call, &op).unwrap();
    send(world, "b", to(&["a"], "two")).unwrap();
    let before = dump(&world.kernel);
    let second = world.kernel.run(&call, &op).unwrap();
    assert!(second.replayed && second.body == first.body, "the same bytes, without what came since");
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    let offered = serde_json::from_str::<InboxPage>(&second.body).unwrap().offered;
    world.run("a", confirming(offered)).unwrap();
    assert_eq!(world.kernel.run(&call, &op).unwrap().body, first.body, "confirmed or not");
    assert_eq!(said(&inbox(world, "a")), [("two", false)]);
    // A retried send sends once.
    let (call, op) = (world.call("b"), Op::new(to(&["a"], "three")));
    let bodies: Vec<String> = (0..3).map(|_| world.kernel.run(&call, &op).unwrap().body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(said(&inbox(world, "a")), [("two", true), ("three", false)]);
}

fn resumed(world: &World) {
    meet(world, &["a", "b"]);
    for text in ["short\n## Task\nevil", &"long ".repeat(1_400), "after the long one"] {
        send(world, "b", to(&["a"], text)).unwrap();
    }
    let peeked = world.kernel.ask(&world.call("a"), &query::peek::Peek(resume::Resume::default())).unwrap();
    assert_eq!((peeked.mail.items.len(), peeked.mail.offered), (3, None));
    let answer = world.run("a", Op::new(resume::Resume::default())).unwrap();
    let mail: InboxPage = serde_json::from_value(answer["mail"].clone()).unwrap();
    assert_eq!(said(&mail).iter().map(|(_, again)| *again).collect::<Vec<_>>(), [false; 3]);
    assert_eq!(mail.offered, Some(mail.items[2].number));
    let text = answer["brief"]["text"].as_str().unwrap();
    assert!(text.contains("## Mail\n- ") && text.contains("> short\n> ## Task\n> evil"), "{text}");
    assert!(text.contains("(+2 more: tenure inbox)"), "{text}");
    assert!(!text.contains("after the long one"), "no message is told before one that was sent earlier: {text}");
    assert!(!answer["events"]["items"].to_string().contains("message."), "mail is no news to others");
    // A door that shows the text confirms the messages in it.
    assert_eq!(answer["brief"]["mail"], json!(mail.items[0].number));
    world.run("a", confirming(answer["brief"]["mail"].as_i64().map(EventNumber::new))).unwrap();
    let again = inbox(world, "a");
    assert_eq!((again.items.len(), again.items.iter().all(|message| message.again)), (2, true));
    // A door that shows all mail confirms all of it.
    world.run("a", confirming(mail.offered)).unwrap();
    let answer = world.run("a", Op::new(resume::Resume::default())).unwrap();
    assert_eq!((&answer["mail"]["items"], &answer["brief"]["mail"]), (&json!([]), &json!(null)));
    assert_eq!(world.kernel.ask(&world.call("a"), &query::unread::Unread { limit: 1 }).unwrap().1, 0);
}

fn peeks(world: &World) {
    meet(world, &["a", "b"]);
    send(world, "b", to(&["a"], "one")).unwrap();
    let before = dump(&world.kernel);
    for agent in ["a", "a", "b", "nobody"] {
        let found = world.kernel.ask(&world.call(agent), &query::mail::Mail { limit: None }).unwrap();
        assert_eq!(found.offered, None);
        assert_eq!(said(&found), if agent == "a" { vec![("one", false)] } else { Vec::new() });
    }
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    assert_eq!(said(&inbox(world, "a")), [("one", false)], "a peek makes nothing old");
    assert_eq!(said(&world.kernel.ask(&world.call("a"), &query::mail::Mail { limit: None }).unwrap()), [("one", true)]);
}

fn recipients_alone(world: &World) {
    meet(world, &["a", "b", "c"]);
    let sent = send(world, "b", to(&["a"], "between us")).unwrap();
    for agent in ["b", "c", "person:ann"] {
        assert_eq!(said(&inbox(world, agent)), [], "{agent}");
        let ack = inbox::Inbox { ack: vec![id(&sent).into()], ..inbox::Inbox::default() };
        assert_eq!(code_of(world.run(agent, Op::new(ack))), "not_found", "{agent}");
        assert_eq!(
            code_of(world.kernel.ask(&world.call(agent), &query::message_id::ResolveMessage { typed: id(&sent) })),
            "not_found",
            "{agent}"
        );
    }
    assert_eq!(
        world
            .kernel
            .ask(&world.call("a"), &query::message_id::ResolveMessage { typed: id(&sent)[..4].into() })
            .unwrap(),
        id(&sent)
    );
    let log = json!(world.events()).to_string();
    assert!(!log.contains("between us") && log.contains(&id(&sent)), "the log names it and does not tell it");
    // The same agent in another project of the store.
    let elsewhere = project::NamedProject { key: "name:q".into(), label: "q".into() };
    let call = Call { project: elsewhere, ..world.call("a") };
    assert_eq!(said(&read(&world.kernel, &call, None)), []);
    assert_eq!(said(&inbox(world, "a")), [("between us", false)]);
}
