-- Commits: what an agent held on paths and holds no longer, newest last.
CREATE INDEX hold_past ON hold (project, holder, fence) WHERE ended_at > 0 AND kind = 'path';
