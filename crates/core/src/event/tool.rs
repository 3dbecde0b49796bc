//! Events of agents' tools.

use serde::{Deserialize, Serialize};

use super::{Payload, quoted};
use crate::tool::ToolKind;

/// `tool.failed`: a tool of an agent failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failed {
    /// The tool.
    pub tool: String,
    /// What it does.
    pub kind: ToolKind,
    /// The program that it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The first file that it was for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The exit status of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i64>,
    /// How long it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The agent inside the session that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
    /// The beginning of its output, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl Payload for Failed {
    fn sentence(&self, actor: &str, _: &str) -> String {
        let what = called(&self.tool, self.program.as_deref(), self.path.as_deref());
        let output = quoted(self.output.as_deref().unwrap_or_default());
        match self.exit_status.filter(|status| *status != 0) {
            Some(status) => format!("{actor}: {what} failed with exit status {status}{output}"),
            None => format!("{actor}: {what} failed{output}"),
        }
    }
}

/// `tool.worked`: a tool that had failed works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worked {
    /// The tool.
    pub tool: String,
    /// What it does.
    pub kind: ToolKind,
    /// The program that it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The first file that it was for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The exit status of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i64>,
    /// How long it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The agent inside the session that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
}

impl Payload for Worked {
    fn sentence(&self, actor: &str, _: &str) -> String {
        format!("{actor}: {} works again", called(&self.tool, self.program.as_deref(), self.path.as_deref()))
    }
}

/// What was called: a tool, with its program or the file that it was for.
fn called(tool: &str, program: Option<&str>, path: Option<&str>) -> String {
    match (program.unwrap_or_default(), path.unwrap_or_default()) {
        ("", "") => tool.to_owned(),
        ("", path) => format!("{tool} on {path}"),
        (program, _) => format!("{tool} ({program})"),
    }
}
