//! The kernel of Tenure: ops change state, queries do not, and both go through one pipeline.
//!
//! The kernel never prints, spawns, opens sockets or reads the environment. A door (the command line, a server) parses a
//! request, resolves who asks and where, and hands both to [`Kernel::run`] or [`Kernel::ask`].

pub mod access;
pub mod answer;
pub mod backup;
mod brief;
mod call;
mod candidates;
mod checkouts;
mod condition;
mod copied_file;
mod end_task;
mod fact;
mod focus;
mod json_lines;
mod json_request;
mod kernel;
mod limit;
mod locks;
mod mail;
pub mod op;
mod paths;
pub mod query;
mod reply;
pub mod restore;
mod retention;
mod session;
mod settle;
mod sign_in;
mod takeover;
mod unit_of_work;
mod waiting;

pub use call::{Actor, Call, Checkout, Door, Evidence, RequestId, Trust, Words, WorkingTree};
pub use condition::{Condition, Repository, unconfirmed_store};
pub use kernel::{Kernel, PendingOp, ReadyOp};
pub use op::{Op, Operation};
pub use query::{AnyQuery, Query};
pub use reply::{Answered, Reply};
pub use sign_in::SignedIn;
