//! Events of tool calls.

use serde::{Deserialize, Serialize};

use super::{Payload, quoted};
use crate::tool::ToolKind;

/// `tool.failed`: a tool call of an agent failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolFailed {
    /// The tool's name.
    pub tool: String,
    /// The kind of tool.
    pub kind: ToolKind,
    /// The program that it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The first file that the call was for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The exit status of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i64>,
    /// How long the call ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The sub-agent of the session that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
    /// The beginning of the output, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl Payload for ToolFailed {
    fn sentence(&self, actor: &str, _: &str) -> String {
        let what = called(&self.tool, self.program.as_deref(), self.path.as_deref());
        let output = quoted(self.output.as_deref().unwrap_or_default());
        match self.exit_status.filter(|status| *status != 0) {
            Some(status) => format!("{actor}: {what} failed with exit status {status}{output}"),
            None => format!("{actor}: {what} failed{output}"),
        }
    }
}

/// `tool.worked`: a tool call that had failed succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolWorked {
    /// The tool's name.
    pub tool: String,
    /// The kind of tool.
    pub kind: ToolKind,
    /// The program that it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The first file that the call was for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The exit status of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i64>,
    /// How long the call ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The sub-agent of the session that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
}

impl Payload for ToolWorked {
    fn sentence(&self, actor: &str, _: &str) -> String {
        format!("{actor}: {} works again", called(&self.tool, self.program.as_deref(), self.path.as_deref()))
    }
}

/// Names a call: the tool, with its program or the file that it was for.
fn called(tool: &str, program: Option<&str>, path: Option<&str>) -> String {
    match (program.unwrap_or_default(), path.unwrap_or_default()) {
        ("", "") => tool.to_owned(),
        ("", path) => format!("{tool} on {path}"),
        (program, _) => format!("{tool} ({program})"),
    }
}
