use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::pattern::Case;

fn paths(typed: &[&str], mode: Mode) -> HoldTarget {
    let patterns = typed.iter().map(|typed| Pattern::parse(typed, Case::Kept).unwrap()).collect();
    let site = Site { project: "p".into(), checkout: Some("c".into()), tops: Vec::new() };
    HoldTarget::Paths { site, mode, patterns }
}

fn all(typed: &[&str]) -> HoldTarget {
    paths(typed, Mode::Exclusive)
}

fn held(holder: &str, typed: &[&str]) -> LiveHold {
    LiveHold { holder: holder.into(), thing: all(typed) }
}

fn waits(agent: &str, ticket: i64, typed: &[&str]) -> Waiter {
    Waiter { agent: agent.into(), ticket, thing: all(typed) }
}

fn asks(agent: &str, typed: &[&str]) -> Waiter {
    waits(agent, NO_TICKET, typed)
}

fn served(line: &mut WaitingLine) -> Vec<String> {
    let served: Vec<usize> = std::iter::from_fn(|| line.serve()).collect();
    served.into_iter().map(|at| line.places()[at].agent.to_string()).collect()
}

#[test]
fn inv_r7_nobody_passes_those_who_came_first() {
    let line = WaitingLine::new(vec![held("h", &["src/a"])], vec![waits("wide", 1, &["src/"])]);
    assert_eq!(line.blocked(&asks("new", &["src/b"])), Blocked { holds: vec![], places: vec![0] });
    assert!(line.blocked(&asks("new", &["docs/b"])).is_free());
    assert!(line.blocked(&asks("wide", &["src/b"])).is_free(), "nobody waits for itself");
    assert_eq!(line.number(&asks("new", &["src/b"])), 2);
}

#[test]
fn inv_r7_those_who_wait_for_the_one_who_asks_are_passed() {
    let places = vec![waits("b", 1, &["f", "g"]), waits("c", 2, &["g"])];
    let line = WaitingLine::new(vec![held("a", &["f"])], places);
    // b waits for what a holds, and c waits behind b.
    assert!(line.blocked(&asks("a", &["g"])).is_free());
    assert_eq!(line.blocked(&asks("d", &["g"])).places, [0, 1]);
    assert_eq!(line.blocked(&waits("c", 2, &["g"])).places, [0]);
}

#[test]
fn inv_r7_circles_are_named() {
    let line = WaitingLine::new(vec![held("a", &["f"]), held("b", &["g"])], vec![waits("a", 1, &["g"])]);
    assert_eq!(line.circle(&asks("b", &["f"])), Some(["b", "a", "b"].map(AgentName::from).to_vec()));
    assert_eq!(line.circle(&asks("c", &["f"])), None);
    let holds = vec![held("a", &["f"]), held("b", &["g"]), held("c", &["h"])];
    let line = WaitingLine::new(holds, vec![waits("a", 1, &["g"]), waits("b", 2, &["h"])]);
    assert_eq!(line.circle(&asks("c", &["f"])), Some(["c", "a", "b", "c"].map(AgentName::from).to_vec()));
}

#[test]
fn inv_r7_a_circle_through_the_line_is_undone_by_passing() {
    // x waits for a, b waits behind x, and now a waits for b: b must pass x.
    let holds = vec![held("a", &["f"]), held("b", &["g"])];
    let places = vec![waits("x", 1, &["f", "h"]), waits("b", 2, &["h"])];
    assert_eq!(served(&mut WaitingLine::new(holds.clone(), places.clone())), [""; 0]);
    let places = [places, vec![waits("a", 3, &["g"])]].concat();
    assert_eq!(served(&mut WaitingLine::new(holds, places)), ["b"]);
}

#[test]
fn inv_r7_whoever_is_waited_for_by_holds_goes_first() {
    // b waits for f, which a holds. If b got k, it would wait for a, and a for b.
    let holds = vec![held("a", &["f"])];
    let places = vec![waits("b", 1, &["f"]), waits("b", 2, &["k"]), waits("a", 3, &["k"])];
    assert_eq!(served(&mut WaitingLine::new(holds, places)), ["a"]);
}

#[test]
fn inv_r7_all_whose_whole_set_is_free_are_served_in_the_order_of_tickets() {
    let places = vec![
        waits("a", 1, &["x", "y"]),
        waits("b", 2, &["y"]),
        waits("c", 3, &["z"]),
        Waiter { thing: paths(&["r"], Mode::Shared), ..waits("d", 4, &[]) },
        Waiter { thing: paths(&["r"], Mode::Shared), ..waits("e", 5, &[]) },
        waits("f", 6, &["r"]),
    ];
    assert_eq!(served(&mut WaitingLine::new(vec![held("h", &["x"])], places.clone())), ["c", "d", "e"]);
    let left = [0, 1, 5].map(|at| places[at].clone()).to_vec();
    assert_eq!(served(&mut WaitingLine::new(vec![], left)), ["a", "f"]);
}

#[test]
fn inv_r2_a_name_is_no_pattern_and_not_re_entrant() {
    let name = |agent: &str| Waiter { thing: HoldTarget::Name("f".into()), ..asks(agent, &[]) };
    let line = WaitingLine::new(vec![LiveHold { holder: "a".into(), thing: HoldTarget::Name("f".into()) }], vec![]);
    assert_eq!(line.blocked(&name("a")).holds, [0]);
    assert_eq!(line.circle(&name("a")), None);
    assert!(line.blocked(&asks("b", &["f"])).is_free());
}

/// A small simulation of the pure rules: agents request, wait and release.
struct World {
    holds: Vec<LiveHold>,
    places: Vec<Waiter>,
    ticket: i64,
}

const FILES: [&str; 5] = ["d/a", "d/b", "d/", "e", "glob:**"];

impl World {
    fn line(&self) -> WaitingLine {
        WaitingLine::new(self.holds.clone(), self.places.clone())
    }

    fn serve(&mut self) {
        let mut line = self.line();
        while let Some(at) = line.serve() {
            let served = line.places()[at].clone();
            self.places.retain(|place| place.ticket != served.ticket);
            self.holds.push(LiveHold { holder: served.agent, thing: served.thing });
        }
    }

    fn ask(&mut self, agent: &str, thing: HoldTarget, waits: bool) {
        let request = Waiter { agent: agent.into(), ticket: NO_TICKET, thing };
        let line = self.line();
        let blocked = line.blocked(&request);
        if blocked.is_free() {
            for place in self.places.iter().filter(|place| place.agent != agent) {
                let conflicts = place.thing.conflicts(&request.thing);
                let waits_for_it = line.agent(agent).is_some_and(|me| line.all.get(line.agents[&place.agent], me));
                assert!(!conflicts || waits_for_it, "{agent} barged past {place:?}");
            }
            self.holds.push(LiveHold { holder: agent.into(), thing: request.thing });
        } else if waits && line.circle(&request).is_none() {
            self.ticket += 1;
            self.places.push(Waiter { ticket: self.ticket, ..request });
        }
        self.serve();
    }

    fn release(&mut self, agent: &str) {
        self.holds.retain(|held| held.holder != agent);
        self.serve();
    }

    fn sound(&self) {
        for (at, one) in self.holds.iter().enumerate() {
            for other in &self.holds[..at] {
                assert!(one.holder == other.holder || !one.thing.conflicts(&other.thing), "{one:?} {other:?}");
            }
        }
        let line = self.line();
        for (agent, at) in &line.agents {
            assert!(!line.hard.get(*at, *at), "{agent} waits in a circle");
        }
        assert!(self.places.iter().all(|place| !line.blocked(place).is_free()), "somebody free was not served");
    }

    /// Agents that wait for nothing release what they hold, until no agent waits.
    fn drain(mut self) {
        for _ in 0..200 {
            if self.places.is_empty() {
                return;
            }
            let waiting: BTreeSet<AgentName> = self.places.iter().map(|place| place.agent.clone()).collect();
            let idle = self.holds.iter().map(|held| held.holder.clone()).find(|holder| !waiting.contains(holder));
            let idle = idle.unwrap_or_else(|| panic!("all who hold wait: {:?} {:?}", self.holds, self.places));
            self.release(&idle);
            self.sound();
        }
        panic!("never served: {:?}", self.places);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn inv_r7_nobody_waits_for_ever(
        steps in prop::collection::vec((0usize..5, prop::collection::btree_set(0usize..5, 1..3), 0u8..8), 1..60)
    ) {
        let mut world = World { holds: vec![], places: vec![], ticket: 0 };
        for (agent, files, what) in steps {
            let agent = ["a", "b", "c", "d", "e"][agent];
            let typed: Vec<&str> = files.iter().map(|at| FILES[*at]).collect();
            let mode = if what % 2 == 0 { Mode::Exclusive } else { Mode::Shared };
            match what {
                0 => world.release(agent),
                1 => {
                    // The agent leaves for good.
                    world.places.retain(|place| place.agent != agent);
                    world.release(agent);
                }
                2..=3 => world.ask(agent, paths(&typed, mode), false),
                _ => world.ask(agent, paths(&typed, mode), true),
            }
            world.sound();
        }
        world.drain();
    }
}
