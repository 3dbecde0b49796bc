//! How an error looks to a person, and as JSON.

use serde_json::json;
use tenure_client::phrasing::Commands;
use tenure_core::error::detail::SentAs;
use tenure_core::{Error, Kind};

use crate::output::{Ink, Printer};

/// Reports an error and returns the exit code of its kind.
pub(crate) fn report(out: &Printer, error: &Error) -> u8 {
    if out.is_json() {
        out.document(&json!({ "ok": false, "error": error.to_json(&Commands) }).to_string());
    } else {
        out.complain(&text(out, error));
    }
    error.kind().exit()
}

/// The four parts of a refusal, one below the other: what, who, what helps now, how a person overrides.
pub(crate) fn text(out: &Printer, error: &Error) -> String {
    // Commands are not wrapped: they are copied.
    let prose = |text: String| out.error_prose(&text, 2);
    let mut lines = vec![prose(format!("{} {}", out.error_ink(Ink::Bad, "tenure:"), error.message()))];
    if let Some(who) = error.blocker() {
        lines.push(prose(format!("  {who}")));
    }
    if let Some(hint) = error.advice() {
        lines.push(prose(format!("  {}", hint.say(&Commands))));
    }
    if matches!(error.kind(), Kind::Storage | Kind::Internal | Kind::Busy)
        && let Some(source) = std::error::Error::source(error)
    {
        lines.push(prose(format!("  because: {source}")));
    }
    // What finds out whether a call whose answer was lost was carried out.
    if let Some(SentAs(id)) = error.read::<SentAs>() {
        lines.push(format!("  the id of this request: --request-id {id}"));
    }
    let attempts = error.attempts(&Commands);
    if !attempts.is_empty() {
        lines.push("Try:".to_owned());
        lines.extend(attempts.iter().map(|command| format!("  {command}")));
    }
    if let Some(how) = error.override_by_person() {
        lines.push(prose(how.say(&Commands)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use tenure_core::Code;
    use tenure_core::action::Action;

    use super::*;

    #[test]
    fn a_refusal_has_its_four_parts_in_order() {
        let error = Error::new(Code::TaskHeld, "t-1 is held by b")
            .who("b: alive, until noon")
            .attempt(Action::ClaimTask { task: None })
            .person("A person can end the hold.");
        assert_eq!(
            text(&Printer::of_width(80), &error),
            "tenure: t-1 is held by b\n  b: alive, until noon\nTry:\n  tenure claim\nA person can end the hold."
        );
    }
}
