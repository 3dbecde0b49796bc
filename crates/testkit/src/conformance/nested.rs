//! Nested checkouts: a hold in one conflicts with requests that reach into it, across projects.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_client::phrasing::Commands;
use tenure_core::pattern::{Case as FileCase, Pattern};
use tenure_core::{Result, Span};
use tenure_kernel::op::{claim, guard, reserve, transfer};
use tenure_kernel::query;
use tenure_kernel::query::check::Check;
use tenure_kernel::query::holds::Filter;
use tenure_kernel::{Call, Checkout, Kernel, Op, Trust, WorkingTree};
use tenure_store::table::project;

use super::Case;
use super::shorthand::words;
use crate::fixture::{Engine, World, code_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r2_a_reservation_over_a_directory_covers_the_checkouts_inside_it", covers),
    Case::everywhere("inv_r2_a_wide_hold_covers_checkouts_that_are_seen_later", seen_later),
    Case::everywhere("inv_r2_nested_checkouts_are_found_whatever_their_directories_are_called", odd_names),
    Case::everywhere("inv_r2_wide_requests_over_many_repositories_agree_with_an_oracle", oracle),
    Case::everywhere("inv_r2_nested_checkouts_of_one_project_meet_too", worktrees),
    Case::everywhere("inv_r2_looking_agrees_with_reserving_around_nested_checkouts", looking),
    Case::everywhere("inv_r7_a_wide_waiter_is_not_passed_inside_a_nested_checkout", waiting),
    Case::everywhere("inv_r7_a_circle_through_two_repositories_is_refused", circle),
    Case::everywhere("inv_r12_a_commit_inside_a_wide_hold_is_refused", committing),
    Case::everywhere("inv_l12_what_is_taken_over_or_handed_over_meets_nested_checkouts", bound),
    Case::everywhere("inv_r5_force_takes_no_hold_of_another_project", forcing),
    Case::only(&[Engine::File, Engine::Postgres], "inv_r2_of_a_wide_and_an_inner_request_at_once_one_is_granted", race),
    Case::only(&[Engine::Postgres], "inv_r4_nobody_waits_longer_where_no_checkout_is_nested", round_trips),
];

/// A call from a checkout of a project.
pub(super) fn at(world: &World, (project, top): (&str, &str), agent: &str) -> Call {
    let checkout = Checkout {
        host: "host".to_owned(),
        path: top.to_owned(),
        common: None,
        trust: Trust::Any,
        tree: WorkingTree::default(),
    };
    let project = project::NamedProject { key: format!("name:{project}").into(), label: project.to_owned() };
    Call { project, checkout: Some(checkout), ..world.call(agent) }
}

pub(super) const OUTER: (&str, &str) = ("outer", "/w/outer");
pub(super) const SUB: (&str, &str) = ("sub", "/w/outer/libs/sub");
const DEEP: (&str, &str) = ("deep", "/w/outer/libs/sub/vendor/deep");
const OTHER: (&str, &str) = ("other", "/w/outer2");

pub(super) fn request(paths: &[&str]) -> reserve::Reserve {
    reserve::Reserve { paths: words(paths), ..reserve::Reserve::default() }
}

/// The details of a refusal.
pub(super) fn details(answer: Result<Value>) -> Value {
    refusal(answer).to_json(&Commands)["details"].clone()
}

pub(super) fn take_on(
    world: &World,
    kernel: &Kernel,
    place: (&str, &str),
    agent: &str,
    request: reserve::Reserve,
) -> Result<Value> {
    let reply = kernel.run(&at(world, place, agent), &Op::new(request))?;
    Ok(serde_json::from_str(&reply.body).unwrap())
}

pub(super) fn take(world: &World, place: (&str, &str), agent: &str, paths: &[&str]) -> Result<Value> {
    take_on(world, &world.kernel, place, agent, request(paths))
}

fn free(world: &World, place: (&str, &str), agent: &str, paths: &[&str]) {
    let request = tenure_kernel::op::release::Release { paths: words(paths), ..Default::default() };
    world.run_call(&at(world, place, agent), &Op::new(request)).unwrap();
}

fn covers(world: &World) {
    for place in [OUTER, SUB, DEEP, OTHER] {
        take(world, place, "z", &["seen"]).unwrap();
        free(world, place, "z", &["seen"]);
    }
    take(world, SUB, "a", &["src/x.rs"]).unwrap();
    let total = |refused: &Value| refused["total"].clone();
    for paths in
        [&["./"][..], &["libs/"], &["libs/sub/"], &["glob:**/*.rs"], &["glob:libs/*/src/?.rs"], &["README", "libs/"]]
    {
        let refused = details(take(world, OUTER, "b", paths));
        let blocker = &refused["blockers"][0];
        assert_eq!((&blocker["holder"], &blocker["pattern"]), (&json!("a"), &json!("src/x.rs")), "{paths:?}");
        assert_eq!((&blocker["checkout"], &blocker["project"]), (&json!(SUB.1), &json!("sub")), "{paths:?}");
        assert!(refused["who"].as_str().unwrap().contains("/w/outer/libs/sub"), "{refused:?}");
    }
    // Nothing was taken, and paths that do not reach in are free, including the commit recorded for a submodule.
    take(world, OUTER, "b", &["README", "libs/sub", "libs/other/", "glob:*.rs", "glob:libs/*.rs", "glob:libs/*/*.rs"])
        .unwrap();
    take(world, OTHER, "b", &["./"]).unwrap();
    take(world, DEEP, "b", &["./"]).unwrap();
    // The holds in two nested repositories block it, each counted once.
    assert_eq!(total(&details(take(world, OUTER, "c", &["./"]))), json!(8), "six and one of b, one of a");
    // The reverse direction, at every depth.
    free(world, SUB, "a", &["src/x.rs"]);
    free(world, DEEP, "b", &["./"]);
    free(world, OUTER, "b", &["./"]);
    let wide = take(world, OUTER, "c", &["libs/sub/"]).unwrap();
    for (place, path) in [(SUB, "src/y.rs"), (SUB, "./"), (DEEP, "x"), (DEEP, "glob:**/*.c")] {
        let refused = details(take(world, place, "d", &[path]));
        assert_eq!(refused["blockers"][0]["id"], wide["holds"][0]["id"], "{path}");
        assert_eq!(refused["blockers"][0]["project"], "outer");
    }
    // An agent's own holds never conflict, and shared holds do not conflict.
    take(world, SUB, "c", &["src/y.rs"]).unwrap();
    free(world, OUTER, "c", &["libs/sub/"]);
    free(world, SUB, "c", &["src/y.rs"]);
    let shared = |paths: &[&str]| reserve::Reserve { shared: true, ..request(paths) };
    take_on(world, &world.kernel, OUTER, "c", shared(&["libs/"])).unwrap();
    take_on(world, &world.kernel, SUB, "d", shared(&["src/"])).unwrap();
    assert_eq!(code_of(take(world, SUB, "e", &["src/q"])), "path_held");
    // An expired hold is over, settled or not.
    world.advance(Span::hours(2));
    take(world, OUTER, "e", &["./"]).unwrap();
    world.advance(Span::hours(2));
    take(world, DEEP, "f", &["./"]).unwrap();
}

fn seen_later(world: &World) {
    take(world, OUTER, "a", &["libs/"]).unwrap();
    // These checkouts were not known before.
    assert_eq!(code_of(take(world, SUB, "b", &["x"])), "path_held");
    assert_eq!(code_of(take(world, DEEP, "b", &["x"])), "path_held");
    let question = Check { paths: words(&["x"]), ..Check::default() };
    assert!(!world.kernel.ask(&at(world, SUB, "b"), &question).unwrap().free);
    // A different directory on the same machine, and the same path on another.
    take(world, ("sub", "/w/outer/lib"), "b", &["x"]).unwrap();
    let mut call = at(world, SUB, "b");
    call.checkout.as_mut().unwrap().host = "another".to_owned();
    world.run_call(&call, &Op::new(request(&["x"]))).unwrap();
}

/// Names with characters that JSON, LIKE and globs treat specially.
fn odd_names(world: &World) {
    for (n, name) in ["quo\"te", "back\\slash", "per%cent_", "\\u0041", "täb\there", "😀", "[x]*?"].iter().enumerate()
    {
        let (outer, sub) = (format!("outer-{n}"), format!("sub-{n}"));
        let (top, inside) = (format!("/w/{name}"), format!("/w/{name}/libs/{name}"));
        let (outer, sub) = ((outer.as_str(), top.as_str()), (sub.as_str(), inside.as_str()));
        take(world, sub, "a", &["x"]).unwrap();
        assert_eq!(code_of(take(world, outer, "b", &["libs/"])), "path_held", "{name}");
        free(world, sub, "a", &["x"]);
        take(world, outer, "b", &["libs/"]).unwrap();
        assert_eq!(code_of(take(world, sub, "a", &["x"])), "path_held", "{name}");
    }
}

/// Random holds in a layout of nested repositories. The oracle decides file by file whether a random request touches a
/// file that another agent holds.
fn oracle(world: &World) {
    let places: Vec<(String, String)> = ["", "/a", "/b", "/b/a", "/b/a/c", "/c/a", "/a/b", "/ab"]
        .iter()
        .enumerate()
        .map(|(n, dir)| (format!("p{n}"), format!("/w/top{dir}")))
        .collect();
    let place = |at: usize| (places[at].0.as_str(), places[at].1.as_str());
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut files: Vec<String> = vec![String::new()];
    let mut longest = files.clone();
    for _ in 0..6 {
        let longer = |file: &String| ["a", "b", "c", "ab"].map(|name| format!("{file}/{name}"));
        longest = longest.iter().flat_map(longer).collect();
        files.extend(longest.iter().cloned());
    }
    // A file belongs to the checkout with the nearest top above it; a pattern matches it from any top above it.
    let wide = [
        "./",
        "a/",
        "b/",
        "b/a/",
        "glob:**/a",
        "glob:*/b",
        "glob:b/**/c",
        "glob:*/*/[ab]",
        "glob:{a,c}/**",
        "c/",
        "ab/",
    ];
    let narrow = ["a", "b", "c", "ab/a", "c/b/a", "a/c"];
    let within = |place: usize, pattern: &Pattern| -> BTreeSet<usize> {
        let top = places[place].1.strip_prefix("/w/top").unwrap();
        let path = |file: &str| file.strip_prefix(top)?.strip_prefix('/').map(str::to_owned);
        let has = |at: &usize| path(&files[*at]).is_some_and(|path| pattern.matches(&path));
        (0..files.len()).filter(has).collect()
    };
    let mut held: Vec<(String, String, (usize, Pattern), BTreeSet<usize>)> = Vec::new();
    let (mut granted, mut refused) = (0, 0);
    for round in 0..400 {
        // The doors assign a path to the nearest checkout; a pattern may belong to any checkout above.
        let at = if round % 2 == 0 { random(3) } else { random(places.len()) };
        let typed = if round % 2 == 0 { wide[random(wide.len())] } else { narrow[random(narrow.len())] };
        let agent = format!("agent-{}", random(6));
        let asked = (at, Pattern::parse(typed, FileCase::Kept).unwrap());
        let its = within(at, &asked.1);
        let is_free = !held.iter().any(|(holder, .., files)| *holder != agent && !files.is_disjoint(&its));
        let answer = take(world, place(at), &agent, &[typed]);
        assert_eq!(answer.is_ok(), is_free, "{typed} in {} for {agent}: {answer:?}", places[at].1);
        match answer {
            Ok(_) => {
                granted += 1;
                held.push((agent, typed.to_owned(), asked, its));
            }
            Err(_) => refused += 1,
        }
        if held.len() > 6 {
            let (agent, typed, (at, _), _) = held.remove(random(held.len()));
            let request = tenure_kernel::op::release::Release { paths: words(&[&typed]), ..Default::default() };
            let released = world.run_call(&self::at(world, place(at), &agent), &Op::new(request));
            // A wider hold of the same agent may have been requested again, and one row is released for both.
            if released.is_err() {
                assert!(["not_held", "covered"].contains(&code_of(released)), "{typed}");
            }
            // Covered holds are released with it.
            let gone = Pattern::parse(&typed, FileCase::Kept).unwrap();
            held.retain(|(other, _, (there, its), _)| !(*other == agent && *there == at && gone.covers(its)));
        }
    }
    assert!(granted > 100 && refused > 100, "{granted} granted, {refused} refused");
}

fn worktrees(world: &World) {
    let (main, tree) = (("p", "/w/main"), ("p", "/w/main/trees/side"));
    take(world, main, "z", &["seen"]).unwrap();
    take(world, tree, "a", &["src/x.rs"]).unwrap();
    let refused = details(take(world, main, "b", &["trees/"]));
    assert_eq!((&refused["blockers"][0]["checkout"], refused["blockers"][0].get("project")), (&json!(tree.1), None));
    // The same path in both is two files, and both are reported once.
    let beside = take(world, main, "b", &["src/"]).unwrap();
    assert_eq!(beside["elsewhere"].as_array().unwrap().len(), 1);
    assert_eq!(code_of(take(world, tree, "c", &["./"])), "path_held");
    free(world, tree, "a", &["src/x.rs"]);
    take(world, main, "b", &["trees/"]).unwrap();
    assert_eq!(code_of(take(world, tree, "c", &["new"])), "path_held");
    // A person takes over holds of the same project, in any checkout.
    let forced = reserve::Reserve { force: true, ..request(&["new"]) };
    take_on(world, &world.kernel, tree, "person:ann", forced).unwrap();
    // A hold for all checkouts applies in each of them.
    free(world, main, "b", &["src/"]);
    let everywhere = reserve::Reserve { all_checkouts: true, ..request(&["trees/side/docs/"]) };
    take_on(world, &world.kernel, main, "d", everywhere).unwrap();
    assert_eq!(code_of(take(world, tree, "e", &["docs/x"])), "path_held");
}

fn looking(world: &World) {
    take(world, SUB, "a", &["src/x.rs"]).unwrap();
    take(world, OUTER, "b", &["README"]).unwrap();
    let check = |place, agent: &str, paths: &[&str]| {
        let question = Check { paths: words(paths), ..Check::default() };
        world.kernel.ask(&at(world, place, agent), &question).unwrap()
    };
    let seen = check(OUTER, "b", &["libs/"]);
    assert!(!seen.free && seen.total == 1 && seen.blockers[0].project.as_deref() == Some("sub"), "{seen:?}");
    assert!(check(OUTER, "a", &["libs/"]).free && check(OUTER, "b", &["src/"]).free);
    // A check from an unknown repository sees the holds around it.
    take(world, OUTER, "b", &["other/"]).unwrap();
    assert!(!check(("new", "/w/outer/other/new"), "c", &["x"]).free);
    let holds = |place, paths: &[&str]| {
        let filter = Filter { paths: words(paths), ..Filter::default() };
        world
            .kernel
            .ask(&at(world, place, "c"), &query::holds::Holds { filter: filter.clone(), limit: 50, cursor: None })
            .unwrap()
            .items
    };
    let found = holds(OUTER, &["./"]);
    assert_eq!(found.len(), 3, "{found:?}");
    let inside = found.iter().find(|hold| hold.subject == "src/x.rs").unwrap();
    assert_eq!((inside.project.as_deref(), inside.checkout.as_deref()), (Some("sub"), Some(SUB.1)));
    assert!(holds(OUTER, &["src/"]).is_empty());
    assert!(holds(SUB, &["src/"]).len() == 1);
    // The work at risk when a whole tree is changed: holds around it count too, holds in nested checkouts do not.
    let others = |place| world.kernel.ask(&at(world, place, "c"), &query::others_here::OthersHere {}).unwrap();
    assert_eq!(others(OUTER).total, 2);
    assert_eq!(others(("new", "/w/outer/other/new")).blockers[0].holder, "b");
    assert_eq!(others(SUB).total, 1);
    world.advance(Span::hours(2));
    assert!(check(OUTER, "b", &["./"]).free && holds(OUTER, &["./"]).is_empty());
}

fn waiting(world: &World) {
    take(world, SUB, "a", &["src/x.rs"]).unwrap();
    let wait = |place, agent: &str, path: &str| {
        take_on(world, &world.kernel, place, agent, reserve::Reserve { wait: true, ..request(&[path]) })
    };
    let queued = wait(OUTER, "b", "libs/").unwrap();
    assert_eq!((&queued["waiting"], &queued["blockers"][0]["project"]), (&json!(true), &json!("sub")));
    // No request passes it inside, and paths it does not want are free.
    let refused = details(take(world, SUB, "c", &["src/y.rs"]));
    let blocker = &refused["blockers"][0];
    assert_eq!(
        (&blocker["state"], &blocker["holder"], &blocker["project"]),
        (&json!("waiting"), &json!("b"), &json!("outer"))
    );
    take(world, OUTER, "c", &["src/y.rs"]).unwrap();
    // The holder that it waits for goes first.
    take(world, SUB, "a", &["src/z.rs"]).unwrap();
    let place = queued["id"].as_str().unwrap();
    let turn = |before: Option<&_>| {
        world
            .kernel
            .ask(&at(world, OUTER, "b"), &query::turn::Turn { place: place.into(), before: before.cloned() })
            .unwrap()
    };
    let before = turn(None);
    assert_eq!((before.state.as_str(), before.behind.as_deref()), ("waiting", Some("a")));
    let behind = wait(SUB, "d", "src/").unwrap();
    assert_eq!(behind["place"], 2, "{behind}");
    free(world, SUB, "a", &["src/"]);
    assert_eq!(turn(Some(&before)).state, "ready", "it finds out although nothing happened in its own project");
    assert_eq!(code_of(take(world, SUB, "c", &["src/y.rs"])), "path_held");
    assert_eq!(wait(OUTER, "b", "libs/").unwrap()["holds"].as_array().unwrap().len(), 1);
    free(world, OUTER, "b", &["libs/"]);
    assert_eq!(wait(SUB, "d", "src/").unwrap()["holds"].as_array().unwrap().len(), 1);
}

fn circle(world: &World) {
    take(world, SUB, "a", &["x"]).unwrap();
    take(world, OUTER, "b", &["README"]).unwrap();
    let wait = |place, agent: &str, path: &str| {
        take_on(world, &world.kernel, place, agent, reserve::Reserve { wait: true, ..request(&[path]) })
    };
    wait(OUTER, "b", "libs/").unwrap();
    assert_eq!(code_of(wait(OUTER, "a", "README")), "waits_in_circle");
}

fn committing(world: &World) {
    take(world, SUB, "z", &["seen"]).unwrap();
    take(world, OUTER, "a", &["libs/sub/src/"]).unwrap();
    let ask = |place, agent: &str, paths: &[&str]| {
        let question = query::may_commit::MayCommit { paths: words(paths), fold_case: false };
        world.kernel.ask(&at(world, place, agent), &question).unwrap().unwrap().taken
    };
    let taken = ask(SUB, "b", &["docs/y", "src/x.rs"]);
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!((taken[0].path.as_str(), taken[0].blocker.project.as_deref()), ("src/x.rs", Some("outer")));
    assert!(ask(SUB, "a", &["src/x.rs"]).is_empty());
    // The commit of a submodule is one path of the outer repository.
    take(world, SUB, "c", &["docs/"]).unwrap();
    assert!(ask(OUTER, "b", &["libs/sub"]).is_empty());
    let many: Vec<String> = (0..200).map(|n| format!("src/{n}.rs")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(ask(SUB, "b", &many).len(), 200);
}

fn bound(world: &World) {
    let add = |place| {
        let op = Op::new(tenure_kernel::op::add::Add::titled("work"));
        world.run_call(&at(world, place, "a"), &op).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let claim = |place, agent: &str, task: &str| {
        let request = claim::Claim { task: Some(task.into()), ..claim::Claim::default() };
        world.run_call(&at(world, place, agent), &Op::new(request)).unwrap()
    };
    let task = add(OUTER);
    claim(OUTER, "a", &task);
    take(world, OUTER, "a", &["libs/"]).unwrap();
    take(world, SUB, "a", &["x"]).unwrap();
    // A nested hold that stays with the old holder would conflict with the transferred one.
    take(world, OUTER, "b", &["seen"]).unwrap();
    let hand = || {
        let request =
            transfer::Transfer { task: Some(task.clone().into()), to: "b".into(), ..transfer::Transfer::default() };
        world.run_call(&at(world, OUTER, "a"), &Op::new(request))
    };
    assert_eq!(code_of(hand()), "transfer_splits");
    free(world, SUB, "a", &["x"]);
    hand().unwrap();
    assert_eq!(code_of(take(world, SUB, "a", &["x"])), "path_held");
    // The hold expired, and another agent was faster inside: the rest is not granted over it.
    world.advance(Span::hours(2));
    take(world, SUB, "c", &["x"]).unwrap();
    let regained = claim(OUTER, "d", &task);
    assert_eq!(regained.get("paths"), None, "{regained}");
    assert_eq!(regained["lost_paths"][0]["holder"], "c");
    assert_eq!(regained["lost_paths"][0]["project"], "sub");
}

fn forcing(world: &World) {
    take(world, SUB, "a", &["x"]).unwrap();
    let forced = || reserve::Reserve { force: true, ..request(&["libs/"]) };
    assert_eq!(code_of(take_on(world, &world.kernel, OUTER, "person:ann", forced())), "path_held");
    let live = world.kernel.ask(&at(world, SUB, "a"), &query::holds::Holds::of(None, 10)).unwrap().items;
    assert_eq!(live.len(), 1);
}

fn race(world: &World) {
    // Two kernels on one store, as of two processes.
    let (one, two) = (world.another(), world.another());
    for round in 0..12 {
        let top = format!("/w/race{round}");
        let (inner, deep) = (format!("{top}/libs/in"), format!("{top}/libs/in/deep"));
        let names: Vec<String> = ["o", "i", "d"].iter().map(|name| format!("{name}{round}")).collect();
        let asks = [
            (&one, (names[0].as_str(), top.as_str()), "a", "libs/"),
            (&two, (names[1].as_str(), inner.as_str()), "b", "deep/x"),
            (&one, (names[1].as_str(), inner.as_str()), "c", "glob:*/x"),
            (&two, (names[2].as_str(), deep.as_str()), "d", "x"),
        ];
        // In half of the rounds the checkouts are unknown.
        if round % 2 == 0 {
            for (_, place, agent, _) in &asks {
                take(world, *place, agent, &["libs2/seen"]).unwrap_or_default();
            }
        }
        let granted: Vec<bool> = std::thread::scope(|scope| {
            let run = |(kernel, place, agent, path): (&'_ Kernel, _, &'static str, &'static str)| {
                let kernel: &Kernel = kernel;
                take_on(world, kernel, place, agent, request(&[path]))
                    .map_err(|error| assert_eq!(error.code(), "path_held"))
                    .is_ok()
            };
            let threads: Vec<_> = asks.into_iter().map(|ask| scope.spawn(move || run(ask))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // All four want the file deep/x of the middle one.
        assert_eq!(granted.iter().filter(|granted| **granted).count(), 1, "{round}: {granted:?}");
    }
}

fn round_trips(world: &World) {
    let trips = |work: &dyn Fn()| {
        let before = world.kernel.store().round_trips();
        work();
        world.kernel.store().round_trips() - before
    };
    take(world, OTHER, "a", &["seen"]).unwrap();
    let edit = |place, agent: &str, path: &str| {
        let says = super::sessions::presence(agent);
        let op = Op::new(guard::Guard { paths: words(&[path]), fold_case: false, says });
        world.run_call(&at(world, place, agent), &op).map(drop)
    };
    for (name, trips) in [
        ("a file", trips(&|| drop(take(world, OTHER, "a", &["x"]).unwrap()))),
        ("a directory", trips(&|| drop(take(world, OTHER, "a", &["d/"]).unwrap()))),
        ("an edit", trips(&|| edit(OTHER, "a", "./e").unwrap())),
    ] {
        assert!(trips <= 7, "{name}: {trips} round trips");
    }
}
