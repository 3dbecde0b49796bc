//! The sessions of this process, with the recent answers of each. A client that was cut off asks for the rest of an
//! answer by the id of its last event (`Last-Event-ID`).

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::http::request::Parts;
use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, GetExtensions as _, RequestId, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker, SessionConfig, SessionError,
};
use rmcp::transport::streamable_http_server::session::{EventStream, RestoreOutcome};
use tenure_store::{Entropy as _, OsEntropy};
use tokio::sync::{mpsc, watch};

use super::Visitor;
use crate::quota::{Budget, QuotaPart};

/// How many answers of a session are kept.
const ANSWERS: usize = 16;
/// The maximum size of the kept answers in bytes. A larger answer is not kept: it is lost if the client is cut off.
const ANSWERS_BYTES: usize = 512 * 1024;
/// Messages up to this size are not counted while they wait to be read.
const SMALL: usize = 16 * 1024;
/// How many messages may wait for one reader besides the answer itself.
const AHEAD: usize = 4;
/// The error code for a lost answer.
const LOST: ErrorCode = ErrorCode(-32_000);

type SessionResult<T> = Result<T, LocalSessionManagerError>;

tokio::task_local! {
    /// The id of the session that the current request starts.
    pub(super) static BEGUN: SessionId;
}

/// The sessions of this process.
pub(super) struct Sessions {
    local: LocalSessionManager,
    /// Identifies this process, so that the events of another are not mistaken for its own.
    birth: String,
    recorded: Arc<Mutex<HashMap<SessionId, RecordedAnswers>>>,
    /// The bytes of answers that wait to be read.
    unsent: Budget,
}

/// The answers of a session, oldest first.
#[derive(Default)]
struct RecordedAnswers {
    begun: u64,
    answers: VecDeque<Arc<RecordedAnswer>>,
}

impl RecordedAnswers {
    /// Forgets the oldest complete answers until the rest fits.
    fn shorten(&mut self) {
        while self.answers.iter().map(|told| told.bytes()).sum::<usize>() > ANSWERS_BYTES {
            let Some(over) = self.answers.iter().position(|told| *told.over.borrow()) else { return };
            self.answers.remove(over);
        }
    }
}

impl Sessions {
    pub(super) fn new(config: SessionConfig, unsent: Budget) -> Sessions {
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        let mut bytes = [0; 8];
        OsEntropy.fill(&mut bytes);
        let birth = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Sessions { local, birth, recorded: Arc::default(), unsent }
    }

    /// The live sessions. Answers of other sessions are forgotten.
    pub(super) async fn live(&self) -> HashSet<String> {
        let sessions = self.local.sessions.read().await;
        self.recorded().retain(|id, _| sessions.contains_key(id));
        sessions.keys().map(|id| id.to_string()).collect()
    }

    fn recorded(&self) -> MutexGuard<'_, HashMap<SessionId, RecordedAnswers>> {
        locked(&self.recorded)
    }

    /// Starts recording the answer to a message.
    fn begin(&self, id: &SessionId, message: &ClientJsonRpcMessage) -> Arc<RecordedAnswer> {
        let mut all = self.recorded();
        let recorded = all.entry(id.clone()).or_default();
        if recorded.answers.len() >= ANSWERS {
            let over = recorded.answers.iter().position(|told| *told.over.borrow());
            recorded.answers.remove(over.unwrap_or(0));
        }
        recorded.begun += 1;
        let request = match message {
            ClientJsonRpcMessage::Request(request) => written(&request.id),
            _ => String::new(),
        };
        let told = Arc::new(RecordedAnswer {
            birth: self.birth.clone(),
            number: recorded.begun,
            request,
            owner: principal(message).unwrap_or_default(),
            unsent: self.unsent.clone(),
            events: Mutex::default(),
            over: watch::Sender::new(false),
        });
        recorded.answers.push_back(told.clone());
        told
    }

    /// The rest of an answer after one of its events.
    fn rest(&self, id: &SessionId, last: &StreamPosition) -> EventStream {
        let all = self.recorded();
        let found = all.get(id).filter(|_| last.birth == self.birth);
        match found.and_then(|recorded| recorded.answers.iter().find(|told| told.number == last.number)) {
            Some(told) => Box::pin(told.clone().read(last.index.saturating_add(1))),
            None => Box::pin(ReplayStream::of(last.request.clone().map(lost))),
        }
    }
}

/// The answer to a call so far.
struct RecordedAnswer {
    birth: String,
    /// Its number in the session.
    number: u64,
    request: String,
    /// The principal of the request.
    owner: String,
    unsent: Budget,
    /// Each event with its size.
    events: Mutex<Vec<(ServerSseMessage, usize)>>,
    /// Whether it is complete. Every event wakes the readers.
    over: watch::Sender<bool>,
}

impl RecordedAnswer {
    fn bytes(&self) -> usize {
        locked(&self.events).iter().map(|(_, size)| size).sum()
    }

    /// Records the answer to its end, whether or not a client reads it.
    async fn take_down(&self, answer: impl Stream<Item = ServerSseMessage> + Send) {
        let mut answer = pin!(answer);
        while let Some(mut event) = poll_fn(|context| answer.as_mut().poll_next(context)).await {
            let size = size(&event);
            let mut events = locked(&self.events);
            event.event_id = Some(format!("{}.{}.{}.{}", self.birth, self.number, events.len(), self.request));
            events.push((event, size));
            drop(events);
            self.over.send_replace(false);
        }
        self.over.send_replace(true);
    }

    fn read(self: Arc<RecordedAnswer>, from: usize) -> ReplayStream {
        let (out, events) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            let (mut next, mut news) = (from, self.over.subscribe());
            loop {
                let over = *news.borrow_and_update();
                let more = locked(&self.events).get(next..).unwrap_or_default().to_vec();
                next += more.len();
                for (event, size) in more {
                    let part = if size > SMALL { self.unsent.take(&self.owner, size) } else { None };
                    if size > SMALL && part.is_none() {
                        // Too much already waits to be read. The client is told that its answer is lost, and may repeat
                        // the call.
                        return drop(out.send((read(&self.request).map_or(event, lost), None)).await);
                    }
                    if out.send((event, part)).await.is_err() {
                        return;
                    }
                }
                if over {
                    return;
                }
                tokio::select! {
                    () = out.closed() => return,
                    changed = news.changed() => if changed.is_err() { return },
                }
            }
        });
        ReplayStream { events, _sent: None }
    }
}

/// An event, and its part of the bytes that wait to be read.
type Counted = (ServerSseMessage, Option<QuotaPart>);

/// Events on their way to a client.
struct ReplayStream {
    events: mpsc::Receiver<Counted>,
    /// The part of the last event handed over. When the next one is requested, it is on its way.
    _sent: Option<QuotaPart>,
}

impl ReplayStream {
    fn of(event: Option<ServerSseMessage>) -> ReplayStream {
        let (out, events) = mpsc::channel(1);
        // The channel has room for one event, and there is no other sender.
        let _ = event.map(|event| out.try_send((event, None)));
        ReplayStream { events, _sent: None }
    }
}

impl Stream for ReplayStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let event = std::task::ready!(self.events.poll_recv(context));
        let (event, part) = event.map_or((None, None), |(event, part)| (Some(event), part));
        self._sent = part;
        Poll::Ready(event)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The principal of a request.
fn principal(message: &ClientJsonRpcMessage) -> Option<String> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let parts = request.request.extensions().get::<Parts>()?;
    parts.extensions.get::<Visitor>().map(|visitor| visitor.caller.grants.principal.to_string())
}

/// The size of an event in bytes.
fn size(event: &ServerSseMessage) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A message that cannot be serialised is not sent either.
    event
        .message
        .as_ref()
        .map_or(Ok(()), |message| serde_json::to_writer(&mut count, &**message))
        .map_or(0, |()| count.0)
}

/// The error in place of an answer from a process that is gone, or from too long ago. Without it the client would wait
/// forever.
fn lost(request: RequestId) -> ServerSseMessage {
    let error = ErrorData::new(
        LOST,
        "the answer is lost: check whether the call was executed, or repeat it with its `tenure/requestId`",
        None,
    );
    ServerSseMessage::from_message(ServerJsonRpcMessage::error(error, Some(request)))
}

/// A parsed event id.
struct StreamPosition {
    birth: String,
    number: u64,
    index: usize,
    request: Option<RequestId>,
}

impl StreamPosition {
    fn read(id: &str) -> Option<StreamPosition> {
        let mut parts = id.splitn(4, '.');
        let birth = parts.next()?.to_owned();
        let (number, index) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(StreamPosition { birth, number, index, request: read(parts.next()?) })
    }
}

/// The id of a call, encoded for use in the id of an event.
fn written(id: &RequestId) -> String {
    match id {
        RequestId::Number(number) => format!("n{number}"),
        RequestId::String(text) => format!("s{}", text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

fn read(written: &str) -> Option<RequestId> {
    if let Some(number) = written.strip_prefix('n') {
        return number.parse().ok().map(RequestId::Number);
    }
    let digits = written.strip_prefix('s')?;
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| digits.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()))
        .collect();
    String::from_utf8(bytes?).ok().map(|text| RequestId::String(text.into()))
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> SessionResult<(SessionId, Self::Transport)> {
        let failed = |why: String| SessionError::Io(std::io::Error::other(why));
        let id = BEGUN.try_with(Clone::clone).map_err(|error| failed(error.to_string()))?;
        match self.local.restore_session(id.clone()).await? {
            RestoreOutcome::Restored(transport) => Ok((id, transport)),
            _ => Err(failed("an id was drawn twice".to_owned()).into()),
        }
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> SessionResult<ServerJsonRpcMessage> {
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> SessionResult<bool> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> SessionResult<()> {
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let told = self.begin(id, &message);
        let answer = self.local.create_stream(id, message).await?;
        let read = told.clone().read(0);
        // Recorded even if the client is gone, because it may reconnect for the rest.
        let (recorded, id) = (self.recorded.clone(), id.clone());
        tokio::spawn(async move {
            told.take_down(answer).await;
            if let Some(recorded) = locked(&recorded).get_mut(&id) {
                recorded.shorten();
            }
        });
        Ok(read)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> SessionResult<()> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let rest: EventStream = match StreamPosition::read(&last_event_id) {
            Some(last) => self.rest(id, &last),
            None => Box::pin(self.local.resume(id, last_event_id).await?),
        };
        Ok(rest)
    }

    async fn restore_session(&self, id: SessionId) -> SessionResult<RestoreOutcome<Self::Transport>> {
        self.local.restore_session(id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_says_whose_answer_it_is_of() {
        for id in [RequestId::Number(-7), RequestId::String("a.b/ä".into()), RequestId::String("".into())] {
            let place = StreamPosition::read(&format!("ab.3.1.{}", written(&id))).unwrap();
            assert_eq!((place.birth.as_str(), place.number, place.index, place.request), ("ab", 3, 1, Some(id)));
        }
        for none in ["", "0", "1/2", "a.b.c.d", "a.1.2"] {
            assert!(StreamPosition::read(none).is_none(), "{none}");
        }
        assert!(StreamPosition::read("a.1.2.s0").unwrap().request.is_none());
    }
}
