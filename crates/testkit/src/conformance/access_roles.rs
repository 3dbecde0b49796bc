//! The role that each op and each query requires: the code, the documentation and the table here must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tenure_core::access::{Grants, Role, TokenScope, WHOLE_STORE};
use tenure_kernel::op::Domain;
use tenure_kernel::op::OPS;
use tenure_kernel::query::{AnyQuery, QUERIES, find};
use tenure_kernel::{Actor, Call};
use tenure_store::table::project;

use super::Case;
use crate::fixture::{Engine, World};
use crate::fuzz;

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::Memory], "inv_s1_the_role_by_op_table", ops),
    Case::only(&[Engine::Memory], "inv_s1_every_query_has_a_role", queries),
    Case::everywhere("inv_s1_the_kernel_checks_the_role_of_a_query", asked),
];

/// An op by name, its special case, its request, and the role it requires in a project.
const IN_PROJECT: &[(&str, &str, &str, Option<Role>)] = {
    const WORKER: Option<Role> = Some(Role::Worker);
    const OPERATOR: Option<Role> = Some(Role::Operator);
    const ADMIN: Option<Role> = Some(Role::Admin);
    &[
        ("add", "", r#"{"title":"x"}"#, WORKER),
        ("add_many", "", r#"{"items":[{"title":"x"}]}"#, WORKER),
        ("edit", "", r#"{"task":"t-00000","title":"x"}"#, WORKER),
        ("edit", "`after`", r#"{"task":"t-00000","after":[]}"#, OPERATOR),
        ("snooze", "", r#"{"task":"t-00000","for_s":60}"#, WORKER),
        ("claim", "", "{}", WORKER),
        ("resume", "", "{}", WORKER),
        ("confirm", "", r#"{"events":1}"#, WORKER),
        ("note", "", r#"{"text":"x"}"#, WORKER),
        ("done", "", r#"{"task":"t-00000"}"#, WORKER),
        ("done", "`force`", r#"{"task":"t-00000","force":true}"#, OPERATOR),
        ("block", "", r#"{"task":"t-00000","reason":"x"}"#, WORKER),
        ("block", "`force`", r#"{"task":"t-00000","reason":"x","force":true}"#, OPERATOR),
        ("unblock", "", r#"{"task":"t-00000"}"#, WORKER),
        ("release", "", r#"{"task":"t-00000"}"#, WORKER),
        ("release", "`force`", r#"{"task":"t-00000","force":true}"#, OPERATOR),
        ("reserve", "", r#"{"paths":["a"]}"#, WORKER),
        ("reserve", "`force`", r#"{"paths":["a"],"force":true}"#, WORKER),
        ("lock", "", r#"{"name":"a"}"#, WORKER),
        ("lock", "`force`", r#"{"name":"a","force":true}"#, WORKER),
        ("reopen", "", r#"{"task":"t-00000"}"#, WORKER),
        ("cancel", "", r#"{"task":"t-00000"}"#, WORKER),
        ("cancel", "`force`", r#"{"task":"t-00000","force":true}"#, OPERATOR),
        ("transfer", "", r#"{"task":"t-00000","to":"b"}"#, WORKER),
        ("transfer", "`force`", r#"{"task":"t-00000","to":"b","force":true}"#, OPERATOR),
        ("import", "", r#"{"tasks":[],"notes":[]}"#, OPERATOR),
        ("remember", "", r#"{"items":[{"text":"x"}]}"#, WORKER),
        ("memory_pin", "", r#"{"memory":"m-00000","pinned":true}"#, WORKER),
        ("memory_forget", "", r#"{"memory":"m-00000"}"#, WORKER),
        ("send", "", r#"{"to":["b"],"text":"x"}"#, WORKER),
        ("inbox", "", "{}", WORKER),
        ("session_start", "", r#"{"tool":"claude","session":"s","source":"startup"}"#, WORKER),
        ("session_end", "", r#"{"tool":"claude","session":"s"}"#, WORKER),
        ("tool_used", "", r#"{"tool":"claude","session":"s"}"#, WORKER),
        ("committed", "", r#"{"commit":"c0ffee11","paths":["a"]}"#, WORKER),
        ("lessons", "", "{}", WORKER),
        ("switch_on", "", "{}", WORKER),
        ("guard", "", r#"{"paths":["a"],"says":{"tool":"claude","session":"s"}}"#, WORKER),
        ("off", "", "{}", OPERATOR),
        ("join", "", "{}", ADMIN),
        ("forget", "", r#"{"key":"name:p"}"#, ADMIN),
        ("token_add", "", TOKEN, None),
        ("token_revoke", "", r#"{"token":"k-00000"}"#, None),
        ("member_set", "", r#"{"principal":"person:bob","project":"*"}"#, None),
        ("principal_set", "", r#"{"principal":"person:bob","disabled":true}"#, None),
        ("login_offer", "", LINK, None),
        ("login_take", "", TAKE, None),
        ("login_close", "", r#"{"principal":"person:bob"}"#, None),
        ("access_denied", "", r#"{"what":"x","code":"y"}"#, None),
    ]
};

/// The ops that apply to the whole store; all others are refused there.
const IN_STORE: &[&str] = &[
    "remember",
    "memory_pin",
    "memory_forget",
    "token_add",
    "token_revoke",
    "member_set",
    "principal_set",
    "login_offer",
    "login_close",
];

const TOKEN: &str =
    r#"{"principal":"person:bob","hash":"1111111111111111111111111111111111111111111111111111111111111111"}"#;
const LINK: &str =
    r#"{"principal":"person:bob","hash":"2222222222222222222222222222222222222222222222222222222222222222"}"#;
const TAKE: &str = r#"{"link":"2222222222222222222222222222222222222222222222222222222222222222",
    "session":"3333333333333333333333333333333333333333333333333333333333333333",
    "csrf":"4444444444444444444444444444444444444444444444444444444444444444"}"#;

/// The codes of access refusals.
const TURNED_AWAY: [&str; 3] = ["unknown_project", "not_offered", "role_too_low"];

fn ops(_: &World) {
    let named: BTreeSet<&str> = IN_PROJECT.iter().map(|(name, ..)| *name).collect();
    assert_eq!(named, OPS.iter().map(|about| about.name).collect(), "every op has a row, and no other has");
    for (name, special, body, in_project) in IN_PROJECT {
        let op = fuzz::request(name, body).unwrap_or_else(|| panic!("not a request: {name} {body}"));
        let in_store = IN_STORE.contains(name).then_some(Role::Admin);
        for (key, needed) in [("name:p", *in_project), (WHOLE_STORE, in_store)] {
            assert_eq!(op.needs(key), needed, "{name} {special} in {key}");
            for role in [None].into_iter().chain(Role::ALL.map(Some)) {
                // Each on its own store, because an allowed op changes it.
                let world = World::new(Engine::Memory);
                world.add("first");
                let members = role.map(|role| (if key == WHOLE_STORE { "*" } else { key }.into(), role));
                let members = members.into_iter().collect::<BTreeMap<_, _>>();
                let grants = Grants { principal: "person:ann".into(), members, scope: TokenScope::default() };
                let actor = Actor { principal: Some(grants), ..Actor::named("person:ann") };
                let place = project::NamedProject { key: key.into(), label: "p".into() };
                let call = Call { project: place, actor, ..world.call("person:ann") };
                let code = world.kernel.run(&call, &op).err().map(|error| error.code().as_str());
                let expected = match (role, needed) {
                    (None, _) => Some("unknown_project"),
                    (Some(_), None) => Some("not_offered"),
                    (Some(role), Some(needed)) if role < needed => Some("role_too_low"),
                    _ => None,
                };
                let turned_away = code.filter(|code| TURNED_AWAY.contains(code));
                assert_eq!(turned_away, expected, "{name} {special} in {key} as {role:?}: {code:?}");
            }
        }
    }
    let row = |name: &str, special: &str, role: Option<Role>| {
        let with = if special.is_empty() { String::new() } else { format!(" with {special}") };
        format!("| `{name}`{with} | {} |", role.map_or("nobody", Role::as_str))
    };
    let mut rows: Vec<String> = IN_PROJECT.iter().map(|(name, special, _, role)| row(name, special, *role)).collect();
    for name in ["reserve", "lock"] {
        rows.push(format!("| `{name}` with `force` from a holder that is not gone | operator |"));
    }
    rows.push("| `memory_pin` of what everybody sees | operator |".into());
    rows.push("| `memory_forget` of what is pinned for everybody | operator |".into());
    assert_eq!(documented("## Ops in a project"), rows.into_iter().collect());
    let rows: BTreeSet<String> = IN_STORE.iter().map(|name| row(name, "", Some(Role::Admin))).collect();
    assert_eq!(documented("## Ops in the whole store"), rows);
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
                let members = role.map(|role| (if key == WHOLE_STORE { "*" } else { key }.into(), role));
                let members = members.into_iter().collect::<BTreeMap<_, _>>();
                let grants = Grants { principal: "person:ann".into(), members, scope: TokenScope::default() };
                let actor = Actor { principal: Some(grants), ..Actor::named("person:ann") };
                let place = project::NamedProject { key: key.into(), label: "p".into() };
                let call = Call { project: place, actor, ..world.call("person:ann") };
                let expected = match (role, needed) {
                    // The query itself filters by what the principal may see.
                    _ if entry.domain == Domain::Anywhere => continue,
                    (None, _) => Some("unknown_project"),
                    (Some(_), None) => Some("not_offered"),
                    (Some(role), Some(needed)) if role < needed => Some("role_too_low"),
                    _ => None,
                };
                let asked = query.ask(&world.kernel, &call).err().map(|error| error.code().as_str());
                let sent =
                    entry.run(&world.kernel, &call, &query.to_json().unwrap()).err().map(|error| error.code().as_str());
                assert_eq!(asked, sent, "{} in {key} as {role:?}", entry.name);
                let turned_away = asked.filter(|code| TURNED_AWAY.contains(code));
                assert_eq!(turned_away, expected, "{} in {key} as {role:?}: {asked:?}", entry.name);
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
