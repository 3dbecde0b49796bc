//! Signals of this process, for a runner that passes them on to its command.

use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// A signal that is passed on.
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

/// Calls `on` with each signal from now on, on a thread of its own, in place of ending the process.
pub fn listen(on: impl Fn(Passed) + Send + 'static) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    drop(entered);
    let each = async move {
        loop {
            let passed = tokio::select! {
                _ = interrupt.recv() => Passed::Interrupt,
                _ = terminate.recv() => Passed::Terminate,
                _ = hang_up.recv() => Passed::HangUp,
                _ = quit.recv() => Passed::Quit,
            };
            on(passed);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(each)).map(|_| ())
}
