-- Commits: what an agent held on paths and holds no longer, newest last.
CREATE INDEX hold_past ON hold (project, holder, fence) WHERE ended_at > 0 AND kind = 'path';
-- Guards: until when a person has switched them off in this project, and who.
ALTER TABLE project ADD COLUMN off_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN off_by TEXT NOT NULL DEFAULT '';
