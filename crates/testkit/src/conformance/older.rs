//! A store as the first version left it: what later steps of the schema added is taken away again.

use tenure_store::migrate::STEPS;

/// The statements that take away what every step after the first one added, for both engines.
pub(super) fn first_schema() -> &'static [&'static str] {
    assert_eq!(STEPS.len(), 4, "a newer schema: what it added is taken away here, too");
    &[
        "DROP INDEX hold_path",
        "DROP INDEX hold_pattern",
        "DROP INDEX hold_unanchored",
        "DROP INDEX hold_bound",
        "ALTER TABLE hold DROP COLUMN checkout",
        "ALTER TABLE hold DROP COLUMN prefix",
        "ALTER TABLE hold DROP COLUMN folded",
        "ALTER TABLE hold DROP COLUMN task",
        "DROP TABLE memory",
        "DROP TABLE memory_term",
        "DROP TABLE memory_scope",
        "DROP TABLE artifact",
        "DROP TABLE delivery",
        "DROP TABLE session",
        "DROP TABLE touched",
        "DROP TABLE fired",
        "ALTER TABLE note DROP COLUMN head",
        "ALTER TABLE agent DROP COLUMN mcp",
        "ALTER TABLE project DROP COLUMN events",
        "UPDATE store SET schema_version = 1",
        "UPDATE project SET schema_version = 1",
    ]
}
