//! The agent tools: each has one file, which describes how the environment shows a session of the tool, what its hooks
//! send and accept, and which of its files `tenure setup` changes. [`ALL`] lists them; identity, hooks and setup derive
//! from it.
//!
//! A file of a tool only describes: nothing here reads the environment, a store or standard input.

mod claude;
mod codex;
mod cursor;
mod gemini;
mod opencode;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::hook::input::Payload;
use crate::setup::json_entries::HookLayout;
use crate::setup::target::{Content, Ground, Installation, SetupScope};

pub(crate) use opencode::is_plugin;

/// Every agent tool, in the order in which `tenure setup` shows them.
pub(crate) const ALL: &[&AgentTool] = &[&claude::TOOL, &codex::TOOL, &gemini::TOOL, &cursor::TOOL, &opencode::TOOL];

/// An agent tool.
pub(crate) struct AgentTool {
    /// As users type it; the names of its agents begin with it.
    pub(crate) name: &'static str,
    /// As its makers write it.
    pub(crate) title: &'static str,

    // Identity: only the environment identifies a tool, never the name of a process.
    /// The variable with the id of the session.
    pub(crate) session_variable: Option<&'static str>,
    /// Set in the tool's shells, also by versions that give no session id.
    pub(crate) marker_variables: &'static [&'static str],
    /// Whether its MCP calls carry the id of the session as `threadId`.
    pub(crate) sends_thread_id: bool,

    // Hooks.
    pub(crate) events: &'static [HookEvent],
    /// The document that adds a text to the context of a session, for an event.
    pub(crate) context: fn(&str, &str) -> Value,
    /// The document that refuses a tool call with a reason, for an event.
    pub(crate) deny: fn(&str, &str) -> Value,
    /// Whether the session sees context that the hook before a tool call adds.
    pub(crate) hears_before: bool,
    /// When a session is shown again what it lost to compaction.
    pub(crate) after_compaction: AfterCompaction,
    /// Whether a new session replaces the earlier one of the same process without an end event.
    pub(crate) ends_silently: bool,
    /// Its tools that run command lines.
    pub(crate) shells: &'static [&'static str],
    /// The files that a tool call changes, as the call names them; None for a tool that changes no files by itself.
    pub(crate) edits: fn(&Payload<'_>) -> Option<Vec<String>>,

    // Setup.
    /// Programs that show that the tool is installed.
    pub(crate) programs: &'static [&'static str],
    /// Its directory in a repository and, unless `home` says otherwise, in the home directory.
    pub(crate) directory: &'static str,
    /// The directory of the user's own configuration, where it is not `directory` in the home directory.
    pub(crate) home: fn(&Ground) -> Option<PathBuf>,
    /// The files to change and what goes into each.
    pub(crate) files: fn(&Installation<'_>) -> Vec<(PathBuf, Content)>,
    /// How it writes hooks down.
    pub(crate) shape: HookLayout,
    /// How many units of its timeouts make a second.
    pub(crate) timeout_unit: u64,
    /// Whether it runs a hook only after a person has trusted it, as `setup::trust` reads from its configuration.
    pub(crate) needs_trust: bool,
    /// Whether it runs commands by a login shell, whose profile may set another PATH.
    pub(crate) uses_login_shell: bool,
    /// What a person has to know or do after setup.
    pub(crate) note: fn(SetupScope) -> Option<&'static str>,
    /// An event as the tool sends it, for `tenure setup --check`.
    pub(crate) sample: fn(&Sample<'_>) -> Value,
}

/// An event of a tool, by the tool's own name for it.
#[derive(Debug)]
pub(crate) struct HookEvent {
    pub(crate) name: &'static str,
    pub(crate) kind: HookEventKind,
    /// The tools whose calls setup installs the hook for, empty for all calls. None: setup installs no hook for it.
    pub(crate) matcher: Option<&'static str>,
}

impl HookEvent {
    /// An event that setup installs a hook for.
    const fn installed(name: &'static str, kind: HookEventKind) -> HookEvent {
        HookEvent { name, kind, matcher: Some("") }
    }

    /// The same, for calls of some tools only.
    const fn matching(name: &'static str, kind: HookEventKind, matcher: &'static str) -> HookEvent {
        HookEvent { name, kind, matcher: Some(matcher) }
    }

    /// An event that is understood but that setup installs no hook for.
    const fn known(name: &'static str, kind: HookEventKind) -> HookEvent {
        HookEvent { name, kind, matcher: None }
    }
}

/// What an event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookEventKind {
    /// A session begins, or its context was compacted.
    Start,
    /// A person sent a prompt.
    Prompt,
    /// A tool is about to be used: the guards answer.
    Before,
    /// A tool was used.
    After,
    /// A tool was used and failed.
    Failed,
    /// The context is about to be compacted.
    Compact,
    /// A session is over.
    End,
    /// Nothing: the event is ignored.
    Nothing,
}

/// When a session is shown again what it lost to compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterCompaction {
    /// With the start event that the tool sends afterwards.
    Start,
    /// With the next prompt: no event comes before it.
    Prompt,
    /// With the compaction event itself: what is said then is kept.
    Now,
}

/// An event to be made up, and the project it happens in.
pub(crate) struct Sample<'a> {
    pub(crate) event: &'a str,
    pub(crate) kind: HookEventKind,
    pub(crate) dir: &'a Path,
}

impl Sample<'_> {
    const SESSION: &'static str = "setup-check";

    fn cwd(&self) -> String {
        self.dir.display().to_string()
    }

    /// A file in the project.
    fn file(&self) -> String {
        format!("{}/file.txt", self.cwd())
    }

    /// The fields that most tools send with every event, and some more.
    fn usual(&self, more: Value) -> Value {
        let common = json!({
            "session_id": Sample::SESSION, "cwd": self.cwd(), "hook_event_name": self.event, "transcript_path": "",
        });
        merged(common, merged(self.by_kind(), more))
    }

    /// The fields that most tools send with events of this kind.
    fn by_kind(&self) -> Value {
        match self.kind {
            HookEventKind::Prompt => json!({ "prompt": "" }),
            HookEventKind::Compact => json!({ "trigger": "manual" }),
            HookEventKind::End => json!({ "reason": "other" }),
            _ => json!({}),
        }
    }

    /// Whether it is an event of a tool call.
    fn is_call(&self) -> bool {
        matches!(self.kind, HookEventKind::Before | HookEventKind::After | HookEventKind::Failed)
    }
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

/// The tool of a name.
pub(crate) fn find(name: &str) -> Option<&'static AgentTool> {
    ALL.iter().copied().find(|tool| tool.name.eq_ignore_ascii_case(name))
}

/// The names of all tools.
pub(crate) fn names() -> Vec<&'static str> {
    ALL.iter().map(|tool| tool.name).collect()
}

impl AgentTool {
    /// The event of a name, however it is spelled: `SessionStart`, `session-start`, `session_start`.
    pub(crate) fn event(&self, typed: &str) -> Option<&'static HookEvent> {
        let plain = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
        };
        let typed = plain(typed);
        self.events.iter().find(|event| plain(event.name) == typed)
    }

    /// Whether a tool of that name runs command lines.
    pub(crate) fn is_shell(&self, name: &str) -> bool {
        self.shells.contains(&name)
    }
}

impl PartialEq for AgentTool {
    fn eq(&self, other: &AgentTool) -> bool {
        self.name == other.name
    }
}

impl Eq for AgentTool {}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The configuration directory below the home directory, where most tools have it.
fn below_home(directory: &str, ground: &Ground) -> Option<PathBuf> {
    ground.home.as_ref().map(|home| home.join(directory))
}

/// The document of Claude Code that adds to the context, which other tools have adopted.
fn additional_context(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

/// The document of Claude Code that refuses a tool call.
fn permission_denied(event: &str, reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_tool_has_its_file_and_every_file_its_tool() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent_tool");
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> =
            files.filter_map(|file| file.strip_suffix(".rs").map(str::to_owned)).filter(|file| file != "mod").collect();
        let listed: BTreeSet<String> = names().into_iter().map(str::to_owned).collect();
        assert_eq!(files, listed);
        assert_eq!(ALL.len(), listed.len(), "names are unique");
    }

    #[test]
    fn nothing_identifies_two_tools() {
        let variables = ALL.iter().flat_map(|tool| tool.session_variable.iter().chain(tool.marker_variables));
        let variables: Vec<&&str> = variables.collect();
        assert_eq!(variables.len(), variables.iter().collect::<BTreeSet<_>>().len(), "{variables:?}");
        assert!(ALL.iter().filter(|tool| tool.sends_thread_id).count() <= 1, "a thread id alone names its tool");
        for tool in ALL {
            assert!(!tool.marker_variables.is_empty(), "{tool:?} can be recognised");
            assert_eq!(find(&tool.name.to_uppercase()), Some(*tool));
        }
    }

    #[test]
    fn every_tool_has_the_events_that_hooks_need() {
        use HookEventKind as Kind;
        for tool in ALL {
            for needed in [Kind::Start, Kind::Prompt, Kind::Before, Kind::After, Kind::Compact, Kind::End] {
                let has = tool.events.iter().any(|event| event.kind == needed && event.matcher.is_some());
                assert!(has, "{tool:?} installs no hook for {needed:?}");
            }
            for event in tool.events {
                assert!(std::ptr::eq(tool.event(event.name).unwrap(), event), "{tool:?} {} is ambiguous", event.name);
                assert!(event.kind != Kind::Nothing || event.matcher.is_none(), "{tool:?} {}", event.name);
            }
        }
    }
}
