//! Ownership of agents: an agent belongs to the principal that first acted as it through a server.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::access::{Grants, Role};
use tenure_kernel::op::{done, lock, memory_forget, memory_pin, note, remember, reserve, send, session_end};
use tenure_kernel::query;
use tenure_kernel::query::memories;
use tenure_kernel::{Call, Op, RequestId};
use tenure_store::table::project;

use super::Case;
use super::access::{ANN, adding, call, run, token, worker};
use super::shorthand::{claiming, proof, words};
use crate::fixture::{World, code_of, refusal};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_s1_taking_from_the_living_is_for_operators", stealing),
    Case::everywhere("inv_i2_an_agent_belongs_to_the_principal_that_first_acted_as_it", ownership),
    Case::everywhere("inv_i4_a_principal_is_believed_about_the_death_of_its_own_agents_only", believed_about_its_own),
    Case::everywhere("inv_i2_nobody_acts_as_a_principal_but_itself", principals_are_themselves),
    Case::everywhere("inv_t6_a_new_owner_reads_no_answer_from_before", no_answers_from_before),
    Case::everywhere("inv_l4_force_says_which_principal_stands_behind_it", behind_force),
];

fn ownership(world: &World) {
    let (ann, bob) = (worker(ANN), worker("person:bob"));
    run(world, &call(world, "claude-1", &ann), adding()).unwrap();
    let mail = send::Send { to: words(&["claude-1"]), text: "for you".into(), ..Default::default() };
    run(world, &call(world, ANN, &ann), Op::new(mail)).unwrap();
    let before = dump(&world.kernel);
    let filter = memories::Memories { limit: 5, ..Default::default() };
    let denied = |error: tenure_core::Error| {
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("denied", "not_yours"));
    };
    denied(refusal(run(world, &call(world, "claude-1", &bob), adding())));
    denied(refusal(world.kernel.ask(&call(world, "claude-1", &bob), &query::mail::Mail { limit: None })));
    denied(refusal(world.kernel.ask(&call(world, ANN, &bob), &query::mail::Mail { limit: None })));
    denied(refusal(world.kernel.ask(&call(world, "claude-1", &bob), &filter)));
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    assert_eq!(
        world.kernel.ask(&call(world, "claude-1", &ann), &query::mail::Mail { limit: None }).unwrap().items.len(),
        1
    );
    // In another project the same name is a different agent.
    let everywhere = Grants { members: BTreeMap::from([("*".into(), Role::Worker)]), ..bob.clone() };
    let elsewhere = project::NamedProject { key: "name:q".into(), label: "q".into() };
    run(world, &Call { project: elsewhere, ..call(world, "claude-1", &everywhere) }, adding()).unwrap();
    // Local programs are unaffected, whichever principal acted as the agent through a server.
    world.note("claude-1", &world.add("local"), "here").unwrap();
    // An agent used only by local programs belongs to the first principal that acts as it through a server. An event
    // records that.
    world.note("codex-1", &world.add("second"), "here").unwrap();
    denied(refusal(world.kernel.ask(&call(world, "codex-1", &bob), &query::mail::Mail { limit: None })));
    run(world, &call(world, "codex-1", &bob), adding()).unwrap();
    denied(refusal(run(world, &call(world, "codex-1", &ann), adding())));
    let owned: Vec<_> = world.events().into_iter().filter(|event| event.kind == "agent.owned").collect();
    assert_eq!(owned.len(), 1);
    assert_eq!(owned[0].sentence(), "codex-1 now acts as an agent of person:bob");
    world.kernel.ask(&call(world, "codex-1", &bob), &query::mail::Mail { limit: None }).unwrap();
}

fn believed_about_its_own(world: &World) {
    let (ann, bob) = (worker(ANN), worker("person:bob"));
    let knowing = |actor: &str, grants: &Grants| Call {
        proven_dead: vec![proof("claude-1"), proof("local")],
        ..call(world, actor, grants)
    };
    let (task, other) = (world.add("of ann's agent"), world.add("of a local one"));
    run(world, &call(world, "claude-1", &ann), claiming(&task)).unwrap();
    world.claim("local", &other).unwrap();
    for task in [&task, &other] {
        assert_eq!(code_of(run(world, &knowing("codex-1", &bob), claiming(task))), "task_held");
    }
    let named = |grants: &Grants| -> Vec<String> {
        let found = world
            .kernel
            .ask(&call(world, &grants.principal, grants), &query::suspects::Suspects { host: "".into() })
            .unwrap();
        found.into_iter().map(|suspect| suspect.name).map(String::from).collect()
    };
    assert_eq!((named(&ann), named(&bob)), (words(&["claude-1"]), words(&[])), "of others it is not told either");
    // Another principal's hold stays; the principal's own hold is free at once.
    assert_eq!(code_of(run(world, &knowing("claude-2", &ann), claiming(&other))), "task_held");
    let claimed = run(world, &knowing("claude-2", &ann), claiming(&task)).unwrap();
    assert_eq!(claimed["task"]["attempt"], 2);
    // A local program's evidence is accepted for all agents.
    world.run_call(&world.call_knowing_dead("c", &["local"]), &claiming(&other)).unwrap();
    world.sound();
}

fn principals_are_themselves(world: &World) {
    for name in ["person:bob", "service:ci", "builder"] {
        token(world, name, name);
    }
    let (ann, ci, builder) = (worker(ANN), worker("service:ci"), worker("builder"));
    for grants in [&ann, &ci, &builder] {
        run(world, &call(world, &grants.principal, grants), adding()).unwrap();
    }
    for (grants, other) in [
        (&ann, "person:bob"),
        (&ann, "person:eve"),
        (&ann, "service:ci"),
        (&ann, "service:none"),
        (&ann, "builder"),
        (&ci, "builder"),
        (&builder, "claude-2"),
        (&builder, ANN),
    ] {
        assert_eq!(code_of(run(world, &call(world, other, grants), adding())), "not_yours", "{other}");
        assert_eq!(
            code_of(world.kernel.ask(&call(world, other, grants), &query::status::Status {})),
            "not_yours",
            "{other}"
        );
    }
    // A name used for another principal's agent stays so until the principal with that name acts.
    run(world, &call(world, "late", &ann), adding()).unwrap();
    token(world, "late", "late");
    run(world, &call(world, "late", &ann), adding()).unwrap();
    run(world, &call(world, "late", &worker("late")), adding()).unwrap();
    assert_eq!(code_of(run(world, &call(world, "late", &ann), adding())), "not_yours");
    // A service owns agents, as a person does.
    run(world, &call(world, "ci-bot", &ci), adding()).unwrap();
    assert_eq!(code_of(run(world, &call(world, "ci-bot", &ann), adding())), "not_yours");
}

fn no_answers_from_before(world: &World) {
    let given = |call: Call| Call { request_id: RequestId::given("call-7").unwrap(), ..call };
    let op = adding();
    let local = given(world.call("codex-1"));
    let first = world.kernel.run(&local, &op).unwrap();
    let bob = worker("person:bob");
    let error = refusal(world.kernel.run(&given(call(world, "codex-1", &bob)), &op));
    assert_eq!(error.code(), "request_mismatch", "what was answered to somebody else");
    assert!(world.kernel.run(&local, &op).unwrap().replayed);
    // For its own agent, a principal gets the same bytes on a retry.
    let own = given(call(world, "claude-9", &bob));
    let made = world.kernel.run(&own, &op).unwrap();
    let again = world.kernel.run(&own, &op).unwrap();
    assert!(again.replayed && again.body == made.body && made.body != first.body);
    assert_eq!(code_of(world.kernel.run(&given(call(world, "claude-9", &worker(ANN))), &op)), "not_yours");
}

fn behind_force(world: &World) {
    let task = world.add("held");
    world.claim("a", &task).unwrap();
    let ann = Grants { members: BTreeMap::from([("name:p".into(), Role::Operator)]), ..worker(ANN) };
    let forced = |force| Op::new(done::Done { task: Some(task.clone().into()), force, ..done::Done::default() });
    assert_eq!(code_of(run(world, &call(world, ANN, &worker(ANN)), forced(true))), "role_too_low");
    run(world, &call(world, ANN, &ann), forced(true)).unwrap();
    let last = |kind: &str| world.events().into_iter().rfind(|event| event.kind == kind).unwrap();
    let event = last("task.done");
    assert_eq!((event.actor.as_str(), &event.data["overrode"]), (ANN, &Value::from("a")));
    // The event of an agent names its principal.
    let noted = world.add("noted");
    let note = note::Note { task: Some(noted.into()), text: "x".into(), ..Default::default() };
    run(world, &call(world, "claude-1", &ann), Op::new(note)).unwrap();
    assert_eq!(last("task.noted").data["principal"], ANN);
    // Pinning a memory that every agent sees requires an operator.
    let item = remember::NewMemory {
        text: "mind the gap".into(),
        scope: Some(remember::MemoryReach::Project),
        ..Default::default()
    };
    let said = world.run(ANN, Op::new(remember::Remember { items: vec![item] })).unwrap();
    let memory = said["items"][0]["id"].as_str().unwrap().to_owned();
    let pin = || Op::new(memory_pin::MemoryPin { memory: memory.clone().into(), pinned: true });
    let forget = || Op::new(memory_forget::MemoryForget { memory: memory.clone().into() });
    assert_eq!(code_of(run(world, &call(world, ANN, &worker(ANN)), pin())), "role_too_low");
    run(world, &call(world, ANN, &ann), pin()).unwrap();
    assert_eq!(code_of(run(world, &call(world, ANN, &worker(ANN)), forget())), "role_too_low");
    run(world, &call(world, ANN, &ann), forget()).unwrap();
}

fn stealing(world: &World) {
    let (worker, operator) =
        (worker(ANN), Grants { members: BTreeMap::from([("name:p".into(), Role::Operator)]), ..worker(ANN) });
    let lock = |force| Op::new(lock::Lock { name: "deploy".into(), force, ..Default::default() });
    world.run("b", lock(false)).unwrap();
    // Taking a lock from a live holder requires an operator who is a person.
    assert_eq!(code_of(run(world, &call(world, "claude-1", &worker), lock(true))), "not_gone");
    assert_eq!(code_of(run(world, &call(world, "claude-1", &operator), lock(true))), "not_gone");
    let error = refusal(run(world, &call(world, ANN, &worker), lock(true)));
    assert_eq!((error.code().as_str(), error.get("needed").unwrap()), ("role_too_low", &Value::from("operator")));
    run(world, &call(world, ANN, &operator), lock(true)).unwrap();
    let event = world.events().into_iter().rfind(|event| event.kind == "lock.taken").unwrap();
    assert_eq!((event.actor.as_str(), &event.data["overrode"]), (ANN, &Value::from("b")));
    // Taking a path from an agent that is gone requires only a worker.
    let path =
        |force| Op::new(reserve::Reserve { paths: words(&["a"]), all_checkouts: true, force, ..Default::default() });
    world.run("c", path(false)).unwrap();
    let end =
        session_end::SessionEnd { tool: "x".into(), session: "S".into(), reason: "other".into(), event: String::new() };
    let held = |holder: &str| {
        world.kernel.ask(&world.call(ANN), &query::holds::Holds::of(Some(holder), 10)).unwrap().items.len()
    };
    assert_eq!(held("c"), 1);
    world.run("c", Op::new(end)).unwrap();
    run(world, &call(world, "claude-1", &worker), path(true)).unwrap();
    assert_eq!((held("c"), held("claude-1")), (0, 1));
}
