//! What Tenure's tests are made with; never shipped.
//!
//! [`pg`] is the PostgreSQL the tests run on. There is no test that skips: what a test needs is there, or it fails and
//! says what is missing.

// Tests read the world, stop at the first surprise and print what they saw.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]

pub mod conformance;
pub mod fixture;
pub mod pg;
pub mod raw;
pub mod relay;
pub mod replay;
