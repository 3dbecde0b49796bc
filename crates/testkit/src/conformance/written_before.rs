//! A store that an earlier version wrote: it is opened, read, replayed and written like any other.

use serde::Deserialize;
use tenure_core::{Result, Span, Time};
use tenure_kernel::op::note;
use tenure_kernel::query::{health, list, log, show, why};
use tenure_kernel::{Call, Kernel, Op, RequestId};
use tenure_store::migrate::{STEPS, VERSION};
use tenure_store::table::project;
use tenure_store::{CommitDecision, Options, Sql};

use super::Case;
use crate::fixture::{Engine, TestClock, World};
use crate::raw;

pub(super) const CASES: &[Case] =
    &[Case::only(&[Engine::File, Engine::Postgres], "inv_t11_a_store_of_version_0_1_goes_on", goes_on)];

const ROWS: &str = include_str!("../../fixtures/store-0.1.0.sql");
const REQUESTS: &str = include_str!("../../fixtures/requests-0.1.0.jsonl");
/// The schema that the rows are of.
const SCHEMA: usize = 6;
/// A moment after the last row was written.
const AFTER: Time = Time(1_795_034_120_000_000);

/// A request that was answered with the row of its id in `request`.
#[derive(Deserialize)]
struct Sent {
    op: String,
    actor: String,
    request_id: String,
    whole_store: bool,
    request: Box<serde_json::value::RawValue>,
}

fn goes_on(world: &World) {
    let kernel = opened(world).unwrap();
    let key = raw::text(&kernel, "SELECT key FROM project WHERE key <> '_'");
    let call = |agent: &str| {
        let project = project::NamedProject { key: key.clone().into(), label: "repo".into() };
        Call { project, ..world.call(agent) }
    };
    let reader = call("person:ann");
    let events = kernel.ask(&reader, &log::Log { limit: 1_000, ..log::Log::default() }).unwrap();
    let stored = raw::number(&kernel, "SELECT last_event FROM project WHERE key <> '_'", &[]);
    assert_eq!(i64::try_from(events.items.len()).unwrap(), stored);
    let tasks = kernel.ask(&reader, &list::List { all: true, limit: 100, ..list::List::default() }).unwrap().items;
    assert_eq!(tasks.len(), 6);
    for task in &tasks {
        let id = task.id.to_string();
        kernel.ask(&reader, &show::Show { id: id.clone() }).unwrap();
        kernel.ask(&reader, &why::Why { id }).unwrap();
    }
    let mut lines = Vec::new();
    kernel.export(&reader, true, &mut lines).unwrap();
    assert!(String::from_utf8(lines).unwrap().lines().count() > tasks.len() + events.items.len());

    for line in REQUESTS.lines() {
        let sent: Sent = serde_json::from_str(line).unwrap();
        let op = Op::read(&sent.op, sent.request.get()).unwrap();
        let mut call = Call { request_id: RequestId::given(&sent.request_id).unwrap(), ..call(&sent.actor) };
        if sent.whole_store {
            call.project = project::whole_store();
        }
        let reply = kernel.run(&call, &op).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        let kept = format!("SELECT response FROM request WHERE request_id = '{}'", sent.request_id);
        assert_eq!((reply.replayed, reply.body), (true, raw::text(&kernel, &kept)), "{line}");
    }

    let note = note::Note { task: Some(tasks[0].id.clone()), text: "goes on".into(), ..note::Note::default() };
    kernel.run(&call("a"), &Op::new(note)).unwrap();
    assert_eq!(kernel.store().schema_version().unwrap(), VERSION);
    let health = kernel.ask(&reader, &health::Health {}).unwrap();
    assert_eq!((health.wrong_counters, health.events_fit), (Vec::new(), true));
}

/// Puts the rows into the store of a world, at their schema, and opens it.
fn opened(world: &World) -> Result<Kernel> {
    world.add("gone in a moment");
    world.advance(Span(AFTER.0 - TestClock::START.0));
    let step = |index: usize| {
        let plain = |text: String| -> Vec<String> {
            let text: String =
                text.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n");
            text.split(';')
                .map(|statement| statement.trim().to_owned())
                .filter(|statement| !statement.is_empty())
                .collect()
        };
        match world.engine {
            Engine::Postgres => plain(STEPS[index].postgres()),
            _ => plain(STEPS[index].sqlite()),
        }
    };
    let mut statements: Vec<String> = raw::BACK_TO_THE_FIRST.iter().map(|sql| (*sql).to_owned()).collect();
    statements.push(raw::first_view().to_owned());
    statements.extend((1..SCHEMA).flat_map(step));
    let existed =
        |table: &str| STEPS[..SCHEMA].iter().any(|step| step.sqlite().contains(&format!("CREATE TABLE {table} (")));
    let tables = raw::TABLES.iter().filter(|(table, _)| existed(table));
    statements.extend(tables.map(|(table, _)| format!("DELETE FROM {table}")));
    statements.extend(
        ROWS.lines().filter(|line| line.starts_with("INSERT")).map(|line| line.trim_end_matches(';').to_owned()),
    );
    if world.engine != Engine::Postgres {
        statements.push(format!("PRAGMA user_version = {SCHEMA}"));
    }
    world.kernel.store().write(&world.call("a").project, |tx, _| {
        statements.iter().try_for_each(|sql| tx.query(Sql::same(sql.clone().leak()), &[]).map(|_| ()))?;
        Ok(CommitDecision::Commit(()))
    })?;
    let options = Options { may_create: false, ..world.options.clone() };
    Kernel::new(world.location.clone(), options, tenure_client::phrasing::of)
}
