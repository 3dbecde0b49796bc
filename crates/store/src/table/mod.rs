//! One file per table: its rows and the statements on it. Nothing here decides anything.

pub mod agent;
pub mod artifact;
pub mod checkout;
pub mod delivery;
pub mod dep;
pub mod event;
pub mod fired;
pub mod hold;
pub mod label;
pub mod lock;
pub mod mail;
pub mod memory;
pub mod message;
pub mod note;
pub mod path;
pub mod place;
pub mod project;
pub mod request;
pub mod session;
pub mod shown;
pub mod task;
pub mod touched;
