//! The notice that a session gets once when a guard cannot check edits and its policy allows them.
//!
//! The store cannot be reached then, so what was said is recorded in files of the state directory: one per session,
//! created or renamed atomically, so that only one of several concurrent hooks gives the notice.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use tenure_core::error::detail::NobodySeen;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Kind};

use super::SeenEvent;
use crate::agent_tool::{AgentTool, HookEventKind};
use crate::env::Env;

/// Most sessions that are remembered; beyond that the older half is forgotten.
const MOST: usize = 512;

/// Most characters of why.
const WHY_MOST: usize = 240;

/// Why a guard could not do its work, for whoever is told of it; empty where the log alone says it.
pub(super) fn because(error: &Error) -> String {
    let nobody = match error.read::<NobodySeen>() {
        Some(_) => ": no other agent holds these files, but they could not be reserved for you",
        None => "",
    };
    let why = match error.code() {
        // File and line; what stands there is nobody's business.
        Code::ConfigInvalid => format!("{} is wrong", error.message().split(": ").next().unwrap_or_default()),
        Code::ConfigUnreadable => error.message().split(": ").next().unwrap_or_default().to_owned(),
        Code::BadName => "TENURE_AGENT is not the name of an agent".to_owned(),
        _ if error.kind() == Kind::Busy => format!("the store is busy{nobody}"),
        Code::NotWritable => format!("the store cannot be written{nobody}"),
        _ => return String::new(),
    };
    format!(" ({})", cut(&why, WHY_MOST))
}

fn told(because: &str, once: bool) -> String {
    let once = if once { " This message appears once." } else { "" };
    format!(
        "Tenure could not check this change{because}, and guard.fail = \"open\" lets it through unchecked: other agents \
         may be changing the same files. `tenure doctor` shows the problem.{once}"
    )
}

/// What a hook of an event says that failed, if it is to say anything.
pub(super) fn after_failure(
    tool: &AgentTool,
    event: HookEventKind,
    env: &Env,
    seen: &SeenEvent,
    because: &str,
) -> Option<String> {
    let mark = SessionMark::of(tool, env, seen);
    match (event, mark) {
        // A sub-agent is told nothing; its session is, with the next prompt.
        (HookEventKind::Before, Some(mark)) if tool.hears_before && !seen.is_sub_agent => match mark.make("told", "") {
            FileMade::Now => Some(told(because, true)),
            FileMade::Before => None,
            // Rather each time than never.
            FileMade::Never => Some(told(because, false)),
        },
        (HookEventKind::Before, Some(mark)) => {
            mark.make_due(because);
            None
        }
        (HookEventKind::Before, None) => (tool.hears_before && !seen.is_sub_agent).then(|| told(because, false)),
        (HookEventKind::Prompt, Some(mark)) if !seen.is_sub_agent => {
            let never = || (!mark.can_be_made()).then(|| told(because, false));
            mark.take_due().map(|because| told(&because, true)).or_else(never)
        }
        _ => None,
    }
}

/// What is due to be told with a prompt. It is given out once.
pub(super) fn due(tool: &AgentTool, env: &Env, seen: &SeenEvent) -> Option<String> {
    let mark = SessionMark::of(tool, env, seen).filter(|_| !seen.is_sub_agent)?;
    mark.take_due().map(|because| told(&because, true))
}

/// How the making of a file went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileMade {
    Now,
    /// It was there.
    Before,
    /// It cannot be made.
    Never,
}

/// What is remembered of one session.
struct SessionMark {
    dir: PathBuf,
    name: String,
}

impl SessionMark {
    fn of(tool: &AgentTool, env: &Env, seen: &SeenEvent) -> Option<SessionMark> {
        let session = seen.session.as_ref()?;
        let sum = Sha256::new().chain_update(tool.name).chain_update([0]).chain_update(session).finalize();
        let name = sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Some(SessionMark { dir: env.state_home()?.join("tenure/unchecked"), name })
    }

    fn file(&self, end: &str) -> PathBuf {
        self.dir.join(format!("{}.{end}", self.name))
    }

    fn make_due(&self, because: &str) {
        if !self.file("told").exists() {
            self.make("due", because);
        }
    }

    /// Why, if something is due.
    #[expect(clippy::disallowed_methods, reason = "a small file of its own")]
    fn take_due(&self) -> Option<String> {
        std::fs::rename(self.file("due"), self.file("told")).ok()?;
        let because = std::fs::read_to_string(self.file("told")).unwrap_or_default();
        Some(because.chars().filter(|c| !c.is_control()).take(WHY_MOST + 3).collect())
    }

    /// Whether anything can be remembered.
    fn can_be_made(&self) -> bool {
        let made = self.make("probe", "");
        let _ = std::fs::remove_file(self.file("probe"));
        made != FileMade::Never
    }

    /// Makes a file, in one step.
    #[expect(clippy::disallowed_methods, reason = "a file of its own that was not there before")]
    fn make(&self, end: &str, text: &str) -> FileMade {
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.file(end));
        match file {
            Ok(mut file) => {
                let _ = file.write_all(text.as_bytes());
                self.forget_old();
                FileMade::Now
            }
            Err(_) if self.file(end).exists() => FileMade::Before,
            Err(_) => FileMade::Never,
        }
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
    use crate::agent_tool::find;

    fn seen(session: &str) -> SeenEvent {
        SeenEvent { session: Some(session.to_owned()), ..SeenEvent::default() }
    }

    #[test]
    fn inv_r11_a_session_is_told_once_at_the_edit_or_with_the_next_prompt() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::of(dir.path(), []).with("XDG_STATE_HOME", dir.path());
        let says = |tool: &str, event, seen: &SeenEvent| {
            after_failure(find(tool).unwrap(), event, &env, seen, " (x)").is_some()
        };
        // Claude Code takes context with the edit itself.
        let first: Vec<bool> = (0..3).map(|_| says("claude", HookEventKind::Before, &seen("a"))).collect();
        assert_eq!(first, [true, false, false]);
        assert!(
            !says("claude", HookEventKind::Prompt, &seen("a")) && says("claude", HookEventKind::Before, &seen("b"))
        );
        for tool in ["codex", "gemini", "cursor", "opencode"] {
            assert!(!says(tool, HookEventKind::Prompt, &seen("a")), "{tool}: nothing is due");
            assert!(
                !says(tool, HookEventKind::Before, &seen("a")) && !says(tool, HookEventKind::Before, &seen("a")),
                "{tool}"
            );
            assert!(!says(tool, HookEventKind::Prompt, &seen("b")), "{tool}: another session");
            assert!(due(find(tool).unwrap(), &env, &seen("a")).unwrap().contains(" (x)"), "{tool}: and why");
            assert!(
                !says(tool, HookEventKind::Before, &seen("a")) && !says(tool, HookEventKind::Prompt, &seen("a")),
                "{tool}: once"
            );
        }
        // A sub-agent hears nothing; its session does.
        let sub = SeenEvent { is_sub_agent: true, ..seen("c") };
        assert!(!says("claude", HookEventKind::Before, &sub) && !says("claude", HookEventKind::Prompt, &sub));
        assert!(says("claude", HookEventKind::Prompt, &seen("c")));
        // Without a session nobody knows what was told, and other events tell nothing.
        for _ in 0..2 {
            assert!(
                says("claude", HookEventKind::Before, &SeenEvent::default())
                    && !says("gemini", HookEventKind::Before, &SeenEvent::default())
            );
        }
        assert!(!says("claude", HookEventKind::After, &seen("d")));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::of(dir.path(), []).with("XDG_STATE_HOME", dir.path());
        let claude = find("claude").unwrap();
        for n in 0..=MOST {
            assert!(after_failure(claude, HookEventKind::Before, &env, &seen(&n.to_string()), "").is_some(), "{n}");
        }
        assert_eq!(std::fs::read_dir(dir.path().join("tenure/unchecked")).unwrap().count(), MOST / 2);
        let nowhere = Env::of(dir.path(), []).with("XDG_STATE_HOME", "/proc/nowhere");
        assert_eq!(after_failure(claude, HookEventKind::After, &nowhere, &seen("x"), ""), None);
    }

    #[test]
    fn inv_r11_where_nothing_can_be_remembered_it_is_told_each_time() {
        let nowhere = Env::of(std::path::Path::new("/"), []).with("XDG_STATE_HOME", "/proc/nowhere");
        for (tool, event) in
            [("claude", HookEventKind::Before), ("gemini", HookEventKind::Prompt), ("codex", HookEventKind::Prompt)]
        {
            for _ in 0..2 {
                let told = after_failure(find(tool).unwrap(), event, &nowhere, &seen("x"), "").unwrap();
                assert!(told.contains("unchecked") && !told.contains("once"), "{told}");
            }
        }
    }
}
