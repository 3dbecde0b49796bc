-- Access. These tables belong to the store and not to a project: `key` is the key of a project or `*` for every one.

-- Those who access was given to; the name says whether it is a person, a service or an agent. `subject` is who a sign-on
-- elsewhere says it is, empty for none.
CREATE TABLE principal (
    name TEXT NOT NULL CHECK (name <> ''),
    subject TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    disabled_at BIGINT NOT NULL,
    PRIMARY KEY (name)
); -- clustered
CREATE UNIQUE INDEX principal_subject ON principal (subject) WHERE subject <> '';

CREATE TABLE member (
    principal TEXT NOT NULL CHECK (principal <> ''),
    key TEXT NOT NULL CHECK (key <> '' AND key <> '_'),
    role TEXT NOT NULL CHECK (role IN ('viewer', 'worker', 'operator', 'admin')),
    set_at BIGINT NOT NULL,
    set_by TEXT NOT NULL,
    PRIMARY KEY (principal, key)
); -- clustered
CREATE INDEX member_key ON member (key, principal);

-- Only the hash of a secret is ever stored. `role` is empty where the token narrows none, `projects` a JSON list of keys
-- and empty where it is good for all.
CREATE TABLE token (
    id TEXT NOT NULL,
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    principal TEXT NOT NULL CHECK (principal <> ''),
    label TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('', 'viewer', 'worker', 'operator', 'admin')),
    projects TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL,
    revoked_by TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX token_hash ON token (hash);
CREATE INDEX token_principal ON token (principal, id);

-- One-time links, by the hash of their secret.
CREATE TABLE login (
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    principal TEXT NOT NULL CHECK (principal <> ''),
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    PRIMARY KEY (hash)
); -- clustered
CREATE INDEX login_expires ON login (expires_at, hash);

-- Sessions of browsers, by the hash of what their cookie says. `csrf` is the hash of what their forms say.
CREATE TABLE web_session (
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    principal TEXT NOT NULL CHECK (principal <> ''),
    csrf TEXT NOT NULL CHECK (length(csrf) = 64),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL,
    PRIMARY KEY (hash)
); -- clustered
CREATE INDEX web_session_principal ON web_session (principal, hash);
CREATE INDEX web_session_expires ON web_session (expires_at, hash);

-- The principal that acts as this agent through a server, empty for one that only local programs act as.
ALTER TABLE agent ADD COLUMN owner TEXT NOT NULL DEFAULT '';
