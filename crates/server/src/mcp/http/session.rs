//! Session ids. An id contains everything a server needs to continue the session: every server of a store can read
//! every session, and none stores any.
//!
//! An id is `CLIENT.SECRET.CHECK`. The check binds it to its principal and project. The agent of the session is derived
//! from the id, and an agent belongs to its principal: no other id yields that agent, and no other principal may act as
//! it. An id grants nothing beyond what its principal's token grants without it.

use tenure_core::name;
use tenure_kernel::access::hash;
use tenure_store::Entropy;

use crate::mcp::anonymous_agent;

/// The length of the secret and of the check, in hexadecimal digits.
const DIGITS: usize = 32;

/// The owner of a session.
#[derive(Clone, Copy)]
pub(crate) struct SessionOwner<'a> {
    pub(crate) principal: &'a str,
    pub(crate) project: &'a str,
}

/// A session of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct McpSession {
    pub(crate) id: String,
    /// The client's name, as it stands in the agent's name.
    pub(crate) client: String,
    /// The session's own agent, used unless the client names another.
    pub(crate) agent: String,
}

impl McpSession {
    /// A new session of a client.
    pub(crate) fn draw(client: &str, whose: SessionOwner<'_>, entropy: &dyn Entropy) -> McpSession {
        let mut bytes = [0; DIGITS / 2];
        entropy.fill(&mut bytes);
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        McpSession::of(&anonymous_agent::fitted(client), &secret, whose)
    }

    /// The session of an id, if it was made for this principal in this project.
    pub(crate) fn read(id: &str, whose: SessionOwner<'_>) -> Option<McpSession> {
        let (rest, _) = id.rsplit_once('.')?;
        let (client, secret) = rest.rsplit_once('.')?;
        let fits = secret.len() == DIGITS && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
        let session = McpSession::of(client, secret, whose);
        (fits && session.id == id && name::check(&session.agent).is_ok()).then_some(session)
    }

    fn of(client: &str, secret: &str, whose: SessionOwner<'_>) -> McpSession {
        let made = |what: &str| hash(&["tenure mcp", what, secret, client, whose.principal, whose.project].join("\0"));
        let id = format!("{client}.{secret}.{}", &made("session")[..DIGITS]);
        // Only the length of the name makes it hard to find another id with the same agent. Using such an id would also
        // need the principal's token.
        let digits = made("agent");
        let random = std::array::from_fn(|at| {
            digits.get(at * 2..at * 2 + 2).and_then(|two| u8::from_str_radix(two, 16).ok()).unwrap_or_default()
        });
        McpSession { id, agent: anonymous_agent::agent(client, random), client: client.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::OsEntropy;

    use super::*;

    const ANN: SessionOwner<'_> = SessionOwner { principal: "person:ann", project: "name:web" };

    #[test]
    fn inv_i2_a_session_is_one_agent_wherever_its_id_is_read() {
        let drawn = McpSession::draw("Claude Code.2", ANN, &OsEntropy);
        assert!(drawn.agent.starts_with("mcp-claude-code.2-"), "{drawn:?}");
        assert_eq!(McpSession::read(&drawn.id, ANN), Some(drawn.clone()));
        assert_ne!(McpSession::draw("Claude Code.2", ANN, &OsEntropy).agent, drawn.agent);
        let long = McpSession::draw(&"x".repeat(500), ANN, &OsEntropy);
        assert_eq!(McpSession::read(&long.id, ANN), Some(long));
    }

    #[test]
    fn inv_s3_an_id_is_good_for_its_principal_and_its_project_alone() {
        let id = McpSession::draw("x", ANN, &OsEntropy).id;
        assert_eq!(McpSession::read(&id, SessionOwner { principal: "person:bob", ..ANN }), None);
        assert_eq!(McpSession::read(&id, SessionOwner { project: "name:api", ..ANN }), None);
        for (at, letter) in id.char_indices() {
            let other = if letter == '0' { '1' } else { '0' };
            let changed: String = id.char_indices().map(|(i, c)| if i == at { other } else { c }).collect();
            assert_eq!(McpSession::read(&changed, ANN), None, "{changed}");
        }
        for none in ["", ".", "..", "x", "x..", "../..", &id[1..], &id[..id.len() - 1]] {
            assert_eq!(McpSession::read(none, ANN), None, "{none}");
        }
    }
}
