-- Guards: until when a person has switched them off in this project, and who.
ALTER TABLE project ADD COLUMN off_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN off_by TEXT NOT NULL DEFAULT '';
-- Who else holds the same path, in whatever checkout.
CREATE INDEX hold_subject ON hold (project, subject, id) WHERE ended_at = 0 AND kind = 'path';
