//! The store of Tenure: one small transaction trait over SQLite and PostgreSQL, the schema, and one file per table.
//!
//! This is the only crate with SQL, and it decides nothing: it locks, reads, writes and commits as the kernel requests.
//! It never prints, exits or reads the environment.

mod atomic_file;
pub mod copy;
mod deadline;
pub mod error;
mod fault;
pub mod migrate;
mod notify;
mod postgres;
mod sqlite;
mod statement;
mod store;
mod system;
pub mod table;
mod tx;

pub use atomic_file::{AtomicFile, Existing, sync_directory};
pub use deadline::Deadline;
pub use notify::WakeListener;
pub use postgres::{Reached, reached, redact};
pub use sqlite::{SHORT_LOG, TurnstileState};
pub use statement::{Batch, Map, Statement};
pub use store::{
    CommitDecision, Durability, Entered, FileState, GroupWrite, Location, Options, Present, Size, Store, StoreIdentity,
};
pub use system::{Clock, Continued, Entropy, Faults, Moment, OsEntropy, SystemClock};
pub use tx::{BulkRows, Row, RowsWithin, Sql, Tx, Value};
