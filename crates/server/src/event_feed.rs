//! Live events: one task reads the log of a project, however many listeners it has.
//!
//! A listener first reads the events it has missed from the store, then takes those that the task broadcasts. It
//! subscribes before it reads, so no event is lost in between; it recognises duplicates by their number. A listener
//! that is too slow loses its place in the broadcast but no events: it reads them from the store again, at its own
//! pace. So a stalled listener costs a few kilobytes and slows no other listener.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::name::ProjectKey;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Result};
use tenure_kernel::answer::{LoggedEvent, Page};
use tenure_kernel::query::log::{Log, Since};
use tenure_kernel::{Call, Kernel};
use tenure_store::OsEntropy;
use tokio::sync::{Mutex, broadcast, mpsc, watch};

use crate::percent;

/// How many events are buffered for listeners that are slightly behind.
const KEPT: usize = 1_024;
/// The number of events in one read of the log.
const PAGE: usize = 500;

/// What listeners receive.
#[derive(Clone, Debug)]
pub enum FeedMessage {
    /// An event.
    Event(Arc<EventLine>),
    /// The log cannot be continued from the listener's position: the store was restored, or the events are no longer
    /// kept.
    Over(Arc<Error>),
}

/// An event, serialised once for all listeners.
#[derive(Debug)]
pub struct EventLine {
    pub number: EventNumber,
    /// The cursor after this event.
    pub cursor: String,
    pub kind: String,
    /// The event as JSON.
    pub json: String,
}

/// The logs with listeners.
pub struct EventFeed {
    kernel: Arc<Kernel>,
    rounds: watch::Receiver<u64>,
    topics: Mutex<HashMap<ProjectKey, broadcast::Sender<FeedMessage>>>,
}

impl EventFeed {
    /// A feed of a kernel's logs. `rounds` signals that there may be new events.
    pub fn new(kernel: Arc<Kernel>, rounds: watch::Receiver<u64>) -> EventFeed {
        EventFeed { kernel, rounds, topics: Mutex::default() }
    }

    /// Subscribes to a project from a position in its log, or from its end. `call` names the reader and the project. A
    /// position that cannot be continued from is refused here.
    pub async fn open(self: &Arc<EventFeed>, call: Call, from: Option<Since>) -> Result<Subscription> {
        let live = self.subscribe(&call).await?;
        let from = match from {
            Some(from) => from,
            None => Since::Cursor(end(&self.newest(&call).await?)),
        };
        let page = self.read(&call, from.clone()).await?;
        let start = match from {
            Since::Cursor(cursor) => cursor,
            Since::Number(number) => format!("{}.{number}", incarnation(&page)),
            Since::Time(_) => page
                .items
                .first()
                .map_or_else(|| end(&page), |event| format!("{}.{}", incarnation(&page), event.number.previous())),
        };
        Ok(Subscription { feed: self.clone(), call, live, start, page })
    }

    /// Signals changes of access rights, from the log of the whole store. If that log cannot be read, there is no
    /// signal, and listeners check from time to time.
    pub async fn access(self: &Arc<EventFeed>) -> Rights {
        let call = Call::of_store("nobody", &OsEntropy);
        Rights(self.subscribe(&call).await.ok())
    }

    /// Subscribes to the broadcast. The first subscriber starts the task that reads the log.
    async fn subscribe(self: &Arc<EventFeed>, call: &Call) -> Result<broadcast::Receiver<FeedMessage>> {
        let mut topics = self.topics.lock().await;
        if let Some(sender) = topics.get(&call.project.key).filter(|sender| sender.receiver_count() > 0) {
            return Ok(sender.subscribe());
        }
        // The start position of the task is fixed before any listener reads what it missed, so that no event is lost
        // between the two.
        let mut call = call.clone();
        // The task reads for all listeners, and each of them was authorised before. So it acts under no principal.
        call.actor.name = "nobody".into();
        call.actor.principal = None;
        let from = end(&self.newest(&call).await?);
        let (sender, receiver) = broadcast::channel(KEPT);
        topics.insert(call.project.key.clone(), sender.clone());
        tokio::spawn(self.clone().hand_out(call, from, sender));
        Ok(receiver)
    }

    async fn hand_out(self: Arc<EventFeed>, call: Call, mut from: String, to: broadcast::Sender<FeedMessage>) {
        let mut rounds = self.rounds.clone();
        let poll = self.kernel.store().poll();
        loop {
            rounds.borrow_and_update();
            let outcome = match self.read(&call, Since::Cursor(from.clone())).await {
                Ok(page) => lines(&page).map(|lines| (page, lines)),
                Err(error) => Err(error),
            };
            match outcome {
                Ok((page, lines)) => {
                    for line in lines {
                        // An error means that there are no receivers, which is checked below.
                        let _ = to.send(FeedMessage::Event(Arc::new(line)));
                    }
                    from = page.next.clone().unwrap_or_else(|| end(&page));
                    if page.more {
                        continue;
                    }
                }
                // A temporary failure: retry in a moment, while the listeners wait.
                Err(error) if error.retryable() => {}
                Err(error) => {
                    let _ = to.send(FeedMessage::Over(Arc::new(error)));
                    self.topics.lock().await.remove(&call.project.key);
                    return;
                }
            }
            {
                let mut topics = self.topics.lock().await;
                if to.receiver_count() == 0 {
                    topics.remove(&call.project.key);
                    return;
                }
            }
            let _ = tokio::time::timeout(poll, rounds.changed()).await;
            // Events that were committed together are sent together.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The newest page, which says where the log ends.
    async fn newest(&self, call: &Call) -> Result<Page<LoggedEvent>> {
        self.ask(call, Log { limit: 1, ..Log::default() }).await
    }

    async fn read(&self, call: &Call, since: Since) -> Result<Page<LoggedEvent>> {
        self.ask(call, Log { since: Some(since), limit: PAGE, ..Log::default() }).await
    }

    async fn ask(&self, call: &Call, query: Log) -> Result<Page<LoggedEvent>> {
        let (kernel, call) = (self.kernel.clone(), call.clone());
        let asked = tokio::task::spawn_blocking(move || kernel.ask(&call, &query)).await;
        asked.unwrap_or_else(|error| Err(Error::bug(format!("a query panicked: {error}"))))
    }
}

/// A signal that access rights have changed.
pub struct Rights(Option<broadcast::Receiver<FeedMessage>>);

impl Rights {
    /// Returns when access rights may have changed.
    pub async fn changed(&mut self) {
        loop {
            let Some(live) = &mut self.0 else { return std::future::pending().await };
            match live.recv().await {
                // Denials are in the same log and change no rights.
                Ok(FeedMessage::Event(line)) if line.kind == "access.denied" => {}
                Ok(FeedMessage::Event(_)) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                Ok(FeedMessage::Over(_)) | Err(broadcast::error::RecvError::Closed) => {
                    self.0 = None;
                    return;
                }
            }
        }
    }
}

/// A listener of one project.
pub struct Subscription {
    feed: Arc<EventFeed>,
    call: Call,
    live: broadcast::Receiver<FeedMessage>,
    start: String,
    page: Page<LoggedEvent>,
}

impl Subscription {
    /// The position in the log that the subscription starts after.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// Sends the existing events and then the new ones, until the receiver is dropped or the log is over.
    pub async fn run(self, to: mpsc::Sender<FeedMessage>) {
        if let Err(error) = self.follow(&to).await {
            let _ = to.send(FeedMessage::Over(Arc::new(error))).await;
        }
    }

    async fn follow(self, to: &mpsc::Sender<FeedMessage>) -> Result<()> {
        let Subscription { feed, call, mut live, mut page, .. } = self;
        let mut seen = EventNumber::START;
        loop {
            // The missed events, from the store.
            let mut from = loop {
                for line in lines(&page)? {
                    seen = line.number;
                    if to.send(FeedMessage::Event(Arc::new(line))).await.is_err() {
                        return Ok(());
                    }
                }
                if !page.more {
                    seen = seen.max(number(&end(&page)));
                    break Since::Cursor(end(&page));
                }
                let next = Since::Cursor(page.next.clone().unwrap_or_else(|| end(&page)));
                page = feed.read(&call, next).await?;
            };
            // The new events, from the shared task.
            loop {
                let message = tokio::select! {
                    () = to.closed() => return Ok(()),
                    message = live.recv() => message,
                };
                match message {
                    Ok(FeedMessage::Event(line)) if line.number <= seen => {}
                    Ok(FeedMessage::Event(line)) => {
                        seen = line.number;
                        from = Since::Cursor(line.cursor.clone());
                        if to.send(FeedMessage::Event(line)).await.is_err() {
                            return Ok(());
                        }
                    }
                    Ok(over) => return to.send(over).await.or(Ok(())),
                    Err(broadcast::error::RecvError::Lagged(_)) => break,
                    Err(broadcast::error::RecvError::Closed) => {
                        live = feed.subscribe(&call).await?;
                        break;
                    }
                }
            }
            page = feed.read(&call, from).await?;
        }
    }
}

/// The cursor at the end of a page. A store without an incarnation does not exist yet, so its log starts at zero.
fn end(page: &Page<LoggedEvent>) -> String {
    page.cursor.clone().unwrap_or_else(|| ".0".to_owned())
}

/// The event number in a cursor.
fn number(cursor: &str) -> EventNumber {
    cursor.rsplit_once('.').and_then(|(_, number)| number.parse().ok()).unwrap_or_default()
}

/// The store's incarnation, from a page's cursor.
fn incarnation(page: &Page<LoggedEvent>) -> &str {
    page.cursor.as_deref().and_then(|cursor| cursor.rsplit_once('.')).map_or("", |(name, _)| name)
}

fn lines(page: &Page<LoggedEvent>) -> Result<Vec<EventLine>> {
    let incarnation = incarnation(page);
    let line = |event: &LoggedEvent| {
        Ok(EventLine {
            number: event.number,
            cursor: format!("{incarnation}.{}", event.number),
            kind: event.kind.clone(),
            json: serde_json::to_string(event).map_err(|error| Error::bug(format!("an event has no JSON: {error}")))?,
        })
    };
    page.items.iter().map(line).collect()
}

/// A listener's position in several logs, as one opaque text that it sends to resume the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedPositions(pub BTreeMap<ProjectKey, String>);

impl FeedPositions {
    pub fn encode(&self) -> String {
        let pairs: Vec<_> = self
            .0
            .iter()
            .map(|(key, cursor)| format!("{}~{}", percent::encode(key), percent::encode(cursor)))
            .collect();
        format!("v1~{}", pairs.join("~"))
    }

    /// Parses the text. `None` if it is malformed.
    pub fn decode(text: &str) -> Option<FeedPositions> {
        let rest = text.strip_prefix("v1~")?;
        if rest.is_empty() {
            return Some(FeedPositions::default());
        }
        let parts = rest.split('~').map(percent::decode).collect::<Option<Vec<_>>>()?;
        if !parts.len().is_multiple_of(2) {
            return None;
        }
        Some(FeedPositions(parts.chunks(2).map(|pair| (pair[0].clone().into(), pair[1].clone())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_their_text() {
        let places = FeedPositions(BTreeMap::from([
            ("name:a~b%".into(), "s-x.12".to_owned()),
            ("origin:host/Ä b".into(), String::new()),
        ]));
        assert_eq!(FeedPositions::decode(&places.encode()), Some(places));
        assert_eq!(FeedPositions::decode(&FeedPositions::default().encode()), Some(FeedPositions::default()));
    }

    #[test]
    fn what_is_no_text_of_places_is_none() {
        for text in ["", "12", "v1", "v1~a", "v1~%4~b", "v1~%zz~b", "v1~%ff~b", "v2~a~b"] {
            assert_eq!(FeedPositions::decode(text), None, "{text}");
        }
    }
}
