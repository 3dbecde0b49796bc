//! Commits: which agent may commit and push which files, which holds end with a commit, and which agents are notified.

use serde_json::{Value, json};
use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_core::{Span, Time};
use tenure_kernel::Op;
use tenure_kernel::answer::{Committing, Pushing};
use tenure_kernel::op::{committed, inbox, release, tool_used, transfer};
use tenure_kernel::query;
use tenure_kernel::query::may_commit::MayCommit;
use tenure_kernel::query::may_push::Made;
use tenure_store::Clock;

use super::Case;
use super::shorthand::words;
use crate::fixture::{Engine, World, code_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r12_what_others_hold_is_not_committed", taken),
    Case::everywhere("inv_r12_what_is_shared_is_committed_by_those_who_share_it", shared),
    Case::everywhere("inv_r12_an_own_hold_that_was_lost_counts_once_another_had_it", lost),
    Case::everywhere("inv_r12_whoever_was_served_by_the_line_has_had_it_too", served),
    Case::everywhere("inv_r12_a_hold_that_a_person_ended_is_lost", forced),
    Case::everywhere("inv_r12_files_that_another_changed_since_are_not_committed", changed),
    Case::everywhere("inv_r12_commits_past_the_guard_are_not_pushed", pushed),
    Case::everywhere("inv_l12_a_commit_ends_the_holds_on_its_files", ends),
    Case::everywhere("inv_m7_only_those_are_told_whose_holds_overlap", told),
    Case::everywhere("inv_m7_unread_notices_about_a_hold_are_one", merged),
    Case::everywhere("inv_m7_nobody_is_told_how_a_notice_ends", silent_end),
    Case::everywhere("inv_r12_thousands_of_files_are_decided_alike", many),
    Case::only(&[Engine::Memory], "commits_are_checked_before_the_store_is_looked_at", checked),
];

impl World {
    fn may_commit(&self, agent: &str, paths: &[&str]) -> Committing {
        self.may_commit_in("main", agent, paths)
    }

    fn may_commit_in(&self, checkout: &str, agent: &str, paths: &[&str]) -> Committing {
        let question = MayCommit { paths: words(paths), fold_case: false };
        self.kernel.ask(&self.from(checkout, agent), &question).unwrap().expect("switched on")
    }

    fn committed(&self, agent: &str, commit: &str, paths: &[&str], clean: &[&str]) -> Value {
        self.committed_in("main", agent, commit, paths, clean)
    }

    fn committed_in(&self, checkout: &str, agent: &str, commit: &str, paths: &[&str], clean: &[&str]) -> Value {
        let request = committed::Committed {
            commit: commit.to_owned(),
            paths: words(paths),
            clean: words(clean),
            ..committed::Committed::default()
        };
        self.run_call(&self.from(checkout, agent), &Op::new(request)).unwrap()
    }

    fn may_push(&self, agent: &str, commits: &[(&str, Time, &[&str])]) -> Pushing {
        let made =
            |(id, at, paths): &(&str, Time, &[&str])| Made { id: (*id).to_owned(), at: *at, paths: words(paths) };
        let commits: Vec<Made> = commits.iter().map(made).collect();
        self.kernel
            .ask(&self.from("main", agent), &query::may_push::MayPush { commits: commits.clone(), fold_case: false })
            .unwrap()
            .expect("switched on")
    }

    fn inbox(&self, agent: &str) -> Vec<Value> {
        let found = self.run(agent, Op::new(inbox::Inbox::default())).unwrap();
        if let Some(number) = found["offered"].as_i64().map(EventNumber::new) {
            let confirm = tenure_kernel::op::confirm::Confirm { events: None, mail: Some(number) };
            self.run(agent, Op::new(confirm)).unwrap();
        }
        found["items"].as_array().unwrap().clone()
    }
}

fn names(found: &Committing) -> (Vec<&str>, Vec<&str>) {
    (
        found.taken.iter().map(|taken| taken.path.as_str()).collect(),
        found.lost.iter().map(|lost| lost.path.as_str()).collect(),
    )
}

const NOTHING: (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());

fn taken(world: &World) {
    let question = MayCommit { paths: words(&["a"]), fold_case: false };
    assert!(world.kernel.ask(&world.from("main", "b"), &question).unwrap().is_none(), "nothing happened yet");
    world.reserve("a", &["src/", "$(id).rs", "glob:docs/*.md"]).unwrap();
    world.reserve_with("a", &["wide.rs"], |request| request.all_checkouts = true).unwrap();
    let staged = ["$(id).rs", "docs/x.md", "docs/x.txt", "free", "src/deep/x.rs", "wide.rs"];
    assert_eq!(names(&world.may_commit("b", &staged)).0, ["$(id).rs", "docs/x.md", "src/deep/x.rs", "wide.rs"]);
    assert_eq!(names(&world.may_commit("a", &staged)), NOTHING, "its own");
    let elsewhere = world.may_commit_in("second", "b", &staged);
    assert_eq!(names(&elsewhere).0, ["wide.rs"], "another checkout is another place");
    assert!(elsewhere.taken[0].all_checkouts && elsewhere.taken[0].blocker.holder == "a");
    world.advance(Span::hours(2));
    assert_eq!(names(&world.may_commit("b", &staged)), NOTHING, "what lapsed is nobody's");
}

fn shared(world: &World) {
    world.share("a", &["x"]).unwrap();
    assert_eq!(names(&world.may_commit("b", &["x"])).0, ["x"]);
    world.share("b", &["glob:*"]).unwrap();
    assert_eq!(names(&world.may_commit("b", &["x"])), NOTHING);
    assert_eq!(names(&world.may_commit("a", &["x"])), NOTHING);
    assert_eq!(names(&world.may_commit("c", &["x"])).0, ["x"]);
}

fn lost(world: &World) {
    world.reserve("a", &["x", "src/"]).unwrap();
    world.advance(Span::hours(2));
    let staged = ["src/y", "x"];
    assert_eq!(names(&world.may_commit("a", &staged)), NOTHING, "nobody has had it since");
    world.reserve("b", &["x"]).unwrap();
    assert_eq!(names(&world.may_commit("a", &staged)).0, ["x"], "another has it");
    world.release_paths("b", &["x"]).unwrap();
    let found = world.may_commit("a", &staged);
    assert_eq!(names(&found).1, ["x"], "another had it");
    assert_eq!((found.lost[0].by.as_str(), found.lost[0].how.as_str(), found.lost[0].changed), ("b", "expired", false));
    // An agent that never held the path has lost nothing, and neither has one that released it.
    assert_eq!(names(&world.may_commit("c", &staged)), NOTHING);
    world.reserve("a", &["x"]).unwrap();
    assert_eq!(names(&world.may_commit("a", &staged)), NOTHING, "it has it again");
    world.release_paths("a", &["x"]).unwrap();
    assert_eq!(names(&world.may_commit("a", &staged)), NOTHING, "it gave it back");
    // In another checkout nothing was lost.
    assert_eq!(names(&world.may_commit_in("second", "a", &staged)), NOTHING);
}

fn served(world: &World) {
    world.reserve_with("a", &["x"], |request| request.ttl_s = Some(60)).unwrap();
    assert_eq!(world.wait("b", &["x"]).unwrap()["waiting"], true);
    world.advance(Span::seconds(61));
    // A write settles the expired hold and offers it to the waiting agent.
    world.reserve("c", &["y"]).unwrap();
    assert_eq!(world.count(kind::PATH_OFFERED), 1);
    assert_eq!(world.wait("b", &["x"]).unwrap()["holds"][0]["state"], "live");
    world.release_paths("b", &["x"]).unwrap();
    let found = world.may_commit("a", &["x"]);
    assert_eq!((names(&found).1, found.lost[0].by.as_str()), (vec!["x"], "b"));
    assert_eq!(names(&world.may_commit_in("second", "a", &["x"])), NOTHING);
}

fn forced(world: &World) {
    let held = world.reserve("a", &["x"]).unwrap();
    let hold = held["holds"][0]["id"].as_str().map(str::to_owned);
    let request = release::Release { hold: hold.map(Into::into), force: true, ..release::Release::default() };
    world.run_call(&world.from("main", "person:ann"), &Op::new(request)).unwrap();
    assert_eq!(names(&world.may_commit("a", &["x"])), NOTHING);
    world.reserve("b", &["glob:?"]).unwrap();
    world.release_paths("b", &["glob:?"]).unwrap();
    let found = world.may_commit("a", &["x"]);
    assert_eq!((names(&found).1, found.lost[0].how.as_str()), (vec!["x"], "forced"));
    // A path transferred with its task is no longer the agent's own either.
    let task = world.add("one");
    world.claim("c", &task).unwrap();
    world.reserve("c", &["y"]).unwrap();
    world.run("c", Op::new(transfer::Transfer { to: "b".into(), ..transfer::Transfer::default() })).unwrap();
    assert_eq!(names(&world.may_commit("c", &["y"])).0, ["y"]);
    world.claim("b", &task).unwrap();
    world.run("b", Op::new(release::Release { task: Some(task.into()), ..release::Release::default() })).unwrap();
    assert_eq!(names(&world.may_commit("c", &["y"])).1, ["y"]);
}

fn changed(world: &World) {
    world.reserve("a", &["x", "y"]).unwrap();
    world.advance(Span::hours(2));
    let used = |paths: &[&str]| tool_used::ToolUsed {
        tool: "claude".into(),
        session: "S".into(),
        paths: words(paths),
        ..tool_used::ToolUsed::default()
    };
    world.run_call(&world.from("second", "b"), &Op::new(used(&["x"]))).unwrap();
    assert_eq!(names(&world.may_commit("a", &["x", "y"])), NOTHING, "elsewhere");
    world.run_call(&world.from("main", "a"), &Op::new(used(&["y"]))).unwrap();
    world.run_call(&world.from("main", "b"), &Op::new(used(&["x"]))).unwrap();
    let found = world.may_commit("a", &["x", "y"]);
    assert_eq!((names(&found).1, found.lost[0].changed, found.lost[0].by.as_str()), (vec!["x"], true, "b"));
}

fn pushed(world: &World) {
    let before = world.clock.now();
    world.reserve("c", &["z"]).unwrap();
    world.committed("a", "aaaa1111", &["x"], &[]);
    world.advance(Span::seconds(60));
    world.reserve("b", &["x", "y"]).unwrap();
    world.reserve_with("b", &["wide"], |request| request.all_checkouts = true).unwrap();
    let now = world.clock.now();
    let late = |agent: &str, commits: &[(&str, Time, &[&str])]| {
        world.may_push(agent, commits).late.into_iter().map(|late| late.taken.path).collect::<Vec<_>>()
    };
    // Committed before the path was held, by the record or by the commit's own time.
    assert!(late("a", &[("aaaa1111", now, &["x"]), ("bbbb", before, &["y"])]).is_empty());
    // A path held in all checkouts may be pushed by no other agent.
    assert_eq!(late("a", &[("bbbb", before, &["wide"])]), ["wide"]);
    assert_eq!(late("a", &[("cccc", now, &["y", "free"])]), ["y"]);
    world.committed("a", "dddd", &["y"], &[]);
    assert_eq!(late("c", &[("dddd", before, &["y"])]), ["y"], "past the guard, whoever pushes it");
    assert!(late("b", &[("dddd", now, &["y"])]).is_empty(), "the holder may");
    world.committed("b", "eeee", &["y", "wide"], &[]);
    assert!(late("a", &[("eeee", now, &["y", "wide"])]).is_empty(), "the holder made it");
}

fn ends(world: &World) {
    let task = world.add("one");
    let other = world.add("two");
    world.claim("a", &other).unwrap();
    world.reserve("a", &["other.rs"]).unwrap();
    world.claim("a", &task).unwrap();
    world.reserve("a", &["clean.rs", "dirty.rs", "src/", "apart.rs"]).unwrap();
    world.reserve_with("a", &["wide.rs"], |request| request.all_checkouts = true).unwrap();
    let all = ["clean.rs", "dirty.rs", "other.rs", "src/x.rs", "wide.rs"];
    let said = world.committed("a", "abcd1234", &all, &["clean.rs", "other.rs", "src/x.rs", "wide.rs"]);
    assert_eq!(said["released"].as_array().unwrap().len(), 1);
    let events = world.events();
    let at = events.iter().rposition(|event| event.kind == "path.committed").unwrap();
    assert_eq!(events[at].subject, "abcd1234");
    let data = &events[at].data;
    assert_eq!((&data["commit"], &data["paths"], &data["task"]), (&json!("abcd1234"), &json!(all), &json!(task)));
    let ended: Vec<(&str, Option<EventNumber>)> =
        events[at + 1..].iter().map(|event| (event.subject.as_str(), event.cause)).collect();
    assert_eq!(ended, [("clean.rs", Some(events[at].number))]);
    for (path, held) in
        [("clean.rs", false), ("dirty.rs", true), ("src/x.rs", true), ("wide.rs", true), ("other.rs", true)]
    {
        assert_eq!(world.reserve("b", &[path]).is_err(), held, "{path}");
    }
    // The same file in another checkout is a different file.
    world.committed_in("second", "a", "abcd1235", &["dirty.rs"], &["dirty.rs"]);
    assert!(world.reserve("b", &["dirty.rs"]).is_err());
    // A hold that ended with a commit was not lost.
    world.release_paths("b", &["clean.rs"]).unwrap();
    assert_eq!(names(&world.may_commit("a", &["clean.rs"])), NOTHING);
}

fn told(world: &World) {
    world.reserve("b", &["src/"]).unwrap();
    world.reserve("c", &["docs/"]).unwrap();
    let elsewhere = tenure_kernel::op::reserve::Reserve {
        paths: words(&["glob:**/*.rs", "src/"]),
        ..tenure_kernel::op::reserve::Reserve::default()
    };
    world.run_call(&world.from("second", "d"), &Op::new(elsewhere)).unwrap();
    world.reserve("e", &["src"]).unwrap();
    world.run("f", Op::new(inbox::Inbox::default())).unwrap();
    world.reserve("g", &["old/"]).unwrap();
    let said = world.committed("a", "abcd1234", &["src/x.rs", "src/$(y)\n.rs"], &[]);
    assert_eq!(said["told"], json!(["b", "d"]));
    for nobody in ["a", "c", "e", "f", "g"] {
        assert!(world.inbox(nobody).is_empty(), "{nobody}");
    }
    let [note] = &world.inbox("b")[..] else { panic!("one message") };
    assert_eq!((&note["notice"], &note["from"], &note["request"]), (&json!(true), &json!("a"), &json!(false)));
    let text = note["text"].as_str().unwrap();
    assert!(text.starts_with("a committed src/$(y) .rs and 1 more as abcd1234 in /repos/main: your hold h-"), "{text}");
    let [note] = &world.inbox("d")[..] else { panic!("one message, whatever it holds") };
    assert!(note["text"].as_str().unwrap().ends_with("2 of your holds, in another checkout."), "{note}");
    // An agent whose hold has expired is not notified.
    world.advance(Span::hours(2));
    assert_eq!(world.committed("a", "abcd1236", &["src/x.rs"], &[])["told"], json!([]));
}

fn merged(world: &World) {
    world.reserve("b", &["src/"]).unwrap();
    for n in 0..20 {
        world.committed(["a", "c"][n % 2], &format!("abcd{n:04}"), &["src/x.rs"], &[]);
    }
    let [first] = &world.inbox("b")[..] else { panic!("one message") };
    let lines: Vec<&str> = first["text"].as_str().unwrap().lines().collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(
        lines[0].starts_with("c committed src/x.rs as abcd0019")
            && lines[1].contains("a committed src/x.rs as abcd0018")
    );
    assert_eq!((&first["from"], &first["about"]), (&json!("c"), &json!("commit abcd0019")));
    assert!(world.inbox("b").is_empty());
    // A message that was read is not changed.
    world.committed("a", "abcd9999", &["src/x.rs"], &[]);
    let [second] = &world.inbox("b")[..] else { panic!("one message") };
    assert_eq!(second["text"].as_str().unwrap().lines().count(), 1);
    assert_ne!(first["id"], second["id"]);
}

fn silent_end(world: &World) {
    world.reserve("b", &["src/"]).unwrap();
    world.committed("a", "abcd1234", &["src/x.rs"], &[]);
    world.release_paths("b", &["src/"]).unwrap();
    assert!(world.inbox("a").is_empty(), "the committer waits for nothing");
    let [note] = &world.inbox("b")[..] else { panic!("still to be read") };
    assert_eq!(note["ended"]["how"], "released");
}

fn many(world: &World) {
    world.reserve("b", &["d17/", "f4999", "glob:g*/x"]).unwrap();
    world.reserve("a", &["f3", "f4"]).unwrap();
    let paths: Vec<String> = (0..5_000)
        .map(|n| match n % 100 {
            50 => format!("d{}/f{n}", n / 100),
            51 => format!("g{n}/x"),
            _ => format!("f{n}"),
        })
        .collect();
    let staged: Vec<&str> = paths.iter().map(String::as_str).collect();
    let found = world.may_commit("a", &staged);
    let mut expected: Vec<&str> = staged.iter().filter(|path| path.starts_with('g')).copied().collect();
    expected.extend(["d17/f1750", "f4999"]);
    expected.sort_unstable();
    assert_eq!(names(&found), (expected, Vec::new()));
    let said = world.committed("a", "abcd1234", &staged, &["f3"]);
    assert_eq!((said["released"].as_array().unwrap().len(), &said["told"]), (1, &json!(["b"])));
    let event = world.events().into_iter().rfind(|event| event.kind == "path.committed").unwrap();
    assert_eq!((event.data["paths"].as_array().unwrap().len(), &event.data["more"]), (200, &json!(4_800)));
}

fn checked(world: &World) {
    let request = |commit: &str, paths: Vec<String>| committed::Committed {
        commit: commit.to_owned(),
        paths,
        ..committed::Committed::default()
    };
    for (commit, paths, code) in [
        ("", Vec::new(), "bad_commit"),
        ("$(id)", Vec::new(), "bad_commit"),
        ("abcd", vec!["/etc/passwd".to_owned()], "bad_tool_path"),
        ("abcd", vec!["x".to_owned(); 10_001], "too_many_paths"),
    ] {
        assert_eq!(code_of(world.run("a", Op::new(request(commit, paths)))), code);
    }
    assert_eq!(code_of(world.run("a", Op::new(request("abcd", words(&["x"]))))), "not_switched_on");
}
