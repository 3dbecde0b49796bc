//! The queries as values: a plain list and a match, as for ops. What asks from another process sends one of these and
//! gets the answer as JSON, the same that a caller in this process gets typed.

use schemars::{Schema, schema_for};
use serde_json::Value;
use tenure_core::{Code, Error, Result, Stage, text};

use super::{asked, check, commit, list, log, memory};
use crate::op::{Operation, import, resume};
use crate::read::request;

/// A request that changes nothing.
#[derive(Clone, Debug)]
pub enum Query {
    /// Tasks in the order of choice.
    List(list::Filter),
    /// A task or a hold by the beginning of its id.
    LookUp(asked::Typed),
    /// One task with its notes, dependents and newest events.
    Show(asked::Id),
    /// One hold, ended or not.
    ShowHold(asked::Id),
    /// A task and everything it is connected with.
    Graph(asked::Id),
    /// The project at a glance.
    Status(asked::Nothing),
    /// The story of a task, a hold or a memory.
    Why(asked::Id),
    /// The story of a named lock.
    WhyLock(asked::Named),
    /// The story of one path or pattern.
    WhyPath(check::Question),
    /// Live holds, the next to end first, and who waits.
    Holds(asked::Holds),
    /// The lock of a name as it is now.
    LockOf(asked::Named),
    /// Whether paths are free for the asker.
    Check(check::Question),
    /// How a place in the waiting line stands.
    Turn(asked::AtPlace),
    /// Events by number.
    Log(log::Filter),
    /// New mail, without offering it.
    Mail(asked::Mail),
    /// How many messages are new, and the first of them.
    Unread(asked::Unread),
    /// The message in the asker's mail whose id begins with a text.
    MessageId(asked::Typed),
    /// Memories by words.
    Recall(asked::Recall),
    /// Memories, the newest first.
    Memories(memory::Filter),
    /// The memory whose id begins with a text, and whether it is of the whole store.
    MemoryId(asked::Typed),
    /// One memory.
    Memory(asked::Id),
    /// What `claim` would choose now, and why.
    Next(asked::Next),
    /// What `resume` would answer now.
    Peek(resume::Resume),
    /// Agents by name, or those seen lately.
    Agents(asked::Agents),
    /// The projects of the store.
    Projects(asked::Paged),
    /// The one project that has a key or is called a name.
    ProjectCalled(asked::Called),
    /// The task whose id begins with a text.
    TaskId(asked::Typed),
    /// The task or hold whose id begins with a text.
    AnyId(asked::Typed),
    /// Whether the guards are off.
    Guards(asked::Nothing),
    /// Whether the project has any event.
    SwitchedOn(asked::Nothing),
    /// The time of the last op.
    LastTime(asked::Nothing),
    /// When each hook last ran.
    Fired(asked::Nothing),
    /// Whether the rows of the project fit together.
    Health(asked::Nothing),
    /// Reads every row of the project, for doctors.
    ReadThrough(asked::Nothing),
    /// What an import would do.
    ImportPlan(import::Import),
    /// Everything of the project, as lines.
    Export(asked::Export),
    /// Who else holds anything in the checkout of the call.
    OthersHere(asked::Nothing),
    /// The refusal that an edit of files would meet.
    InTheWay(asked::Files),
    /// Whether files may be committed by the asker.
    MayCommit(commit::Question),
    /// Whether commits may be pushed by the asker.
    MayPush(asked::Commits),
    /// The asker's holds on single files of this checkout.
    OwnFiles(commit::Question),
    /// How an edit stands before anything is written.
    Outlook(asked::Outlook),
    /// What a hook must know before it does anything.
    Standing(asked::Standing),
    /// What a session is shown when it begins.
    Beginning(asked::Beginning),
    /// Who a command is that runs inside a tool.
    SessionOf(asked::SessionOf),
    /// The agents of one machine that hold something and whose process is known.
    Suspects(asked::Host),
    /// Tokens of the store, without their hashes.
    Tokens(asked::Tokens),
    /// The token whose id begins with a text.
    TokenId(asked::Typed),
    /// Who has which role where.
    Members(asked::Members),
    /// All who access was given to.
    Principals(asked::Paged),
}

/// What is known about a query without asking it.
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// What it answers, in one line.
    pub what: &'static str,
    /// Whether anybody may find it in a list; the others are the doors' own.
    pub public: bool,
    /// The schema of what it is asked with.
    pub schema: fn() -> Schema,
}

const fn public(name: &'static str, what: &'static str, schema: fn() -> Schema) -> About {
    About { name, what, public: true, schema }
}

const fn internal(name: &'static str, what: &'static str, schema: fn() -> Schema) -> About {
    About { name, what, public: false, schema }
}

/// All queries.
pub const ALL: [About; 50] = [
    public("list", "Tasks in the order of choice", || schema_for!(list::Filter)),
    public("look_up", "A task or a hold by the beginning of its id", || schema_for!(asked::Typed)),
    public("show", "One task with its notes, dependents and newest events", || schema_for!(asked::Id)),
    public("show_hold", "One hold, ended or not", || schema_for!(asked::Id)),
    public("graph", "A task and everything it is connected with", || schema_for!(asked::Id)),
    public("status", "The project at a glance", || schema_for!(asked::Nothing)),
    public("why", "The story of a task, a hold or a memory", || schema_for!(asked::Id)),
    public("why_lock", "The story of a named lock", || schema_for!(asked::Named)),
    public("why_path", "The story of one path or pattern", || schema_for!(check::Question)),
    public("holds", "Live holds, the next to end first, and who waits", || schema_for!(asked::Holds)),
    public("lock_of", "The lock of a name as it is now", || schema_for!(asked::Named)),
    public("check", "Whether paths are free for the asker", || schema_for!(check::Question)),
    public("turn", "How a place in the waiting line stands", || schema_for!(asked::AtPlace)),
    public("log", "Events by number", || schema_for!(log::Filter)),
    public("mail", "New mail, without offering it", || schema_for!(asked::Mail)),
    public("unread", "How many messages are new, and the first of them", || schema_for!(asked::Unread)),
    public("message_id", "The message in the asker's mail whose id begins with a text", || schema_for!(asked::Typed)),
    public("recall", "Memories by words", || schema_for!(asked::Recall)),
    public("memories", "Memories, the newest first", || schema_for!(memory::Filter)),
    public("memory_id", "The memory whose id begins with a text, and whether it is of the whole store", || {
        schema_for!(asked::Typed)
    }),
    public("memory", "One memory", || schema_for!(asked::Id)),
    public("next", "What `claim` would choose now, and why", || schema_for!(asked::Next)),
    public("peek", "What `resume` would answer now", || schema_for!(resume::Resume)),
    public("agents", "Agents by name, or those seen lately", || schema_for!(asked::Agents)),
    public("projects", "The projects of the store", || schema_for!(asked::Paged)),
    public("project_called", "The one project that has a key or is called a name", || schema_for!(asked::Called)),
    public("task_id", "The task whose id begins with a text", || schema_for!(asked::Typed)),
    public("any_id", "The task or hold whose id begins with a text", || schema_for!(asked::Typed)),
    public("guards", "Whether the guards are off", || schema_for!(asked::Nothing)),
    public("switched_on", "Whether the project has any event", || schema_for!(asked::Nothing)),
    public("last_time", "The time of the last op", || schema_for!(asked::Nothing)),
    public("fired", "When each hook last ran", || schema_for!(asked::Nothing)),
    public("health", "Whether the rows of the project fit together", || schema_for!(asked::Nothing)),
    internal("read_through", "Reads every row of the project, for doctors", || schema_for!(asked::Nothing)),
    public("import_plan", "What an import would do", || schema_for!(import::Import)),
    public("export", "Everything of the project, as lines", || schema_for!(asked::Export)),
    internal("others_here", "Who else holds anything in the checkout of the call", || schema_for!(asked::Nothing)),
    internal("in_the_way", "The refusal that an edit of files would meet", || schema_for!(asked::Files)),
    internal("may_commit", "Whether files may be committed by the asker", || schema_for!(commit::Question)),
    internal("may_push", "Whether commits may be pushed by the asker", || schema_for!(asked::Commits)),
    internal("own_files", "The asker's holds on single files of this checkout", || schema_for!(commit::Question)),
    internal("outlook", "How an edit stands before anything is written", || schema_for!(asked::Outlook)),
    internal("standing", "What a hook must know before it does anything", || schema_for!(asked::Standing)),
    internal("beginning", "What a session is shown when it begins", || schema_for!(asked::Beginning)),
    internal("session_of", "Who a command is that runs inside a tool", || schema_for!(asked::SessionOf)),
    internal("suspects", "The agents of one machine that hold something and whose process is known", || {
        schema_for!(asked::Host)
    }),
    public("tokens", "Tokens of the store, without their hashes", || schema_for!(asked::Tokens)),
    public("token_id", "The token whose id begins with a text", || schema_for!(asked::Typed)),
    public("members", "Who has which role where", || schema_for!(asked::Members)),
    public("principals", "All who access was given to", || schema_for!(asked::Paged)),
];

impl Query {
    /// The query's name.
    pub fn name(&self) -> &'static str {
        match self {
            Query::List(_) => "list",
            Query::LookUp(_) => "look_up",
            Query::Show(_) => "show",
            Query::ShowHold(_) => "show_hold",
            Query::Graph(_) => "graph",
            Query::Status(_) => "status",
            Query::Why(_) => "why",
            Query::WhyLock(_) => "why_lock",
            Query::WhyPath(_) => "why_path",
            Query::Holds(_) => "holds",
            Query::LockOf(_) => "lock_of",
            Query::Check(_) => "check",
            Query::Turn(_) => "turn",
            Query::Log(_) => "log",
            Query::Mail(_) => "mail",
            Query::Unread(_) => "unread",
            Query::MessageId(_) => "message_id",
            Query::Recall(_) => "recall",
            Query::Memories(_) => "memories",
            Query::MemoryId(_) => "memory_id",
            Query::Memory(_) => "memory",
            Query::Next(_) => "next",
            Query::Peek(_) => "peek",
            Query::Agents(_) => "agents",
            Query::Projects(_) => "projects",
            Query::ProjectCalled(_) => "project_called",
            Query::TaskId(_) => "task_id",
            Query::AnyId(_) => "any_id",
            Query::Guards(_) => "guards",
            Query::SwitchedOn(_) => "switched_on",
            Query::LastTime(_) => "last_time",
            Query::Fired(_) => "fired",
            Query::Health(_) => "health",
            Query::ReadThrough(_) => "read_through",
            Query::ImportPlan(_) => "import_plan",
            Query::Export(_) => "export",
            Query::OthersHere(_) => "others_here",
            Query::InTheWay(_) => "in_the_way",
            Query::MayCommit(_) => "may_commit",
            Query::MayPush(_) => "may_push",
            Query::OwnFiles(_) => "own_files",
            Query::Outlook(_) => "outlook",
            Query::Standing(_) => "standing",
            Query::Beginning(_) => "beginning",
            Query::SessionOf(_) => "session_of",
            Query::Suspects(_) => "suspects",
            Query::Tokens(_) => "tokens",
            Query::TokenId(_) => "token_id",
            Query::Members(_) => "members",
            Query::Principals(_) => "principals",
        }
    }

    /// What it is asked with, as JSON.
    pub fn to_json(&self) -> Result<String> {
        let json = match self {
            Query::List(r) => serde_json::to_string(r),
            Query::LookUp(r) => serde_json::to_string(r),
            Query::Show(r) => serde_json::to_string(r),
            Query::ShowHold(r) => serde_json::to_string(r),
            Query::Graph(r) => serde_json::to_string(r),
            Query::Status(r) => serde_json::to_string(r),
            Query::Why(r) => serde_json::to_string(r),
            Query::WhyLock(r) => serde_json::to_string(r),
            Query::WhyPath(r) => serde_json::to_string(r),
            Query::Holds(r) => serde_json::to_string(r),
            Query::LockOf(r) => serde_json::to_string(r),
            Query::Check(r) => serde_json::to_string(r),
            Query::Turn(r) => serde_json::to_string(r),
            Query::Log(r) => serde_json::to_string(r),
            Query::Mail(r) => serde_json::to_string(r),
            Query::Unread(r) => serde_json::to_string(r),
            Query::MessageId(r) => serde_json::to_string(r),
            Query::Recall(r) => serde_json::to_string(r),
            Query::Memories(r) => serde_json::to_string(r),
            Query::MemoryId(r) => serde_json::to_string(r),
            Query::Memory(r) => serde_json::to_string(r),
            Query::Next(r) => serde_json::to_string(r),
            Query::Peek(r) => serde_json::to_string(r),
            Query::Agents(r) => serde_json::to_string(r),
            Query::Projects(r) => serde_json::to_string(r),
            Query::ProjectCalled(r) => serde_json::to_string(r),
            Query::TaskId(r) => serde_json::to_string(r),
            Query::AnyId(r) => serde_json::to_string(r),
            Query::Guards(r) => serde_json::to_string(r),
            Query::SwitchedOn(r) => serde_json::to_string(r),
            Query::LastTime(r) => serde_json::to_string(r),
            Query::Fired(r) => serde_json::to_string(r),
            Query::Health(r) => serde_json::to_string(r),
            Query::ReadThrough(r) => serde_json::to_string(r),
            Query::ImportPlan(r) => serde_json::to_string(r),
            Query::Export(r) => serde_json::to_string(r),
            Query::OthersHere(r) => serde_json::to_string(r),
            Query::InTheWay(r) => serde_json::to_string(r),
            Query::MayCommit(r) => serde_json::to_string(r),
            Query::MayPush(r) => serde_json::to_string(r),
            Query::OwnFiles(r) => serde_json::to_string(r),
            Query::Outlook(r) => serde_json::to_string(r),
            Query::Standing(r) => serde_json::to_string(r),
            Query::Beginning(r) => serde_json::to_string(r),
            Query::SessionOf(r) => serde_json::to_string(r),
            Query::Suspects(r) => serde_json::to_string(r),
            Query::Tokens(r) => serde_json::to_string(r),
            Query::TokenId(r) => serde_json::to_string(r),
            Query::Members(r) => serde_json::to_string(r),
            Query::Principals(r) => serde_json::to_string(r),
        };
        json.map_err(|error| Error::bug(format!("a question has no JSON: {error}")))
    }

    /// The lines of a batch; see [`Operation::lines`].
    pub fn lines(&self) -> Vec<usize> {
        match self {
            Query::ImportPlan(batch) => batch.lines(),
            _ => Vec::new(),
        }
    }

    /// See [`Operation::set_lines`].
    pub fn set_lines(&mut self, lines: &[usize]) {
        if let Query::ImportPlan(batch) = self {
            batch.set_lines(lines);
        }
    }

    /// The query of a name with what it is asked with. Fields that it does not have are refused by their names.
    pub fn read(name: &str, json: &str) -> Result<Query> {
        refuse_nul(json)?;
        Ok(match name {
            "list" => Query::List(request(json)?),
            "look_up" => Query::LookUp(request(json)?),
            "show" => Query::Show(request(json)?),
            "show_hold" => Query::ShowHold(request(json)?),
            "graph" => Query::Graph(request(json)?),
            "status" => Query::Status(request(json)?),
            "why" => Query::Why(request(json)?),
            "why_lock" => Query::WhyLock(request(json)?),
            "why_path" => Query::WhyPath(request(json)?),
            "holds" => Query::Holds(request(json)?),
            "lock_of" => Query::LockOf(request(json)?),
            "check" => Query::Check(request(json)?),
            "turn" => Query::Turn(request(json)?),
            "log" => Query::Log(request(json)?),
            "mail" => Query::Mail(request(json)?),
            "unread" => Query::Unread(request(json)?),
            "message_id" => Query::MessageId(request(json)?),
            "recall" => Query::Recall(request(json)?),
            "memories" => Query::Memories(request(json)?),
            "memory_id" => Query::MemoryId(request(json)?),
            "memory" => Query::Memory(request(json)?),
            "next" => Query::Next(request(json)?),
            "peek" => Query::Peek(request(json)?),
            "agents" => Query::Agents(request(json)?),
            "projects" => Query::Projects(request(json)?),
            "project_called" => Query::ProjectCalled(request(json)?),
            "task_id" => Query::TaskId(request(json)?),
            "any_id" => Query::AnyId(request(json)?),
            "guards" => Query::Guards(request(json)?),
            "switched_on" => Query::SwitchedOn(request(json)?),
            "last_time" => Query::LastTime(request(json)?),
            "fired" => Query::Fired(request(json)?),
            "health" => Query::Health(request(json)?),
            "read_through" => Query::ReadThrough(request(json)?),
            "import_plan" => Query::ImportPlan(request(json)?),
            "export" => Query::Export(request(json)?),
            "others_here" => Query::OthersHere(request(json)?),
            "in_the_way" => Query::InTheWay(request(json)?),
            "may_commit" => Query::MayCommit(request(json)?),
            "may_push" => Query::MayPush(request(json)?),
            "own_files" => Query::OwnFiles(request(json)?),
            "outlook" => Query::Outlook(request(json)?),
            "standing" => Query::Standing(request(json)?),
            "beginning" => Query::Beginning(request(json)?),
            "session_of" => Query::SessionOf(request(json)?),
            "suspects" => Query::Suspects(request(json)?),
            "tokens" => Query::Tokens(request(json)?),
            "token_id" => Query::TokenId(request(json)?),
            "members" => Query::Members(request(json)?),
            "principals" => Query::Principals(request(json)?),
            _ => return Err(unknown(name)),
        })
    }
}

/// No stored text has a NUL, and not every engine can look for one.
fn refuse_nul(json: &str) -> Result<()> {
    // Written plainly it is no JSON; so only this escape can make one.
    if !json.contains("\\u0000") {
        return Ok(());
    }
    let has_nul = serde_json::from_str::<Value>(json).is_ok_and(|value| text_with_nul(&value));
    match has_nul {
        true => Err(Error::usage(Code::ControlCharacter, "the request has a control character in it: NUL")),
        false => Ok(()),
    }
}

fn text_with_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(text_with_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || text_with_nul(value)),
        _ => false,
    }
}

fn unknown(name: &str) -> Error {
    let shown = text::excerpt(name);
    let error = Error::new(Code::UnknownQuery, format!("there is no query `{shown}`")).at(Stage::Arguments);
    let known = ALL.map(|about| about.name);
    match tenure_core::name::nearest(name, known) {
        Some(near) => error.entity(shown).hint(format!("The nearest is `{near}`.")),
        None => error.entity(shown),
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Kind;

    use super::*;

    #[test]
    fn every_query_is_read_by_its_name() {
        for about in ALL {
            match Query::read(about.name, "{}") {
                Ok(query) => {
                    assert_eq!(query.name(), about.name);
                    let again = Query::read(about.name, &query.to_json().unwrap()).unwrap();
                    assert_eq!(again.to_json().unwrap(), query.to_json().unwrap());
                }
                Err(error) => assert_eq!((about.name, error.code().as_str()), (about.name, "bad_arguments")),
            }
            assert!((about.schema)().as_object().is_some(), "{}", about.name);
        }
    }

    #[test]
    fn what_a_query_does_not_know_is_refused_by_name() {
        let error = Query::read("list", r#"{"stats":[]}"#).unwrap_err();
        assert_eq!((error.kind(), error.code().as_str(), error.about()), (Kind::Usage, "bad_arguments", Some("stats")));
        let error = Query::read("lst", "{}").unwrap_err();
        assert_eq!((error.kind(), error.code().as_str()), (Kind::NotFound, "unknown_query"));
        let error = Query::read("task_id", r#"{"typed":"a\u0000"}"#).unwrap_err();
        assert_eq!(error.code(), "control_character");
        assert!(Query::read("task_id", r#"{"typed":"a\\u0000"}"#).is_ok(), "that is a backslash");
    }
}
