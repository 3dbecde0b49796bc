//! The servers of Tenure: the socket, HTTP and MCP. Domain rules are the kernel's; what MCP needs of the program around
//! it is the trait [`mcp::Desk`]. The clients of these servers are in `tenure-client`.

mod delivery;
pub mod feed;
pub mod http;
pub mod log;
pub mod mcp;
pub mod metrics;
mod percent;
pub mod queue;
pub mod serve;
mod shares;
mod socket;
