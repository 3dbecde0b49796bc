//! The text form of a task: written for an editor, and read back.

use tenure_core::{Code, Error, Result};

/// What can be changed in an editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) title: String,
    pub(super) priority: i64,
    pub(super) labels: Vec<String>,
    pub(super) description: String,
    pub(super) acceptance: String,
}

/// The lines that begin the long texts. A line of a text that looks like one is written with a `\` before it.
const DESCRIPTION: &str = "--- description ---";
const ACCEPTANCE: &str = "--- acceptance ---";

impl Form {
    /// The text for an editor.
    pub(super) fn write(&self, id: &str) -> String {
        let Form { title, priority, labels, description, acceptance } = self;
        format!(
            "# {id}: change what is below, save and close. An empty file changes nothing.\n\
             # In this head, lines that begin with # are comments. Priority 0 is first, 4 is last.\n\
             title: {title}\npriority: {priority}\nlabels: {}\n\n{DESCRIPTION}\n{}\n{ACCEPTANCE}\n{}",
            labels.join(", "),
            body(description),
            body(acceptance),
        )
    }

    /// Reads the text back. Nothing for an empty one. A line of labels as it was written means the labels that it had: a
    /// label may have a comma in it.
    pub(super) fn read(text: &str, before: &Form) -> Result<Option<Form>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let (mut title, mut priority, mut labels) = (None, None, None);
        let mut bodies: [Option<String>; 2] = [None, None];
        let mut current: Option<usize> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let section = [DESCRIPTION, ACCEPTANCE].iter().position(|mark| line.trim_end() == *mark);
            if let Some(at) = section {
                if bodies[at].replace(String::new()).is_some() {
                    return Err(bad(number, format!("`{line}` stands there twice")));
                }
                current = Some(at);
                continue;
            }
            if let Some(body) = current.and_then(|at| bodies[at].as_mut()) {
                body.push_str(unescaped(line));
                body.push('\n');
                continue;
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| bad(number, "it is not `name: value`"))?;
            let value = value.trim();
            let field = name.trim();
            let twice = match field {
                "title" => title.replace(value.to_owned()).is_some(),
                "priority" => {
                    let read = value.parse().ok().filter(|priority| (0..=4).contains(priority));
                    priority.replace(read.ok_or_else(|| bad(number, "a priority is 0 to 4"))?).is_some()
                }
                "labels" if value == before.labels.join(", ") => labels.replace(before.labels.clone()).is_some(),
                "labels" => {
                    let list = value.split(',').map(str::trim).filter(|label| !label.is_empty());
                    labels.replace(list.map(str::to_owned).collect()).is_some()
                }
                _ => return Err(bad(number, format!("`{field}` is not title, priority or labels"))),
            };
            if twice {
                return Err(bad(number, format!("`{field}` stands there twice")));
            }
        }
        let end = text.lines().count().max(1);
        let missing = |what: &str| bad(end, format!("{what} is missing"));
        let [description, acceptance] = bodies.map(|body| body.map(|body| body.trim().to_owned()));
        Ok(Some(Form {
            title: title.filter(|title: &String| !title.is_empty()).ok_or_else(|| missing("`title:`"))?,
            priority: priority.ok_or_else(|| missing("`priority:`"))?,
            labels: labels.ok_or_else(|| missing("`labels:`"))?,
            description: description.ok_or_else(|| missing(DESCRIPTION))?,
            acceptance: acceptance.ok_or_else(|| missing(ACCEPTANCE))?,
        }))
    }
}

fn bad(line: usize, message: impl std::fmt::Display) -> Error {
    Error::usage(Code::BadLine, format!("line {line}: {message}")).detail("line", line)
}

/// A text with its lines escaped, ending in a line break if it has any.
fn body(text: &str) -> String {
    let escaped = |line: &str| if is_marked(line) { format!("\\{line}\n") } else { format!("{line}\n") };
    text.lines().map(escaped).collect()
}

fn unescaped(line: &str) -> &str {
    line.strip_prefix('\\').filter(|rest| is_marked(rest)).unwrap_or(line)
}

/// Whether a line is a mark, behind any number of `\`.
fn is_marked(line: &str) -> bool {
    let line = line.trim_start_matches('\\').trim_end();
    line == DESCRIPTION || line == ACCEPTANCE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn form() -> Form {
        let description = format!("# Steps\n\n1. one\n{ACCEPTANCE}\n\\{DESCRIPTION}");
        Form {
            title: "Fix: the login".to_owned(),
            priority: 1,
            labels: vec!["a".to_owned(), "b c".to_owned()],
            description,
            acceptance: String::new(),
        }
    }

    #[test]
    fn a_form_is_read_as_it_was_written() {
        assert_eq!(Form::read(&form().write("t-7k3fq"), &form()).unwrap(), Some(form()));
        assert_eq!(Form::read(" \n", &form()).unwrap(), None);
    }

    #[test]
    fn mistakes_are_told_by_their_line() {
        let text = form().write("t-7k3fq");
        for (from, to, line, what) in [
            ("priority: 1", "priority: high", 4, "0 to 4"),
            ("labels: a, b c", "label: a", 5, "`label` is not"),
            ("labels: a, b c", "labels", 5, "name: value"),
            ("labels: a, b c", "title: x", 5, "twice"),
        ] {
            let error = Form::read(&text.replacen(from, to, 1), &form()).unwrap_err();
            assert!(
                error.message().starts_with(&format!("line {line}: ")) && error.message().contains(what),
                "{error:?}"
            );
        }
        let read = |gone: &str| Form::read(&text.replacen(gone, "", 1), &form()).unwrap_err();
        assert!(read("title: Fix: the login\n").message().contains("is missing"));
        // What follows is then read as fields.
        assert!(read("--- description ---\n").message().starts_with("line "));
    }

    proptest! {
        #[test]
        fn any_task_survives_the_editor(
            title in "[a-z#:\\\\-]{1,20}", priority in 0_i64..5, labels in prop::collection::vec("[a-z]{1,5}", 0..4),
            description in prop::collection::vec("[a-z #\\\\-]{0,12}|--- description ---|\\\\--- acceptance ---", 0..6),
        ) {
            let description = description.join("\n").trim().to_owned();
            let form = Form { title, priority, labels, acceptance: description.clone(), description };
            prop_assert_eq!(Form::read(&form.write("t-1"), &Form::default()).unwrap(), Some(form));
        }
    }
}
