//! Guards: the check is a reservation, a file that is already held costs nothing, and a person can disable guards for a
//! while.

use serde_json::{Value, json};
use tenure_core::session::Start;
use tenure_core::{Result, Span};
use tenure_kernel::answer::Hold;
use tenure_kernel::op::{done, guard, inbox, off};
use tenure_kernel::query;
use tenure_kernel::query::holds::Filter;
use tenure_kernel::query::outlook::EditOutlook;
use tenure_kernel::query::standing::{Depth, Standing};
use tenure_kernel::{Actor, Call, Op};

use super::Case;
use super::sessions::{hook, presence, start};
use super::shorthand::{claiming, words};
use crate::fixture::{TestClock, World, code_of, refusal};
use crate::raw::{differing, dump, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("guards_are_off_for_a_while_and_come_back_by_themselves", while_off),
    Case::everywhere("only_people_switch_guards_off", people_only),
    Case::everywhere("inv_r10_a_second_edit_makes_no_row_and_no_event", second_edit),
    Case::everywhere("inv_r10_all_files_of_a_call_or_none", all_or_none),
    Case::everywhere("inv_r10_many_guards_at_once_and_one_is_let_through", one_allowed),
    Case::everywhere("inv_r2_one_file_in_two_checkouts_is_held_twice_and_both_are_told", two_checkouts),
    Case::everywhere("inv_l5_presence_never_renews_what_a_guard_took_and_an_edit_does", renewed_by_edits),
    Case::everywhere("inv_l12_what_a_guard_takes_with_a_task_goes_with_the_task", with_a_task),
    Case::everywhere("inv_r5_what_a_guard_took_and_reserve_asks_for_is_one_hold", reserved_later),
    Case::everywhere("inv_r10_a_guard_takes_files_and_never_globs", literal),
    Case::everywhere("inv_r13_whoever_else_works_in_a_checkout_is_named", others_here),
];

fn send(world: &World, agent: &str, for_s: Option<i64>) -> Result<Value> {
    world.run(agent, Op::new(off::Off { for_s }))
}

fn is_off(world: &World) -> bool {
    world.kernel.ask(&world.call("a"), &query::guards::Guards {}).unwrap().off
}

fn while_off(world: &World) {
    assert!(!is_off(world), "of a project that does not exist");
    world.add("x");
    assert!(!is_off(world));
    let said = send(world, "person:ann", None).unwrap();
    assert_eq!((&said["off"], &said["until_s"], &said["by"]), (&json!(true), &json!(3_600), &json!("person:ann")));
    assert!(is_off(world));
    assert!(world.kernel.ask(&world.call("a"), &query::status::Status {}).unwrap().guards.off);
    // Ops of others do not change it.
    world.add("y");
    world.advance(Span::minutes(59));
    assert!(is_off(world));
    world.advance(Span::minutes(1));
    assert!(!is_off(world), "it is over by itself");
    send(world, "person:ann", Some(600)).unwrap();
    let said = send(world, "person:bob", Some(0)).unwrap();
    assert_eq!(said["off"], false);
    assert!(!is_off(world));
    let before = world.last_event();
    send(world, "person:bob", Some(0)).unwrap();
    assert_eq!(world.kinds_after(before), [""; 0], "what is on is not switched on again");
    assert_eq!((world.count("guards.off"), world.count("guards.on")), (2, 1));
    for bad in [-1, 86_401, i64::MAX, i64::MIN] {
        assert_eq!(code_of(send(world, "person:ann", Some(bad))), "bad_off");
    }
    // A clock that was set back does not keep guards off for years.
    send(world, "person:ann", Some(86_400)).unwrap();
    world.clock.set(TestClock::START - Span::days(3_650));
    assert!(!is_off(world));
}

fn people_only(world: &World) {
    world.add("x");
    assert_eq!(code_of(send(world, "a", None)), "people_only");
    assert!(!is_off(world) && world.count("guards.off") == 0);
}

/// The call of a hook of the session `agent`, from a checkout.
fn from(world: &World, checkout: &str, agent: &str) -> Call {
    let pid = i64::from(agent.as_bytes()[0]);
    let call = hook(world, &format!("claude-{agent}"), pid);
    Call { checkout: world.from(checkout, "x").checkout, ..call }
}

fn begin(world: &World, agents: &[&str]) {
    world.add("something");
    for agent in agents {
        start(world, &world.kernel, i64::from(agent.as_bytes()[0]), agent, Start::Startup, &[]);
    }
}

fn request(agent: &str, paths: &[&str]) -> guard::Guard {
    guard::Guard { paths: words(paths), fold_case: false, says: presence(agent) }
}

fn edit(world: &World, agent: &str, paths: &[&str]) -> Result<Value> {
    world.run_call(&from(world, "main", agent), &Op::new(request(agent, paths)))
}

fn outlook(world: &World, agent: &str, paths: &[&str]) -> EditOutlook {
    let says = presence(agent);
    let look = Standing { says, given: None, depth: Depth::News };
    world
        .kernel
        .ask(
            &from(world, "main", agent),
            &query::outlook::Outlook { look: look.clone(), files: words(paths), fold_case: false },
        )
        .unwrap()
        .unwrap()
}

fn rows(world: &World) -> i64 {
    number(&world.kernel, "SELECT COUNT(*) FROM hold", &[])
}

fn second_edit(world: &World) {
    begin(world, &["a", "b"]);
    assert!(!outlook(world, "a", &["./src/x.rs"]).is_quiet);
    let first = edit(world, "a", &["./src/x.rs"]).unwrap();
    assert_eq!(first["granted"].as_array().unwrap().len(), 1);
    // One more write for the second event of the process, which is recorded once.
    edit(world, "a", &["./src/x.rs"]).unwrap();
    let before = (world.last_event(), rows(world), dump(&world.kernel));
    for _ in 0..5 {
        assert!(outlook(world, "a", &["./src/x.rs"]).is_quiet);
    }
    assert_eq!(differing(&before.2, &dump(&world.kernel)), [""; 0], "a look writes nothing");
    let again = edit(world, "a", &["./src/x.rs"]).unwrap();
    assert_eq!(again["granted"], json!([]));
    assert_eq!((world.last_event(), rows(world)), (before.0, before.1), "no event, no row");
    assert!(!outlook(world, "a", &["./src/x.rs", "./src/y.rs"]).is_quiet, "another file is not held");
    assert!(!outlook(world, "b", &["./src/x.rs"]).is_quiet, "nor is it by another");
    world.advance(Span::minutes(8));
    assert!(!outlook(world, "a", &["./src/x.rs"]).is_quiet, "it is to be renewed");
}

fn all_or_none(world: &World) {
    begin(world, &["a", "b"]);
    edit(world, "a", &["./one", "./dir/two"]).unwrap();
    let before = rows(world);
    let refused = refusal(edit(world, "b", &["./three", "./dir/two", "./four"]));
    assert_eq!((refused.code().as_str(), rows(world)), ("path_held", before));
    assert_eq!(refused.get("uses_tools"), Some(&json!(false)));
    let mcp = Actor { door: tenure_kernel::Door::Mcp, ..from(world, "main", "b").actor };
    world.run_call(&Call { actor: mcp, ..from(world, "main", "b") }, &Op::new(inbox::Inbox::default())).unwrap();
    let refused = refusal(edit(world, "b", &["./one"]));
    assert_eq!(refused.get("uses_tools"), Some(&json!(true)), "it calls tools");
    edit(world, "b", &["./three", "./four"]).unwrap();
    world.sound();
}

fn one_allowed(world: &World) {
    let agents = ["a", "b", "c", "d", "e", "f"];
    begin(world, &agents);
    for round in 0..5 {
        let file = format!("./f{round}");
        let results: Vec<bool> = std::thread::scope(|scope| {
            let run = |agent: &'static str| {
                let file = &file;
                scope.spawn(move || edit(world, agent, &[file]).is_ok())
            };
            let running: Vec<_> = agents.into_iter().map(run).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(results.iter().filter(|allowed| **allowed).count(), 1, "{results:?}");
    }
    world.sound();
}

fn two_checkouts(world: &World) {
    begin(world, &["a", "b"]);
    let go = |agent: &str, checkout: &str| {
        world.run_call(&from(world, checkout, agent), &Op::new(request(agent, &["./x.rs"]))).unwrap()
    };
    assert_eq!(go("a", "main")["elsewhere"], json!([]));
    let second = go("b", "side");
    assert_eq!(second["elsewhere"][0]["holder"], "claude-a");
    assert_eq!(
        (&second["elsewhere"][0]["pattern"], &second["elsewhere"][0]["checkout"]),
        (&json!("x.rs"), &json!("/repos/main"))
    );
    // The first agent is told with its next prompt.
    let says = presence("a");
    let look = Standing { says, given: None, depth: Depth::Loss };
    let mine = world.kernel.ask(&from(world, "main", "a"), &look).unwrap().unwrap().mine.unwrap();
    assert_eq!((mine.elsewhere.len(), mine.elsewhere[0].holder.as_str()), (1, "claude-b"));
    // An expired hold is not reported.
    world.advance(Span::minutes(31));
    assert_eq!(go("a", "main")["elsewhere"], json!([]));
}

fn paths_of(world: &World, holder: &str) -> Vec<Hold> {
    let filter = Filter { holder: Some(holder.into()), kind: Some("path".into()), ..Filter::default() };
    world
        .kernel
        .ask(&world.from("main", "x"), &query::holds::Holds { filter: filter.clone(), limit: 50, cursor: None })
        .unwrap()
        .items
}

fn expiry(world: &World, agent: &str) -> Vec<(String, i64)> {
    let holds = paths_of(world, &format!("claude-{agent}"));
    holds.into_iter().map(|hold| (hold.subject, hold.expires_in_s)).collect()
}

fn renewed_by_edits(world: &World) {
    begin(world, &["a"]);
    edit(world, "a", &["./x", "./y"]).unwrap();
    assert_eq!(expiry(world, "a").iter().map(|hold| hold.1).collect::<Vec<_>>(), [1_800, 1_800]);
    for _ in 0..5 {
        world.advance(Span::minutes(5));
        world.run_call(&from(world, "main", "a"), &Op::new(presence("a"))).unwrap();
        edit(world, "a", &["./x"]).unwrap();
    }
    let left = expiry(world, "a");
    assert!(left.contains(&("x".into(), 1_800)) && left.contains(&("y".into(), 300)), "{left:?}");
    world.advance(Span::minutes(6));
    let left = expiry(world, "a");
    assert_eq!(left, [("x".to_owned(), 1_440)], "the one that is not edited any more is free");
    world.sound();
}

fn with_a_task(world: &World) {
    begin(world, &["a", "b"]);
    edit(world, "a", &["./before"]).unwrap();
    let task = world.add("worked on");
    world.run_call(&from(world, "main", "a"), &claiming(&task)).unwrap();
    edit(world, "a", &["./x"]).unwrap();
    assert!(!outlook(world, "a", &["./before"]).is_quiet, "it is to go with the task from now on");
    edit(world, "a", &["./before"]).unwrap();
    assert!(outlook(world, "a", &["./before", "./x"]).is_quiet);
    assert!(expiry(world, "a").iter().all(|hold| hold.1 == 3_600), "as the task: {:?}", expiry(world, "a"));
    let held = paths_of(world, "claude-a").into_iter().find(|hold| hold.subject == "x").unwrap();
    assert_eq!(held.reason, "worked on", "what it is for");
    world.advance(Span::minutes(40));
    world.run_call(&from(world, "main", "a"), &Op::new(presence("a"))).unwrap();
    assert!(expiry(world, "a").iter().all(|hold| hold.1 == 3_600), "renewed with the task");
    world.run_call(&from(world, "main", "a"), &Op::new(done::Done::default())).unwrap();
    assert_eq!(expiry(world, "a"), []);
    edit(world, "b", &["./x", "./before"]).unwrap();
    world.sound();
}

fn reserved_later(world: &World) {
    begin(world, &["a"]);
    edit(world, "a", &["./x"]).unwrap();
    let reserve = tenure_kernel::op::reserve::Reserve { paths: words(&["x"]), ..Default::default() };
    world.run_call(&from(world, "main", "a"), &Op::new(reserve)).unwrap();
    assert_eq!(rows(world), 1);
    world.advance(Span::minutes(20));
    world.run_call(&from(world, "main", "a"), &Op::new(presence("a"))).unwrap();
    assert_eq!(expiry(world, "a"), [("x".to_owned(), 1_800)], "presence renews it from now on");
    // An edit within an existing reservation does not change it.
    let wide = tenure_kernel::op::reserve::Reserve { paths: words(&["src/"]), ..Default::default() };
    world.run_call(&from(world, "main", "a"), &Op::new(wide)).unwrap();
    edit(world, "a", &["./src/z"]).unwrap();
    assert_eq!(rows(world), 2);
    assert!(expiry(world, "a").contains(&("src/".to_owned(), 3_600)));
}

fn literal(world: &World) {
    begin(world, &["a", "b"]);
    assert_eq!(code_of(edit(world, "a", &["glob:**"])), "bad_tool_path");
    assert_eq!(code_of(edit(world, "a", &["../x"])), "path_outside");
    for name in ["./glob:**", "./[a-z]*", "./$(touch x)", "./-x", "./a\nb", "./a\u{2028}b", "./'\"`;&|"] {
        edit(world, "a", &[name]).unwrap();
        assert_eq!(code_of(edit(world, "b", &[name])), "path_held", "{name:?}");
    }
    edit(world, "b", &["./z", "./glob:x"]).unwrap();
}

fn others_here(world: &World) {
    begin(world, &["a", "b"]);
    let others = |agent: &str, checkout: &str| {
        world.kernel.ask(&from(world, checkout, agent), &query::others_here::OthersHere {}).unwrap()
    };
    assert!(others("a", "main").free);
    edit(world, "a", &["./x", "./y"]).unwrap();
    assert!(others("a", "main").free, "its own");
    assert!(others("b", "side").free, "another checkout");
    let found = others("b", "main");
    assert_eq!((found.free, found.total, found.blockers[0].holder.as_str()), (false, 2, "claude-a"));
    world.advance(Span::minutes(31));
    assert!(others("b", "main").free, "it lapsed");
}
