-- The message that a message answers, and the first message of its thread; empty for a message that answers none.
ALTER TABLE message ADD COLUMN reply_to TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN thread TEXT NOT NULL DEFAULT '';
