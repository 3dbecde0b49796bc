//! Counts the round trips of an op to PostgreSQL. All but the first hold the project's lock.

use tenure_core::agent::Process;
use tenure_core::session::Start;
use tenure_kernel::op::{claim, resume, session_start, tool_used};
use tenure_kernel::query;
use tenure_kernel::query::standing::{Depth, Standing};
use tenure_kernel::{Actor, Call, Door, Op};
use tenure_store::Location;
use tenure_testkit::pg;

use crate::caller::{Caller, adding, claiming, finishing, noting};
use crate::table::Table;

pub(crate) fn trips() -> Table {
    let mut table = Table::new("Round trips of an op on PostgreSQL", &["op", "round trips", "at most"]);
    let schema = pg::server().fresh_schema();
    let caller = Caller::new(&Location::Postgres(pg::server().url(&schema)), "p", "agent");
    // Two rounds, because the first call of an agent also registers it.
    for last in [false, true] {
        let tasks = [caller.add(), caller.add()];
        let ops = [
            ("`add`", adding()),
            ("`claim ID`", claiming(&tasks[0])),
            ("`note ID`", noting(&tasks[0])),
            ("`done ID`", finishing(&tasks[0])),
            ("`claim`", Op::new(claim::Claim::default())),
        ];
        for (name, op) in ops {
            let before = caller.kernel.store().round_trips();
            caller.run(&op);
            let trips = caller.kernel.store().round_trips() - before;
            if last {
                table.rows.push(vec![name.to_owned(), trips.to_string(), "8".to_owned()]);
            }
        }
    }
    hooks(&caller, &mut table);
    pg::server().batch(&format!("DROP SCHEMA {schema} CASCADE"));
    table
}

/// The queries and ops of a session's hooks. Only round trips under the lock have a bound.
fn hooks(caller: &Caller, table: &mut Table) {
    let process = Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid: 1, started: 1 };
    let actor = Actor {
        name: "claude-s".into(),
        tool: "claude".into(),
        process: Some(process),
        door: Door::Hook,
        principal: None,
    };
    let call = || Call { actor: actor.clone(), ..caller.call() };
    let (tool, session) = ("claude".to_owned(), "s".to_owned());
    let says = tool_used::ToolUsed { tool: tool.clone(), session: session.clone(), ..tool_used::ToolUsed::default() };
    let event = "SessionStart".to_owned();
    let start = |source| {
        let (tool, session, event) = (tool.clone(), session.clone(), event.clone());
        Op::new(session_start::SessionStart { tool, session, source, given: false, event })
    };
    let kernel = &caller.kernel;
    kernel.run(&call(), &start(Start::Startup)).unwrap();
    kernel.run(&call(), &claiming(&caller.add())).unwrap();
    let request = resume::Resume::default();
    let look = |depth| Standing { says: says.clone(), given: None, depth };
    let mut count = |name: &str, most: &str, work: &dyn Fn()| {
        let before = kernel.store().round_trips();
        work();
        let trips = kernel.store().round_trips() - before;
        table.rows.push(vec![name.to_owned(), trips.to_string(), most.to_owned()]);
    };
    count("`SessionStart`: who it is", "", &|| drop(kernel.ask(&call(), &look(Depth::Who)).unwrap()));
    count("`SessionStart`: the op", "8", &|| drop(kernel.run(&call(), &start(Start::Compact)).unwrap()));
    count("`SessionStart`: its brief", "", &|| {
        drop(kernel.ask(&call(), &query::beginning::Beginning { request: request.clone(), ready: 3 }).unwrap());
    });
    count("`SessionStart`: what is ready", "", &|| {
        drop(kernel.ask(&caller.call(), &query::beginning::Beginning { request: request.clone(), ready: 3 }).unwrap());
    });
    count("`PostToolUse` with nothing new", "", &|| drop(kernel.ask(&call(), &look(Depth::News)).unwrap()));
    count("`resume --peek`", "", &|| drop(kernel.ask(&call(), &query::peek::Peek(request.clone())).unwrap()));
    count("`resume`", "", &|| drop(kernel.run(&call(), &Op::new(request.clone())).unwrap()));
}
