//! Messages: recipients, how a message ends, and what its author is told.

use serde_json::json;
use tenure_client::phrasing::Commands;
use tenure_core::message::TEXT_MAX;
use tenure_core::{Result, Span};
use tenure_kernel::Op;
use tenure_kernel::answer::Message;
use tenure_kernel::op::{cancel, inbox, release, send, transfer};
use tenure_kernel::query;

use super::Case;
use super::mail::{inbox as look, meet, read_all, send as post, to};
use super::restoring::{again, take};
use super::shorthand::{id, words};
use crate::fixture::{Engine, World, code_of, refusal};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_m7_a_message_ends_with_its_hold_and_its_author_is_told_how", ends_with_the_hold),
    Case::everywhere("inv_m7_a_message_about_a_hold_that_lapses_ends_when_that_is_settled", ends_by_lapse),
    Case::everywhere("inv_m7_a_restore_ends_messages_with_the_holds", ends_by_restore),
    Case::everywhere("inv_m7_only_messages_about_the_hold_end", others_stay),
    Case::everywhere("inv_m7_a_refused_end_of_a_hold_ends_no_message", refused),
    Case::only(&[Engine::Postgres], "inv_t13_mail_costs_only_those_whose_hold_it_is_about", round_trips),
    Case::everywhere("a_request_is_met_by_an_acknowledgement", acknowledged),
    Case::everywhere("a_request_that_waits_for_too_long_is_in_the_status", overdue),
    Case::everywhere("a_message_goes_to_agents_that_are_known_and_to_nobody_else", recipients),
    Case::everywhere("a_message_about_a_task_goes_to_its_holder_at_that_moment", to_the_holder),
];

fn about(what: &str, text: &str) -> send::Send {
    send::Send { about: Some(what.into()), text: text.into(), request: true, ..send::Send::default() }
}

/// How and by whom the last message in the mail ended.
fn told(messages: &[Message]) -> (&str, &str, &str, &str) {
    let last = messages.last().expect("something in the mail");
    let ended = last.ended.as_ref().expect("a message that is over");
    (last.what.as_str(), last.text.as_str(), ended.how.as_str(), ended.by.as_str())
}

fn ends_with_the_hold(world: &World) {
    meet(world, &["a", "b", "c"]);
    type End = fn(&World, &str) -> Result<serde_json::Value>;
    let ends: [(End, &str, &str); 7] = [
        (|world, task| world.done("a", task), "done", "a"),
        (|world, task| world.block("a", task, "waits"), "blocked", "a"),
        (|world, task| world.cancel("a", task), "cancelled", "a"),
        (|world, task| world.release("a", task), "released", "a"),
        (|world, task| world.transfer("a", task, "c"), "transferred", "a"),
        (
            |world, task| {
                let force = release::Release { task: Some(task.into()), force: true, ..release::Release::default() };
                world.run("person:ann", Op::new(force))
            },
            "released",
            "person:ann",
        ),
        (
            |world, task| {
                let call = world.call_knowing_dead("c", &["a"]);
                world.kernel.run(&call, &super::shorthand::claiming(task)).map(|_| json!(null))
            },
            "expired",
            "a",
        ),
    ];
    for (end, how, by) in ends {
        let task = world.add("one");
        world.add_after("waits for it", &[&task]);
        world.claim("a", &task).unwrap();
        let sent = post(world, "b", about(&task, how)).unwrap();
        assert_eq!(sent["to"][0]["agent"], "a");
        post(world, "person:ann", about(&task, "me too")).unwrap();
        assert!(read_all(world, "a").items.iter().all(|message| message.ended.is_none()), "{how}");
        assert_eq!(read_all(world, "b").items.len(), 0, "{how}");
        let before = world.last_event();
        end(world, &task).unwrap();
        let found = read_all(world, "b").items;
        assert_eq!((found.len(), told(&found)), (1, ("ending", how, how, by)));
        assert_eq!(found[0].id, id(&sent));
        assert_eq!(told(&read_all(world, "person:ann").items).2, how);
        let events: Vec<_> = world.events().into_iter().filter(|event| event.number > before).collect();
        let ended: Vec<_> = events.iter().filter(|event| event.kind == "message.ended").collect();
        assert_eq!((ended.len(), &ended[0].data["how"]), (2, &json!(how)));
        let cause = events.iter().find(|event| Some(event.number) == ended[0].cause).unwrap();
        let names_it =
            cause.hold.as_ref() == ended[0].hold.as_ref() || cause.data["ended_hold"] == json!(ended[0].hold);
        assert!(cause.subject == task && names_it, "{cause:?}");
        world.sound();
        // Nothing is reported twice.
        let _ = world.claim("c", &task);
        let _ = world.done("c", &task);
        assert_eq!(read_all(world, "b").items.len(), 0, "{how}");
    }
}

fn ends_by_lapse(world: &World) {
    meet(world, &["a", "b", "c"]);
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    post(world, "b", about(&task, "how far?")).unwrap();
    world.advance(Span::seconds(60));
    assert_eq!(
        world.kernel.ask(&world.call("b"), &query::mail::Mail { limit: None }).unwrap().items.len(),
        0,
        "queries settle nothing"
    );
    // The next op settles it, even a refused one.
    assert_eq!(code_of(world.done("c", "t-00000")), "not_found");
    assert_eq!(told(&look(world, "b").items), ("ending", "how far?", "expired", "a"));
    // The recipient still gets it once, and sees that it has ended.
    let found = read_all(world, "a").items;
    assert_eq!((found.len(), told(&found)), (1, ("message", "how far?", "expired", "a")));
    world.sound();
}

fn ends_by_restore(world: &World) {
    meet(world, &["a", "b"]);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    post(world, "b", about(&task, "how far?")).unwrap();
    let seen = read_all(world, "a");
    let (path, _) = take(world, "backup.db");
    post(world, "b", to(&["a"], "is lost with what came after the backup")).unwrap();
    again(world, &path, "safety.db");
    assert_eq!(told(&read_all(world, "b").items), ("ending", "how far?", "restored", "person:ann"));
    assert_eq!((seen.items.len(), look(world, "a").items.len()), (1, 0), "what was confirmed before stays so");
    post(world, "b", to(&["a"], "goes on")).unwrap();
    assert_eq!(look(world, "a").items[0].text, "goes on");
    world.sound();
}

fn others_stay(world: &World) {
    let other = meet(world, &["a", "b", "c"]);
    let task = world.add("one");
    let hold = world.claim("a", &task).unwrap()["hold"]["id"].as_str().unwrap().to_owned();
    world.claim("c", &other).unwrap();
    post(world, "b", about(&other, "of another hold")).unwrap();
    post(world, "b", send::Send { to: words(&["c"]), ..about(&task, "names the task") }).unwrap();
    let bound = post(world, "b", send::Send { to: words(&["c"]), ..about(&hold, "names the hold") }).unwrap();
    assert_eq!((&bound["hold"], &bound["to"][0]["agent"]), (&json!(hold), &json!("c")));
    world.done("a", &task).unwrap();
    let found = read_all(world, "b").items;
    assert_eq!((found.len(), told(&found)), (1, ("ending", "names the hold", "done", "a")));
    assert_eq!(code_of(post(world, "b", about(&hold, "too late"))), "hold_over");
}

fn refused(world: &World) {
    meet(world, &["a", "b"]);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    post(world, "b", about(&task, "how far?")).unwrap();
    assert_eq!(code_of(world.transfer("a", &task, "a")), "same_holder");
    assert_eq!(code_of(world.transfer("a", &task, "unseen")), "unknown_agent");
    let cancel = cancel::Cancel { task: Some(task.clone().into()), fence: Some(1.into()), ..cancel::Cancel::default() };
    assert_eq!(code_of(world.run("a", Op::new(cancel))), "stale_fence");
    assert_eq!((look(world, "b").items.len(), world.count("message.ended")), (0, 0));
}

/// With mail in the project and about other holds, an op that ends a hold makes no more round trips than without.
fn round_trips(world: &World) {
    let other = meet(world, &["a", "b", "c"]);
    world.claim("c", &other).unwrap();
    let finishing = || {
        let task = world.add("one");
        world.claim("a", &task).unwrap();
        let before = world.kernel.store().round_trips();
        world.done("a", &task).unwrap();
        world.kernel.store().round_trips() - before
    };
    finishing();
    let without = finishing();
    for n in 0..20 {
        post(world, "b", about(&other, &n.to_string())).unwrap();
        post(world, "b", to(&["a"], &n.to_string())).unwrap();
    }
    assert_eq!(finishing(), without);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    post(world, "b", about(&task, "how far?")).unwrap();
    let before = world.kernel.store().round_trips();
    world.done("a", &task).unwrap();
    assert_eq!(world.kernel.store().round_trips() - before, without + 1);
}

fn acknowledged(world: &World) {
    meet(world, &["a", "b", "c"]);
    let ack = |agent: &str, message: &str| {
        world.run(agent, Op::new(inbox::Inbox { ack: words(&[message]), ..inbox::Inbox::default() }))
    };
    let asked = post(world, "b", send::Send { request: true, ..to(&["a", "c"], "please review") }).unwrap();
    let said = id(&post(world, "b", to(&["a"], "for your information")).unwrap());
    let events = world.last_event();
    let answer = ack("a", &id(&asked)).unwrap();
    assert_eq!((&answer["acked"], &answer["items"][0]["acked"]), (&json!([id(&asked)]), &json!(true)));
    assert_eq!(world.kinds_after(events), ["message.acked", "message.ended"]);
    let found = read_all(world, "b").items;
    assert_eq!((found.len(), told(&found)), (1, ("ending", "please review", "acknowledged", "a")));
    // A repeated acknowledgement, one by the other recipient, and one of a message that is not a request tell the
    // author nothing.
    ack("a", &id(&asked)).unwrap();
    assert_eq!(world.count("message.acked"), 1);
    ack("c", &id(&asked)).unwrap();
    ack("a", &said).unwrap();
    assert_eq!((world.count("message.acked"), world.count("message.ended")), (3, 1));
    assert_eq!(read_all(world, "b").items.len(), 0);
    // A request about a hold is fulfilled only by the end of the hold.
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let asked = id(&post(world, "b", about(&task, "release it")).unwrap());
    ack("a", &asked).unwrap();
    assert_eq!(read_all(world, "b").items.len(), 0);
    world.release("a", &task).unwrap();
    assert_eq!(told(&read_all(world, "b").items).2, "released");
    // All or nothing.
    let both = Op::new(inbox::Inbox { ack: words(&[&said, "g-00000"]), ..inbox::Inbox::default() });
    let before = dump(&world.kernel);
    assert_eq!(code_of(world.run("a", both)), "not_found");
    assert!(differing(&before, &dump(&world.kernel)).is_empty());
}

fn overdue(world: &World) {
    meet(world, &["a", "b", "c"]);
    let ask = |urgency| {
        let request = send::Send { urgency, request: true, ..to(&["a"], "secret") };
        id(&post(world, "b", request).unwrap())
    };
    let slow = ask(tenure_core::message::Urgency::Normal);
    let quick = ask(tenure_core::message::Urgency::Urgent);
    post(world, "b", to(&["a"], "asks for nothing")).unwrap();
    let late = || {
        let status = world.kernel.ask(&world.call("c"), &query::status::Status {}).unwrap();
        assert!(!json!(status).to_string().contains("secret"), "what it says is for its recipients");
        status.overdue.into_iter().map(|open| open.id).collect::<Vec<_>>()
    };
    assert_eq!(late(), [""; 0]);
    world.advance(Span::minutes(5));
    assert_eq!(late(), [quick.as_str()]);
    world.advance(Span::minutes(25));
    assert_eq!(late(), [slow.as_str(), quick.as_str()]);
    world.run("a", Op::new(inbox::Inbox { ack: vec![slow.into()], ..inbox::Inbox::default() })).unwrap();
    assert_eq!(late(), [quick]);
}

fn recipients(world: &World) {
    let task = meet(world, &["codex-1", "codex-2", "b"]);
    let before = dump(&world.kernel);
    let unknown = refusal(post(world, "b", to(&["codex-1", "codex2"], "x")));
    assert_eq!(
        (unknown.code().as_str(), &unknown.to_json(&Commands)["details"]["entity"]),
        ("unknown_agent", &json!("codex2"))
    );
    assert!(unknown.advice().unwrap().say(&Commands).contains("codex-2"), "{unknown:?}");
    let many: Vec<String> = (0..21).map(|n| format!("a-{n}")).collect();
    for (request, code) in [
        (to(&["b"], "x"), "to_yourself"),
        (to(&["codex-1", "b"], "x"), "to_yourself"),
        (to(&["person:eve"], "x"), "unknown_agent"),
        (to(&["Codex 1"], "x"), "bad_name"),
        (to(&[""], "x"), "bad_name"),
        (to(&[], "x"), "no_recipient"),
        (send::Send { to: many.into_iter().map(Into::into).collect(), ..to(&[], "x") }, "too_many_recipients"),
        (to(&["codex-1"], " "), "text_empty"),
        (to(&["codex-1"], "\u{1b}[2J"), "control_character"),
        (to(&["codex-1"], &"x".repeat(TEXT_MAX + 1)), "message_too_long"),
        (about(&task, "x"), "not_held"),
        (about("t-00000", "x"), "not_found"),
        (about("h-00000", "x"), "not_found"),
        (about("'; --", "x"), "not_found"),
    ] {
        assert_eq!(code_of(post(world, "b", request.clone())), code, "{request:?}");
    }
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "a refused message leaves nothing");
    let sent = post(world, "b", to(&["person:ann", "codex-1"], "hello\n\tall")).unwrap();
    assert_eq!(sent["to"].as_array().unwrap().len(), 2);
    assert_eq!(sent["to"][0]["liveness"], "alive");
    assert_eq!(look(world, "person:ann").items[0].text, "hello\n\tall");
}

fn to_the_holder(world: &World) {
    meet(world, &["a", "b", "c"]);
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    assert_eq!(post(world, "b", about(&task, "1")).unwrap()["to"][0]["agent"], "a");
    assert_eq!(code_of(post(world, "a", about(&task, "x"))), "to_yourself");
    let request =
        transfer::Transfer { task: Some(task.clone().into()), to: "c".into(), ..transfer::Transfer::default() };
    world.run("a", Op::new(request)).unwrap();
    assert_eq!(post(world, "b", about(&task, "2")).unwrap()["to"][0]["agent"], "c");
    // An expired hold is over, settled or not.
    world.advance(Span::seconds(60));
    assert_eq!(code_of(post(world, "b", about(&task, "3"))), "not_held");
    assert_eq!(look(world, "c").items.len(), 1);
}
