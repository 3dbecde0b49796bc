//! Guards: a person switches them off for a while, and they come back by themselves.

use serde_json::json;
use tenure_core::Span;
use tenure_kernel::Op;
use tenure_kernel::op::off;

use super::Case;
use crate::fixture::{TestClock, World, code_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("guards_are_off_for_a_while_and_come_back_by_themselves", while_off),
    Case::everywhere("only_people_switch_guards_off", people_only),
];

fn send(world: &World, agent: &str, for_s: Option<i64>) -> tenure_core::Result<serde_json::Value> {
    world.run(agent, Op::Off(off::Request { for_s }))
}

fn is_off(world: &World) -> bool {
    world.kernel.guards(&world.call("a")).unwrap().off
}

fn while_off(world: &World) {
    assert!(!is_off(world), "of a project that does not exist");
    world.add("x");
    assert!(!is_off(world));
    let said = send(world, "person:ann", None).unwrap();
    assert_eq!((&said["off"], &said["until_s"], &said["by"]), (&json!(true), &json!(3_600), &json!("person:ann")));
    assert!(is_off(world));
    assert!(world.kernel.status(&world.call("a")).unwrap().guards.off);
    // Nothing that others do changes it.
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
    if world.options.own_clock {
        assert!(!is_off(world));
    }
}

fn people_only(world: &World) {
    world.add("x");
    assert_eq!(code_of(send(world, "a", None)), "people_only");
    assert!(!is_off(world) && world.count("guards.off") == 0);
}
