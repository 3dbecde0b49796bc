//! Records the statements that a client sends to PostgreSQL, and replays them without the client.
//!
//! A tape is a proxy in front of the server. It records every statement with its parameters, and which statements
//! travelled together. A replay sends the same statements in the same groups with the same driver and receives the
//! answers: the cost of an op without reading, deciding or composing.

use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;

use tempfile::TempDir;
use tokio_postgres::config::Host;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error};

#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// Without parameters, possibly several in one text.
    Simple(String),
    /// With parameters and their types.
    Typed(String, Vec<(Value, Type)>),
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
}

/// Statements sent before any of their answers was received: one round trip.
pub(crate) type Group = Vec<Said>;

#[derive(Default)]
struct Notes {
    groups: Vec<Group>,
    /// The number of answers that the client has not received yet.
    owed: usize,
}

/// The tape of one connection.
pub(crate) struct Tape {
    url: String,
    notes: Arc<Mutex<Notes>>,
    _dir: TempDir,
}

impl Tape {
    /// Creates a tape in front of the server of a store URL.
    pub(crate) fn before(url: &str) -> Tape {
        let (plain, schema) = url.split_once("schema=").unwrap();
        let config: Config = plain.trim_end_matches(['?', '&']).parse().unwrap();
        // Under `/tmp`, because the path of a socket has at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("tn-").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        let (user, database) = (config.get_user().unwrap(), config.get_dbname().unwrap());
        let url = format!(
            "postgres://{user}@/{database}?host={}&port=5432&sslmode=disable&schema={schema}",
            dir.path().display()
        );
        let notes = Arc::new(Mutex::new(Notes::default()));
        let shared = notes.clone();
        thread::spawn(move || {
            // A tape records one client on one connection.
            let client = listener.accept().unwrap().0;
            let port = config.get_ports().first().copied().unwrap_or(5432);
            match &config.get_hosts()[0] {
                Host::Unix(dir) => {
                    let server = UnixStream::connect(dir.join(format!(".s.PGSQL.{port}"))).unwrap();
                    listen(client, server.try_clone().unwrap(), server, shared);
                }
                Host::Tcp(name) => {
                    let server = TcpStream::connect((name.as_str(), port)).unwrap();
                    listen(client, server.try_clone().unwrap(), server, shared);
                }
            }
        });
        Tape { url, notes, _dir: dir }
    }

    /// The URL of the store through the tape.
    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// The statements since the last call.
    pub(crate) fn take(&self) -> Vec<Group> {
        std::mem::take(&mut self.notes.lock().unwrap().groups)
    }
}

fn listen(
    client: UnixStream,
    mut back: impl Read + Send + 'static,
    mut server: impl Write + Send + 'static,
    notes: Arc<Mutex<Notes>>,
) {
    let (mut from, mut to) = (client.try_clone().unwrap(), client);
    let shared = notes.clone();
    thread::spawn(move || {
        let mut messages = Messages { buffer: Vec::new(), greeted: false };
        let mut statement = Said::Simple(String::new());
        let mut chunk = [0; 65_536];
        while let Ok(read @ 1..) = from.read(&mut chunk) {
            let mut notes = shared.lock().unwrap();
            messages.buffer.extend_from_slice(&chunk[..read]);
            while let Some((kind, body)) = messages.next() {
                notes.hear(kind, &body, &mut statement);
            }
            drop(notes);
            server.write_all(&chunk[..read]).unwrap();
        }
        // The client disconnected without a message. The terminate message makes the server close the connection.
        let _ = server.write_all(b"X\0\0\0\x04");
    });
    thread::spawn(move || {
        let mut messages = Messages { buffer: Vec::new(), greeted: true };
        let mut chunk = [0; 65_536];
        while let Ok(read @ 1..) = back.read(&mut chunk) {
            messages.buffer.extend_from_slice(&chunk[..read]);
            let mut answered = 0;
            while let Some((kind, _)) = messages.next() {
                answered += usize::from(kind == b'Z');
            }
            // Updated before the client sees the answer and continues.
            let mut notes = notes.lock().unwrap();
            notes.owed = notes.owed.saturating_sub(answered);
            drop(notes);
            if to.write_all(&chunk[..read]).is_err() {
                break;
            }
        }
    });
}

/// Splits a stream into messages: a type byte, a length, a body. The first message of a client has no type byte.
struct Messages {
    buffer: Vec<u8>,
    greeted: bool,
}

impl Messages {
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let head = usize::from(self.greeted);
        let length = self.buffer.get(head..head + 4)?;
        let end = head + u32::from_be_bytes(length.try_into().unwrap()) as usize;
        if self.buffer.len() < end {
            return None;
        }
        let message: Vec<u8> = self.buffer.drain(..end).collect();
        let kind = if self.greeted { message[0] } else { 0 };
        self.greeted = true;
        Some((kind, message[head + 4..].to_vec()))
    }
}

impl Notes {
    fn hear(&mut self, kind: u8, body: &[u8], statement: &mut Said) {
        let mut body = Body(body);
        match kind {
            b'Q' => self.end(Said::Simple(body.text())),
            b'P' => {
                body.text();
                let text = body.text();
                let types = (0..body.short()).map(|_| Type::from_oid(body.long()).unwrap());
                *statement = Said::Typed(text, types.map(|of| (Value::Text(None), of)).collect());
            }
            b'B' => {
                body.text();
                body.text();
                for _ in 0..body.short() {
                    assert_eq!(body.short(), 1, "parameters travel in their binary form");
                }
                let Said::Typed(_, values) = statement else { panic!("values for nothing") };
                assert_eq!(usize::from(body.short()), values.len());
                for (value, of) in values {
                    let bytes = body.value().map(<[u8]>::to_vec);
                    *value = match *of {
                        Type::INT8 => Value::Number(bytes.map(|b| i64::from_be_bytes(b.try_into().unwrap()))),
                        _ => Value::Text(bytes.map(|b| String::from_utf8(b).unwrap())),
                    };
                }
            }
            b'S' => self.end(statement.clone()),
            _ => {}
        }
    }

    /// Ends a statement, which expects an answer. It starts a new group if no answers were pending.
    fn end(&mut self, said: Said) {
        if self.owed == 0 {
            self.groups.push(Vec::new());
        }
        self.owed += 1;
        self.groups.last_mut().unwrap().push(said);
    }
}

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn cut(&mut self, length: usize) -> &'a [u8] {
        let (cut, rest) = self.0.split_at(length);
        self.0 = rest;
        cut
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap();
        let text = String::from_utf8(self.cut(end).to_vec()).unwrap();
        self.cut(1);
        text
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.cut(2).try_into().unwrap())
    }

    fn long(&mut self) -> u32 {
        u32::from_be_bytes(self.cut(4).try_into().unwrap())
    }

    fn value(&mut self) -> Option<&'a [u8]> {
        match self.long() {
            u32::MAX => None,
            length => Some(self.cut(length as usize)),
        }
    }
}

/// Rewrites the groups for another schema, whose name occurs in the statements that open a transaction and take the
/// lock.
pub(crate) fn moved(groups: &[Group], from: &str, to: &str) -> Vec<Group> {
    let text = |text: &str| text.replace(from, to);
    let one = |said: &Said| match said {
        Said::Simple(sql) => Said::Simple(text(sql)),
        Said::Typed(sql, values) => {
            let value = |(value, of): &(Value, Type)| match value {
                Value::Text(value) => (Value::Text(value.as_deref().map(text)), of.clone()),
                Value::Number(_) => (value.clone(), of.clone()),
            };
            Said::Typed(sql.clone(), values.iter().map(value).collect())
        }
    };
    groups.iter().map(|group| group.iter().map(one).collect()).collect()
}

type Pending<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

/// Sends a group and receives all its answers.
pub(crate) async fn say(client: &Client, group: &Group) {
    let mut pending: Vec<Option<Pending<'_>>> = group.iter().map(|said| Some(one(client, said))).collect();
    // A statement is queued at its first poll, so polling all of them in order queues all before the first answer.
    poll_fn(|context| {
        for slot in &mut pending {
            if let Some(Poll::Ready(answer)) = slot.as_mut().map(|call| call.as_mut().poll(context)) {
                answer.unwrap();
                *slot = None;
            }
        }
        if pending.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn one<'a>(client: &'a Client, said: &'a Said) -> Pending<'a> {
    Box::pin(async move {
        match said {
            Said::Simple(text) => client.batch_execute(text).await,
            Said::Typed(text, values) => {
                let typed: Vec<_> = values.iter().map(|(value, of)| (reference(value), of.clone())).collect();
                client.query_typed(text, &typed).await.map(drop)
            }
        }
    })
}

fn reference(value: &Value) -> &(dyn ToSql + Sync) {
    match value {
        Value::Text(text) => text,
        Value::Number(number) => number,
    }
}
