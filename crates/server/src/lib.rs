//! The async shell of Tenure: what talks to agents over a protocol. Domain rules are the kernel's, the world is the
//! binary's; what stands between them here is [`mcp::Desk`].

mod delivery;
pub mod feed;
pub mod http;
pub mod log;
pub mod mcp;
pub mod metrics;
mod percent;
pub mod phrasing;
pub mod queue;
pub mod reach;
pub mod serve;
mod shares;
mod socket;
pub mod wire;
