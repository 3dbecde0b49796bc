//! The vocabulary and pure decisions of Tenure.
//!
//! This crate does no I/O, reads no clock or environment, draws no random numbers and contains no SQL: every input of a
//! decision is an argument. The vocabulary is the user's (task, hold, agent, event). An *op* changes state; a *query*
//! does not.

#![warn(missing_docs)]

pub mod access;
pub mod action;
pub mod agent;
pub mod brief;
pub mod checkout;
pub mod choice;
pub mod error;
pub mod event;
pub mod graph;
pub mod guard;
pub mod hold;
pub mod id;
pub mod lesson;
pub mod lock;
pub mod memory;
pub mod message;
pub mod name;
pub mod number;
pub mod opening;
pub mod path_text;
pub mod pattern;
pub mod redact;
pub mod reserve;
pub mod search;
pub mod session;
pub mod shell;
pub mod since;
pub mod site;
pub mod task;
pub mod text;
pub mod time;
pub mod tool;
pub mod waiting;
pub mod words;

pub use error::{Code, Error, Kind, Result, Stage};
pub use time::{Span, Time};
