//! The agent of a connection that does not name one: its own, for as long as the connection lasts.

use tenure_core::name;

use super::host::{Host, ToolCaller};

/// How many random characters tell two connections of one client apart: 36⁶ is two thousand million.
pub(crate) const RANDOM: usize = 6;

const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Draws an agent for a connection from the name its client gave itself.
pub(crate) fn named(client: &str, host: &dyn Host) -> ToolCaller {
    let mut bytes = [0; RANDOM];
    host.draw(&mut bytes);
    let tool = fitted(client);
    ToolCaller { name: agent(&tool, bytes), tool, is_connection: true }
}

/// The name of a client as it can stand in the name of an agent.
pub(crate) fn fitted(client: &str) -> String {
    let fitted: String = client
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c) { c } else { '-' })
        .collect();
    let room = name::NAME_MAX - "mcp--".len() - RANDOM;
    let fitted = fitted.trim_matches('-');
    if fitted.is_empty() { "client".to_owned() } else { fitted[..fitted.len().min(room)].to_owned() }
}

/// The agent of a client whose name fits, and of random bytes.
pub(crate) fn agent(fitted: &str, random: [u8; RANDOM]) -> String {
    let drawn: String = random.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect();
    format!("mcp-{fitted}-{drawn}")
}
