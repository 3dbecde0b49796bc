//! Switching a project on, and what is recorded about its hooks.

use tenure_kernel::op::{add, switch_on};
use tenure_kernel::query;
use tenure_kernel::{Call, Op};
use tenure_store::table::project;

use super::Case;
use crate::fixture::World;
use crate::raw::{differing, dump, execute, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("a_project_is_switched_on_by_its_first_op_and_stays_so", once),
    Case::everywhere("inv_t5_hooks_that_ran_are_listed_by_project", listed),
];

fn once(world: &World) {
    let call = world.call("person:ann");
    assert!(!world.kernel.ask(&call, &query::switched_on::SwitchedOn {}).unwrap());
    world.kernel.run(&call, &Op::new(switch_on::SwitchOn::default())).unwrap();
    assert!(world.kernel.ask(&call, &query::switched_on::SwitchedOn {}).unwrap());
    let kinds = || number(&world.kernel, "SELECT COUNT(*) FROM event", &[]);
    assert_eq!(kinds(), 2, "the project and the person, nothing else");
    world.kernel.run(&world.call("person:ann"), &Op::new(switch_on::SwitchOn::default())).unwrap();
    assert_eq!(kinds(), 2, "what is on is not switched on again");
}

fn listed(world: &World) {
    let call = world.call("a");
    assert_eq!(world.kernel.ask(&call, &query::fired::Fired {}).unwrap(), [], "of a project that does not exist");
    world.kernel.run(&call, &Op::new(add::Add::titled("x"))).unwrap();
    for (tool, event) in [("codex", "SessionStart"), ("claude", "SessionStart"), ("claude", "PreToolUse")] {
        let sql =
            format!("INSERT INTO fired (project, tool, event, at) SELECT id, '{tool}', '{event}', 7 FROM project");
        execute(&world.kernel, &sql, &sql).unwrap();
    }
    let before = dump(&world.kernel);
    let fired = world.kernel.ask(&call, &query::fired::Fired {}).unwrap();
    let found: Vec<_> = fired.iter().map(|one| (one.tool.as_str(), one.event.as_str())).collect();
    assert_eq!(found, [("claude", "PreToolUse"), ("claude", "SessionStart"), ("codex", "SessionStart")]);
    assert!(fired[0].ago_s > 0);
    let other = project::NamedProject { key: "name:other".into(), label: "other".into() };
    assert_eq!(world.kernel.ask(&Call { project: other, ..call }, &query::fired::Fired {}).unwrap(), []);
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "a query");
}
