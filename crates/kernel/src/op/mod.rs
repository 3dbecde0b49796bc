//! The ops: a plain list and a match. One op is one file; a reader who knows its name knows the file's.

pub mod access_denied;
pub mod add;
pub mod add_many;
pub mod block;
pub mod cancel;
pub mod claim;
pub mod committed;
pub mod confirm;
pub mod done;
pub mod edit;
pub mod forget;
pub mod guard;
pub mod import;
pub mod inbox;
pub mod join;
mod leaving;
pub mod lessons;
mod lines;
mod list;
pub mod lock;
pub mod login_close;
pub mod login_offer;
pub mod login_take;
pub mod member_set;
pub mod memory_forget;
pub mod memory_pin;
pub mod note;
pub mod off;
pub mod principal_set;
mod read;
pub mod release;
mod release_lock;
mod release_paths;
pub mod remember;
pub mod reopen;
pub mod reserve;
pub mod resume;
pub mod role;
pub mod send;
pub mod session_end;
pub mod session_start;
pub mod switch_on;
pub mod token_add;
pub mod token_revoke;
pub mod tool_used;
pub mod transfer;
pub mod unblock;

use serde::Serialize;
use tenure_core::{Error, Result};

use crate::unit::Unit;

/// A request that changes state.
#[derive(Clone, Debug)]
pub enum Op {
    /// Adds a task.
    Add(add::Request),
    /// Adds many tasks, all or none.
    AddMany(add_many::Request),
    /// Changes a task.
    Edit(edit::Request),
    /// Takes a task.
    Claim(claim::Request),
    /// Chooses what to work on, takes it, and says everything that is needed to go on.
    Resume(resume::Request),
    /// Says that what was offered was shown.
    Confirm(confirm::Request),
    /// Notes progress.
    Note(note::Request),
    /// Finishes a task.
    Done(done::Request),
    /// Says that a task cannot go on.
    Block(block::Request),
    /// Says that it can.
    Unblock(unblock::Request),
    /// Gives a task, paths or a lock back.
    Release(release::Request),
    /// Takes paths.
    Reserve(reserve::Request),
    /// Takes a named lock.
    Lock(lock::Request),
    /// Opens a finished task again.
    Reopen(reopen::Request),
    /// Gives a task up.
    Cancel(cancel::Request),
    /// Hands a task to another agent.
    Transfer(transfer::Request),
    /// Takes tasks and notes in that were exported elsewhere, all or none.
    Import(import::Request),
    /// Remembers facts, directives and lessons, all or none.
    Remember(remember::Request),
    /// Pins a memory or takes the pin out.
    MemoryPin(memory_pin::Request),
    /// Forgets a memory.
    MemoryForget(memory_forget::Request),
    /// Sends a message.
    Send(send::Request),
    /// Offers new mail.
    Inbox(inbox::Request),
    /// A session of a tool begins.
    SessionStart(session_start::Request),
    /// A session of a tool is over.
    SessionEnd(session_end::Request),
    /// A tool of an agent was used.
    ToolUsed(tool_used::Request),
    /// Files were committed.
    Committed(committed::Request),
    /// Draws lessons from what happened.
    Lessons(lessons::Request),
    /// Makes a copy of the repository a checkout of the project.
    Join(join::Request),
    /// Forgets a project.
    Forget(forget::Request),
    /// Switches a project on.
    SwitchOn(switch_on::Request),
    /// Switches the guards off for a while.
    Off(off::Request),
    /// Takes the files of an edit.
    Guard(guard::Request),
    /// Gives a principal a token.
    TokenAdd(token_add::Request),
    /// Revokes a token.
    TokenRevoke(token_revoke::Request),
    /// Gives a principal a role in a project, or takes it away.
    MemberSet(member_set::Request),
    /// Disables a principal, or lets it count again.
    PrincipalSet(principal_set::Request),
    /// Offers a person a one-time link to sign in.
    LoginOffer(login_offer::Request),
    /// Turns a one-time link into a session of a browser, once.
    LoginTake(login_take::Request),
    /// Closes sessions of browsers.
    LoginClose(login_close::Request),
    /// Writes down that somebody was denied something.
    AccessDenied(access_denied::Request),
}

/// What was made of an op before the lock was taken.
pub(crate) enum Prepared {
    AddMany(add_many::Batch),
    Import(import::Batch),
    Nothing,
}

pub use self::list::{ALL, About};
pub use crate::call::Door;

impl Op {
    /// The op's name.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Add(_) => "add",
            Op::AddMany(_) => "add_many",
            Op::Edit(_) => "edit",
            Op::Claim(_) => "claim",
            Op::Resume(_) => "resume",
            Op::Confirm(_) => "confirm",
            Op::Note(_) => "note",
            Op::Done(_) => "done",
            Op::Block(_) => "block",
            Op::Unblock(_) => "unblock",
            Op::Release(_) => "release",
            Op::Reserve(_) => "reserve",
            Op::Lock(_) => "lock",
            Op::Reopen(_) => "reopen",
            Op::Cancel(_) => "cancel",
            Op::Transfer(_) => "transfer",
            Op::Import(_) => "import",
            Op::Remember(_) => "remember",
            Op::MemoryPin(_) => "memory_pin",
            Op::MemoryForget(_) => "memory_forget",
            Op::Send(_) => "send",
            Op::Inbox(_) => "inbox",
            Op::SessionStart(_) => "session_start",
            Op::SessionEnd(_) => "session_end",
            Op::ToolUsed(_) => "tool_used",
            Op::Committed(_) => "committed",
            Op::Lessons(_) => "lessons",
            Op::Join(_) => "join",
            Op::Forget(_) => "forget",
            Op::SwitchOn(_) => "switch_on",
            Op::Off(_) => "off",
            Op::Guard(_) => "guard",
            Op::TokenAdd(_) => "token_add",
            Op::TokenRevoke(_) => "token_revoke",
            Op::MemberSet(_) => "member_set",
            Op::PrincipalSet(_) => "principal_set",
            Op::LoginOffer(_) => "login_offer",
            Op::LoginTake(_) => "login_take",
            Op::LoginClose(_) => "login_close",
            Op::AccessDenied(_) => "access_denied",
        }
    }

    /// Whether it is an op of hooks, which happens in the background and never switches a project on.
    pub(crate) fn is_hooks(&self) -> bool {
        matches!(self, Op::SessionStart(_) | Op::SessionEnd(_) | Op::ToolUsed(_) | Op::Guard(_) | Op::Committed(_))
    }

    /// Whether it concerns the whole store: it is asked for there, and nowhere else.
    pub fn is_of_store(&self) -> bool {
        matches!(
            self,
            Op::TokenAdd(_)
                | Op::TokenRevoke(_)
                | Op::MemberSet(_)
                | Op::PrincipalSet(_)
                | Op::LoginOffer(_)
                | Op::LoginTake(_)
                | Op::LoginClose(_)
                | Op::AccessDenied(_)
        )
    }

    /// Checks what can be checked without the store. [`crate::Kernel::run`] does it too; a door asks first where it
    /// would otherwise make something for a request that cannot succeed.
    pub fn check(&self) -> Result<()> {
        match self {
            Op::Add(request) => request.check(),
            Op::AddMany(request) => request.check(),
            Op::Edit(request) => request.check(),
            Op::Claim(request) => request.check(),
            Op::Resume(request) => request.check(),
            Op::Note(request) => request.check(),
            Op::Block(request) => request.check(),
            Op::Release(request) => request.check(),
            Op::Reserve(request) => request.check(),
            Op::Lock(request) => request.check(),
            Op::Reopen(request) => request.check(),
            Op::Cancel(request) => request.check(),
            Op::Transfer(request) => request.check(),
            Op::Import(request) => request.check(),
            Op::Remember(request) => request.check(),
            Op::SessionStart(request) => request.check(),
            Op::SessionEnd(request) => request.check(),
            Op::ToolUsed(request) => request.check(),
            Op::Committed(request) => request.check(),
            Op::Send(request) => request.check(),
            Op::Inbox(request) => request.check(),
            Op::Off(request) => request.check(),
            Op::Guard(request) => request.check(),
            Op::TokenAdd(request) => request.check(),
            Op::TokenRevoke(request) => request.check(),
            Op::MemberSet(request) => request.check(),
            Op::PrincipalSet(request) => request.check(),
            Op::LoginOffer(request) => request.check(),
            Op::LoginTake(request) => request.check(),
            Op::LoginClose(request) => request.check(),
            Op::AccessDenied(request) => request.check(),
            Op::Done(_)
            | Op::Confirm(_)
            | Op::Lessons(_)
            | Op::SwitchOn(_)
            | Op::MemoryPin(_)
            | Op::MemoryForget(_)
            | Op::Unblock(_)
            | Op::Join(_)
            | Op::Forget(_) => Ok(()),
        }
    }

    /// Makes what can be made before the lock is taken, of what passes [`Op::check`].
    pub(crate) fn prepare(&self) -> Result<Prepared> {
        match self {
            Op::AddMany(request) => request.prepare().map(Prepared::AddMany),
            Op::Import(request) => request.prepare().map(Prepared::Import),
            _ => self.check().map(|()| Prepared::Nothing),
        }
    }

    /// How many rows it brings, where it is made for many: the lock is held the longer the more there are.
    pub fn items(&self) -> usize {
        match self {
            Op::AddMany(request) => request.items.len(),
            Op::Import(request) => request.tasks.len() + request.notes.len(),
            _ => 1,
        }
    }

    /// The request as sent, in one spelling: what its fingerprint is made of, and what [`Op::read`] reads.
    pub fn canonical(&self) -> Result<String> {
        match self {
            Op::Add(request) => json(request),
            Op::AddMany(request) => json(request),
            Op::Edit(request) => json(request),
            Op::Claim(request) => json(request),
            Op::Resume(request) => json(request),
            Op::Confirm(request) => json(request),
            Op::Note(request) => json(request),
            Op::Done(request) => json(request),
            Op::Block(request) => json(request),
            Op::Unblock(request) => json(request),
            Op::Release(request) => json(request),
            Op::Reserve(request) => json(request),
            Op::Lock(request) => json(request),
            Op::Reopen(request) => json(request),
            Op::Cancel(request) => json(request),
            Op::Transfer(request) => json(request),
            Op::Import(request) => json(request),
            Op::Remember(request) => json(request),
            Op::MemoryPin(request) => json(request),
            Op::MemoryForget(request) => json(request),
            Op::Send(request) => json(request),
            Op::Inbox(request) => json(request),
            Op::SessionStart(request) => json(request),
            Op::SessionEnd(request) => json(request),
            Op::ToolUsed(request) => json(request),
            Op::Committed(request) => json(request),
            Op::Lessons(request) => json(request),
            Op::Join(request) => json(request),
            Op::Forget(request) => json(request),
            Op::SwitchOn(request) => json(request),
            Op::Off(request) => json(request),
            Op::Guard(request) => json(request),
            Op::TokenAdd(request) => json(request),
            Op::TokenRevoke(request) => json(request),
            Op::MemberSet(request) => json(request),
            Op::PrincipalSet(request) => json(request),
            Op::LoginOffer(request) => json(request),
            Op::LoginTake(request) => json(request),
            Op::LoginClose(request) => json(request),
            Op::AccessDenied(request) => json(request),
        }
    }

    /// Decides and writes, and returns the response as JSON.
    pub(crate) fn apply(&self, unit: &mut Unit<'_>, prepared: &Prepared) -> Result<String> {
        match (self, prepared) {
            (Op::Add(request), _) => json(&add::apply(unit, request)?),
            (Op::AddMany(_), Prepared::AddMany(batch)) => json(&add_many::apply(unit, batch)?),
            (Op::Edit(request), _) => json(&edit::apply(unit, request)?),
            (Op::Claim(request), _) => json(&claim::apply(unit, request)?),
            (Op::Resume(request), _) => json(&resume::apply(unit, request)?),
            (Op::Confirm(request), _) => json(&confirm::apply(unit, request)?),
            (Op::Note(request), _) => json(&note::apply(unit, request)?),
            (Op::Done(request), _) => json(&done::apply(unit, request)?),
            (Op::Block(request), _) => json(&block::apply(unit, request)?),
            (Op::Unblock(request), _) => json(&unblock::apply(unit, request)?),
            (Op::Release(request), _) => json(&release::apply(unit, request)?),
            (Op::Reserve(request), _) => json(&reserve::apply(unit, request)?),
            (Op::Lock(request), _) => json(&lock::apply(unit, request)?),
            (Op::Reopen(request), _) => json(&reopen::apply(unit, request)?),
            (Op::Cancel(request), _) => json(&cancel::apply(unit, request)?),
            (Op::Transfer(request), _) => json(&transfer::apply(unit, request)?),
            (Op::Import(_), Prepared::Import(batch)) => json(&import::apply(unit, batch)?),
            (Op::Remember(request), _) => json(&remember::apply(unit, request)?),
            (Op::MemoryPin(request), _) => json(&memory_pin::apply(unit, request)?),
            (Op::MemoryForget(request), _) => json(&memory_forget::apply(unit, request)?),
            (Op::Send(request), _) => json(&send::apply(unit, request)?),
            (Op::Inbox(request), _) => json(&inbox::apply(unit, request)?),
            (Op::SessionStart(request), _) => json(&session_start::apply(unit, request)?),
            (Op::SessionEnd(request), _) => json(&session_end::apply(unit, request)?),
            (Op::ToolUsed(request), _) => json(&tool_used::apply(unit, request)?),
            (Op::Committed(request), _) => json(&committed::apply(unit, request)?),
            (Op::Lessons(request), _) => json(&lessons::apply(unit, request)?),
            (Op::Join(request), _) => json(&join::apply(unit, request)?),
            (Op::Forget(request), _) => json(&forget::apply(unit, request)?),
            (Op::SwitchOn(request), _) => json(&switch_on::apply(unit, request)?),
            (Op::Off(request), _) => json(&off::apply(unit, request)?),
            (Op::Guard(request), _) => json(&guard::apply(unit, request)?),
            (Op::TokenAdd(request), _) => json(&token_add::apply(unit, request)?),
            (Op::TokenRevoke(request), _) => json(&token_revoke::apply(unit, request)?),
            (Op::MemberSet(request), _) => json(&member_set::apply(unit, request)?),
            (Op::PrincipalSet(request), _) => json(&principal_set::apply(unit, request)?),
            (Op::LoginOffer(request), _) => json(&login_offer::apply(unit, request)?),
            (Op::LoginTake(request), _) => json(&login_take::apply(unit, request)?),
            (Op::LoginClose(request), _) => json(&login_close::apply(unit, request)?),
            (Op::AccessDenied(request), _) => json(&access_denied::apply(unit, request)?),
            (Op::AddMany(_) | Op::Import(_), _) => Err(Error::bug("a batch that was not prepared")),
        }
    }
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::bug(format!("a value has no JSON: {error}")))
}
