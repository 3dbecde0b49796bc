//! The agent of a connection that does not name one: a new agent for as long as the connection lasts.

use tenure_core::name;

use super::host::{Host, ToolCaller};

/// How many random characters tell two connections of one client apart: 36⁶ is about two billion.
pub(crate) const RANDOM: usize = 6;

const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Creates an agent for a connection from the client's own name.
pub(crate) fn named(client: &str, host: &dyn Host) -> ToolCaller {
    let mut bytes = [0; RANDOM];
    host.draw(&mut bytes);
    let tool = fitted(client);
    ToolCaller { name: agent(&tool, bytes), tool, is_connection: true }
}

/// A client's name, fitted to the grammar of agent names.
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

/// The name of an agent, from a fitted client name and random bytes.
pub(crate) fn agent(fitted: &str, random: [u8; RANDOM]) -> String {
    let drawn: String = random.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect();
    format!("mcp-{fitted}-{drawn}")
}
