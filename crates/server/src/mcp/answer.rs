//! From what a tool did to what a client reads.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use tenure_core::{Error, Result, Stage};

use crate::delivery::Offered;

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
        Err(error) => (for_tools(error), None, true),
    };
    let text = text.unwrap_or_else(|| value.to_string());
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.is_error = Some(failed);
    result.structured_content = Some(value);
    result
}

/// An error as its table says it, with tools named where commands are: the agent that reads it calls tools, and may have no
/// shell. A command without a tool is left out.
pub fn for_tools(error: &Error) -> Value {
    let mut value = error.to_json();
    if error.attempts().is_empty() {
        return value;
    }
    let mut tries: Vec<String> = error.attempts().iter().filter_map(|command| as_tool(command)).collect();
    tries.dedup();
    let advice = error.advice().map(str::to_owned);
    let person = error.override_by_person().map(str::to_owned);
    let tried = (!tries.is_empty()).then(|| format!("Try: {}.", tries.join("; ")));
    let hint: Vec<String> = advice.into_iter().chain(tried).chain(person).collect();
    value["hint"] = hint.join(" ").into();
    match (tries.is_empty(), value["details"].as_object_mut()) {
        (true, Some(details)) => _ = details.remove("try"),
        _ => value["details"]["try"] = tries.into(),
    }
    value
}

/// The tool that does what a command does, if there is one. What is no command of Tenure stays as it is.
fn as_tool(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    if words.next() != Some("tenure") {
        return Some(command.to_owned());
    }
    let (verb, subject) = (words.next()?, words.next().filter(|word| !word.starts_with('-')));
    let on = |tool: &str, field: &str| match subject {
        Some(subject) => format!("the tool `{tool}` with {field} {subject}"),
        None => format!("the tool `{tool}`"),
    };
    let after = |flag: &str| command.split_whitespace().skip_while(|word| *word != flag).nth(1);
    Some(match (verb, subject) {
        // Without its paths, which are quoted for a shell there.
        ("reserve", _) if command.contains(" --wait") => {
            "the tool `reserve` with the same paths and wait true".to_owned()
        }
        ("reserve", _) => "the tool `reserve` with paths".to_owned(),
        ("send", _) => match (after("--about"), after("--to").or(subject)) {
            (Some(about), _) => format!("the tool `mail` with action send and about {about}"),
            (None, Some(to)) => format!("the tool `mail` with action send and to {to}"),
            (None, None) => "the tool `mail` with action send".to_owned(),
        },
        ("add", _) => "the tool `add`".to_owned(),
        // A lock is released by its name, on the command line alone.
        ("release", _) if command.contains(" --lock") => return None,
        ("release", Some(subject)) if subject.starts_with("h-") => on("release", "hold"),
        ("release", Some(subject)) if !subject.starts_with("t-") => on("release", "paths"),
        ("claim", _) => on("resume", "task"),
        ("next", _) => "the tool `resume`".to_owned(),
        ("resume" | "note" | "done" | "block" | "release", _) => on(verb, "task"),
        ("show", Some(_)) => on("list", "id"),
        ("list", None) if command.contains("--state ready") => "the tool `list` with states ready".to_owned(),
        ("list", None) => "the tool `list`".to_owned(),
        ("inbox", _) => "the tool `mail` with action read".to_owned(),
        ("memory", Some("list")) => "the tool `memory` with action list".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tenure_core::Kind;

    use super::*;

    #[test]
    fn an_error_names_tools_where_there_are_any() {
        for (command, tool) in [
            ("tenure claim", "the tool `resume`"),
            ("tenure claim t-1", "the tool `resume` with task t-1"),
            ("tenure next", "the tool `resume`"),
            ("tenure show t-1 --graph", "the tool `list` with id t-1"),
            ("tenure list --state ready", "the tool `list` with states ready"),
            ("tenure list --all", "the tool `list`"),
            ("tenure note t-1 \"…\"", "the tool `note` with task t-1"),
            ("tenure inbox --peek", "the tool `mail` with action read"),
            (
                "tenure reserve --wait --shared --ttl 60s -- 'a b'",
                "the tool `reserve` with the same paths and wait true",
            ),
            ("tenure send --about h-1 \"…\" --request", "the tool `mail` with action send and about h-1"),
            ("tenure send --to b \"…\"", "the tool `mail` with action send and to b"),
            ("tenure add \"Fix the login\"", "the tool `add`"),
            ("tenure release t-1", "the tool `release` with task t-1"),
            ("tenure release h-1", "the tool `release` with hold h-1"),
            ("tenure release ./x", "the tool `release` with paths ./x"),
            ("claim t-1", "claim t-1"),
        ] {
            assert_eq!(as_tool(command).as_deref(), Some(tool), "{command}");
        }
        for command in ["tenure why t-1", "tenure holds", "tenure release --lock=x", "tenure reopen t-1", "tenure"] {
            assert_eq!(as_tool(command), None, "{command}");
        }
        let error = Error::refused(Kind::Conflict, "held", "it is held").hint("Take another.");
        let plain = for_tools(&error);
        assert_eq!((plain, error.to_json()["hint"].as_str()), (error.to_json(), Some("Take another.")));
        let error = error.attempt("tenure claim").attempt("tenure next").attempt("tenure holds").person("Ask.");
        let value = for_tools(&error);
        assert_eq!(value["hint"], "Take another. Try: the tool `resume`. Ask.");
        assert_eq!(value["details"]["try"], serde_json::json!(["the tool `resume`"]));
        assert_eq!(value["code"], "held");
        let error =
            Error::refused(Kind::Conflict, "held", "it is held").hint("Take another.").attempt("tenure why h-1");
        let value = for_tools(&error);
        assert_eq!((value["hint"].as_str(), value["details"].get("try")), (Some("Take another."), None));
    }
}
