//! Sessions through a server: a session id is not a proof, so sessions of another principal appear not to exist.

use serde_json::Value;
use tenure_core::Result;
use tenure_core::access::{Grants, Role};
use tenure_core::agent::Process;
use tenure_core::session::{CommandOwner, Context, Start};
use tenure_kernel::op::{session_start, tool_used};
use tenure_kernel::query;
use tenure_kernel::query::standing::{Depth, HookContext, Mine, Standing};
use tenure_kernel::{Actor, Call, Door, Op, RequestId};
use tenure_store::table::project;

use super::Case;
use super::access::{ANN, adding, call, member, run, token, worker};
use super::sessions::{ending, presence};
use super::shorthand::claiming;
use crate::fixture::{World, code_of, refusal};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_s2_a_session_of_another_principal_is_as_if_it_did_not_exist", others),
    Case::everywhere("inv_s2_nobody_ends_or_takes_the_session_of_another_principal", takes_nothing),
    Case::everywhere("inv_s2_whoever_says_it_is_the_process_of_another_principal_changes_nothing_of_it", forged),
    Case::everywhere("inv_i1_a_session_from_afar_is_one_agent_from_start_to_end", one_agent),
    Case::everywhere("inv_s2_principals_without_a_role_here_are_told_from_free_names_by_nothing", names),
];

const BOB: &str = "person:bob";

/// A call of a hook through a server.
fn hook(world: &World, agent: &str, grants: &Grants) -> Call {
    let far = call(world, agent, grants);
    Call { actor: Actor { tool: "claude".into(), door: Door::Hook, ..far.actor }, ..far }
}

fn look(world: &World, grants: &Grants, session: &str, depth: Depth) -> HookContext {
    let look = Standing { says: presence(session), given: None, depth };
    world.kernel.ask(&hook(world, &grants.principal, grants), &look).unwrap().expect("switched on")
}

fn mine(world: &World, grants: &Grants, session: &str) -> Option<Mine> {
    look(world, grants, session, Depth::News).mine
}

fn starting(session: &str, given: bool) -> Op {
    let (tool, session) = ("claude".into(), session.into());
    Op::new(session_start::SessionStart { tool, session, source: Start::Startup, given, event: String::new() })
}

/// Starts a session as a door does, and returns its agent.
fn start(world: &World, grants: &Grants, session: &str) -> String {
    let agent = look(world, grants, session, Depth::Who).agent.expect("through a server it is told");
    let started = run(world, &hook(world, &agent, grants), starting(session, false)).unwrap();
    assert_eq!(started["agent"], agent.as_str());
    agent.into()
}

fn whose(world: &World, grants: &Grants, session: &str) -> CommandOwner {
    let (call, here) = (hook(world, &grants.principal, grants), Process::default());
    world
        .kernel
        .ask(
            &call,
            &query::session_of::SessionOf {
                tools: vec![("claude".into(), Some(session.into()))],
                here: here.clone(),
                above: vec![],
            },
        )
        .unwrap()
}

/// Ann's session `s`, which has a derived name and holds a task, and `t`, which has a given name.
fn sessions_of_ann(world: &World) -> String {
    let ann = worker(ANN);
    let task = world.add("held");
    assert_eq!(start(world, &ann, "s"), "claude-s");
    run(world, &hook(world, "claude-s", &ann), claiming(&task)).unwrap();
    run(world, &hook(world, "ann-bot", &ann), starting("t", true)).unwrap();
    task
}

fn others(world: &World) {
    let (ann, bob) = (worker(ANN), worker(BOB));
    sessions_of_ann(world);
    // A session whose agent has a given name is indistinguishable from one that never existed.
    for session in ["t", "never"] {
        for depth in [Depth::Who, Depth::News, Depth::Loss] {
            let found = look(world, &bob, session, depth);
            assert!(found.known.is_empty() && found.mine.is_none(), "{session}");
            assert_eq!(found.agent, Some(format!("claude-{session}")).map(Into::into));
        }
        assert_eq!(whose(world, &bob, session), CommandOwner::Agent(format!("claude-{session}").into()));
        let wrong = refusal(run(world, &hook(world, "bob-bot", &bob), starting(session, false)));
        assert_eq!(
            (wrong.code().as_str(), wrong.about()),
            ("other_session", Some(format!("claude-{session}").as_str()))
        );
    }
    // The other agent's name is public in the list of agents, so Bob's agent gets a number.
    let found = look(world, &bob, "s", Depth::Who);
    assert!(found.known.is_empty() && found.mine.is_none());
    assert_eq!(found.agent.as_deref(), Some("claude-s.2"));
    assert_eq!(whose(world, &bob, "s"), CommandOwner::Agent("claude-s.2".into()));
    // Guessing the process of another principal reveals nothing either.
    let claimed = Process { host: "h".into(), boot: "b".into(), pidns: ANN.into(), pid: 0, started: 0 };
    let call = hook(world, BOB, &bob);
    for here in [claimed, Process { pidns: ANN.into(), ..Process::default() }] {
        let found = world
            .kernel
            .ask(
                &call,
                &query::session_of::SessionOf {
                    tools: vec![("claude".into(), Some("t".into()))],
                    here: here.clone(),
                    above: vec![(0, 0)],
                },
            )
            .unwrap();
        assert_eq!(found, CommandOwner::Agent("claude-t".into()));
    }
    // Ann finds her own sessions.
    assert_eq!(whose(world, &ann, "t"), CommandOwner::Agent("ann-bot".into()));
    assert_eq!(mine(world, &ann, "s").unwrap().agent, "claude-s");
}

fn takes_nothing(world: &World) {
    let (ann, bob) = (worker(ANN), worker(BOB));
    let task = sessions_of_ann(world);
    let told = |session: &str| {
        let facts = tool_used::ToolUsed { told: true, context: Context::Shortened, ..presence(session) };
        Op::new(tool_used::ToolUsed { tool_name: "Bash".into(), failed: true, ..facts })
    };
    // Bob cannot act as Ann's agents.
    let before = dump(&world.kernel);
    for (agent, session) in [("claude-s", "s"), ("ann-bot", "t")] {
        for op in [starting(session, false), starting(session, true), ending(session, "other"), told(session)] {
            assert_eq!(code_of(run(world, &hook(world, agent, &bob), op)), "not_yours");
        }
    }
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    // As his own agents, Bob starts, uses and ends sessions with Ann's ids, and hers continue.
    let both = || (mine(world, &ann, "s"), mine(world, &ann, "t"));
    let untouched = |(s, t): (Option<Mine>, Option<Mine>)| {
        let (s, t) = (s.expect("hers goes on"), t.expect("hers goes on"));
        assert_eq!((s.agent.as_str(), t.agent.as_str()), ("claude-s", "ann-bot"));
        for one in [s, t] {
            assert!(!one.is_shortened && one.told_at == tenure_core::Time(0), "{one:?}");
        }
        assert_eq!(world.show(&task)["holder"]["agent"], "claude-s");
    };
    untouched(both());
    let own: Vec<String> = ["s", "t"].iter().map(|session| start(world, &bob, session)).collect();
    assert_eq!(own, ["claude-s.2", "claude-t"]);
    untouched(both());
    for (agent, session) in own.iter().zip(["s", "t"]) {
        run(world, &hook(world, agent, &bob), told(session)).unwrap();
        untouched(both());
        let ended: Value = run(world, &hook(world, agent, &bob), ending(session, "other")).unwrap();
        assert_eq!((&ended["agent"], &ended["over"]), (&Value::from(agent.as_str()), &Value::from(true)));
        untouched(both());
    }
    // The same under a given name.
    run(world, &hook(world, "bob-bot", &bob), starting("s", true)).unwrap();
    run(world, &hook(world, "bob-bot", &bob), ending("s", "other")).unwrap();
    untouched(both());
    // Ann ends her own sessions.
    run(world, &hook(world, "claude-s", &ann), ending("s", "other")).unwrap();
    assert!(world.show(&task)["holder"].is_null());
    world.sound();
}

fn forged(world: &World) {
    let (ann, bob) = (worker(ANN), worker(BOB));
    let process = Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid: 7, started: 9 };
    let there = |agent: &str, grants: &Grants| {
        let far = hook(world, agent, grants);
        Call { actor: Actor { process: Some(process.clone()), ..far.actor }, ..far }
    };
    let seen = |grants: &Grants| {
        let look = Standing { says: presence("s"), given: None, depth: Depth::News };
        world.kernel.ask(&there(&grants.principal, grants), &look).unwrap().expect("switched on")
    };
    world.add("something");
    run(world, &there("claude-s", &ann), starting("s", false)).unwrap();
    assert_eq!(seen(&ann).mine.expect("hers").agent, "claude-s");
    let found = seen(&bob);
    assert!(found.known.is_empty() && found.mine.is_none());
    assert_eq!(found.agent.as_deref(), Some("claude-s.2"), "her name is taken, and nothing else is told");
    for agent in ["claude-s.2", "bob-bot"] {
        run(world, &there(agent, &bob), starting("s", agent == "bob-bot")).unwrap();
        let told = tool_used::ToolUsed { told: true, context: Context::Shortened, ..presence("s") };
        run(world, &there(agent, &bob), Op::new(told)).unwrap();
        run(world, &there(agent, &bob), ending("s", "other")).unwrap();
        let hers = seen(&ann).mine.expect("hers goes on");
        assert_eq!((hers.agent.as_str(), hers.is_shortened, hers.told_at), ("claude-s", false, tenure_core::Time(0)));
    }
    run(world, &there("claude-s", &ann), ending("s", "other")).unwrap();
    assert!(seen(&ann).mine.is_none());
    world.sound();
}

fn one_agent(world: &World) {
    let ann = worker(ANN);
    world.add("first");
    assert_eq!(start(world, &ann, "s"), "claude-s");
    for source in [Start::Compact, Start::Resume, Start::Clear, Start::Startup] {
        let op = session_start::SessionStart {
            tool: "claude".into(),
            session: "s".into(),
            source,
            given: false,
            event: String::new(),
        };
        run(world, &hook(world, "claude-s", &ann), Op::new(op)).unwrap();
        assert_eq!(mine(world, &ann, "s").unwrap().agent, "claude-s");
    }
    run(world, &hook(world, "claude-s", &ann), ending("s", "other")).unwrap();
    assert!(mine(world, &ann, "s").is_none());
    assert_eq!(start(world, &ann, "s"), "claude-s", "it comes back as itself");
    assert_eq!(world.count("agent.registered"), 2, "the person at the store and the session");
}

fn names(world: &World) {
    let ann = worker(ANN);
    for name in ["elsewhere", "mason", "runner", "roamer"] {
        token(world, name, name);
    }
    member(world, "elsewhere", "name:q", Some(Role::Admin));
    member(world, "runner", "name:p", Some(Role::Viewer));
    member(world, "roamer", "*", Some(Role::Viewer));
    // A principal that acted here as itself and no longer has a role.
    run(world, &call(world, "mason", &worker("mason")), adding()).unwrap();
    let outcome = |result: Result<Value>| result.map(drop).map_err(|error| error.code().as_str().to_owned());
    for (name, may) in
        [("elsewhere", true), ("unheard-of", true), ("runner", false), ("roamer", false), ("mason", false)]
    {
        let expected = if may { Ok(()) } else { Err("not_yours".to_owned()) };
        let asked = world.kernel.ask(&call(world, name, &ann), &query::status::Status {}).map(|_| Value::Null);
        assert_eq!(outcome(asked), expected, "a query as {name}");
        assert_eq!(outcome(run(world, &call(world, name, &ann), adding())), expected, "an op as {name}");
        // A second attempt has the same outcome, so the first leaves nothing to observe.
        assert_eq!(outcome(run(world, &call(world, name, &ann), adding())), expected, "again as {name}");
    }
    // In its own project the principal is itself. Here the name belongs to Ann's agent until the principal acts.
    let there = project::NamedProject { key: "name:q".into(), label: "q".into() };
    let home = Grants { members: [("name:q".into(), Role::Admin)].into(), ..worker("elsewhere") };
    run(world, &Call { project: there, ..call(world, "elsewhere", &home) }, adding()).unwrap();
    member(world, "elsewhere", "name:p", Some(Role::Worker));
    let reused = Call { request_id: RequestId::given("hers").unwrap(), ..call(world, "elsewhere", &ann) };
    run(world, &reused, adding()).unwrap();
    let own = worker("elsewhere");
    let replayed = Call { actor: call(world, "elsewhere", &own).actor, ..reused };
    assert_eq!(code_of(run(world, &replayed, adding())), "request_mismatch", "her answers stay hers");
    run(world, &call(world, "elsewhere", &own), adding()).unwrap();
    assert_eq!(code_of(run(world, &call(world, "elsewhere", &ann), adding())), "not_yours");
    let told = world.events().into_iter().filter(|event| event.kind == "agent.owned").map(|event| event.sentence());
    let told: Vec<String> = told.collect();
    assert_eq!(told, ["elsewhere no longer acts as an agent of person:ann"]);
}
