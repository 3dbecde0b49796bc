-- Step 10 put a column in the middle of the view. A program that knows only earlier steps reads the view by position, so
-- new columns belong at the end: such a program writes nothing to this store, but can still show and export it.
DROP VIEW task_full;
CREATE VIEW task_full AS
SELECT t.project, t.id, t.number, t.title, t.description, t.acceptance, t.priority, t.labels, t.assignee, t.status,
       t.ready, t.reason, t.blocked_on, t.deps, t.unmet, t.cancelled_deps, t.attempt, t.version, t.last_fence,
       t.last_holder, t.lapsed, t.created_by, t.created_at, t.updated_at, t.finished_by, t.finished_at,
       h.id AS hold_id, h.holder, h.fence, h.granted_at, h.expires_at, h.ttl, h.reason AS hold_reason,
       a.last_seen, a.ended_at, h.asked, t.not_before
FROM task t
LEFT JOIN hold h ON h.project = t.project AND h.subject = t.id AND h.ended_at = 0 AND h.kind = 'task'
LEFT JOIN agent a ON a.project = h.project AND a.name = h.holder;
