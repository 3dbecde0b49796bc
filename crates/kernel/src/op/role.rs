//! The role that each op and each query needs. Deny by default: what has no row here nobody may ask for through a server.
//! The same table stands in docs/access.md, and a test compares them.

use tenure_core::access::{Role, WHOLE_STORE};

use super::Op;

/// The role that an op needs in a project; `None` where no principal may ask for it there.
pub fn needs(op: &Op, project: &str) -> Option<Role> {
    if project == WHOLE_STORE { in_store(op) } else { in_project(op) }
}

/// What concerns everybody who uses the store is for admins of every project, and little else makes sense there.
fn in_store(op: &Op) -> Option<Role> {
    match op {
        Op::Remember(_)
        | Op::MemoryPin(_)
        | Op::MemoryForget(_)
        | Op::TokenAdd(_)
        | Op::TokenRevoke(_)
        | Op::MemberSet(_)
        | Op::PrincipalSet(_)
        | Op::LoginOffer(_)
        | Op::LoginClose(_) => Some(Role::Admin),
        _ => None,
    }
}

/// One arm an op, none for the rest: an op that is added has no role until somebody gives it one.
fn in_project(op: &Op) -> Option<Role> {
    let forced = |force: bool| if force { Role::Operator } else { Role::Worker };
    match op {
        Op::Add(_) | Op::AddMany(_) => Some(Role::Worker),
        Op::Edit(request) => Some(forced(request.after.is_some())),
        Op::Claim(_) | Op::Resume(_) | Op::Confirm(_) | Op::Note(_) => Some(Role::Worker),
        Op::Done(request) => Some(forced(request.force)),
        Op::Block(request) => Some(forced(request.force)),
        Op::Unblock(_) => Some(Role::Worker),
        Op::Release(request) => Some(forced(request.force)),
        // With force anybody takes what somebody held who is gone; from the living an operator, which turns out inside.
        Op::Reserve(_) | Op::Lock(_) => Some(Role::Worker),
        Op::Reopen(_) => Some(Role::Worker),
        Op::Cancel(request) => Some(forced(request.force)),
        Op::Transfer(request) => Some(forced(request.force)),
        Op::Import(_) => Some(Role::Operator),
        // Of what everybody is shown, an operator; that turns out inside the op.
        Op::Remember(_) | Op::MemoryPin(_) | Op::MemoryForget(_) => Some(Role::Worker),
        Op::Send(_) | Op::Inbox(_) => Some(Role::Worker),
        Op::SessionStart(_) | Op::SessionEnd(_) | Op::ToolUsed(_) | Op::Committed(_) | Op::Lessons(_) => {
            Some(Role::Worker)
        }
        Op::Guard(_) | Op::SwitchOn(_) => Some(Role::Worker),
        Op::Off(_) => Some(Role::Operator),
        Op::Join(_) | Op::Forget(_) => Some(Role::Admin),
        // These concern the whole store, or are the door's own.
        Op::TokenAdd(_)
        | Op::TokenRevoke(_)
        | Op::MemberSet(_)
        | Op::PrincipalSet(_)
        | Op::LoginOffer(_)
        | Op::LoginTake(_)
        | Op::LoginClose(_)
        | Op::AccessDenied(_) => None,
    }
}

/// The role that each query needs in a project.
pub const QUERIES: [(&str, Role); 46] = [
    ("agents", Role::Viewer),
    ("any_id", Role::Viewer),
    ("beginning", Role::Viewer),
    ("check", Role::Viewer),
    // It has what agents remember for themselves alone.
    ("export", Role::Admin),
    ("fired", Role::Viewer),
    ("graph", Role::Viewer),
    ("guards", Role::Viewer),
    ("health", Role::Operator),
    ("holds", Role::Viewer),
    ("import_plan", Role::Operator),
    ("in_the_way", Role::Viewer),
    ("last_time", Role::Viewer),
    ("list", Role::Viewer),
    ("lock_of", Role::Viewer),
    ("log", Role::Viewer),
    ("look_up", Role::Viewer),
    ("mail", Role::Viewer),
    ("may_commit", Role::Viewer),
    ("may_push", Role::Viewer),
    ("memories", Role::Viewer),
    ("memory", Role::Viewer),
    ("memory_id", Role::Viewer),
    ("message_id", Role::Viewer),
    ("next", Role::Viewer),
    ("others_here", Role::Viewer),
    ("outlook", Role::Viewer),
    ("own_files", Role::Viewer),
    ("peek", Role::Viewer),
    ("project_called", Role::Viewer),
    ("projects", Role::Viewer),
    ("read_through", Role::Operator),
    ("recall", Role::Viewer),
    ("session_of", Role::Viewer),
    ("show", Role::Viewer),
    ("show_hold", Role::Viewer),
    ("standing", Role::Viewer),
    ("status", Role::Viewer),
    ("suspects", Role::Worker),
    ("switched_on", Role::Viewer),
    ("task_id", Role::Viewer),
    ("turn", Role::Viewer),
    ("unread", Role::Viewer),
    ("why", Role::Viewer),
    ("why_lock", Role::Viewer),
    ("why_path", Role::Viewer),
];

/// Queries of the whole store, for admins of every project.
pub const STORE_QUERIES: [&str; 9] =
    ["log", "members", "memories", "memory", "memory_id", "principals", "token_id", "tokens", "why"];

/// The role that a query needs in a project; `None` where no principal may ask for it there.
pub fn query_needs(query: &str, project: &str) -> Option<Role> {
    if project == WHOLE_STORE {
        return STORE_QUERIES.contains(&query).then_some(Role::Admin);
    }
    QUERIES.iter().find(|(name, _)| *name == query).map(|(_, role)| *role)
}
