//! Query plans: every statement of an op or a list is an index range, on both engines.

use tenure_core::agent::Process;
use tenure_core::choice::Rank;
use tenure_core::hold::{Ending, Mode};
use tenure_core::id::TaskId;
use tenure_core::memory::{MemoryKind, MemoryScope};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::task::TaskStatus;
use tenure_core::{Result, Time};
use tenure_kernel::Op;
use tenure_kernel::op::add_many;
use tenure_store::table::checkout::Locations;
use tenure_store::table::{
    agent, artifact, checkout, delivery, dep, edited_file, event, hold, label, lock, mail, memory, message, note, path,
    place, project, request, session, shown_fence, task,
};
use tenure_store::{BulkRows, CommitDecision, Row, RowsWithin, Sql, Tx, Value};

use super::Case;
use crate::fixture::{Engine, World};
use crate::raw::{TABLES, execute};

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::File, Engine::Postgres], "inv_t13_every_hot_statement_is_a_range_of_an_index", hot_statements),
    Case::only(&[Engine::File, Engine::Postgres], "inv_t13_lists_come_out_of_their_index_in_order", lists_are_ordered),
    Case::only(&[Engine::Postgres], "inv_t13_a_hot_statement_reads_few_pages_among_20_000_rows", few_pages),
    Case::only(&[Engine::Postgres], "inv_t13_two_holders_of_20_000_holds_are_found_without_reading_them", few_holders),
];

/// A part of the log.
const RANGE: (EventNumber, EventNumber) = (EventNumber::new(5), EventNumber::new(900));

/// Runs and records the statements.
struct Recorder<'a> {
    inner: &'a mut dyn Tx,
    calls: Vec<(Sql, Vec<Value>)>,
}

impl Tx for Recorder<'_> {
    fn execute(&mut self, sql: Sql, args: &[Value]) -> Result<u64> {
        self.calls.push((sql, args.to_vec()));
        self.inner.execute(sql, args)
    }

    fn query(&mut self, sql: Sql, args: &[Value]) -> Result<Vec<Row>> {
        self.calls.push((sql, args.to_vec()));
        self.inner.query(sql, args)
    }

    fn query_within(&mut self, sql: Sql, args: &[Value], bytes: usize) -> Result<RowsWithin<Row>> {
        self.calls.push((sql, args.to_vec()));
        self.inner.query_within(sql, args, bytes)
    }

    fn query_all(&mut self, calls: Vec<(Sql, Vec<Value>)>) -> Result<Vec<Vec<Row>>> {
        self.calls.extend(calls.clone());
        self.inner.query_all(calls)
    }

    fn defer(&mut self, sql: Sql, args: Vec<Value>) -> Result<()> {
        self.calls.push((sql, args.clone()));
        self.inner.defer(sql, args)
    }

    // An insert of given rows has no plan.
    fn insert_rows(&mut self, sql: Sql, rows: BulkRows<'_>) -> Result<()> {
        self.inner.insert_rows(sql, rows)
    }

    fn savepoint(&mut self) -> Result<()> {
        self.inner.savepoint()
    }

    fn undo(&mut self) -> Result<()> {
        self.inner.undo()
    }
}

/// The statements of some calls, made in a transaction that is rolled back.
fn record(world: &World, calls: impl Fn(&mut dyn Tx, &str) -> Result<()>) -> Vec<(Sql, Vec<Value>)> {
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    world
        .kernel
        .store()
        .write(&name, |tx, entered| {
            let mut recorder = Recorder { inner: tx, calls: Vec::new() };
            calls(&mut recorder, &entered.project.unwrap().id)?;
            Ok(CommitDecision::Undo(recorder.calls))
        })
        .unwrap()
}

/// A project large enough to matter to a planner: tasks, dependencies, labels, holds, agents, events.
fn fill(world: &World) -> Vec<String> {
    // With fewer rows, PostgreSQL correctly prefers a sequential scan to a hundred lookups.
    let tasks = if world.engine == Engine::Postgres { 10_000 } else { 1_000 };
    let item = |n: usize| add_many::NewTask {
        title: format!("task {n}"),
        description: String::new(),
        priority: (n % 5) as i64,
        labels: vec!["x".into(), format!("part-{}", n % 7)],
        acceptance: String::new(),
        after: if n % 2 == 1 { vec![format!("k{}", n - 1)] } else { Vec::new() },
        key: Some(format!("k{n}")),
        line: n,
    };
    let request = add_many::AddMany { items: (0..tasks).map(item).collect() };
    let added = world.run("person:ann", Op::new(request)).unwrap();
    let ids: Vec<String> = added["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    for (n, task) in ids.iter().step_by(2).take(40).enumerate() {
        world.claim(&format!("agent-{}", n % 20), task).unwrap();
    }
    let many = [
        "request SELECT p.id, 'a', 'add', 'r' || n, '', '', n",
        "note SELECT p.id, 'n-' || n, 't-' || n, n, 'a', 1, 'x', '', 0, ''",
        "shown SELECT p.id, 'a' || n, 't-' || n, n",
        "checkout SELECT p.id, 'host' || n, '/repo', 'c-' || n, '/repo/.git', 1, n, 1",
        "agent SELECT p.id, 'a' || n, '', 1, n, 0, 1, '', '', '', '', 0, 0, 0, ''",
        "hold SELECT p.id, 'h-' || n, 'task', 't-' || n, 'exclusive', 'a' || n, n, 1, 2, 1000000, 'session', '', 2, 'expired', 0, '', '', 0, '', ''",
        "hold SELECT p.id, 'h-p' || n, 'path', 'src/' || n, 'exclusive', 'a' || n, n, 1, 9000000000000000000, 1000000, 'session', '', 0, '', 0, 'c-1', 'src/' || n, 0, 't-' || n, ''",
        "place SELECT p.id, 'w-' || n, n, 'a' || n, 'path', 'exclusive', 'c-1', 0, '[]', '', 1, n, 1000000, 1000000, 'ended', 2, 'lapsed'",
        "hold SELECT p.id, 'h-l' || n, 'name', 'lock ' || n, 'exclusive', 'a' || n, n, 1, 9000000000000000000, 1000000, 'session', '', 0, '', 0, '', '', 0, '', ''",
        "hold SELECT p.id, 'h-o' || n, 'path', 'old/' || n, 'exclusive', 'a' || n, n, 1, 2, 1000000, 'session', '', 2, 'expired', 0, 'c-1', 'old/' || n, 0, '', ''",
        "hold SELECT p.id, 'h-t' || n, 'task', 'other ' || n, 'exclusive', 'a' || n, n, 1, 9000000000000000000, 1000000, 'session', '', 0, '', 0, '', '', 0, '', ''",
        "hold SELECT p.id, 'h-b' || n, 'path', 'once/' || n, 'exclusive', 'busy', n, 1, 2, 1000000, 'session', '', 2, 'expired', 0, 'c-1', 'once/' || n, 0, '', ''",
        "session SELECT p.id, 'h', 'b', 'n', n, n, 'claude', 's' || n, 'a' || n, n, 0, 0, 0, 0",
        "touched SELECT p.id, 't-' || n, 'c-1', 'src/' || n, 'a' || n, 1, n",
        "message SELECT p.id, 'g-' || n, n, 'a', '[]', '', 'h-' || n, 'normal', 1, 'x', n, 0, '', ''",
        "mail SELECT p.id, 'a' || n, n, 'g-' || n, 'message', 0",
        "delivery SELECT p.id, 'a' || n, n, n, n, n",
        "memory SELECT p.id, 'm-' || n, 'project', '', 'k' || n, CASE WHEN n % 50 = 0 THEN 'directive' ELSE 'fact' END, 'x',
             CASE WHEN n % 200 = 0 THEN 1 ELSE 0 END, 'a', '', n, 1, 1, 1, n, 0",
        "memory SELECT p.id, 'm-a-' || n, 'agent', 'a' || n, 'k', 'directive', 'x', 1, 'a', '', n, 1, 1, 1, n, 0",
        "memory_term SELECT p.id, 'project', '', 'w' || (n % 100), 'm-' || n, 1",
        "memory_scope SELECT p.id, 'agent', 'a' || n, 1, 1",
        "artifact SELECT p.id, 'n-' || n, 0, 't-' || n, n, 'p', 'file', '', 1",
    ];
    for rows in many {
        let insert = format!("INSERT INTO {rows} FROM project p");
        let count = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000)";
        let sqlite = format!("{count} {insert}, c");
        execute(&world.kernel, &sqlite, &format!("{insert}, generate_series(1, 20000) n")).unwrap();
    }
    ids
}

/// Analyses the tables of this world. Without names, PostgreSQL would analyse the tables of all worlds, which other
/// cases are filling.
pub(super) fn analyse(world: &World) {
    let tables: Vec<&str> = TABLES.iter().map(|(table, _)| *table).collect();
    execute(&world.kernel, "ANALYZE", &format!("ANALYZE {}", tables.join(", "))).unwrap();
}

/// The plans of statements, right after the rows were inserted and again after ANALYZE. SQLite is never analysed.
fn plans(world: &World, statements: &[(Sql, Vec<Value>)]) -> Vec<(Sql, String)> {
    let explain = |(sql, args): &(Sql, Vec<Value>)| (*sql, world.kernel.store().explain(*sql, args).unwrap());
    let mut plans: Vec<_> = statements.iter().map(explain).collect();
    if world.engine == Engine::Postgres {
        analyse(world);
        plans.extend(statements.iter().map(explain));
    }
    plans
}

/// The tables that grow. A plan may scan a given list, never one of these.
const GROWING: [&str; 19] = [
    "place",
    "session",
    "touched",
    "task",
    "task_label",
    "dep",
    "hold",
    "note",
    "event",
    "request",
    "agent",
    "shown",
    "memory",
    "memory_term",
    "memory_scope",
    "artifact",
    "delivery",
    "message",
    "mail",
];

/// No plan may scan a whole table, or all of a project.
fn assert_ranged(engine: Engine, plan: &str, sql: Sql) {
    let lines: Vec<&str> = plan.lines().map(str::trim).collect();
    for (at, line) in lines.iter().enumerate() {
        let walks = match engine {
            Engine::Postgres => {
                let index = line.contains("Index") && line.contains("Scan") && !line.contains("Bitmap Heap");
                let condition = lines.get(at + 1).and_then(|next| next.strip_prefix("Index Cond: "));
                let narrow = condition.is_some_and(|condition| condition.contains(" AND "));
                // Without statistics, the indexes of live holds may be scanned: their length is bounded by the number
                // of working agents.
                let live = line.contains("using hold_") && !line.contains("hold_pkey");
                // A project has one id, so one condition is sufficient.
                let is_key = line.contains("using project_id ");
                line.contains("Seq Scan on") || (index && !narrow && !live && !is_key)
            }
            _ => {
                let scanned = line.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
                let aliased = ["t", "h", "a", "d", "f", "e", "x", "m", "s"];
                let grows = scanned.is_some_and(|table| GROWING.contains(&table) || aliased.contains(&table));
                grows || line.contains("(project=?)")
            }
        };
        assert!(!walks, "{line}\n{plan}\n{}", sql.sqlite);
    }
}

/// Every statement on the memories of a scope.
fn remembered(tx: &mut dyn Tx, p: &str, scope: &MemoryScope) -> Result<()> {
    let now = Time(5);
    let row = memory::under(tx, p, scope, "k")?.unwrap_or(memory::Row {
        id: "m-7".into(),
        scope: scope.clone(),
        key: "k7".into(),
        kind: MemoryKind::Fact,
        text: "x".into(),
        pinned: false,
        author: "a".into(),
        task: None,
        number: EventNumber::new(7),
        version: 1,
        words: 1,
        created_at: now,
        updated_at: now,
        expires_at: None,
    });
    memory::get(tx, p, "m-7")?;
    memory::get_many(tx, p, &["m-7".into(), "m-8".into()])?;
    memory::beginning(tx, p, "m-7", 11)?;
    memory::newest(tx, p, scope, now, (now, "m-7"), 30)?;
    memory::pinned(tx, p, scope, now, 30)?;
    memory::directives(tx, p, scope, now, 30)?;
    tx.fetch((
        memory::having(p, scope, "w7", 100),
        memory::sums(p, scope),
        memory::weights(p, &["m-7".into(), "m-8".into()]),
    ))?;
    memory::set_pinned(tx, p, "m-7", true)?;
    memory::put(tx, p, &row, &[("w7".to_owned(), 1)], Some(&row))?;
    memory::delete(tx, p, &row)
}

/// Every statement on the waiting line, except those of a restore and of a clock step.
fn waited_for(tx: &mut dyn Tx, p: &str) -> Result<()> {
    let place = place::get(tx, p, "w-7")?.expect("a place");
    place::of_agent(tx, p, "a7")?;
    place::update(tx, p, &place)?;
    place::end(tx, p, "w-7", Time(5), "left")?;
    tx.fetch((place::line(p), place::due(p, Time(5)), place::exists(p, "w-7")))?;
    // Pruning, which deletes it with old events.
    event::drop_below(tx, p, EventNumber::new(5)).map(drop)
}

/// The statements of guards, besides the holds around their files.
fn guarded(tx: &mut dyn Tx, p: &str) -> Result<()> {
    let now = Time(5);
    let files = ["src/7", "src/8"].map(str::to_owned);
    let process = Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid: 7, started: 7 };
    let (task, checkout, agent) = ("t-7".into(), "c-1".into(), "a7".into());
    let place = edited_file::EditedFile { task: Some(&task), checkout: Some(&checkout), agent: &agent };
    edited_file::since(tx, p, &place, &files, now)?;
    edited_file::by_others(tx, p, ("c-1", "a7"), &files, now)?;
    edited_file::put(tx, p, &place, &files, now)?;
    hold::renewal_due(tx, p, "a7", now)?;
    path::set_mode(tx, p, "h-p7", Mode::Shared)?;
    path::count(tx, p, "a7", now)?;
    path::count_own(tx, p, "a7", now, 100_000)?;
    lock::count(tx, p, "a7", now)?;
    session::of_agent(tx, p, "a7")?;
    session::among(tx, p, &process, &[7, 8])?;
    session::of_holders(tx, p, "h")?;
    // A machine without agents, and one with all of them.
    for host in ["h", ""] {
        agent::holders(tx, p, host)?;
        agent::waiters(tx, p, host)?;
    }
    session::live_of(tx, p, &["a7".into()])?;
    tx.fetch((session::of_process(p, &process, "claude"), session::of_id(p, "claude", "s7"))).map(drop)
}

/// The lookups of ops and queries. Inserts of given rows have no relevant plan.
fn looked_for(world: &World, ids: &[String]) -> Vec<(Sql, Vec<Value>)> {
    let now = Time(i64::MAX / 4);
    let some: Vec<TaskId> = ids[..20].iter().map(|id| id.as_str().into()).collect();
    let agents: Vec<AgentName> = ids[..20].iter().map(|id| id.as_str().into()).collect();
    let checkout = "c-1".into();
    let mut statements = record(world, |tx, p| {
        let id = ids[0].as_str();
        let full = tx.fetch(task::get(p, id))?.unwrap();
        task::get_many(tx, p, &some)?;
        task::existing(tx, p, &some)?;
        agent::whereabouts(tx, p, &agents)?;
        task::beginning(tx, p, "t-7", 11)?;
        task::update(tx, p, &full.task)?;
        hold::get(tx, p, "h-1")?;
        hold::beginning(tx, p, "h-7", 11)?;
        hold::renew_session(tx, p, "agent-1", now)?;
        hold::renew(tx, p, "h-1", now, tenure_core::Span::seconds(60))?;
        hold::end(tx, p, "h-1", now, Ending::Released)?;
        hold::summary(tx, p, now, &[])?;
        hold::summary(tx, p, now, &["agent-1".into()])?;
        event::kinds(tx, p, "t-1", RANGE, 20)?;
        hold::of_holder(tx, p, "agent-1", "", 50)?;
        let starts = ["", "s", "src/"].map(str::to_owned);
        tx.fetch((
            path::shorter(p, &[None, Some(&checkout)], &starts),
            path::longer(p, Some(&checkout), "src/1", "src/2"),
            path::of_tasks(p, &some),
        ))?;
        path::last_of_task(tx, p, id, (Some(7.into()), &"a".into()))?;
        path::past_of(tx, p, "a7", 1_000)?;
        path::unanchored(tx, p, "agent-1", now)?;
        tx.fetch(lock::live(p, "lock 7"))?;
        waited_for(tx, p)?;
        guarded(tx, p)?;
        lock::renew(tx, p, "h-1", (now, tenure_core::Span::seconds(60)), "")?;
        path::task_ends(tx, p, &some)?;
        let past = ["", "o", "old/7"].map(str::to_owned);
        tx.fetch((
            path::lost(p, "agent-1", &past, 100),
            path::lost(p, "busy", &past, 100),
            path::lost_below(p, "agent-1", ("old/", "old0"), 100),
            path::lost_below(p, "busy", ("old/", "old0"), 100),
            path::lost_below(p, "busy", ("once/77", "once/78"), 100),
        ))?;
        lock::last_of(tx, p, "lock 7", "agent-1")?;
        place::beginning(tx, p, "w-7", 11)?;
        note::beginning(tx, p, "n-7", 11)?;
        message::get(tx, p, "g-7")?;
        message::beginning(tx, p, "g-7", "agent-1", 11)?;
        message::beginning(tx, p, "g-", "a", 11)?;
        path::renewed_by_edits(tx, p, "h-1")?;
        path::renew_with_task(tx, p, id, now, tenure_core::Span(1), (now, tenure_core::Span::seconds(60)))?;
        tx.fetch(agent::get(p, "agent-1"))?;
        agent::seen(tx, p, "agent-1", now)?;
        agent::set_focus(tx, p, "agent-1", id)?;
        agent::clear_focus(tx, p, "agent-1", id)?;
        agent::mark_gone(tx, p, "agent-1")?;
        tx.fetch(dep::of(p, &some))?;
        tx.fetch(dep::of_one(p, id))?;
        dep::dependents(tx, p, id, 100)?;
        // PostgreSQL cannot know the depth of a graph and may correctly hash all edges once; this query is for people.
        if world.engine == Engine::File {
            dep::reachable(tx, p, &some)?;
        }
        dep::after_these(tx, p, &some)?;
        task::blockers(tx, p, &some)?;
        dep::shift(tx, p, id, 0, 0)?;
        dep::clear(tx, p, id)?;
        label::put(tx, p, &full.task)?;
        label::set_ready(tx, p, &some, true)?;
        note::newest(tx, p, id, 100)?;
        event::time_at(tx, p, EventNumber::new(100))?;
        shown_fence::put(tx, p, "agent-1", id, 7.into())?;
        checkout::forget(tx, p, "h", "/x")?;
        let text = |text: &str| text.to_owned();
        let (host, path, common_path) = (text("h"), text("/y"), text("/z"));
        let row = checkout::Row { host, path, id: text("c-1").into(), common_path, common_device: 1, common_inode: 2 };
        checkout::follow(tx, p, "/x", &row)?;
        hold::ask(tx, p, "h-1")?;
        message::about_hold(tx, p, "h-1")?;
        message::waiting(tx, p, Time(100), 100)?;
        message::end(tx, p, "g-1", now, "done", "a")?;
        mail::of_message(tx, p, "a7", "g-7")?;
        mail::beginning(tx, p, "a7", "g-7", 11)?;
        mail::ack(tx, p, "a7", EventNumber::new(7), now)?;
        mail::renew(tx, p, "a7", "g-7", EventNumber::new(7))?;
        hold::all_of_holder(tx, p, "agent-1")?;
        tx.fetch(hold::longest(p, &["a7".into(), "a8".into()], Time(5)))?;
        tx.fetch(delivery::get(p, "a7"))?;
        artifact::newest(tx, p, "t-7", 20)?;
        remembered(tx, p, &MemoryScope::Project)?;
        remembered(tx, p, &MemoryScope::Agent("a7".into()))?;
        request::prune(tx, p, now)?;
        let key = request::Key { project: p, actor: "a", op: "add", request_id: "r" };
        tx.fetch((request::get(&key), shown_fence::get(p, "agent-1", id), hold::due(p, now, 64)))?;
        tx.fetch((task::TaskStream::Due(now).page(p, &Rank::start(), 64), task::snoozed(p, now), task::due(p, now)))?;
        tx.fetch((hold::exists(p, "h-1"), note::exists(p, "n-1"), message::exists(p, "g-1"), task::exists(p, id)))?;
        tx.fetch((delivery::get(p, "a7"), mail::unread(p, "a7", 21), mail::count_unread(p, "a7", 1_001)))?;
        let mut near = Locations::default();
        near.only("/");
        near.between("/repo/".to_owned(), "/repo0".to_owned());
        tx.fetch((agent::due(p, now, now), checkout::of_host(p, "h"), checkout::at("h", &near)))?;
        Ok(())
    });
    assert!(statements.len() > 36, "{}", statements.len());
    statements.retain(|(sql, _)| !sql.sqlite.trim_start().starts_with("INSERT"));
    statements
}

fn hot_statements(world: &World) {
    let ids = fill(world);
    for (sql, plan) in plans(world, &looked_for(world, &ids)) {
        assert_ranged(world.engine, &plan, sql);
    }
}

/// The pages that a statement read, and the rows it found or changed. Rows below an aggregate do not count as found: a
/// statement that wants the first of them must seek to it. A statement that counts must read what it counts.
fn pages(sql: Sql, run: &str) -> (u64, u64) {
    let number = |text: &str, name: &str| {
        let rest = text.split(name).nth(1).unwrap_or("0");
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap_or(0)
    };
    // The first line covers the whole statement, and so does the first line with buffers.
    let all = run.lines().take_while(|line| *line != "Planning:").find(|line| line.contains("Buffers:")).unwrap_or("");
    let counts = sql.postgres.contains("COUNT(");
    // The indentation of the enclosing aggregate.
    let mut aggregate: Option<usize> = None;
    let mut most = 0;
    for line in run.lines().filter(|line| line.contains("(actual rows=") || line.contains("(never executed)")) {
        let depth = line.len() - line.trim_start().len();
        aggregate = aggregate.filter(|above| depth > *above);
        if aggregate.is_none() {
            most = most.max(number(line, "actual rows=") * number(line, "loops=").max(1));
        }
        if aggregate.is_none() && !counts && line.contains("Aggregate ") {
            aggregate = Some(depth);
        }
    }
    (number(all, "hit=") + number(all, "read="), most)
}

/// The maximum number of pages beyond those of the found rows. An index descent is three or four pages, and a statement
/// makes several. The explanation of a lost hold scans a thousand rows, which are about forty pages.
const MOST: u64 = 60;

/// A found row costs one or two pages, a changed row one more in each index. A statement that reads many more pages
/// than that has scanned the table. Checked with and without statistics.
fn few_pages(world: &World) {
    let ids = fill(world);
    read_few_pages(world, &looked_for(world, &ids));
}

/// The holders are found by skipping from one to the next, however many holds each has.
fn few_holders(world: &World) {
    world.add("one");
    for (rows, count) in [
        ("agent SELECT p.id, 'a' || n, '', 1, n, 0, 1, '', '', '', '', 0, 0, 0, ''", 20_000),
        ("agent SELECT p.id, 'h' || n, '', 1, n, 0, 0, '', 'h', '', '', 0, 0, 0, ''", 2),
        ("session SELECT p.id, 'h', 'b', 'n', n, n, 'claude', 's' || n, 'a' || n, n, 0, 0, 0, 0", 20_000),
        ("session SELECT p.id, 'h', 'c', 'n', n, n, 'claude', 'h' || n, 'h' || n, n, 0, 0, 0, 0", 2),
        (
            "hold SELECT p.id, 'h-p' || n, 'path', 'src/' || n, 'exclusive', 'h' || (1 + n % 2), n, 1, 9000000000000000000, \
             1000000, 'session', '', 0, '', 0, 'c-1', 'src/' || n, 0, '', ''",
            20_000,
        ),
    ] {
        execute(&world.kernel, "", &format!("INSERT INTO {rows} FROM project p, generate_series(1, {count}) n"))
            .unwrap();
    }
    let statements = record(world, |tx, p| {
        assert_eq!(agent::holders(tx, p, "h")?.len(), 2);
        assert_eq!(session::of_holders(tx, p, "h")?.len(), 2);
        Ok(())
    });
    read_few_pages(world, &statements);
}

fn read_few_pages(world: &World, statements: &[(Sql, Vec<Value>)]) {
    let mut walked = Vec::new();
    for analysed in [false, true] {
        if analysed {
            analyse(world);
        }
        for (sql, args) in statements {
            let run = world.kernel.store().explain_run(*sql, args).unwrap().unwrap();
            let (read, rows) = pages(*sql, &run);
            if read > MOST + 12 * rows {
                walked.push(format!("{read} pages for {rows} rows (analysed: {analysed}):\n{}\n{run}", sql.postgres));
            }
        }
    }
    assert!(walked.is_empty(), "{}", walked.join("\n\n"));
}

/// The index returns the rows in the requested order, so a page has a constant cost.
fn lists_are_ordered(world: &World) {
    fill(world);
    let start = Rank { priority: 1, number: 7, id: "t-1".into() };
    let of = |stream: task::TaskStream| record(world, |tx, p| tx.fetch(stream.page(p, &start, 20)).map(drop));
    let events = |filter: event::EventFilter, newest_first: bool| {
        record(world, |tx, p| tx.fetch(event::page(p, &filter, RANGE, newest_first, 20)).map(drop))
    };
    let text = |word: &str| word.to_owned();
    let all = MemoryScope::Project;
    let mut pages = vec![
        ("task_state", of(task::TaskStream::Status(TaskStatus::Open, true))),
        ("task_state", of(task::TaskStream::Status(TaskStatus::Open, false))),
        ("task_state", of(task::TaskStream::Status(TaskStatus::Done, false))),
        ("task_label_pkey", of(task::TaskStream::Label(text("x"), TaskStatus::Open, true))),
        ("task_assigned", of(task::TaskStream::Assigned(text("agent-1").into()))),
        ("task_stuck", of(task::TaskStream::Stuck)),
        ("task_ready", of(task::TaskStream::ReadyFor(None))),
        ("hold_due", record(world, |tx, p| tx.fetch(hold::page(p, None, (Time(5), "h-1"), 20)).map(drop))),
        ("hold_due", record(world, |tx, p| tx.fetch(hold::due(p, Time(5), 64)).map(drop))),
        ("hold_holder", record(world, |tx, p| hold::of_holder(tx, p, "agent-1", "h-1", 20).map(drop))),
        ("hold_name", record(world, |tx, p| lock::newest(tx, p, "lock 7", 20).map(drop))),
        ("place_line", record(world, |tx, p| tx.fetch(place::line(p)).map(drop))),
        ("place_due", record(world, |tx, p| tx.fetch(place::due(p, Time(5))).map(drop))),
        ("place_agent", record(world, |tx, p| place::of_agent(tx, p, "a7").map(drop))),
        ("hold_holder", record(world, |tx, p| hold::renewal_due(tx, p, "agent-1", Time(5)).map(drop))),
        ("hold_past", record(world, |tx, p| path::past_of(tx, p, "agent-1", 20).map(drop))),
        ("hold_story", record(world, |tx, p| tx.fetch(path::past(p, "old/7", 20)).map(drop))),
        ("hold_story", record(world, |tx, p| tx.fetch(path::past_below(p, "old/", "old0", 20)).map(drop))),
        ("touched_path", record(world, |tx, p| edited_file::of_path(tx, p, "src/7", 20).map(drop))),
        ("touched_path", record(world, |tx, p| edited_file::below(tx, p, "src/7", 20).map(drop))),
        ("agent_pkey", record(world, |tx, p| agent::list(tx, p, "agent-1", 20).map(drop))),
        ("agent_seen", record(world, |tx, p| tx.fetch(agent::due(p, Time(5), Time(5))).map(drop))),
        ("mail_pkey", record(world, |tx, p| tx.fetch(mail::unread(p, "a7", 20)).map(drop))),
        ("message_open", record(world, |tx, p| message::waiting(tx, p, Time(5), 20).map(drop))),
        ("message_hold", record(world, |tx, p| message::about_hold(tx, p, "h-7").map(drop))),
        ("note_task", record(world, |tx, p| note::newest(tx, p, "t-1", 20).map(drop))),
        ("task_last_holder", of(task::TaskStream::Last(text("agent-1").into(), TaskStatus::Open))),
        ("task_last_holder", of(task::TaskStream::Last(text("agent-1").into(), TaskStatus::Blocked))),
        (
            "memory_newest",
            record(world, |tx, p| memory::newest(tx, p, &all, Time(5), (Time(900), "m-1"), 20).map(drop)),
        ),
        ("memory_pinned", record(world, |tx, p| memory::pinned(tx, p, &all, Time(5), 20).map(drop))),
        ("memory_directive", record(world, |tx, p| memory::directives(tx, p, &all, Time(5), 20).map(drop))),
        ("memory_term_pkey", record(world, |tx, p| tx.fetch(memory::having(p, &all, "w7", 20)).map(drop))),
        ("event_actor", record(world, |tx, p| event::remarks(tx, p, "agent-1", 64).map(drop))),
        ("artifact_task", record(world, |tx, p| artifact::newest(tx, p, "t-1", 20).map(drop))),
    ];
    for newest_first in [false, true] {
        let some = event::EventFilter::default;
        pages.extend([
            ("event_pkey", events(some(), newest_first)),
            ("event_subject", events(event::EventFilter { subject: Some(text("t-1")), ..some() }, newest_first)),
            ("event_actor", events(event::EventFilter { actor: Some("agent-1".into()), ..some() }, newest_first)),
            ("event_kind", events(event::EventFilter { kind: Some(text("task.done")), ..some() }, newest_first)),
            ("event_hold", events(event::EventFilter { hold: Some("h-1".into()), ..some() }, newest_first)),
        ]);
    }
    let (indexes, statements): (Vec<_>, Vec<_>) = pages.into_iter().unzip();
    let statements: Vec<_> = statements.into_iter().flatten().collect();
    assert_eq!(indexes.len(), statements.len(), "a page is one statement");
    for ((sql, plan), index) in plans(world, &statements).into_iter().zip(indexes.iter().cycle()) {
        assert_ranged(world.engine, &plan, sql);
        // On SQLite the primary key of a clustered table is the table itself.
        let index = match world.engine {
            Engine::Postgres => index,
            _ if index.ends_with("_pkey") => "PRIMARY KEY",
            _ => index,
        };
        assert!(plan.contains(index), "{index} is not used:\n{plan}\n{}", sql.sqlite);
        let sorts = match world.engine {
            Engine::Postgres => plan.contains("Sort"),
            _ => plan.contains("TEMP B-TREE"),
        };
        assert!(!sorts, "{index} gives no order:\n{plan}\n{}", sql.sqlite);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plan of a MIN without statistics.
    const WALK: &str = "Limit (actual rows=1 loops=1)
  Buffers: shared hit=40190 read=2
  CTE found
    ->  Recursive Union (actual rows=2 loops=1)
          ->  Aggregate (actual rows=1 loops=1)
                ->  Index Only Scan using hold_holder on hold (actual rows=20000 loops=1)
                      Index Cond: (project = 'p'::text)
          ->  WorkTable Scan on found (actual rows=1 loops=3)
Planning:
  Buffers: shared hit=431";

    #[test]
    fn rows_below_an_aggregate_are_not_found() {
        assert_eq!(pages(Sql::same("SELECT MIN(holder) FROM hold"), WALK), (40_192, 3));
        assert_eq!(pages(Sql::same("SELECT COUNT(*) FROM hold"), WALK), (40_192, 20_000));
    }
}
