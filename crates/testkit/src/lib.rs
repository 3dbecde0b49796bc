//! The test library of Tenure; never shipped.
//!
//! [`pg`] provides the PostgreSQL server of the tests. No test is skipped: if a prerequisite is missing, the test fails
//! and names it.

// Tests read the environment, panic on any error and print what they saw.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]
// Tests build requests where they send them, and tables of cases as plain tuples; an extra copy costs nothing here.
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
