//! Refusals of paths: the blocking holds, and the free part of the request.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_kernel::op::reserve;
use tenure_kernel::query::check::Check;

use super::Case;
use super::nested::{OUTER, SUB, at, details, request, take, take_on};
use super::shorthand::words;
use crate::fixture::World;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r6_every_holder_in_the_way_is_named", all_named),
    Case::everywhere("inv_r6_a_refusal_says_which_of_the_asked_paths_are_free", says_free),
];

fn all_named(world: &World) {
    // One agent holds many files, and comes before all others.
    let many: Vec<String> = (0..80).map(|n| format!("src/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    take(world, OUTER, "a", &many).unwrap();
    for n in 0..20 {
        take(world, OUTER, &format!("b{n}"), &[&format!("src/b/{n}")]).unwrap();
    }
    let named = |refused: &Value| {
        let holders = refused["blockers"].as_array().unwrap().iter().map(|blocker| blocker["holder"].to_string());
        holders.collect::<BTreeSet<_>>().len()
    };
    let refused = details(take(world, OUTER, "z", &["src/"]));
    assert_eq!((refused["blockers"].as_array().unwrap().len(), &refused["total"]), (50, &json!(100)));
    assert_eq!(named(&refused), 21, "every holder is among the fifty");
    assert_eq!(refused["holders"].as_array().unwrap().len(), 21);
    for n in 0..60 {
        take(world, OUTER, &format!("c{n}"), &[&format!("src/c/{n}")]).unwrap();
    }
    let refused = details(take(world, OUTER, "z", &["src/"]));
    assert_eq!((named(&refused), refused["holders"].as_array().unwrap().len()), (50, 81));
    let question = Check { paths: words(&["src/"]), ..Check::default() };
    assert_eq!(world.kernel.ask(&at(world, OUTER, "z"), &question).unwrap().holders.len(), 81);
    let few = details(take(world, OUTER, "z", &["src/c/1"]));
    assert_eq!(few.get("holders"), None);
}

fn says_free(world: &World) {
    take(world, OUTER, "a", &["src/x.rs"]).unwrap();
    take(world, SUB, "b", &["y"]).unwrap();
    let refused = details(take(world, OUTER, "z", &["docs/", "src/", "libs/", "./a b", "glob:*.md"]));
    assert_eq!(refused["free"], json!(["docs/", "a b", "glob:*.md"]));
    let attempts = refused["try"].to_string();
    assert!(attempts.contains("tenure reserve -- docs/ 'a b' 'glob:*.md'"), "{attempts}");
    take(world, OUTER, "z", &["docs/", "./a b", "glob:*.md"]).unwrap();
    let refused = details(take(world, OUTER, "y", &["src/x.rs", "docs/x"]));
    assert_eq!(refused["free"], json!([]));
    assert_eq!(details(take(world, OUTER, "y", &["src/x.rs"])).get("free"), None);
    // Waiting requests count too.
    let wait = reserve::Reserve { wait: true, ..request(&["src/", "q/"]) };
    take_on(world, &world.kernel, OUTER, "w", wait).unwrap();
    assert_eq!(details(take(world, OUTER, "y", &["q/1", "r/1"]))["free"], json!(["r/1"]));
}
