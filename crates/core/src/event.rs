//! Events: facts that ops append. This page names them and tells each in a plain sentence.

use serde_json::Value;

use crate::text::{cut, quote};

/// Names of all kinds of events.
pub mod kind {
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
}

/// What somebody waits for: the first of it, and how much more there is.
fn wanted(data: &Value) -> String {
    let all: Vec<&str> =
        data.get("wanted").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    match all.as_slice() {
        [] => "nothing".to_owned(),
        [only] => cut(only, 200),
        [first, rest @ ..] => format!("{} and {} more", cut(first, 200), rest.len()),
    }
}

/// What an event is about. A path and a lock may be spelled like the id of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A path.
    Path,
    /// A named lock.
    Lock,
    /// A task, or anything else that has an id.
    Other,
}

/// What an event is about.
pub fn about(kind: &str, data: &Value) -> About {
    match kind.split_once('.') {
        Some(("path", _)) => About::Path,
        Some(("lock", _)) => About::Lock,
        Some(("hold" | "offer", _)) => match data.get("kind").and_then(Value::as_str) {
            Some("path") => About::Path,
            Some("name") => About::Lock,
            // Only a path is in a checkout.
            None if data.get("checkout").is_some() => About::Path,
            _ => About::Other,
        },
        _ => About::Other,
    }
}

/// Tells an event in one sentence. Text written by agents is quoted and cut.
pub fn sentence(kind: &str, actor: &str, subject: &str, data: &Value) -> String {
    // A path may have any character in it.
    let subject = cut(subject, 200);
    let is_lock = kind == kind::HOLD_EXPIRED && data.get("kind").and_then(Value::as_str) == Some("name");
    let subject = if is_lock { format!("the lock {subject}") } else { subject };
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| data.get(key).and_then(Value::as_i64).unwrap_or_default();
    let flag = |key: &str| data.get(key).and_then(Value::as_bool).unwrap_or_default();
    let quoted = |key: &str| match text(key) {
        "" => String::new(),
        words => format!(": {}", quote(words, 120)),
    };
    let overrode = match text("overrode") {
        "" => String::new(),
        holder => format!(", overriding {holder}"),
    };
    match kind {
        kind::PROJECT_CREATED => format!("{actor} used this project for the first time"),
        kind::PROJECT_RESTORED if flag("copied") => {
            format!(
                "the file of the store was copied or put back: this project continues after event {}",
                number("last_event")
            )
        }
        kind::PROJECT_RESTORED => {
            format!("{actor} restored this project from a backup that ends with event {}", number("last_event"))
        }
        kind::AGENT_REGISTERED if flag("imported") => format!("{actor} imported a task that is for {subject}"),
        kind::AGENT_REGISTERED => format!("{actor} appeared"),
        kind::CHECKOUT_JOINED => format!("{actor} made {subject} a checkout of this project"),
        kind::CLOCK_STEPPED => format!("the clock was set back by {} s", number("seconds")),
        kind::HOLD_EXPIRED if flag("proven_dead") => {
            format!("the hold of {} on {subject} ended: its process is gone", text("holder"))
        }
        kind::HOLD_EXPIRED if flag("session_ended") => {
            format!("the hold of {} on {subject} ended: its session is over", text("holder"))
        }
        kind::HOLD_EXPIRED if flag("restored") => {
            format!("the hold of {} on {subject} ended: the project was restored from a backup", text("holder"))
        }
        kind::HOLD_EXPIRED if !text("place").is_empty() => {
            format!("{} did not take {subject} in time", text("holder"))
        }
        kind::HOLD_EXPIRED => format!("the hold of {} on {subject} ran out of time", text("holder")),
        kind::HOLD_TRANSFERRED => {
            format!("{actor} handed {subject} from {} to {}{overrode}", text("from"), text("holder"))
        }
        kind::LOCK_TAKEN => format!("{actor} took the lock {subject}{overrode}{}", quoted("reason")),
        kind::LOCK_RELEASED => format!("{actor} released the lock {subject}{overrode}{}", quoted("reason")),
        kind::PATH_RESERVED => {
            let shared = if text("mode") == "shared" { ", shared" } else { "" };
            let task = match text("task") {
                "" => String::new(),
                task => format!(" for {task}"),
            };
            format!("{actor} reserved {subject}{shared}{task}{overrode}{}", quoted("reason"))
        }
        kind::PATH_CHANGED => format!("{actor} made its hold on {subject} {}", text("mode")),
        kind::PATH_RELEASED => match text("task") {
            _ if !text("commit").is_empty() => format!("{subject} was given back with the commit {}", text("commit")),
            "" => format!("{actor} released {subject}{overrode}{}", quoted("reason")),
            task => format!("{subject} was given back with {task}"),
        },
        kind::PATH_COMMITTED => {
            let paths: Vec<&str> =
                data.get("paths").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
            let shown: Vec<String> = paths.iter().take(3).map(|path| cut(path, 80)).collect();
            let more = match number("more") + i64::try_from(paths.len() - shown.len()).unwrap_or(0) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let task = match text("task") {
                "" => String::new(),
                task => format!(" for {task}"),
            };
            format!("{actor} committed {}{more}{task} as {}", shown.join(", "), cut(text("commit"), 12))
        }
        kind::PATH_OFFERED => format!("{subject} is held for {}, who waited for it", text("holder")),
        kind::LOCK_OFFERED => format!("the lock {subject} is held for {}, who waited for it", text("holder")),
        kind::OFFER_TAKEN => format!("{actor} took {subject}, which was held for it"),
        kind::PLACE_QUEUED => format!("{actor} waits for {}{}", wanted(data), quoted("reason")),
        kind::PLACE_LEFT if flag("session_ended") => {
            format!("{} waits no longer for {}: its session is over", text("agent"), wanted(data))
        }
        kind::PLACE_LEFT => format!("{} waits no longer for {}", text("agent"), wanted(data)),
        kind::PLACE_LAPSED if flag("proven_dead") => {
            format!("{} waits no longer for {}: its process is gone", text("agent"), wanted(data))
        }
        kind::PLACE_LAPSED => format!("{} did not come back for {}", text("agent"), wanted(data)),
        kind::TASK_ADDED if flag("imported") => {
            format!("{actor} imported {subject} as {}{}", text("status"), quoted("title"))
        }
        kind::TASK_ADDED => format!("{actor} added {subject}{}", quoted("title")),
        kind::TASK_EDITED => {
            let fields: Vec<&str> = data
                .get("changes")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(key, _)| key.as_str())
                .collect();
            format!("{actor} changed {} of {subject}", fields.join(", "))
        }
        kind::TASK_CLAIMED => match (number("attempt"), text("lapsed_from")) {
            (attempt, _) if attempt <= 1 => format!("{actor} took {subject}"),
            (attempt, "") => format!("{actor} took {subject}, attempt {attempt}"),
            (attempt, from) => format!("{actor} took {subject} over from {from}, attempt {attempt}"),
        },
        kind::TASK_NOTED if flag("imported") => {
            format!("{actor} imported a note of {} on {subject}{}", text("agent"), quoted("text"))
        }
        kind::TASK_NOTED => format!("{actor} noted on {subject}{}", quoted("text")),
        kind::TASK_DONE if flag("late") => {
            format!("{actor} finished {subject} late: its hold had lapsed and nobody had taken over")
        }
        kind::TASK_DONE => format!("{actor} finished {subject}{overrode}"),
        kind::TASK_BLOCKED => {
            let on = match text("on") {
                "" => String::new(),
                task => format!(" on {task}"),
            };
            format!("{actor} blocked {subject}{on}{overrode}{}", quoted("reason"))
        }
        kind::TASK_UNBLOCKED => format!("{actor} unblocked {subject}"),
        kind::TASK_RELEASED => format!("{actor} gave {subject} back{overrode}{}", quoted("reason")),
        kind::TASK_REOPENED => format!("{actor} opened {subject} again{}", quoted("reason")),
        kind::TASK_CANCELLED => format!("{actor} cancelled {subject}{overrode}{}", quoted("reason")),
        kind::TASK_READY => format!("{subject} became ready: {} was the last it waited for", text("unlocked_by")),
        kind::TASK_WAITING => format!("{subject} waits again: {} is no longer done", text("waits_for")),
        kind::TASK_UNASSIGNED => format!("{subject} is no longer reserved for {}, who is gone", text("assignee")),
        kind::MEMORY_ADDED => format!("{actor} remembered {subject}{}", quoted("text")),
        kind::MEMORY_CHANGED => format!("{actor} changed the memory {subject}{}", quoted("text")),
        kind::MEMORY_FORGOTTEN => format!("{actor} had {subject} forgotten{}", quoted("text")),
        kind::MEMORY_PINNED if flag("pinned") => format!("{actor} pinned {subject}"),
        kind::MEMORY_PINNED => format!("{actor} took the pin out of {subject}"),
        // What it says is between those who write it and those who get it.
        kind::MESSAGE_SENT => {
            let to: Vec<&str> =
                data.get("to").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
            let about = match text("about") {
                "" => String::new(),
                about => format!(" about {about}"),
            };
            format!("{actor} wrote {subject} to {}{about}", to.join(", "))
        }
        kind::MESSAGE_ACKED => format!("{actor} acknowledged {subject} of {}", text("author")),
        kind::MESSAGE_ENDED => format!("{subject} of {} is over: {}", text("author"), text("how")),
        kind::TOOL_FAILED | kind::TOOL_WORKED => {
            let what = match (text("program"), text("path")) {
                ("", "") => text("tool").to_owned(),
                ("", path) => format!("{} on {path}", text("tool")),
                (program, _) => format!("{} ({program})", text("tool")),
            };
            let status = data.get("exit_status").and_then(Value::as_i64).filter(|status| *status != 0);
            match status {
                _ if kind == kind::TOOL_WORKED => format!("{actor}: {what} works again"),
                Some(status) => format!("{actor}: {what} failed with exit status {status}{}", quoted("output")),
                None => format!("{actor}: {what} failed{}", quoted("output")),
            }
        }
        kind::GUARDS_OFF => format!("{actor} switched the guards off until {}", text("until")),
        kind::GUARDS_ON => format!("{actor} switched the guards on again"),
        kind::AGENT_OWNED if text("owner").is_empty() => {
            format!("{actor} is itself from now on, and no longer an agent of {}", text("was"))
        }
        kind::AGENT_OWNED => format!("{actor} is an agent of {} from now on", text("owner")),
        other => access(other, actor, &subject, data).unwrap_or_else(|| format!("{actor}: {other} {subject}")),
    }
}

/// Tells an event about access.
fn access(kind: &str, actor: &str, subject: &str, data: &Value) -> Option<String> {
    let text = |key: &str| cut(data.get(key).and_then(Value::as_str).unwrap_or_default(), 200);
    let place = |project: String| match project.as_str() {
        "*" => "every project".to_owned(),
        _ => project,
    };
    Some(match kind {
        kind::PRINCIPAL_ADDED => format!("{actor} gave {subject} access"),
        kind::PRINCIPAL_DISABLED => format!("{actor} disabled all access of {subject}"),
        kind::PRINCIPAL_ENABLED => format!("{actor} let {subject} in again"),
        kind::MEMBER_SET => match (text("role").as_str(), text("before").as_str()) {
            ("", before) => format!("{actor} took the role {before} in {} from {subject}", place(text("project"))),
            (role, _) => format!("{actor} made {subject} {role} in {}", place(text("project"))),
        },
        kind::TOKEN_ADDED => format!("{actor} gave {} the token {subject}", text("principal")),
        kind::TOKEN_REVOKED => format!("{actor} revoked the token {subject} of {}", text("principal")),
        kind::LOGIN_OFFERED => format!("{actor} offered {subject} a link to sign in"),
        kind::LOGIN_TAKEN => format!("{subject} signed in"),
        kind::LOGIN_CLOSED => format!("{subject} was signed out"),
        kind::ACCESS_DENIED => {
            let place = match text("project").as_str() {
                "" => String::new(),
                project => format!(" in {}", quote(project, 120)),
            };
            let more = match data["left_out"].as_i64() {
                Some(more) if more > 0 => format!(", and {more} more times"),
                _ => String::new(),
            };
            format!("{subject} was denied {}{place}: {}{more}", quote(&text("what"), 120), text("code"))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_has_its_own_sentence() {
        let mut told: Vec<String> = kind::ALL
            .iter()
            .map(|kind| sentence(kind, "a", "t-1", &json!({ "changes": { "title": ["x", "y"] } })))
            .collect();
        assert!(told.iter().zip(kind::ALL).all(|(sentence, kind)| !sentence.contains(kind)));
        told.sort();
        told.dedup();
        assert_eq!(told.len(), kind::ALL.len());
    }

    #[test]
    fn what_was_imported_is_told_as_such() {
        let told = |kind, data| sentence(kind, "a", "t-1", &data);
        assert_eq!(
            told(kind::TASK_ADDED, json!({ "imported": true, "status": "done", "title": "x" })),
            "a imported t-1 as done: “x”"
        );
        assert_eq!(
            told(kind::TASK_NOTED, json!({ "imported": true, "agent": "b", "text": "x" })),
            "a imported a note of b on t-1: “x”"
        );
        assert_eq!(
            sentence(kind::AGENT_REGISTERED, "a", "b", &json!({ "imported": true })),
            "a imported a task that is for b"
        );
    }

    #[test]
    fn agents_text_is_quoted_and_cut() {
        let told = sentence(kind::TASK_NOTED, "a", "t-1", &json!({ "text": "x\n".repeat(200) }));
        assert!(told.starts_with("a noted on t-1: “x x") && told.chars().count() < 150);
    }
}
