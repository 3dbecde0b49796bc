//! The error type, the table of codes, and the table that maps a kind to exit code, HTTP status and retryability.

mod code;
pub mod detail;
mod table;
mod wire;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use code::Code;
pub use detail::Detail;
pub use wire::Wire;

use crate::action::{Action, Advice, Phrasing};

/// The result of every fallible function of Tenure.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of failure, which decides what a caller can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request itself is malformed or over a limit.
    Usage,
    /// The caller lacks the permission.
    Denied,
    /// The named record does not exist.
    NotFound,
    /// The state does not allow it: held by another agent, not ready, a cycle, pinned elsewhere.
    Conflict,
    /// The caller used an outdated fence, version or cursor.
    Stale,
    /// A request id was reused with another payload.
    Mismatch,
    /// A temporary condition: a lock, a lost connection, a waiting line.
    Busy,
    /// The store is unusable: disk full, read-only, corrupt, newer schema.
    Storage,
    /// A defect of Tenure.
    Internal,
}

impl Kind {
    /// Every kind, in the order of the table.
    pub const ALL: [Kind; 9] = [
        Kind::Usage,
        Kind::Denied,
        Kind::NotFound,
        Kind::Conflict,
        Kind::Stale,
        Kind::Mismatch,
        Kind::Busy,
        Kind::Storage,
        Kind::Internal,
    ];

    /// (name, exit code, HTTP status, whether the unchanged request may succeed later).
    const fn row(self) -> (&'static str, u8, u16, bool) {
        match self {
            Kind::Usage => ("usage", 2, 400, false),
            Kind::Denied => ("denied", 1, 403, false),
            Kind::NotFound => ("not_found", 1, 404, false),
            Kind::Conflict => ("conflict", 1, 409, false),
            Kind::Stale => ("stale", 1, 412, false),
            Kind::Mismatch => ("mismatch", 1, 422, false),
            Kind::Busy => ("busy", 3, 503, true),
            Kind::Storage => ("storage", 4, 500, false),
            Kind::Internal => ("internal", 4, 500, false),
        }
    }

    /// The kind's name in JSON.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The process exit code.
    pub const fn exit(self) -> u8 {
        self.row().1
    }

    /// The HTTP status.
    pub const fn http(self) -> u16 {
        self.row().2
    }

    /// Whether the unchanged request may succeed later.
    pub const fn retryable(self) -> bool {
        self.row().3
    }
}

/// The stage of the request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading arguments, input or configuration.
    Arguments,
    /// Resolving identity, project, checkout and store.
    Resolve,
    /// Opening, creating or migrating the store.
    Open,
    /// Waiting for the write lock.
    Lock,
    /// Looking up or storing a request id.
    Idempotency,
    /// Deciding, on rows read under the lock.
    Decide,
    /// Reading rows.
    Read,
    /// Writing rows.
    Write,
    /// Committing.
    Commit,
    /// Delivering the answer.
    Reply,
}

/// The most actions of an error: more would bury the useful one.
const MOST_ACTIONS: usize = 3;

/// An error with the information that a person or an agent needs to act on it.
///
/// A refusal has four parts: what happened (`message`), who blocks it (`who`), at most three actions that help now
/// (`actions`) and how a person overrides it (`person`). `hint` is advice for errors that are not refusals. Actions are
/// data: the door that reports the error renders them.
#[derive(Debug)]
pub struct Error(Box<Parts>);

#[derive(Debug)]
struct Parts {
    code: Code,
    kind: Kind,
    stage: Stage,
    entity: Option<String>,
    message: String,
    who: Option<String>,
    actions: Vec<Action>,
    person: Option<Advice>,
    hint: Option<Advice>,
    details: Map<String, Value>,
    retryable: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error with the kind from the table and [`Stage::Decide`].
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error(Box::new(Parts {
            code,
            kind: code.kind(),
            stage: Stage::Decide,
            entity: None,
            message: message.into(),
            who: None,
            actions: Vec::new(),
            person: None,
            hint: None,
            details: Map::new(),
            retryable: code.kind().retryable(),
            source: None,
        }))
    }

    /// Creates an error found while reading the request.
    pub fn usage(code: Code, message: impl Into<String>) -> Error {
        Error::new(code, message).at(Stage::Arguments)
    }

    /// Overrides the kind from the table: `no_home`, `no_socket` and `not_held` have two kinds.
    pub fn with_kind(mut self, kind: Kind) -> Error {
        self.0.kind = kind;
        self.0.retryable = kind.retryable();
        self
    }

    /// Creates an error for a state that should be unreachable.
    pub fn bug(message: impl Into<String>) -> Error {
        Error::new(Code::Internal, message)
            .hint("This is a defect in Tenure. Please report it with the command that led here.")
    }

    /// Sets the subject of the error: an id, a path, a name.
    pub fn entity(mut self, entity: impl Into<String>) -> Error {
        self.0.entity = Some(entity.into());
        self
    }

    /// Sets who blocks the request: liveness, since when, until when, for what.
    pub fn who(mut self, who: impl Into<String>) -> Error {
        self.0.who = Some(who.into());
        self
    }

    /// Adds an action that helps now; only the first three are kept.
    pub fn attempt(mut self, action: Action) -> Error {
        if self.0.actions.len() < MOST_ACTIONS {
            self.0.actions.push(action);
        }
        self
    }

    /// Replaces each action, for a caller that knows a better one.
    #[must_use]
    pub fn map_actions(mut self, better: impl FnMut(Action) -> Action) -> Error {
        self.0.actions = self.0.actions.into_iter().map(better).collect();
        self
    }

    /// Sets how a person overrides the refusal, in words, never as a complete destructive command.
    pub fn person(mut self, how: impl Into<Advice>) -> Error {
        self.0.person = Some(how.into());
        self
    }

    /// Sets the advice.
    pub fn hint(mut self, hint: impl Into<Advice>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a typed detail; [`Error::read`] reads it back.
    pub fn with<D: Detail>(self, detail: &D) -> Error {
        let value = serde_json::to_value(detail).unwrap_or_default();
        self.detail(D::KEY, value)
    }

    /// Adds a machine-readable detail.
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Error {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the underlying error.
    pub fn cause(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// Sets the stage, where the code that handles the error knows it better than the code that created it.
    pub fn at(mut self, stage: Stage) -> Error {
        self.0.stage = stage;
        self
    }

    /// Copies the error for another caller that it also affects. The cause becomes text.
    pub fn repeated(&self) -> Error {
        let parts = &self.0;
        Error(Box::new(Parts {
            code: parts.code,
            kind: parts.kind,
            stage: parts.stage,
            entity: parts.entity.clone(),
            message: parts.message.clone(),
            who: parts.who.clone(),
            actions: parts.actions.clone(),
            person: parts.person.clone(),
            hint: parts.hint.clone(),
            details: parts.details.clone(),
            retryable: parts.retryable,
            source: parts.source.as_ref().map(|source| source.to_string().into()),
        }))
    }

    /// The kind of failure.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The stage that failed.
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// The subject of the error.
    pub fn about(&self) -> Option<&str> {
        self.0.entity.as_deref()
    }

    /// What went wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Who blocks the request.
    pub fn blocker(&self) -> Option<&str> {
        self.0.who.as_deref()
    }

    /// The actions that help now.
    pub fn actions(&self) -> &[Action] {
        &self.0.actions
    }

    /// The actions that help now, in the words of a door. Actions that the door cannot perform are left out.
    pub fn attempts(&self, phrasing: &dyn Phrasing) -> Vec<String> {
        self.attempted(phrasing).into_iter().map(|(_, said)| said).collect()
    }

    fn attempted(&self, phrasing: &dyn Phrasing) -> Vec<(&Action, String)> {
        let mut said: Vec<(&Action, String)> =
            self.0.actions.iter().filter_map(|action| Some((action, phrasing.say(action)?))).collect();
        said.dedup_by(|one, before| one.1 == before.1);
        said
    }

    /// How a person overrides the refusal.
    pub fn override_by_person(&self) -> Option<&Advice> {
        self.0.person.as_ref()
    }

    /// The advice.
    pub fn advice(&self) -> Option<&Advice> {
        self.0.hint.as_ref()
    }

    /// Reads a detail that [`Error::with`] added; `None` if it is absent or of another type.
    pub fn read<D: Detail>(&self) -> Option<D> {
        self.get(D::KEY).and_then(|value| D::deserialize(value).ok())
    }

    /// A detail by its key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.details.get(key)
    }

    /// Whether the unchanged request may succeed later.
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether a decision refused the op: the op's own rows are rolled back, while settling and presence are committed.
    pub fn is_refusal(&self) -> bool {
        matches!(self.0.stage, Stage::Decide | Stage::Arguments)
            && matches!(self.0.kind, Kind::Usage | Kind::Denied | Kind::NotFound | Kind::Conflict | Kind::Stale)
    }

    /// The error as JSON in the words of a door: `{"code","kind","message","hint","retryable","details"}`, and
    /// `actions` if any helps now.
    pub fn to_json(&self, phrasing: &dyn Phrasing) -> Value {
        let parts = &self.0;
        let (actions, tries): (Vec<&Action>, Vec<String>) = self.attempted(phrasing).into_iter().unzip();
        let mut hint: Vec<String> = Vec::new();
        hint.extend(parts.hint.as_ref().map(|hint| hint.say(phrasing)));
        if !tries.is_empty() {
            hint.push(format!("Try: {}.", tries.join("; ")));
        }
        hint.extend(parts.person.as_ref().map(|how| how.say(phrasing)));
        let mut details = parts.details.clone();
        details.insert("stage".into(), json!(parts.stage));
        details.insert("entity".into(), json!(parts.entity));
        if let Some(who) = &parts.who {
            details.insert("who".into(), json!(who));
        }
        if !tries.is_empty() {
            details.insert("try".into(), json!(tries));
        }
        if let Some(source) = &parts.source {
            details.insert("cause".into(), json!(source.to_string()));
        }
        // If the door can perform none of the actions, the hint is an empty string instead of null: the MCP door
        // answers so.
        let hint = (!hint.is_empty() || !parts.actions.is_empty()).then(|| hint.join(" "));
        let mut json = json!({
            "code": parts.code,
            "kind": parts.kind.as_str(),
            "message": parts.message,
            "hint": hint,
            "retryable": parts.retryable,
            "details": details,
        });
        if !actions.is_empty() {
            json["actions"] = json!(actions);
        }
        json
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Plain;

    #[test]
    fn inv_t8_an_error_carries_code_kind_stage_entity_retryable_and_hint() {
        let error = Error::new(Code::TaskHeld, "task t-1 is held")
            .entity("t-1")
            .who("b, alive")
            .attempt(Action::NextTask)
            .person("A person can take it over with --force.");
        let json = error.to_json(&Plain);
        assert_eq!(json["code"], "task_held");
        assert_eq!(json["kind"], "conflict");
        assert_eq!(json["retryable"], false);
        assert_eq!(json["details"]["stage"], "decide");
        assert_eq!(json["details"]["entity"], "t-1");
        assert_eq!(json["hint"], r#"Try: {"action":"next_task"}. A person can take it over with --force."#);
        assert_eq!(json["actions"], json!([{ "action": "next_task" }]));
    }

    #[test]
    fn a_refusal_names_at_most_three_actions() {
        let error = (0..9).fold(Error::usage(Code::BadId, "y"), |error, n| error.attempt(Action::show(n)));
        assert_eq!((error.actions().len(), error.attempts(&Plain).len()), (3, 3));
    }

    #[test]
    fn the_table_of_kinds_is_the_contract() {
        let rows: Vec<_> = Kind::ALL.iter().map(|kind| (kind.as_str(), kind.exit(), kind.http())).collect();
        assert_eq!(
            rows,
            [
                ("usage", 2, 400),
                ("denied", 1, 403),
                ("not_found", 1, 404),
                ("conflict", 1, 409),
                ("stale", 1, 412),
                ("mismatch", 1, 422),
                ("busy", 3, 503),
                ("storage", 4, 500),
                ("internal", 4, 500),
            ]
        );
    }
}
