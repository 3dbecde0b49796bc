//! Ops and queries as another process sends them: by name and as JSON.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_core::agent::Process;
use tenure_core::choice::ListOrder;
use tenure_core::number::EventNumber;
use tenure_core::{Result, Span};
use tenure_kernel::op::{reserve, resume, tool_used};
use tenure_kernel::query::*;
use tenure_kernel::{Call, Kernel, Op};

use super::Case;
use super::shorthand::words;
use super::walk::every_op;
use crate::fixture::World;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("a_query_that_was_sent_has_the_answer_of_the_typed_one", same_answers),
    Case::everywhere("an_op_that_was_sent_does_what_the_typed_one_does", same_ops),
];

/// The JSON of a typed answer, or of a complete refusal. Deserialising it yields the same answer.
fn told<T: Serialize + DeserializeOwned>(answer: Result<T>) -> String {
    let answer = match answer {
        Ok(answer) => json(&answer),
        Err(error) => return json(&error),
    };
    assert_eq!(json(&serde_json::from_str::<T>(&answer).unwrap()), answer);
    answer
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// The ids that the queries ask about.
struct Known {
    task: String,
    hold: String,
    place: String,
}

fn known(world: &World) -> Known {
    let kernel = &world.kernel;
    let call = world.call("person:ann");
    let filter = holds::Filter { kind: Some("task".into()), ..holds::Filter::default() };
    let held = kernel.ask(&call, &holds::Holds { filter, limit: 1, cursor: None }).unwrap().items.remove(0);
    let paths = words(&["lib/"]);
    let request = reserve::Reserve { paths, all_checkouts: true, ..reserve::Reserve::default() };
    world.run("person:ann", Op::new(request.clone())).unwrap();
    let waits = world.run("b", Op::new(reserve::Reserve { wait: true, ..request })).unwrap();
    Known { task: held.subject, hold: held.id.into(), place: waits["id"].as_str().unwrap().to_owned() }
}

/// A query in wire form, and the answer of the typed call.
type Pair = (AnyQuery, String);

fn pair<Q: Query>(kernel: &Kernel, call: &Call, query: Q) -> Pair {
    let answer = told(kernel.ask(call, &query));
    (AnyQuery::new(query), answer)
}

/// Every query, with the answer of the typed call.
fn asked_typed(kernel: &Kernel, call: &Call, known: &Known) -> Vec<Pair> {
    let (task, hold) = (known.task.clone(), known.hold.clone());
    macro_rules! asked {
        ($($query:expr),* $(,)?) => { vec![$(pair(kernel, call, $query)),*] };
    }
    let memories = memories::Memories { limit: 5, ..Default::default() };
    let says = tool_used::ToolUsed { tool: "claude".into(), session: "S".into(), ..tool_used::ToolUsed::default() };
    let look = standing::Standing { says, given: Some("claude-s".into()), depth: standing::Depth::Loss };
    let turn = turn::Turn { place: known.place.clone(), before: None };
    let before = kernel.ask(call, &turn).unwrap();
    let made = may_push::Made { id: "c0ffee22".into(), at: tenure_core::Time(1), paths: words(&["src/main.rs"]) };
    asked![
        list::List { all: true, limit: 3, ..Default::default() },
        list::List { all: true, text: Some("one".into()), sort: ListOrder::Updated, limit: 3, ..Default::default() },
        look_up::LookUp { typed: task.clone() },
        look_up::LookUp { typed: hold.clone() },
        look_up::LookUp { typed: "zzzzzz".into() },
        show::Show { id: task.clone() },
        show_hold::ShowHold { id: hold.clone() },
        graph::Graph { id: task.clone() },
        status::Status {},
        why::Why { id: task.clone() },
        why_lock::WhyLock { name: "deploy".into() },
        why_path::WhyPath { paths: words(&["src/main.rs"]), ..Default::default() },
        holds::Holds::of(Some("person:ann"), 5),
        lock_of::LockOf { name: "deploy".into() },
        check::Check { paths: words(&["src/"]), ..Default::default() },
        turn::Turn { before: Some(before), ..turn },
        log::Log { since: Some(log::Since::Number(EventNumber::new(3))), limit: 5, ..Default::default() },
        log::Log { titles: true, limit: 5, ..Default::default() },
        log::Log { kind: Some("no.such".into()), limit: 5, ..Default::default() },
        mail::Mail { limit: Some(3) },
        unread::Unread { limit: 3 },
        message_id::ResolveMessage { typed: "m-".into() },
        recall::Recall { question: "a fact".into(), filter: memories.clone() },
        memories,
        memory_id::ResolveMemory { typed: "m-".into() },
        memory::ShowMemory { id: "m-00000".into() },
        next::Next { labels: words(&["x"]) },
        peek::Peek(resume::Resume::default()),
        agents::Agents { within_us: Some(Span::hours(1)), limit: 2, cursor: None },
        projects::Projects { limit: 1, cursor: None },
        project_called::ProjectCalled { name: "p".into(), also_forgotten: true },
        task_id::ResolveTask { typed: task[..4].into() },
        any_id::ResolveAny { typed: hold },
        guards::Guards {},
        switched_on::SwitchedOn {},
        last_time::LastTime {},
        fired::Fired {},
        health::Health {},
        read_through::ReadThrough {},
        import_plan::ImportPlan::default(),
        export::Export { with_log: true },
        others_here::OthersHere {},
        in_the_way::InTheWay { files: words(&["src/main.rs"]), fold_case: false },
        may_commit::MayCommit { paths: words(&["src/main.rs"]), fold_case: false },
        may_push::MayPush { commits: vec![made], fold_case: true },
        own_files::OwnFiles { paths: words(&["src/main.rs"]), fold_case: false },
        outlook::Outlook { look: look.clone(), files: words(&["./src/main.rs"]), fold_case: false },
        look,
        beginning::Beginning { request: resume::Resume::default(), ready: 2 },
        session_of::SessionOf {
            tools: vec![("claude".into(), Some("S".into()))],
            here: Process { host: "h".into(), ..Process::default() },
            above: vec![(1, 2)],
        },
        suspects::Suspects { host: "h".into() },
        tokens::Tokens { principal: None, limit: 5, cursor: None },
        token_id::ResolveToken { typed: "k-0".into() },
        members::Members { principal: Some("person:ann".into()), project: None, limit: 5, cursor: None },
        principals::Principals { limit: 5, cursor: None },
    ]
}

/// A streamed export has the same lines as the export in one piece.
fn streamed(kernel: &Kernel, call: &Call) {
    let mut lines = Vec::new();
    let end = kernel.export(call, true, &mut lines).unwrap();
    let whole = kernel.ask(call, &export::Export { with_log: true }).unwrap();
    assert_eq!((String::from_utf8(lines).unwrap(), end), (whole.lines, whole.end));
}

fn same_answers(world: &World) {
    every_op(world, |call, op| world.kernel.run(call, op));
    let task = world.add("lapses");
    world.claim_for("c", &task, 60).unwrap();
    let known = known(world);
    for agent in ["a", "person:ann", "nobody-knows-me"] {
        let call = world.from("main", agent);
        let sent: Call = serde_json::from_str(&json(&call)).unwrap();
        let mut met = BTreeSet::new();
        for (query, typed) in asked_typed(&world.kernel, &call, &known) {
            met.insert(query.name());
            let answer = query.entry().run(&world.kernel, &sent, &query.to_json().unwrap());
            let answer = answer.unwrap_or_else(|error| json(&error));
            assert_eq!(answer, typed, "{agent}: {query:?}");
        }
        let all: BTreeSet<_> = QUERIES.iter().map(|entry| entry.name).collect();
        assert_eq!(met, all, "every query is asked");
        streamed(&world.kernel, &call);
    }
}

fn same_ops(world: &World) {
    let other = World::new(world.engine);
    let ran = every_op(world, |call, op| world.kernel.run(call, op));
    // Repeats the walk with each op in wire form. Both worlds draw the same ids, so the answers are the same bytes.
    let sent = every_op(&other, |call, op| {
        let call: Call = serde_json::from_str(&json(call)).unwrap();
        call.check().unwrap();
        let read = Op::read(op.name(), &op.canonical().unwrap()).unwrap();
        assert_eq!((read.name(), read.canonical().unwrap()), (op.name(), op.canonical().unwrap()));
        other.kernel.run(&call, &read)
    });
    assert_eq!(ran.len(), sent.len());
    for (ran, sent) in ran.iter().zip(&sent) {
        assert_eq!(ran.reply, sent.reply, "{:?}", ran.op);
    }
}
