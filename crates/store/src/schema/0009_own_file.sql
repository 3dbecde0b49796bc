-- Which file an embedded store is in, as JSON: its inode, its birth time in nanoseconds, and when the store last continued in
-- a file that is a copy or was put back by another program. Empty where nothing is known, and on PostgreSQL. It is one column
-- because SQLite reads the whole schema again for each that is added.
ALTER TABLE store ADD COLUMN file TEXT NOT NULL DEFAULT '';
