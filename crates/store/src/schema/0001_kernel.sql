-- One text for both engines. BIGINT is written INTEGER for SQLite and TEXT gets COLLATE "C" on PostgreSQL; tables marked
-- `clustered` are WITHOUT ROWID on SQLite. Every integer and every time (microseconds, UTC) is a BIGINT; JSON is TEXT.

CREATE TABLE store (
    one BIGINT NOT NULL CHECK (one = 1),
    id TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    schema_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (one)
); -- clustered

-- One row a project: the lock that its writers take in turn, the counters that make totals free, the last number.
CREATE TABLE project (
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    label TEXT NOT NULL,
    schema_version BIGINT NOT NULL,
    first_event BIGINT NOT NULL,
    last_event BIGINT NOT NULL,
    last_time BIGINT NOT NULL,
    last_task BIGINT NOT NULL,
    holds_issued BIGINT NOT NULL,
    tasks_ready BIGINT NOT NULL,
    tasks_waiting BIGINT NOT NULL,
    tasks_stuck BIGINT NOT NULL,
    tasks_started BIGINT NOT NULL,
    tasks_blocked BIGINT NOT NULL,
    tasks_done BIGINT NOT NULL,
    tasks_cancelled BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (key)
); -- clustered
CREATE UNIQUE INDEX project_id ON project (id);

CREATE TABLE checkout (
    project TEXT NOT NULL,
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    id TEXT NOT NULL,
    common_path TEXT NOT NULL,
    common_device BIGINT NOT NULL,
    common_inode BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, host, path)
); -- clustered

CREATE TABLE agent (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    tool TEXT NOT NULL,
    registered_at BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    gone BIGINT NOT NULL,
    focus TEXT NOT NULL,
    host TEXT NOT NULL,
    boot TEXT NOT NULL,
    pidns TEXT NOT NULL,
    pid BIGINT NOT NULL,
    started BIGINT NOT NULL,
    PRIMARY KEY (project, name)
); -- clustered
CREATE INDEX agent_seen ON agent (project, last_seen, name) WHERE gone = 0;

CREATE TABLE task (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    number BIGINT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    acceptance TEXT NOT NULL,
    priority BIGINT NOT NULL CHECK (priority BETWEEN 0 AND 4),
    labels TEXT NOT NULL,
    assignee TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'started', 'blocked', 'done', 'cancelled')),
    -- 1 exactly when status is open and no dependency is unmet: the ready tasks are one range of an index.
    ready BIGINT NOT NULL CHECK (ready = 0 OR (ready = 1 AND status = 'open' AND unmet = 0)),
    reason TEXT NOT NULL,
    blocked_on TEXT NOT NULL,
    deps BIGINT NOT NULL,
    unmet BIGINT NOT NULL CHECK (unmet >= 0 AND unmet <= deps),
    cancelled_deps BIGINT NOT NULL CHECK (cancelled_deps >= 0 AND cancelled_deps <= unmet),
    attempt BIGINT NOT NULL,
    version BIGINT NOT NULL,
    last_fence BIGINT NOT NULL,
    last_holder TEXT NOT NULL,
    lapsed BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    finished_by TEXT NOT NULL,
    finished_at BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX task_state ON task (project, status, ready, priority, number, id);
CREATE INDEX task_ready ON task (project, assignee, priority, number, id) WHERE ready = 1;
CREATE INDEX task_stuck ON task (project, priority, number, id) WHERE cancelled_deps > 0 AND status = 'open';
CREATE INDEX task_assigned ON task (project, assignee, priority, number, id) WHERE assignee <> '' AND status IN ('open', 'started', 'blocked');

-- Repeats of a task's place in the order, one row a label, so that a filter by label is a range too.
CREATE TABLE task_label (
    project TEXT NOT NULL,
    label TEXT NOT NULL,
    status TEXT NOT NULL,
    ready BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    number BIGINT NOT NULL,
    task TEXT NOT NULL,
    PRIMARY KEY (project, label, status, ready, priority, number, task)
); -- clustered
CREATE INDEX task_label_task ON task_label (project, task, label);

CREATE TABLE dep (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    after TEXT NOT NULL,
    PRIMARY KEY (project, task, after)
); -- clustered
CREATE INDEX dep_after ON dep (project, after, task);

-- Live, lapsed and ended holds. No row without an end: the ttl is bounded and the expiry lies after the grant.
CREATE TABLE hold (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('task', 'path', 'name', 'slot')),
    subject TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('exclusive', 'shared')),
    holder TEXT NOT NULL CHECK (holder <> ''),
    fence BIGINT NOT NULL CHECK (fence > 0),
    granted_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL CHECK (expires_at > granted_at),
    ttl BIGINT NOT NULL CHECK (ttl BETWEEN 1000000 AND 86400000000),
    renewal TEXT NOT NULL CHECK (renewal IN ('session', 'explicit')),
    reason TEXT NOT NULL,
    ended_at BIGINT NOT NULL,
    ended_how TEXT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE UNIQUE INDEX hold_task ON hold (project, subject) WHERE ended_at = 0 AND kind = 'task';
CREATE INDEX hold_due ON hold (project, expires_at, id) WHERE ended_at = 0;
CREATE INDEX hold_holder ON hold (project, holder, id) WHERE ended_at = 0;

-- A task with its hold, lapsed or not, and the last sign of its holder: what every list and every op looks at.
CREATE VIEW task_full AS
SELECT t.project, t.id, t.number, t.title, t.description, t.acceptance, t.priority, t.labels, t.assignee, t.status,
       t.ready, t.reason, t.blocked_on, t.deps, t.unmet, t.cancelled_deps, t.attempt, t.version, t.last_fence,
       t.last_holder, t.lapsed, t.created_by, t.created_at, t.updated_at, t.finished_by, t.finished_at,
       h.id AS hold_id, h.holder, h.fence, h.granted_at, h.expires_at, h.ttl, h.reason AS hold_reason,
       a.last_seen, a.ended_at
FROM task t
LEFT JOIN hold h ON h.project = t.project AND h.subject = t.id AND h.ended_at = 0 AND h.kind = 'task'
LEFT JOIN agent a ON a.project = h.project AND a.name = h.holder;

-- The fence that an agent was last shown for a task.
CREATE TABLE shown (
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    task TEXT NOT NULL,
    fence BIGINT NOT NULL,
    PRIMARY KEY (project, agent, task)
); -- clustered

CREATE TABLE note (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    task TEXT NOT NULL,
    number BIGINT NOT NULL,
    agent TEXT NOT NULL,
    at BIGINT NOT NULL,
    text TEXT NOT NULL,
    data TEXT NOT NULL,
    late BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX note_task ON note (project, task, number);

CREATE TABLE event (
    project TEXT NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    subject TEXT NOT NULL,
    hold TEXT NOT NULL,
    op TEXT NOT NULL,
    request_id TEXT NOT NULL,
    cause BIGINT,
    data TEXT NOT NULL,
    PRIMARY KEY (project, number)
); -- clustered
CREATE INDEX event_subject ON event (project, subject, number);
CREATE INDEX event_actor ON event (project, actor, number);
CREATE INDEX event_kind ON event (project, kind, number);
CREATE INDEX event_hold ON event (project, hold, number) WHERE hold <> '';

CREATE TABLE request (
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    op TEXT NOT NULL,
    request_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    response TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (project, actor, op, request_id)
);
CREATE INDEX request_expires ON request (project, expires_at);
