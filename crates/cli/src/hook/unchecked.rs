//! What a session is told once when a guard could not look and its policy lets edits go on: that nobody checks them.
//!
//! The store is what cannot be reached, so what was told is remembered by files in the state directory: one a session,
//! made or renamed in one step, so that of hooks that run at the same time one speaks.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Seen;
use super::tool::{Event, Tool};
use crate::env::Env;

/// Most sessions that are remembered; beyond that the older half is forgotten.
const MOST: usize = 512;

const TOLD: &str = "Tenure could not look whether others hold what you edit, and guard.fail = \"open\" lets edits go on \
                    unchecked: mind that others may be at the same files. `tenure doctor` says what is wrong. You are told \
                    this once.";

/// What a hook of an event says that failed, if it is to say anything.
pub(super) fn after_failure(tool: &Tool, event: Event, env: &Env, seen: &Seen) -> Option<String> {
    match event {
        Event::Before => {
            let mark = Mark::of(tool, env, seen)?;
            // A sub-agent is told nothing; its session is, with the next prompt.
            if tool.hears_before && !seen.is_sub_agent {
                return mark.tell().then(|| TOLD.to_owned());
            }
            mark.make_due();
            None
        }
        Event::Prompt => due(tool, env, seen),
        _ => None,
    }
}

/// What is due to be told with a prompt. It is given out once.
pub(super) fn due(tool: &Tool, env: &Env, seen: &Seen) -> Option<String> {
    let mark = Mark::of(tool, env, seen).filter(|_| !seen.is_sub_agent)?;
    mark.take_due().then(|| TOLD.to_owned())
}

/// What is remembered of one session.
struct Mark {
    dir: PathBuf,
    name: String,
}

impl Mark {
    fn of(tool: &Tool, env: &Env, seen: &Seen) -> Option<Mark> {
        let session = seen.session.as_ref()?;
        let sum = Sha256::new().chain_update(tool.name).chain_update([0]).chain_update(session).finalize();
        let name = sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Some(Mark { dir: env.state_home()?.join("tenure/unchecked"), name })
    }

    fn file(&self, end: &str) -> PathBuf {
        self.dir.join(format!("{}.{end}", self.name))
    }

    /// Whether this is the one that tells it.
    fn tell(&self) -> bool {
        self.make(&self.file("told"))
    }

    fn make_due(&self) {
        if !self.file("told").exists() {
            self.make(&self.file("due"));
        }
    }

    fn take_due(&self) -> bool {
        std::fs::rename(self.file("due"), self.file("told")).is_ok()
    }

    /// Makes a file; says whether it was not there before. Where nothing can be written it never was: a remark that
    /// comes with every edit would be worse than none, and the log of hooks has it or cannot be written either.
    #[expect(clippy::disallowed_methods, reason = "an empty file of its own that was not there before")]
    fn make(&self, path: &Path) -> bool {
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).is_ok();
        if made {
            self.forget_old();
        }
        made
    }

    fn forget_old(&self) {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut files: Vec<_> =
            entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
        if files.len() > MOST {
            files.sort();
            for (_, path) in files.iter().take(files.len() - MOST / 2) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::tool::find;

    fn seen(session: &str) -> Seen {
        Seen { session: Some(session.to_owned()), ..Seen::default() }
    }

    #[test]
    fn inv_r11_a_session_is_told_once_at_the_edit_or_with_the_next_prompt() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::of(dir.path(), []).with("XDG_STATE_HOME", dir.path());
        let says = |tool: &str, event, seen: &Seen| after_failure(find(tool).unwrap(), event, &env, seen).is_some();
        // Claude Code takes context with the edit itself.
        let first: Vec<bool> = (0..3).map(|_| says("claude", Event::Before, &seen("a"))).collect();
        assert_eq!(first, [true, false, false]);
        assert!(!says("claude", Event::Prompt, &seen("a")) && says("claude", Event::Before, &seen("b")));
        for tool in ["codex", "gemini", "cursor", "opencode"] {
            assert!(!says(tool, Event::Prompt, &seen("a")), "{tool}: nothing is due");
            assert!(!says(tool, Event::Before, &seen("a")) && !says(tool, Event::Before, &seen("a")), "{tool}");
            assert!(!says(tool, Event::Prompt, &seen("b")), "{tool}: another session");
            assert!(due(find(tool).unwrap(), &env, &seen("a")).is_some(), "{tool}");
            assert!(!says(tool, Event::Before, &seen("a")) && !says(tool, Event::Prompt, &seen("a")), "{tool}: once");
        }
        // A sub-agent hears nothing; its session does.
        let sub = Seen { is_sub_agent: true, ..seen("c") };
        assert!(!says("claude", Event::Before, &sub) && !says("claude", Event::Prompt, &sub));
        assert!(says("claude", Event::Prompt, &seen("c")));
        // Without a session there is nobody to tell, and other events tell nothing.
        assert!(!says("claude", Event::Before, &Seen::default()) && !says("claude", Event::After, &seen("d")));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::of(dir.path(), []).with("XDG_STATE_HOME", dir.path());
        let claude = find("claude").unwrap();
        for n in 0..=MOST {
            assert!(after_failure(claude, Event::Before, &env, &seen(&n.to_string())).is_some(), "{n}");
        }
        assert_eq!(std::fs::read_dir(dir.path().join("tenure/unchecked")).unwrap().count(), MOST / 2);
        let nowhere = Env::of(dir.path(), []).with("XDG_STATE_HOME", "/proc/nowhere");
        assert_eq!(after_failure(claude, Event::Before, &nowhere, &seen("x")), None);
    }
}
