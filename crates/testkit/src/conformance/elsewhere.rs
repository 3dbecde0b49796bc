//! One project in several checkouts: notices about holds in other checkouts, lost holds, and queries that show what a
//! write would find.

use serde_json::{Value, json};
use tenure_core::{Result, Span};
use tenure_kernel::Op;
use tenure_kernel::op::{reserve, resume};
use tenure_kernel::query;
use tenure_kernel::query::check::Check;
use tenure_kernel::query::holds::Filter;
use tenure_kernel::query::look_up::Found;

use super::Case;
use super::shorthand::words;
use crate::fixture::{World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r2_reserve_says_who_holds_the_same_in_another_checkout", reserve_says_who),
    Case::everywhere("inv_r2_a_brief_names_first_who_has_the_same_and_counts_the_rest", brief_names_first),
    Case::everywhere("inv_r2_checkouts_have_names_and_keep_their_ids", names),
    Case::everywhere("inv_r9_whoever_lost_a_path_is_told_so_whoever_has_it_now", lost_is_stale),
    Case::everywhere("inv_r9_whoever_lost_a_lock_is_told_so_however_often_it_changed_hands", lost_lock),
    Case::everywhere("inv_r9_a_brief_names_the_paths_that_were_lost", brief_names_lost),
    Case::everywhere("inv_l12_looking_shows_paths_end_with_their_task", looking_agrees),
    Case::everywhere("inv_l12_a_path_ends_with_its_task_however_many_others_are_due", many_due),
    Case::everywhere("every_id_that_is_answered_is_understood", ids),
];

impl World {
    fn reserve_in(&self, checkout: &str, agent: &str, paths: &[&str]) -> Result<Value> {
        let request = reserve::Reserve { paths: words(paths), ..reserve::Reserve::default() };
        self.run_call(&self.from(checkout, agent), &Op::new(request))
    }

    fn brief(&self, checkout: &str, agent: &str) -> String {
        let call = self.from(checkout, agent);
        let peeked = self.kernel.ask(&call, &query::peek::Peek(resume::Resume::default())).unwrap().brief.text;
        let told = self.run_call(&call, &Op::new(resume::Resume::default())).unwrap();
        let told = told["brief"]["text"].as_str().unwrap().to_owned();
        let near = |text: &str| section(text, "Near you").join("\n");
        assert_eq!(near(&peeked), near(&told), "looking and resuming see the same");
        told
    }
}

fn section(text: &str, heading: &str) -> Vec<String> {
    let head = format!("## {heading}");
    let lines = text.lines().skip_while(|line| *line != head).skip(1);
    lines.take_while(|line| !line.starts_with("## ")).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn reserve_says_who(world: &World) {
    let first = world.reserve_in("main", "a", &["src/"]).unwrap();
    assert_eq!(first.get("elsewhere"), None, "nobody else is anywhere");
    let second = world.reserve_in("side", "b", &["src/a.rs", "docs/x"]).unwrap();
    let met = &second["elsewhere"];
    assert_eq!(met.as_array().unwrap().len(), 1, "{met}");
    for (key, value) in [
        ("holder", json!("a")),
        ("pattern", json!("src/")),
        ("hold", first["holds"][0]["id"].clone()),
        ("checkout", json!("/repos/main")),
        ("checkout_name", json!("main")),
        ("checkout_id", first["holds"][0]["checkout_id"].clone()),
    ] {
        assert_eq!(met[0][key], value, "{key}");
    }
    // A repeated request reports the same; so do a check and the first agent's view.
    assert_eq!(world.reserve_in("side", "b", &["src/a.rs"]).unwrap()["elsewhere"][0]["holder"], "a");
    let question = Check { paths: words(&["src/a.rs"]), ..Check::default() };
    let checked = world.kernel.ask(&world.from("side", "b"), &question).unwrap();
    assert!(checked.free && checked.elsewhere[0].holder == "a");
    assert_eq!(world.reserve_in("main", "a", &["src/"]).unwrap()["elsewhere"][0]["pattern"], "src/a.rs");
    // The overlap begins with the later of the two grants, whenever an agent asks.
    let since = &second["holds"][0]["granted_at"];
    assert_eq!(met[0]["since"], *since);
    world.advance(Span::seconds(5));
    for (checkout, agent, path) in [("side", "b", "src/a.rs"), ("main", "a", "src/a.rs"), ("main", "a", "src/")] {
        let again = world.reserve_in(checkout, agent, &[path]).unwrap();
        assert_eq!(again["elsewhere"][0]["since"], *since, "{agent} {path}");
    }
    let checked = world.kernel.ask(&world.from("side", "b"), &question).unwrap();
    assert_eq!(json!(checked.elsewhere[0].since), *since);
    // No notice for different files, for paths that both only share, and for the agent's own holds.
    assert_eq!(world.reserve_in("side", "b", &["lib/"]).unwrap().get("elsewhere"), None);
    assert_eq!(world.reserve_in("side", "a", &["src/b.rs"]).unwrap().get("elsewhere"), None);
    let share = |checkout: &str, agent: &str| {
        let request = reserve::Reserve { paths: words(&["r/x"]), shared: true, ..reserve::Reserve::default() };
        world.run_call(&world.from(checkout, agent), &Op::new(request)).unwrap()
    };
    share("main", "a");
    assert_eq!(share("side", "b").get("elsewhere"), None);
    world.advance(Span::hours(1));
    assert_eq!(world.reserve_in("third", "c", &["src/a.rs"]).unwrap().get("elsewhere"), None, "all over");
    world.sound();
}

fn brief_names_first(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    for n in 0..15 {
        world.reserve_with("c", &[&format!("other/{n}")], |request| request.ttl_s = Some(60 + n)).unwrap();
    }
    world.reserve_in("main", "a", &["src/a.rs"]).unwrap();
    world.reserve_in("side", "b", &["src/"]).unwrap();
    let near = section(&world.brief("main", "a"), "Near you");
    assert!(near[0].contains("b holds") && near[0].contains("another checkout (“side”)"), "{near:#?}");
    assert_eq!(near.len(), 11, "{near:#?}");
    assert!(near[10].contains("and 6 more"), "{near:#?}");
    let near = section(&world.brief("side", "b"), "Near you");
    assert!(near[0].contains("a holds") && near[0].contains("“main”"), "{near:#?}");
    world.sound();
}

fn names(world: &World) {
    let here = world.reserve_in("w/repo", "a", &["x"]).unwrap();
    world.reserve_in("v/repo", "b", &["x"]).unwrap();
    let mut far = world.from("w/repo", "c");
    far.checkout.as_mut().unwrap().host = "far".into();
    let request = reserve::Reserve { paths: words(&["x"]), ..reserve::Reserve::default() };
    let there = world.run_call(&far, &Op::new(request)).unwrap();
    assert_eq!(here["holds"][0]["checkout"], "/repos/w/repo");
    assert_eq!(there["elsewhere"].as_array().unwrap().len(), 2);
    let page = world
        .kernel
        .ask(&world.from("w/repo", "a"), &query::holds::Holds { filter: Filter::default(), limit: 50, cursor: None })
        .unwrap();
    let mut seen: Vec<(String, String, String)> = page
        .items
        .iter()
        .map(|hold| (hold.holder.to_string(), hold.checkout_name.clone().unwrap(), hold.checkout.clone().unwrap()))
        .collect();
    seen.sort();
    let expected =
        [("a", "w/repo", "/repos/w/repo"), ("b", "v/repo", "/repos/v/repo"), ("c", "far:repo", "far:/repos/w/repo")];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(seen, expected);
    // The answer of a release from another checkout names the hold's checkout.
    let hold = here["holds"][0]["id"].as_str().unwrap().to_owned();
    let request = tenure_kernel::op::release::Release { hold: Some(hold.into()), ..Default::default() };
    let ended = world.run_call(&world.from("v/repo", "a"), &Op::new(request)).unwrap();
    assert_eq!(ended["holds"][0]["checkout"], "/repos/w/repo");
    assert!(ended["holds"][0]["checkout_id"].as_str().unwrap().starts_with("c-"));
}

fn lost_is_stale(world: &World) {
    world.reserve_with("a", &["x"], |request| request.ttl_s = Some(60)).unwrap();
    world.advance(Span::seconds(60));
    // The path changes hands many times, and ends with b.
    for _ in 0..30 {
        world.reserve("c", &["x"]).unwrap();
        world.release_paths("c", &["x"]).unwrap();
    }
    let taken = world.reserve("b", &["x"]).unwrap();
    let error = refusal(world.release_paths("a", &["x"]));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("stale", "lapsed"), "{}", error.message());
    assert!(error.message().contains("b has held x since"), "{}", error.message());
    assert_eq!(error.get("now_held_by").unwrap()["hold"], taken["holds"][0]["id"]);
    assert_eq!(code_of(world.release_paths("d", &["x"])), "path_held", "who never had it");
    assert_eq!(code_of(world.release_paths("c", &["x"])), "path_held", "who gave it back");
    assert_eq!(kind_of(world.release_paths("a", &["./"])), "stale", "what has it in it");
    // In another checkout the agent never held it.
    let request = tenure_kernel::op::release::Release { paths: words(&["x"]), ..Default::default() };
    assert_eq!(code_of(world.run_call(&world.from("side", "a"), &Op::new(request))), "not_held");
    // A person takes it by force.
    world.reserve_with("person:ann", &["x"], |request| request.force = true).unwrap();
    let error = refusal(world.release_paths("b", &["x"]));
    assert_eq!((error.kind().as_str(), error.get("ended_by").unwrap()), ("stale", &json!("person:ann")));
    assert!(error.message().contains("person:ann ended it"), "{}", error.message());
    // After it is reserved again and released, it is no longer lost.
    world.release_paths("person:ann", &["x"]).unwrap();
    assert_eq!(kind_of(world.release_paths("b", &["x"])), "stale", "nobody has it now");
    world.reserve("b", &["x"]).unwrap();
    world.release_paths("b", &["x"]).unwrap();
    assert_eq!(code_of(world.release_paths("b", &["x"])), "not_held");
    world.sound();
}

fn lost_lock(world: &World) {
    world.lock_with("a", "deploy", |request| request.ttl_s = Some(60)).unwrap();
    world.advance(Span::seconds(60));
    for _ in 0..30 {
        world.lock("c", "deploy").unwrap();
        world.unlock("c", "deploy", None).unwrap();
    }
    world.lock("b", "deploy").unwrap();
    let error = refusal(world.unlock("a", "deploy", None));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("stale", "lapsed"));
    assert_eq!(error.get("now_held_by").unwrap()["holder"], "b");
    assert_eq!(code_of(world.unlock("c", "deploy", None)), "lock_held");
    world.sound();
}

fn brief_names_lost(world: &World) {
    world.reserve_with("a", &["src/a.rs", "src/b.rs", "src/c.rs", "free"], |request| request.ttl_s = Some(60)).unwrap();
    world.release_paths("a", &["src/c.rs"]).unwrap();
    world.advance(Span::seconds(60));
    let changed = |world: &World| section(&world.brief("main", "a"), "Changed while you were away");
    assert!(changed(world).is_empty(), "nobody has them");
    world.reserve("b", &["src/"]).unwrap();
    let told = changed(world);
    assert_eq!(told.len(), 2, "{told:#?}");
    for path in ["“src/a.rs”", "“src/b.rs”"] {
        assert!(told.iter().any(|line| line.contains(path) && line.contains("b has “src/”")), "{told:#?}");
    }
    world.release_paths("b", &["src/"]).unwrap();
    world.reserve("a", &["src/a.rs"]).unwrap();
    assert!(changed(world).is_empty());
    world.reserve_with("person:ann", &["src/a.rs"], |request| request.force = true).unwrap();
    let told = changed(world);
    assert!(told.len() == 1 && told[0].contains("person:ann has it"), "{told:#?}");
    // Another checkout is a different place.
    world.reserve_in("side", "c", &["free"]).unwrap();
    assert_eq!(changed(world).len(), 1);
    world.sound();
}

/// A task of `a` whose hold expired, with a path that was reserved for longer.
fn outlived(world: &World) -> String {
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    let held = world.reserve_with("a", &["src/"], |request| request.ttl_s = Some(3_600)).unwrap();
    assert_eq!(held["holds"][0]["task"], json!(task));
    world.advance(Span::seconds(59));
    assert!(!world.check("b", &["src/x"]).free);
    world.advance(Span::seconds(1));
    held["holds"][0]["id"].as_str().unwrap().to_owned()
}

fn looking_agrees(world: &World) {
    let hold = outlived(world);
    let call = world.from("main", "b");
    assert!(world.check("b", &["src/x"]).free);
    for filter in [
        Filter::default(),
        Filter { holder: Some("a".into()), ..Filter::default() },
        Filter { paths: words(&["src/"]), ..Filter::default() },
    ] {
        assert!(
            world
                .kernel
                .ask(&call, &query::holds::Holds { filter: filter.clone(), limit: 50, cursor: None })
                .unwrap()
                .items
                .is_empty(),
            "{filter:?}"
        );
    }
    assert_eq!(world.kernel.ask(&call, &query::show_hold::ShowHold { id: hold.clone() }).unwrap().state, "lapsed");
    assert_eq!(world.kernel.ask(&call, &query::status::Status {}).unwrap().held, 0);
    let question = query::why_path::WhyPath { paths: words(&["src/"]), ..Default::default() };
    for story in [
        world.kernel.ask(&call, &query::why::Why { id: hold.clone() }).unwrap(),
        world.kernel.ask(&call, &question).unwrap(),
    ] {
        let last = story.story.last().unwrap();
        assert!(last.number == 0 && last.text.contains("expired"), "{story:?}");
    }
    assert!(world.kernel.ask(&call, &query::others_here::OthersHere {}).unwrap().free);
    world.reserve("b", &["src/x"]).unwrap();
    world.sound();
}

fn many_due(world: &World) {
    for n in 0..3 {
        let paths: Vec<String> = (0..40).map(|file| format!("d{n}/{file}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        world.reserve_with("c", &paths, |request| request.ttl_s = Some(30)).unwrap();
    }
    outlived(world);
    assert!(world.check("b", &["src/x"]).free);
    world.reserve("b", &["src/x"]).unwrap();
    world.sound();
}

fn ids(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let note = world.note("a", &task, "so far").unwrap()["id"].as_str().unwrap().to_owned();
    world.reserve("a", &["x"]).unwrap();
    let place = world.wait("b", &["x"]).unwrap()["id"].as_str().unwrap().to_owned();
    let call = world.from("main", "b");
    let checkout = world.kernel.ask(&call, &query::holds::Holds::of(None, 50)).unwrap().items;
    let checkout = checkout.iter().find_map(|hold| hold.checkout_id.clone()).unwrap();
    let sent = tenure_kernel::op::send::Send { to: vec!["a".into()], text: "hello".into(), ..Default::default() };
    let message = world.run("b", Op::new(sent)).unwrap()["id"].as_str().unwrap().to_owned();
    let shown = |agent: &str, id: &str| {
        world.kernel.ask(&world.from("main", agent), &query::look_up::LookUp { typed: id.into() })
    };
    match shown("b", &place).unwrap() {
        Found::Place(shown) => assert_eq!((shown.agent.as_str(), shown.place), ("b", Some(1))),
        _ => panic!("{place} is a place"),
    }
    assert!(matches!(shown("c", &note).unwrap(), Found::Note(found) if found.task == task));
    assert!(matches!(shown("c", &checkout).unwrap(), Found::Checkout(found) if found.path == "/repos/main"));
    for agent in ["a", "b"] {
        assert!(matches!(shown(agent, &message).unwrap(), Found::Message(found) if found.text == "hello"));
    }
    // A message between two agents is invisible to others.
    assert_eq!(shown("c", &message).err().map(|error| error.kind().as_str()), Some("not_found"));
    assert_eq!(
        kind_of(world.kernel.ask(&world.from("main", "c"), &query::why::Why { id: message.clone() })),
        "not_found"
    );
    // A prefix is sufficient.
    assert!(matches!(shown("b", &place[..4]).unwrap(), Found::Place(_)));
    for id in [place.as_str(), &note, &message, &checkout] {
        let story = world.kernel.ask(&call, &query::why::Why { id: id.into() }).unwrap();
        assert!(!story.story.is_empty(), "{id}");
    }
    world.release_paths("a", &["x"]).unwrap();
    world.wait("b", &["x"]).unwrap();
    match shown("b", &place).unwrap() {
        Found::Place(shown) => assert_eq!(shown.state, "ended"),
        _ => panic!("{place} is a place"),
    }
    let told: Vec<String> = world
        .kernel
        .ask(&call, &query::why::Why { id: place.clone() })
        .unwrap()
        .story
        .into_iter()
        .map(|told| told.text)
        .collect();
    assert!(told.len() >= 3, "queued, offered, taken: {told:?}");
    assert_eq!(shown("b", "w-zzzzz").err().map(|error| error.kind().as_str()), Some("not_found"));
    world.sound();
}
