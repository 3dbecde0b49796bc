//! Access: tokens, roles, and when a secret is valid.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_client::phrasing::Commands;
use tenure_core::access::{self, Grants, Role, TokenScope, unknown_project};
use tenure_core::name::ProjectKey;
use tenure_core::{Result, Span};
use tenure_kernel::access::{Secret, hash};
use tenure_kernel::op::{
    access_denied, add, claim, login_close, login_offer, member_set, principal_set, token_add, token_revoke,
};
use tenure_kernel::query;
use tenure_kernel::query::log;
use tenure_kernel::restore::{Ledger, Replace};
use tenure_kernel::{Actor, Call, Op};
use tenure_store::Sql;
use tenure_store::copy::{Backup, Existing};
use tenure_store::table::project;

use super::Case;
use super::access_logins::{offer, sign_in, signed_in, take};
use super::shorthand::{id, words};
use crate::fixture::{Engine, Seeded, World, code_of, refusal};
use crate::raw::{differing, dump, execute, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_s1_a_token_is_nothing_from_the_instant_it_expires", expires),
    Case::shared("inv_s1_a_token_is_nothing_from_the_commit_that_revokes_it", revoked),
    Case::everywhere("inv_s1_nothing_of_a_disabled_principal_counts", disabled),
    Case::everywhere("inv_s1_a_principal_without_a_role_may_nothing", no_role),
    Case::everywhere("inv_s1_a_lookup_that_fails_is_no_access", failing_lookup),
    Case::everywhere("inv_s1_only_people_and_admins_give_access", who_gives),
    Case::everywhere("inv_s1_denials_are_written_down_and_bounded", audit),
    Case::everywhere("inv_s2_projects_of_others_are_as_if_they_did_not_exist", others_projects),
    Case::everywhere("inv_s1_nobody_is_given_the_name_that_servers_write_under", reserved),
    Case::everywhere("inv_s10_no_secret_is_stored_and_no_hash_is_shown", secrets),
    Case::everywhere("inv_s1_a_restore_lets_nobody_in_again", restored),
    Case::everywhere("roles_are_given_changed_and_taken_away", members),
    Case::only(&[Engine::File, Engine::Postgres], "inv_t13_a_secret_is_found_by_an_index", found_by_index),
];

pub(super) const ANN: &str = "person:ann";

/// Creates a token and returns its id.
pub(super) fn token(world: &World, principal: &str, secret: &str) -> String {
    let (principal, hash) = (principal.to_owned(), hash(secret));
    id(&world
        .in_store(ANN, Op::new(token_add::TokenAdd { principal: principal.into(), hash, ..Default::default() }))
        .unwrap())
}

pub(super) fn member(world: &World, principal: &str, project: &str, role: Option<Role>) -> Value {
    let request = member_set::MemberSet { principal: principal.into(), project: project.into(), role };
    world.in_store(ANN, Op::new(request)).unwrap()
}

fn reserved(world: &World) {
    let principal = access::OURS.to_owned();
    let role = |role| Op::new(member_set::MemberSet { principal: principal.clone().into(), project: "*".into(), role });
    let (secret, link) = (hash("a"), hash("b"));
    let token = token_add::TokenAdd { principal: principal.clone().into(), hash: secret, ..Default::default() };
    let login = login_offer::LoginOffer { principal: principal.clone().into(), hash: link, expires_in_s: None };
    for op in [Op::new(token), role(Some(Role::Viewer)), Op::new(login)] {
        assert_eq!(code_of(world.in_store(ANN, op.clone())), "reserved_name", "{}", op.name());
    }
    // A role granted before the name was reserved can still be removed.
    assert_eq!(code_of(world.in_store(ANN, role(None))), "unknown_principal");
    member(world, "service:tenure2", "*", Some(Role::Viewer));
}

fn who(world: &World, secret: &str) -> Option<Grants> {
    world.kernel.who_is(&hash(secret)).unwrap()
}

/// The grants of a worker in `name:p`.
pub(super) fn worker(principal: &str) -> Grants {
    Grants {
        principal: principal.into(),
        members: BTreeMap::from([("name:p".into(), Role::Worker)]),
        scope: TokenScope::default(),
    }
}

/// A call of a principal as an agent.
pub(super) fn call(world: &World, actor: &str, grants: &Grants) -> Call {
    Call { actor: Actor { principal: Some(grants.clone()), ..Actor::named(actor) }, ..world.call(actor) }
}

pub(super) fn run(world: &World, call: &Call, op: Op) -> Result<Value> {
    world.run_call(call, &op)
}

pub(super) fn adding() -> Op {
    Op::new(add::Add::titled("x"))
}

fn disable(world: &World, principal: &str, disabled: bool) {
    let op = Op::new(principal_set::PrincipalSet { principal: principal.into(), disabled });
    world.in_store(ANN, op).unwrap();
}

fn expires(world: &World) {
    let request = token_add::TokenAdd {
        principal: "service:ci".into(),
        hash: hash("s"),
        expires_in_s: Some(600),
        role: Some(Role::Viewer),
        projects: Some(words(&["name:p"])),
        ..Default::default()
    };
    world.in_store(ANN, Op::new(request)).unwrap();
    let scope = TokenScope { role: Some(Role::Viewer), projects: Some(words(&["name:p"])) };
    let grants = Grants { principal: "service:ci".into(), members: BTreeMap::new(), scope };
    assert_eq!(who(world, "s"), Some(grants.clone()));
    assert_eq!(who(world, "t"), None, "nobody's");
    world.advance(Span(Span::seconds(600).0 - 1));
    assert_eq!(who(world, "s"), Some(grants));
    world.advance(Span(1));
    assert_eq!(who(world, "s"), None);
    let listed = world
        .kernel
        .ask(&world.call(ANN), &query::tokens::Tokens { principal: None, limit: 10, cursor: None })
        .unwrap();
    assert_eq!(listed.items[0].state.as_str(), "expired");
    // A value that is not a hash is refused before any lookup.
    assert_eq!(code_of(world.kernel.who_is("s")), "bad_hash");
    for (expires_in_s, code) in [(0, "bad_lifetime"), (366 * 86_400, "bad_lifetime"), (i64::MAX, "bad_lifetime")] {
        let (principal, hash) = (ANN.into(), hash("u"));
        let request = token_add::TokenAdd { principal, hash, expires_in_s: Some(expires_in_s), ..Default::default() };
        assert_eq!(code_of(world.in_store(ANN, Op::new(request))), code);
    }
}

fn revoked(world: &World) {
    let first = token(world, ANN, "s");
    token(world, ANN, "t");
    let elsewhere = world.another();
    assert!(elsewhere.who_is(&hash("s")).unwrap().is_some());
    let revoke = Op::new(token_revoke::TokenRevoke { token: first.clone().into() });
    let answer = world.in_store(ANN, revoke.clone()).unwrap();
    assert_eq!((answer["state"].as_str(), answer["revoked_by"].as_str()), (Some("revoked"), Some(ANN)));
    assert_eq!(elsewhere.who_is(&hash("s")).unwrap(), None, "on every server at once");
    assert!(elsewhere.who_is(&hash("t")).unwrap().is_some(), "and no other one");
    // Repeating it has no further effect.
    let before = dump(&world.kernel);
    assert_eq!(world.in_store(ANN, revoke).unwrap()["revoked_at"], answer["revoked_at"]);
    assert_eq!(dump(&world.kernel)["token"], before["token"]);
    let unknown = Op::new(token_revoke::TokenRevoke { token: "k-00000".into() });
    assert_eq!(code_of(world.in_store(ANN, unknown)), "not_found");
    // The secret of a revoked token cannot be reused either.
    let again = token_add::TokenAdd { principal: ANN.into(), hash: hash("s"), ..Default::default() };
    assert_eq!(code_of(world.in_store(ANN, Op::new(again))), "token_known");
    assert_eq!(
        world.kernel.ask(&world.call(ANN), &query::token_id::ResolveToken { typed: first[2..6].into() }).unwrap(),
        first
    );
}

fn disabled(world: &World) {
    token(world, "person:bob", "s");
    sign_in(world, "person:bob", "link", "cookie");
    assert!(who(world, "s").is_some() && signed_in(world, "cookie"));
    disable(world, "person:bob", true);
    assert!(who(world, "s").is_none() && !signed_in(world, "cookie"));
    // A link does not help, whether it was offered before or is offered now.
    offer(world, "person:bob", "other");
    assert_eq!(code_of(take(world, "other", "second")), "login_refused");
    disable(world, "person:bob", false);
    assert!(who(world, "s").is_some());
    assert!(!signed_in(world, "cookie"), "a session that was closed stays closed");
    let unknown = Op::new(principal_set::PrincipalSet { principal: "person:eve".into(), disabled: true });
    assert_eq!(code_of(world.in_store(ANN, unknown)), "unknown_principal");
}

fn no_role(world: &World) {
    let task = world.add("theirs");
    token(world, "person:bob", "s");
    let bob = who(world, "s").unwrap();
    let before = dump(&world.kernel);
    let there = call(world, "person:bob", &bob);
    let nowhere =
        Call { project: project::NamedProject { key: "name:none".into(), label: "none".into() }, ..there.clone() };
    for op in [adding(), Op::new(claim::Claim { task: Some(task.clone().into()), ..Default::default() })] {
        assert_eq!(
            refusal(run(world, &there, op.clone())).to_json(&Commands),
            unknown_project("name:p").to_json(&Commands)
        );
        assert_eq!(
            refusal(run(world, &nowhere, op)).to_json(&Commands),
            unknown_project("name:none").to_json(&Commands)
        );
    }
    assert_eq!(
        refusal(world.kernel.ask(&there, &query::show::Show { id: task.clone() })).to_json(&Commands),
        unknown_project("name:p").to_json(&Commands)
    );
    assert_eq!(
        refusal(world.kernel.ask(&nowhere, &query::show::Show { id: task.clone() })).to_json(&Commands),
        unknown_project("name:none").to_json(&Commands)
    );
    assert_eq!(code_of(world.kernel.ask(&there, &log::Log { limit: 5, ..Default::default() })), "unknown_project");
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "nothing is made, nobody is registered");
    member(world, "person:bob", "name:p", Some(Role::Viewer));
    let bob = who(world, "s").unwrap();
    world.kernel.ask(&call(world, "person:bob", &bob), &query::show::Show { id: task.clone() }).unwrap();
    assert_eq!(code_of(run(world, &call(world, "person:bob", &bob), adding())), "role_too_low");
}

fn failing_lookup(world: &World) {
    token(world, ANN, "s");
    member(world, ANN, "*", Some(Role::Admin));
    assert!(who(world, "s").is_some());
    let damage = "UPDATE token SET projects = 'none of your business'";
    execute(&world.kernel, damage, damage).unwrap();
    assert_eq!(code_of(world.kernel.who_is(&hash("s"))), "corrupt_store", "an unreadable list is not all projects");
}

fn who_gives(world: &World) {
    let ops = || {
        [
            Op::new(token_add::TokenAdd { principal: "a".into(), hash: hash("s"), ..Default::default() }),
            Op::new(member_set::MemberSet { principal: "a".into(), project: "*".into(), role: Some(Role::Admin) }),
            Op::new(principal_set::PrincipalSet { principal: ANN.into(), disabled: true }),
            Op::new(login_offer::LoginOffer { principal: ANN.into(), hash: hash("s"), expires_in_s: None }),
            Op::new(login_close::LoginClose { session: None, principal: Some(ANN.into()) }),
        ]
    };
    for op in ops() {
        assert_eq!(code_of(world.in_store("a", op.clone())), "people_only", "{}", op.name());
        assert_eq!(code_of(world.run(ANN, op.clone())), "whole_store_only", "{}", op.name());
    }
    for query in [
        world
            .kernel
            .ask(&world.call("a"), &query::tokens::Tokens { principal: None, limit: 10, cursor: None })
            .map(drop),
        world
            .kernel
            .ask(&world.call("a"), &query::members::Members { principal: None, project: None, limit: 10, cursor: None })
            .map(drop),
        world.kernel.ask(&world.call("a"), &query::principals::Principals { limit: 10, cursor: None }).map(drop),
    ] {
        assert_eq!(code_of(query), "people_only");
    }
    token(world, ANN, "ann");
    // Through a server, this requires an admin of every project, not only of one.
    token(world, "person:bob", "t");
    for (project, role, code) in [("name:p", Role::Admin, "unknown_project"), ("*", Role::Operator, "role_too_low")] {
        member(world, "person:bob", project, Some(role));
        let bob = who(world, "t").unwrap();
        for op in ops() {
            let call = Call { project: project::whole_store(), ..call(world, "person:bob", &bob) };
            assert_eq!(code_of(run(world, &call, op)), code);
        }
        assert_eq!(
            code_of(world.kernel.ask(
                &call(world, "person:bob", &bob).about_store(),
                &query::tokens::Tokens { principal: None, limit: 10, cursor: None }
            )),
            code
        );
    }
    member(world, "person:bob", "*", Some(Role::Admin));
    let bob = who(world, "t").unwrap();
    for op in ops() {
        let call = Call { project: project::whole_store(), ..call(world, "person:bob", &bob) };
        run(world, &call, op).unwrap();
    }
    let narrowed = Grants { scope: TokenScope { role: None, projects: Some(words(&["name:p"])) }, ..bob };
    assert_eq!(
        code_of(world.kernel.ask(
            &call(world, "person:bob", &narrowed).about_store(),
            &query::tokens::Tokens { principal: None, limit: 10, cursor: None }
        )),
        "unknown_project"
    );
}

fn audit(world: &World) {
    let long = "x\u{202e}\n".repeat(10_000);
    let request = access_denied::AccessDenied {
        principal: "person:bob".into(),
        agent: long.clone().into(),
        what: long.clone(),
        project: long.clone().into(),
        code: "role_too_low".into(),
        from: long,
        left_out: 7,
    };
    world.in_store("service:tenure", Op::new(request)).unwrap();
    let unknown =
        access_denied::AccessDenied { what: "GET /".into(), code: "not_signed_in".into(), ..Default::default() };
    world.in_store("service:tenure", Op::new(unknown)).unwrap();
    let filter = log::Log { kind: Some("access.denied".into()), limit: 10, ..Default::default() };
    let page = world.kernel.ask(&Call { project: project::whole_store(), ..world.call(ANN) }, &filter).unwrap();
    let [first, second] = &page.items[..] else { panic!("{page:?}") };
    assert!(first.data.to_string().len() < 2_000 && !first.sentence().contains(['\n', '\u{202e}']), "{first:?}");
    assert_eq!((first.subject.as_str(), first.actor.as_str()), ("person:bob", "service:tenure"));
    assert_eq!(second.sentence(), "nobody was denied “GET /”: not_signed_in");
    // No caller may record it directly.
    let admin = Grants { members: BTreeMap::from([("*".into(), Role::Admin)]), ..worker(ANN) };
    let call = Call { project: project::whole_store(), ..call(world, ANN, &admin) };
    assert_eq!(code_of(run(world, &call, Op::new(access_denied::AccessDenied::default()))), "not_offered");
}

fn others_projects(world: &World) {
    let at = |key: &str| Call {
        project: project::NamedProject { key: format!("name:{key}").into(), label: key.into() },
        ..world.call(ANN)
    };
    for key in ["a", "b", "c", "d", "e"] {
        world.kernel.run(&at(key), &adding()).unwrap();
    }
    let grants = |members: &[(&str, Role)], projects: Option<&[&str]>| Grants {
        principal: ANN.into(),
        members: members.iter().map(|(key, role)| (ProjectKey::from(*key), *role)).collect(),
        scope: TokenScope { role: None, projects: projects.map(words) },
    };
    let seen = |grants: &Grants, rows| {
        let (mut keys, mut cursor) = (Vec::new(), None);
        loop {
            let page = world
                .kernel
                .ask(&call(world, ANN, grants), &query::projects::Projects { limit: rows, cursor: cursor.clone() })
                .unwrap();
            assert!(page.items.len() <= rows && (page.total.is_none() || page.total == Some(page.items.len() as i64)));
            keys.extend(page.items.into_iter().map(|project| project.label));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return keys,
            }
        }
    };
    for rows in [1, 2, 50] {
        assert_eq!(seen(&grants(&[], None), rows), [""; 0]);
        assert_eq!(seen(&grants(&[("name:b", Role::Viewer), ("name:e", Role::Admin)], None), rows), ["b", "e"]);
        assert_eq!(seen(&grants(&[("*", Role::Viewer)], None), rows), ["a", "b", "c", "d", "e"]);
        assert_eq!(seen(&grants(&[("*", Role::Admin)], Some(&["name:d"])), rows), ["d"]);
    }
    let own = call(world, ANN, &grants(&[("name:b", Role::Viewer)], None));
    assert_eq!(
        world
            .kernel
            .ask(&own, &query::project_called::ProjectCalled { name: "b".into(), also_forgotten: false })
            .unwrap()
            .key,
        "name:b"
    );
    for name in ["c", "name:c", "no such"] {
        assert_eq!(
            refusal(
                world
                    .kernel
                    .ask(&own, &query::project_called::ProjectCalled { name: name.into(), also_forgotten: true })
            )
            .to_json(&Commands),
            unknown_project(name).to_json(&Commands)
        );
    }
}

fn secrets(world: &World) {
    let entropy = Seeded::new(99);
    let [token_secret, link, cookie] = [0; 3].map(|_| Secret::draw(&entropy));
    token(world, ANN, token_secret.expose());
    sign_in(world, ANN, link.expose(), cookie.expose());
    assert!(who(world, token_secret.expose()).is_some());
    let stored = dump(&world.kernel);
    let all = format!("{stored:?}");
    let call = world.call(ANN);
    let shown = [
        serde_json::to_string(
            &world.kernel.ask(&call, &query::tokens::Tokens { principal: None, limit: 10, cursor: None }).unwrap(),
        )
        .unwrap(),
        serde_json::to_string(
            &world.kernel.ask(&call, &query::principals::Principals { limit: 10, cursor: None }).unwrap(),
        )
        .unwrap(),
        format!("{:?}{:?}", stored["event"], stored["request"]),
    ];
    for secret in [&token_secret, &link, &cookie] {
        assert!(!all.contains(secret.expose()), "a secret is stored");
        assert!(all.contains(&secret.hash()), "the test looks at what is stored");
        assert!(shown.iter().all(|text| !text.contains(&secret.hash())), "a hash is shown");
    }
    // The refusal of an invalid hash does not contain the secret either.
    let request =
        token_add::TokenAdd { principal: ANN.into(), hash: token_secret.expose().into(), ..Default::default() };
    let error = refusal(world.in_store(ANN, Op::new(request)));
    assert!(!format!("{}{error:?}", error.to_json(&Commands)).contains(token_secret.expose()));
}

fn restored(world: &World) {
    world.add("work");
    let first = token(world, "person:bob", "s");
    token(world, "person:eve", "t");
    member(world, "person:bob", "name:p", Some(Role::Worker));
    sign_in(world, ANN, "link", "cookie");
    offer(world, ANN, "unused");
    let path = world.dir.path().join("b.db");
    world.kernel.backup(&world.call(ANN), &path, Existing::Keep, &|_| {}).unwrap();
    world.in_store(ANN, Op::new(token_revoke::TokenRevoke { token: first.into() })).unwrap();
    disable(world, "person:eve", true);
    token(world, "person:bob", "later");
    let backup = Backup::open(&path).unwrap();
    let safety = world.dir.path().join("safety.db");
    world.kernel.restore(&world.call(ANN), &backup, Replace::After(&safety), Ledger::NONE, &|_| {}).unwrap();
    assert_eq!(who(world, "s"), None, "what was revoked stays revoked");
    assert_eq!(who(world, "t"), None, "who was disabled stays disabled");
    assert_eq!(who(world, "later"), None, "what came later is gone");
    assert!(!signed_in(world, "cookie"), "people sign in again");
    assert_eq!(code_of(take(world, "unused", "new")), "login_refused");
    disable(world, "person:eve", false);
    assert!(who(world, "t").is_some());
}

fn members(world: &World) {
    let first = member(world, "person:bob", "name:p", Some(Role::Worker));
    assert_eq!((&first["role"], &first["before"]), (&"worker".into(), &Value::Null));
    let events = || number(&world.kernel, "SELECT COUNT(*) FROM event WHERE kind = 'member.set'", &[]);
    member(world, "person:bob", "name:p", Some(Role::Worker));
    assert_eq!(events(), 1, "as it was");
    member(world, "person:bob", "name:p", Some(Role::Admin));
    member(world, "person:bob", "*", Some(Role::Viewer));
    member(world, "service:ci", "name:p", Some(Role::Viewer));
    let list = |(principal, project): (Option<&str>, Option<&str>), limit, cursor: Option<&str>| {
        let [principal, project, cursor] = [principal, project, cursor].map(|text| text.map(str::to_owned));
        let members = query::members::Members { principal, project, limit, cursor };
        let page = world.kernel.ask(&world.call(ANN), &members).unwrap();
        let items = page.items.iter().map(|one| format!("{} {} {}", one.principal, one.project, one.role.as_str()));
        (items.collect::<Vec<_>>(), page.next)
    };
    let all = ["person:bob * viewer", "person:bob name:p admin", "service:ci name:p viewer"];
    assert_eq!(list((None, None), 10, None).0, all);
    let (page, next) = list((None, None), 2, None);
    assert_eq!(
        (&page[..], &list((None, None), 2, next.as_deref()).0[..]),
        (&all.map(str::to_owned)[..2], &all.map(str::to_owned)[2..])
    );
    assert_eq!(list((None, Some("name:p")), 10, None).0, all[1..]);
    assert_eq!(list((Some("person:bob"), None), 10, None).0, all[..2]);
    let (page, next) = list((Some("person:bob"), None), 1, None);
    assert_eq!(
        (page, list((Some("person:bob"), None), 1, next.as_deref()).0),
        (vec![all[0].to_owned()], vec![all[1].to_owned()])
    );
    for bad in ["", "x", "person:bob _", "Ann name:p"] {
        assert_eq!(
            code_of(world.kernel.ask(
                &world.call(ANN),
                &query::members::Members { principal: None, project: None, limit: 2, cursor: Some(bad.into()) }
            )),
            "bad_cursor"
        );
    }
    let taken = member(world, "person:bob", "name:p", None);
    assert_eq!((&taken["role"], &taken["before"]), (&Value::Null, &"admin".into()));
    assert_eq!(list((Some("person:bob"), None), 10, None).0, all[..1]);
    for (principal, project, code) in
        [("person:eve", "name:p", "unknown_principal"), ("Bob", "*", "bad_name"), ("bob", "_", "bad_project_key")]
    {
        let request = member_set::MemberSet { principal: principal.into(), project: project.into(), role: None };
        assert_eq!(code_of(world.in_store(ANN, Op::new(request))), code);
    }
}

fn found_by_index(world: &World) {
    token(world, ANN, "s");
    let hashes = [
        "substr('0000000000000000000000000000000000000000000000000000000000000000' || n, -64)",
        "lpad(CAST(n AS TEXT), 64, '0')",
    ];
    for rows in [
        "token SELECT 'k-' || n, HASH, 'p' || n, '', '', '', 1, '', 9000000000000000000, 0, ''",
        "principal SELECT 'p' || n, '', 1, '', 0",
        "member SELECT 'p' || n, 'name:p', 'worker', 1, ''",
        "web_session SELECT HASH, 'p' || n, HASH, 1, 9000000000000000000, 0",
        "login SELECT HASH, 'p' || n, 1, '', 9000000000000000000, 0",
    ] {
        let count = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000)";
        let sqlite = format!("{count} INSERT INTO {} FROM c", rows.replace("HASH", hashes[0]));
        let postgres = format!("INSERT INTO {} FROM generate_series(1, 20000) n", rows.replace("HASH", hashes[1]));
        execute(&world.kernel, &sqlite, &postgres).unwrap();
    }
    super::plans::analyse(world);
    for sql in [
        "SELECT id FROM token WHERE hash = $1",
        "SELECT name FROM principal WHERE name = $1",
        "SELECT key FROM member WHERE principal = $1 ORDER BY key",
        "SELECT principal FROM web_session WHERE hash = $1",
        "SELECT principal FROM login WHERE hash = $1",
    ] {
        let plan = world.kernel.store().explain(Sql::same(sql), &["x".into()]).unwrap();
        assert!(!plan.contains("SCAN") && !plan.contains("Seq Scan"), "{sql}\n{plan}");
    }
}
