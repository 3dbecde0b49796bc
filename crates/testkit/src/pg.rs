//! The PostgreSQL server of the tests.
//!
//! One server serves a test process, and under `./test` all of them: the one that `TENURE_TEST_PG` names, else a
//! temporary cluster made by `pg.sh` beside this file (0.8 s). Tests are isolated by schema, not by server: each takes
//! a [`Server::fresh_schema`]. On a server of your own these schemas, `t_…`, are left behind.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::stopped::Stopped;

/// Creates a cluster and removes it when its standard input ends. `./test` runs the same file.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pg.sh");

/// A running PostgreSQL server with superuser access.
#[derive(Debug)]
pub struct Server {
    /// The URL without Tenure's own `schema` parameter, as the driver understands it.
    url: String,
    /// Open for the lifetime of this process. A static is never dropped, so the end of the process closes it, however
    /// it ends, and that removes the cluster. Rust opens pipes close-on-exec, so no child keeps it open.
    _lifeline: Option<ChildStdin>,
}

// Not a `LazyLock`: it would report the reason to the first test only and be poisoned for all others.
static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();

/// Makes the temporary server of this process sync its writes, for benchmarks. Call it before the first use.
pub fn serve_durably() {
    let made = SERVER.get_or_init(|| Server::obtain(&["--durable"]));
    assert!(made.as_ref().is_ok_and(|server| server.query("SHOW fsync")[0][0].as_deref() == Some("on")), "{made:?}");
}

/// The server of this process, started at the first call.
///
/// Panics in every test that asks if no server is available: a test that cannot run has not passed.
pub fn server() -> &'static Server {
    match SERVER.get_or_init(|| Server::obtain(&[])) {
        Ok(server) => server,
        Err(why) => panic!("tests need a PostgreSQL server: {why}"),
    }
}

impl Server {
    fn obtain(options: &[&str]) -> Result<Server, String> {
        match env::var("TENURE_TEST_PG") {
            Ok(url) if !url.is_empty() => Ok(Server { url, _lifeline: None }),
            _ => Server::start(options),
        }
    }

    fn start(options: &[&str]) -> Result<Server, String> {
        let (url, lifeline, _) = run_script(options)?;
        Ok(Server { url, _lifeline: Some(lifeline) })
    }

    /// The store URL of a schema, in the form of `TENURE_STORE`. The schema need not exist.
    pub fn url(&self, schema: &str) -> String {
        let sep = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{sep}schema={schema}", self.url)
    }

    /// A schema name that is unique, also across processes on the same server.
    pub fn fresh_schema(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        // Process ids are reused, and a server given by URL outlives them. The keys of a new RandomState are random.
        let random = RandomState::new().hash_one(n);
        format!("t_{}_{n}_{random:016x}", process::id())
    }

    /// Runs statements as the owner of the server, each in its own transaction unless they open one. Panics if one
    /// fails.
    pub fn batch(&self, sql: &str) {
        self.run(sql, async |client| client.batch_execute(sql).await);
    }

    /// Runs statements as the owner and returns the rows of all of them as text, `None` for NULL. Panics if one fails.
    pub fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let messages = self.run(sql, async |client| client.simple_query(sql).await);
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect()),
            _ => None,
        };
        messages.into_iter().filter_map(row).collect()
    }

    /// Opens a connection per call, so that a test that ends other sessions or waits for locks does not affect other
    /// tests.
    fn run<T>(&self, sql: &str, work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = match tokio_postgres::connect(&self.url, NoTls).await {
                Ok(pair) => pair,
                Err(e) => panic!("cannot connect to {}: {}", self.url, with_causes(&e)),
            };
            let connection = tokio::spawn(connection);
            let result = work(&client).await;
            // Waits until the server knows of the disconnect; otherwise sessions pile up behind a quick test.
            drop(client);
            let _ = connection.await;
            result.unwrap_or_else(|e| panic!("{}\n  in: {sql}", with_causes(&e)))
        })
    }
}

/// A server for one test alone, with durability on, which the test may crash. Dropping it removes the cluster.
pub struct Own {
    server: Server,
    /// The lifeline, which also carries commands; answers come back on standard output.
    line: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Own {
    /// Starts a server. Panics if that fails, as [`server`] does.
    pub fn start() -> Own {
        match run_script(&["--durable"]) {
            Ok((url, orders, answers)) => {
                Own { server: Server { url, _lifeline: None }, line: Mutex::new((orders, answers)) }
            }
            Err(why) => panic!("tests need a PostgreSQL server: {why}"),
        }
    }

    /// The store URL of a schema.
    pub fn url(&self, schema: &str) -> String {
        self.server.url(schema)
    }

    /// Stops all processes of the server until the returned value is dropped. The server accepts connections and
    /// answers nothing.
    pub fn stop(&self) -> Stopped {
        let pid = self.server.query("SELECT pg_read_file('postmaster.pid')")[0][0].clone().unwrap();
        Stopped::with_children(pid.lines().next().unwrap().parse().unwrap())
    }

    /// Crashes the server and waits for its recovery: all connections are lost, no acknowledged write is.
    pub fn restart(&self) {
        let mut line = self.line.lock().unwrap();
        line.0.write_all(b"restart\n").unwrap();
        let mut answer = String::new();
        line.1.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), "restarted");
    }
}

/// Runs the script until it prints the URL. Returns the URL with the script's standard input and output.
fn run_script(arguments: &[&str]) -> Result<(String, ChildStdin, BufReader<ChildStdout>), String> {
    // In its own process group, so that neither Ctrl-C nor a kill of the tests' group prevents its cleanup.
    let mut child = Command::new("sh")
        .arg(SCRIPT)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("cannot run sh: {e}"))?;
    let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("pg.sh has no standard input or output".to_owned());
    };
    let mut answers = BufReader::new(answers);
    match first_line(&mut answers) {
        Ok(url) if url.starts_with("postgres://") => Ok((url, orders, answers)),
        Ok(other) => Err(other),
        Err(e) => Err(format!("cannot read what pg.sh says: {e}")),
    }
}

/// The first line of the script's output; the whole output if that is not a URL.
fn first_line(out: &mut BufReader<ChildStdout>) -> std::io::Result<String> {
    let mut line = String::new();
    out.read_line(&mut line)?;
    if !line.starts_with("postgres://") {
        out.read_to_string(&mut line)?;
    }
    Ok(line.trim_end().to_owned())
}

/// The driver's errors say only "db error"; the server's message is their source.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text = format!("{text}: {e}");
        cause = e.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn serves_queries_in_a_schema_of_its_own() {
        let server = server();
        let schema = server.fresh_schema();
        server.batch(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.t (a BIGINT, b TEXT)"));
        server.batch(&format!("INSERT INTO {schema}.t VALUES (1, 'x'), (2, NULL)"));
        let rows = server.query(&format!("SELECT a, b FROM {schema}.t ORDER BY a"));
        assert_eq!(rows, [vec![Some("1".to_owned()), Some("x".to_owned())], vec![Some("2".to_owned()), None]]);
        server.batch(&format!("DROP SCHEMA {schema} CASCADE"));
    }

    #[test]
    #[should_panic(expected = "does not exist")]
    fn a_failed_statement_says_what_the_server_said() {
        server().batch("SELECT * FROM there_is_no_such_table");
    }

    #[test]
    fn the_schema_is_appended_to_either_form_of_url() {
        let given = |url: &str| Server { url: url.to_owned(), _lifeline: None }.url("s");
        assert_eq!(given("postgres://u@h/d"), "postgres://u@h/d?schema=s");
        assert_eq!(given("postgres://u@/d?host=/tmp/x&port=1"), "postgres://u@/d?host=/tmp/x&port=1&schema=s");
    }

    #[test]
    fn schema_names_differ_and_fit() {
        let names: HashSet<String> = (0..1000).map(|_| server().fresh_schema()).collect();
        assert_eq!(names.len(), 1000);
        // PostgreSQL silently truncates longer names to 63 bytes.
        assert!(names.iter().all(|n| n.len() <= 63), "{names:?}");
    }

    #[test]
    fn a_cluster_is_gone_soon_after_its_lifeline() {
        let server = Server::start(&[]).unwrap();
        let host = server.url.split(['=', '&']).nth(1).unwrap();
        let dir = PathBuf::from(host);
        let pid = server.query("SELECT pg_read_file('postmaster.pid')")[0][0].clone().unwrap();
        let pid: i32 = pid.lines().next().unwrap().parse().unwrap();
        assert!(dir.exists() && alive(pid));
        drop(server);
        // There is no notification for the end of a process that is not a child, so the test polls.
        while dir.exists() || alive(pid) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_crash_loses_connections_and_nothing_that_was_promised() {
        let own = Own::start();
        own.server.batch("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (7)");
        let started = own.server.query("SELECT pg_postmaster_start_time()");
        own.restart();
        assert_ne!(own.server.query("SELECT pg_postmaster_start_time()"), started);
        assert_eq!(own.server.query("SELECT a FROM t"), [vec![Some("7".to_owned())]]);
    }

    fn alive(pid: i32) -> bool {
        // In a container whose first process does not reap orphans, a dead process stays as a zombie.
        let zombie = std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
        !zombie && rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_ok()
    }
}
