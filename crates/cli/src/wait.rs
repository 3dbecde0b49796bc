//! Waiting in line: an op takes a place, queries look at it until it is this agent's turn, and an op takes the offer.
//!
//! Each op has a request id of its own. When the process is killed, the place stays for its time to live, and the same
//! command continues with it.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use tenure_core::waiting::CALL;
use tenure_core::{Code, Error, Kind, Result, Span, hold};
use tenure_kernel::answer::{PlaceTurn, Reserved};
use tenure_kernel::query::turn;
use tenure_kernel::{Op, Reply, RequestId};
use tenure_store::{OsEntropy, WakeListener};

use crate::output::progress::Progress;
use crate::session::{RunOptions, Session, Sight, connection, evidence};

/// How long a place goes without a renewal while its agent waits.
const RENEW: Duration = Duration::from_secs(30);
/// How often a waiting agent checks whether those before it are dead: a death rings no bell and ends no hold by itself.
const LOOK: Duration = Duration::from_secs(2);
/// How long an answer may take during a wait: the limit of the call nearly holds where a server does not answer, and a place
/// outlives several tries.
const ANSWER: Duration = Duration::from_secs(10);
/// The pause before a store that could not be reached is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// How long a call waits: what was typed, at most what is set.
pub(crate) fn limit(typed: &str, set: Option<Span>) -> Result<Duration> {
    let most = set.unwrap_or(CALL).min(CALL);
    let asked = if typed.is_empty() { most } else { hold::ttl(Span::parse(typed)?)?.min(most) };
    Ok(Duration::from_micros(u64::try_from(asked.0).unwrap_or(0)))
}

/// What an answer says about the place, where its asker waits: the answers of `reserve` and `lock` are alike in that.
fn waits(reply: &Reply) -> Result<Option<Reserved>> {
    let answer: serde_json::Value = reply.read()?;
    if answer["waiting"] == true { reply.read().map(Some) } else { Ok(None) }
}

/// Runs an op that waits until it got what it asks for, or the time of the call is over.
#[expect(clippy::disallowed_methods, reason = "how long a call waits is a time of the process")]
pub(crate) fn until_held(session: &Session<'_>, op: &Op, limit: Duration) -> Result<Reply> {
    let begun = Instant::now();
    let left = || limit.saturating_sub(begun.elapsed());
    let mut reply = session.run_any(op, RunOptions::default())?;
    connection::limit_answers(session, ANSWER);
    let progress = Progress::begin(session.out, "Waiting");
    let bell = RefCell::new(WakeListener::new());
    let mut dead = Vec::new();
    loop {
        let Some(answer) = waits(&reply)? else { return Ok(reply) };
        let place = answer.id.as_deref().unwrap_or_default();
        let renewed = Instant::now();
        let mut looked = renewed;
        let mut before: Option<PlaceTurn> = None;
        loop {
            let turn = outlast(left, || session.ask(&turn::Turn { place: place.into(), before: before.clone() }))?;
            if turn.state != "waiting" || renewed.elapsed() >= RENEW {
                break;
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                let found = outlast(left, || {
                    session
                        .ask_with(Sight::Store, |client, call| Ok(evidence::dead(session.settings.env, client, call)))
                })?;
                // A dead agent that blocks no one keeps its place: each is a reason to ask again only once.
                let anew = found.iter().any(|proof| !dead.contains(proof));
                dead = found;
                if anew {
                    break;
                }
            }
            progress.tell(&waiting_line(&turn));
            let left = left();
            if left.is_zero() {
                // Once more, so that the place is kept for its whole time from here on.
                let last = session.run_any(op, RunOptions::aside())?;
                return waits(&last)?.map_or(Ok(last), |answer| Err(still_waiting(&answer)));
            }
            let most = left.min(RENEW.saturating_sub(renewed.elapsed())).max(Duration::from_millis(1));
            session.ask_with(Sight::Store, |client, call| {
                client.pause(call, place, &mut bell.borrow_mut(), most);
                Ok(())
            })?;
            before = Some(turn);
        }
        // All tries have one id: an answer that was lost may have granted the lock.
        let request_id = RequestId::draw(&OsEntropy);
        let with = || RunOptions { request_id: Some(request_id.clone()), ..RunOptions::default() };
        reply = outlast(left, || session.run_any(op, with()))?;
    }
}

/// Asks until there is an answer or no time is left: an agent keeps its place in the line while the store is out of reach,
/// as long as it comes back in time.
#[expect(clippy::disallowed_methods, reason = "the pause between two tries")]
fn outlast<T>(left: impl Fn() -> Duration, ask: impl Fn() -> Result<T>) -> Result<T> {
    loop {
        match ask() {
            Err(error) if error.kind() == Kind::Busy && !left().is_zero() => std::thread::sleep(AGAIN.min(left())),
            answer => return answer,
        }
    }
}

/// The line is not over: the same command goes on with it.
fn still_waiting(answer: &Reserved) -> Error {
    let number = answer.place.unwrap_or(1);
    let kept = Span::seconds(answer.expires_in_s.unwrap_or(0));
    let mut error = Error::new(
        Code::StillWaiting,
        format!(
            "you are number {number} in the waiting line; your place is kept for \
                                                {kept}"
        ),
    )
    .hint("Repeat the command to continue waiting. To leave the line, release the path or lock.")
    .detail("waiting", true)
    .detail("place", number)
    .detail("id", answer.id.clone())
    .detail("expires_in_s", answer.expires_in_s)
    .detail("blockers", serde_json::json!(answer.blockers))
    .detail("total", answer.total);
    if let Some(first) = answer.blockers.first() {
        let does = if first.state == "waiting" { "waits before you" } else { "has it" };
        let why = if first.reason.is_empty() { String::new() } else { format!(", for “{}”", first.reason) };
        error = error.who(format!(
            "{} is {} (last seen {} ago) and {does}{why}",
            first.holder,
            first.liveness.as_str(),
            Span::seconds(first.last_seen_s)
        ));
    }
    error
}

/// What a person at a terminal sees while it takes long.
fn waiting_line(turn: &PlaceTurn) -> String {
    let behind = turn.behind.as_ref().map(|agent| format!(" behind {agent}")).unwrap_or_default();
    format!("Waiting{behind}, number {} in the line", turn.place.unwrap_or(1))
}
