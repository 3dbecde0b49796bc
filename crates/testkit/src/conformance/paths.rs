//! Path holds: conflicts and lifetimes.

use serde_json::{Value, json};
use tenure_client::phrasing::Commands;
use tenure_core::event::kind;
use tenure_core::{Error, Result, Span};
use tenure_kernel::answer::Checked;
use tenure_kernel::op::{release, reserve};
use tenure_kernel::query;
use tenure_kernel::query::check::Check;
use tenure_kernel::query::holds::Filter;
use tenure_kernel::{Call, Checkout, Kernel, Op, Trust, WorkingTree};
use tenure_store::Location;

use super::Case;
use super::restoring::{again, take};
use super::shorthand::words;
use crate::fixture::{Engine, World, code_of, kind_of, refusal};
use crate::sim::dice::Dice;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r1_any_file_can_be_held_as_it_is", any_file),
    Case::everywhere("inv_r2_one_checkout_one_holder", one_holder),
    Case::everywhere("inv_r2_shared_and_exclusive", modes),
    Case::everywhere("inv_r2_the_same_path_in_another_checkout_is_free", other_checkout),
    Case::everywhere("inv_r2_a_path_is_never_taken_for_a_task", kinds_never_mix),
    Case::everywhere("inv_r3_check_says_what_reserve_would_do", check_agrees),
    Case::only(&[Engine::Memory], "inv_r4_patterns_are_checked_before_any_store_is_looked_at", before_the_store),
    Case::everywhere("inv_r4_patterns_that_may_be_anywhere_are_few", unanchored),
    Case::only(&[Engine::Memory], "inv_r4_ten_thousand_holds_cost_what_ten_cost", cost_stays),
    Case::only(&[Engine::Postgres], "inv_r4_reserving_waits_for_the_server_at_most_eight_times", round_trips),
    Case::everywhere("inv_r5_what_an_own_hold_covers_is_that_hold_renewed", covered),
    Case::everywhere("inv_r5_another_mode_changes_the_hold_in_place", changed_in_place),
    Case::everywhere("inv_r6_several_paths_are_taken_all_or_none", all_or_none),
    Case::everywhere("inv_r6_at_most_fifty_blockers_are_named", fifty_blockers),
    Case::everywhere("inv_r8_each_path_expires_once", expires_once),
    Case::everywhere("inv_r8_what_lapsed_and_overlaps_is_settled_first", own_keys),
    Case::everywhere("inv_r9_paths_are_released_by_their_holder", released),
    Case::everywhere("inv_l5_calls_renew_paths", renewed),
    Case::everywhere("inv_l4_the_paths_of_a_dead_agent_are_free", proven_dead),
    Case::everywhere("inv_l1_a_restore_ends_holds_on_paths", restored),
    Case::everywhere("inv_t9_a_clock_set_back_caps_holds_on_paths", clock_set_back),
    Case::everywhere("inv_l1_many_at_once_for_one_path_have_one_winner", one_winner),
    Case::everywhere("inv_l1_random_reservations_never_conflict", random),
];

impl World {
    /// A call from a checkout.
    pub(crate) fn from(&self, checkout: &str, agent: &str) -> Call {
        let (host, path) = ("host".to_owned(), format!("/repos/{checkout}"));
        let checkout = Checkout { host, path, common: None, trust: Trust::Any, tree: WorkingTree::default() };
        Call { checkout: Some(checkout), ..self.call(agent) }
    }

    /// Reserves paths in the checkout `main`.
    pub(super) fn reserve(&self, agent: &str, paths: &[&str]) -> Result<Value> {
        self.reserve_with(agent, paths, |_| {})
    }

    /// The same with a shared hold.
    pub(super) fn share(&self, agent: &str, paths: &[&str]) -> Result<Value> {
        self.reserve_with(agent, paths, |request| request.shared = true)
    }

    pub(super) fn reserve_with(
        &self,
        agent: &str,
        paths: &[&str],
        change: impl FnOnce(&mut reserve::Reserve),
    ) -> Result<Value> {
        let mut request = reserve::Reserve { paths: words(paths), ..reserve::Reserve::default() };
        change(&mut request);
        self.run_call(&self.from("main", agent), &Op::new(request))
    }

    pub(super) fn release_paths(&self, agent: &str, paths: &[&str]) -> Result<Value> {
        let request = release::Release { paths: words(paths), ..release::Release::default() };
        self.run_call(&self.from("main", agent), &Op::new(request))
    }

    fn release_hold(&self, agent: &str, hold: &Value, force: bool) -> Result<Value> {
        let hold = Some(hold.as_str().unwrap().to_owned());
        let request = release::Release { hold: hold.map(Into::into), force, ..release::Release::default() };
        self.run_call(&self.from("main", agent), &Op::new(request))
    }

    pub(super) fn check(&self, agent: &str, paths: &[&str]) -> Checked {
        let question = Check { paths: words(paths), ..Check::default() };
        self.kernel.ask(&self.from("main", agent), &question).unwrap()
    }
}

fn any_file(world: &World) {
    let long = format!("src/{}.rs", "x".repeat(300));
    for path in ["pages/[id].tsx", "a b/ü*?{x}.rs", "-x", "it's \"$(x)\"`", "new\nline", "100%FF", &long] {
        let held = world.reserve("a", &[path]).unwrap();
        assert_eq!(held["holds"][0]["subject"], path);
        assert_eq!(code_of(world.reserve("b", &[path])), "path_held", "{path:?}");
    }
    assert!(world.reserve("b", &["pages/i.tsx"]).is_ok(), "a path is no glob");
    for (path, text) in
        [("./lib//x/../b.py", "lib/b.py"), ("glob:docs/**", "docs/"), ("glob:lib/[!b]", "glob:lib/[!b]")]
    {
        assert_eq!(world.reserve("c", &[path]).unwrap()["holds"][0]["subject"], text);
    }
    world.sound();
}

fn one_holder(world: &World) {
    let held = world.reserve_with("a", &["src/"], |request| request.reason = "the index".into()).unwrap();
    let hold = &held["holds"][0];
    assert_eq!((&hold["kind"], &hold["subject"], &hold["mode"]), (&json!("path"), &json!("src/"), &json!("exclusive")));
    assert_eq!(
        (&hold["ttl_s"], &hold["checkout"], &hold["reason"]),
        (&json!(3_600), &json!("/repos/main"), &json!("the index"))
    );
    world.advance(Span::seconds(200));
    let events = world.last_event();
    for path in ["src/", "src/a/b.rs", "glob:**/*.rs", "glob:s*/x", "./"] {
        let error = refusal(world.reserve("b", &[path]));
        four_parts(&error);
        let blocker = &error.get("blockers").unwrap()[0];
        assert_eq!(blocker["id"], hold["id"], "{path}");
        assert_eq!(
            (&blocker["state"], &blocker["holder"], &blocker["pattern"]),
            (&json!("held"), &json!("a"), &json!("src/"))
        );
        assert_eq!(
            (&blocker["mode"], &blocker["reason"], &blocker["age_s"]),
            (&json!("exclusive"), &json!("the index"), &json!(200))
        );
        assert_eq!((&blocker["expires_in_s"], &blocker["last_seen_s"]), (&json!(3_400), &json!(200)));
        assert_eq!((&blocker["liveness"], &blocker["place"]), (&json!("idle"), &json!(null)));
        assert_eq!(error.get("total"), Some(&json!(1)));
    }
    assert_eq!(world.last_event(), events, "a refusal leaves nothing");
    for path in ["srcs/x", "src", "docs/"] {
        world.reserve("b", &[path]).unwrap();
    }
    world.sound();
}

/// The four parts: what happened, the blocker, at most three commands, and a person's override.
fn four_parts(error: &Error) {
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "path_held"));
    assert!(error.message().contains("held by a") && error.blocker().unwrap().contains("for “the index”"), "{error:?}");
    assert!((1..=3).contains(&error.attempts(&Commands).len()) && error.override_by_person().is_some(), "{error:?}");
}

fn modes(world: &World) {
    world.share("a", &["src/"]).unwrap();
    world.share("b", &["src/a.rs"]).unwrap();
    assert_eq!(code_of(world.reserve("c", &["src/b.rs"])), "path_held");
    assert_eq!(code_of(world.reserve("b", &["src/b.rs"])), "path_held");
    world.release_paths("a", &["src/"]).unwrap();
    world.reserve("c", &["src/b.rs"]).unwrap();
    assert_eq!(code_of(world.share("a", &["src/"])), "path_held");
    world.sound();
}

fn other_checkout(world: &World) {
    let op = |all_checkouts| {
        Op::new(reserve::Reserve { paths: words(&["src/a.rs"]), all_checkouts, ..reserve::Reserve::default() })
    };
    world.run_call(&world.from("main", "a"), &op(false)).unwrap();
    world.run_call(&world.from("second", "b"), &op(false)).unwrap();
    // A hold for all checkouts conflicts with holds in each, and the reverse.
    assert_eq!(refusal(world.run_call(&world.from("third", "c"), &op(true))).get("total"), Some(&json!(2)));
    world.release_paths("a", &["src/a.rs"]).unwrap();
    let request = release::Release { paths: words(&["src/a.rs"]), ..release::Release::default() };
    world.run_call(&world.from("second", "b"), &Op::new(request)).unwrap();
    let wide = world.run_call(&world.from("third", "c"), &op(true)).unwrap();
    assert_eq!(wide["holds"][0].get("checkout"), None);
    for checkout in ["main", "second", "fourth"] {
        assert_eq!(code_of(world.run_call(&world.from(checkout, "a"), &op(false))), "path_held", "{checkout}");
    }
    // Without a checkout a relative path has no meaning.
    assert_eq!(code_of(world.run("a", op(false))), "no_checkout");
    world.sound();
}

fn kinds_never_mix(world: &World) {
    let task = world.add("one");
    world.reserve_with("a", &[&task], |request| request.ttl_s = Some(60)).unwrap();
    world.claim_for("b", &task, 3_600).unwrap();
    world.reserve("b", &["other"]).unwrap();
    world.advance(Span::seconds(61));
    let status = world.kernel.ask(&world.call("c"), &query::status::Status {}).unwrap();
    assert_eq!((status.started, status.ready), (1, 0), "the path that lapsed is no task");
    world.note("c", &task, "settles").unwrap();
    assert_eq!(world.count(kind::HOLD_EXPIRED), 1);
    assert_eq!(world.show(&task)["holder"]["agent"], "b");
    world.done("b", &task).unwrap();
    world.sound();
}

fn check_agrees(world: &World) {
    assert!(world.check("a", &["src/"]).free, "a project that does not exist yet");
    world.reserve("a", &["src/a.rs", "src/b.rs"]).unwrap();
    let checked = world.check("b", &["src/", "docs/"]);
    assert!(!checked.free && checked.total == 2 && checked.blockers.len() == 2);
    assert!(world.check("a", &["src/"]).free && world.check("b", &["docs/"]).free);
    let elsewhere = Check { paths: words(&["src/"]), ..Check::default() };
    assert!(world.kernel.ask(&world.from("second", "b"), &elsewhere).unwrap().free);
    let everywhere = Check { all_checkouts: true, ..elsewhere };
    assert!(!world.kernel.ask(&world.from("second", "b"), &everywhere).unwrap().free);
    let filter = Filter { paths: words(&["glob:**/a.*"]), ..Filter::default() };
    let met = world
        .kernel
        .ask(&world.from("main", "b"), &query::holds::Holds { filter: filter.clone(), limit: 50, cursor: None })
        .unwrap()
        .items;
    assert_eq!(met.iter().map(|hold| hold.subject.as_str()).collect::<Vec<_>>(), ["src/a.rs"]);
    let tasks = Filter { kind: Some("task".into()), ..Filter::default() };
    assert!(
        world
            .kernel
            .ask(&world.from("main", "b"), &query::holds::Holds { filter: tasks.clone(), limit: 50, cursor: None })
            .unwrap()
            .items
            .is_empty()
    );
    world.advance(Span::hours(1));
    assert!(world.check("b", &["src/"]).free, "over, settled or not");
}

fn before_the_store(world: &World) {
    let nowhere = Location::File(world.dir.path().join("no/such/directory/tenure.db"));
    let kernel = Kernel::new(nowhere, world.options.clone(), tenure_client::phrasing::of).unwrap();
    let call = world.from("main", "a");
    let too_many: Vec<String> = (0..257).map(|n| format!("p{n}")).collect();
    for (paths, code) in [
        (words(&["glob:a**"]), "bad_pattern"),
        (words(&["../x"]), "path_outside"),
        (vec![format!("glob:{}", "?".repeat(33))], "pattern_limit"),
        (words(&["a\0b"]), "bad_pattern"),
        (Vec::new(), "no_path"),
        (too_many, "too_many_paths"),
    ] {
        let request = reserve::Reserve { paths: paths.clone(), ..reserve::Reserve::default() };
        assert_eq!(code_of(kernel.run(&call, &Op::new(request))), code);
        if !paths.is_empty() {
            let request = release::Release { paths: paths.clone(), ..release::Release::default() };
            assert_eq!(code_of(kernel.run(&call, &Op::new(request))), code);
        }
        assert_eq!(code_of(kernel.ask(&call, &Check { paths, ..Check::default() })), code);
    }
    let both = release::Release { task: Some("t-1".into()), paths: words(&["a"]), ..release::Release::default() };
    assert_eq!(code_of(kernel.run(&call, &Op::new(both))), "release_what");
}

fn unanchored(world: &World) {
    let some =
        |agent: usize, count: usize| -> Vec<String> { (0..count).map(|n| format!("glob:?{agent}-{n}/x")).collect() };
    let reserve = |agent: usize, paths: Vec<String>| {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        world.reserve(&format!("agent-{agent}"), &paths)
    };
    assert_eq!(kind_of(reserve(0, some(0, 17))), "usage");
    reserve(0, some(0, 16)).unwrap();
    assert_eq!(code_of(reserve(0, vec!["glob:*more".into()])), "too_many_unanchored");
    reserve(0, vec!["src/".into(), "glob:s*".into()]).unwrap();
    (1..16).for_each(|agent| drop(reserve(agent, some(agent, 16)).unwrap()));
    assert_eq!(code_of(reserve(16, some(16, 1))), "too_many_unanchored");
    world.advance(Span::hours(1));
    reserve(16, some(16, 1)).unwrap();
    world.sound();
}

fn fill(world: &World, count: usize, path: impl Fn(usize) -> String) {
    let mut left: Vec<String> = (0..count).map(path).collect();
    while !left.is_empty() {
        let some: Vec<String> = left.split_off(left.len().saturating_sub(250));
        world.reserve("filler", &some.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    }
}

fn cost_stays(_: &World) {
    let costs = |holds: usize, globs: bool| -> Vec<(&'static str, u64)> {
        let world = World::new(Engine::Memory);
        let name = |n: usize| format!("src/part-{}/file-{n}", n % 97);
        fill(&world, holds, |n| if globs { format!("glob:{}-*.rs", name(n)) } else { format!("{}.rs", name(n)) });
        let mut measured = Vec::new();
        let mut measure = |name: &'static str, work: &dyn Fn(usize)| {
            work(0);
            let before = world.kernel.store().steps();
            work(1);
            measured.push((name, world.kernel.store().steps() - before));
        };
        measure("reserve a file", &|n| drop(world.reserve("a", &[&format!("src/part-3/mine-{n}.rs")]).unwrap()));
        measure("reserve a directory", &|n| drop(world.reserve("a", &[&format!("src/new-{n}/")]).unwrap()));
        measure("reserve a glob", &|n| drop(world.reserve("a", &[&format!("glob:src/other{n}*/**/x.?")]).unwrap()));
        measure("a refusal", &|_| drop(refusal(world.reserve("a", &["glob:src/part-1/file-1[.-]*rs"]))));
        measure("check", &|n| drop(world.check("a", &[&format!("src/part-3/more-{n}.rs")])));
        measure("release", &|n| drop(world.release_paths("a", &[&format!("src/part-3/mine-{n}.rs")]).unwrap()));
        measured
    };
    for ((name, few), (_, many)) in costs(10, false).into_iter().zip(costs(10_000, false)) {
        assert!(few > 0 && many <= few * 2, "{name}: {few} steps among 10 holds, {many} among 10,000");
    }
    for ((name, few), (_, many)) in costs(10, true).into_iter().zip(costs(5_000, true)) {
        assert!(few > 0 && many <= few * 5, "{name}: {few} steps among 10 globs, {many} among 5,000");
    }
}

fn round_trips(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    fill(world, 100, |n| format!("src/file-{n}.rs"));
    let store = world.kernel.store();
    let trips = |work: &dyn Fn()| {
        let before = store.round_trips();
        work();
        store.round_trips() - before
    };
    for n in 0..2 {
        let (one, two) = (format!("a/{n}.rs"), format!("b/{n}/"));
        for (name, trips) in [
            ("reserve", trips(&|| drop(world.reserve("a", &[&one, &two]).unwrap()))),
            ("again", trips(&|| drop(world.reserve("a", &[&one]).unwrap()))),
            ("release", trips(&|| drop(world.release_paths("a", &[&one]).unwrap()))),
        ] {
            assert!((1..=8).contains(&trips), "{name}: {trips} round trips");
        }
    }
}

fn covered(world: &World) {
    let first = world.reserve("a", &["src/"]).unwrap();
    let events = world.last_event();
    world.advance(Span::minutes(10));
    for path in ["src/", "src/x.rs", "glob:src/**/*.rs"] {
        let again = world.reserve("a", &[path]).unwrap();
        assert_eq!(
            (&again["holds"][0]["id"], &again["holds"][0]["fence"]),
            (&first["holds"][0]["id"], &first["holds"][0]["fence"])
        );
        assert_eq!(again["holds"][0]["expires_in_s"], 3_600);
    }
    world.share("a", &["src/x.rs"]).unwrap();
    assert_eq!(world.last_event(), events, "a renewal is no event");
    let two = world.reserve("a", &["src/", "src/y.rs", "docs/", "docs/z"]).unwrap();
    assert_eq!(two["holds"].as_array().unwrap().len(), 2);
    assert_eq!(world.kernel.ask(&world.call("a"), &query::holds::Holds::of(Some("a"), 50)).unwrap().items.len(), 2);
    // A wider path than the agent's own hold is another hold.
    world.reserve("a", &["./"]).unwrap();
    world.sound();
}

fn changed_in_place(world: &World) {
    let first = world.share("a", &["src/"]).unwrap();
    let up = world.reserve("a", &["src/"]).unwrap();
    assert_eq!((&up["holds"][0]["id"], &up["holds"][0]["mode"]), (&first["holds"][0]["id"], &json!("exclusive")));
    assert_eq!(code_of(world.share("b", &["src/x"])), "path_held");
    let down = world.share("a", &["src/"]).unwrap();
    assert_eq!((&down["holds"][0]["id"], &down["holds"][0]["mode"]), (&first["holds"][0]["id"], &json!("shared")));
    world.share("b", &["src/x"]).unwrap();
    assert_eq!(code_of(world.reserve("a", &["src/"])), "path_held", "up only if it is free");
    assert_eq!(world.count(kind::PATH_CHANGED), 2);
    assert_eq!(world.kernel.ask(&world.call("a"), &query::holds::Holds::of(Some("a"), 50)).unwrap().items.len(), 1);
    world.sound();
}

fn all_or_none(world: &World) {
    world.reserve("a", &["src/a.rs"]).unwrap();
    world.reserve("c", &["glob:docs/*.md"]).unwrap();
    let events = world.last_event();
    let error = refusal(world.reserve("b", &["free/", "src/", "docs/x.md"]));
    let holders: Vec<_> =
        error.get("blockers").unwrap().as_array().unwrap().iter().map(|b| b["holder"].clone()).collect();
    assert_eq!((holders, error.get("total")), (vec![json!("a"), json!("c")], Some(&json!(2))));
    assert_eq!(world.last_event(), events);
    assert!(world.check("z", &["free/"]).free);
    world.reserve("b", &["free/", "docs/x.txt"]).unwrap();
    world.sound();
}

fn fifty_blockers(world: &World) {
    fill(world, 60, |n| format!("src/{n}"));
    let error = refusal(world.reserve("b", &["src/"]));
    assert_eq!(error.get("blockers").unwrap().as_array().unwrap().len(), 50);
    assert_eq!(error.get("total"), Some(&json!(60)));
    let checked = world.check("b", &["src/"]);
    assert_eq!((checked.blockers.len(), checked.total), (50, 60));
}

fn expires_once(world: &World) {
    world.reserve_with("a", &["src/"], |request| request.ttl_s = Some(60)).unwrap();
    world.advance(Span::seconds(60));
    let answers = world.race(10, |n, kernel| {
        let request = reserve::Reserve { paths: words(&["src/x"]), ..reserve::Reserve::default() };
        kernel.run(&world.from("main", &format!("r{n}")), &Op::new(request)).is_ok()
    });
    assert_eq!(answers.iter().filter(|won| **won).count(), 1);
    let expired: Vec<_> = world.events().into_iter().filter(|event| event.kind == kind::HOLD_EXPIRED).collect();
    let [only] = expired.as_slice() else { panic!("{expired:?}") };
    assert_eq!((only.subject.as_str(), &only.data["holder"]), ("src/", &json!("a")));
    world.sound();
}

fn own_keys(world: &World) {
    let short = |request: &mut reserve::Reserve| request.ttl_s = Some(60);
    let many: Vec<String> = (0..200).map(|n| format!("d{n}/")).collect();
    world.reserve_with("a", &many.iter().map(String::as_str).collect::<Vec<_>>(), short).unwrap();
    world.advance(Span::seconds(61));
    // More holds have expired than a write settles; those that block this request are settled with it.
    world.reserve("b", &["glob:d*/x"]).unwrap();
    assert_eq!(world.count(kind::HOLD_EXPIRED), 200);
    world.sound();
}

fn released(world: &World) {
    let held = world.reserve("a", &["src/", "docs/a", "docs/b"]).unwrap();
    assert_eq!(code_of(world.release_paths("b", &["src/"])), "path_held");
    assert_eq!(code_of(world.release_hold("b", &held["holds"][0]["id"], false)), "path_held");
    assert_eq!(code_of(world.release_paths("b", &["free"])), "not_held");
    assert_eq!(code_of(world.release_paths("a", &["src/x"])), "not_held", "it holds more than that");
    assert_eq!(code_of(world.release_hold("a", &json!("h-zzzzz"), false)), "not_found");
    assert_eq!(code_of(world.release_paths("a", &["docs/a", "free"])), "not_held", "all or none");
    let ended = world.release_paths("a", &["docs/"]).unwrap();
    let states: Vec<_> = ended["holds"].as_array().unwrap().iter().map(|hold| hold["state"].clone()).collect();
    assert_eq!(states, ["released", "released"]);
    assert_eq!(code_of(world.release_paths("a", &["docs/"])), "not_held");
    assert_eq!(code_of(world.release_hold("a", &held["holds"][1]["id"], false)), "not_held");
    assert_eq!(kind_of(world.release_hold("b", &held["holds"][0]["id"], true)), "denied");
    let forced = world.release_hold("person:ann", &held["holds"][0]["id"], true).unwrap();
    assert_eq!(forced["holds"][0]["state"], "forced");
    assert_eq!(world.events().last().unwrap().data["overrode"], "a");
    let again = world.reserve_with("a", &["src/"], |request| request.ttl_s = Some(60)).unwrap();
    world.advance(Span::seconds(60));
    assert_eq!(kind_of(world.release_paths("a", &["src/"])), "stale");
    assert_eq!(kind_of(world.release_hold("a", &again["holds"][0]["id"], false)), "stale");
    world.sound();
}

fn renewed(world: &World) {
    let task = world.add("one");
    world.reserve_with("a", &["src/"], |request| request.ttl_s = Some(100)).unwrap();
    for _ in 0..10 {
        world.advance(Span::seconds(50));
        world.note("a", &task, "here").unwrap();
    }
    assert!(!world.check("b", &["src/"]).free);
    world.advance(Span::seconds(100));
    world.note("a", &task, "too late").unwrap();
    assert!(world.check("b", &["src/"]).free, "a lapsed hold is not revived");
    world.sound();
}

fn proven_dead(world: &World) {
    world.reserve("a", &["src/"]).unwrap();
    let op = Op::new(reserve::Reserve { paths: words(&["src/x"]), ..reserve::Reserve::default() });
    assert_eq!(code_of(world.run_call(&world.from("main", "b"), &op)), "path_held");
    world
        .run_call(&Call { checkout: world.from("main", "b").checkout, ..world.call_knowing_dead("b", &["a"]) }, &op)
        .unwrap();
    let expired = world.events().into_iter().find(|event| event.kind == kind::HOLD_EXPIRED).unwrap();
    assert_eq!(expired.data["proven_dead"], true);
    world.sound();
}

fn restored(world: &World) {
    let task = world.add("one");
    world.reserve("a", &["src/", &task]).unwrap();
    world.claim("b", &task).unwrap();
    let (path, _) = take(world, "b.db");
    let ended = again(world, &path, "safety.db");
    assert_eq!(ended.ended_holds, 3);
    assert!(world.check("c", &["src/"]).free);
    assert_eq!(world.show(&task)["status"], "open");
    let later = world.reserve("c", &["src/"]).unwrap();
    assert!(later["holds"][0]["fence"].as_i64().unwrap() > 1 << 32);
    world.sound();
}

fn clock_set_back(world: &World) {
    world.reserve("a", &["src/"]).unwrap();
    world.advance(Span::hours(-10));
    world.reserve("b", &["docs/"]).unwrap();
    world.advance(Span::hours(1));
    assert!(world.check("b", &["src/"]).free, "it ends an hour from the time that counts now");
    world.sound();
}

fn one_winner(world: &World) {
    for round in 0..3 {
        let won = world.race(16, |n, kernel| {
            let path = if n.is_multiple_of(2) { format!("src/{round}/a.rs") } else { format!("glob:src/{round}/*.rs") };
            let request = reserve::Reserve { paths: vec![path], ..reserve::Reserve::default() };
            kernel.run(&world.from("main", &format!("r{n}")), &Op::new(request)).is_ok()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "round {round}");
    }
    world.sound();
}

fn random(world: &World) {
    let dice = Dice::new(7);
    let paths = ["a", "a/", "a/b", "a/b/c", "glob:a/*", "glob:**/c", "b", "glob:[ab]", "./", "glob:a/**/c", "d/"];
    for _ in 0..250 {
        let agent = *dice.one(&["a", "b", "c"]);
        let some: Vec<&str> = (0..=dice.below(2)).map(|_| *dice.one(&paths)).collect();
        let checkout = *dice.one(&["main", "second"]);
        let op = if dice.once_in(3) {
            Op::new(release::Release { paths: words(&some), ..release::Release::default() })
        } else {
            Op::new(reserve::Reserve {
                paths: words(&some),
                shared: dice.once_in(2),
                all_checkouts: dice.once_in(8),
                ttl_s: Some(dice.within(1, 60)),
                ..reserve::Reserve::default()
            })
        };
        let _ = world.run_call(&world.from(checkout, agent), &op);
        if dice.once_in(4) {
            world.advance(Span::seconds(dice.within(1, 40)));
        }
    }
    assert!(world.count(kind::PATH_RESERVED) > 40 && world.count(kind::HOLD_EXPIRED) > 10);
    world.sound();
}
