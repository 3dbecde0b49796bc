//! Limits on the number of holds, per agent and per project.

use tenure_core::{lock, reserve};

use super::Case;
use crate::fixture::{World, code_of, refusal};
use crate::raw::{both, execute, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r4_an_agent_and_a_project_hold_at_most_so_many_paths", paths),
    Case::everywhere("inv_r4_an_agent_and_a_project_hold_at_most_so_many_locks", locks),
];

/// Inserts live path holds without the kernel: `holder` may use the number `n` of each.
fn fill(world: &World, first: i64, last: i64, holder: &str) {
    let insert = format!(
        "INSERT INTO hold SELECT p.id, 'h-x' || n, 'path', 'many/' || n, 'exclusive', {holder}, n, 1, 9000000000000000000,
             1000000, 'session', '', 0, '', 0, 'c-x', 'many/' || n, 0, '', '' FROM project p"
    );
    let count = format!("WITH RECURSIVE c (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM c WHERE n < {last})");
    execute(&world.kernel, &format!("{count} {insert}, c"), &format!("{insert}, generate_series({first}, {last}) n"))
        .unwrap();
}

fn paths(world: &World) {
    world.reserve("b", &["first"]).unwrap();
    let (agent, project) = (reserve::LIVE_AGENT, reserve::LIVE_PROJECT);
    fill(world, 1, agent, "'a'");
    // The next hold is one at which all are counted.
    both(&world.kernel, "UPDATE project SET holds_issued = 102399");
    let rows = || number(&world.kernel, "SELECT COUNT(*) FROM hold", &[]);
    let before = rows();
    let error = refusal(world.reserve("a", &["x"]));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("usage", "too_many_holds"));
    assert!(error.message().contains("100000 of yours (at most 100000)"), "{}", error.message());
    assert!(error.advice().is_some());
    assert_eq!(rows(), before);
    // An existing hold costs nothing, and other agents may continue.
    world.reserve("b", &["first"]).unwrap();
    both(&world.kernel, "UPDATE hold SET ended_at = 5, ended_how = 'released' WHERE id = 'h-x7'");
    world.reserve("a", &["x"]).unwrap();
    // Also between the counts: other agents may take every hold at which all are counted.
    for n in 0..3 {
        world.reserve("b", &[&format!("between {n}")]).unwrap();
        assert_eq!(code_of(world.reserve("a", &["y"])), "too_many_holds");
    }
    // A large request always includes a hold at which all are counted.
    let many = |agent: &str| {
        let paths: Vec<String> = (0..reserve::PATTERNS_MAX).map(|n| format!("{agent}/{n}")).collect();
        world.reserve(agent, &paths.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(code_of(many("a")), "too_many_holds");
    many("b").unwrap();
    fill(world, agent + 1, project, "'filler-' || (n % 50)");
    assert_eq!(code_of(many("c")), "too_many_holds");
    // An expired hold does not count, settled or not.
    both(&world.kernel, "UPDATE hold SET granted_at = 1, expires_at = 5 WHERE holder <> 'a'");
    many("c").unwrap();
}

fn locks(world: &World) {
    for n in 0..lock::LIVE_AGENT {
        world.lock("a", &format!("lock {n}")).unwrap();
    }
    let error = refusal(world.lock("a", "one more"));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("usage", "too_many_holds"));
    let held = world.lock("b", "one more").unwrap();
    let fence = held["fence"].as_i64();
    world.lock_with("b", "one more", |request| request.fence = fence.map(Into::into)).unwrap();
    world.unlock("a", "lock 7", None).unwrap();
    world.lock("a", "lock 8.5").unwrap();
    let fill = "UPDATE hold SET holder = 'other-' || subject WHERE kind = 'name' AND holder = 'a'";
    both(&world.kernel, fill);
    for n in lock::LIVE_AGENT + 1..lock::LIVE_PROJECT {
        if n % lock::LIVE_AGENT == 0 {
            both(&world.kernel, fill);
        }
        world.lock("a", &format!("lock {n}")).unwrap();
    }
    assert_eq!(code_of(world.lock("c", "one too many")), "too_many_holds");
}
