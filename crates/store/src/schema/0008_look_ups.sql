-- Messages by the beginning of an id, among those that an agent wrote or received.
CREATE INDEX message_author ON message (project, author, id);
CREATE INDEX mail_recipient ON mail (project, recipient, message);
