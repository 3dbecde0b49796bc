-- The paths that an agent held below a place, among all that it has ever held.
CREATE INDEX hold_lost ON hold (project, holder, prefix, fence) WHERE ended_at > 0 AND kind = 'path';
-- Messages by the beginning of an id, among those that an agent wrote or received.
CREATE INDEX message_author ON message (project, author, id);
CREATE INDEX mail_recipient ON mail (project, recipient, message);
