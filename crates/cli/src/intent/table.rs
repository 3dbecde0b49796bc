//! The phrases: what people and models type out of habit, and the command that they mean.
//!
//! A phrase that means a query, or the verb of a command under another name, is carried out. One that would change something
//! under another verb is refused, and the refusal names the command.

use super::Intent;
use super::Then::{Name, Run, Watch};

const fn run(typed: &'static [&'static str], words: &'static str) -> Intent {
    Intent { typed, then: Run(words) }
}

const fn watch(typed: &'static [&'static str], live: &'static str, once: &'static str) -> Intent {
    Intent { typed, then: Watch { live, once } }
}

const fn name(typed: &'static [&'static str], commands: &'static [&'static str], because: &'static str) -> Intent {
    Intent { typed, then: Name { commands, because } }
}

/// What a noun of other trackers stands for: `issue list` is `list`.
pub(super) const NOUNS: [&str; 14] = [
    "task", "tasks", "issue", "issues", "todo", "todos", "ticket", "tickets", "bead", "beads", "item", "items", "card",
    "cards",
];

/// Verbs after which the noun says nothing: `create task "…"` is `create "…"`.
pub(super) const TAKES_NOUN: [&str; 31] = [
    "add", "create", "new", "show", "view", "get", "describe", "delete", "rm", "remove", "cancel", "close", "done",
    "complete", "finish", "resolve", "claim", "take", "start", "edit", "update", "block", "unblock", "reopen",
    "assign", "release", "undo", "pick", "grab", "inspect", "rename",
];

/// Verbs that a title follows.
pub(super) const MAKES_TITLE: [&str; 3] = ["add", "create", "new"];

/// The states that `list --state` knows by these words.
pub(super) const STATES: [&str; 12] = [
    "ready",
    "waiting",
    "stuck",
    "held",
    "blocked",
    "done",
    "cancelled",
    "open",
    "started",
    "closed",
    "completed",
    "active",
];

/// The phrases. A phrase of several words precedes a shorter one.
pub(super) const INTENTS: &[Intent] = &[
    // Help and the program itself.
    run(
        &["help $", "usage", "commands", "docs", "guide", "tutorial", "quickstart", "instructions", "examples", "?"],
        "--help",
    ),
    run(&["help +"], "… --help"),
    run(&["version", "ver"], "--version"),
    // Lists of tasks.
    run(
        &["ready", "available", "claimable", "list ready $", "ls ready $", "show ready $", "list available $"],
        "list --state ready",
    ),
    run(&["search +", "find +", "grep +", "query +", "lookup +"], "list"),
    name(
        &["search", "find", "grep", "query", "lookup"],
        &["list {WORDS…}", "recall {WORDS…}"],
        "`list` searches tasks by words, `recall` searches memories.",
    ),
    run(&["blocked", "list blocked $", "ls blocked $"], "list --state blocked"),
    run(&["stuck", "list stuck $"], "list --state stuck"),
    run(&["wip", "doing", "active", "in-progress", "in_progress", "list held $", "list active $"], "list --state held"),
    run(&["completed", "closed", "finished", "list done $", "list closed $", "list completed $"], "list --state done"),
    run(&["all", "list all $", "ls all $"], "list --all"),
    run(&["mine", "me $", "my", "my tasks", "my-tasks", "list mine $", "current", "focus"], "list --mine"),
    run(&["backlog", "queue", "pending", "board", "kanban", "list open $"], "list"),
    run(&["list tasks $", "list issues $", "get tasks $", "get issues $", "get all $", "ls tasks $"], "list"),
    // One thing.
    run(
        &["describe", "inspect", "detail", "details", "cat", "display", "read +", "info +", "notes +", "comments +"],
        "show",
    ),
    run(&["graph +", "tree +", "deps +", "dep tree +", "dependencies +", "dag +"], "show … --graph"),
    name(
        &["graph", "deps", "dependencies", "dep tree", "dag", "dep list"],
        &["show {ID} --graph"],
        "The graph is drawn around one task.",
    ),
    run(&["who-has", "whohas", "who has", "who holds", "owner"], "holds"),
    run(&["tree"], "holds --tree"),
    // What happens.
    run(
        &["stat", "stats", "st", "summary", "state", "info", "dashboard", "report", "ps", "ps -a", "top", "stale"],
        "status",
    ),
    watch(&["watch", "monitor", "live"], "status --watch", "status"),
    watch(&["tail", "follow"], "log --follow", "log"),
    run(&["logs", "activity", "timeline", "audit", "journal", "feed", "reflog", "event", "list events $"], "log"),
    run(&["explain"], "why"),
    // Others.
    run(
        &["who", "workers", "agents $", "agent $", "agents list", "list agents $", "get agents $", "team", "users"],
        "agent list",
    ),
    run(&["projects", "list projects $", "get projects $"], "project list"),
    run(&["memories $", "memory $", "list memories $"], "memory list"),
    run(&["list holds $", "list locks $", "get holds $", "reservations", "leases"], "holds"),
    run(&["members $", "list members $"], "member list"),
    run(&["tokens $", "list tokens $"], "token list"),
    run(&["id", "identity", "auth status", "who am i", "who am I"], "whoami"),
    run(&["context", "brief"], "resume --peek"),
    run(&["health", "healthcheck", "diagnose", "verify", "fsck", "validate", "ping $"], "doctor"),
    run(&["config list", "config get", "config show", "config view", "config $", "settings"], "config"),
    name(
        &["config set", "config add", "config edit", "config unset"],
        &["config", "doctor"],
        "Edit the settings by hand: tenure.toml in the repository for a project, config.toml for a user.",
    ),
    // The same verb under another name.
    run(&["resolve", "mark done", "mark-done", "mark complete", "mark-complete", "done-with"], "done"),
    run(&["enqueue", "q +", "quick"], "add"),
    run(&["grab", "pick", "pickup", "pick up", "pick-up", "work on", "work-on", "accept"], "claim"),
    run(&["work $", "go $"], "resume"),
    run(
        &["annotate", "note add #", "comment add +", "comments add +", "notes add +", "add note #", "add comment #"],
        "note",
    ),
    run(&["modify", "change", "patch", "amend"], "edit"),
    run(&["unhold", "unreserve", "unassign me", "give-back", "put-back"], "release"),
    run(&["postpone", "later", "sleep", "delay"], "snooze"),
    run(
        &["mail list", "mail read", "inbox list", "inbox read", "messages list", "unread", "check-mail", "mail check"],
        "inbox",
    ),
    run(&["mail send +", "message send +", "messages send +", "dm +", "notify +", "ping +"], "send"),
    run(&["memory add +", "memory save +", "memory store +", "memory set +", "memory remember +"], "remember"),
    run(&["memory search +", "memory find +", "memory recall +", "memory query +"], "recall"),
    // Another verb that changes something.
    name(
        &["delete", "del", "rm", "remove", "destroy", "purge", "trash", "discard", "archive", "wontfix", "kill"],
        &["cancel {ID}"],
        "Tasks are cancelled, not deleted: a cancelled task stays in the log and can be reopened.",
    ),
    name(
        &["memory delete", "memory rm", "memory remove", "forget"],
        &["memory forget {ID}"],
        "Forget a memory by its id.",
    ),
    name(
        &["project delete", "project rm", "project remove"],
        &["project forget {NAME}"],
        "Forgetting a project deletes everything in it: tasks, notes and events.",
    ),
    name(
        &["undo", "revert", "rollback", "reset", "undone", "undelete", "uncancel", "unclose"],
        &["reopen {ID}", "log"],
        "Reopen a task that is done or cancelled; the log shows the last actions.",
    ),
    name(
        &["assign", "give"],
        &["edit {ID} --for {AGENT}", "transfer {ID} --to {AGENT}"],
        "Assign a task with `edit --for`; hand a held task over with `transfer`.",
    ),
    name(
        &["delegate", "hand-off", "hand over", "handover"],
        &["transfer {ID} --to {AGENT}"],
        "Hand a held task over with `transfer`.",
    ),
    name(&["unassign"], &["edit {ID} --for \"\"", "release {ID}"], "Remove an assignment with `edit --for \"\"`."),
    name(
        &["label add", "label", "tag add", "tag", "labels"],
        &["edit {ID} --label {LABEL}"],
        "Change labels with `edit`.",
    ),
    name(
        &["label remove", "label rm", "untag", "unlabel"],
        &["edit {ID} --unlabel {LABEL}"],
        "Change labels with `edit`.",
    ),
    name(&["prioritize", "priority", "bump"], &["edit {ID} --priority {N}"], "Change the priority with `edit`."),
    name(&["rename", "retitle", "mv"], &["edit {ID} --title {TITLE}"], "Change the title with `edit`."),
    name(
        &["dep add", "dep", "link", "depend", "depends", "add-dep", "after"],
        &["edit {ID} --after {ID}"],
        "People change dependencies with `edit`.",
    ),
    name(&["dep remove", "dep rm", "unlink"], &["edit {ID} --no-after"], "People change dependencies with `edit`."),
    name(
        &["stop", "pause", "abandon", "drop-task", "give up", "give-up", "unstart", "yield", "quit", "free", "stash"],
        &["release {ID}"],
        "`release` returns an unfinished task, so that another agent can take it.",
    ),
    name(&["skip"], &["snooze {ID} 1h", "release {ID}"], "`snooze` withholds a task until a given time."),
    name(
        &["fail", "failed", "error"],
        &["block {ID} --reason {TEXT}"],
        "Block a task that cannot continue, with a reason.",
    ),
    name(
        &["commit", "checkpoint", "journal add", "report +", "say", "wip +"],
        &["note {TEXT}", "done"],
        "`note` records progress on the task.",
    ),
    name(
        &["acquire", "own"],
        &["claim {ID}", "reserve {PATH}", "lock {NAME}"],
        "Claim a task, reserve a path, or lock a name.",
    ),
    name(&["checkout", "switch", "steal", "takeover", "take-over"], &["claim {ID}"], "`claim` takes a task."),
    name(
        &["work", "do"],
        &["claim {ID}", "resume"],
        "`claim` takes a task; `resume` continues your task or takes the best one.",
    ),
    name(&["apply", "create -f", "bulk", "batch"], &["import {FILE}", "add --stdin"], "Import many tasks from a file."),
    name(&["subtask", "split"], &["add {TITLE} --after {ID}"], "A subtask is a separate task."),
    name(&["exec", "run", "with-lock"], &["lock {NAME} -- {COMMAND…}"], "`lock` runs a command under a lock."),
    name(
        &["heartbeat", "renew", "extend", "keepalive", "touch"],
        &["note {TEXT}", "claim {ID}"],
        "Every command that changes something renews your holds.",
    ),
    name(
        &["sync", "push", "pull", "fetch", "flush", "save"],
        &["status", "backup"],
        "There is nothing to sync: every command writes to the store at once.",
    ),
    name(&["ask", "broadcast"], &["send {AGENT} {TEXT}"], "`send` sends a message to an agent."),
    name(&["ack"], &["inbox --ack {ID}"], "`inbox --ack` acknowledges a message."),
    name(
        &["server", "daemon", "web", "ui", "gui", "start server"],
        &["up", "open", "serve"],
        "`up` serves this machine, and `open` shows the page.",
    ),
    name(&["shutdown", "stop server"], &["down"], "`down` ends the server of this store."),
    name(
        &["login", "auth login", "auth", "signin"],
        &["token add", "whoami"],
        "A token identifies the caller to a server.",
    ),
    name(
        &["onboard", "enable", "hooks", "hook install", "hooks install"],
        &["setup"],
        "`setup` installs the hooks of the agent tools.",
    ),
    name(&["disable", "mute"], &["off"], "`off` switches the guards off."),
    name(&["uninstall", "uninit"], &["setup --remove"], "`setup --remove` removes the hooks."),
    // Words of other programs that have nothing near, although they are spelled like something that is.
    name(&["clone", "merge", "rebase", "branch", "build", "test", "deploy", "install-hooks", "diff", "stage"], &[], ""),
];
