//! The server over HTTP.

mod limits;
mod listen;
mod problem;

pub use limits::Limits;
