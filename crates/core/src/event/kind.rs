//! The names of all kinds of events, for filters: see [`super::Event`].

/// The first op of a project.
pub const PROJECT_CREATED: &str = "project.created";
/// The project goes on from a backup: the one event before which numbers have a gap.
pub const PROJECT_RESTORED: &str = "project.restored";
/// The first op of an agent.
pub const AGENT_REGISTERED: &str = "agent.registered";
/// A copy of the repository was made a checkout of the project.
pub const CHECKOUT_JOINED: &str = "checkout.joined";
/// The clock was set back by more than a minute.
pub const CLOCK_STEPPED: &str = "clock.stepped";
/// A hold ran out of time.
pub const HOLD_EXPIRED: &str = "hold.expired";
/// A hold went to another agent.
pub const HOLD_TRANSFERRED: &str = "hold.transferred";
/// A named lock was taken.
pub const LOCK_TAKEN: &str = "lock.taken";
/// A named lock was given back.
pub const LOCK_RELEASED: &str = "lock.released";
/// A path was reserved.
pub const PATH_RESERVED: &str = "path.reserved";
/// A hold on a path became exclusive or shared.
pub const PATH_CHANGED: &str = "path.changed";
/// A path was given back.
pub const PATH_RELEASED: &str = "path.released";
/// Files were committed.
pub const PATH_COMMITTED: &str = "path.committed";
/// A path is held for an agent that waited for it, until it takes it.
pub const PATH_OFFERED: &str = "path.offered";
/// An agent took what it was offered.
pub const OFFER_TAKEN: &str = "offer.taken";
/// A named lock is held for an agent that waited for it, until it takes it.
pub const LOCK_OFFERED: &str = "lock.offered";
/// An agent waits.
pub const PLACE_QUEUED: &str = "place.queued";
/// An agent waits no longer: it left, or its session ended.
pub const PLACE_LEFT: &str = "place.left";
/// An agent waits no longer: it did not come back in time.
pub const PLACE_LAPSED: &str = "place.lapsed";
/// A task was added.
pub const TASK_ADDED: &str = "task.added";
/// A task was changed.
pub const TASK_EDITED: &str = "task.edited";
/// A task was taken.
pub const TASK_CLAIMED: &str = "task.claimed";
/// Progress was noted.
pub const TASK_NOTED: &str = "task.noted";
/// A task was finished.
pub const TASK_DONE: &str = "task.done";
/// A task cannot go on.
pub const TASK_BLOCKED: &str = "task.blocked";
/// A task can go on.
pub const TASK_UNBLOCKED: &str = "task.unblocked";
/// A task was given back.
pub const TASK_RELEASED: &str = "task.released";
/// A finished task was opened again.
pub const TASK_REOPENED: &str = "task.reopened";
/// A task was given up.
pub const TASK_CANCELLED: &str = "task.cancelled";
/// The last dependency of a task was met.
pub const TASK_READY: &str = "task.ready";
/// A dependency of a task is unmet again.
pub const TASK_WAITING: &str = "task.waiting";
/// The agent a task was assigned to is gone.
pub const TASK_UNASSIGNED: &str = "task.unassigned";

/// Something is remembered.
pub const MEMORY_ADDED: &str = "memory.added";
/// Something that was remembered says something else now.
pub const MEMORY_CHANGED: &str = "memory.changed";
/// Something is no longer remembered.
pub const MEMORY_FORGOTTEN: &str = "memory.forgotten";
/// A memory is always shown, or no longer.
pub const MEMORY_PINNED: &str = "memory.pinned";

/// A message was sent.
pub const MESSAGE_SENT: &str = "message.sent";
/// A recipient has taken note of a message.
pub const MESSAGE_ACKED: &str = "message.acked";
/// A message is over: the hold it was about has ended, or what it asked for was acknowledged.
pub const MESSAGE_ENDED: &str = "message.ended";

/// A tool of an agent failed.
pub const TOOL_FAILED: &str = "tool.failed";
/// A tool that had failed works.
pub const TOOL_WORKED: &str = "tool.worked";

/// A person switched the guards off for a while.
pub const GUARDS_OFF: &str = "guards.off";
/// A person switched them on again.
pub const GUARDS_ON: &str = "guards.on";

/// Access was given to somebody for the first time.
pub const PRINCIPAL_ADDED: &str = "principal.added";
/// Nothing of a principal counts any more.
pub const PRINCIPAL_DISABLED: &str = "principal.disabled";
/// A principal counts again.
pub const PRINCIPAL_ENABLED: &str = "principal.enabled";
/// A principal has another role in a project than before, or none.
pub const MEMBER_SET: &str = "member.set";
/// A token was given.
pub const TOKEN_ADDED: &str = "token.added";
/// A token was revoked.
pub const TOKEN_REVOKED: &str = "token.revoked";
/// A person was offered a one-time link.
pub const LOGIN_OFFERED: &str = "login.offered";
/// A one-time link was used.
pub const LOGIN_TAKEN: &str = "login.taken";
/// Sessions of browsers were closed.
pub const LOGIN_CLOSED: &str = "login.closed";
/// Somebody was denied something.
pub const ACCESS_DENIED: &str = "access.denied";
/// An agent that belonged to nobody belongs to a principal.
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
