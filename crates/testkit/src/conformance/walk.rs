//! A walk through every op once, for properties that hold for each of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_core::access::Role;
use tenure_core::number::EventNumber;
use tenure_core::session::Start;
use tenure_core::{Result, tool};
use tenure_kernel::op::{Domain, Entry, OPS};
use tenure_kernel::op::{
    access_denied, add, add_many, block, cancel, claim, committed, confirm, done, edit, forget, guard, import, inbox,
    join, lessons, lock, login_close, login_offer, login_take, member_set, memory_forget, memory_pin, note, off,
    principal_set, release, remember, reopen, reserve, resume, send, session_end, session_start, switch_on, token_add,
    token_revoke, tool_used, transfer, unblock,
};
use tenure_kernel::{Call, Checkout, Op, Reply, Trust, WorkingTree};
use tenure_store::table::project;

use super::shorthand::{id, words};
use crate::fixture::World;
use crate::fuzz;

/// One op of the walk, as sent and answered.
pub(super) struct Walked {
    pub(super) call: Call,
    pub(super) op: Op,
    pub(super) reply: Reply,
}

/// Sends every op at least once, each through `run`, and returns them in order: a story, then the example of each op that
/// the story leaves out.
pub(super) fn every_op(world: &World, mut run: impl FnMut(&Call, &Op) -> Result<Reply>) -> Vec<Walked> {
    let mut walked = Vec::new();
    let mut send = |call: Call, op: Op| -> Value {
        let reply = run(&call, &op).unwrap();
        let body = serde_json::from_str(&reply.body).unwrap();
        walked.push(Walked { call, op, reply });
        body
    };
    let mut met = BTreeSet::new();
    story(world, &mut |call, op| {
        met.insert(op.name());
        send(call, op)
    });
    let missing: Vec<&Entry> = OPS.iter().filter(|entry| !met.contains(entry.name)).collect();
    let ids = if missing.is_empty() { Vec::new() } else { fuzz::populate(world) };
    for entry in missing {
        let (agent, op) = fuzz::example(entry.name, &ids);
        let call = match entry.domain {
            Domain::Store => Call { project: project::whole_store(), ..world.call(&agent) },
            _ => world.call(&agent),
        };
        send(call, op);
    }
    walked
}

/// Ops that build on each other. An op that needs nothing of this is sent by its example.
fn story(world: &World, send: &mut impl FnMut(Call, Op) -> Value) {
    let joined = Call { checkout: Some(copy()), ..world.call("person:ann") };
    let mut go = |agent: &str, op: Op| send(world.call(agent), op);
    let ann = "person:ann";
    let labels = words(&["x", "y"]);
    let first = id(&go(ann, Op::new(add::Add { labels: labels.clone(), ..add::Add::titled("first") })));
    go(ann, Op::new(add::Add { after: vec![first.clone().into()], labels, ..add::Add::titled("second") }));
    let items = ["third", "fourth"].map(item).to_vec();
    let many = go(ann, Op::new(add_many::AddMany { items }));
    let [third, fourth] = [&many["ids"][0], &many["ids"][1]].map(|id| id.as_str().unwrap().to_owned());
    go(ann, Op::new(edit::Edit { task: third.clone().into(), title: Some("3rd".into()), ..edit::Edit::default() }));
    let named = Some(first.clone());
    go("b", Op::new(note::Note { task: Some(third.clone().into()), text: "seen".into(), ..note::Note::default() }));
    go("a", Op::new(claim::Claim { task: named.clone().map(Into::into), ttl_s: Some(600), ..claim::Claim::default() }));
    go("a", Op::new(note::Note { text: "half".into(), ..note::Note::default() }));
    go("a", Op::new(transfer::Transfer { to: "b".into(), ..transfer::Transfer::default() }));
    go("b", Op::new(claim::Claim { task: named.clone().map(Into::into), ..claim::Claim::default() }));
    go("b", Op::new(release::Release { task: named.clone().map(Into::into), ..release::Release::default() }));
    go("b", Op::new(claim::Claim { task: named.clone().map(Into::into), ..claim::Claim::default() }));
    go("b", Op::new(done::Done { task: named.map(Into::into), ..done::Done::default() }));
    let reason = String::from("waits for ann");
    go("a", Op::new(block::Block { task: Some(third.clone().into()), reason, ..block::Block::default() }));
    go("a", Op::new(unblock::Unblock { task: third.clone().into() }));
    go("a", Op::new(claim::Claim { task: Some(third.into()), ..claim::Claim::default() }));
    go(ann, Op::new(cancel::Cancel { task: Some(fourth.clone().into()), ..cancel::Cancel::default() }));
    go(ann, Op::new(reopen::Reopen { task: fourth.into(), ..reopen::Reopen::default() }));
    go(ann, Op::new(reopen::Reopen { task: first.into(), ..reopen::Reopen::default() }));
    let said = go(
        ann,
        Op::new(remember::Remember {
            items: vec![remember::NewMemory { text: "mind the gap".into(), ..remember::NewMemory::default() }],
        }),
    );
    let memory = said["items"][0]["id"].as_str().unwrap().to_owned();
    go(ann, Op::new(memory_pin::MemoryPin { memory: memory.clone().into(), pinned: true }));
    go(ann, Op::new(memory_forget::MemoryForget { memory: memory.into() }));
    let resumed = go("b", Op::new(resume::Resume::default()));
    go(
        "b",
        Op::new(confirm::Confirm { events: resumed["events"]["offered"].as_i64().map(EventNumber::new), mail: None }),
    );
    go(
        "b",
        Op::new(note::Note {
            text: "with all that belongs to it".into(),
            memories: vec![remember::NewMemory { text: "a fact".into(), ..remember::NewMemory::default() }],
            artifacts: vec![note::Artifact { path: "out/a.txt".into(), kind: None, sha256: "ab".repeat(32), size: 3 }],
            ..note::Note::default()
        }),
    );
    let (tool, session) = (String::from("claude"), String::from("S"));
    let event = String::from("SessionStart");
    let start = session_start::SessionStart {
        tool: tool.clone(),
        session: session.clone(),
        source: Start::Startup,
        given: false,
        event: event.clone(),
    };
    go("claude-s", Op::new(start));
    go("claude-s", Op::new(claim::Claim::default()));
    let used = tool_used::ToolUsed {
        tool: tool.clone(),
        session: session.clone(),
        event,
        tool_name: "Bash".into(),
        kind: tool::ToolKind::Shell,
        program: Some("cargo test".into()),
        paths: words(&["src/lib.rs"]),
        failed: true,
        told: true,
        ..tool_used::ToolUsed::default()
    };
    go("claude-s", Op::new(used));
    let end = session_end::SessionEnd { tool, session, reason: "other".into(), event: String::new() };
    go("claude-s", Op::new(end));
    go("b", Op::new(lessons::Lessons {}));
    go(ann, Op::new(brought()));
    let text = String::from("how far is it?");
    let sent = go("b", Op::new(send::Send { to: words(&["a"]), text, request: true, ..send::Send::default() }));
    go("a", Op::new(inbox::Inbox::default()));
    let acked = go("a", Op::new(inbox::Inbox { ack: vec![id(&sent).into()], limit: Some(7) }));
    go("a", Op::new(confirm::Confirm { events: None, mail: acked["offered"].as_i64().map(EventNumber::new) }));
    go(ann, Op::new(switch_on::SwitchOn::default()));
    go(ann, Op::new(off::Off { for_s: Some(600) }));
    go(ann, Op::new(off::Off { for_s: Some(0) }));
    let paths = words(&["src/a.rs", "docs/"]);
    send(
        Call { actor: world.call("a").actor, ..joined.clone() },
        Op::new(reserve::Reserve { paths: paths.clone(), ..reserve::Reserve::default() }),
    );
    let waits = reserve::Reserve { paths, wait: true, ..reserve::Reserve::default() };
    let waiter = world.call("b");
    let waiter = Call { actor: waiter.actor, request_id: waiter.request_id, ..joined.clone() };
    let queued = send(waiter, Op::new(waits));
    assert_eq!(queued["waiting"], true);
    let (commit, clean) = (String::from("c0ffee11"), words(&["src/a.rs"]));
    let committed = committed::Committed { commit, paths: clean.clone(), clean, ..committed::Committed::default() };
    send(Call { actor: world.call("a").actor, ..joined.clone() }, Op::new(committed));
    let says = tool_used::ToolUsed { tool: "claude".into(), session: "S".into(), ..tool_used::ToolUsed::default() };
    let guarded = guard::Guard { paths: words(&["./src/main.rs"]), fold_case: false, says };
    send(Call { actor: world.call("a").actor, ..joined.clone() }, Op::new(guarded));
    send(world.call("a"), Op::new(lock::Lock { name: "deploy".into(), reason: "v2".into(), ..lock::Lock::default() }));
    send(Call { request_id: world.call(ann).request_id, ..joined }, Op::new(join::Join::default()));
    access(world, send);
    let elsewhere = project::NamedProject { key: "name:q".into(), label: "q".into() };
    let forget = forget::Forget { key: elsewhere.key.clone(), force: false };
    send(Call { project: elsewhere, ..world.call(ann) }, Op::new(forget));
}

/// The ops on the whole store.
fn access(world: &World, send: &mut impl FnMut(Call, Op) -> Value) {
    let mut go = |agent: &str, op: Op| send(Call { project: project::whole_store(), ..world.call(agent) }, op);
    let (ann, bob) = ("person:ann", String::from("person:bob"));
    let [secret, link, session, csrf] = ["1a", "2b", "3c", "4d"].map(|two| two.repeat(32));
    let only = Some(words(&["name:p", "name:q"]));
    let (label, role) = (String::from("nightly"), Some(Role::Worker));
    let token = token_add::TokenAdd {
        principal: "service:ci".into(),
        hash: secret,
        label,
        role,
        projects: only,
        ..Default::default()
    };
    let token = id(&go(ann, Op::new(token)));
    go(ann, Op::new(token_revoke::TokenRevoke { token: token.into() }));
    let member =
        member_set::MemberSet { principal: bob.clone().into(), project: "*".into(), role: Some(Role::Operator) };
    go(ann, Op::new(member));
    go(ann, Op::new(login_offer::LoginOffer { principal: bob.clone().into(), hash: link.clone(), expires_in_s: None }));
    let taken =
        login_take::LoginTake { link, session: session.clone(), csrf, expires_in_s: Some(60), from: String::new() };
    go("service:tenure", Op::new(taken));
    go(&bob, Op::new(login_close::LoginClose { session: Some(session), principal: None }));
    go(ann, Op::new(principal_set::PrincipalSet { principal: bob.clone().into(), disabled: true }));
    go(ann, Op::new(principal_set::PrincipalSet { principal: bob.clone().into(), disabled: false }));
    let (what, project, code) = (String::from("add"), String::from("name:p"), String::from("unknown_project"));
    let denied = access_denied::AccessDenied {
        principal: bob.into(),
        what,
        project: project.into(),
        code,
        ..Default::default()
    };
    go("service:tenure", Op::new(denied));
}

/// An import of two tasks and a note; one of the tasks is assigned to an unknown agent.
fn brought() -> import::Import {
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
    // Parsed from text, because data that is kept exactly cannot be deserialised from a `Value`.
    serde_json::from_str(&request.to_string()).unwrap()
}

fn copy() -> Checkout {
    let common = Some(("/copy/.git".to_owned(), 1, 2));
    Checkout { host: "h".into(), path: "/copy".into(), common, trust: Trust::Joined, tree: WorkingTree::default() }
}

fn item(title: &str) -> add_many::NewTask {
    let (description, acceptance) = (String::new(), String::new());
    let (labels, after) = (Vec::new(), Vec::new());
    add_many::NewTask { title: title.into(), description, priority: 2, labels, acceptance, after, key: None, line: 1 }
}
