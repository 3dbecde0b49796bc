//! How often an op waits for PostgreSQL: each time with the project's lock, but for the first.

use tenure_kernel::Op;
use tenure_kernel::op::claim;
use tenure_store::Location;
use tenure_testkit::pg;

use crate::caller::{Caller, adding, claiming, finishing, noting};
use crate::table::Table;

pub(crate) fn trips() -> Table {
    let mut table = Table::new("Round trips of an op on PostgreSQL", &["op", "round trips", "at most"]);
    let schema = pg::server().fresh_schema();
    let caller = Caller::new(&Location::Postgres(pg::server().url(&schema)), "p", "agent");
    // Twice: the first call of an agent also registers it.
    for last in [false, true] {
        let tasks = [caller.add(), caller.add()];
        let ops = [
            ("`add`", adding()),
            ("`claim ID`", claiming(&tasks[0])),
            ("`note ID`", noting(&tasks[0])),
            ("`done ID`", finishing(&tasks[0])),
            ("`claim`", Op::Claim(claim::Request::default())),
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
    pg::server().batch(&format!("DROP SCHEMA {schema} CASCADE"));
    table
}
