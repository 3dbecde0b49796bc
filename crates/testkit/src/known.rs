//! The ops as an enum, for models and checkers that need a rule for every op. The compiler checks a `match` on
//! [`Known`] for completeness, which it cannot for [`Op`].

use tenure_kernel::Op;
use tenure_kernel::op::{
    access_denied, add, add_many, block, cancel, claim, committed, confirm, done, edit, forget, guard, import, inbox,
    join, lessons, lock, login_close, login_offer, login_take, member_set, memory_forget, memory_pin, note, off,
    principal_set, release, remember, reopen, reserve, resume, send, session_end, session_start, switch_on, token_add,
    token_revoke, tool_used, transfer, unblock,
};

/// An op, by its type.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    Add(&'a add::Add),
    AddMany(&'a add_many::AddMany),
    Edit(&'a edit::Edit),
    Claim(&'a claim::Claim),
    Resume(&'a resume::Resume),
    Confirm(&'a confirm::Confirm),
    Note(&'a note::Note),
    Done(&'a done::Done),
    Block(&'a block::Block),
    Unblock(&'a unblock::Unblock),
    Release(&'a release::Release),
    Reserve(&'a reserve::Reserve),
    Lock(&'a lock::Lock),
    Reopen(&'a reopen::Reopen),
    Cancel(&'a cancel::Cancel),
    Transfer(&'a transfer::Transfer),
    Import(&'a import::Import),
    Remember(&'a remember::Remember),
    MemoryPin(&'a memory_pin::MemoryPin),
    MemoryForget(&'a memory_forget::MemoryForget),
    Send(&'a send::Send),
    Inbox(&'a inbox::Inbox),
    SessionStart(&'a session_start::SessionStart),
    SessionEnd(&'a session_end::SessionEnd),
    ToolUsed(&'a tool_used::ToolUsed),
    Committed(&'a committed::Committed),
    Lessons(&'a lessons::Lessons),
    Join(&'a join::Join),
    Forget(&'a forget::Forget),
    SwitchOn(&'a switch_on::SwitchOn),
    Off(&'a off::Off),
    Guard(&'a guard::Guard),
    TokenAdd(&'a token_add::TokenAdd),
    TokenRevoke(&'a token_revoke::TokenRevoke),
    MemberSet(&'a member_set::MemberSet),
    PrincipalSet(&'a principal_set::PrincipalSet),
    LoginOffer(&'a login_offer::LoginOffer),
    LoginTake(&'a login_take::LoginTake),
    LoginClose(&'a login_close::LoginClose),
    AccessDenied(&'a access_denied::AccessDenied),
}

impl<'a> Known<'a> {
    /// Converts an op. A test of the corpus proves that every entry of `OPS` converts.
    pub fn of(op: &'a Op) -> Known<'a> {
        let found = [
            op.get().map(Known::Add),
            op.get().map(Known::AddMany),
            op.get().map(Known::Edit),
            op.get().map(Known::Claim),
            op.get().map(Known::Resume),
            op.get().map(Known::Confirm),
            op.get().map(Known::Note),
            op.get().map(Known::Done),
            op.get().map(Known::Block),
            op.get().map(Known::Unblock),
            op.get().map(Known::Release),
            op.get().map(Known::Reserve),
            op.get().map(Known::Lock),
            op.get().map(Known::Reopen),
            op.get().map(Known::Cancel),
            op.get().map(Known::Transfer),
            op.get().map(Known::Import),
            op.get().map(Known::Remember),
            op.get().map(Known::MemoryPin),
            op.get().map(Known::MemoryForget),
            op.get().map(Known::Send),
            op.get().map(Known::Inbox),
            op.get().map(Known::SessionStart),
            op.get().map(Known::SessionEnd),
            op.get().map(Known::ToolUsed),
            op.get().map(Known::Committed),
            op.get().map(Known::Lessons),
            op.get().map(Known::Join),
            op.get().map(Known::Forget),
            op.get().map(Known::SwitchOn),
            op.get().map(Known::Off),
            op.get().map(Known::Guard),
            op.get().map(Known::TokenAdd),
            op.get().map(Known::TokenRevoke),
            op.get().map(Known::MemberSet),
            op.get().map(Known::PrincipalSet),
            op.get().map(Known::LoginOffer),
            op.get().map(Known::LoginTake),
            op.get().map(Known::LoginClose),
            op.get().map(Known::AccessDenied),
        ];
        found.into_iter().flatten().next().unwrap_or_else(|| panic!("`{}` is missing in Known", op.name()))
    }
}
