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
