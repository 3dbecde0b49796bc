//! Conversion of a tool's outcome to what a client reads.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use tenure_core::{Error, Result, Stage};

use crate::delivery::Offered;
use tenure_client::phrasing::Tools;

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct ToolAnswer {
    /// The structured answer.
    pub(crate) value: Value,
    /// The text for clients that take text. Without it they get the JSON.
    pub(crate) text: Option<String>,
    /// The events and mail that the answer offers.
    pub(crate) offered: Offered,
}

impl ToolAnswer {
    /// The answer of a query.
    pub(crate) fn of(value: Value) -> ToolAnswer {
        ToolAnswer { value, text: None, offered: Offered::default() }
    }

    /// The answer of an op.
    pub(crate) fn read(body: &str) -> Result<ToolAnswer> {
        let value = serde_json::from_str(body)
            .map_err(|error| Error::bug(format!("an answer cannot be read: {error}")).at(Stage::Reply))?;
        Ok(ToolAnswer { value, text: Some(body.to_owned()), offered: Offered::default() })
    }
}

/// The result of a call. An error is a result too, which a model reads and acts on. It names tools where the command
/// line names commands.
pub(crate) fn result(outcome: &Result<ToolAnswer>) -> CallToolResult {
    let (value, text, failed) = match outcome {
        Ok(answer) => (answer.value.clone(), answer.text.clone(), false),
        Err(error) => (error.to_json(&Tools), None, true),
    };
    let text = text.unwrap_or_else(|| value.to_string());
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.is_error = Some(failed);
    result.structured_content = Some(value);
    result
}

#[cfg(test)]
mod tests {
    use tenure_core::Code;
    use tenure_core::action::Action;

    use super::*;

    #[test]
    fn an_error_names_tools_where_there_are_any() {
        let told = |error: Error| result(&Err(error)).structured_content.unwrap();
        let held = || Error::new(Code::TaskHeld, "it is held").hint("Take another.");
        assert_eq!(told(held())["hint"], "Take another.");
        let error = held().attempt(Action::ClaimTask { task: None }).attempt(Action::NextTask).attempt(Action::holds());
        let value = told(error.person("Ask."));
        assert_eq!(value["hint"], "Take another. Try: the tool `resume`. Ask.");
        assert_eq!(value["details"]["try"], serde_json::json!(["the tool `resume`"]));
        assert_eq!(
            (&value["code"], &value["actions"]),
            (&"task_held".into(), &serde_json::json!([{ "action": "claim_task" }]))
        );
        let value = told(held().attempt(Action::why("h-1")));
        assert_eq!((value["hint"].as_str(), value["details"].get("try")), (Some("Take another."), None));
        assert_eq!(value.get("actions"), None, "what no tool does is left out");
    }
}
