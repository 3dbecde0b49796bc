//! The store of Tenure: one small transaction trait over SQLite and PostgreSQL, the schema, and one file per table.
//!
//! This is the only crate with SQL, and it decides nothing: it locks, reads, writes and commits what the kernel tells
//! it to. Nothing here prints, exits or reads the environment.

mod atomic_file;
mod bell;
pub mod copy;
mod deadline;
pub mod error;
mod fault;
pub mod migrate;
mod postgres;
mod sqlite;
mod statement;
mod store;
pub mod table;
mod tx;
mod world;

pub use atomic_file::{AtomicFile, Existing, sync_directory};
pub use bell::Bell;
pub use deadline::Deadline;
pub use postgres::{Reached, reached, redact};
pub use sqlite::Queue;
pub use statement::{Batch, Map, Statement};
pub use store::{Durability, Entered, FileState, Identity, Location, Options, Part, Present, Size, Store, Verdict};
pub use tx::{Row, Rows, Sql, Tx, Value, Within};
pub use world::{Clock, Continued, Entropy, Faults, Moment, OsEntropy, SystemClock};
