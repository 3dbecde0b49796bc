//! The names of all event kinds, for filters; see [`super::Event`].

/// The first op of a project.
pub const PROJECT_CREATED: &str = "project.created";
/// The project continues from a backup. This is the only event that a gap in the numbers precedes.
pub const PROJECT_RESTORED: &str = "project.restored";
/// The first op of an agent.
pub const AGENT_REGISTERED: &str = "agent.registered";
/// A copy of the repository became a checkout of the project.
pub const CHECKOUT_JOINED: &str = "checkout.joined";
/// The clock was set back by more than a minute.
pub const CLOCK_STEPPED: &str = "clock.stepped";
/// A hold expired.
pub const HOLD_EXPIRED: &str = "hold.expired";
/// A hold was transferred to another agent.
pub const HOLD_TRANSFERRED: &str = "hold.transferred";
/// A named lock was taken.
pub const LOCK_TAKEN: &str = "lock.taken";
/// A named lock was released.
pub const LOCK_RELEASED: &str = "lock.released";
/// A path was reserved.
pub const PATH_RESERVED: &str = "path.reserved";
/// A hold on a path became exclusive or shared.
pub const PATH_CHANGED: &str = "path.changed";
/// A path was released.
pub const PATH_RELEASED: &str = "path.released";
/// Files were committed.
pub const PATH_COMMITTED: &str = "path.committed";
/// A path is held for the agent that waited for it, until the agent takes it.
pub const PATH_OFFERED: &str = "path.offered";
/// An agent took a path or lock that it was offered.
pub const OFFER_TAKEN: &str = "offer.taken";
/// A named lock is held for the agent that waited for it, until the agent takes it.
pub const LOCK_OFFERED: &str = "lock.offered";
/// An agent joined the waiting line.
pub const PLACE_QUEUED: &str = "place.queued";
/// An agent left the waiting line, or its session ended.
pub const PLACE_LEFT: &str = "place.left";
/// A place in the waiting line expired: its agent did not return in time.
pub const PLACE_LAPSED: &str = "place.lapsed";
/// A task was added.
pub const TASK_ADDED: &str = "task.added";
/// A task was changed.
pub const TASK_EDITED: &str = "task.edited";
/// A task was claimed.
pub const TASK_CLAIMED: &str = "task.claimed";
/// A note was added to a task.
pub const TASK_NOTED: &str = "task.noted";
/// A task was finished.
pub const TASK_DONE: &str = "task.done";
/// A task was blocked.
pub const TASK_BLOCKED: &str = "task.blocked";
/// A task was unblocked.
pub const TASK_UNBLOCKED: &str = "task.unblocked";
/// A task was released.
pub const TASK_RELEASED: &str = "task.released";
/// A finished task was reopened.
pub const TASK_REOPENED: &str = "task.reopened";
/// A task was cancelled.
pub const TASK_CANCELLED: &str = "task.cancelled";
/// The last dependency of a task was met.
pub const TASK_READY: &str = "task.ready";
/// A dependency of a task is unmet again.
pub const TASK_WAITING: &str = "task.waiting";
/// The agent a task was assigned to is gone.
pub const TASK_UNASSIGNED: &str = "task.unassigned";

/// A memory was added.
pub const MEMORY_ADDED: &str = "memory.added";
/// A memory's text was changed.
pub const MEMORY_CHANGED: &str = "memory.changed";
/// A memory was forgotten.
pub const MEMORY_FORGOTTEN: &str = "memory.forgotten";
/// A memory was pinned or unpinned.
pub const MEMORY_PINNED: &str = "memory.pinned";

/// A message was sent.
pub const MESSAGE_SENT: &str = "message.sent";
/// A recipient acknowledged a message.
pub const MESSAGE_ACKED: &str = "message.acked";
/// A message ended: its hold ended, or its request was acknowledged.
pub const MESSAGE_ENDED: &str = "message.ended";

/// A tool call of an agent failed.
pub const TOOL_FAILED: &str = "tool.failed";
/// A tool call that had failed succeeded.
pub const TOOL_WORKED: &str = "tool.worked";

/// A person disabled the guards for a limited time.
pub const GUARDS_OFF: &str = "guards.off";
/// A person enabled the guards again.
pub const GUARDS_ON: &str = "guards.on";

/// A principal got access for the first time.
pub const PRINCIPAL_ADDED: &str = "principal.added";
/// All access of a principal was disabled.
pub const PRINCIPAL_DISABLED: &str = "principal.disabled";
/// A disabled principal was enabled again.
pub const PRINCIPAL_ENABLED: &str = "principal.enabled";
/// A principal's role in a project was changed or removed.
pub const MEMBER_SET: &str = "member.set";
/// A token was created.
pub const TOKEN_ADDED: &str = "token.added";
/// A token was revoked.
pub const TOKEN_REVOKED: &str = "token.revoked";
/// A person was offered a one-time link.
pub const LOGIN_OFFERED: &str = "login.offered";
/// A one-time link was used.
pub const LOGIN_TAKEN: &str = "login.taken";
/// Browser sessions were closed.
pub const LOGIN_CLOSED: &str = "login.closed";
/// A request was denied.
pub const ACCESS_DENIED: &str = "access.denied";
/// An agent without an owner got one: a principal.
pub const AGENT_OWNED: &str = "agent.owned";

/// All kinds, for filters and documentation.
pub const ALL: [&str; 54] = [
    PROJECT_CREATED,
    PROJECT_RESTORED,
    AGENT_REGISTERED,
    CHECKOUT_JOINED,
    CLOCK_STEPPED,
    HOLD_EXPIRED,
    HOLD_TRANSFERRED,
    LOCK_TAKEN,
    LOCK_RELEASED,
    PATH_RESERVED,
    PATH_CHANGED,
    PATH_RELEASED,
    PATH_COMMITTED,
    PATH_OFFERED,
    OFFER_TAKEN,
    LOCK_OFFERED,
    PLACE_QUEUED,
    PLACE_LEFT,
    PLACE_LAPSED,
    TASK_ADDED,
    TASK_EDITED,
    TASK_CLAIMED,
    TASK_NOTED,
    TASK_DONE,
    TASK_BLOCKED,
    TASK_UNBLOCKED,
    TASK_RELEASED,
    TASK_REOPENED,
    TASK_CANCELLED,
    TASK_READY,
    TASK_WAITING,
    TASK_UNASSIGNED,
    MEMORY_ADDED,
    MEMORY_CHANGED,
    MEMORY_FORGOTTEN,
    MEMORY_PINNED,
    MESSAGE_SENT,
    MESSAGE_ACKED,
    MESSAGE_ENDED,
    TOOL_FAILED,
    TOOL_WORKED,
    GUARDS_OFF,
    GUARDS_ON,
    PRINCIPAL_ADDED,
    PRINCIPAL_DISABLED,
    PRINCIPAL_ENABLED,
    MEMBER_SET,
    TOKEN_ADDED,
    TOKEN_REVOKED,
    LOGIN_OFFERED,
    LOGIN_TAKEN,
    LOGIN_CLOSED,
    ACCESS_DENIED,
    AGENT_OWNED,
];
