//! The servers of Tenure: the socket, HTTP and MCP. Domain rules belong to the kernel. What MCP needs from the
//! surrounding program is the trait [`mcp::Host`]. The clients of these servers are in `tenure-client`.

mod delivery;
pub mod event_feed;
pub mod http;
pub mod log;
pub mod mcp;
pub mod metrics;
pub mod op_queue;
mod percent;
mod quota;
pub mod serve;
mod socket;
