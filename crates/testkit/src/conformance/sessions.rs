//! Sessions of tools: one session is one agent, and two live processes with one session id are two agents.

use serde_json::{Value, json};
use tenure_core::agent::Process;
use tenure_core::session::{CommandOwner, Start, StoredSession};
use tenure_core::{Result, Span};
use tenure_kernel::op::{session_end, session_start, tool_used};
use tenure_kernel::query;
use tenure_kernel::query::standing::{Depth, HookContext, Standing};
use tenure_kernel::{Actor, Call, Door, Evidence, Kernel, Op};

use super::Case;
use super::shorthand::{claiming, note_in_focus, taken};
use crate::fixture::{World, code_of, kind_of};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_i1_a_session_is_one_agent_across_clear_and_compaction", clear_and_compaction),
    Case::everywhere("inv_i1_one_id_in_two_live_processes_is_two_agents", two_processes),
    Case::everywhere("inv_i1_a_session_goes_on_in_a_new_process", goes_on),
    Case::everywhere("inv_i1_an_id_that_starts_anew_in_the_process_of_another_is_another_agent", starts_anew),
    Case::everywhere("inv_i1_a_wrong_guess_is_refused_and_leaves_nothing", wrong_guess),
    Case::shared("inv_i1_two_processes_of_one_id_at_once_are_two_agents", at_once),
    Case::everywhere("inv_i1_a_command_is_the_agent_that_a_hook_registered_above_it", commands),
    Case::everywhere("inv_i1_a_given_name_is_that_agent_in_every_process", given_names),
    Case::everywhere("inv_l3_what_a_session_held_is_free_when_it_says_goodbye", goodbye),
    Case::everywhere("inv_l3_a_session_that_goes_on_keeps_what_it_holds", goes_on_after_goodbye),
    Case::everywhere("inv_i4_evidence_counts_only_while_the_agent_is_that_process", evidence),
    Case::everywhere("inv_i4_an_agent_that_acts_after_its_process_died_is_not_ended_by_it_again", acts_after_death),
    Case::everywhere("inv_i4_a_process_is_evidence_once_a_second_event_came_out_of_it", second_event),
    Case::everywhere("inv_l5_a_session_start_takes_nothing_and_renews", takes_nothing),
    Case::everywhere("a_hook_never_switches_a_project_on", never_on),
];

pub(super) fn process(pid: i64) -> Process {
    Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid, started: 100 + pid }
}

/// A call of a hook in a process.
pub(super) fn hook(world: &World, agent: &str, pid: i64) -> Call {
    let actor = Actor {
        name: agent.into(),
        tool: "claude".into(),
        process: Some(process(pid)),
        door: Door::Hook,
        principal: None,
    };
    Call { actor, ..world.call(agent) }
}

pub(super) fn starting(session: &str, source: Start) -> Op {
    let (tool, session) = ("claude".into(), session.into());
    Op::new(session_start::SessionStart { tool, session, source, given: false, event: "SessionStart".into() })
}

pub(super) fn ending(session: &str, reason: &str) -> Op {
    let (tool, session) = ("claude".into(), session.into());
    Op::new(session_end::SessionEnd { tool, session, reason: reason.into(), event: "SessionEnd".into() })
}

pub(super) fn presence(session: &str) -> tool_used::ToolUsed {
    tool_used::ToolUsed { tool: "claude".into(), session: session.into(), ..tool_used::ToolUsed::default() }
}

fn look(kernel: &Kernel, call: &Call, session: &str) -> Option<HookContext> {
    kernel.ask(call, &Standing { says: presence(session), given: None, depth: Depth::Who }).unwrap()
}

/// Starts a session as a door does: it queries its identity, with evidence about the named processes, and retries if
/// another was faster.
pub(super) fn start(world: &World, kernel: &Kernel, pid: i64, session: &str, source: Start, dead: &[i64]) -> Value {
    let mut call = hook(world, "nobody", pid);
    loop {
        let standing = look(kernel, &call, session).expect("the project is switched on");
        let is_dead = |seen: &StoredSession| dead.contains(&seen.process.pid);
        let proofs = standing.known.iter().filter(|seen| is_dead(seen));
        call.proven_dead =
            proofs.map(|seen| Evidence { agent: seen.agent.clone(), process: seen.process.clone() }).collect();
        let mine = process(pid);
        let asking = tenure_core::session::UnknownSession { tool: "claude", session, start: source, process: &mine };
        call.actor.name = tenure_core::session::decide(&asking, &standing.known, standing.now, is_dead).agent;
        match kernel.run(&call, &starting(session, source)) {
            Ok(reply) => return serde_json::from_str(&reply.body).unwrap(),
            Err(error) if error.code() == "other_session" => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn agent(started: &Value) -> &str {
    started["agent"].as_str().unwrap()
}

fn clear_and_compaction(world: &World) {
    let task = world.add("held");
    let kernel = &world.kernel;
    assert_eq!(agent(&start(world, kernel, 1, "a", Start::Startup, &[])), "claude-a");
    let call = hook(world, "claude-a", 1);
    world.run_call(&call, &claiming(&task)).unwrap();
    for (session, source) in [("a", Start::Compact), ("b", Start::Clear), ("b", Start::Compact), ("c", Start::Resume)] {
        let ended = world.run_call(&hook(world, "claude-a", 1), &ending("a", "clear")).unwrap();
        assert_eq!(ended["over"], false);
        let started = start(world, kernel, 1, session, source, &[]);
        assert_eq!(started, json!({ "agent": "claude-a", "second_of": null, "focus": task }), "{session} {source:?}");
    }
    assert_eq!(world.show(&task)["holder"]["agent"], "claude-a");
    assert_eq!(world.count("agent.registered"), 2, "the person and the session");
    world.sound();
}

fn two_processes(world: &World) {
    let (first, second) = (world.add("first"), world.add("second"));
    let kernel = &world.kernel;
    start(world, kernel, 1, "a", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&first)).unwrap();
    let started = start(world, kernel, 2, "a", Start::Resume, &[]);
    assert_eq!(started, json!({ "agent": "claude-a.2", "second_of": "claude-a", "focus": "" }));
    world.run_call(&hook(world, "claude-a.2", 2), &claiming(&second)).unwrap();
    assert_eq!(kind_of(world.run_call(&hook(world, "claude-a.2", 2), &claiming(&first))), "conflict");
    // Each keeps its identity, and a third process is a third agent.
    assert_eq!(agent(&start(world, kernel, 2, "a", Start::Compact, &[])), "claude-a.2");
    assert_eq!(agent(&start(world, kernel, 1, "a", Start::Compact, &[])), "claude-a");
    assert_eq!(agent(&start(world, kernel, 3, "a", Start::Resume, &[])), "claude-a.3");
    // The second session ends: the first keeps its holds.
    world.run_call(&hook(world, "claude-a.2", 2), &ending("a", "other")).unwrap();
    assert_eq!(world.show(&first)["holder"]["agent"], "claude-a");
    assert!(world.show(&second)["holder"].is_null());
    assert_eq!(agent(&start(world, kernel, 4, "a", Start::Resume, &[])), "claude-a.2", "nobody is that any more");
    world.sound();
}

fn goes_on(world: &World) {
    let task = world.add("held");
    let kernel = &world.kernel;
    start(world, kernel, 1, "a", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    // Proven dead: the new process is the same agent, with its holds.
    let started = start(world, kernel, 2, "a", Start::Resume, &[1]);
    assert_eq!((agent(&started), &started["focus"]), ("claude-a", &json!(task)));
    assert_eq!(world.show(&task)["holder"]["agent"], "claude-a");
    // Ended: the same agent, without its hold.
    world.run_call(&hook(world, "claude-a", 2), &ending("a", "other")).unwrap();
    assert_eq!(agent(&start(world, kernel, 3, "a", Start::Resume, &[])), "claude-a");
    assert!(world.show(&task)["holder"].is_null());
    // The earlier processes are deleted, so that rows do not accumulate.
    let known = look(kernel, &hook(world, "claude-a", 3), "a").unwrap().known;
    assert_eq!(known.iter().map(|seen| seen.process.pid).collect::<Vec<_>>(), [3]);
    assert_eq!(world.agent("claude-a").unwrap().liveness.as_str(), "alive");
    world.sound();
}

fn starts_anew(world: &World) {
    let task = world.add("held");
    let kernel = &world.kernel;
    start(world, kernel, 1, "A", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    // Beside a live session it takes nothing from it.
    assert_eq!(
        start(world, kernel, 1, "B", Start::Startup, &[]),
        json!({ "agent": "claude-b", "second_of": null, "focus": "" })
    );
    assert_eq!(kind_of(world.run_call(&hook(world, "claude-b", 1), &claiming(&task))), "conflict");
    // Nor after its end: its task is free for all.
    assert_eq!(world.run_call(&hook(world, "claude-a", 1), &ending("A", "other")).unwrap()["freed"], json!([task]));
    assert_eq!(
        start(world, kernel, 1, "C", Start::Startup, &[]),
        json!({ "agent": "claude-c", "second_of": null, "focus": "" })
    );
    let claimed = world.run_call(&hook(world, "claude-c", 1), &claiming(&task)).unwrap();
    assert_eq!((taken(&claimed).as_str(), &claimed["task"]["attempt"]), (task.as_str(), &json!(2)));
    // After /clear, the most recent session continues.
    assert_eq!(agent(&start(world, kernel, 1, "D", Start::Clear, &[])), "claude-c");
    // A resumed session keeps its identity, wherever it ended.
    assert_eq!(agent(&start(world, kernel, 1, "A", Start::Resume, &[])), "claude-a");
    world.sound();
}

fn wrong_guess(world: &World) {
    let task = world.add("held");
    start(world, &world.kernel, 1, "a", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    let before = dump(&world.kernel);
    for wrong in ["claude-a", "b", "claude-a.3"] {
        let refused = world.run_call(&hook(world, wrong, 2), &starting("a", Start::Resume));
        assert_eq!(code_of(refused), "other_session", "{wrong}");
    }
    let changed = differing(&before, &dump(&world.kernel));
    assert_eq!(changed, Vec::<&str>::new(), "not even the process of the agent that it is not");
    world.sound();
}

fn at_once(world: &World) {
    world.add("something");
    let mut agents = world.race(6, |n, kernel| {
        let started = start(world, kernel, 10 + i64::try_from(n).unwrap(), "a", Start::Resume, &[]);
        (agent(&started).to_owned(), started["second_of"].is_null())
    });
    agents.sort();
    let names: Vec<&str> = agents.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["claude-a", "claude-a.2", "claude-a.3", "claude-a.4", "claude-a.5", "claude-a.6"]);
    assert_eq!(agents.iter().filter(|(_, alone)| *alone).count(), 1, "all but one are told");
    world.sound();
}

fn commands(world: &World) {
    world.add("something");
    let kernel = &world.kernel;
    let here = process(0);
    let session_of = |tools: &[(&str, Option<&str>)], above: Vec<(i64, i64)>| {
        let tools = tools.iter().map(|(tool, id)| ((*tool).to_owned(), id.map(str::to_owned))).collect();
        let query = query::session_of::SessionOf { tools, here: here.clone(), above };
        kernel.ask(&world.call("nobody"), &query).unwrap()
    };
    let who = |tools: &[(&str, Option<&str>)], pids: &[i64]| {
        session_of(tools, pids.iter().map(|pid| (*pid, 100 + pid)).collect())
    };
    let is = |name: &str| CommandOwner::Agent(name.into());
    let before = dump(kernel);
    assert_eq!(who(&[("claude", Some("a"))], &[7, 1]), is("claude-a"), "the id alone");
    assert_eq!(who(&[("gemini", None)], &[7, 1]), CommandOwner::Unknown);
    assert_eq!(differing(&before, &dump(kernel)), Vec::<&str>::new());
    start(world, kernel, 1, "a", Start::Startup, &[]);
    start(world, kernel, 2, "a", Start::Resume, &[]);
    assert_eq!(who(&[("claude", Some("a"))], &[7, 1]), is("claude-a"));
    assert_eq!(who(&[("claude", Some("a"))], &[7, 2, 1]), is("claude-a.2"));
    assert_eq!(who(&[("claude", None)], &[7, 2]), is("claude-a.2"));
    // After /clear both ids are the agent of the process.
    start(world, kernel, 2, "b", Start::Clear, &[]);
    for id in [Some("a"), Some("b"), Some("unheard of"), None] {
        assert_eq!(who(&[("claude", id)], &[7, 2]), is("claude-a.2"), "{id:?}");
    }
    // A reused pid proves nothing, nor does a process of another tool.
    let reused = session_of(&[("claude", None)], vec![(2, 999)]);
    assert_eq!(reused, CommandOwner::Unknown);
    assert_eq!(who(&[("gemini", None)], &[7, 2]), CommandOwner::Unknown);
    // Nested tools: the nearest process identifies the inner one.
    let both = [("claude", Some("a")), ("codex", Some("t"))];
    assert_eq!(who(&both, &[7, 1]), is("claude-a"));
    assert_eq!(who(&both, &[7]), CommandOwner::Unknown);
    // Without a registered process, an id with two agents is ambiguous, even after one of them ended.
    assert_eq!(who(&[("claude", Some("a"))], &[7]), CommandOwner::Several);
    world.run_call(&hook(world, "claude-a.2", 2), &ending("a", "other")).unwrap();
    assert_eq!(who(&[("claude", Some("a"))], &[7]), CommandOwner::Several);
    assert_eq!(who(&[("claude", Some("a"))], &[7, 2]), is("claude-a.2"));
}

fn given_names(world: &World) {
    let task = world.add("held");
    let given = |pid: i64| {
        let request = session_start::SessionStart {
            tool: "claude".into(),
            session: format!("S{pid}"),
            source: Start::Startup,
            given: true,
            event: String::new(),
        };
        world.run_call(&hook(world, "builder", pid), &Op::new(request)).unwrap()
    };
    for pid in [1, 2] {
        assert_eq!(given(pid)["agent"], "builder");
        // Only a process with a second event is evidence.
        assert_eq!(
            world.kernel.ask(&world.call("b"), &query::suspects::Suspects { host: "h".into() }).unwrap().len(),
            0
        );
        let again = Op::new(presence(&format!("S{pid}")));
        world.run_call(&hook(world, "builder", pid), &again).unwrap();
    }
    world.run_call(&hook(world, "builder", 1), &claiming(&task)).unwrap();
    // Evidence about one of its processes is not evidence about the agent.
    let proof = |pids: &[i64]| Call {
        proven_dead: pids.iter().map(|pid| Evidence { agent: "builder".into(), process: process(*pid) }).collect(),
        ..world.call("b")
    };
    assert_eq!(world.kernel.ask(&world.call("b"), &query::suspects::Suspects { host: "h".into() }).unwrap().len(), 2);
    assert_eq!(kind_of(world.run_call(&proof(&[1]), &claiming(&task))), "conflict", "it lives in the other");
    assert_eq!(
        world.kernel.ask(&proof(&[1, 2]), &query::next::Next { labels: Vec::new() }).unwrap().task.unwrap().id,
        task
    );
    // One of its processes ends; the other is still that agent.
    assert_eq!(world.run_call(&hook(world, "builder", 1), &ending("S1", "other")).unwrap()["over"], false);
    assert_eq!(world.show(&task)["holder"]["agent"], "builder");
    assert_eq!(world.run_call(&hook(world, "builder", 2), &ending("S2", "other")).unwrap()["freed"], json!([task]));
    assert!(world.show(&task)["holder"].is_null());
}

fn goodbye(world: &World) {
    let (task, other) = (world.add("held"), world.add("held too"));
    let assigned = world.add("reserved");
    let kernel = &world.kernel;
    start(world, kernel, 1, "a", Start::Startup, &[]);
    for task in [&other, &task] {
        world.run_call(&hook(world, "claude-a", 1), &claiming(task)).unwrap();
    }
    world.edit("person:ann", &assigned, |request| request.assignee = Some("claude-a".into())).unwrap();
    world.advance(Span::seconds(30));
    let before = world.last_event();
    let call = hook(world, "claude-a", 1);
    let ended = world.run_call(&call, &ending("a", "prompt_input_exit")).unwrap();
    assert_eq!(ended["over"], true);
    assert_eq!(ended["freed"].as_array().unwrap().len(), 2);
    assert_eq!(world.kinds_after(before), ["hold.expired", "hold.expired", "task.unassigned"]);
    let expired = world.events().into_iter().find(|event| event.kind == "hold.expired").unwrap();
    assert_eq!((&expired.data["session_ended"], &expired.data["proven_dead"]), (&json!(true), &json!(false)));
    assert_eq!(expired.data["ended_at"], expired.at);
    assert!(expired.sentence().ends_with("its session is over"), "{}", expired.sentence());
    assert_eq!(world.agent("claude-a").unwrap().liveness.as_str(), "gone");
    // Other agents continue at once, and the late one is stale.
    let claimed = world.claim("b", &task).unwrap();
    assert_eq!((taken(&claimed).as_str(), &claimed["task"]["attempt"]), (task.as_str(), &json!(2)));
    assert_eq!(kind_of(world.done("claude-a", &task)), "stale");
    // No agent took the other task: finished late, it is accepted.
    assert_eq!(world.done("claude-a", &other).unwrap()["late"], true);
    assert_eq!(world.agent("claude-a").unwrap().liveness.as_str(), "alive", "it did something");
    world.sound();
}

fn goes_on_after_goodbye(world: &World) {
    let task = world.add("held");
    start(world, &world.kernel, 1, "a", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    for reason in ["clear", "resume"] {
        let ended = world.run_call(&hook(world, "claude-a", 1), &ending("a", reason)).unwrap();
        assert_eq!(ended, json!({ "agent": "claude-a", "over": false, "freed": [], "lessons": 0 }), "{reason}");
        assert_eq!(world.show(&task)["holder"]["agent"], "claude-a");
    }
    // After /clear and exit: earlier ids of the process do not keep the agent alive.
    start(world, &world.kernel, 1, "b", Start::Clear, &[]);
    let ended = world.run_call(&hook(world, "claude-a", 1), &ending("b", "other")).unwrap();
    assert_eq!(ended["freed"], json!([task]));
}

fn evidence(world: &World) {
    let task = world.add("held");
    start(world, &world.kernel, 1, "a", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    let proof = |pid: i64| vec![Evidence { agent: "claude-a".into(), process: process(pid) }];
    let knowing = |pid: i64| Call { proven_dead: proof(pid), ..world.call("b") };
    assert_eq!(kind_of(world.run_call(&knowing(9), &claiming(&task))), "conflict", "about another process");
    // The door checked the first process; before its op ran, the session continued in a second.
    let late = knowing(1);
    start(world, &world.kernel, 2, "a", Start::Resume, &[1]);
    assert_eq!(kind_of(world.run_call(&late, &claiming(&task))), "conflict", "it came back");
    assert!(world.kernel.ask(&late, &query::next::Next { labels: Vec::new() }).unwrap().task.is_none());
    assert_eq!(
        world.kernel.ask(&knowing(2), &query::next::Next { labels: Vec::new() }).unwrap().task.unwrap().id,
        task
    );
    assert_eq!(taken(&world.run_call(&knowing(2), &claiming(&task)).unwrap()), task);
    world.sound();
}

fn acts_after_death(world: &World) {
    let task = world.add("held");
    let given = |agent: &str, pid: i64, dead: &[i64]| {
        let (tool, session) = ("claude".into(), format!("S{pid}"));
        let (source, event) = (Start::Startup, "SessionStart".into());
        let request = session_start::SessionStart { tool, session, source, given: true, event };
        let proven_dead = dead.iter().map(|pid| Evidence { agent: "builder".into(), process: process(*pid) }).collect();
        world.run_call(&Call { proven_dead, ..hook(world, agent, pid) }, &Op::new(request)).unwrap();
    };
    given("builder", 1, &[]);
    world.run_call(&hook(world, "builder", 1), &claiming(&task)).unwrap();
    given("other", 2, &[1]);
    assert!(world.show(&task)["holder"].is_null(), "the process is dead");
    // It takes the task again by a door that does not know its process, such as a command in a plain shell.
    world.claim("builder", &task).unwrap();
    given("other", 3, &[1]);
    assert_eq!(world.show(&task)["holder"]["agent"], "builder");
    // The same where nobody has noticed the death before its own claim.
    given("builder", 4, &[]);
    let proof = vec![Evidence { agent: "builder".into(), process: process(4) }];
    world.run_call(&Call { proven_dead: proof, ..world.call("builder") }, &claiming(&task)).unwrap();
    given("other", 5, &[4]);
    assert_eq!(world.show(&task)["holder"]["agent"], "builder");
    world.sound();
}

fn takes_nothing(world: &World) {
    let task = world.add("ready");
    let held = world.add("held");
    start(world, &world.kernel, 1, "a", Start::Startup, &[]);
    assert!(world.show(&task)["holder"].is_null());
    world.run_call(&hook(world, "claude-a", 1), &claiming(&held)).unwrap();
    // A session that reports presence every half hour keeps its holds, for five times their time to live.
    for _ in 0..10 {
        world.advance(Span::minutes(30));
        world.run_call(&hook(world, "claude-a", 1), &Op::new(presence("a"))).unwrap();
    }
    assert_eq!(world.show(&held)["holder"]["agent"], "claude-a");
    assert_eq!(world.count("hold.expired"), 0);
    world.advance(Span::minutes(50));
    start(world, &world.kernel, 1, "a", Start::Compact, &[]);
    world.advance(Span::minutes(50));
    world.run_call(&hook(world, "claude-a", 1), &note_in_focus("still here")).unwrap();
}

fn never_on(world: &World) {
    let call = hook(world, "claude-a", 1);
    assert!(look(&world.kernel, &call, "a").is_none());
    for op in [starting("a", Start::Startup), ending("a", "other"), Op::new(presence("a"))] {
        let refused: Result<Value> = world.run_call(&call, &op);
        assert_eq!(code_of(refused), "not_switched_on");
    }
    assert_eq!(world.last_event(), 0);
    assert!(!world.kernel.ask(&call, &query::switched_on::SwitchedOn {}).unwrap());
    assert_eq!(world.kernel.ask(&call, &query::fired::Fired {}).unwrap(), []);
}

fn second_event(world: &World) {
    let kernel = &world.kernel;
    let suspects = || kernel.ask(&world.call("b"), &query::suspects::Suspects { host: "h".into() }).unwrap().len();
    let task = world.add("held");
    start(world, kernel, 1, "a", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    assert_eq!(suspects(), 0, "it may be what started the hook");
    let first = tool_used::ToolUsed { first: true, ..presence("a") };
    world.run_call(&hook(world, "claude-a", 1), &Op::new(first)).unwrap();
    assert_eq!(suspects(), 0, "the same event");
    let standing = look(kernel, &hook(world, "nobody", 1), "a").unwrap();
    assert!(!standing.mine.unwrap().settled, "so the second is written");
    world.run_call(&hook(world, "claude-a", 1), &Op::new(presence("a"))).unwrap();
    assert_eq!(suspects(), 1);
    // Another id in the same process counts as a second event; another process starts anew.
    start(world, kernel, 1, "b", Start::Clear, &[]);
    assert_eq!(suspects(), 1);
    start(world, kernel, 2, "a", Start::Resume, &[1]);
    assert_eq!(suspects(), 0);
    start(world, kernel, 2, "a", Start::Compact, &[]);
    assert_eq!(suspects(), 1);
    world.sound();
}
