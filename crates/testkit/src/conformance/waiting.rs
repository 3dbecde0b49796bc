//! The waiting line: blocking, the order of service, and how places end.

use serde_json::{Value, json};
use tenure_core::event::kind;
use tenure_core::{Result, Span};
use tenure_kernel::answer::{Blocker, PlaceTurn};
use tenure_kernel::op::{release, reserve};
use tenure_kernel::query;
use tenure_kernel::{Call, Op};

use super::Case;
use super::shorthand::{id, words};
use crate::fixture::{World, code_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r7_nobody_passes_those_who_wait", no_barging),
    Case::everywhere("inv_r7_a_wide_pattern_is_not_starved_by_narrow_ones", not_starved),
    Case::everywhere("inv_r7_those_who_wait_for_the_one_who_asks_are_passed", passed),
    Case::everywhere("inv_r7_one_more_who_waits_may_let_another_pass", passed_at_queuing),
    Case::everywhere("inv_r7_offers_are_made_in_the_order_of_tickets", ticket_order),
    Case::everywhere("inv_r7_an_offer_is_taken_under_its_fence", taken),
    Case::everywhere("inv_r7_the_same_request_is_the_same_place", one_place),
    Case::everywhere("inv_r7_places_and_offers_that_lapse_pass_on", lapsing),
    Case::everywhere("inv_r7_circles_of_two_and_three_are_refused_and_named", circles),
    Case::everywhere("inv_r7_whatever_ends_a_hold_serves_the_line", endings),
    Case::everywhere("inv_r7_sharing_serves_the_line", sharing),
    Case::everywhere("inv_r7_sixty_four_are_all_served", sixty_four),
    Case::everywhere("inv_r7_a_take_over_does_not_pass_those_who_wait", taken_over),
    Case::everywhere("inv_r9_release_leaves_the_line", leaving),
    Case::everywhere("inv_i4_a_dead_agent_has_no_place", dead),
    Case::everywhere("inv_r8_a_lapsed_place_has_one_event_whoever_settles_it", settled_once),
    Case::everywhere("inv_t5_queries_show_the_line_and_leave_it", pure),
    Case::everywhere("inv_t6_a_replayed_wait_renews_nothing", replayed),
    Case::everywhere("inv_t15_a_refused_op_serves_what_it_settled", refused_serves),
    Case::everywhere("inv_t9_a_clock_set_back_caps_places", clock_set_back),
    Case::everywhere("places_are_few", few),
];

impl World {
    /// Reserves paths in the checkout `main`, and waits if they are not free.
    pub(super) fn wait(&self, agent: &str, paths: &[&str]) -> Result<Value> {
        self.reserve_with(agent, paths, |request| request.wait = true)
    }

    /// The same, and the request must wait. Returns the id of the place.
    pub(super) fn waits(&self, agent: &str, paths: &[&str], number: i64) -> String {
        let answer = self.wait(agent, paths).unwrap();
        assert_eq!(
            (&answer["waiting"], &answer["place"], &answer["holds"]),
            (&json!(true), &json!(number), &json!([])),
            "{answer}"
        );
        id(&answer)
    }

    fn turn(&self, agent: &str, place: &str) -> PlaceTurn {
        self.kernel.ask(&self.from("main", agent), &query::turn::Turn { place: place.into(), before: None }).unwrap()
    }

    /// The state of an agent's offer or hold on exactly this path.
    fn state_of(&self, agent: &str, path: &str) -> Option<String> {
        let page = self.kernel.ask(&self.from("main", agent), &query::holds::Holds::of(Some(agent), 100)).unwrap();
        page.items.into_iter().find(|hold| hold.subject == path).map(|hold| hold.state)
    }

    pub(super) fn is_offered(&self, agent: &str, path: &str) -> bool {
        self.state_of(agent, path).as_deref() == Some("offered")
    }

    fn force_release(&self, hold: &str) -> Result<Value> {
        let request = release::Release { hold: Some(hold.into()), force: true, ..release::Release::default() };
        self.run_call(&self.from("main", "person:ann"), &Op::new(request))
    }
}

fn no_barging(world: &World) {
    world.reserve("h", &["src/a"]).unwrap();
    let place = world.waits("wide", &["src/"], 1);
    world.advance(Span::seconds(10));
    let events = world.last_event();
    let error = refusal(world.reserve("new", &["src/b"]));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "path_held"));
    let blocker = &error.get("blockers").unwrap()[0];
    assert_eq!(
        (&blocker["id"], &blocker["state"], &blocker["holder"], &blocker["place"], &blocker["pattern"]),
        (&json!(place), &json!("waiting"), &json!("wide"), &json!(1), &json!("src/"))
    );
    assert_eq!((&blocker["age_s"], &blocker["expires_in_s"]), (&json!(10), &json!(110)));
    assert!(error.blocker().unwrap().contains("wide is alive") && error.override_by_person().is_some());
    assert_eq!(world.last_event(), events, "a refusal leaves nothing");
    let checked = world.check("new", &["src/b"]);
    assert_eq!((checked.free, checked.total), (false, 1));
    assert!(world.check("new", &["docs/"]).free && world.check("wide", &["src/b"]).free);
    // Both block a request that overlaps both.
    assert_eq!(refusal(world.reserve("new", &["src/a"])).get("total"), Some(&json!(2)));
    // A request that the agent's own hold covers is not blocked.
    world.reserve("h", &["src/a"]).unwrap();
    world.sound();
}

fn not_starved(world: &World) {
    world.reserve("n0", &["src/0"]).unwrap();
    world.waits("wide", &["src/"], 1);
    for n in 1..6 {
        let (agent, path) = (format!("n{n}"), format!("src/{n}"));
        assert_eq!(code_of(world.reserve(&agent, &[&path])), "path_held");
        world.waits(&agent, &[&path], 2);
    }
    world.release_paths("n0", &["src/0"]).unwrap();
    assert!(world.is_offered("wide", "src/"));
    assert_eq!(world.count(kind::PATH_OFFERED), 1, "all others wait for it");
    assert!(world.wait("wide", &["src/"]).unwrap()["holds"][0]["state"] == "live");
    world.release_paths("wide", &["src/"]).unwrap();
    for n in 1..6 {
        assert!(world.is_offered(&format!("n{n}"), &format!("src/{n}")));
    }
    world.sound();
}

fn passed(world: &World) {
    world.reserve("a", &["f"]).unwrap();
    world.waits("b", &["f", "g"], 1);
    world.waits("c", &["g"], 2);
    assert_eq!(code_of(world.reserve("d", &["g"])), "path_held");
    assert!(world.check("a", &["g"]).free);
    world.reserve("a", &["g"]).unwrap();
    world.release_paths("a", &["f"]).unwrap();
    assert_eq!(world.count(kind::PATH_OFFERED), 0);
    world.release_paths("a", &["g"]).unwrap();
    assert!(world.is_offered("b", "f") && world.is_offered("b", "g") && !world.is_offered("c", "g"));
    world.sound();
}

fn passed_at_queuing(world: &World) {
    world.reserve("a", &["f"]).unwrap();
    world.reserve("b", &["g"]).unwrap();
    world.waits("x", &["f", "h"], 1);
    world.waits("b", &["h"], 2);
    // From here on x waits for a, which waits for b: b need not wait for x.
    world.waits("a", &["g"], 1);
    assert!(world.is_offered("b", "h"));
    world.sound();
}

fn ticket_order(world: &World) {
    world.reserve("h", &["x", "r"]).unwrap();
    world.waits("a", &["x", "y"], 1);
    world.waits("b", &["y"], 2);
    for agent in ["c", "d"] {
        let shared = |request: &mut reserve::Reserve| (request.shared, request.wait) = (true, true);
        assert_eq!(world.reserve_with(agent, &["r"], shared).unwrap()["place"], 1);
    }
    world.waits("e", &["r"], 3);
    world.waits("f", &["x"], 2);
    let before = world.last_event();
    world.release_paths("h", &["x", "r"]).unwrap();
    let told: Vec<(String, String)> = world
        .events()
        .into_iter()
        .filter(|event| event.number > before && event.kind == kind::PATH_OFFERED)
        .map(|event| (event.data["holder"].as_str().unwrap().to_owned(), event.subject))
        .collect();
    let expected = [("a", "x"), ("a", "y"), ("c", "r"), ("d", "r")].map(|(a, p)| (a.to_owned(), p.to_owned()));
    assert_eq!(told, expected);
    world.sound();
}

fn taken(world: &World) {
    let task = world.add("one");
    world.reserve("h", &["src/"]).unwrap();
    let place = world.waits("a", &["src/x", "src/y"], 1);
    assert_eq!(world.turn("a", &place).state, "waiting");
    world.release_paths("h", &["src/"]).unwrap();
    assert_eq!(world.turn("a", &place).state, "offered");
    let offer = world.events().into_iter().find(|event| event.kind == kind::PATH_OFFERED).unwrap();
    assert_eq!((offer.data["ttl_s"].as_i64(), offer.actor.as_str()), (Some(60), "h"));
    // Others see it as a hold, presence does not renew it, and it is bound to no task before it is accepted.
    let error = refusal(world.reserve("b", &["src/x"]));
    assert_eq!(error.get("blockers").unwrap()[0]["state"], "held");
    world.claim("a", &task).unwrap();
    world.advance(Span::seconds(50));
    world.note("a", &task, "half").unwrap();
    let held = world.wait("a", &["src/x", "src/y"]).unwrap();
    let hold = &held["holds"][0];
    assert_eq!((&hold["fence"], &hold["state"], &hold["task"]), (&json!(offer.number), &json!("live"), &json!(task)));
    assert!(hold["expires_in_s"].as_i64().unwrap() > 3_000 && held.get("waiting").is_none());
    assert_eq!(world.turn("a", &place).state, "gone");
    assert_eq!((world.count(kind::PATH_OFFERED), world.count(kind::OFFER_TAKEN)), (2, 2));
    // A repeated request is answered by the agent's own hold.
    let before = world.last_event();
    world.wait("a", &["src/x", "src/y"]).unwrap();
    assert_eq!(world.last_event(), before);
    world.advance(Span::seconds(100));
    world.done("a", &task).unwrap();
    assert!(world.check("b", &["src/"]).free);
    world.sound();
}

fn one_place(world: &World) {
    world.reserve("h", &["f"]).unwrap();
    let place = world.waits("a", &["f", "g"], 1);
    let queued = world.last_event();
    world.advance(Span::seconds(100));
    assert_eq!(world.waits("a", &["g", "./f"], 1), place);
    assert_eq!(world.last_event(), queued, "a renewal is no event");
    world.advance(Span::seconds(100));
    assert_eq!(world.turn("a", &place).state, "waiting");
    // Another set, mode or agent is another place.
    assert_ne!(world.waits("a", &["f"], 1), place);
    let shared = |request: &mut reserve::Reserve| (request.shared, request.wait) = (true, true);
    assert_ne!(id(&world.reserve_with("a", &["f", "g"], shared).unwrap()), place);
    assert_ne!(world.waits("b", &["f", "g"], 4), place);
    world.release_paths("h", &["f"]).unwrap();
    world.sound();
}

fn lapsing(world: &World) {
    let start = |n: i64| world.reserve_with("h", &["f"], |request| request.ttl_s = Some(n)).unwrap();
    start(3_600);
    let first = world.waits("a", &["f"], 1);
    world.waits("b", &["f"], 2);
    world.waits("c", &["f"], 3);
    world.advance(Span::seconds(119));
    world.waits("b", &["f"], 2);
    world.waits("c", &["f"], 3);
    world.advance(Span::seconds(2));
    assert_eq!(world.turn("a", &first).state, "gone");
    world.release_paths("h", &["f"]).unwrap();
    assert_eq!(world.count(kind::PLACE_LAPSED), 1);
    assert!(world.is_offered("b", "f"));
    // The offer expires, and the next write passes it on.
    world.advance(Span::seconds(60));
    assert!(world.state_of("b", "f").is_none());
    world.add("anything");
    assert!(world.is_offered("c", "f"));
    let expired: Vec<Value> =
        world.events().into_iter().filter(|event| event.kind == kind::HOLD_EXPIRED).map(|event| event.data).collect();
    assert_eq!(expired.len(), 1);
    assert_eq!((&expired[0]["holder"], expired[0]["place"].is_string()), (&json!("b"), true));
    world.wait("c", &["f"]).unwrap();
    // An agent that returns too late goes to the end of the line.
    world.waits("b", &["f"], 1);
    assert_eq!(world.count(kind::PLACE_LAPSED), 1);
    // A hold expires: the first query reports the turn, the next write grants it.
    let late = world.waits("b", &["f"], 1);
    for _ in 0..60 {
        world.advance(Span::seconds(60));
        if world.turn("b", &late).state == "waiting" {
            world.waits("b", &["f"], 1);
        }
    }
    assert_eq!(world.turn("b", &late).state, "ready");
    assert_eq!(world.wait("b", &["f"]).unwrap()["holds"][0]["state"], "live");
    world.sound();
}

fn circles(world: &World) {
    world.reserve("a", &["f"]).unwrap();
    world.reserve("b", &["g"]).unwrap();
    world.reserve("c", &["h"]).unwrap();
    world.waits("a", &["g"], 1);
    let before = world.last_event();
    let error = refusal(world.wait("b", &["f"]));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "waits_in_circle"));
    assert_eq!(error.get("circle"), Some(&json!(["b", "a", "b"])));
    assert!(error.message().contains("a, who waits for b"), "{error}");
    world.waits("b", &["h"], 1);
    let error = refusal(world.wait("c", &["f", "z"]));
    assert_eq!(error.get("circle"), Some(&json!(["c", "a", "b", "c"])));
    assert!(error.message().contains("a, who waits for b, who waits for c"), "{error}");
    assert_eq!(world.last_event(), before.next(), "who is refused is not in the line");
    // Without `wait` the behaviour is unchanged.
    assert_eq!(code_of(world.reserve("c", &["f"])), "path_held");
    // After the release, no agent blocks b.
    world.release_paths("c", &["h"]).unwrap();
    assert!(world.is_offered("b", "h"));
    world.sound();
}

fn endings(world: &World) {
    let task = world.add("one");
    let with_task = |world: &World| {
        world.claim("h", &task).unwrap();
        world.reserve("h", &["f"]).unwrap();
    };
    let offered = |world: &World, how: &str, end: &dyn Fn(&World)| {
        let agent = format!("w-{how}");
        world.waits(&agent, &["f"], 1);
        end(world);
        assert!(world.is_offered(&agent, "f"), "{how}");
        world.release_paths(&agent, &["f"]).unwrap();
    };
    with_task(world);
    offered(world, "released", &|world| drop(world.release("h", &task).unwrap()));
    with_task(world);
    offered(world, "blocked", &|world| drop(world.block("h", &task, "waits").unwrap()));
    world.unblock("h", &task).unwrap();
    with_task(world);
    offered(world, "forced", &|world| {
        let hold = world.kernel.ask(&world.from("main", "h"), &query::holds::Holds::of(Some("h"), 10)).unwrap();
        let path = hold.items.iter().find(|hold| hold.kind == "path").unwrap();
        world.force_release(&path.id).unwrap();
    });
    world.reserve("h", &["f"]).unwrap();
    offered(world, "done", &|world| drop(world.done("h", &task).unwrap()));
    world.reserve("h", &["f"]).unwrap();
    offered(world, "session", &|world| {
        let call = Call { checkout: world.from("main", "h").checkout, ..super::sessions::hook(world, "h", 7) };
        world.run_call(&call, &super::sessions::ending("S", "other")).unwrap();
    });
    assert_eq!(world.count(kind::PATH_OFFERED), 5);
    world.sound();
}

fn sharing(world: &World) {
    world.reserve("h", &["f"]).unwrap();
    let shared = |request: &mut reserve::Reserve| (request.shared, request.wait) = (true, true);
    assert_eq!(world.reserve_with("a", &["f"], shared).unwrap()["waiting"], true);
    world.share("h", &["f"]).unwrap();
    assert!(world.is_offered("a", "f"));
    world.reserve_with("a", &["f"], shared).unwrap();
    // A shared hold becomes exclusive as soon as the others are gone: in place, and at once.
    let place = world.waits("h", &["f"], 1);
    assert_eq!(code_of(world.share("b", &["f"])), "path_held", "nobody passes who waits to have it alone");
    world.release_paths("a", &["f"]).unwrap();
    assert_eq!((world.turn("h", &place).state.as_str(), world.state_of("h", "f").as_deref()), ("gone", Some("live")));
    let held = world.wait("h", &["f"]).unwrap();
    assert_eq!((&held["holds"][0]["mode"], held.get("waiting")), (&json!("exclusive"), None));
    world.sound();
}

fn sixty_four(world: &World) {
    world.reserve("h", &["f"]).unwrap();
    let agents: Vec<String> = (0..64).map(|n| format!("a{n:02}")).collect();
    for (agent, number) in agents.iter().zip(1..) {
        world.waits(agent, &["f"], number);
    }
    world.release_paths("h", &["f"]).unwrap();
    for (at, agent) in agents.iter().enumerate() {
        assert!(world.is_offered(agent, "f"), "{agent}");
        assert_eq!(world.wait(agent, &["f"]).unwrap()["holds"].as_array().unwrap().len(), 1);
        if let Some(last) = agents.last().filter(|_| at < 63) {
            assert_eq!(world.wait(last, &["f"]).unwrap()["place"], 63 - at);
        }
        world.release_paths(agent, &["f"]).unwrap();
    }
    assert_eq!((world.count(kind::PATH_OFFERED), world.count(kind::PLACE_LAPSED)), (64, 0));
    world.sound();
}

fn taken_over(world: &World) {
    let task = world.add("one");
    world.claim_for("a", &task, 60).unwrap();
    world.reserve("a", &["f", "g"]).unwrap();
    world.waits("w", &["f"], 1);
    let call = Call { checkout: world.from("main", "b").checkout, ..world.call_knowing_dead("b", &["a"]) };
    let took = world.run_call(&call, &super::shorthand::claiming(&task)).unwrap();
    assert_eq!(took["paths"].as_array().unwrap().len(), 1);
    assert_eq!((&took["paths"][0]["subject"], &took["lost_paths"][0]["holder"]), (&json!("g"), &json!("w")));
    assert!(world.is_offered("w", "f"));
    world.sound();
}

fn leaving(world: &World) {
    world.reserve("h", &["f"]).unwrap();
    world.waits("a", &["f", "g"], 1);
    world.waits("b", &["g"], 2);
    assert_eq!(code_of(world.release_paths("c", &["g"])), "not_held");
    let left = world.release_paths("a", &["g"]).unwrap();
    assert_eq!((left["left"].as_array().unwrap().len(), &left["holds"]), (1, &json!([])));
    assert!(world.is_offered("b", "g"));
    assert_eq!(code_of(world.release_paths("a", &["g"])), "path_held");
    // By the id of the place, and only by its owner.
    let place = world.waits("a", &["f"], 1);
    let by_id = |agent: &str| {
        let request = release::Release { hold: Some(place.clone().into()), ..release::Release::default() };
        world.run_call(&world.from("main", agent), &Op::new(request))
    };
    assert_eq!(code_of(by_id("b")), "not_held");
    assert_eq!(by_id("a").unwrap()["left"], json!([place]));
    assert_eq!(code_of(by_id("a")), "not_held");
    // With its session.
    world.waits("a", &["f"], 1);
    let call = Call { checkout: world.from("main", "a").checkout, ..super::sessions::hook(world, "a", 7) };
    world.run_call(&call, &super::sessions::ending("S", "other")).unwrap();
    assert_eq!(world.count(kind::PLACE_LEFT), 3);
    world.release_paths("h", &["f"]).unwrap();
    assert!(!world.is_offered("a", "f"));
    world.sound();
}

fn dead(world: &World) {
    world.reserve("h", &["f"]).unwrap();
    world.waits("a", &["f"], 1);
    world.waits("b", &["f"], 2);
    let knowing =
        |agent: &str| Call { checkout: world.from("main", agent).checkout, ..world.call_knowing_dead(agent, &["a"]) };
    let release = release::Release { paths: words(&["f"]), ..release::Release::default() };
    world.run_call(&knowing("h"), &Op::new(release)).unwrap();
    assert!(world.is_offered("b", "f") && !world.is_offered("a", "f"));
    let lapsed = world.events().into_iter().find(|event| event.kind == kind::PLACE_LAPSED).unwrap();
    assert_eq!((&lapsed.data["agent"], &lapsed.data["proven_dead"]), (&json!("a"), &json!(true)));
    world.sound();
}

fn settled_once(world: &World) {
    world.reserve_with("h", &["f"], |request| request.ttl_s = Some(7_200)).unwrap();
    for n in 0..10 {
        world.waits(&format!("a{n}"), &["f"], n + 1);
    }
    world.advance(Span::seconds(121));
    if world.engine == crate::fixture::Engine::Memory {
        (0..10).for_each(|n| drop(world.add(&format!("task {n}"))));
    } else {
        world.race(10, |n, kernel| {
            let request = tenure_kernel::op::add::Add::titled(&format!("task {n}"));
            kernel.run(&world.call(&format!("r{n}")), &Op::new(request)).unwrap();
        });
    }
    assert_eq!((world.count(kind::PLACE_LAPSED), world.count(kind::PATH_OFFERED)), (10, 0));
    world.sound();
}

fn pure(world: &World) {
    let held = world.reserve("h", &["f"]).unwrap();
    let place = world.waits("a", &["f"], 1);
    world.waits("b", &["f"], 2);
    let before = crate::raw::dump(&world.kernel);
    let line = |world: &World| -> Vec<(String, Option<i64>)> {
        let page = world.kernel.ask(&world.from("main", "x"), &query::holds::Holds::of(None, 100)).unwrap();
        let status = world.kernel.ask(&world.from("main", "x"), &query::status::Status {}).unwrap();
        assert_eq!(page.waiting.len(), status.line.iter().filter(|place| place.state == "waiting").count());
        page.waiting.into_iter().map(|place| (place.agent.into(), place.place)).collect()
    };
    assert_eq!(line(world), [("a".to_owned(), Some(1)), ("b".to_owned(), Some(2))]);
    let blockers: Vec<Blocker> = world.check("x", &["f"]).blockers;
    assert_eq!(blockers.iter().map(|blocker| blocker.place).collect::<Vec<_>>(), [None, Some(1), Some(2)]);
    assert_eq!(world.turn("a", &place).state, "waiting");
    // An expired hold is over for queries too, and a free path goes to the first waiting agent, not to others.
    world.advance(Span::seconds(100));
    world.check("x", &["f"]);
    assert_eq!(before, crate::raw::dump(&world.kernel), "queries leave everything as it is");
    world.waits("b", &["f"], 2);
    world.advance(Span::seconds(30));
    let before = crate::raw::dump(&world.kernel);
    assert_eq!(line(world), [("b".to_owned(), Some(1))]);
    assert_eq!(world.turn("a", &place).state, "gone");
    assert_eq!(before, crate::raw::dump(&world.kernel));
    world.force_release(held["holds"][0]["id"].as_str().unwrap()).unwrap();
    assert!(line(world).is_empty(), "an offer is a hold");
    world.sound();
}

fn replayed(world: &World) {
    world.reserve("h", &["f"]).unwrap();
    let request = reserve::Reserve { paths: words(&["f"]), wait: true, ..reserve::Reserve::default() };
    let call = world.from("main", "a");
    let first = world.kernel.run(&call, &Op::new(request.clone())).unwrap();
    world.advance(Span::seconds(90));
    let before = crate::raw::dump(&world.kernel);
    let again = world.kernel.run(&call, &Op::new(request.clone())).unwrap();
    assert_eq!((again.replayed, &again.body), (true, &first.body));
    assert_eq!(before, crate::raw::dump(&world.kernel), "nothing is renewed");
    let other = reserve::Reserve { wait: false, ..request };
    assert_eq!(code_of(world.kernel.run(&call, &Op::new(other))), "request_mismatch");
    world.advance(Span::seconds(31));
    world.release_paths("h", &["f"]).unwrap();
    assert_eq!(world.count(kind::PATH_OFFERED), 0, "it had lapsed");
    world.sound();
}

fn refused_serves(world: &World) {
    world.reserve_with("h", &["f"], |request| request.ttl_s = Some(30)).unwrap();
    world.waits("a", &["f"], 1);
    world.advance(Span::seconds(31));
    assert_eq!(code_of(world.claim("b", "t-zzzzz")), "not_found");
    assert!(world.is_offered("a", "f"));
    // The effects of a refused op are rolled back, including the place it took.
    world.reserve("h", &["g"]).unwrap();
    world.waits("a", &["g"], 1);
    let before = world.last_event();
    assert_eq!(code_of(world.wait("h", &["f"])), "waits_in_circle");
    assert_eq!(world.last_event(), before);
    world.sound();
}

fn clock_set_back(world: &World) {
    world.reserve_with("h", &["f"], |request| request.ttl_s = Some(86_000)).unwrap();
    let place = world.waits("a", &["f"], 1);
    world.advance(Span::hours(-3));
    world.add("anything");
    world.advance(Span::seconds(100));
    assert_eq!(world.turn("a", &place).state, "waiting");
    world.advance(Span::seconds(21));
    assert_eq!(world.turn("a", &place).state, "gone");
    world.sound();
}

fn few(world: &World) {
    let paths: Vec<String> = (0..17).map(|n| format!("f{n}")).collect();
    let all: Vec<&str> = paths.iter().map(String::as_str).collect();
    world.reserve("h", &all).unwrap();
    for path in &all[..16] {
        world.waits("a", &[path], 1);
    }
    assert_eq!(code_of(world.wait("a", &[all[16]])), "too_many_waiting");
    world.waits("b", &[all[16]], 1);
    for seconds in [0, 86_401] {
        let refused = world.reserve_with("c", &["x"], |request| request.place_ttl_s = Some(seconds));
        assert_eq!(code_of(refused), "bad_ttl");
    }
    world.sound();
}
