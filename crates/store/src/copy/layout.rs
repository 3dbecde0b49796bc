//! The tables with their columns and keys, and the statements that copy all rows. Columns are listed explicitly:
//! anything else in a file is ignored.

use std::sync::OnceLock;

use crate::tx::{Row, Sql, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Never null.
    Text(&'static str),
    /// A number; null if the schema allows it.
    Int(&'static str),
}

impl Column {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Text(name) | Int(name) => name,
        }
    }
}

use Column::{Int, Text};

#[derive(Debug)]
pub(crate) struct TableLayout {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [Column],
    /// The primary key, which is the order in which rows are read.
    pub(crate) key: &'static [&'static str],
}

/// All tables. `store` and `project` come first, so that a reader of a copy learns early whose it is.
pub(crate) const TABLES: [TableLayout; 29] = [
    TableLayout {
        name: "store",
        columns: &[Int("one"), Text("id"), Text("incarnation"), Int("schema_version"), Int("created_at"), Text("file")],
        key: &["one"],
    },
    TableLayout {
        name: "project",
        columns: &[
            Text("id"),
            Text("key"),
            Text("label"),
            Int("schema_version"),
            Int("first_event"),
            Int("last_event"),
            Int("last_time"),
            Int("last_task"),
            Int("holds_issued"),
            Int("tasks_ready"),
            Int("tasks_waiting"),
            Int("tasks_stuck"),
            Int("tasks_started"),
            Int("tasks_blocked"),
            Int("tasks_done"),
            Int("tasks_cancelled"),
            Int("created_at"),
            Int("events"),
            Int("off_until"),
            Text("off_by"),
            Int("waiting"),
        ],
        key: &["key"],
    },
    TableLayout {
        name: "checkout",
        columns: &[
            Text("project"),
            Text("host"),
            Text("path"),
            Text("id"),
            Text("common_path"),
            Int("common_device"),
            Int("common_inode"),
            Int("created_at"),
        ],
        key: &["project", "host", "path"],
    },
    TableLayout {
        name: "agent",
        columns: &[
            Text("project"),
            Text("name"),
            Text("tool"),
            Int("registered_at"),
            Int("last_seen"),
            Int("ended_at"),
            Int("gone"),
            Text("focus"),
            Text("host"),
            Text("boot"),
            Text("pidns"),
            Int("pid"),
            Int("started"),
            Int("mcp"),
            Text("owner"),
        ],
        key: &["project", "name"],
    },
    TableLayout {
        name: "task",
        columns: &[
            Text("project"),
            Text("id"),
            Int("number"),
            Text("title"),
            Text("description"),
            Text("acceptance"),
            Int("priority"),
            Text("labels"),
            Text("assignee"),
            Text("status"),
            Int("ready"),
            Text("reason"),
            Text("blocked_on"),
            Int("deps"),
            Int("unmet"),
            Int("cancelled_deps"),
            Int("attempt"),
            Int("version"),
            Int("last_fence"),
            Text("last_holder"),
            Int("lapsed"),
            Text("created_by"),
            Int("created_at"),
            Int("updated_at"),
            Text("finished_by"),
            Int("finished_at"),
            Int("not_before"),
        ],
        key: &["project", "id"],
    },
    TableLayout {
        name: "task_label",
        columns: &[
            Text("project"),
            Text("label"),
            Text("status"),
            Int("ready"),
            Int("priority"),
            Int("number"),
            Text("task"),
        ],
        key: &["project", "label", "status", "ready", "priority", "number", "task"],
    },
    TableLayout {
        name: "task_word",
        columns: &[Text("project"), Text("word"), Text("task"), Int("noted")],
        key: &["project", "word", "task", "noted"],
    },
    TableLayout {
        name: "dep",
        columns: &[Text("project"), Text("task"), Text("after")],
        key: &["project", "task", "after"],
    },
    TableLayout {
        name: "hold",
        columns: &[
            Text("project"),
            Text("id"),
            Text("kind"),
            Text("subject"),
            Text("mode"),
            Text("holder"),
            Int("fence"),
            Int("granted_at"),
            Int("expires_at"),
            Int("ttl"),
            Text("renewal"),
            Text("reason"),
            Int("ended_at"),
            Text("ended_how"),
            Int("asked"),
            Text("checkout"),
            Text("prefix"),
            Int("folded"),
            Text("task"),
            Text("place"),
        ],
        key: &["project", "id"],
    },
    TableLayout {
        name: "place",
        columns: &[
            Text("project"),
            Text("id"),
            Int("ticket"),
            Text("agent"),
            Text("kind"),
            Text("mode"),
            Text("checkout"),
            Int("folded"),
            Text("wanted"),
            Text("reason"),
            Int("queued_at"),
            Int("expires_at"),
            Int("ttl"),
            Int("offer_ttl"),
            Text("state"),
            Int("ended_at"),
            Text("ended_how"),
        ],
        key: &["project", "id"],
    },
    TableLayout {
        name: "shown",
        columns: &[Text("project"), Text("agent"), Text("task"), Int("fence")],
        key: &["project", "agent", "task"],
    },
    TableLayout {
        name: "note",
        columns: &[
            Text("project"),
            Text("id"),
            Text("task"),
            Int("number"),
            Text("agent"),
            Int("at"),
            Text("text"),
            Text("data"),
            Int("late"),
            Text("head"),
        ],
        key: &["project", "id"],
    },
    TableLayout {
        name: "memory",
        columns: &[
            Text("project"),
            Text("id"),
            Text("scope"),
            Text("subject"),
            Text("key"),
            Text("kind"),
            Text("text"),
            Int("pinned"),
            Text("author"),
            Text("task"),
            Int("number"),
            Int("version"),
            Int("words"),
            Int("created_at"),
            Int("updated_at"),
            Int("expires_at"),
        ],
        key: &["project", "id"],
    },
    TableLayout {
        name: "memory_term",
        columns: &[Text("project"), Text("scope"), Text("subject"), Text("term"), Text("memory"), Int("count")],
        key: &["project", "scope", "subject", "term", "memory"],
    },
    TableLayout {
        name: "memory_scope",
        columns: &[Text("project"), Text("scope"), Text("subject"), Int("memories"), Int("words")],
        key: &["project", "scope", "subject"],
    },
    TableLayout {
        name: "artifact",
        columns: &[
            Text("project"),
            Text("note"),
            Int("position"),
            Text("task"),
            Int("number"),
            Text("path"),
            Text("kind"),
            Text("sha256"),
            Int("size"),
        ],
        key: &["project", "note", "position"],
    },
    TableLayout {
        name: "delivery",
        columns: &[
            Text("project"),
            Text("agent"),
            Int("offered"),
            Int("confirmed"),
            Int("mail_offered"),
            Int("mail_confirmed"),
        ],
        key: &["project", "agent"],
    },
    TableLayout {
        name: "message",
        columns: &[
            Text("project"),
            Text("id"),
            Int("number"),
            Text("author"),
            Text("recipients"),
            Text("about"),
            Text("hold"),
            Text("urgency"),
            Int("request"),
            Text("text"),
            Int("at"),
            Int("ended_at"),
            Text("ended_how"),
            Text("ended_by"),
            Text("reply_to"),
            Text("thread"),
        ],
        key: &["project", "id"],
    },
    TableLayout {
        name: "mail",
        columns: &[Text("project"), Text("recipient"), Int("number"), Text("message"), Text("what"), Int("acked_at")],
        key: &["project", "recipient", "number"],
    },
    TableLayout {
        name: "session",
        columns: &[
            Text("project"),
            Text("host"),
            Text("boot"),
            Text("pidns"),
            Int("pid"),
            Int("started"),
            Text("tool"),
            Text("session"),
            Text("agent"),
            Int("began_at"),
            Int("ended_at"),
            Int("told_at"),
            Int("shortened_at"),
            Int("again_at"),
        ],
        key: &["project", "host", "boot", "pidns", "pid", "started", "tool", "session"],
    },
    TableLayout {
        name: "touched",
        columns: &[
            Text("project"),
            Text("task"),
            Text("checkout"),
            Text("path"),
            Text("agent"),
            Int("first_at"),
            Int("last_at"),
        ],
        key: &["project", "task", "checkout", "path", "agent"],
    },
    TableLayout {
        name: "fired",
        columns: &[Text("project"), Text("tool"), Text("event"), Int("at")],
        key: &["project", "tool", "event"],
    },
    TableLayout {
        name: "event",
        columns: &[
            Text("project"),
            Int("number"),
            Int("at"),
            Text("kind"),
            Text("actor"),
            Text("subject"),
            Text("hold"),
            Text("op"),
            Text("request_id"),
            Int("cause"),
            Text("data"),
        ],
        key: &["project", "number"],
    },
    TableLayout {
        name: "request",
        columns: &[
            Text("project"),
            Text("actor"),
            Text("op"),
            Text("request_id"),
            Text("fingerprint"),
            Text("response"),
            Int("expires_at"),
        ],
        key: &["project", "actor", "op", "request_id"],
    },
    TableLayout {
        name: "principal",
        columns: &[Text("name"), Text("subject"), Int("created_at"), Text("created_by"), Int("disabled_at")],
        key: &["name"],
    },
    TableLayout {
        name: "member",
        columns: &[Text("principal"), Text("key"), Text("role"), Int("set_at"), Text("set_by")],
        key: &["principal", "key"],
    },
    TableLayout {
        name: "token",
        columns: &[
            Text("id"),
            Text("hash"),
            Text("principal"),
            Text("label"),
            Text("role"),
            Text("projects"),
            Int("created_at"),
            Text("created_by"),
            Int("expires_at"),
            Int("revoked_at"),
            Text("revoked_by"),
        ],
        key: &["id"],
    },
    TableLayout {
        name: "login",
        columns: &[
            Text("hash"),
            Text("principal"),
            Int("created_at"),
            Text("created_by"),
            Int("expires_at"),
            Int("used_at"),
        ],
        key: &["hash"],
    },
    TableLayout {
        name: "web_session",
        columns: &[
            Text("hash"),
            Text("principal"),
            Text("csrf"),
            Int("created_at"),
            Int("expires_at"),
            Int("revoked_at"),
        ],
        key: &["hash"],
    },
];

/// The statements of one table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statements {
    /// The first page: `$1` rows.
    pub(crate) first: Sql,
    /// A page of `$1` rows after the key `$2`, `$3`, …
    pub(crate) next: Sql,
    /// Inserts the rows of the JSON list `$1`; each row is a list of its values.
    pub(crate) insert: Sql,
    pub(crate) count: Sql,
    pub(crate) clear: Sql,
    /// Counts rows whose project does not exist.
    pub(crate) orphans: Option<Sql>,
}

impl TableLayout {
    /// The values of the key columns of a row.
    pub(crate) fn key_of(&self, row: &Row) -> Vec<Value> {
        let at = |name: &&str| self.columns.iter().position(|column| column.name() == *name);
        self.key.iter().filter_map(at).map(|at| row.0[at].clone()).collect()
    }

    fn statements(&self) -> Statements {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name()).collect();
        let (name, columns, key) = (self.name, names.join(", "), self.key.join(", "));
        let marks: Vec<String> = (2..2 + self.key.len()).map(|n| format!("${n}")).collect();
        let sqlite: Vec<String> = (0..names.len()).map(|n| format!("json_extract(value, '$[{n}]')")).collect();
        let postgres: Vec<String> = (0..names.len())
            .map(|n| match self.columns[n] {
                Text(_) => format!("value->>{n}"),
                Int(_) => format!("CAST(value->>{n} AS BIGINT)"),
            })
            .collect();
        let into = format!("INSERT INTO {name} ({columns}) SELECT");
        // The fences shown to agents survive a restore (see `shown`), so existing rows are kept. In any other table, an
        // existing row is an error.
        let known = if name == "shown" { " ON CONFLICT DO NOTHING" } else { "" };
        let orphans = (names[0] == "project")
            .then(|| same(format!("SELECT COUNT(*) FROM {name} WHERE project NOT IN (SELECT id FROM project)")));
        Statements {
            first: same(format!("SELECT {columns} FROM {name} ORDER BY {key} LIMIT $1")),
            next: same(format!(
                "SELECT {columns} FROM {name} WHERE ({key}) > ({}) ORDER BY {key} LIMIT $1",
                marks.join(", ")
            )),
            insert: Sql::pair(
                // The condition keeps SQLite from parsing ON as the beginning of a join.
                keep(format!("{into} {} FROM json_each($1) WHERE TRUE{known}", sqlite.join(", "))),
                keep(format!("{into} {} FROM json_array_elements(CAST($1 AS JSON)){known}", postgres.join(", "))),
            ),
            count: same(format!("SELECT COUNT(*) FROM {name}")),
            clear: same(format!("DELETE FROM {name}")),
            orphans,
        }
    }
}

/// All tables with their statements, in the order of [`TABLES`].
pub(crate) fn all() -> impl Iterator<Item = (&'static TableLayout, Statements)> {
    static MADE: OnceLock<Vec<Statements>> = OnceLock::new();
    let made = MADE.get_or_init(|| TABLES.iter().map(TableLayout::statements).collect());
    TABLES.iter().zip(made.iter().copied())
}

fn same(text: String) -> Sql {
    Sql::same(keep(text))
}

/// Statements are `'static`; these are created once per process.
fn keep(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::migrate::STEPS;

    #[test]
    fn the_layout_is_the_schema() {
        let connection = Connection::open_in_memory().unwrap();
        for step in &STEPS {
            connection.execute_batch(&step.sqlite()).unwrap();
        }
        let list = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let mut names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        names.sort_unstable();
        assert_eq!(list("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"), names);
        for table in &TABLES {
            let of = |what: &str, rest: &str| {
                list(&format!("SELECT {what} FROM pragma_table_info('{}') {rest}", table.name))
            };
            let columns: Vec<String> = table
                .columns
                .iter()
                .map(|column| match column {
                    Text(name) => format!("{name} TEXT"),
                    Int(name) => format!("{name} INTEGER"),
                })
                .collect();
            assert_eq!(of("name || ' ' || type", "ORDER BY cid"), columns, "{}", table.name);
            assert_eq!(of("name", "WHERE pk > 0 ORDER BY pk"), table.key, "{}", table.name);
        }
    }
}
