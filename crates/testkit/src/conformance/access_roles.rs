//! The role that each op and each query requires: the code must do what docs/access.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tenure_core::access::{Grants, Role, TokenScope, WHOLE_STORE};
use tenure_kernel::op::Domain;
use tenure_kernel::op::OPS;
use tenure_kernel::query::{AnyQuery, QUERIES, find};
use tenure_kernel::{Actor, Call, Op};
use tenure_store::table::project;

use super::Case;
use crate::fixture::{Engine, World};
use crate::fuzz;

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::Memory], "inv_s1_the_role_by_op_table", ops),
    Case::only(&[Engine::Memory], "inv_s1_every_query_has_a_role", queries),
    Case::everywhere("inv_s1_the_kernel_checks_the_role_of_a_query", asked),
];

/// Ops whose role depends on the request: an op by name, its special case, and a request of that case. The request of every other
/// case is the op's seed in `fuzz-corpus/requests`. The role of each is what docs/access.md says.
const SPECIAL: &[(&str, &str, &str)] = &[
    ("edit", "`after`", r#"{"task":"t-00000","after":[]}"#),
    ("done", "`force`", r#"{"task":"t-00000","force":true}"#),
    ("block", "`force`", r#"{"task":"t-00000","reason":"x","force":true}"#),
    ("release", "`force`", r#"{"task":"t-00000","force":true}"#),
    ("reserve", "`force`", r#"{"paths":["a"],"force":true}"#),
    ("lock", "`force`", r#"{"name":"a","force":true}"#),
    ("cancel", "`force`", r#"{"task":"t-00000","force":true}"#),
    ("transfer", "`force`", r#"{"task":"t-00000","to":"b","force":true}"#),
];

/// The rows about the state of the store, which other cases prove.
const BY_STATE: &[(&str, Role)] = &[
    ("`reserve` with `force` from a holder that is not gone", Role::Operator),
    ("`lock` with `force` from a holder that is not gone", Role::Operator),
    ("`memory_pin` of what everybody sees", Role::Operator),
    ("`memory_forget` of what is pinned for everybody", Role::Operator),
];

/// The codes of access refusals.
const TURNED_AWAY: [&str; 3] = ["unknown_project", "not_offered", "role_too_low"];

fn ops(_: &World) {
    let mut in_project = roles("## Ops in a project");
    let mut in_store = roles("## Ops in the whole store");
    for (row, role) in BY_STATE {
        assert_eq!(in_project.remove(*row), Some(Some(*role)), "{row}");
    }
    let plain = OPS.iter().map(|entry| (entry.name, "", fuzz::example(entry.name, &[]).1));
    let special = SPECIAL.iter().map(|(name, case, body)| {
        let op = fuzz::request(name, body).unwrap_or_else(|| panic!("not a request: {name} {body}"));
        (*name, *case, op)
    });
    for (name, case, op) in plain.chain(special) {
        let with = if case.is_empty() { String::new() } else { format!(" with {case}") };
        let row = format!("`{name}`{with}");
        let needed = in_project.remove(&row).unwrap_or_else(|| panic!("docs/access.md has no row for {row}"));
        allowed(&op, &row, "name:p", needed);
        // Special cases are those of a project.
        if case.is_empty() {
            allowed(&op, &row, WHOLE_STORE, in_store.remove(&row).flatten());
        }
    }
    assert_eq!((in_project, in_store), Default::default(), "docs/access.md has rows without an op");
}

/// The kernel lets each role at or above `needed` run the op in this project, and no other caller.
fn allowed(op: &Op, row: &str, key: &str, needed: Option<Role>) {
    assert_eq!(op.needs(key), needed, "{row} in {key}");
    for role in [None].into_iter().chain(Role::ALL.map(Some)) {
        // Each on its own store, because an allowed op changes it.
        let world = World::new(Engine::Memory);
        world.add("first");
        let code = world.kernel.run(&call_as(&world, key, role), op).err().map(|error| error.code().as_str());
        let turned_away = code.filter(|code| TURNED_AWAY.contains(code));
        assert_eq!(turned_away, expected(role, needed), "{row} in {key} as {role:?}: {code:?}");
    }
}

/// A call of a principal that has this role in the project, or no role.
fn call_as(world: &World, key: &str, role: Option<Role>) -> Call {
    let members = role.map(|role| (if key == WHOLE_STORE { "*" } else { key }.into(), role));
    let members = members.into_iter().collect::<BTreeMap<_, _>>();
    let grants = Grants { principal: "person:ann".into(), members, scope: TokenScope::default() };
    let actor = Actor { principal: Some(grants), ..Actor::named("person:ann") };
    Call { project: project::NamedProject { key: key.into(), label: "p".into() }, actor, ..world.call("person:ann") }
}

/// The code of the access refusal that a role gets, or `None` if it is admitted.
fn expected(role: Option<Role>, needed: Option<Role>) -> Option<&'static str> {
    match (role, needed) {
        (None, _) => Some("unknown_project"),
        (Some(_), None) => Some("not_offered"),
        (Some(role), Some(needed)) if role < needed => Some("role_too_low"),
        _ => None,
    }
}

/// The rows of a table of roles in docs/access.md: what is requested, and the role that it needs.
fn roles(heading: &str) -> BTreeMap<String, Option<Role>> {
    let read = |row: String| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let role = Role::ALL.into_iter().find(|role| role.as_str() == cells[1]);
        assert!(role.is_some() || cells[1] == "nobody", "{row}");
        (cells[0].to_owned(), role)
    };
    documented(heading).into_iter().map(read).collect()
}

/// Every remote query has a role. Queries that identify a caller are reserved for doors.
fn queries(_: &World) {
    for name in ["who_is", "who_is_session", "no_such"] {
        assert_eq!(find(name).err().map(|error| error.code().as_str()), Some("unknown_query"));
    }
    let needed = |name: &str, key: &str| find(name).unwrap().access.needed(key);
    assert_eq!((needed("list", "name:p"), needed("list", WHOLE_STORE)), (Some(Role::Viewer), None));
    assert_eq!((needed("tokens", "name:p"), needed("tokens", WHOLE_STORE)), (None, Some(Role::Admin)));
    let mut rows: BTreeMap<Role, BTreeSet<&str>> = BTreeMap::new();
    let mut store = BTreeSet::new();
    for entry in QUERIES {
        if let Some(role) = entry.access.project {
            rows.entry(role).or_default().insert(entry.name);
        }
        if let Some(role) = entry.access.store {
            assert_eq!(role, Role::Admin, "{}", entry.name);
            store.insert(entry.name);
        }
    }
    let words = |names: BTreeSet<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
    let mut rows: BTreeSet<String> =
        rows.into_iter().map(|(role, names)| format!("| {} | {} |", words(names), role.as_str())).collect();
    rows.insert(format!("| {}, of the whole store | admin |", words(store)));
    assert_eq!(documented("## Queries"), rows);
}

/// The smallest valid request of a query.
fn least(name: &str) -> AnyQuery {
    let requests = [
        "{}",
        r#"{"id":"t-00000"}"#,
        r#"{"typed":"t-0"}"#,
        r#"{"name":"x"}"#,
        r#"{"host":"h"}"#,
        r#"{"place":"w-00000"}"#,
        r#"{"limit":3}"#,
        r#"{"files":["a"]}"#,
        r#"{"commits":[]}"#,
        r#"{"question":"x","filter":{}}"#,
        r#"{"request":{},"ready":1}"#,
        r#"{"says":{"tool":"claude","session":"s"},"depth":"who"}"#,
        r#"{"look":{"says":{"tool":"claude","session":"s"},"depth":"who"},"files":["a"]}"#,
        r#"{"tools":[],"here":{"host":"h","boot":"b","pidns":"n","pid":1,"started":1},"above":[]}"#,
        r#"{"tasks":[],"notes":[]}"#,
    ];
    requests.iter().find_map(|json| AnyQuery::read(name, json).ok()).unwrap_or_else(|| panic!("no request of {name}"))
}

/// The kernel checks the role, whichever door the query came through.
fn asked(world: &World) {
    world.add("first");
    for entry in QUERIES {
        let query = least(entry.name);
        for key in ["name:p", WHOLE_STORE] {
            let needed = entry.access.needed(key);
            for role in [None].into_iter().chain(Role::ALL.map(Some)) {
                // The query itself filters by what the principal may see.
                if entry.domain == Domain::Anywhere {
                    continue;
                }
                let call = call_as(world, key, role);
                let asked = query.ask(&world.kernel, &call).err().map(|error| error.code().as_str());
                let sent =
                    entry.run(&world.kernel, &call, &query.to_json().unwrap()).err().map(|error| error.code().as_str());
                assert_eq!(asked, sent, "{} in {key} as {role:?}", entry.name);
                let turned_away = asked.filter(|code| TURNED_AWAY.contains(code));
                assert_eq!(turned_away, expected(role, needed), "{} in {key} as {role:?}: {asked:?}", entry.name);
            }
        }
    }
}

/// The rows of the table under a heading of docs/access.md.
fn documented(heading: &str) -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split_once(&format!("{heading}\n")).unwrap_or_else(|| panic!("no section {heading}")).1;
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect()
}
