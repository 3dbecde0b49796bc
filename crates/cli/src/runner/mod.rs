//! Runs a command under a lock: renews the lock, and ends the command before the lock can end.
//!
//! The lock is trusted for its time to live from the instant before the last request that the store granted was sent. The
//! store counts from later, so the lock lives at least that long. Only a wall clock that is set forward under the store's
//! feet ends it earlier, as it ends every hold.

mod clock;
mod guardian;
mod target;
mod watch;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{WaitId, WaitIdOptions, waitid};
use serde_json::json;
use tenure_core::text::cut;
use tenure_core::{Error, Kind, Result, Span, Stage, lock as rule};
use tenure_kernel::Op;
use tenure_kernel::op::{lock, release};
use tenure_kernel::shape::Hold;
use tenure_server::signals;

use self::clock::{Trust, duration, since_boot};
use self::guardian::Guardian;
pub(crate) use self::guardian::{NAME, guard};
use self::target::Target;
use self::watch::{Blow, Post, Word, watch};
use crate::context::Context;
use crate::{failure, wait};

/// The exit code where the command was ended for a lost lock.
pub(crate) const LOST: u8 = 123;

/// The exit code where the command was not started.
pub(crate) fn not_started(error: &Error) -> u8 {
    if error.kind() == Kind::Busy { 124 } else { 125 }
}

/// A lock that was taken for a command, and the instant before the request that the store granted was sent.
pub(crate) struct Taken {
    pub(crate) hold: Hold,
    pub(crate) sent: Duration,
}

/// Takes or renews a lock by what `ask` sends to the store last.
pub(crate) fn take(ask: impl FnOnce() -> Result<Hold>) -> Result<Taken> {
    let sent = since_boot();
    ask().map(|hold| Taken { hold, sent })
}

/// Runs a command under a lock that was taken for it, and releases the lock. What fails before the command starts is an
/// error; afterwards the exit code says it all.
pub(crate) fn run(context: &Context<'_>, taken: &Taken, words: &[OsString]) -> Result<u8> {
    let started = Running::start(taken, words);
    let mut running = started.inspect_err(|_| _ = give_back(context, &taken.hold))?;
    let why = running.keep(context, taken);
    let (status, lost) = running.end();
    if !lost {
        // Nothing waits for this runner any more but the next one for the lock.
        hurry(context, GIVE_BACK);
    }
    let released = give_back(context, &taken.hold);
    let shown = cut(&taken.hold.subject, 120);
    if lost {
        let error =
            Error::refused(Kind::Stale, "lock_lost", format!("the lock {shown} was lost, and the command was ended"))
                .entity(shown)
                .hint("The command did not finish its work. Look at what it left behind before it is run again.")
                .attempt("tenure holds --kind name")
                .attempt(format!("tenure why {}", taken.hold.id))
                .detail("exit", LOST);
        failure::report(
            context.out,
            &match why {
                Some(why) => error.cause(why),
                None => error,
            },
        );
        return Ok(LOST);
    }
    if let Err(error) = &released {
        context.out.complain(&format!("tenure: the lock {shown} was not released: {}", error.message()));
    }
    let exit = exit_code(status);
    if context.out.is_json() {
        let hold = &taken.hold;
        context
            .out
            .data(&json!({ "exit": exit, "signal": status.signal(), "released": released.is_ok(), "hold": hold }));
    }
    Ok(exit)
}

/// The exit code of a command as a shell gives it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// How long giving the lock back may take where nothing went wrong.
const GIVE_BACK: Duration = Duration::from_secs(10);

fn hurry(context: &Context<'_>, limit: Duration) {
    context.hurry(limit);
}

fn give_back(context: &Context<'_>, hold: &Hold) -> Result<()> {
    let request =
        release::Request { lock: Some(hold.subject.clone()), fence: Some(hold.fence), ..release::Request::default() };
    context.run_aside(&Op::Release(request)).map(|_| ())
}

/// A command that runs under a lock, and those who watch it.
struct Running {
    child: Child,
    target: Target,
    trust: Trust,
    /// Whether the command was asked to end because of the lock.
    lost: Arc<AtomicBool>,
    say: Sender<Word>,
    guardian: Arc<Mutex<Guardian>>,
    exited: Receiver<()>,
}

impl Running {
    fn start(taken: &Taken, words: &[OsString]) -> Result<Running> {
        let ttl = Span::seconds(taken.hold.ttl_s);
        let trust = Trust::from(taken.sent, ttl);
        let [program, rest @ ..] = words else { return Err(Error::bug("a run without a command")) };
        let own_group = !std::io::stdin().is_terminal();
        let mut guardian = Guardian::start();
        let mut command = Command::new(program);
        command.args(rest).env("TENURE_LOCK", &taken.hold.subject).env("TENURE_FENCE", taken.hold.fence.to_string());
        if own_group {
            command.process_group(0);
        }
        // Whoever taking the lock took too long for is not started at all.
        if since_boot() >= trust.term_at {
            return Err(Error::refused(
                Kind::Stale,
                "lock_lost",
                "the lock was granted too late to run anything under it",
            )
            .entity(cut(&taken.hold.subject, 120))
            .hint("Give it a longer --ttl, or try again."));
        }
        let child = command.spawn().map_err(|error| not_startable(program, &error))?;
        let pid = guardian::pid(&child).ok_or_else(|| Error::bug("a process without a number"))?;
        let target = Target { pid, own_group };
        guardian.put_over(target);
        guardian.tell(Word::Trust(trust));
        let guardian = Arc::new(Mutex::new(guardian));
        let lost = Arc::new(AtomicBool::new(false));
        let (say, words) = channel();
        let _ = say.send(Word::Trust(trust));
        let (ended, exited) = channel();
        let listening = signals::listen(move |passed| target.pass(passed));
        let waiting = thread(move || {
            // The end is only looked at: until it is taken note of, the number stays that of the command.
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(target.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            let _ = ended.send(());
        });
        let (seen, second) = (Arc::clone(&lost), Arc::clone(&guardian));
        let watching = thread(move || {
            watch(&words, Post::First, |blow| {
                seen.store(true, Ordering::SeqCst);
                target.strike(blow);
                if blow == Blow::Term {
                    second.lock().unwrap_or_else(PoisonError::into_inner).tell(Word::Asked);
                }
            });
        });
        let running = Running { child, target, trust, lost, say, guardian, exited };
        match listening.and(waiting).and(watching) {
            Ok(()) => Ok(running),
            // Nobody would watch it.
            Err(error) => {
                running.target.strike(Blow::Kill);
                running.end();
                Err(Error::new(Kind::Storage, "no_thread", Stage::Open, "the command cannot be watched").cause(error))
            }
        }
    }

    fn tell(&self, word: Word) {
        let _ = self.say.send(word);
        self.guardian.lock().unwrap_or_else(PoisonError::into_inner).tell(word);
    }

    /// Renews the lock until the command is over. Returns what kept it from being renewed last.
    fn keep(&mut self, context: &Context<'_>, taken: &Taken) -> Option<Error> {
        let ttl = Span::seconds(taken.hold.ttl_s);
        let every = duration(rule::renew_every(ttl));
        let again = every.min(Duration::from_secs(1));
        // An answer that comes after the next renewal would have been due helps nobody, and while this thread waits for
        // one it cannot take note that the command is over.
        hurry(context, every.max(Duration::from_secs(1)));
        let renewal = Op::Lock(lock::Request {
            name: taken.hold.subject.clone(),
            fence: Some(taken.hold.fence),
            renewal: lock::Renewal::Runner,
            ..lock::Request::default()
        });
        let mut next = taken.sent + every;
        let mut why = None;
        let mut is_over = false;
        loop {
            let wait = if is_over { again } else { next.saturating_sub(since_boot()).min(Duration::from_secs(1)) };
            if !matches!(self.exited.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                return why;
            }
            let now = since_boot();
            if is_over || now < next {
                continue;
            }
            if now >= self.trust.term_at || self.lost.load(Ordering::SeqCst) {
                is_over = true;
                continue;
            }
            match take(|| wait::read(&context.run_aside(&renewal)?)) {
                Ok(Taken { sent, .. }) => {
                    self.trust = Trust::from(sent, ttl);
                    self.tell(Word::Trust(self.trust));
                    next = sent + every;
                    why = None;
                }
                // The store may come back, and the lock is trusted until it is not.
                Err(error) if matches!(error.kind(), Kind::Busy | Kind::Storage | Kind::Internal) => {
                    next = since_boot() + again;
                    why = Some(error);
                }
                Err(error) => {
                    self.lost.store(true, Ordering::SeqCst);
                    self.tell(Word::Lost);
                    is_over = true;
                    why = Some(error);
                }
            }
        }
    }

    /// Takes note of the end of the command. Says whether it was ended for a lost lock: by this process, or by the
    /// guardian while this one was stopped.
    fn end(mut self) -> (ExitStatus, bool) {
        let late = since_boot() >= self.trust.term_at;
        let asked = self.lost.load(Ordering::SeqCst);
        if asked || late {
            // What the command has left behind in its group goes with it.
            self.target.strike(Blow::Kill);
        }
        self.tell(Word::Done);
        let status = self.child.wait().unwrap_or_else(|_| ExitStatus::from_raw(0xff00));
        (status, asked || (late && status.signal().is_some()))
    }
}

fn thread(body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().spawn(body).map(|_| ())
}

fn not_startable(program: &OsString, error: &std::io::Error) -> Error {
    let shown = cut(&program.to_string_lossy(), 120);
    Error::new(Kind::Usage, "command_not_started", Stage::Arguments, format!("{shown} cannot be started: {error}"))
        .entity(shown)
        .hint("Nothing was run, and the lock is free again.")
}

#[cfg(test)]
mod tests {
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
