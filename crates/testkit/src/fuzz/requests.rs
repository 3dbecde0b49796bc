//! Fuzzes the requests of every op, batches, imports and cursors, on a project in memory.

use std::cell::RefCell;

use serde_json::Value;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Kind, Result};
use tenure_kernel::op::{Domain, OPS, add_many, import, inbox, login_offer, remember, send, token_add};
use tenure_kernel::query;
use tenure_kernel::query::{list, log};
use tenure_kernel::{Call, Op};
use tenure_store::table::project;

use super::drive::corpus;
use super::words::readable;
use crate::fixture::{Engine, World};
use crate::known::Known;

/// Adds tasks in most states, a memory, a message and a token to a project. Returns their ids, in the order of the `$1` to
/// `$8` of a seed.
pub(crate) fn populate(world: &World) -> Vec<String> {
    let first = world.add("first");
    for agent in ["a", "b"] {
        world.note(agent, &first, "here").unwrap();
    }
    let second = world.add_after("second", &[&first]);
    let (held, done, blocked) = (world.add("held"), world.add("done"), world.add("blocked"));
    world.claim("a", &held).unwrap();
    world.done("person:ann", &done).unwrap();
    world.block("b", &blocked, "waits").unwrap();
    let item = remember::NewMemory {
        text: "mind the gap".into(),
        scope: Some(remember::MemoryReach::Project),
        ..Default::default()
    };
    let said = world.run("a", Op::new(remember::Remember { items: vec![item] })).unwrap();
    let memory = said["items"][0]["id"].as_str().unwrap().to_owned();
    let message = send::Send { to: vec!["a".into()], text: "hello".into(), request: true, ..Default::default() };
    let sent = world.run("b", Op::new(message)).unwrap();
    let message = sent["id"].as_str().unwrap().to_owned();
    world.run("a", Op::new(inbox::Inbox::default())).unwrap();
    let ann = String::from("person:ann");
    let token = token_add::TokenAdd { principal: ann.clone().into(), hash: "ab".repeat(32), ..Default::default() };
    let token = world.in_store(&ann, Op::new(token)).unwrap()["id"].as_str().unwrap().to_owned();
    let link = login_offer::LoginOffer { principal: ann.clone().into(), hash: "cd".repeat(32), ..Default::default() };
    world.in_store(&ann, Op::new(link)).unwrap();
    vec![first, second, held, done, blocked, memory, message, token]
}

/// The example of an op, which is the seed of its name: who sends it, and its request for a project with these ids.
pub(crate) fn example(name: &str, ids: &[String]) -> (String, Op) {
    let file = corpus("requests").join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (agent, body) = head_and_body(&text).map(|(_, agent, body)| (agent, body)).unwrap();
    let op = parse(name, &filled(body, ids)).unwrap_or_else(|| panic!("not a request of `{name}`: {body}"));
    (agent.to_owned(), op)
}

fn head_and_body(text: &str) -> Option<(&str, &str, &str)> {
    let (head, body) = text.split_once('\n')?;
    let (name, agent) = head.split_once(' ')?;
    Some((name, agent, body))
}

/// A request with the ids in place of `$1`, `$2` and so on.
fn filled(body: &str, ids: &[String]) -> String {
    ids.iter().enumerate().fold(body.to_owned(), |body, (n, id)| body.replace(&format!("${}", n + 1), id))
}

/// A project with tasks in most states, and their ids.
struct Scene {
    world: World,
    ids: Vec<String>,
}

impl Scene {
    fn new(engine: Engine) -> Scene {
        let world = World::new(engine);
        let ids = populate(&world);
        Scene { world, ids }
    }

    /// Checks a refusal: its kind, its readability, and that it left no events.
    fn refused(&self, error: &Error, events: EventNumber) {
        let expected = [Kind::Usage, Kind::Denied, Kind::NotFound, Kind::Conflict, Kind::Stale];
        assert!(expected.contains(&error.kind()), "{error:?}");
        readable(error);
        assert_eq!(self.world.last_event(), events, "a refused op left events: {error:?}");
    }

    /// Checks the store after a successful op.
    fn accepted(&self) {
        self.world.sound();
        for line in self.exported().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let value: Value = serde_json::from_slice(line).unwrap();
            assert!(!has_nul(&value), "a NUL was stored: {value}");
        }
    }

    fn exported(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        self.world.kernel.export(&self.world.call("person:ann"), true, &mut lines).unwrap();
        lines
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

thread_local! {
    /// Unchanged projects, kept for reuse. A changed one is discarded, so that an input means the same in every run.
    static SCENES: [RefCell<Option<Scene>>; 2] = const { [RefCell::new(None), RefCell::new(None)] };
}

fn on_scene<T>(engine: Engine, act: impl FnOnce(&Scene) -> (bool, T)) -> T {
    SCENES.with(|scenes| {
        let place = &scenes[usize::from(engine == Engine::Postgres)];
        // Taken out of the slot, so that a panic discards it too.
        let scene = place.borrow_mut().take().unwrap_or_else(|| Scene::new(engine));
        let (changed, answer) = act(&scene);
        if !changed {
            *place.borrow_mut() = Some(scene);
        }
        answer
    })
}

/// Runs an op and returns its outcome.
fn run(engine: Engine, agent: &str, op: &dyn Fn(&Scene) -> Option<Op>) -> Option<Result<(), &'static str>> {
    on_scene(engine, |scene| {
        let Some(op) = op(scene) else { return (false, None) };
        let events = scene.world.last_event();
        let answer = if op.entry().domain == Domain::Store {
            scene.world.in_store(agent, op)
        } else {
            scene.world.run(agent, op)
        };
        match answer {
            Ok(_) => {
                scene.accepted();
                (true, Some(Ok(())))
            }
            Err(error) => {
                scene.refused(&error, events);
                (false, Some(Err(error.code().as_str())))
            }
        }
    })
}

/// The format: `OP AGENT`, a newline, the request as JSON. `$1` to `$5` stand for the existing tasks, `$6` for the
/// memory, `$7` for the message, `$8` for the token; the secret of the link is hashed to `cdcd…`.
pub(super) fn requests(input: &[u8]) {
    let Ok(words) = std::str::from_utf8(input) else { return };
    let Some((name, agent, body)) = head_and_body(words) else { return };
    if tenure_core::name::check(agent).is_err() {
        return;
    }
    let op = |scene: &Scene| parse(name, &filled(body, &scene.ids));
    let in_memory = run(Engine::Memory, agent, &op);
    // SQLite can store a NUL and PostgreSQL cannot, so such a request must be refused before it reaches the store.
    if in_memory.is_some() && (body.contains('\0') || body.contains("\\u0000")) {
        assert_eq!(run(Engine::Postgres, agent, &op), in_memory, "the engines differ");
    }
}

/// Parses the request of an op.
pub(crate) fn parse(name: &str, body: &str) -> Option<Op> {
    Op::read(name, body).ok()
}

/// A target without a seed for an op never exercises that op.
pub(super) fn every_op_has_a_seed() {
    for entry in OPS {
        let scene = Scene::new(Engine::Memory);
        let (agent, op) = example(entry.name, &scene.ids);
        // The seed is also the example by which the models identify the op.
        let known = format!("{:?}", Known::of(&op)).to_lowercase();
        assert!(known.starts_with(&entry.name.replace('_', "")), "{} is {known}", entry.name);
        let mut call = scene.world.from("main", &agent);
        if entry.domain == Domain::Store {
            call = Call { project: project::whole_store(), checkout: None, ..call };
        }
        let accepted = scene.world.run_call(&call, &op).is_ok() || entry.name == "join";
        assert!(accepted, "the seed of `{}` does not go through", entry.name);
    }
}

/// JSON lines for `add --stdin`.
pub(super) fn batches(input: &[u8]) {
    match add_many::AddMany::parse(input) {
        Ok(request) => _ = run(Engine::Memory, "a", &|_| Some(Op::new(request.clone()))),
        Err(error) => named(&error),
    }
}

/// JSON lines for `import`. An accepted import is exported, imported into another project, and exported again as the
/// same lines.
pub(super) fn imports(input: &[u8]) {
    let request = match import::Import::parse(input) {
        Ok(request) => request,
        Err(error) => return named(&error),
    };
    let op = Op::new(request);
    let export = on_scene(Engine::Memory, |scene| {
        let events = scene.world.last_event();
        match scene.world.run("a", op.clone()) {
            Ok(_) => {
                scene.accepted();
                (true, Some(scene.exported()))
            }
            Err(error) => {
                scene.refused(&error, events);
                (false, None)
            }
        }
    });
    let Some(export) = export else { return };
    let other = World::new(Engine::Memory);
    let again = import::Import::parse(&export).expect("an export is one");
    other.run("z", Op::new(again)).expect("an export can be imported");
    let mut second = Vec::new();
    other.kernel.export(&other.call("z"), false, &mut second).unwrap();
    assert_eq!(own(&second), own(&export), "it did not come back as it was");
    other.sound();
}

/// The task and note lines of an export.
fn own(export: &[u8]) -> Vec<&str> {
    let lines = std::str::from_utf8(export).unwrap().lines();
    lines.filter(|line| line.starts_with("{\"task\"") || line.starts_with("{\"note\"")).collect()
}

/// Checks the refusal of invalid lines.
fn named(error: &Error) {
    assert_eq!(error.kind(), Kind::Usage, "{error:?}");
    readable(error);
    assert!(error.code() != "bad_line" || error.get("line").is_some(), "{error:?}");
}

/// Cursors of every list.
pub(super) fn cursors(input: &[u8]) {
    let words = String::from_utf8_lossy(input).into_owned();
    look(Engine::Memory, &words);
    if words.contains('\0') {
        look(Engine::Postgres, &words);
    }
}

fn look(engine: Engine, words: &str) {
    on_scene(engine, |scene| {
        let (kernel, call, person) = (&scene.world.kernel, scene.world.call("a"), scene.world.call("person:ann"));
        let cursor = Some(words.to_owned());
        let since = kernel.store().identity().unwrap().unwrap().incarnation;
        let words = words.replace("$i", &since);
        let answers = [
            kernel
                .ask(&call, &list::List { cursor, all: true, limit: 2, ..list::List::default() })
                .map(|page| page.items.len()),
            kernel
                .ask(
                    &call,
                    &log::Log { since: Some(log::Since::Cursor(words.clone())), limit: 2, ..log::Log::default() },
                )
                .map(|page| page.items.len()),
            kernel
                .ask(&call, &query::holds::Holds { cursor: Some(words.clone()), ..query::holds::Holds::of(None, 2) })
                .map(|page| page.items.len()),
            kernel
                .ask(&call, &query::agents::Agents { within_us: None, limit: 2, cursor: Some(words.clone()) })
                .map(|page| page.items.len()),
            kernel.ask(&call, &query::show::Show { id: words.clone() }).map(|_| 1),
            kernel.ask(&call, &query::show_hold::ShowHold { id: words.clone() }).map(|_| 1),
            kernel.ask(&call, &query::why::Why { id: words.clone() }).map(|_| 1),
            kernel.ask(&call, &query::graph::Graph { id: words.clone() }).map(|_| 1),
            kernel.ask(&call, &log::Log { subject: Some(words.clone()), limit: 2, ..log::Log::default() }).map(|_| 1),
            kernel
                .ask(&call, &log::Log { agent: Some(words.clone().into()), limit: 2, ..log::Log::default() })
                .map(|_| 1),
            kernel.ask(&call, &list::List { assignee: Some(words.clone().into()), ..list::List::default() }).map(|_| 1),
            kernel.ask(&call, &list::List { holder: Some(words.clone().into()), ..list::List::default() }).map(|_| 1),
            kernel.ask(&call, &query::next::Next { labels: vec![words.clone()] }).map(|_| 1),
            kernel.ask(&call, &query::task_id::ResolveTask { typed: words.clone() }).map(|_| 1),
            kernel.ask(&call, &query::any_id::ResolveAny { typed: words.clone() }).map(|_| 1),
            kernel
                .ask(&person, &query::tokens::Tokens { principal: None, limit: 2, cursor: Some(words.clone()) })
                .map(|page| page.items.len()),
            kernel
                .ask(
                    &person,
                    &query::members::Members { principal: None, project: None, limit: 2, cursor: Some(words.clone()) },
                )
                .map(|page| page.items.len()),
            kernel
                .ask(
                    &person,
                    &query::members::Members { principal: None, project: Some(words.clone()), limit: 2, cursor: None },
                )
                .map(|page| page.items.len()),
            kernel
                .ask(&person, &query::principals::Principals { limit: 2, cursor: Some(words.clone()) })
                .map(|page| page.items.len()),
            kernel.ask(&person, &query::token_id::ResolveToken { typed: words.clone() }).map(|_| 1),
            kernel.who_is(&words).map(|_| 1),
        ];
        for answer in answers {
            match answer {
                Ok(items) => assert!(items <= 2),
                Err(error) => {
                    assert!(matches!(error.kind(), Kind::Usage | Kind::Stale | Kind::NotFound), "{error:?}");
                    readable(&error);
                }
            }
        }
        (false, ())
    });
}
