//! What Tenure's tests are made with; never shipped.
//!
//! [`pg`] is the PostgreSQL the tests run on. There is no test that skips: what a test needs is there, or it fails and
//! says what is missing.

// Tests read the world, stop at the first surprise and print what they saw.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]
// A request is written where it is sent, and a table of cases says what it has in it: a copy more costs nothing here.
#![allow(clippy::needless_pass_by_value, clippy::redundant_clone, clippy::type_complexity)]

pub mod conformance;
pub mod crash;
pub mod evidence;
pub mod fixture;
pub mod fleet;
pub mod fuzz;
pub mod golden;
pub mod history;
pub mod known;
pub mod patterns;
pub mod pg;
pub mod power;
pub mod race;
pub mod raw;
pub mod relay;
pub mod replay;
pub mod report;
pub mod sim;
pub mod stopped;
mod wander;
pub mod worker;
