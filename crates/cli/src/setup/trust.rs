//! Whether Codex runs a hook. It runs a hook only after a person has trusted it. It records that in the user's
//! `config.toml`, as an entry for each hook, by file, event and position. The entry has a hash of the hook that only
//! Codex computes, so an entry may belong to an earlier command line, which cannot be detected here.

use std::path::Path;

/// What Codex records about a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookTrust {
    /// There is an entry.
    Entered,
    /// There is none.
    Missing,
    /// The hook, or all hooks, are switched off.
    Off,
}

impl HookTrust {
    /// Why Codex does not run a hook, if it does not.
    pub(crate) const fn problem(self) -> Option<&'static str> {
        match self {
            HookTrust::Entered => None,
            HookTrust::Missing => Some("not trusted yet: start codex and choose to trust them"),
            HookTrust::Off => Some("switched off in Codex: open /hooks in codex and switch them on"),
        }
    }
}

/// The position of a hook in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) event: String,
    pub(crate) group: usize,
    pub(crate) handler: usize,
}

/// What a configuration says about the hook at a position of a file.
pub(crate) fn of(config: &toml::Table, file: &Path, position: &Position) -> HookTrust {
    let flag = |names: &[&str]| {
        let (first, rest) = names.split_first()?;
        rest.iter().try_fold(config.get(*first)?, |value, name| value.get(name))?.as_bool()
    };
    if flag(&["features", "hooks"]) == Some(false) || flag(&["features", "codex_hooks"]) == Some(false) {
        return HookTrust::Off;
    }
    let Some(states) = config.get("hooks").and_then(|hooks| hooks.get("state")).and_then(toml::Value::as_table) else {
        return HookTrust::Missing;
    };
    let Position { event, group, handler } = position;
    let end = format!(":{}:{group}:{handler}", snake(event));
    let real = std::fs::canonicalize(file).ok();
    let is_file = |name: &str| Path::new(name) == file || real.as_deref() == Some(Path::new(name));
    let state = states.iter().find(|(key, _)| key.strip_suffix(&end).is_some_and(is_file)).map(|(_, state)| state);
    match state {
        Some(state) if state.get("enabled").and_then(toml::Value::as_bool) == Some(false) => HookTrust::Off,
        Some(state) if state.get("trusted_hash").is_some_and(toml::Value::is_str) => HookTrust::Entered,
        _ => HookTrust::Missing,
    }
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut out = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
