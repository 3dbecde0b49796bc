//! Ops and queries as another process sends them: by name and as JSON.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_core::agent::Process;
use tenure_core::{Result, Span};
use tenure_kernel::op::{reserve, resume, tool_used};
use tenure_kernel::query::access::Of;
use tenure_kernel::query::question::ALL;
use tenure_kernel::query::session::{Depth, Look};
use tenure_kernel::query::{asked, check, commit, holds, list, log, memory};
use tenure_kernel::{Call, Kernel, Op, Query};

use super::Case;
use super::shorthand::words;
use super::walk::every_op;
use crate::fixture::World;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("a_query_that_was_sent_has_the_answer_of_the_typed_one", same_answers),
    Case::everywhere("an_op_that_was_sent_does_what_the_typed_one_does", same_ops),
];

/// The JSON of a typed answer, or its refusal with all its parts. A client that reads it has the same answer.
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

/// What is there to ask about.
struct Known {
    task: String,
    hold: String,
    place: String,
}

fn known(world: &World) -> Known {
    let kernel = &world.kernel;
    let call = world.call("person:ann");
    let tasks = holds::Filter { kind: Some("task".into()), ..holds::Filter::default() };
    let held = kernel.holds_where(&call, &tasks, 1, None).unwrap().items.remove(0);
    let paths = words(&["lib/"]);
    let request = reserve::Reserve { paths, all_checkouts: true, ..reserve::Reserve::default() };
    world.run("person:ann", Op::new(request.clone())).unwrap();
    let waits = world.run("b", Op::new(reserve::Reserve { wait: true, ..request })).unwrap();
    Known { task: held.subject, hold: held.id.into(), place: waits["id"].as_str().unwrap().to_owned() }
}

/// Every query, with the answer of the typed call.
fn asked_typed(kernel: &Kernel, call: &Call, known: &Known) -> Vec<(Query, String)> {
    let (task, hold) = (known.task.as_str(), known.hold.as_str());
    let id = |id: &str| asked::Id { id: id.to_owned() };
    let typed = |typed: &str| asked::Typed { typed: typed.to_owned() };
    let named = |name: &str| asked::Named { name: name.to_owned() };
    let nothing = asked::Nothing {};
    let paths = check::Question { paths: words(&["src/"]), ..check::Question::default() };
    let one_path = check::Question { paths: words(&["src/main.rs"]), ..check::Question::default() };
    let files = commit::Question { paths: words(&["src/main.rs"]), fold_case: false };
    let filter = list::Filter { all: true, limit: 3, ..list::Filter::default() };
    let events = log::Filter { since: Some(log::Since::Number(3)), limit: 5, ..log::Filter::default() };
    let bad_events = log::Filter { kind: Some("no.such".into()), limit: 5, ..log::Filter::default() };
    let memories = memory::Filter { limit: 5, ..memory::Filter::default() };
    let of_ann = holds::Filter { holder: Some("person:ann".into()), ..holds::Filter::default() };
    let request = resume::Resume::default();
    let made = commit::Made { id: "c0ffee22".into(), at: tenure_core::Time(1), paths: words(&["src/main.rs"]) };
    let says = tool_used::ToolUsed { tool: "claude".into(), session: "S".into(), ..tool_used::ToolUsed::default() };
    let look = Look { says: &says, given: Some("claude-s"), depth: Depth::Loss };
    let here = Process { host: "h".into(), ..Process::default() };
    let turn = kernel.turn(call, &known.place, None).unwrap();
    let within = Some(Span::hours(1));
    vec![
        (Query::List(filter.clone()), told(kernel.list(call, &filter))),
        (Query::LookUp(typed(task)), told(kernel.look_up(call, task))),
        (Query::LookUp(typed(hold)), told(kernel.look_up(call, hold))),
        (Query::LookUp(typed("zzzzzz")), told(kernel.look_up(call, "zzzzzz"))),
        (Query::Show(id(task)), told(kernel.show(call, task))),
        (Query::ShowHold(id(hold)), told(kernel.show_hold(call, hold))),
        (Query::Graph(id(task)), told(kernel.graph(call, task))),
        (Query::Status(nothing.clone()), told(kernel.status(call))),
        (Query::Why(id(task)), told(kernel.why(call, task))),
        (Query::WhyLock(named("deploy")), told(kernel.why_lock(call, "deploy"))),
        (Query::WhyPath(one_path.clone()), told(kernel.why_path(call, &one_path))),
        (
            Query::Holds(asked::Holds { filter: of_ann.clone(), limit: 5, cursor: None }),
            told(kernel.holds_where(call, &of_ann, 5, None)),
        ),
        (Query::LockOf(named("deploy")), told(kernel.lock_of(call, "deploy"))),
        (Query::Check(paths.clone()), told(kernel.check(call, &paths))),
        (
            Query::Turn(asked::AtPlace { place: known.place.clone(), before: Some(turn.clone()) }),
            told(kernel.turn(call, &known.place, Some(&turn))),
        ),
        (Query::Log(events.clone()), told(kernel.log(call, &events))),
        (Query::Log(bad_events.clone()), told(kernel.log(call, &bad_events))),
        (Query::Mail(asked::Mail { limit: Some(3) }), told(kernel.mail(call, Some(3)))),
        (Query::Unread(asked::Unread { limit: 3 }), told(kernel.unread(call, 3))),
        (Query::MessageId(typed("m-")), told(kernel.message_id(call, "m-"))),
        (
            Query::Recall(asked::Recall { question: "a fact".into(), filter: memories.clone() }),
            told(kernel.recall(call, "a fact", &memories)),
        ),
        (Query::Memories(memories.clone()), told(kernel.memories(call, &memories))),
        (Query::MemoryId(typed("m-")), told(kernel.memory_id(call, "m-"))),
        (Query::Memory(id("m-00000")), told(kernel.memory(call, "m-00000"))),
        (Query::Next(asked::Next { labels: words(&["x"]) }), told(kernel.next(call, &words(&["x"])))),
        (Query::Peek(request.clone()), told(kernel.peek(call, &request))),
        (
            Query::Agents(asked::Agents { within_us: within, limit: 2, cursor: None }),
            told(kernel.agents(call, within, 2, None)),
        ),
        (Query::Projects(asked::Paged { limit: 1, cursor: None }), told(kernel.projects(call, 1, None))),
        (
            Query::ProjectCalled(asked::Called { name: "p".into(), also_forgotten: true }),
            told(kernel.project_called(call, "p", true)),
        ),
        (Query::TaskId(typed(&task[..4])), told(kernel.task_id(call, &task[..4]))),
        (Query::AnyId(typed(hold)), told(kernel.any_id(call, hold))),
        (Query::Guards(nothing.clone()), told(kernel.guards(call))),
        (Query::SwitchedOn(nothing.clone()), told(kernel.switched_on(call))),
        (Query::LastTime(nothing.clone()), told(kernel.last_time(call))),
        (Query::Fired(nothing.clone()), told(kernel.fired(call))),
        (Query::Health(nothing.clone()), told(kernel.health(call))),
        (Query::ReadThrough(nothing.clone()), told(kernel.read_through(call))),
        (Query::ImportPlan(Default::default()), told(kernel.import_plan(call, &Default::default()))),
        (Query::Export(asked::Export { with_log: true }), exported(kernel, call)),
        (Query::OthersHere(nothing), told(kernel.others_here(call))),
        (
            Query::InTheWay(asked::Files { files: words(&["src/main.rs"]), fold_case: false }),
            told(kernel.in_the_way(call, &words(&["src/main.rs"]), false)),
        ),
        (Query::MayCommit(files.clone()), told(kernel.may_commit(call, &files))),
        (
            Query::MayPush(asked::Commits { commits: vec![made.clone()], fold_case: true }),
            told(kernel.may_push(call, &[made], true)),
        ),
        (Query::OwnFiles(files.clone()), told(kernel.own_files(call, &files))),
        (
            Query::Outlook(asked::Outlook {
                look: asked::Standing::of(&look),
                files: words(&["./src/main.rs"]),
                fold_case: false,
            }),
            told(kernel.outlook(call, &look, &words(&["./src/main.rs"]), false)),
        ),
        (Query::Standing(asked::Standing::of(&look)), told(kernel.standing(call, &look))),
        (
            Query::Beginning(asked::Beginning { request: request.clone(), ready: 2 }),
            told(kernel.beginning(call, &request, 2)),
        ),
        (
            Query::SessionOf(asked::SessionOf {
                tools: vec![("claude".into(), Some("S".into()))],
                here: here.clone(),
                above: vec![(1, 2)],
            }),
            told(kernel.session_of(call, &[("claude", Some("S"))], &here, &[(1, 2)])),
        ),
        (Query::Suspects(asked::Host { host: "h".into() }), told(kernel.suspects(call, "h"))),
        (
            Query::Tokens(asked::Tokens { principal: None, limit: 5, cursor: None }),
            told(kernel.tokens(call, None, 5, None)),
        ),
        (Query::TokenId(asked::Typed { typed: "k-0".into() }), told(kernel.token_id(call, "k-0"))),
        (
            Query::Members(asked::Members {
                principal: Some("person:ann".into()),
                project: None,
                limit: 5,
                cursor: None,
            }),
            told(kernel.members(call, Of::Principal("person:ann"), 5, None)),
        ),
        (Query::Principals(asked::Paged { limit: 5, cursor: None }), told(kernel.principals(call, 5, None))),
    ]
}

fn exported(kernel: &Kernel, call: &Call) -> String {
    let mut lines = Vec::new();
    let end = kernel.export(call, true, &mut lines).unwrap();
    json(&tenure_kernel::query::answer::Exported { lines: String::from_utf8(lines).unwrap(), end })
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
            let read = Query::read(query.name(), &query.to_json().unwrap()).unwrap();
            let answer = world.kernel.answer(&sent, &read);
            let answer = answer.unwrap_or_else(|error| json(&error));
            assert_eq!(answer, typed, "{agent}: {query:?}");
        }
        let all: BTreeSet<_> = ALL.iter().map(|about| about.name).collect();
        assert_eq!(met, all, "every query is asked");
    }
}

fn same_ops(world: &World) {
    let other = World::new(world.engine);
    let ran = every_op(world, |call, op| world.kernel.run(call, op));
    // The same walk, each op as it was sent: the two worlds draw the same ids, so the answers are the same bytes.
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
