//! Default signal handling in the processes that tests start, even if the caller of the tests ignores signals.

use std::process::Command;
use std::sync::Once;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::home::{Engine, Home};

/// The signals that tests send, or that a person sends to the tests.
const SENT: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Prevents started programs from ignoring the signals that this process was started to ignore, by `nohup` or by a
/// shell that runs it in the background. A program inherits ignored signals, but no handlers. So each of these signals
/// gets a handler that does nothing, which has the same effect here.
pub(crate) fn reset_ignored() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for signal in ignored {
            signal_hook::flag::register(signal, std::sync::Arc::default()).unwrap();
        }
    });
}

fn ignored(status: &str) -> Vec<i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    SENT.into_iter().filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

#[test]
fn what_tests_start_ignores_no_signal_that_the_tests_were_started_to_ignore() {
    const INNER: &str = "TENURE_TEST_SIGNALS";
    if std::env::var_os(INNER).is_some() {
        let home = Home::direct_without_git(Engine::File);
        let status = home.clean("cat".as_ref()).arg("/proc/self/status").output().unwrap();
        let still = ignored(&String::from_utf8(status.stdout).unwrap());
        assert!(still.is_empty(), "{still:?}");
        return;
    }
    let name = "signals::what_tests_start_ignores_no_signal_that_the_tests_were_started_to_ignore";
    let ignoring = "trap '' HUP INT QUIT TERM; grep -q '^SigIgn:.*7$' /proc/self/status || exit 9; exec \"$@\"";
    let again = std::env::current_exe().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", ignoring, "sh"]).arg(again).args(["--exact", name]).env(INNER, "1");
    let inner = shell.output().unwrap();
    assert!(inner.status.success(), "{:?} {}", inner.status.code(), String::from_utf8_lossy(&inner.stdout));
}
