//! The kernel of Tenure: ops change state, queries do not, and both go through one pipeline.
//!
//! The kernel never prints, spawns, opens sockets or reads the environment. A door (the CLI, later a server) parses a
//! request, resolves who asks and where, and hands both to [`Kernel::run`] or [`Kernel::ask`].

pub mod access;
pub mod backup;
mod brief;
mod call;
mod checkouts;
mod condition;
mod copied_file;
mod end_task;
mod fact;
mod focus;
mod json_lines;
mod kernel;
mod limit;
mod line;
mod locks;
mod mail;
pub mod op;
mod paths;
pub mod query;
mod read;
mod reply;
pub mod restore;
mod retain;
mod session;
mod settle;
pub mod shape;
mod sign_in;
mod steal;
mod unit;

pub use call::{Actor, Call, Checkout, Door, Evidence, RequestId, Tree, Trust, Words};
pub use condition::{Condition, Repository, unconfirmed_store};
pub use kernel::{Kernel, Order, Ready};
pub use op::{Op, Operation};
pub use query::{AnyQuery, Query};
pub use reply::{Answered, Reply};
pub use sign_in::SignedIn;
