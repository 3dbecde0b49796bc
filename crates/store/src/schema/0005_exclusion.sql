-- Guards: until when a person has switched them off in this project, and who.
ALTER TABLE project ADD COLUMN off_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN off_by TEXT NOT NULL DEFAULT '';
