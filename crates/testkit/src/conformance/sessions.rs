//! Sessions of tools: one session is one agent, two live processes of one id are two.

use serde_json::{Value, json};
use tenure_core::agent::Process;
use tenure_core::session::{Seen, Start};
use tenure_core::{Result, Span};
use tenure_kernel::op::{session_end, session_start, tool_used};
use tenure_kernel::query::session::{Depth, Look, Standing};
use tenure_kernel::{Actor, Call, Door, Evidence, Kernel, Op};

use super::Case;
use super::shorthand::{claiming, note_in_focus, taken};
use crate::fixture::{World, code_of, kind_of};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_i1_a_session_is_one_agent_across_clear_and_compaction", clear_and_compaction),
    Case::everywhere("inv_i1_one_id_in_two_live_processes_is_two_agents", two_processes),
    Case::everywhere("inv_i1_a_session_goes_on_in_a_new_process", goes_on),
    Case::everywhere("inv_i1_a_wrong_guess_is_refused_and_leaves_nothing", wrong_guess),
    Case::shared("inv_i1_two_processes_of_one_id_at_once_are_two_agents", at_once),
    Case::everywhere("inv_i1_a_command_is_the_agent_that_a_hook_registered_above_it", commands),
    Case::everywhere("inv_i1_a_given_name_is_that_agent_in_every_process", given_names),
    Case::everywhere("inv_l3_what_a_session_held_is_free_when_it_says_goodbye", goodbye),
    Case::everywhere("inv_l3_a_session_that_goes_on_keeps_what_it_holds", goes_on_after_goodbye),
    Case::everywhere("inv_i4_evidence_counts_only_while_the_agent_is_that_process", evidence),
    Case::everywhere("inv_l5_a_session_start_takes_nothing_and_renews", takes_nothing),
    Case::everywhere("a_hook_never_switches_a_project_on", never_on),
];

pub(super) fn process(pid: i64) -> Process {
    Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid, started: 100 + pid }
}

/// A call of a hook in a process.
pub(super) fn hook(world: &World, agent: &str, pid: i64) -> Call {
    let actor = Actor { name: agent.into(), tool: "claude".into(), process: Some(process(pid)), door: Door::Hook };
    Call { actor, ..world.call(agent) }
}

pub(super) fn starting(session: &str, source: Start) -> Op {
    let (tool, session) = ("claude".into(), session.into());
    Op::SessionStart(session_start::Request { tool, session, source, given: false, event: "SessionStart".into() })
}

pub(super) fn ending(session: &str, reason: &str) -> Op {
    let (tool, session) = ("claude".into(), session.into());
    Op::SessionEnd(session_end::Request { tool, session, reason: reason.into(), event: "SessionEnd".into() })
}

pub(super) fn presence(session: &str) -> tool_used::Request {
    tool_used::Request { tool: "claude".into(), session: session.into(), ..tool_used::Request::default() }
}

fn look(kernel: &Kernel, call: &Call, session: &str) -> Option<Standing> {
    kernel.standing(call, &Look { says: &presence(session), given: None, depth: Depth::Who }).unwrap()
}

/// Starts a session as a door does: it asks who it is, with proof about the processes it names, and asks again if
/// another was quicker.
pub(super) fn start(world: &World, kernel: &Kernel, pid: i64, session: &str, source: Start, dead: &[i64]) -> Value {
    let mut call = hook(world, "nobody", pid);
    loop {
        let standing = look(kernel, &call, session).expect("the project is switched on");
        let is_dead = |seen: &Seen| dead.contains(&seen.process.pid);
        let proofs = standing.known.iter().filter(|seen| is_dead(seen));
        call.proven_dead =
            proofs.map(|seen| Evidence { agent: seen.agent.clone(), process: seen.process.clone() }).collect();
        let mine = process(pid);
        let asking = tenure_core::session::Asking { tool: "claude", session, start: source, process: &mine };
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
    assert_eq!(agent(&start(world, kernel, 1, "A", Start::Startup, &[])), "claude-a");
    let call = hook(world, "claude-a", 1);
    world.run_call(&call, &claiming(&task)).unwrap();
    for (session, source) in [("A", Start::Compact), ("B", Start::Clear), ("B", Start::Compact), ("C", Start::Resume)] {
        let ended = world.run_call(&hook(world, "claude-a", 1), &ending("A", "clear")).unwrap();
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
    start(world, kernel, 1, "A", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&first)).unwrap();
    let started = start(world, kernel, 2, "A", Start::Resume, &[]);
    assert_eq!(started, json!({ "agent": "claude-a.2", "second_of": "claude-a", "focus": "" }));
    world.run_call(&hook(world, "claude-a.2", 2), &claiming(&second)).unwrap();
    assert_eq!(kind_of(world.run_call(&hook(world, "claude-a.2", 2), &claiming(&first))), "conflict");
    // Each stays itself, and a third is a third.
    assert_eq!(agent(&start(world, kernel, 2, "A", Start::Compact, &[])), "claude-a.2");
    assert_eq!(agent(&start(world, kernel, 1, "A", Start::Compact, &[])), "claude-a");
    assert_eq!(agent(&start(world, kernel, 3, "A", Start::Resume, &[])), "claude-a.3");
    // The second says good-bye: the first keeps what it has.
    world.run_call(&hook(world, "claude-a.2", 2), &ending("A", "other")).unwrap();
    assert_eq!(world.show(&first)["holder"]["agent"], "claude-a");
    assert!(world.show(&second)["holder"].is_null());
    assert_eq!(agent(&start(world, kernel, 4, "A", Start::Resume, &[])), "claude-a.2", "nobody is that any more");
    world.sound();
}

fn goes_on(world: &World) {
    let task = world.add("held");
    let kernel = &world.kernel;
    start(world, kernel, 1, "A", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    // Proven dead: the same agent, with what it holds.
    let started = start(world, kernel, 2, "A", Start::Resume, &[1]);
    assert_eq!((agent(&started), &started["focus"]), ("claude-a", &json!(task)));
    assert_eq!(world.show(&task)["holder"]["agent"], "claude-a");
    // Ended: the same agent, its hold gone.
    world.run_call(&hook(world, "claude-a", 2), &ending("A", "other")).unwrap();
    assert_eq!(agent(&start(world, kernel, 3, "A", Start::Resume, &[])), "claude-a");
    assert!(world.show(&task)["holder"].is_null());
    // What it was before is forgotten, so that rows do not pile up.
    let known = look(kernel, &hook(world, "claude-a", 3), "A").unwrap().known;
    assert_eq!(known.iter().map(|seen| seen.process.pid).collect::<Vec<_>>(), [3]);
    assert_eq!(world.agent("claude-a").unwrap().liveness.as_str(), "alive");
    world.sound();
}

fn wrong_guess(world: &World) {
    let task = world.add("held");
    start(world, &world.kernel, 1, "A", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    let before = dump(&world.kernel);
    for wrong in ["claude-a", "b", "claude-a.3"] {
        let refused = world.run_call(&hook(world, wrong, 2), &starting("A", Start::Resume));
        assert_eq!(code_of(refused), "other_session", "{wrong}");
    }
    let changed = differing(&before, &dump(&world.kernel));
    assert_eq!(changed, Vec::<&str>::new(), "not even the process of the agent that it is not");
    world.sound();
}

fn at_once(world: &World) {
    world.add("something");
    let mut agents = world.race(6, |n, kernel| {
        let started = start(world, kernel, 10 + i64::try_from(n).unwrap(), "A", Start::Resume, &[]);
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
    let who = |tools: &[(&str, Option<&str>)], pids: &[i64]| {
        let above: Vec<(i64, i64)> = pids.iter().map(|pid| (*pid, 100 + pid)).collect();
        kernel.session_of(&world.call("nobody"), tools, &here, &above).unwrap()
    };
    let is = |name: &str| Some(name.to_owned());
    let before = dump(kernel);
    assert_eq!(who(&[("claude", Some("A"))], &[7, 1]), is("claude-a"), "the id alone");
    assert_eq!(who(&[("gemini", None)], &[7, 1]), None);
    assert_eq!(differing(&before, &dump(kernel)), Vec::<&str>::new());
    start(world, kernel, 1, "A", Start::Startup, &[]);
    start(world, kernel, 2, "A", Start::Resume, &[]);
    assert_eq!(who(&[("claude", Some("A"))], &[7, 1]), is("claude-a"));
    assert_eq!(who(&[("claude", Some("A"))], &[7, 2, 1]), is("claude-a.2"));
    assert_eq!(who(&[("claude", None)], &[7, 2]), is("claude-a.2"));
    // After /clear both ids are the agent of the process.
    start(world, kernel, 2, "B", Start::Clear, &[]);
    for id in [Some("A"), Some("B"), Some("unheard of"), None] {
        assert_eq!(who(&[("claude", id)], &[7, 2]), is("claude-a.2"), "{id:?}");
    }
    // A pid that is another process by now proves nothing, nor does a process of another tool.
    let reused = kernel.session_of(&world.call("nobody"), &[("claude", None)], &here, &[(2, 999)]).unwrap();
    assert_eq!(reused, None);
    assert_eq!(who(&[("gemini", None)], &[7, 2]), None);
    // Two tools, one inside the other: the nearest process tells which is the inner one.
    let both = [("claude", Some("A")), ("codex", Some("T"))];
    assert_eq!(who(&both, &[7, 1]), is("claude-a"));
    assert_eq!(who(&both, &[7]), None);
}

fn given_names(world: &World) {
    let task = world.add("held");
    let given = |pid: i64| {
        let request = session_start::Request {
            tool: "claude".into(),
            session: format!("S{pid}"),
            source: Start::Startup,
            given: true,
            event: String::new(),
        };
        world.run_call(&hook(world, "builder", pid), &Op::SessionStart(request)).unwrap()
    };
    for pid in [1, 2] {
        assert_eq!(given(pid)["agent"], "builder");
    }
    world.run_call(&hook(world, "builder", 1), &claiming(&task)).unwrap();
    // Proof about one of its processes is no proof about the agent.
    let proof = |pids: &[i64]| Call {
        proven_dead: pids.iter().map(|pid| Evidence { agent: "builder".into(), process: process(*pid) }).collect(),
        ..world.call("b")
    };
    assert_eq!(world.kernel.suspects(&world.call("b"), "h").unwrap().len(), 2);
    assert_eq!(kind_of(world.run_call(&proof(&[1]), &claiming(&task))), "conflict", "it lives in the other");
    assert_eq!(world.kernel.next(&proof(&[1, 2]), &[]).unwrap().task.unwrap().id, task);
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
    start(world, kernel, 1, "A", Start::Startup, &[]);
    for task in [&other, &task] {
        world.run_call(&hook(world, "claude-a", 1), &claiming(task)).unwrap();
    }
    world.edit("person:ann", &assigned, |request| request.assignee = Some("claude-a".into())).unwrap();
    world.advance(Span::seconds(30));
    let before = world.last_event();
    let call = hook(world, "claude-a", 1);
    let ended = world.run_call(&call, &ending("A", "prompt_input_exit")).unwrap();
    assert_eq!(ended["over"], true);
    assert_eq!(ended["freed"].as_array().unwrap().len(), 2);
    assert_eq!(world.kinds_after(before), ["hold.expired", "hold.expired", "task.unassigned"]);
    let expired = world.events().into_iter().find(|event| event.kind == "hold.expired").unwrap();
    assert_eq!((&expired.data["session_ended"], &expired.data["proven_dead"]), (&json!(true), &json!(false)));
    assert_eq!(expired.data["ended_at"], expired.at);
    assert!(expired.sentence().ends_with("its session is over"), "{}", expired.sentence());
    assert_eq!(world.agent("claude-a").unwrap().liveness.as_str(), "gone");
    // Others go on at once, and the one that comes back late is stale.
    let claimed = world.claim("b", &task).unwrap();
    assert_eq!((taken(&claimed).as_str(), &claimed["task"]["attempt"]), (task.as_str(), &json!(2)));
    assert_eq!(kind_of(world.done("claude-a", &task)), "stale");
    // Nobody took the other one: finished late, it is accepted.
    assert_eq!(world.done("claude-a", &other).unwrap()["late"], true);
    assert_eq!(world.agent("claude-a").unwrap().liveness.as_str(), "alive", "it did something");
    world.sound();
}

fn goes_on_after_goodbye(world: &World) {
    let task = world.add("held");
    start(world, &world.kernel, 1, "A", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    for reason in ["clear", "resume"] {
        let ended = world.run_call(&hook(world, "claude-a", 1), &ending("A", reason)).unwrap();
        assert_eq!(ended, json!({ "agent": "claude-a", "over": false, "freed": [], "lessons": 0 }), "{reason}");
        assert_eq!(world.show(&task)["holder"]["agent"], "claude-a");
    }
    // Cleared, then closed: earlier ids of the process do not keep it alive.
    start(world, &world.kernel, 1, "B", Start::Clear, &[]);
    let ended = world.run_call(&hook(world, "claude-a", 1), &ending("B", "other")).unwrap();
    assert_eq!(ended["freed"], json!([task]));
}

fn evidence(world: &World) {
    let task = world.add("held");
    start(world, &world.kernel, 1, "A", Start::Startup, &[]);
    world.run_call(&hook(world, "claude-a", 1), &claiming(&task)).unwrap();
    let proof = |pid: i64| vec![Evidence { agent: "claude-a".into(), process: process(pid) }];
    let knowing = |pid: i64| Call { proven_dead: proof(pid), ..world.call("b") };
    assert_eq!(kind_of(world.run_call(&knowing(9), &claiming(&task))), "conflict", "about another process");
    // The door looked at the first process; before its op came the session went on in a second.
    let late = knowing(1);
    start(world, &world.kernel, 2, "A", Start::Resume, &[1]);
    assert_eq!(kind_of(world.run_call(&late, &claiming(&task))), "conflict", "it came back");
    assert!(world.kernel.next(&late, &[]).unwrap().task.is_none());
    assert_eq!(world.kernel.next(&knowing(2), &[]).unwrap().task.unwrap().id, task);
    assert_eq!(taken(&world.run_call(&knowing(2), &claiming(&task)).unwrap()), task);
    world.sound();
}

fn takes_nothing(world: &World) {
    let task = world.add("ready");
    let held = world.add("held");
    start(world, &world.kernel, 1, "A", Start::Startup, &[]);
    assert!(world.show(&task)["holder"].is_null());
    world.run_call(&hook(world, "claude-a", 1), &claiming(&held)).unwrap();
    // A session that says every half hour that it is there keeps what it has, five lives long.
    for _ in 0..10 {
        world.advance(Span::minutes(30));
        world.run_call(&hook(world, "claude-a", 1), &Op::ToolUsed(presence("A"))).unwrap();
    }
    assert_eq!(world.show(&held)["holder"]["agent"], "claude-a");
    assert_eq!(world.count("hold.expired"), 0);
    world.advance(Span::minutes(50));
    start(world, &world.kernel, 1, "A", Start::Compact, &[]);
    world.advance(Span::minutes(50));
    world.run_call(&hook(world, "claude-a", 1), &note_in_focus("still here")).unwrap();
}

fn never_on(world: &World) {
    let call = hook(world, "claude-a", 1);
    assert!(look(&world.kernel, &call, "A").is_none());
    for op in [starting("A", Start::Startup), ending("A", "other"), Op::ToolUsed(presence("A"))] {
        let refused: Result<Value> = world.run_call(&call, &op);
        assert_eq!(code_of(refused), "not_switched_on");
    }
    assert_eq!(world.last_event(), 0);
    assert!(!world.kernel.switched_on(&call).unwrap());
    assert_eq!(world.kernel.fired(&call).unwrap(), []);
}
