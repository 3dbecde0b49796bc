//! From what a tool did to what a client reads.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use tenure_core::{Error, Result, Stage};

use super::delivery::Offered;

/// What a tool answers.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The structured answer.
    pub(crate) value: Value,
    /// What is read by clients that take text; the JSON where there is nothing better.
    pub(crate) text: Option<String>,
    /// Up to where it offers events and mail.
    pub(crate) offered: Offered,
}

impl Answer {
    /// The answer of a query.
    pub(crate) fn of(value: Value) -> Answer {
        Answer { value, text: None, offered: Offered::default() }
    }

    /// The answer of an op.
    pub(crate) fn read(body: &str) -> Result<Answer> {
        let value = serde_json::from_str(body)
            .map_err(|error| Error::bug(format!("an answer cannot be read: {error}")).at(Stage::Reply))?;
        Ok(Answer { value, text: Some(body.to_owned()), offered: Offered::default() })
    }
}

/// The result of a call: an error is a result too, which a model reads and acts on.
pub(crate) fn result(outcome: &Result<Answer>) -> CallToolResult {
    let (value, text, failed) = match outcome {
        Ok(answer) => (answer.value.clone(), answer.text.clone(), false),
        Err(error) => (error.to_json(), None, true),
    };
    let text = text.unwrap_or_else(|| value.to_string());
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.is_error = Some(failed);
    result.structured_content = Some(value);
    result
}
