//! Runs a command under a lock: renews the lock, and has the command ended before the lock can end.
//!
//! The lock is trusted for its time to live from the instant before the last request that the store granted was sent. The
//! store counts from later, so the lock lives at least that long. Only a wall clock that is set forward under the store's
//! feet ends it earlier, as it ends every hold. Processes are the engine's: a keeper starts the command, and ends it with
//! all of its descendants when trust is over.

mod report;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::time::Duration;

use tenure_core::text::cut;
use tenure_core::{Code, Error, Kind, Result, Span, Stage, lock as rule};
use tenure_engine::process::{
    CommandEnd, KeeperEvent, KeptCommand, LaunchSpec, LockTrust, MARKER, NotStarted, Processes, RunRecords, duration,
    end_unfinished, since_boot,
};
use tenure_kernel::Op;
use tenure_kernel::answer::Hold;
use tenure_kernel::op::{lock, release};
use tenure_store::{Entropy, OsEntropy};

use crate::env::Env;
use crate::session::{RunOptions, Session, connection};

/// The exit code where the command was ended for a lost lock or a lost keeper.
pub(crate) const LOST: u8 = 123;

/// The exit code where the command was to be ended, and not all of it could be.
pub(crate) const NOT_ENDED: u8 = 122;

/// The exit code where the command was not started.
pub(crate) fn not_started(error: &Error) -> u8 {
    if error.kind() == Kind::Busy { 124 } else { 125 }
}

/// A lock that was taken for a command, and the instant before the request that the store granted was sent.
pub(crate) struct TakenLock {
    pub(crate) hold: Hold,
    pub(crate) sent: Duration,
}

/// Takes or renews a lock by what `ask` sends to the store last.
pub(crate) fn take(ask: impl FnOnce() -> Result<Hold>) -> Result<TakenLock> {
    let sent = since_boot();
    ask().map(|hold| TakenLock { hold, sent })
}

/// Runs a command under a lock that was taken for it, and releases the lock. What fails before the command starts is an
/// error; afterwards the exit code says it all.
pub(crate) fn run(session: &Session<'_>, taken: &TakenLock, words: &[OsString]) -> Result<u8> {
    let mut running = start(session, taken, words).inspect_err(|_| _ = give_back(session, &taken.hold))?;
    let finish = running.keep(session, taken);
    if !running.is_lost {
        // Nothing waits for this runner any more but the next one for the lock.
        connection::limit_answers(session, GIVE_BACK);
    }
    let released = match &finish {
        // Another agent would run beside what is left.
        Finish::Surviving(_) | Finish::Unwatched => Ok(()),
        Finish::Over(_) | Finish::NotStarted(_) => give_back(session, &taken.hold),
    };
    if !matches!(finish, Finish::NotStarted(_)) {
        session.out.was_shared();
    }
    match finish {
        Finish::NotStarted(why) => Err(not_startable(words, &taken.hold, why)),
        Finish::Surviving(surviving) => Ok(report::surviving(session, &taken.hold, &surviving, running.why)),
        Finish::Unwatched => Ok(report::unwatched(session, &taken.hold)),
        Finish::Over(end) => Ok(report::over(session, &taken.hold, &end, &released, running.why)),
    }
}

/// How long releasing the lock may take where nothing went wrong.
const GIVE_BACK: Duration = Duration::from_secs(10);

/// How long after the end of a lost lock a runner waits for processes that were killed and still live.
const SURVIVORS: Duration = Duration::from_secs(5);

fn give_back(session: &Session<'_>, hold: &Hold) -> Result<()> {
    let request =
        release::Release { lock: Some(hold.subject.clone()), fence: Some(hold.fence), ..release::Release::default() };
    session.run(request, RunOptions::aside()).map(|_| ())
}

fn start(session: &Session<'_>, taken: &TakenLock, words: &[OsString]) -> Result<RunningCommand> {
    let ttl = Span::seconds(taken.hold.ttl_s);
    let trust = LockTrust::from(taken.sent, ttl);
    // A command for which taking the lock took too long is not started at all.
    if since_boot() >= trust.term_at {
        return Err(not_startable(words, &taken.hold, NotStarted::Late));
    }
    let records = records_of(session, &taken.hold);
    if let Some(records) = &records {
        // What earlier commands under the lock have left running loses the lock to this one.
        end_unfinished(records, session.settings.env.os(MARKER), trust.term_at)
            .map_err(|surviving| report::not_alone(&taken.hold, &surviving))?;
    }
    let spec = LaunchSpec {
        records,
        words: words.to_vec(),
        environment: vec![
            ("TENURE_LOCK", taken.hold.subject.clone().into()),
            ("TENURE_FENCE", taken.hold.fence.to_string().into()),
        ],
        marker: session.settings.env.os(MARKER).map(ToOwned::to_owned),
        own_group: !std::io::stdin().is_terminal(),
        cgroup: wants_cgroup(session.settings.env),
        trust,
        patience: 2 * duration(rule::renew_every(ttl)),
    };
    let kept = KeptCommand::start(&spec).map_err(|error| {
        Error::new(Code::NoKeeper, "the process that keeps the command cannot be started")
            .at(Stage::Open)
            .hint("Nothing was run, and the lock is free again.")
            .cause(error)
    })?;
    Ok(RunningCommand { kept, trust, ends_at: trust.ends_at, is_lost: false, is_stale: false, why: None })
}

/// Where runs under a lock are recorded on this machine. The lock of a copied or moved store is another lock.
fn records_of(session: &Session<'_>, hold: &Hold) -> Option<RunRecords> {
    let workspace = &session.workspace;
    let project = workspace.ensure_key(&mut |bytes| OsEntropy.fill(bytes)).ok()?;
    let identity = [&workspace.store.display(), &project, &hold.subject].map(String::as_str).join("\0");
    RunRecords::of(session.settings.env.state_home()?.join("tenure/runs"), &identity, hold.fence.0)
}

/// Whether a command may have a cgroup of its own.
pub(crate) fn wants_cgroup(env: &Env) -> bool {
    env.os("TENURE_CGROUP").is_none_or(|value| value != "off")
}

/// How the wait for a command ended.
enum Finish {
    Over(CommandEnd),
    NotStarted(NotStarted),
    /// The lock is over, and these are not.
    Surviving(Processes),
    /// The watch over the command failed, so nothing proves that it has ended.
    Unwatched,
}

/// A command that runs under a lock.
struct RunningCommand {
    kept: KeptCommand,
    trust: LockTrust,
    /// Until when no other agent can have the lock, by the last renewal. Later than `trust` says where a renewal came too
    /// late for the command.
    ends_at: Duration,
    /// Whether the command is to be ended: the lock was not renewed in time, or the store refused it.
    is_lost: bool,
    /// Whether the store has refused to renew the lock.
    is_stale: bool,
    /// What kept it from being renewed last.
    why: Option<Error>,
}

impl RunningCommand {
    /// Renews the lock until the command is over, and for as long as anything of it survives.
    fn keep(&mut self, session: &Session<'_>, taken: &TakenLock) -> Finish {
        let ttl = Span::seconds(taken.hold.ttl_s);
        let every = duration(rule::renew_every(ttl));
        // An answer that comes after the next renewal would have been due is of no use, and while this thread waits for
        // one it cannot take note that the command is over.
        connection::limit_answers(session, every.max(Duration::from_secs(1)));
        let renewal = Op::new(lock::Lock {
            name: taken.hold.subject.clone(),
            fence: Some(taken.hold.fence),
            renewal: lock::LockRenewal::Runner,
            ..lock::Lock::default()
        });
        let mut next = taken.sent + every;
        let mut told = false;
        loop {
            let wait = if self.is_stale { every } else { next.saturating_sub(since_boot()) };
            match self.kept.next(wait.min(Duration::from_secs(1))) {
                Some(KeeperEvent::Over(end)) => return Finish::Over(end),
                Some(KeeperEvent::NotStarted(why)) => return Finish::NotStarted(why),
                Some(KeeperEvent::Unwatched) => return Finish::Unwatched,
                Some(KeeperEvent::Surviving(surviving)) => {
                    if self.is_lost && since_boot() >= self.ends_at + SURVIVORS {
                        return Finish::Surviving(surviving);
                    }
                    if !told {
                        report::waiting(session, &surviving);
                        told = true;
                    }
                }
                None => {}
            }
            let now = since_boot();
            self.is_lost |= now >= self.trust.term_at;
            // A command that is being ended still needs its lock until all of it is gone.
            if !self.is_stale && now >= next {
                next = self.renew(session, &renewal, ttl, every);
            }
        }
    }

    /// Renews the lock once. Returns when to do so again.
    fn renew(&mut self, session: &Session<'_>, renewal: &Op, ttl: Span, every: Duration) -> Duration {
        match take(|| session.run_any(renewal, RunOptions::aside())?.read()) {
            Ok(TakenLock { sent, .. }) => {
                let trust = LockTrust::from(sent, ttl);
                self.ends_at = trust.ends_at;
                if !self.is_lost {
                    self.trust = trust;
                    self.kept.trust(trust);
                    self.why = None;
                }
                sent + every
            }
            // The store may come back, and the lock is trusted until it is not.
            Err(error) if matches!(error.kind(), Kind::Busy | Kind::Storage | Kind::Internal) => {
                self.why = Some(error);
                since_boot() + every.min(Duration::from_secs(1))
            }
            Err(error) => {
                self.is_stale = true;
                self.is_lost = true;
                self.why = Some(error);
                self.kept.lose();
                since_boot() + every
            }
        }
    }
}

fn not_startable(words: &[OsString], hold: &Hold, why: NotStarted) -> Error {
    let program = words.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    let shown = if program.is_empty() { "an empty program name".to_owned() } else { cut(&program, 120) };
    let reason = match why {
        NotStarted::Late => {
            return Error::new(Code::LockLost, "the lock was granted too late to run the command")
                .entity(cut(&hold.subject, 120))
                .hint("Give it a longer --ttl, or try again.");
        }
        NotStarted::NoKeeper => "the process that keeps it was killed or does not answer".to_owned(),
        NotStarted::System(number) => std::io::Error::from_raw_os_error(number).to_string(),
    };
    Error::new(Code::CommandNotStarted, format!("{shown} cannot be started: {reason}"))
        .at(Stage::Arguments)
        .entity(shown)
        .hint("Nothing was run, and the lock is free again.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inv_r14_a_lock_is_trusted_from_before_it_was_asked_for() {
        let mut asked = Duration::ZERO;
        let hold: Hold = serde_json::from_value(json!({
            "id": "h-00000", "kind": "name", "subject": "deploy", "holder": "a", "fence": 1, "mode": "exclusive",
            "reason": "", "granted_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-01T00:01:00Z",
            "expires_in_s": 60, "ttl_s": 60, "state": "live", "liveness": "alive",
        }))
        .unwrap();
        let taken = take(|| {
            asked = since_boot();
            // However long the answer takes.
            while since_boot() == asked {}
            Ok(hold)
        });
        assert!(taken.unwrap().sent <= asked);
    }
}
