//! Sets up agent tools: their hooks, the MCP server, and the permission to write the store's directory.
//!
//! Setup parses all files, plans all changes, shows them, and only then writes. Entries are recognised by their content
//! (a command line of this program, a mark), so that they can be replaced and removed. Nothing else is changed.

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
    /// It cannot be parsed.
    Malformed { line: usize, what: String },
    /// Another kind of value is in the place of an entry; named from the top of the file, empty for the file itself.
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
