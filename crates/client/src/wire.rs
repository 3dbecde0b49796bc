//! The wire format between client and server: one JSON document per request, one per answer, and the first line of a
//! socket. The same documents travel as lines over the unix socket and as bodies over HTTP.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::{AnyQuery, Call, Op, Query, Reply};

use crate::phrasing::Commands;

/// The version of this program. Both ends of a socket have the same version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The maximum size of a request in bytes.
pub const REQUEST_MAX: usize = 64 * 1024 * 1024;
/// The maximum size of an answer in bytes: an export as one document, with its quotes escaped.
pub const ANSWER_MAX: usize = 160 * 1024 * 1024;
/// The maximum size of the first line of a socket in bytes.
pub const HELLO_MAX: usize = 4 * 1024;
/// The code of an answer that says the request did not run and never will: its peer seemed to have hung up, its
/// deadline had passed, or the server is about to shut down. A client with a local store then runs the op itself.
pub const NOT_RUN: Code = Code::NotRun;

/// The first line of a socket: the server's version and its store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the program.
    pub tenure: String,
    /// The version of the schema.
    pub schema: i64,
    /// The store's id.
    pub store: String,
    /// The store's incarnation.
    pub incarnation: String,
    /// Device and inode of an embedded store's file. A server that still has a replaced file open is not the server of
    /// the new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<(u64, u64)>,
}

/// A request: the call, and an op or a query by name.
#[derive(Debug, Serialize, Deserialize)]
pub struct WireRequest {
    /// Everything but the payload.
    pub call: Caller,
    /// The op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The payload, byte for byte: some of its contents are stored as they were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<RawValue>>,
    /// The lines of the sender's input that the items come from, for refusals that name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<usize>,
}

/// A call and how long its sender waits. `Deserialize` is written by hand: `flatten` reads through a buffer, with extra code.
#[derive(Clone, Debug, Serialize)]
pub struct Caller {
    #[serde(flatten)]
    pub call: Call,
    /// For how many milliseconds from now the answer is still useful.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

impl<'de> Deserialize<'de> for Caller {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Caller, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            #[serde(default)]
            deadline_ms: Option<u64>,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let call = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        let Rest { deadline_ms } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Caller { call, deadline_ms })
    }
}

/// What a request asks for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// An op.
    Op(Op),
    /// A query.
    Query(AnyQuery),
}

impl WireRequest {
    /// A request for an op.
    pub fn op(call: &Call, op: &Op, deadline_ms: Option<u64>) -> Result<WireRequest> {
        Ok(WireRequest {
            call: Caller { call: call.clone(), deadline_ms },
            op: Some(op.name().to_owned()),
            query: None,
            request: Some(raw(op.canonical()?)?),
            lines: op.lines(),
        })
    }

    /// A request for a query.
    pub fn query<Q: Query>(call: &Call, query: &Q, deadline_ms: Option<u64>) -> Result<WireRequest> {
        Ok(WireRequest {
            call: Caller { call: call.clone(), deadline_ms },
            op: None,
            query: Some(Q::NAME.to_owned()),
            request: Some(to_raw_value(query).map_err(|error| unwritable(&error))?),
            lines: query.lines(),
        })
    }

    /// The document on one line.
    pub fn to_line(&self) -> Result<String> {
        let line = one_line(serde_json::to_string(self).map_err(|error| unwritable(&error))?);
        if line.len() > REQUEST_MAX {
            return Err(too_large(line.len()));
        }
        Ok(line)
    }

    /// Parses a document.
    pub fn read(document: &[u8]) -> Result<WireRequest> {
        if document.len() > REQUEST_MAX {
            return Err(too_large(document.len()));
        }
        read(document).map_err(|error| Error::usage(Code::BadRequest, format!("this is not a request: {error}")))
    }

    /// Checks the call and parses the payload.
    pub fn asked(&self) -> Result<Asked> {
        self.call.call.check()?;
        let request = self.request.as_ref().map_or("{}", |request| request.get());
        match (&self.op, &self.query) {
            (Some(op), None) => {
                let mut op = Op::read(op, request)?;
                op.set_lines(&self.lines);
                Ok(Asked::Op(op))
            }
            (None, Some(query)) => {
                let mut query = AnyQuery::read(query, request)?;
                query.set_lines(&self.lines);
                Ok(Asked::Query(query))
            }
            _ => Err(Error::usage(Code::BadRequest, "a request names exactly one op or query")),
        }
    }
}

/// The wire form of an answer.
#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "E: Deserialize<'de>"))]
struct Answer<E> {
    ok: bool,
    #[serde(default)]
    replayed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<E>,
}

/// The document of an answer on one line.
pub fn answer(answered: Result<Reply>) -> String {
    let (data, replayed, error) = match answered.and_then(|reply| Ok((raw(reply.body)?, reply.replayed))) {
        Ok((data, replayed)) => (Some(data), replayed, None),
        Err(error) => (None, false, Some(error)),
    };
    let error = error.as_ref().map(|error| error.to_wire(&Commands));
    let answer = Answer { ok: error.is_none(), replayed, data, error };
    one_line(serde_json::to_string(&answer).unwrap_or_else(|_| r#"{"ok":false}"#.to_owned()))
}

/// Parses the document of an answer. The outer error means that the document is malformed; the inner result is the
/// answer.
pub fn read_answer(document: &[u8]) -> Result<Result<Reply>> {
    let broken = |what: String| {
        Error::new(Code::BadAnswer, format!("the server's answer cannot be read: {what}"))
            .at(Stage::Reply)
            .hint("Client and server may be of different versions: use the same.")
    };
    let answer: Answer<Error> = read(document).map_err(|error| broken(error.to_string()))?;
    match (answer.ok, answer.data, answer.error) {
        (true, Some(data), None) => Ok(Ok(Reply { body: data.get().to_owned(), replayed: answer.replayed })),
        // `null` is a valid answer, and serde reads it as `None`.
        (true, None, None) => Ok(Ok(Reply { body: "null".to_owned(), replayed: answer.replayed })),
        (false, None, Some(error)) => Ok(Err(error)),
        _ => Err(broken("it is neither an answer nor an error".to_owned())),
    }
}

/// Parses a problem document (RFC 9457) of a Tenure server into the error it was made from.
pub fn read_problem(document: &[u8]) -> Option<Error> {
    let mut problem: serde_json::Map<String, Value> = read(document).ok()?;
    let mut details = problem.remove("details")?.as_object()?.clone();
    let mut part = |name: &str| details.remove(name).unwrap_or_default();
    let (stage, entity, who, cause) = (part("stage"), part("entity"), part("who"), part("cause"));
    let mut whole = json!({ "stage": stage, "entity": entity, "who": who, "cause": cause, "details": details });
    // The attempts are already part of the hint.
    for name in ["code", "kind", "message", "hint", "retryable"] {
        whole[name] = problem.remove(name)?;
    }
    serde_json::from_str(&whole.to_string()).ok()
}

/// Reads JSON by way of text, never of bytes or a tree: the code of every type that is read is in the program once.
pub(crate) fn read<T: DeserializeOwned>(document: &[u8]) -> std::result::Result<T, serde_json::Error> {
    let text = std::str::from_utf8(document).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}

fn raw(json: String) -> Result<Box<RawValue>> {
    RawValue::from_string(json).map_err(|error| unwritable(&error))
}

/// JSON without newlines. Inside strings they are escaped, so the remaining ones are whitespace.
fn one_line(mut json: String) -> String {
    if json.contains(['\n', '\r']) {
        json = json.replace(['\n', '\r'], " ");
    }
    json
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::bug(format!("a document has no JSON: {error}")).at(Stage::Reply)
}

fn too_large(bytes: usize) -> Error {
    let most = REQUEST_MAX / (1024 * 1024);
    Error::usage(Code::RequestTooLarge, format!("the request has {bytes} bytes; the limit of a server is {most} MiB"))
        .hint("Split the request, or run the command on the machine of the store.")
}

impl Hello {
    /// The line, without its newline.
    pub fn to_line(&self) -> String {
        to_raw_value(self).map_or_else(|_| "{}".to_owned(), |line| line.get().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Kind;
    use tenure_core::action::Action;
    use tenure_kernel::op::claim;
    use tenure_kernel::query::status::Status;
    use tenure_kernel::{Actor, RequestId};

    use super::*;

    fn call() -> Call {
        serde_json::from_str(
            r#"{"project":{"key":"name:p","label":"p"},"actor":{"name":"a"},"request_id":{"value":"r1","given":true}}"#,
        )
        .unwrap()
    }

    #[test]
    fn requests_come_out_as_they_went_in() {
        let op = Op::new(claim::Claim { task: Some("t-1".into()), ..claim::Claim::default() });
        let line = WireRequest::op(&call(), &op, Some(250)).unwrap().to_line().unwrap();
        let read = WireRequest::read(line.as_bytes()).unwrap();
        assert_eq!(read.call.deadline_ms, Some(250));
        assert_eq!(read.call.call.request_id, RequestId::given("r1").unwrap());
        let Asked::Op(same) = read.asked().unwrap() else { panic!("an op") };
        assert_eq!((same.name(), same.canonical().unwrap()), ("claim", op.canonical().unwrap()));
        let line = WireRequest::query(&call(), &Status {}, None).unwrap().to_line().unwrap();
        let Asked::Query(same) = WireRequest::read(line.as_bytes()).unwrap().asked().unwrap() else {
            panic!("a query")
        };
        assert!(same.get::<Status>().is_some());
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let call = serde_json::to_value(call()).unwrap();
        let kind = |document: Value| {
            WireRequest::read(document.to_string().as_bytes()).and_then(|request| request.asked()).unwrap_err().kind()
        };
        assert_eq!(kind(serde_json::json!({})), Kind::Usage);
        assert_eq!(kind(serde_json::json!({ "call": call })), Kind::Usage);
        assert_eq!(kind(serde_json::json!({ "call": call, "op": "claim", "query": "list" })), Kind::Usage);
        assert_eq!(kind(serde_json::json!({ "call": call, "op": "clam" })), Kind::NotFound);
        assert_eq!(kind(serde_json::json!({ "call": call, "op": "claim", "request": { "x": 1 } })), Kind::Usage);
        let nameless = Call { actor: Actor::named(""), ..self::call() };
        let op = Op::new(claim::Claim::default());
        let error = WireRequest::op(&nameless, &op, None).unwrap().asked().unwrap_err();
        assert_eq!(error.code(), "bad_name");
    }

    #[test]
    fn answers_come_out_as_they_went_in() {
        for body in [r#"{"a":1.10,"b":"x\ny"}"#, "null", "[]", "3"] {
            let reply = Reply { body: body.to_owned(), replayed: true };
            assert_eq!(read_answer(answer(Ok(reply.clone())).as_bytes()).unwrap().unwrap(), reply);
        }
        let error = Error::new(Code::TaskHeld, "t-1 is held").who("b").attempt(Action::NextTask);
        let told = error.to_json(&Commands);
        let read = read_answer(answer(Err(error)).as_bytes()).unwrap().unwrap_err();
        assert_eq!(read.to_json(&Commands), told);
        let spread = Reply { body: "{\n\"a\":\r\n1}".to_owned(), replayed: false };
        assert!(!answer(Ok(spread)).contains(['\n', '\r']));
        for bad in ["", "{}", r#"{"ok":true,"error":{}}"#, r#"{"ok":false}"#, "<html>"] {
            assert_eq!(read_answer(bad.as_bytes()).unwrap_err().code(), "bad_answer", "{bad}");
        }
    }
}
