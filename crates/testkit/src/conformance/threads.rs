//! Replies, their threads, and messages to everyone.

use tenure_core::Span;
use tenure_core::message::{EVERYONE_MAX, Urgency};
use tenure_kernel::op::send;

use super::Case;
use super::mail::{inbox, read_all, send, to};
use crate::fixture::{Engine, World, code_of, kind_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("a_reply_goes_to_the_author_in_the_same_thread", replies),
    Case::everywhere("a_reply_is_about_the_same_thing_and_as_urgent", inherits),
    Case::everywhere("inv_m3_a_reply_needs_a_message_of_ones_own", own_messages),
    Case::everywhere("inv_m6_a_message_to_all_is_new_once_to_each_agent_that_is_here", everyone),
    Case::only(&[Engine::Memory], "a_message_to_all_has_a_limit", too_many),
];

fn meet(world: &World, agents: &[&str]) {
    let task = world.add("hello");
    for agent in agents {
        world.note(agent, &task, "hello").unwrap();
    }
    world.cancel("person:ann", &task).unwrap();
}

fn reply(id: &str, text: &str) -> send::Send {
    send::Send { reply: Some(id.into()), text: text.into(), ..send::Send::default() }
}

fn id(sent: &serde_json::Value) -> String {
    sent["id"].as_str().unwrap().to_owned()
}

fn replies(world: &World) {
    meet(world, &["a", "b", "c"]);
    let first = send(world, "a", to(&["b", "c"], "which one?")).unwrap();
    assert_eq!((first.get("reply_to"), first.get("thread")), (None, None), "the answer is as it always was");
    let second = send(world, "b", reply(&id(&first), "the left one")).unwrap();
    assert_eq!((&second["to"][0]["agent"], second["to"].as_array().unwrap().len()), (&"a".into(), 1));
    let found = read_all(world, "a");
    let got = &found.items[0];
    assert_eq!(got.reply_to.as_deref(), Some(id(&first).as_str()));
    assert_eq!(got.thread.as_deref(), Some(id(&first).as_str()));
    assert!(inbox(world, "a").items.is_empty());
    // The thread is that of the first message, however long it gets; a recipient that is named gets it.
    let third = send(world, "a", send::Send { to: vec!["c".into()], ..reply(&id(&second), "thanks") }).unwrap();
    assert_eq!((&third["reply_to"], &third["thread"]), (&second["id"], &first["id"]));
    // The author of a message writes on to its recipients.
    let on = send(world, "a", reply(&id(&first), "never mind")).unwrap();
    let names: Vec<&serde_json::Value> = on["to"].as_array().unwrap().iter().map(|to| &to["agent"]).collect();
    assert_eq!(names, ["b", "c"]);
    let found = read_all(world, "c");
    let threads: Vec<Option<&str>> = found.items.iter().map(|message| message.thread.as_deref()).collect();
    assert_eq!(threads, [None, first["id"].as_str(), first["id"].as_str()]);
    let event = world.events().pop().unwrap();
    assert_eq!((&event.data["reply_to"], event.kind.as_str()), (&first["id"], "message.sent"));
    world.sound();
}

fn inherits(world: &World) {
    meet(world, &["a", "b"]);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let asked = send::Send {
        about: Some(task.clone()),
        urgency: Urgency::Urgent,
        request: true,
        text: "how long?".into(),
        ..send::Send::default()
    };
    let asked = send(world, "b", asked).unwrap();
    let answered = send(world, "a", reply(&id(&asked), "an hour")).unwrap();
    assert_eq!((&answered["about"], &answered["hold"]), (&task.as_str().into(), &serde_json::Value::Null));
    assert_eq!((&answered["urgency"], &answered["request"]), (&"urgent".into(), &false.into()));
    // It does not end with the hold, and it can be sent after that.
    world.done("a", &task).unwrap();
    let late = send(world, "a", reply(&id(&asked), "done")).unwrap();
    assert_eq!(late["about"], task.as_str());
    let found = read_all(world, "b");
    let ended: Vec<bool> = found.items.iter().map(|message| message.ended.is_some()).collect();
    assert_eq!(ended, [false, true, false], "{found:?}");
    // Its own subject wins.
    let other = world.add("two");
    let about = send(world, "a", send::Send { about: Some(other.clone()), ..reply(&id(&asked), "see there") }).unwrap();
    assert_eq!(about["about"], other.as_str());
    world.sound();
}

fn own_messages(world: &World) {
    meet(world, &["a", "b", "c"]);
    let first = send(world, "a", to(&["b"], "secret")).unwrap();
    let last = world.last_event();
    assert_eq!(kind_of(send(world, "c", reply(&id(&first), "what?"))), "not_found");
    assert_eq!(kind_of(send(world, "a", reply("g-zzz00000", "what?"))), "not_found");
    assert_eq!(kind_of(send(world, "a", reply("what", "what?"))), "not_found");
    assert_eq!(
        code_of(send(world, "b", send::Send { to: vec!["b".into()], ..reply(&id(&first), "x") })),
        "to_yourself"
    );
    assert_eq!(world.last_event(), last);
    world.sound();
}

fn everyone(world: &World) {
    meet(world, &["gone", "old", "person:bob"]);
    world.advance(Span::hours(2));
    meet(world, &["a", "b", "c"]);
    let sent = send(world, "a", to(&["all"], "main is red")).unwrap();
    let names = |sent: &serde_json::Value| -> Vec<String> {
        sent["to"].as_array().unwrap().iter().map(|to| to["agent"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&sent), ["b", "c"], "neither the sender, nor who is gone, nor people");
    for agent in ["b", "c"] {
        let found = read_all(world, agent);
        assert_eq!((found.items.len(), &found.items[0].id), (1, &id(&sent).as_str().into()));
        assert_eq!(found.items[0].to.len(), 2);
        assert!(read_all(world, agent).items.is_empty(), "it is new once");
    }
    for agent in ["a", "gone", "person:bob"] {
        assert!(read_all(world, agent).items.is_empty(), "{agent}");
    }
    // Those who are named get it too.
    assert_eq!(names(&send(world, "a", to(&["all", "person:bob", "b"], "x")).unwrap())[..3], ["b", "c", "gone"]);
    let to_bob = send(world, "b", to(&["all", "old"], "x")).unwrap();
    assert!(names(&to_bob).contains(&"old".to_owned()), "{to_bob}");
    world.advance(Span::hours(2));
    assert_eq!(code_of(send(world, "a", to(&["all"], "anyone?"))), "no_recipient");
    assert_eq!(kind_of(send(world, "a", to(&["all"], "anyone?"))), "not_found");
    world.sound();
}

fn too_many(world: &World) {
    let task = world.add("hello");
    for number in 0..=EVERYONE_MAX {
        world.note(&format!("agent-{number}"), &task, "hello").unwrap();
    }
    let last = world.last_event();
    assert_eq!(code_of(send(world, "person:ann", to(&["all"], "x"))), "too_many_recipients");
    assert_eq!(world.last_event(), last);
    let sent = send(world, "agent-0", to(&["all"], "x")).unwrap();
    assert_eq!(sent["to"].as_array().unwrap().len(), EVERYONE_MAX);
    let event = world.events().pop().unwrap();
    let sentence = event.sentence();
    assert!(sentence.contains("and 180 more"), "{sentence}");
}
