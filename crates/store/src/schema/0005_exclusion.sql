-- The waiting line: one row a place. The ticket is the number of the event that queued it; `wanted` is a JSON list of what
-- is asked for, all of it at once. Rows that ended stay, as those of holds do.
CREATE TABLE place (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    ticket BIGINT NOT NULL CHECK (ticket > 0),
    agent TEXT NOT NULL CHECK (agent <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('path', 'name')),
    mode TEXT NOT NULL CHECK (mode IN ('exclusive', 'shared')),
    checkout TEXT NOT NULL,
    folded BIGINT NOT NULL,
    wanted TEXT NOT NULL,
    reason TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ttl BIGINT NOT NULL CHECK (ttl BETWEEN 1000000 AND 86400000000),
    -- How long an offer to it lives.
    offer_ttl BIGINT NOT NULL CHECK (offer_ttl BETWEEN 1000000 AND 86400000000),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'offered', 'ended')),
    ended_at BIGINT NOT NULL,
    ended_how TEXT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE UNIQUE INDEX place_line ON place (project, ticket) WHERE ended_at = 0;
CREATE INDEX place_due ON place (project, expires_at, id) WHERE ended_at = 0;
CREATE INDEX place_agent ON place (project, agent, id) WHERE ended_at = 0;
-- The place that a hold is offered to, until it is taken; empty for every other hold.
ALTER TABLE hold ADD COLUMN place TEXT NOT NULL DEFAULT '';
-- How many places have not been ended: whoever ends a hold looks for waiters only where there are any.
ALTER TABLE project ADD COLUMN waiting BIGINT NOT NULL DEFAULT 0;
-- Named locks: `subject` is the name. One of a name at a time, and the newest of a name is found at once.
CREATE UNIQUE INDEX hold_lock ON hold (project, subject) WHERE ended_at = 0 AND kind = 'name';
CREATE INDEX hold_name ON hold (project, subject, fence) WHERE kind = 'name';

-- The story of a path: holds by what their files begin with, ended or not.
CREATE INDEX hold_past ON hold (project, prefix, fence) WHERE kind = 'path';
