//! Setting agent tools up: their hooks, the MCP server, the right to write the store's directory.
//!
//! Parse everything, plan everything, show it, and only then write. What is put into a file is recognised by what it says
//! (a command line of this program, a mark), so that it can be replaced and taken out again, and nothing else is touched.

pub(crate) mod check;
mod codex_config;
pub(crate) mod diagnosis;
pub(crate) mod diff;
pub(crate) mod githook;
mod hook_command;
pub(crate) mod json_entries;
mod jsonc;
pub(crate) mod marked_section;
pub(crate) mod plan;
pub(crate) mod target;
mod toml_hooks;
mod toml_statement;
mod trust;
pub(crate) mod writer;

use std::path::Path;

use tenure_core::{Code, Error, Stage, text};

/// Why a file cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It cannot be read as what it should be.
    Malformed { line: usize, what: String },
    /// Something else stands where entries belong; named from the top of the file, empty for the file itself.
    NotAContainer(String),
    /// Entries cannot be changed without changing what others wrote.
    Tangled,
}

impl Problem {
    /// The refusal, naming the file.
    pub(crate) fn of(self, path: &Path) -> Error {
        let file = path.display();
        let (code, message, line) = match self {
            Problem::Malformed { line, what } => {
                (Code::ToolConfigInvalid, format!("{file}, line {line}: {what}"), Some(line))
            }
            Problem::NotAContainer(name) if name.is_empty() => {
                (Code::ToolConfigInvalid, format!("{file} is not a JSON object"), None)
            }
            Problem::NotAContainer(name) => (
                Code::ToolConfigInvalid,
                format!("{file}: `{}` does not have the type that the tool expects", text::excerpt(&name)),
                None,
            ),
            Problem::Tangled => (
                Code::ToolConfigInvalid,
                format!("{file} has a format in which Tenure's entries cannot be distinguished from others"),
                None,
            ),
        };
        Error::new(code, message)
            .at(Stage::Resolve)
            .entity(file.to_string())
            .hint("The files of this tool were not changed. Correct this file, then repeat the command.")
            .detail("line", line)
    }
}
