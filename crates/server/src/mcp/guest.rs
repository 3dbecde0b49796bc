//! Who a connection is when nobody says so: an agent of its own, for as long as it lasts.

use tenure_core::name;

use super::desk::{Desk, Who};

/// How many random characters tell two connections of one client apart: 36⁶ is two thousand million.
const RANDOM: usize = 6;

/// Draws an agent for a connection from the name its client gave itself.
pub(crate) fn named(client: &str, desk: &dyn Desk) -> Who {
    let fitted: String = client
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c) { c } else { '-' })
        .collect();
    let room = name::NAME_MAX - "mcp--".len() - RANDOM;
    let fitted = fitted.trim_matches('-');
    let fitted = if fitted.is_empty() { "client" } else { &fitted[..fitted.len().min(room)] };
    let mut bytes = [0; RANDOM];
    desk.draw(&mut bytes);
    let letters = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let drawn: String = bytes.iter().map(|byte| char::from(letters[usize::from(*byte) % letters.len()])).collect();
    Who { name: format!("mcp-{fitted}-{drawn}"), tool: fitted.to_owned(), is_connection: true }
}
