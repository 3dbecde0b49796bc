//! How an error looks to a person, and as JSON.

use serde_json::json;
use tenure_core::{Error, Kind};

use crate::output::Printer;

/// Reports an error and returns the exit code of its kind.
pub(crate) fn report(out: &Printer, error: &Error) -> u8 {
    if out.is_json() {
        out.document(&json!({ "ok": false, "error": error.to_json() }).to_string());
    } else {
        out.complain(&text(error));
    }
    error.kind().exit()
}

/// The four parts of a refusal, one below the other: what, who, what helps now, how a person overrides.
pub(crate) fn text(error: &Error) -> String {
    let mut lines = vec![format!("tenure: {}", error.message())];
    if let Some(who) = error.blocker() {
        lines.push(format!("  {who}"));
    }
    if let Some(hint) = error.advice() {
        lines.push(format!("  {hint}"));
    }
    if matches!(error.kind(), Kind::Storage | Kind::Internal | Kind::Busy)
        && let Some(source) = std::error::Error::source(error)
    {
        lines.push(format!("  because: {source}"));
    }
    // What finds out whether a call whose answer was lost was carried out.
    if let Some(id) = error.get("request_id").and_then(serde_json::Value::as_str) {
        lines.push(format!("  the id of this request: --request-id {id}"));
    }
    if !error.attempts().is_empty() {
        lines.push("Try:".to_owned());
        lines.extend(error.attempts().iter().map(|command| format!("  {command}")));
    }
    if let Some(how) = error.override_by_person() {
        lines.push(how.to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::Code;

    #[test]
    fn a_refusal_has_its_four_parts_in_order() {
        let error = Error::new(Code::TaskHeld, "t-1 is held by b")
            .who("b: alive, until noon")
            .attempt("tenure claim")
            .person("A person can end the hold.");
        assert_eq!(
            text(&error),
            "tenure: t-1 is held by b\n  b: alive, until noon\nTry:\n  tenure claim\nA person can end the hold."
        );
    }
}
