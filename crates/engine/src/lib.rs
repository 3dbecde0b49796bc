//! Runs commands on behalf of the caller. The engine never touches the store; its caller does.

pub mod process;
