//! The path of this program in commands that agents are given, for shells in which `tenure` is not on PATH. All texts
//! say `tenure`; this is the only place that replaces it, on output.

use crate::env::{self, Env};
use crate::setup::diagnosis::is_on;
use crate::setup::target::quoted;

/// What a command stands behind in a text: a quote, what did not fit into a brief, or the beginning of a line.
const BEFORE: [&str; 4] = ["`", "more: ", "short: ", "\n  "];

/// A text in which each command of Tenure can be run as it stands there.
pub(crate) fn callable(text: String, env: &Env) -> String {
    named(text, || place(env))
}

/// The same for a document in JSON.
pub(crate) fn callable_document(document: String, env: &Env) -> String {
    let escaped = |program: String| serde_json::Value::from(program).to_string().trim_matches('"').to_owned();
    named(document, || place(env).map(escaped))
}

/// The place of this program as a word for a shell; None where its name is enough.
fn place(env: &Env) -> Option<String> {
    let program = env::program().ok().filter(|program| !is_on(&env.path()) && program.is_file())?;
    program.to_str().map(quoted)
}

fn named(text: String, program: impl FnOnce() -> Option<String>) -> String {
    // Files are looked at only where a command is named at all.
    if !BEFORE.iter().any(|before| text.contains(&format!("{before}tenure "))) {
        return text;
    }
    let Some(program) = program() else { return text };
    BEFORE.iter().fold(text, |text, before| text.replace(&format!("{before}tenure "), &format!("{before}{program} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_by_place_and_nothing_else_is() {
        let text = "tenure: refused. Tenure says `tenure why h-1`, (+3 more: tenure log)\nTry:\n  tenure next\nmy tenure is a\n";
        let told = named(text.to_owned(), || Some("'/a b/tenure'".to_owned()));
        assert_eq!(
            told,
            "tenure: refused. Tenure says `'/a b/tenure' why h-1`, (+3 more: '/a b/tenure' log)\nTry:\n  '/a b/tenure' next\nmy \
             tenure is a\n"
        );
        assert_eq!(named(text.to_owned(), || None), text);
        assert_eq!(named("my tenure is".to_owned(), || panic!("nothing to look for")), "my tenure is");
    }
}
