//! The list of ops: what there is, and through which doors. Reference pages, OpenAPI and the tools of MCP are made from it.

use schemars::{Schema, schema_for};

use super::{
    access_denied, add, add_many, block, cancel, claim, committed, confirm, done, edit, forget, guard, import, inbox,
    join, lessons, lock, login_close, login_offer, login_take, member_set, memory_forget, memory_pin, note, off,
    principal_set, release, remember, reopen, reserve, resume, send, session_end, session_start, switch_on, token_add,
    token_revoke, tool_used, transfer, unblock,
};
use crate::call::Door;

/// What is known about an op without running it.
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// How it can be reached.
    pub doors: &'static [Door],
    /// The schema of its request.
    pub schema: fn() -> Schema,
}

/// All ops.
pub const ALL: [About; 40] = [
    About {
        name: "add",
        what: "Adds a task",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(add::Request),
    },
    About {
        name: "add_many",
        what: "Adds many tasks, all or none",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(add_many::Request),
    },
    About {
        name: "edit",
        what: "Changes a task",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(edit::Request),
    },
    About {
        name: "claim",
        what: "Takes a task: the one named, or the best that is ready",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(claim::Request),
    },
    About {
        name: "resume",
        what: "Chooses what to work on, takes it, and says everything that is needed to go on",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(resume::Request),
    },
    About {
        name: "confirm",
        what: "Says that what was offered was shown; doors call it, nobody types it",
        doors: &[],
        schema: || schema_for!(confirm::Request),
    },
    About {
        name: "note",
        what: "Notes progress on a task",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(note::Request),
    },
    About {
        name: "done",
        what: "Finishes a task",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(done::Request),
    },
    About {
        name: "block",
        what: "Says that a task cannot go on, and why",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(block::Request),
    },
    About {
        name: "unblock",
        what: "Says that a blocked task can go on",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(unblock::Request),
    },
    About {
        name: "release",
        what: "Gives a task, paths or a lock back",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(release::Request),
    },
    About {
        name: "reserve",
        what: "Takes paths, all or none",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(reserve::Request),
    },
    About {
        name: "lock",
        what: "Takes a named lock, or renews it for whoever shows its fence",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(lock::Request),
    },
    About {
        name: "reopen",
        what: "Opens a finished or cancelled task again",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(reopen::Request),
    },
    About {
        name: "cancel",
        what: "Gives a task up",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(cancel::Request),
    },
    About {
        name: "transfer",
        what: "Hands a held task to another agent",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(transfer::Request),
    },
    About {
        name: "import",
        what: "Takes tasks and notes in that were exported elsewhere, all or none",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(import::Request),
    },
    About {
        name: "remember",
        what: "Remembers facts, directives and lessons, all or none",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(remember::Request),
    },
    About {
        name: "memory_pin",
        what: "Pins a memory or takes the pin out",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(memory_pin::Request),
    },
    About {
        name: "memory_forget",
        what: "Forgets a memory",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(memory_forget::Request),
    },
    About {
        name: "send",
        what: "Sends a message: to agents, or to whoever holds a task",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(send::Request),
    },
    About {
        name: "inbox",
        what: "Offers new mail, and acknowledges what was read",
        doors: &[Door::Cli, Door::Mcp, Door::Http],
        schema: || schema_for!(inbox::Request),
    },
    About {
        name: "session_start",
        what: "Registers a session of an agent tool and its process; takes nothing",
        doors: &[Door::Hook],
        schema: || schema_for!(session_start::Request),
    },
    About {
        name: "session_end",
        what: "Says that a session is over: what it holds is free now",
        doors: &[Door::Hook],
        schema: || schema_for!(session_end::Request),
    },
    About {
        name: "tool_used",
        what: "Says what a tool call did: presence, files changed, failures",
        doors: &[Door::Hook],
        schema: || schema_for!(tool_used::Request),
    },
    About {
        name: "committed",
        what: "Says what was committed: ends the holds on it, and tells those who hold it elsewhere",
        doors: &[Door::Hook],
        schema: || schema_for!(committed::Request),
    },
    About {
        name: "lessons",
        what: "Draws lessons from what happened, as the end of a session does",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(lessons::Request),
    },
    About {
        name: "join",
        what: "Makes a copy of the repository a checkout of the project",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(join::Request),
    },
    About {
        name: "forget",
        what: "Forgets a project and everything in it",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(forget::Request),
    },
    About {
        name: "switch_on",
        what: "Switches a project on, so that hooks act in it",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(switch_on::Request),
    },
    About {
        name: "off",
        what: "Switches the guards of a project off for a while, or on again",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(off::Request),
    },
    About {
        name: "guard",
        what: "Takes the files that an edit is about to change, all or none; the edit guard calls it",
        doors: &[Door::Hook],
        schema: || schema_for!(guard::Request),
    },
    About {
        name: "token_add",
        what: "Gives a principal a token; its secret is never in the request",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(token_add::Request),
    },
    About {
        name: "token_revoke",
        what: "Revokes a token",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(token_revoke::Request),
    },
    About {
        name: "member_set",
        what: "Gives a principal a role in a project, or takes it away",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(member_set::Request),
    },
    About {
        name: "principal_set",
        what: "Disables a principal, or lets it count again",
        doors: &[Door::Cli, Door::Http],
        schema: || schema_for!(principal_set::Request),
    },
    About {
        name: "login_offer",
        what: "Offers a person a one-time link to sign in",
        doors: &[],
        schema: || schema_for!(login_offer::Request),
    },
    About {
        name: "login_take",
        what: "Turns a one-time link into a session of a browser, once; doors call it",
        doors: &[],
        schema: || schema_for!(login_take::Request),
    },
    About {
        name: "login_close",
        what: "Closes sessions of browsers: one, or all of a principal",
        doors: &[],
        schema: || schema_for!(login_close::Request),
    },
    About {
        name: "access_denied",
        what: "Writes down that somebody was denied something; doors call it",
        doors: &[],
        schema: || schema_for!(access_denied::Request),
    },
];
