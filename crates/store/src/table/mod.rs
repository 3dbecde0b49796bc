//! One file per table: its rows and the statements on it. Nothing here decides anything.
//!
//! A read that can share a round trip with others is a function that returns a [`Statement`](crate::Statement); a
//! transaction runs it with `fetch`. A function that takes the transaction runs its statement itself.

/// Column names as an SQL list, each with the same prefix: empty, or the alias of the table with a dot. Every table
/// whose rows are read by several statements has a `columns!` built from it, in decoding order.
macro_rules! listed {
    ($prefix:literal; $first:ident $(, $rest:ident)*) => {
        concat!($prefix, stringify!($first) $(, ", ", $prefix, stringify!($rest))*)
    };
}

pub mod agent;
pub mod artifact;
pub mod checkout;
pub mod delivery;
pub mod dep;
pub mod edited_file;
pub mod event;
pub mod hold;
pub mod hook_run;
pub mod label;
pub mod lock;
pub mod login;
pub mod mail;
pub mod member;
pub mod memory;
pub mod message;
pub mod note;
pub mod path;
pub mod place;
pub mod principal;
pub mod project;
pub mod request;
pub mod session;
pub mod shown_fence;
pub mod task;
pub mod task_word;
pub mod token;
pub mod web_session;
