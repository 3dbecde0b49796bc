-- What is remembered: one live row for each scope and key.
CREATE TABLE memory (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('task', 'agent', 'project', 'global')),
    subject TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('fact', 'directive', 'lesson')),
    text TEXT NOT NULL,
    pinned BIGINT NOT NULL,
    author TEXT NOT NULL,
    -- Where it comes from: the task at hand, and the event that last changed it.
    task TEXT NOT NULL,
    number BIGINT NOT NULL,
    version BIGINT NOT NULL,
    words BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- 0: for good.
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE UNIQUE INDEX memory_key ON memory (project, scope, subject, key);
CREATE INDEX memory_newest ON memory (project, scope, subject, updated_at, id);
CREATE INDEX memory_pinned ON memory (project, scope, subject, id) WHERE pinned = 1;
CREATE INDEX memory_directive ON memory (project, scope, subject, updated_at, id) WHERE kind = 'directive';
CREATE INDEX memory_expires ON memory (project, expires_at, id) WHERE expires_at > 0;

-- One row a word of a memory.
CREATE TABLE memory_term (
    project TEXT NOT NULL,
    scope TEXT NOT NULL,
    subject TEXT NOT NULL,
    term TEXT NOT NULL,
    memory TEXT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (project, scope, subject, term, memory)
); -- clustered
CREATE INDEX memory_term_memory ON memory_term (project, memory, term);

-- How many memories a scope has, and how many words they have together.
CREATE TABLE memory_scope (
    project TEXT NOT NULL,
    scope TEXT NOT NULL,
    subject TEXT NOT NULL,
    memories BIGINT NOT NULL,
    words BIGINT NOT NULL,
    PRIMARY KEY (project, scope, subject)
); -- clustered

-- Files that a note names.
CREATE TABLE artifact (
    project TEXT NOT NULL,
    note TEXT NOT NULL,
    position BIGINT NOT NULL,
    task TEXT NOT NULL,
    number BIGINT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (project, note, position)
); -- clustered
CREATE INDEX artifact_task ON artifact (project, task, number, note, position);

-- The commit that the author's working tree was at; empty where there is none.
ALTER TABLE note ADD COLUMN head TEXT NOT NULL DEFAULT '';

-- Up to which event an agent has been offered what happened, and up to which its door has confirmed that it was shown.
-- The same for mail, whose messages are numbered by their events.
CREATE TABLE delivery (
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    offered BIGINT NOT NULL,
    confirmed BIGINT NOT NULL,
    -- The same for mail: an inbox shows mail and no events.
    mail_offered BIGINT NOT NULL,
    mail_confirmed BIGINT NOT NULL,
    PRIMARY KEY (project, agent)
); -- clustered

-- A message. Its number is that of the event of its sending.
CREATE TABLE message (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    number BIGINT NOT NULL,
    author TEXT NOT NULL,
    recipients TEXT NOT NULL,
    -- What it is about, as it was named; empty for nothing.
    about TEXT NOT NULL,
    -- The hold it ends with; empty for none.
    hold TEXT NOT NULL,
    urgency TEXT NOT NULL CHECK (urgency IN ('normal', 'urgent')),
    request BIGINT NOT NULL,
    text TEXT NOT NULL,
    at BIGINT NOT NULL,
    -- 0: it is not over.
    ended_at BIGINT NOT NULL,
    ended_how TEXT NOT NULL,
    ended_by TEXT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX message_hold ON message (project, hold, number) WHERE ended_at = 0;
CREATE INDEX message_open ON message (project, at, number) WHERE ended_at = 0 AND request = 1;

-- What is in the mail of an agent, in the order of events: a message, or that one of its own is over.
CREATE TABLE mail (
    project TEXT NOT NULL,
    recipient TEXT NOT NULL,
    number BIGINT NOT NULL,
    message TEXT NOT NULL,
    what TEXT NOT NULL CHECK (what IN ('message', 'ending')),
    acked_at BIGINT NOT NULL,
    PRIMARY KEY (project, recipient, number)
); -- clustered
CREATE UNIQUE INDEX mail_message ON mail (project, message, recipient, what);

-- How many messages are about a hold: whoever ends it looks for them only where there are any.
ALTER TABLE hold ADD COLUMN asked BIGINT NOT NULL DEFAULT 0;
DROP VIEW task_full;
CREATE VIEW task_full AS
SELECT t.project, t.id, t.number, t.title, t.description, t.acceptance, t.priority, t.labels, t.assignee, t.status,
       t.ready, t.reason, t.blocked_on, t.deps, t.unmet, t.cancelled_deps, t.attempt, t.version, t.last_fence,
       t.last_holder, t.lapsed, t.created_by, t.created_at, t.updated_at, t.finished_by, t.finished_at,
       h.id AS hold_id, h.holder, h.fence, h.granted_at, h.expires_at, h.ttl, h.reason AS hold_reason,
       a.last_seen, a.ended_at, h.asked
FROM task t
LEFT JOIN hold h ON h.project = t.project AND h.subject = t.id AND h.ended_at = 0 AND h.kind = 'task'
LEFT JOIN agent a ON a.project = h.project AND a.name = h.holder;

-- A session of a tool in a process, and the agent that it is. A session that goes on under another id in the same process
-- is the same agent; one id in two live processes is two.
CREATE TABLE session (
    project TEXT NOT NULL,
    host TEXT NOT NULL,
    boot TEXT NOT NULL,
    pidns TEXT NOT NULL,
    pid BIGINT NOT NULL,
    started BIGINT NOT NULL,
    tool TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    began_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    -- When it was last told something between two prompts.
    told_at BIGINT NOT NULL,
    -- When its context was made shorter, while what it lost was not shown again; 0: nothing is due.
    shortened_at BIGINT NOT NULL,
    -- When a second event came out of the same process, 0 if none did. Until then the process may be one that only
    -- started the hook, and that it ended says nothing about the agent.
    again_at BIGINT NOT NULL,
    PRIMARY KEY (project, host, boot, pidns, pid, started, tool, session)
); -- clustered
CREATE INDEX session_id ON session (project, tool, session, began_at, agent);
CREATE INDEX session_agent ON session (project, agent, began_at);

-- Whether an agent has called through MCP: then it is told the names of tools in place of commands.
ALTER TABLE agent ADD COLUMN mcp BIGINT NOT NULL DEFAULT 0;

-- Files that an agent's tools changed, by task; the task is empty where the agent had none in focus.
CREATE TABLE touched (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    checkout TEXT NOT NULL,
    path TEXT NOT NULL,
    agent TEXT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (project, task, checkout, path, agent)
); -- clustered
CREATE INDEX touched_last ON touched (project, last_at, path, task, checkout, agent);
CREATE INDEX touched_path ON touched (project, path, last_at, checkout, task, agent);

-- When a hook last ran: statistics that may be lost, no part of any decision.
CREATE TABLE fired (
    project TEXT NOT NULL,
    tool TEXT NOT NULL,
    event TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (project, tool, event)
); -- clustered

-- What an agent held last, in the order of choice: its own work comes before that of others.
CREATE INDEX task_last_holder ON task (project, last_holder, status, priority, number, id) WHERE last_holder <> '' AND status IN ('open', 'started', 'blocked');
