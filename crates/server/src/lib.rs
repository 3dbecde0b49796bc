//! The async shell of Tenure: what talks to agents over a protocol. Domain rules are the kernel's, the world is the
//! binary's; what stands between them here is [`mcp::Desk`].

pub mod mcp;
pub mod reach;
pub mod signals;
pub mod wire;
