//! The role that each query needs. Deny by default: no principal may ask a query that has no row here through a server.
//! The same table is in docs/access.md, and a test compares them.

use tenure_core::access::{Role, WHOLE_STORE};

/// The role that each query needs in a project.
pub const QUERIES: [(&str, Role); 46] = [
    ("agents", Role::Viewer),
    ("any_id", Role::Viewer),
    ("beginning", Role::Viewer),
    ("check", Role::Viewer),
    // It includes the private memories of agents.
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

/// The role that a query needs in a project; `None` where no principal may ask it there.
pub fn query_needs(query: &str, project: &str) -> Option<Role> {
    if project == WHOLE_STORE {
        return STORE_QUERIES.contains(&query).then_some(Role::Admin);
    }
    QUERIES.iter().find(|(name, _)| *name == query).map(|(_, role)| *role)
}
