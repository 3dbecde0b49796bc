//! One file per table: its rows and the statements on it. Nothing here decides anything.

pub mod agent;
pub mod checkout;
pub mod dep;
pub mod event;
pub mod hold;
pub mod label;
pub mod memory;
pub mod note;
pub mod path;
pub mod project;
pub mod request;
pub mod shown;
pub mod task;
