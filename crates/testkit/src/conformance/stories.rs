//! The history of paths and locks: holders, changes, times and reasons.

use serde_json::json;
use tenure_core::tool;
use tenure_kernel::op::{note, reserve, tool_used};
use tenure_kernel::query;
use tenure_kernel::query::why_path::WhyPath;
use tenure_kernel::{Call, Op, WorkingTree};

use super::Case;
use super::shorthand::words;
use crate::fixture::{World, code_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("the_story_of_a_path_is_that_of_all_holds_on_it", held),
    Case::everywhere("the_story_of_a_path_names_who_changed_it_and_the_commit", changed),
    Case::everywhere("inv_r2_stories_of_a_task_a_path_and_a_lock_of_one_name_are_apart", apart),
    Case::everywhere("the_story_of_a_path_is_bounded", bounded),
];

fn story(world: &World, path: &str) -> Vec<String> {
    let question = WhyPath { paths: words(&[path]), ..WhyPath::default() };
    let story = world.kernel.ask(&world.from("main", "z"), &question).unwrap();
    story.story.into_iter().map(|told| told.text).collect()
}

fn held(world: &World) {
    world.reserve("a", &["src/"]).unwrap();
    world.release_paths("a", &["src/"]).unwrap();
    world.share("b", &["glob:**/*.rs"]).unwrap();
    world.share("c", &["docs/"]).unwrap();
    let request = reserve::Reserve { paths: words(&["src/lib.rs"]), ..reserve::Reserve::default() };
    world.run_call(&world.from("second", "d"), &Op::new(request)).unwrap();
    let expected = [
        "a reserved src/",
        "a released the path src/",
        "b reserved glob:**/*.rs, shared",
        "d reserved src/lib.rs (in another checkout, second)",
    ];
    assert_eq!(story(world, "src/lib.rs"), expected);
    assert_eq!(story(world, "src/"), expected);
    assert_eq!(story(world, "glob:d*/*.txt"), ["c reserved docs/, shared"]);
    assert!(story(world, "other.txt").is_empty());
    let two = WhyPath { paths: words(&["a", "b"]), ..WhyPath::default() };
    assert_eq!(code_of(world.kernel.ask(&world.from("main", "z"), &two)), "one_path");
}

fn changed(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let here = world.from("main", "a");
    let used = tool_used::ToolUsed {
        tool: "claude".into(),
        session: "S".into(),
        tool_name: "Edit".into(),
        kind: tool::ToolKind::Edit,
        paths: words(&["src/lib.rs", "src/a/b.rs"]),
        ..tool_used::ToolUsed::default()
    };
    world.run_call(&here, &Op::new(used)).unwrap();
    let mut noting = world.from("main", "a");
    let head = "0123456789abcdef0123456789abcdef01234567";
    noting.checkout.as_mut().unwrap().tree = WorkingTree { head: head.into(), ..WorkingTree::default() };
    let note = note::Note { text: "half".into(), ..note::Note::default() };
    world.run_call(&noting, &Op::new(note)).unwrap();
    let told = story(world, "src/lib.rs");
    assert_eq!(told[0], format!("a changed src/lib.rs for {task}"));
    assert!(told[1].starts_with(&format!("a noted on {task} at commit 0123456789")), "{told:?}");
    assert_eq!(story(world, "src/").len(), 3, "two files and the commit once");
    assert_eq!(story(world, "glob:src/*.rs").len(), 2);
}

fn apart(world: &World) {
    let task = world.add("one");
    world.lock("a", &task).unwrap();
    world.reserve("b", &[&task]).unwrap();
    world.unlock("a", &task, None).unwrap();
    world.release_paths("b", &[&task]).unwrap();
    let call: Call = world.call("z");
    let of = |story: tenure_kernel::answer::Story| story.story.into_iter().map(|told| told.text).collect::<Vec<_>>();
    assert_eq!(
        of(world.kernel.ask(&call, &query::why::Why { id: task.clone() }).unwrap()),
        [format!("person:ann added {task}: “one”")]
    );
    assert_eq!(
        of(world.kernel.ask(&call, &query::why_lock::WhyLock { name: task.clone() }).unwrap()),
        [format!("a took the lock {task}"), format!("a released the lock {task}")]
    );
    assert_eq!(story(world, &task), [format!("b reserved {task}"), format!("b released the path {task}")]);
    assert_eq!(world.show(&task)["events"].as_array().unwrap().len(), 1);
    assert_eq!(world.show(&task)["events"][0]["kind"], json!("task.added"));
}

fn bounded(world: &World) {
    for _ in 0..120 {
        world.reserve("a", &["src/lib.rs"]).unwrap();
        world.release_paths("a", &["src/lib.rs"]).unwrap();
    }
    let question = WhyPath { paths: words(&["src/lib.rs"]), ..WhyPath::default() };
    let told = world.kernel.ask(&world.from("main", "z"), &question).unwrap();
    assert_eq!((told.story.len(), told.more), (200, true));
    assert!(told.story.last().unwrap().text.contains("released"), "the newest are told");
    assert!(told.story.windows(2).all(|pair| pair[0].number < pair[1].number));
}
