-- The time before which a task is not offered; 0 for none. While it is set, `ready` is 0: the first write after it has passed
-- sets it back to 0, and `ready` with it.
ALTER TABLE task ADD COLUMN not_before BIGINT NOT NULL DEFAULT 0;
CREATE INDEX task_not_before ON task (project, not_before, id) WHERE not_before > 0;
DROP VIEW task_full;
CREATE VIEW task_full AS
SELECT t.project, t.id, t.number, t.title, t.description, t.acceptance, t.priority, t.labels, t.assignee, t.status,
       t.ready, t.reason, t.blocked_on, t.deps, t.unmet, t.cancelled_deps, t.attempt, t.version, t.last_fence,
       t.last_holder, t.lapsed, t.created_by, t.created_at, t.updated_at, t.finished_by, t.finished_at, t.not_before,
       h.id AS hold_id, h.holder, h.fence, h.granted_at, h.expires_at, h.ttl, h.reason AS hold_reason,
       a.last_seen, a.ended_at, h.asked
FROM task t
LEFT JOIN hold h ON h.project = t.project AND h.subject = t.id AND h.ended_at = 0 AND h.kind = 'task'
LEFT JOIN agent a ON a.project = h.project AND a.name = h.holder;
