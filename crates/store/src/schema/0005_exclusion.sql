-- Commits: what an agent held on paths and holds no longer, newest last.
CREATE INDEX hold_past ON hold (project, holder, fence) WHERE ended_at > 0 AND kind = 'path';
-- Guards: until when a person has switched them off in this project, and who.
ALTER TABLE project ADD COLUMN off_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN off_by TEXT NOT NULL DEFAULT '';

-- Named locks: `subject` is the name. One of a name at a time, and the newest of a name is found at once.
CREATE UNIQUE INDEX hold_lock ON hold (project, subject) WHERE ended_at = 0 AND kind = 'name';
CREATE INDEX hold_name ON hold (project, subject, fence) WHERE kind = 'name';

-- The story of a path: holds by what their files begin with, ended or not.
CREATE INDEX hold_story ON hold (project, prefix, fence) WHERE kind = 'path';
