-- The words under which a task is found. `noted` is 1 for a word of its notes, 0 for one of its own texts.
CREATE TABLE task_word (
    project TEXT NOT NULL,
    word TEXT NOT NULL,
    task TEXT NOT NULL,
    noted BIGINT NOT NULL,
    PRIMARY KEY (project, word, task, noted)
); -- clustered
-- Lists in the order of creation and of the last change.
CREATE INDEX task_created ON task (project, status, number, id);
CREATE INDEX task_updated ON task (project, status, updated_at, id);
