//! Fences: who may act on a task, and who is told that it is too late.

use serde_json::json;
use tenure_core::Span;

use super::Case;
use crate::fixture::{World, kind_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l4_taken_over_is_stale_and_moves_nothing", taken_over_is_stale),
    Case::everywhere("inv_l4_late_is_accepted_while_nobody_took_over", late_is_accepted),
];

fn taken_over_is_stale(world: &World) {
    let task = world.add("first");
    let dependent = world.add_after("second", &[&task]);
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::seconds(60));
    let taken = world.claim("b", &task).unwrap();
    assert_eq!(taken["task"]["attempt"], 2);
    assert_eq!(taken["rule"], "named");
    let before = world.last_event();
    assert_eq!(kind_of(world.done("a", &task)), "stale");
    assert_eq!(world.last_event(), before, "a refused op appends nothing");
    assert_eq!(world.show(&task)["holder"]["agent"], "b");
    assert_eq!(world.show(&dependent)["state"], "waiting");
    world.done("b", &task).unwrap();
    assert_eq!(kind_of(world.done("a", &task)), "stale");
    assert_eq!(kind_of(world.done("b", &task)), "conflict");
}

fn late_is_accepted(world: &World) {
    let task = world.add("first");
    let dependent = world.add_after("second", &[&task]);
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::minutes(30));
    let done = world.done("a", &task).unwrap();
    assert_eq!(done["late"], true);
    assert_eq!(done["unlocked"], json!([dependent]));
    let kinds = world.kinds_after(world.last_event() - 3);
    assert_eq!(kinds, ["hold.expired", "task.done", "task.ready"]);
}
