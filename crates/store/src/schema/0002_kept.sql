-- How many events are kept. Numbers alone do not say: a restore leaves a gap in them, and old events may be dropped.
ALTER TABLE project ADD COLUMN events BIGINT NOT NULL DEFAULT 0;
UPDATE project SET events = last_event - first_event + 1;
