//! A walk through every op once, for what must be true of each of them.

use serde_json::{Value, json};
use tenure_core::access::Role;
use tenure_core::session::Start;
use tenure_core::{Result, tool};
use tenure_kernel::op::{
    access_denied, add, add_many, block, cancel, claim, committed, confirm, done, edit, forget, guard, import, inbox,
    join, lessons, lock, login_close, login_offer, login_take, member_set, memory_forget, memory_pin, note, off,
    principal_set, release, remember, reopen, reserve, resume, send, session_end, session_start, switch_on, token_add,
    token_revoke, tool_used, transfer, unblock,
};
use tenure_kernel::{Call, Checkout, Op, Reply, Tree, Trust};
use tenure_store::table::project;

use super::shorthand::{id, words};
use crate::fixture::World;

/// One op of the walk as it was sent and answered.
pub(super) struct Walked {
    pub(super) call: Call,
    pub(super) op: Op,
    pub(super) reply: Reply,
}

/// Sends every op at least once, each through `run`, and returns them in order.
pub(super) fn every_op(world: &World, mut run: impl FnMut(&Call, &Op) -> Result<Reply>) -> Vec<Walked> {
    let mut walked = Vec::new();
    let mut send = |call: Call, op: Op| -> Value {
        let reply = run(&call, &op).unwrap();
        let body = serde_json::from_str(&reply.body).unwrap();
        walked.push(Walked { call, op, reply });
        body
    };
    let joined = Call { checkout: Some(copy()), ..world.call("person:ann") };
    let mut go = |agent: &str, op: Op| send(world.call(agent), op);
    let ann = "person:ann";
    let labels = words(&["x", "y"]);
    let first = id(&go(ann, Op::Add(add::Request { labels: labels.clone(), ..add::Request::titled("first") })));
    go(ann, Op::Add(add::Request { after: vec![first.clone()], labels, ..add::Request::titled("second") }));
    let items = ["third", "fourth"].map(item).to_vec();
    let many = go(ann, Op::AddMany(add_many::Request { items }));
    let [third, fourth] = [&many["ids"][0], &many["ids"][1]].map(|id| id.as_str().unwrap().to_owned());
    go(ann, Op::Edit(edit::Request { task: third.clone(), title: Some("3rd".into()), ..edit::Request::default() }));
    let named = Some(first.clone());
    go("b", Op::Note(note::Request { task: Some(third.clone()), text: "seen".into(), ..note::Request::default() }));
    go("a", Op::Claim(claim::Request { task: named.clone(), ttl_s: Some(600), ..claim::Request::default() }));
    go("a", Op::Note(note::Request { text: "half".into(), ..note::Request::default() }));
    go("a", Op::Transfer(transfer::Request { to: "b".into(), ..transfer::Request::default() }));
    go("b", Op::Claim(claim::Request { task: named.clone(), ..claim::Request::default() }));
    go("b", Op::Release(release::Request { task: named.clone(), ..release::Request::default() }));
    go("b", Op::Claim(claim::Request { task: named.clone(), ..claim::Request::default() }));
    go("b", Op::Done(done::Request { task: named, ..done::Request::default() }));
    let reason = String::from("waits for ann");
    go("a", Op::Block(block::Request { task: Some(third.clone()), reason, ..block::Request::default() }));
    go("a", Op::Unblock(unblock::Request { task: third.clone() }));
    go("a", Op::Claim(claim::Request { task: Some(third), ..claim::Request::default() }));
    go(ann, Op::Cancel(cancel::Request { task: Some(fourth.clone()), ..cancel::Request::default() }));
    go(ann, Op::Reopen(reopen::Request { task: fourth, ..reopen::Request::default() }));
    go(ann, Op::Reopen(reopen::Request { task: first, ..reopen::Request::default() }));
    let said = go(
        ann,
        Op::Remember(remember::Request {
            items: vec![remember::Item { text: "mind the gap".into(), ..remember::Item::default() }],
        }),
    );
    let memory = said["items"][0]["id"].as_str().unwrap().to_owned();
    go(ann, Op::MemoryPin(memory_pin::Request { memory: memory.clone(), pinned: true }));
    go(ann, Op::MemoryForget(memory_forget::Request { memory }));
    let resumed = go("b", Op::Resume(resume::Request::default()));
    go("b", Op::Confirm(confirm::Request { events: resumed["events"]["offered"].as_i64(), mail: None }));
    go(
        "b",
        Op::Note(note::Request {
            text: "with all that belongs to it".into(),
            memories: vec![remember::Item { text: "a fact".into(), ..remember::Item::default() }],
            artifacts: vec![note::Artifact { path: "out/a.txt".into(), kind: None, sha256: "ab".repeat(32), size: 3 }],
            ..note::Request::default()
        }),
    );
    let (tool, session) = (String::from("claude"), String::from("S"));
    let event = String::from("SessionStart");
    let start = session_start::Request {
        tool: tool.clone(),
        session: session.clone(),
        source: Start::Startup,
        given: false,
        event: event.clone(),
    };
    go("claude-s", Op::SessionStart(start));
    go("claude-s", Op::Claim(claim::Request::default()));
    let used = tool_used::Request {
        tool: tool.clone(),
        session: session.clone(),
        event,
        tool_name: "Bash".into(),
        kind: tool::Kind::Shell,
        program: Some("cargo test".into()),
        paths: words(&["src/lib.rs"]),
        failed: true,
        told: true,
        ..tool_used::Request::default()
    };
    go("claude-s", Op::ToolUsed(used));
    let end = session_end::Request { tool, session, reason: "other".into(), event: String::new() };
    go("claude-s", Op::SessionEnd(end));
    go("b", Op::Lessons(lessons::Request {}));
    go(ann, Op::Import(brought()));
    let text = String::from("how far is it?");
    let sent = go("b", Op::Send(send::Request { to: words(&["a"]), text, request: true, ..send::Request::default() }));
    go("a", Op::Inbox(inbox::Request::default()));
    let acked = go("a", Op::Inbox(inbox::Request { ack: vec![id(&sent)], limit: Some(7) }));
    go("a", Op::Confirm(confirm::Request { events: None, mail: acked["offered"].as_i64() }));
    go(ann, Op::SwitchOn(switch_on::Request::default()));
    go(ann, Op::Off(off::Request { for_s: Some(600) }));
    go(ann, Op::Off(off::Request { for_s: Some(0) }));
    let paths = words(&["src/a.rs", "docs/"]);
    send(
        Call { actor: world.call("a").actor, ..joined.clone() },
        Op::Reserve(reserve::Request { paths: paths.clone(), ..reserve::Request::default() }),
    );
    let waits = reserve::Request { paths, wait: true, ..reserve::Request::default() };
    let waiter = world.call("b");
    let waiter = Call { actor: waiter.actor, request_id: waiter.request_id, ..joined.clone() };
    let queued = send(waiter, Op::Reserve(waits));
    assert_eq!(queued["waiting"], true);
    let (commit, clean) = (String::from("c0ffee11"), words(&["src/a.rs"]));
    let committed = committed::Request { commit, paths: clean.clone(), clean, ..committed::Request::default() };
    send(Call { actor: world.call("a").actor, ..joined.clone() }, Op::Committed(committed));
    let says = tool_used::Request { tool: "claude".into(), session: "S".into(), ..tool_used::Request::default() };
    let guarded = guard::Request { paths: words(&["./src/main.rs"]), fold_case: false, says };
    send(Call { actor: world.call("a").actor, ..joined.clone() }, Op::Guard(guarded));
    send(
        world.call("a"),
        Op::Lock(lock::Request { name: "deploy".into(), reason: "v2".into(), ..lock::Request::default() }),
    );
    send(Call { request_id: world.call(ann).request_id, ..joined }, Op::Join(join::Request::default()));
    access(world, &mut send);
    let elsewhere = project::Name { key: "name:q".into(), label: "q".into() };
    let forget = forget::Request { key: elsewhere.key.clone(), force: false };
    send(Call { project: elsewhere, ..world.call(ann) }, Op::Forget(forget));

    let mut met: Vec<_> = walked.iter().map(|walked| walked.op.name()).collect();
    met.sort_unstable();
    met.dedup();
    let mut all: Vec<_> = tenure_kernel::op::ALL.iter().map(|about| about.name).collect();
    all.sort_unstable();
    assert_eq!(met, all, "the walk meets every op");
    walked
}

/// The ops about the whole store.
fn access(world: &World, send: &mut impl FnMut(Call, Op) -> Value) {
    let mut go = |agent: &str, op: Op| send(Call { project: project::whole_store(), ..world.call(agent) }, op);
    let (ann, bob) = ("person:ann", String::from("person:bob"));
    let [secret, link, session, csrf] = ["1a", "2b", "3c", "4d"].map(|two| two.repeat(32));
    let only = Some(words(&["name:p", "name:q"]));
    let (label, role) = (String::from("nightly"), Some(Role::Worker));
    let token = token_add::Request {
        principal: "service:ci".into(),
        hash: secret,
        label,
        role,
        projects: only,
        ..Default::default()
    };
    let token = id(&go(ann, Op::TokenAdd(token)));
    go(ann, Op::TokenRevoke(token_revoke::Request { token }));
    let member = member_set::Request { principal: bob.clone(), project: "*".into(), role: Some(Role::Operator) };
    go(ann, Op::MemberSet(member));
    go(ann, Op::LoginOffer(login_offer::Request { principal: bob.clone(), hash: link.clone(), expires_in_s: None }));
    let taken =
        login_take::Request { link, session: session.clone(), csrf, expires_in_s: Some(60), from: String::new() };
    go("service:tenure", Op::LoginTake(taken));
    go(&bob, Op::LoginClose(login_close::Request { session: Some(session), principal: None }));
    go(ann, Op::PrincipalSet(principal_set::Request { principal: bob.clone(), disabled: true }));
    go(ann, Op::PrincipalSet(principal_set::Request { principal: bob.clone(), disabled: false }));
    let (what, project, code) = (String::from("add"), String::from("name:p"), String::from("unknown_project"));
    let denied = access_denied::Request { principal: bob, what, project, code, ..Default::default() };
    go("service:tenure", Op::AccessDenied(denied));
}

/// Two tasks and a note from elsewhere, one of the tasks for somebody whom nobody has seen.
fn brought() -> import::Request {
    let at = "2033-01-01T00:00:00.000000Z";
    let own = json!({ "title": "brought", "created_by": "z", "created_at": at, "updated_at": at });
    let task = |id: &str, more: Value| {
        let mut task = own.clone();
        task["id"] = json!(id);
        more.as_object().unwrap().iter().for_each(|(field, value)| task[field.as_str()] = value.clone());
        task
    };
    let done = json!({ "status": "done", "finished_by": "z", "finished_at": at, "labels": ["x"] });
    let request = json!({
        "tasks": [task("t-zzzzz", done), task("t-zzzzy", json!({ "after": ["t-zzzzz"], "assignee": "unseen" }))],
        "notes": [{ "id": "n-zzzzz", "task": "t-zzzzz", "agent": "z", "at": at, "text": "so far" }],
    });
    // Through text: data that is kept to the letter cannot be read from anything else.
    serde_json::from_str(&request.to_string()).unwrap()
}

fn copy() -> Checkout {
    let common = Some(("/copy/.git".to_owned(), 1, 2));
    Checkout { host: "h".into(), path: "/copy".into(), common, trust: Trust::Joined, tree: Tree::default() }
}

fn item(title: &str) -> add_many::Item {
    let (description, acceptance) = (String::new(), String::new());
    let (labels, after) = (Vec::new(), Vec::new());
    add_many::Item { title: title.into(), description, priority: 2, labels, acceptance, after, key: None, line: 1 }
}
