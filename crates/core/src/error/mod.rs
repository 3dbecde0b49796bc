//! The error type, the table of codes, and the table that maps a kind to exit code, HTTP status and retry advice.

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

/// What every fallible function of Tenure returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in the terms that decide what a caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request itself is malformed or over a limit.
    Usage,
    /// The caller may not do this.
    Denied,
    /// What was named does not exist.
    NotFound,
    /// The state does not allow it: held by another, not ready, a cycle, pinned elsewhere.
    Conflict,
    /// The caller acts on an old fence, version or cursor.
    Stale,
    /// A request id was reused with another payload.
    Mismatch,
    /// Not now: a lock, a lost connection, a waiting line.
    Busy,
    /// The store cannot be used: disk full, read-only, corrupt, newer schema.
    Storage,
    /// A bug.
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

    /// (name, exit code, HTTP status, whether the same request may succeed later without any change).
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

    /// The name used in JSON.
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

    /// Whether the same request may succeed later as it is.
    pub const fn retryable(self) -> bool {
        self.row().3
    }
}

/// Where in the life of a request it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading arguments, input or configuration.
    Arguments,
    /// Finding identity, project, checkout and store.
    Resolve,
    /// Opening, creating or migrating the store.
    Open,
    /// Waiting for the write lock.
    Lock,
    /// Looking up or storing a request id.
    Idempotency,
    /// Deciding, on rows that were read under the lock.
    Decide,
    /// Reading rows.
    Read,
    /// Writing rows.
    Write,
    /// Committing.
    Commit,
    /// Handing the answer over.
    Reply,
}

/// Most actions of an error: more would bury the one that helps.
const MOST_ACTIONS: usize = 3;

/// An error with everything a person or an agent needs to act on it.
///
/// A refusal has four parts: what (`message`), who stands in the way (`who`), at most three actions that help now
/// (`actions`) and how a person overrides it (`person`). `hint` is advice for errors that are not refusals. Actions are
/// data: the door that reports the error has the words for them.
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
    /// A new error: its kind is the one of the table, its stage [`Stage::Decide`].
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

    /// An error found while reading the request.
    pub fn usage(code: Code, message: impl Into<String>) -> Error {
        Error::new(code, message).at(Stage::Arguments)
    }

    /// Another kind than the one of the table: `no_home`, `no_socket` and `not_held` have two.
    pub fn with_kind(mut self, kind: Kind) -> Error {
        self.0.kind = kind;
        self.0.retryable = kind.retryable();
        self
    }

    /// A state that the code promises cannot be reached.
    pub fn bug(message: impl Into<String>) -> Error {
        Error::new(Code::Internal, message)
            .hint("This is a defect in Tenure. Please report it with the command that led here.")
    }

    /// What the error is about: an id, a path, a name.
    pub fn entity(mut self, entity: impl Into<String>) -> Error {
        self.0.entity = Some(entity.into());
        self
    }

    /// Who stands in the way: alive, since when, until when, for what.
    pub fn who(mut self, who: impl Into<String>) -> Error {
        self.0.who = Some(who.into());
        self
    }

    /// One action that helps now; only the first three are kept.
    pub fn attempt(mut self, action: Action) -> Error {
        if self.0.actions.len() < MOST_ACTIONS {
            self.0.actions.push(action);
        }
        self
    }

    /// Replaces each action that helps now, where a caller knows a better one.
    #[must_use]
    pub fn map_actions(mut self, better: impl FnMut(Action) -> Action) -> Error {
        self.0.actions = self.0.actions.into_iter().map(better).collect();
        self
    }

    /// How a person overrides the refusal, in words, never as a complete destructive command.
    pub fn person(mut self, how: impl Into<Advice>) -> Error {
        self.0.person = Some(how.into());
        self
    }

    /// Advice.
    pub fn hint(mut self, hint: impl Into<Advice>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// A detail that code reads back; see [`Error::read`].
    pub fn with<D: Detail>(self, detail: &D) -> Error {
        let value = serde_json::to_value(detail).unwrap_or_default();
        self.detail(D::KEY, value)
    }

    /// One more machine-readable detail.
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Error {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// The underlying error.
    pub fn cause(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// The stage at which it failed, where the edge that met it knows better than the one that made it.
    pub fn at(mut self, stage: Stage) -> Error {
        self.0.stage = stage;
        self
    }

    /// The same error for one more caller who met it. The cause becomes its text.
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

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The stage.
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// What it is about.
    pub fn about(&self) -> Option<&str> {
        self.0.entity.as_deref()
    }

    /// What went wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Who stands in the way.
    pub fn blocker(&self) -> Option<&str> {
        self.0.who.as_deref()
    }

    /// The actions that help now.
    pub fn actions(&self) -> &[Action] {
        &self.0.actions
    }

    /// What helps now, in the words of a door; what the door cannot do is left out.
    pub fn attempts(&self, phrasing: &dyn Phrasing) -> Vec<String> {
        self.attempted(phrasing).into_iter().map(|(_, said)| said).collect()
    }

    fn attempted(&self, phrasing: &dyn Phrasing) -> Vec<(&Action, String)> {
        let mut said: Vec<(&Action, String)> =
            self.0.actions.iter().filter_map(|action| Some((action, phrasing.say(action)?))).collect();
        said.dedup_by(|one, before| one.1 == before.1);
        said
    }

    /// How a person overrides it.
    pub fn override_by_person(&self) -> Option<&Advice> {
        self.0.person.as_ref()
    }

    /// Plain advice.
    pub fn advice(&self) -> Option<&Advice> {
        self.0.hint.as_ref()
    }

    /// A detail that [`Error::with`] added, if it is there and reads as what it should be.
    pub fn read<D: Detail>(&self) -> Option<D> {
        self.get(D::KEY).and_then(|value| D::deserialize(value).ok())
    }

    /// A detail by name.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.details.get(key)
    }

    /// Whether the same request may succeed later as it is.
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether the op was refused by a decision (its own rows are undone, settling and presence stay).
    pub fn is_refusal(&self) -> bool {
        matches!(self.0.stage, Stage::Decide | Stage::Arguments)
            && matches!(self.0.kind, Kind::Usage | Kind::Denied | Kind::NotFound | Kind::Conflict | Kind::Stale)
    }

    /// The error as JSON, in the words of a door: `{"code","kind","message","hint","retryable","details"}`, and
    /// `actions` where something helps now.
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
        // An error whose actions the door cannot do has an empty hint, not none: that is how the MCP door answers.
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
