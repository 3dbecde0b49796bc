-- Path holds: `subject` is the pattern. The checkout is empty for a hold over all of them; the prefix is what all files of
-- the pattern begin with, folded; the task is the one in focus when the hold was taken, and the hold ends with it.
ALTER TABLE hold ADD COLUMN checkout TEXT NOT NULL DEFAULT '';
ALTER TABLE hold ADD COLUMN prefix TEXT NOT NULL DEFAULT '';
ALTER TABLE hold ADD COLUMN folded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hold ADD COLUMN task TEXT NOT NULL DEFAULT '';
CREATE INDEX hold_path ON hold (project, checkout, prefix, id) WHERE ended_at = 0 AND kind = 'path';
-- One row for each holder and pattern.
CREATE UNIQUE INDEX hold_pattern ON hold (project, holder, checkout, subject) WHERE ended_at = 0 AND kind = 'path';
-- Patterns that may be anywhere: few, and counted before one more is granted.
CREATE INDEX hold_unanchored ON hold (project, holder, id) WHERE ended_at = 0 AND kind = 'path' AND prefix = '';
-- What a task has or had with it.
CREATE INDEX hold_bound ON hold (project, task, fence) WHERE task <> '';
