//! Paths bound to a task: they end with it, move with it, and are granted again to the agent that takes it over.

use serde_json::{Value, json};
use tenure_core::Span;
use tenure_core::event::kind;
use tenure_kernel::Op;
use tenure_kernel::op::release;
use tenure_kernel::query;

use super::Case;
use super::shorthand::claiming;
use crate::fixture::{World, code_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l12_paths_live_as_long_as_their_task", as_the_task),
    Case::everywhere("inv_l1_a_longer_time_of_its_own_does_not_outlive_the_task", not_longer),
    Case::everywhere("inv_l12_paths_end_with_their_task", end_with_it),
    Case::everywhere("inv_l12_paths_lapse_with_their_task_and_go_to_who_takes_it_over", taken_over),
    Case::everywhere("inv_l12_a_take_over_names_the_paths_that_are_not_free", not_free),
    Case::everywhere("inv_l12_a_path_held_before_its_task_goes_to_who_takes_it_over", held_before),
    Case::everywhere("inv_l12_what_was_given_back_is_not_granted_anew", given_back),
    Case::everywhere("inv_l12_paths_of_one_request_stay_with_their_task", one_request),
    Case::everywhere("inv_l12_paths_move_with_their_task", moved),
    Case::everywhere("inv_r9_a_transfer_that_would_leave_a_conflict_behind_is_refused", would_split),
];

/// The paths that an agent holds, sorted.
fn held(world: &World, agent: &str) -> Vec<String> {
    let page = world.kernel.ask(&world.call(agent), &query::holds::Holds::of(Some(agent), 100)).unwrap();
    let mut paths: Vec<String> =
        page.items.into_iter().filter(|hold| hold.kind == "path").map(|hold| hold.subject).collect();
    paths.sort();
    paths
}

fn as_the_task(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 600).unwrap();
    world.advance(Span::seconds(100));
    let hold = &world.reserve("a", &["src/"]).unwrap()["holds"][0];
    assert_eq!((&hold["task"], &hold["ttl_s"], &hold["expires_in_s"]), (&json!(task), &json!(600), &json!(500)));
    for _ in 0..10 {
        world.advance(Span::seconds(300));
        world.note("a", &task, "here").unwrap();
    }
    assert_eq!(held(world, "a"), ["src/"]);
    // A claim of the agent's own task also renews the bound holds.
    world.claim_for("a", &task, 60).unwrap();
    let page = world.kernel.ask(&world.call("a"), &query::holds::Holds::of(Some("a"), 10)).unwrap();
    assert!(page.items.iter().all(|hold| hold.expires_in_s == 60), "{page:?}");
    // A hold with its own time to live keeps it.
    world.reserve_with("a", &["docs/"], |request| request.ttl_s = Some(30)).unwrap();
    world.claim_for("a", &task, 60).unwrap();
    let page = world.kernel.ask(&world.call("a"), &query::holds::Holds::of(Some("a"), 10)).unwrap();
    let own: Vec<i64> = page.items.iter().filter(|hold| hold.subject == "docs/").map(|hold| hold.ttl_s).collect();
    assert_eq!(own, [30]);
    world.advance(Span::seconds(60));
    assert!(world.check("b", &["src/"]).free);
    world.sound();
}

fn not_longer(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 2).unwrap();
    let hold = world.reserve_with("a", &["x"], |request| request.ttl_s = Some(3600)).unwrap()["holds"][0].clone();
    assert_eq!(hold["expires_in_s"], 2, "the answer says when it ends: {hold}");
    let until = hold["expires_at"].clone();
    world.advance(Span::seconds(3));
    world.reserve("b", &["x"]).unwrap();
    let events = world.events();
    let id = hold["id"].as_str().unwrap();
    let ended = events.iter().find(|event| event.kind == kind::HOLD_EXPIRED && event.hold.as_deref() == Some(id));
    let ended = ended.expect("it was settled");
    assert_eq!((&ended.data["ended_at"], &ended.data["expires_at"]), (&until, &until), "{ended:?}");
    let old = world.kernel.ask(&world.call("b"), &query::show_hold::ShowHold { id: id.into() }).unwrap();
    assert_eq!((old.state.as_str(), json!(old.expires_at)), ("expired", until));
    world.sound();
}

fn end_with_it(world: &World) {
    type End = fn(&World, &str) -> tenure_core::Result<Value>;
    let ends: [End; 4] = [
        |world, task| world.done("a", task),
        |world, task| world.block("a", task, "waits"),
        |world, task| world.release("a", task),
        |world, task| world.cancel("a", task),
    ];
    for end in ends {
        let task = world.add("one");
        world.reserve("a", &["own"]).unwrap();
        world.claim("a", &task).unwrap();
        world.reserve("a", &["src/a.rs", "src/b.rs"]).unwrap();
        let number = world.last_event();
        end(world, &task).unwrap();
        assert_eq!(held(world, "a"), ["own"], "what was not taken for the task stays");
        let ended: Vec<_> = world
            .events()
            .into_iter()
            .filter(|event| event.number > number && event.kind == kind::PATH_RELEASED)
            .collect();
        assert!(ended.len() == 2 && ended.iter().all(|event| event.cause == Some(number.next())), "{ended:?}");
        assert!(world.check("b", &["src/"]).free);
        world.release_paths("a", &["own"]).unwrap();
    }
    // A person who ends the task's hold ends the bound holds too.
    let task = world.add("two");
    world.claim("a", &task).unwrap();
    world.reserve("a", &["src/"]).unwrap();
    let request = release::Release { task: Some(task.into()), force: true, ..release::Release::default() };
    world.run("person:ann", Op::new(request)).unwrap();
    assert!(world.check("b", &["src/"]).free);
    world.sound();
}

fn taken_over(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    let before = world.reserve("a", &["src/a.rs"]).unwrap();
    world.share("a", &["docs/"]).unwrap();
    world.advance(Span::seconds(60));
    let claimed = world.run_call(&world.from("main", "b"), &claiming(&task)).unwrap();
    assert_eq!(claimed["paths"].as_array().unwrap().len(), 2, "{claimed}");
    assert!(claimed["paths"][0]["fence"].as_i64() > before["holds"][0]["fence"].as_i64());
    assert_eq!(claimed["paths"][0]["expires_in_s"], claimed["hold"]["expires_in_s"]);
    assert_eq!(held(world, "b"), ["docs/", "src/a.rs"]);
    assert_eq!(code_of(world.reserve("c", &["src/a.rs"])), "path_held");
    assert_eq!(code_of(world.reserve("a", &["src/a.rs"])), "path_held");
    assert_eq!(world.count(kind::HOLD_EXPIRED), 3);
    // After a release and a new claim, there is nothing to grant again.
    world.release("b", &task).unwrap();
    let again = world.claim("c", &task).unwrap();
    assert_eq!(again.get("paths"), None);
    world.sound();
}

fn not_free(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    world.reserve("a", &["src/a.rs", "src/b.rs"]).unwrap();
    world.advance(Span::seconds(60));
    world.reserve("c", &["src/a.rs"]).unwrap();
    let claimed = world.run_call(&world.from("main", "b"), &claiming(&task)).unwrap();
    assert_eq!(claimed["paths"][0]["subject"], "src/b.rs");
    assert_eq!(
        (&claimed["lost_paths"][0]["holder"], &claimed["lost_paths"][0]["pattern"]),
        (&json!("c"), &json!("src/a.rs"))
    );
    world.sound();
}

fn held_before(world: &World) {
    let task = world.add("one");
    world.reserve("a", &["src/a.rs"]).unwrap();
    world.claim_for("a", &task, 60).unwrap();
    // The same hold and the same fence; from now on it is bound to the task.
    world.reserve("a", &["src/a.rs"]).unwrap();
    world.advance(Span::seconds(60));
    let claimed = world.run_call(&world.from("main", "b"), &claiming(&task)).unwrap();
    assert_eq!(claimed["paths"][0]["subject"], "src/a.rs", "{claimed}");
    assert_eq!(code_of(world.reserve("a", &["src/a.rs"])), "path_held");
    world.sound();
}

fn given_back(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 600).unwrap();
    world.reserve_with("a", &["src/a.rs"], |request| request.ttl_s = Some(10)).unwrap();
    world.advance(Span::seconds(20));
    // It expired, was taken again, and was released.
    world.share("a", &["src/a.rs"]).unwrap();
    world.release_paths("a", &["src/a.rs"]).unwrap();
    world.advance(Span::seconds(600));
    let claimed = world.run_call(&world.from("main", "b"), &claiming(&task)).unwrap();
    assert_eq!(claimed.get("paths"), None, "{claimed}");
    world.sound();
}

fn one_request(world: &World) {
    world.reserve("a", &["src/"]).unwrap();
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    // The second is within the first, which is bound to the task from now on, in either order.
    for paths in [["src/", "src/a.rs"], ["src/a.rs", "src/"]] {
        let reserved = world.reserve("a", &paths).unwrap();
        assert_eq!((reserved["holds"].as_array().unwrap().len(), &reserved["holds"][0]["task"]), (1, &json!(task)));
    }
    world.share("a", &["src/", "src/a.rs"]).unwrap();
    world.share("b", &["src/b.rs"]).unwrap();
    world.done("a", &task).unwrap();
    assert_eq!(held(world, "a"), Vec::<String>::new());
    world.sound();
}

fn moved(world: &World) {
    let task = world.add("one");
    world.note("b", &task, "known").unwrap();
    world.claim_for("a", &task, 600).unwrap();
    world.share("b", &["docs/"]).unwrap();
    let before = world.reserve("a", &["src/a.rs"]).unwrap();
    world.share("a", &["docs/"]).unwrap();
    world.advance(Span::seconds(100));
    let moved = world.transfer("a", &task, "b").unwrap();
    let [of_task, of_path] = moved["holds"].as_array().unwrap().as_slice() else { panic!("{moved}") };
    assert_eq!(
        (&of_task["kind"], &of_path["subject"], &of_path["holder"]),
        (&json!("task"), &json!("src/a.rs"), &json!("b"))
    );
    assert!(of_path["fence"].as_i64() > before["holds"][0]["fence"].as_i64());
    assert_eq!(of_path["expires_in_s"], of_task["expires_in_s"], "the remaining time stays");
    assert_eq!((held(world, "a"), held(world, "b")), (vec![], vec!["docs/".to_owned(), "src/a.rs".to_owned()]));
    world.sound();
}

fn would_split(world: &World) {
    let task = world.add("one");
    world.note("b", &task, "known").unwrap();
    world.reserve("a", &["src/"]).unwrap();
    world.claim("a", &task).unwrap();
    // Wider than the agent's unbound hold: it is another hold, and it is bound to the task.
    world.reserve("a", &["./"]).unwrap();
    let number = world.last_event();
    assert_eq!(code_of(world.transfer("a", &task, "b")), "transfer_splits");
    assert_eq!(world.last_event(), number);
    world.release_paths("a", &["src/"]).unwrap();
    world.transfer("a", &task, "b").unwrap();
    assert_eq!(held(world, "b"), ["./"]);
    world.sound();
}
