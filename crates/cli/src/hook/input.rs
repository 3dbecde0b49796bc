//! What a tool sends: the few fields that are needed, whatever else is there. The prompt is not among them.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tenure_core::{Code, Error, Result};

/// The event as it came. Texts of any length stay where they are until somebody asks for them.
#[derive(Deserialize)]
pub(crate) struct Payload<'a> {
    session_id: Option<String>,
    conversation_id: Option<String>,
    #[serde(rename = "sessionID")]
    session: Option<String>,
    cwd: Option<String>,
    workspace_roots: Option<Vec<String>>,
    /// How a session began.
    pub(crate) source: Option<String>,
    /// Why a session is over.
    pub(crate) reason: Option<String>,
    agent_id: Option<String>,
    /// The session that this one works for.
    parent_session_id: Option<String>,
    #[serde(rename = "parentID")]
    parent: Option<String>,
    #[serde(borrow)]
    info: Option<&'a RawValue>,
    tool_name: Option<String>,
    tool: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    error_message: Option<String>,
    /// Whether a person stopped the tool.
    is_interrupt: Option<bool>,
    duration_ms: Option<f64>,
    duration: Option<f64>,
}

/// How a tool call ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallEnding {
    pub(crate) failed: bool,
    pub(crate) exit_status: Option<i64>,
    /// What it said when it failed.
    pub(crate) output: Option<String>,
}

impl<'a> Payload<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Payload<'a>> {
        // The parser's own words quote the input, which is nobody's business.
        serde_json::from_slice(bytes).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            Error::usage(Code::BadEvent, format!("standard input is not an event of this tool ({at})"))
        })
    }

    /// The id of the session that holds what is held: of a sub-session, the one that it works for.
    pub(crate) fn session(&self) -> Option<String> {
        self.parent_of_all().or_else(|| self.own().map(str::to_owned))
    }

    /// The sub-agent that this is about: a sub-session is one.
    pub(crate) fn sub_agent(&self) -> Option<String> {
        let named = self.agent_id.clone().filter(|id| !id.is_empty());
        named.or_else(|| self.parent_of_all().and_then(|_| self.own().map(str::to_owned)))
    }

    fn own(&self) -> Option<&str> {
        let ids = [&self.session_id, &self.conversation_id, &self.session];
        ids.into_iter().flatten().map(String::as_str).find(|id| !id.is_empty())
    }

    fn parent_of_all(&self) -> Option<String> {
        let told = [&self.parent_session_id, &self.parent].into_iter().flatten().cloned();
        let nested = self.info.and_then(|raw| one_field(raw.get(), "parentID"));
        let nested = nested.and_then(|value| value.as_str().map(str::to_owned));
        told.chain(nested).find(|id| !id.is_empty() && Some(id.as_str()) != self.own())
    }

    /// The directory that the session is in, if it is there.
    pub(crate) fn dir(&self) -> Option<PathBuf> {
        let roots = self.workspace_roots.iter().flatten();
        self.cwd.iter().chain(roots).map(PathBuf::from).find(|dir| dir.is_absolute() && dir.is_dir())
    }

    /// The name of the tool that is used.
    pub(crate) fn tool_name(&self) -> &str {
        self.tool_name.as_deref().or(self.tool.as_deref()).unwrap_or_default()
    }

    fn input(&self, name: &str) -> Option<Value> {
        let raw = self.tool_input.or(self.args)?;
        one_field(raw.get(), name)
    }

    /// A text of the tool's input, as a list of at most one.
    pub(crate) fn field(&self, name: &str) -> Vec<String> {
        let found = self.input(name).and_then(|value| value.as_str().map(str::to_owned));
        found.into_iter().filter(|text| !text.is_empty()).collect()
    }

    /// The first of some texts of the tool's input that is there.
    pub(crate) fn first_of(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(|name| self.field(name)).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// The command line that a shell tool is given.
    pub(crate) fn command(&self) -> Option<String> {
        let value = self.input("command").or_else(|| self.input("cmd"))?;
        let words: Vec<&str> = match &value {
            Value::String(text) => return Some(text.clone()),
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        // `["bash", "-lc", "…"]` is about what the shell is told.
        match words.as_slice() {
            [_, flag, line] if flag.starts_with('-') && flag.ends_with('c') => Some((*line).to_owned()),
            words => Some(words.join(" ")),
        }
    }

    /// The text of a patch.
    pub(crate) fn patch(&self) -> String {
        let names = ["command", "input", "patch", "patchText", "patch_text"];
        if let [text, ..] = self.first_of(&names).as_slice() {
            return text.clone();
        }
        match self.input("command") {
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
            _ => String::new(),
        }
    }

    /// How long the tool took.
    pub(crate) fn duration_ms(&self) -> Option<i64> {
        let ms = self.duration_ms.or(self.duration)?;
        (0.0..1e12).contains(&ms).then_some(ms as i64)
    }

    /// How a tool call ended, as far as the tool tells. `failed` is what the event says by its name.
    pub(crate) fn ending(&self, failed: bool, shell: bool) -> CallEnding {
        if self.is_interrupt == Some(true) {
            return CallEnding::default();
        }
        let error = self.error.and_then(|raw| text_of(raw.get())).or_else(|| self.error_message.clone());
        if failed || error.is_some() {
            let exit_status = error.as_deref().and_then(status_in);
            return CallEnding { failed: true, exit_status, output: error };
        }
        let response = self.tool_response.or(self.tool_output).filter(|_| shell);
        let Some(response) = response.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) else {
            return self.soft_error();
        };
        let nested = response.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let response = nested.filter(Value::is_object).unwrap_or(response);
        let coded = [&response["exit_code"], &response["exitCode"], &response["metadata"]["exit_code"]];
        let said = [&response, &response["llmContent"], &response["output"], &response["stderr"]];
        let text = said.into_iter().find_map(|value| value.as_str().filter(|text| !text.is_empty()));
        let status = coded.into_iter().find_map(Value::as_i64).or_else(|| text.and_then(status_in));
        let failed = status.is_some_and(|status| status != 0) || !response["error"].is_null();
        CallEnding { failed, exit_status: status, output: text.filter(|_| failed).map(str::to_owned) }
    }

    /// An error that stands inside the answer of a tool.
    fn soft_error(&self) -> CallEnding {
        let error = self.tool_response.and_then(|raw| one_field(raw.get(), "error")).filter(|error| !error.is_null());
        let output = error.as_ref().map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
        CallEnding { failed: error.is_some(), exit_status: None, output }
    }
}

/// One field of an object, of which nothing else is taken in.
fn one_field(json: &str, name: &str) -> Option<Value> {
    let fields: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    serde_json::from_str(fields.get(name)?.get()).ok()
}

fn text_of(json: &str) -> Option<String> {
    match serde_json::from_str::<Value>(json).ok()? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => other["message"].as_str().map(str::to_owned).or_else(|| Some(other.to_string())),
    }
}

/// The exit status that a tool tells in words: at the beginning of a text, or on a line of its own near its end.
fn status_in(text: &str) -> Option<i64> {
    let lines = || text.lines().map(str::trim);
    let edge = lines().take(2).chain(lines().rev().take(8));
    for line in edge {
        let lower = line.to_ascii_lowercase();
        for mark in ["exit code", "process exited with code", "exit status", "command failed with exit code"] {
            if let Some(rest) = lower.strip_prefix(mark) {
                let number: String = rest
                    .trim_start_matches([':', ' '])
                    .chars()
                    .take_while(|c| c.is_ascii_digit() || *c == '-')
                    .collect();
                if let Ok(status) = number.parse() {
                    return Some(status);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ending(json: &str, failed: bool, shell: bool) -> CallEnding {
        Payload::read(json.as_bytes()).unwrap().ending(failed, shell)
    }

    #[test]
    fn how_a_call_ended_is_found_in_each_tools_own_words() {
        let claude = ending(r#"{"error":"Exit code 101\nerror: test failed"}"#, true, true);
        assert_eq!((claude.failed, claude.exit_status), (true, Some(101)));
        for codex in [
            r#"{"tool_response":"Exit code: 2\nWall time: 1 seconds\nOutput:\nx"}"#,
            r#"{"tool_response":{"exit_code":2,"output":"x"}}"#,
            r#"{"tool_response":"{\"output\":\"x\",\"metadata\":{\"exit_code\":2}}"}"#,
            r#"{"tool_response":{"llmContent":"Command: x\nOutput: y\nError: (none)\nExit Code: 2\nSignal: (none)"}}"#,
        ] {
            let ended = ending(codex, false, true);
            assert_eq!((ended.failed, ended.exit_status), (true, Some(2)), "{codex}");
        }
        for fine in [
            r#"{"tool_response":{"stdout":"exit code 1 is what grep says","stderr":""}}"#,
            r#"{"tool_response":"Exit code: 0\nOutput:\nall good"}"#,
            r#"{"tool_response":null}"#,
            r#"{}"#,
        ] {
            assert!(!ending(fine, false, true).failed, "{fine}");
        }
        assert!(ending(r#"{"tool_response":{"error":{"message":"no such file"}}}"#, false, false).failed);
        assert_eq!(ending(r#"{"error":"x","is_interrupt":true}"#, true, true), CallEnding::default());
    }

    #[test]
    fn ids_and_commands_are_found_under_each_tools_name() {
        let payload = |json: &'static str| Payload::read(json.as_bytes()).unwrap();
        let session = |json| payload(json).session();
        assert_eq!(session(r#"{"session_id":"a","conversation_id":"b"}"#).as_deref(), Some("a"));
        assert_eq!(session(r#"{"conversation_id":"b"}"#).as_deref(), Some("b"));
        assert_eq!(session(r#"{"sessionID":"c","session_id":null}"#).as_deref(), Some("c"));
        assert_eq!(session(r#"{"session_id":""}"#), None);
        let list = payload(r#"{"tool_input":{"command":["bash","-lc","cargo test"]}}"#);
        assert_eq!(list.command().as_deref(), Some("cargo test"));
        assert!(Payload::read(b"{").is_err() && Payload::read(b"[]").is_err() && Payload::read(b"").is_err());
    }

    #[test]
    fn inv_i1_a_sub_session_is_a_label_of_the_session_it_works_for() {
        let told = |json: &'static str| {
            let payload = Payload::read(json.as_bytes()).unwrap();
            (payload.session().unwrap(), payload.sub_agent())
        };
        let sub = ("p".to_owned(), Some("c".to_owned()));
        assert_eq!(told(r#"{"session_id":"c","parent_session_id":"p"}"#), sub);
        assert_eq!(told(r#"{"sessionID":"c","parentID":"p"}"#), sub);
        assert_eq!(told(r#"{"session_id":"c","info":{"id":"c","parentID":"p"}}"#), sub);
        assert_eq!(told(r#"{"session_id":"p","agent_id":"c"}"#), sub);
        let root = ("c".to_owned(), None);
        for json in [
            r#"{"session_id":"c","parent_session_id":""}"#,
            r#"{"session_id":"c","parent_session_id":"c","agent_id":""}"#,
            r#"{"session_id":"c","info":{"id":"c"},"parentID":null}"#,
            r#"{"session_id":"c","info":7}"#,
        ] {
            assert_eq!(told(json), root, "{json}");
        }
    }

    /// Everything that is ever asked of a payload.
    fn ask_all(bytes: &[u8]) {
        let Ok(payload) = Payload::read(bytes) else { return };
        let _ = (
            payload.session(),
            payload.sub_agent(),
            payload.dir(),
            payload.command(),
            payload.patch(),
            payload.duration_ms(),
        );
        for tool in crate::agent_tool::ALL {
            let shell = tool.is_shell(payload.tool_name());
            for path in (tool.edits)(&payload).unwrap_or_default() {
                crate::hook::guard::inside(std::path::Path::new("/repo"), std::path::Path::new("/repo/a"), &[path]);
            }
            let ended = payload.ending(false, shell);
            assert!(!ended.failed || ended.exit_status != Some(0));
        }
    }

    /// A payload of which one part was replaced by anything at all.
    fn bent() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            Just("null".to_owned()),
            Just("5e400".to_owned()),
            Just("-1".to_owned()),
            Just("[]".to_owned()),
            Just("{\"error\":[]}".to_owned()),
            Just("[\"bash\",\"-lc\",7]".to_owned()),
            "\\PC{0,40}".prop_map(|text| Value::from(text).to_string()),
            "[a-z*: \n/.]{0,80}".prop_map(|text| Value::from(format!("*** Begin Patch\n{text}")).to_string()),
        ];
        let field = prop::sample::select(vec![
            "session_id",
            "cwd",
            "tool_name",
            "tool_input",
            "tool_response",
            "error",
            "duration",
            "workspace_roots",
            "is_interrupt",
            "agent_id",
            "info",
            "args",
            "command",
        ]);
        let name = prop::sample::select(vec!["Edit", "Bash", "apply_patch", "write_file", "shell", "Write", "patch"]);
        (field, value, name).prop_map(|(field, value, name)| {
            let inner =
                if field == "command" { format!("{{\"command\":{value}}}") } else { "{\"file_path\":\"x\"}".into() };
            let extra = if field == "tool_input" || field == "command" {
                String::new()
            } else {
                format!(",\"tool_input\":{inner}")
            };
            let field =
                if field == "command" { format!("\"tool_input\":{inner}") } else { format!("\"{field}\":{value}") };
            let name = if field.contains("tool_name") { String::new() } else { format!("\"tool_name\":\"{name}\",") };
            format!("{{{name}{field}{extra}}}")
        })
    }

    proptest! {
        #[test]
        fn inv_r10_any_bytes_are_an_event_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            ask_all(&bytes);
        }

        #[test]
        fn inv_r10_any_field_may_be_anything(payload in bent()) {
            ask_all(payload.as_bytes());
        }
    }
}
