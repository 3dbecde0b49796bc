//! What went wrong in hooks, for people: standard error is shown by some tools and lost by others.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use tenure_store::{Clock, SystemClock};

use crate::env::Env;

/// The largest log; the next line begins it anew.
const MOST: u64 = 256 * 1024;

/// Adds a line. Where that cannot be done, nothing is said.
#[expect(clippy::disallowed_methods, reason = "a log file, never a database")]
pub(super) fn append(env: &Env, typed: &str, what: &str) {
    let Some(dir) = env.state_home().map(|home| home.join("tenure")) else { return };
    let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    let path = dir.join("hook.log");
    // A link may lead anywhere, the database included.
    let known = std::fs::symlink_metadata(&path).ok();
    if known.as_ref().is_some_and(|meta| !meta.is_file()) {
        return;
    }
    let full = known.is_some_and(|meta| meta.len() > MOST);
    let mut options = std::fs::OpenOptions::new();
    options.create(true).mode(0o600);
    let file = if full { options.write(true).truncate(true).open(&path) } else { options.append(true).open(&path) };
    if let Ok(mut file) = file {
        let line: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
        let _ = file.write_all(format!("{} {typed} {line}\n", SystemClock.now()).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "reads a file of its own")]
    fn the_log_is_bounded_and_its_lines_are_lines() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::of(dir.path(), []).with("XDG_STATE_HOME", dir.path());
        let path = dir.path().join("tenure/hook.log");
        append(&env, "claude Stop", "a\nb\u{1b}[31m");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("claude Stop a b [31m\n") && text.lines().count() == 1, "{text}");
        std::fs::write(&path, vec![b'x'; 300 * 1024]).unwrap();
        append(&env, "claude Stop", "fresh");
        assert!(std::fs::metadata(&path).unwrap().len() < 1_000);
        // Nowhere to write is no reason to fail.
        append(&Env::of(dir.path(), []).with("XDG_STATE_HOME", "/proc/nowhere"), "x", "y");
    }
}
