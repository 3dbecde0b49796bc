//! What was typed for the flags that every command has. They may stand before or after the command.

/// The global flags, as typed: nothing here is resolved or checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// `--project NAME`.
    pub(crate) project: Option<String>,
    /// `--store PATH|URL`.
    pub(crate) store: Option<String>,
    /// `--agent NAME`.
    pub(crate) agent: Option<String>,
    /// `--request-id ID`.
    pub(crate) request_id: Option<String>,
}
