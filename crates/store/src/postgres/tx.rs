//! A connection to PostgreSQL and a transaction on it.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream as _;
use tenure_core::{Code, Error, Result, Stage};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::tls;
use super::url::{PostgresTarget, Tls};
use crate::deadline::Deadline;
use crate::error::{self, absent};
use crate::tx::{BulkRows, Room, Row, RowsWithin, Sql, Tx, Value, check_bindings};

/// The connect timeout if the URL sets none: TCP handshake, TLS and login together.
const CONNECT: Duration = Duration::from_secs(10);

/// How much longer than the server's own limit a client waits for each answer at most; a quarter of that limit if the
/// limit is short. Agent tools end a hook after 5 s, and its answer must be out by then. A working server ends a
/// statement at its `statement_timeout` and reports it, and that answer needs time to arrive. A server that is silent
/// for longer is stopped, or its packets are lost. Nothing else would end the wait: a stopped server still acknowledges
/// what it is sent, so neither keep-alives nor the TCP user timeout notice.
const MARGIN: Duration = Duration::from_secs(2);

/// A connection with its own runtime: the caller's thread drives it, and nothing runs in the background.
pub(super) struct PostgresConnection {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    trips: Arc<AtomicU64>,
    /// Set when a notification arrived.
    heard: Arc<AtomicBool>,
    /// Whether an answer is outstanding that no caller waits for. The next message would be taken for the answer to
    /// another request, and the transaction may be open, so the connection is never used again.
    is_silent: Cell<bool>,
    /// When every wait ends.
    deadline: Option<Deadline>,
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        // A plain drop would wait for the runtime's blocking threads: a name lookup may take minutes.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl PostgresConnection {
    pub(super) fn open(
        target: &PostgresTarget,
        trips: Arc<AtomicU64>,
        limit: Duration,
        deadline: Option<Deadline>,
    ) -> Result<PostgresConnection> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::new(Code::Internal, "no runtime").at(Stage::Open).cause(error))?;
        let connector = match target.tls {
            Tls::Disable => None,
            _ => Some(tls::connector(target)?),
        };
        let shaken = connector.as_ref().map(tls::Connector::shaken);
        let heard = Arc::new(AtomicBool::new(false));
        let hears = heard.clone();
        let connect = async {
            match connector {
                None => {
                    let (client, driver) = target.config.connect(NoTls).await?;
                    tokio::spawn(drive(driver, hears));
                    Ok::<_, tokio_postgres::Error>(client)
                }
                Some(connector) => {
                    let (client, driver) = target.config.connect(connector).await?;
                    tokio::spawn(drive(driver, hears));
                    Ok(client)
                }
            }
        };
        // The driver's own timeout ends with the TCP handshake: a server that accepts and stays silent would block the
        // caller forever.
        let limit = target.config.get_connect_timeout().copied().unwrap_or(CONNECT).min(limit);
        let limit = deadline.map_or(limit, |deadline| limit.min(deadline.remaining()));
        let client = match runtime.block_on(async { tokio::time::timeout(limit, connect).await }) {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(refused(target, &error, shaken.as_deref())),
            Err(_) => Err(unreachable(target).cause(format!("no answer within {} s", limit.as_secs_f32()))),
        };
        match client {
            Ok(client) => {
                let is_silent = Cell::new(false);
                Ok(PostgresConnection { runtime: Some(runtime), client, trips, heard, is_silent, deadline })
            }
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.is_silent.get()
    }

    /// Waits for an answer of the server, at most for `limit`. After one timeout the connection is not used again.
    fn wait_for<T>(&self, limit: Duration, stage: Stage, answer: impl Future<Output = T>) -> Result<T> {
        let runtime = self.runtime.as_ref().ok_or_else(|| Error::bug("a connection without a runtime"))?;
        if self.is_silent.get() {
            return Err(error::silent(limit, stage));
        }
        let limit = self.deadline.map_or(limit, |deadline| limit.min(deadline.remaining()));
        runtime.block_on(async { tokio::time::timeout(limit, answer).await }).map_err(|_| {
            self.is_silent.set(true);
            error::silent(limit, stage)
        })
    }

    /// Runs a statement outside any transaction, with a short timeout. It is not counted, because it is not part of an
    /// op.
    pub(super) fn aside(&self, text: &str) -> Result<()> {
        let run = self.client.batch_execute(text);
        self.wait_for(MARGIN, Stage::Write, run)?.map_err(|error| error::postgres(error, Stage::Write))
    }

    /// Waits for a notification, at most for `patience`.
    pub(super) fn hear(&self, patience: Duration) {
        let heard = async {
            while !self.heard.swap(false, Ordering::Relaxed) {
                tokio::time::sleep(LOOK).await;
            }
        };
        if let Some(runtime) = &self.runtime {
            let _ = runtime.block_on(async { tokio::time::timeout(patience, heard).await });
        }
    }
}

/// How often a listener checks whether a notification arrived.
const LOOK: Duration = Duration::from_millis(10);

/// Drives the connection until it ends, and records notifications.
async fn drive<S, T>(mut driver: tokio_postgres::Connection<S, T>, heard: Arc<AtomicBool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = std::future::poll_fn(|context| driver.poll_message(context)).await {
        if matches!(message, AsyncMessage::Notification(_)) {
            heard.store(true, Ordering::Relaxed);
        }
    }
}

/// Classifies why a connection failed.
///
/// The driver does not expose the kind of its errors, so they are classified by what they carry: a SQLSTATE, an error
/// of the operating system, an error of rustls. An error that carries none of these is a decision of the driver itself.
/// Before a requested handshake, it can only mean that the server has no TLS; otherwise it is about the login.
fn refused(target: &PostgresTarget, error: &tokio_postgres::Error, shaken: Option<&AtomicBool>) -> Error {
    if error.code().is_some() {
        return error::postgres_at_open(error);
    }
    let (mut of_system, mut of_tls, mut forbidden) = (false, false, false);
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        // An `io::Error` hides the error it wraps from `source`.
        let system = inner.downcast_ref::<std::io::Error>();
        let wrapped = system.and_then(std::io::Error::get_ref);
        of_system |= system.is_some();
        forbidden |= system.is_some_and(|error| is_forbidden(error.kind()));
        of_tls |= inner.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| wrapped.is::<rustls::Error>());
        source = inner.source();
    }
    let has_reason = std::error::Error::source(error).is_some();
    let before_handshake = shaken.is_some_and(|shaken| !shaken.load(Ordering::Relaxed));
    let refused = if of_tls || (has_reason && !of_system && before_handshake) {
        Error::new(Code::TlsRefused, format!("the TLS connection to PostgreSQL at {} failed", target.display)).at(Stage::Open)
        .hint(
            "Nothing was changed. Check sslmode and sslrootcert in the store URL, the server's certificate, and that \
             TLS is enabled on the server.",
        )
    } else if has_reason && !of_system {
        Error::new(Code::PostgresLogin, "PostgreSQL requires an authentication method that Tenure does not support")
            .at(Stage::Open)
            .hint("Check user and password in the store URL.")
    } else if forbidden {
        unreachable(target).hint(
            "The system forbids the connection, probably because of a sandbox without network. Use the MCP tools of \
             Tenure, which run outside it.",
        )
    } else {
        unreachable(target)
    };
    refused.cause(describe(error))
}

/// The errors of a sandbox for a connection: a forbidden call, or a machine without a network.
fn is_forbidden(kind: std::io::ErrorKind) -> bool {
    matches!(kind, std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::NetworkUnreachable)
}

pub(super) fn unreachable(target: &PostgresTarget) -> Error {
    Error::new(Code::Unreachable, format!("PostgreSQL cannot be reached at {}", target.display))
        .at(Stage::Open)
        .hint("Check that the server runs and that host, port and TLS settings of the store URL are correct.")
}

/// The driver's error with its sources, which its own text omits.
fn describe(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// A request to the server.
enum PipelinedRequest {
    /// Statements without parameters and without a result.
    Simple(String),
    /// A statement whose affected rows are counted.
    Execute(Sql, Vec<Value>),
    Query(Sql, Vec<Value>),
    /// A query whose rows are read up to a limit in bytes.
    QueryWithin(Sql, Vec<Value>, usize),
}

enum PipelinedAnswer {
    Count(u64),
    Rows(Vec<tokio_postgres::Row>),
    Within(RowsWithin<tokio_postgres::Row>),
}

pub(super) struct PostgresTx<'c> {
    connection: &'c mut PostgresConnection,
    /// Sent before the next call, in order.
    waiting: Vec<PipelinedRequest>,
    /// How long the server may be silent while an answer is outstanding.
    limit: Duration,
}

impl<'c> PostgresTx<'c> {
    /// Creates a transaction that begins with the next call. The server itself ends a statement after `answer`.
    pub(super) fn begin(connection: &'c mut PostgresConnection, begin: &str, answer: Duration) -> PostgresTx<'c> {
        PostgresTx {
            connection,
            waiting: vec![PipelinedRequest::Simple(begin.to_owned())],
            limit: answer + MARGIN.min(answer / 4),
        }
    }

    pub(super) fn batch(&mut self, text: &str) -> Result<()> {
        self.send(PipelinedRequest::Simple(text.to_owned()), Stage::Write).map(|_| ())
    }

    /// Commits. Deferred statements are sent and answered first, because COMMIT of a failed transaction is a silent
    /// rollback.
    pub(super) fn commit(mut self) -> Result<()> {
        if !self.waiting.is_empty()
            && let Err(error) = self.flush(Stage::Write)
        {
            // The connection returns to the pool, so the failed transaction must end here. If even that fails, the
            // connection is lost and the server ends the transaction.
            let _ = self.rollback();
            return Err(error);
        }
        self.send(PipelinedRequest::Simple("COMMIT".to_owned()), Stage::Commit).map(|_| ())
    }

    pub(super) fn rollback(mut self) -> Result<()> {
        self.waiting.clear();
        // Not the commit stage: a rollback whose answer is lost leaves nothing unknown.
        self.send(PipelinedRequest::Simple("ROLLBACK".to_owned()), Stage::Write).map(|_| ())
    }

    pub(super) fn explain(&mut self, how: &str, sql: Sql, args: &[Value]) -> Result<String> {
        let text: &'static str = Box::leak(format!("EXPLAIN {how} {}", sql.postgres).into_boxed_str());
        let rows = self.query(Sql::same(text), args)?;
        let lines = rows.into_iter().map(|mut row| row.text(0)).collect::<Result<Vec<_>>>()?;
        Ok(lines.join("\n"))
    }

    fn send(&mut self, last: PipelinedRequest, stage: Stage) -> Result<PipelinedAnswer> {
        self.waiting.push(last);
        let mut answers = self.flush(stage)?;
        answers.pop().ok_or_else(|| Error::bug("PostgreSQL gave no answer"))
    }

    /// Sends all deferred requests and reads all answers in one round trip.
    fn flush(&mut self, stage: Stage) -> Result<Vec<PipelinedAnswer>> {
        let calls = std::mem::take(&mut self.waiting);
        for call in &calls {
            if let PipelinedRequest::Execute(sql, args)
            | PipelinedRequest::Query(sql, args)
            | PipelinedRequest::QueryWithin(sql, args, _) = call
            {
                check_bindings(highest_parameter(sql.postgres), args.len(), sql.postgres)?;
            }
        }
        self.connection.trips.fetch_add(1, Ordering::Relaxed);
        let client = &self.connection.client;
        let mut exchange = Exchange::new(calls.iter().map(|call| answer(client, call)));
        // The limit applies to one statement: each answer restarts it.
        while !exchange.is_over() {
            self.connection.wait_for(self.limit, stage, exchange.next())?;
        }
        // After the first failure every later statement fails because of it, so the first error is returned.
        exchange.answers.into_iter().flatten().collect::<Result<Vec<_>, _>>().map_err(|error| {
            if error::is_absent(&error) {
                absent().cause(describe(&error))
            } else if error::is_older(&error) {
                error::older_schema().cause(describe(&error))
            } else {
                error::postgres(error, stage)
            }
        })
    }
}

type PendingAnswer<'a> = Pin<Box<dyn Future<Output = Result<PipelinedAnswer, tokio_postgres::Error>> + 'a>>;

fn answer<'a>(client: &'a Client, call: &'a PipelinedRequest) -> PendingAnswer<'a> {
    Box::pin(async move {
        match call {
            PipelinedRequest::Simple(text) => client.batch_execute(text).await.map(|()| PipelinedAnswer::Count(0)),
            PipelinedRequest::Execute(sql, args) => {
                client.execute_typed(sql.postgres, &typed(args)).await.map(PipelinedAnswer::Count)
            }
            PipelinedRequest::Query(sql, args) => {
                client.query_typed(sql.postgres, &typed(args)).await.map(PipelinedAnswer::Rows)
            }
            PipelinedRequest::QueryWithin(sql, args, bytes) => {
                within(client, (sql, args), *bytes).await.map(PipelinedAnswer::Within)
            }
        }
    })
}

/// Reads rows as long as they fit. The connection discards the remaining rows.
async fn within(
    client: &Client,
    (sql, args): (&Sql, &[Value]),
    bytes: usize,
) -> Result<RowsWithin<tokio_postgres::Row>, tokio_postgres::Error> {
    let mut found = RowsWithin { rows: Vec::new(), cut: false };
    let mut room = Room::of(bytes);
    let mut rows = pin!(client.query_typed_raw(sql.postgres, typed(args)).await?);
    while let Some(row) = std::future::poll_fn(|context| rows.as_mut().poll_next(context)).await {
        let row = row?;
        if !room.takes(row.raw_size_bytes()) {
            found.cut = true;
            break;
        }
        found.rows.push(row);
    }
    Ok(found)
}

/// Pipelined requests. They are polled in order: a request is queued at its first poll, so the server sees them in the
/// given order.
struct Exchange<'a> {
    pending: Vec<Option<PendingAnswer<'a>>>,
    answers: Vec<Option<Result<PipelinedAnswer, tokio_postgres::Error>>>,
}

impl<'a> Exchange<'a> {
    fn new(calls: impl Iterator<Item = PendingAnswer<'a>>) -> Exchange<'a> {
        let pending: Vec<_> = calls.map(Some).collect();
        let answers = pending.iter().map(|_| None).collect();
        Exchange { pending, answers }
    }

    fn is_over(&self) -> bool {
        self.pending.iter().all(Option::is_none)
    }

    /// Drives all requests until at least one more is answered.
    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let mut answered = false;
            for (call, answer) in self.pending.iter_mut().zip(&mut self.answers) {
                if let Some(future) = call
                    && let Poll::Ready(got) = future.as_mut().poll(context)
                {
                    *answer = Some(got);
                    *call = None;
                    answered = true;
                }
            }
            if answered { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

fn typed(args: &[Value]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    args.iter()
        .map(|value| match value {
            Value::Text(text) => (text as &(dyn ToSql + Sync), Type::TEXT),
            Value::Int(number) => (number as &(dyn ToSql + Sync), Type::INT8),
            Value::NullInt => (&None::<i64> as &(dyn ToSql + Sync), Type::INT8),
        })
        .collect()
}

/// The highest `$n` of a statement. The statements of this crate contain no other dollar sign.
fn highest_parameter(text: &str) -> usize {
    text.split('$')
        .skip(1)
        .filter_map(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..digits].parse().ok()
        })
        .max()
        .unwrap_or(0)
}

fn decode(rows: Vec<tokio_postgres::Row>) -> Result<Vec<Row>> {
    rows.into_iter()
        .map(|row| {
            let values = row
                .columns()
                .iter()
                .enumerate()
                .map(|(index, column)| match *column.type_() {
                    Type::INT8 => row.try_get::<_, Option<i64>>(index).map(|n| n.map_or(Value::NullInt, Value::Int)),
                    Type::INT4 => {
                        row.try_get::<_, Option<i32>>(index).map(|n| n.map_or(Value::NullInt, |n| Value::Int(n.into())))
                    }
                    _ => row.try_get::<_, Option<String>>(index).map(|t| t.map_or(Value::NullInt, Value::Text)),
                })
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| error::corrupt("a stored row is damaged").cause(error))?;
            Ok(Row(values))
        })
        .collect()
}

impl Tx for PostgresTx<'_> {
    fn execute(&mut self, sql: Sql, args: &[Value]) -> Result<u64> {
        match self.send(PipelinedRequest::Execute(sql, args.to_vec()), Stage::Write)? {
            PipelinedAnswer::Count(count) => Ok(count),
            _ => Err(Error::bug("the answer has rows, but a count was expected")),
        }
    }

    fn query(&mut self, sql: Sql, args: &[Value]) -> Result<Vec<Row>> {
        match self.send(PipelinedRequest::Query(sql, args.to_vec()), Stage::Read)? {
            PipelinedAnswer::Rows(rows) => decode(rows),
            _ => Err(Error::bug("the answer has no rows, but rows were expected")),
        }
    }

    fn query_within(&mut self, sql: Sql, args: &[Value], bytes: usize) -> Result<RowsWithin<Row>> {
        match self.send(PipelinedRequest::QueryWithin(sql, args.to_vec(), bytes), Stage::Read)? {
            PipelinedAnswer::Within(found) => Ok(RowsWithin { rows: decode(found.rows)?, cut: found.cut }),
            _ => Err(Error::bug("the answer has no rows, but rows were expected")),
        }
    }

    fn query_all(&mut self, calls: Vec<(Sql, Vec<Value>)>) -> Result<Vec<Vec<Row>>> {
        let wanted = calls.len();
        self.waiting.extend(calls.into_iter().map(|(sql, args)| PipelinedRequest::Query(sql, args)));
        let mut answers = self.flush(Stage::Read)?;
        let answers = answers.split_off(answers.len() - wanted);
        answers
            .into_iter()
            .map(|answer| match answer {
                PipelinedAnswer::Rows(rows) => decode(rows),
                _ => Err(Error::bug("the answer has no rows, but rows were expected")),
            })
            .collect()
    }

    fn defer(&mut self, sql: Sql, args: Vec<Value>) -> Result<()> {
        self.waiting.push(PipelinedRequest::Execute(sql, args));
        Ok(())
    }

    fn insert_rows(&mut self, sql: Sql, rows: BulkRows<'_>) -> Result<()> {
        let mut args = rows.common;
        args.push((rows.json)()?.into());
        self.defer(sql, args)
    }

    fn savepoint(&mut self) -> Result<()> {
        self.waiting.push(PipelinedRequest::Simple("SAVEPOINT op".to_owned()));
        Ok(())
    }

    fn undo(&mut self) -> Result<()> {
        // Requests deferred since the savepoint are dropped unsent; those from before it must still be sent.
        let savepoint = self
            .waiting
            .iter()
            .rposition(|sent| matches!(sent, PipelinedRequest::Simple(text) if text == "SAVEPOINT op"));
        match savepoint {
            Some(at) => self.waiting.truncate(at),
            None => {
                self.waiting.clear();
                self.waiting.push(PipelinedRequest::Simple("ROLLBACK TO SAVEPOINT op".to_owned()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::highest_parameter;

    #[test]
    fn parameters_are_counted() {
        assert_eq!(highest_parameter("SELECT 1"), 0);
        assert_eq!(highest_parameter("a = $1 AND b = $12 OR $2"), 12);
    }
}
