//! Receives the signals that a runner forwards to its command.

use std::future::pending;

use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that the runner forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Passed {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    HangUp,
    /// SIGQUIT.
    Quit,
}

/// Calls `on` with each signal from now on, from a separate thread, instead of letting the signal end the process. A
/// signal that this process was started to ignore stays ignored: `nohup` and shells that start background jobs do that.
pub fn listen(on: impl Fn(Passed) + Send + 'static) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    let ignored = ignored();
    let stream = |kind: SignalKind| (!is_in(ignored, kind)).then(|| signal(kind)).transpose();
    let mut interrupt = stream(SignalKind::interrupt())?;
    let mut terminate = stream(SignalKind::terminate())?;
    let mut hang_up = stream(SignalKind::hangup())?;
    let mut quit = stream(SignalKind::quit())?;
    drop(entered);
    let each = async move {
        loop {
            let passed = tokio::select! {
                () = next(&mut interrupt) => Passed::Interrupt,
                () = next(&mut terminate) => Passed::Terminate,
                () = next(&mut hang_up) => Passed::HangUp,
                () = next(&mut quit) => Passed::Quit,
            };
            on(passed);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(each)).map(|_| ())
}

async fn next(stream: &mut Option<Signal>) {
    match stream {
        Some(stream) => _ = stream.recv().await,
        None => pending().await,
    }
}

/// The signals that this process ignores, as a bit mask. Empty if the system does not report them.
#[expect(clippy::disallowed_methods, reason = "a file of the system")]
fn ignored() -> u64 {
    std::fs::read_to_string("/proc/self/status").map_or(0, |status| mask(&status))
}

fn mask(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_in(mask: u64, kind: SignalKind) -> bool {
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signals_that_nohup_ignores_are_read() {
        let mask = mask("Name:\ttenure\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n");
        assert!(is_in(mask, SignalKind::hangup()));
        assert!(!is_in(mask, SignalKind::interrupt()));
        assert!(!is_in(super::mask(""), SignalKind::hangup()));
    }
}
