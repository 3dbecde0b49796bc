//! Access events: principals, roles, tokens and sign-ins.

use serde::{Deserialize, Serialize};

use super::Payload;
use crate::access::Role;
use crate::text::{cut, quote};
use crate::time::Time;

/// `principal.added`: a principal got access for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrincipalAdded {}

impl Payload for PrincipalAdded {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} gave access to {subject}")
    }
}

/// `principal.disabled`: all access of a principal was disabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrincipalDisabled {
    /// The number of browser sessions closed with it.
    pub closed: u64,
}

impl Payload for PrincipalDisabled {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} disabled all access of {subject}")
    }
}

/// `principal.enabled`: a disabled principal was enabled again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrincipalEnabled {}

impl Payload for PrincipalEnabled {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} enabled the access of {subject} again")
    }
}

/// `member.set`: a principal's role in a project was changed or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberRoleSet {
    /// The project's key; `*` for every project.
    pub project: String,
    /// The new role; `None` if it was removed.
    pub role: Option<Role>,
    /// The previous role.
    pub before: Option<Role>,
}

impl Payload for MemberRoleSet {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let place = match self.project.as_str() {
            "*" => "every project".to_owned(),
            project => cut(project, 200),
        };
        match self.role {
            Some(role) => format!("{actor} made {subject} {} in {place}", role.as_str()),
            None => {
                let before = self.before.map_or("", Role::as_str);
                format!("{actor} removed the role {before} of {subject} in {place}")
            }
        }
    }
}

/// `token.added`: a token was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenAdded {
    /// The principal it authenticates.
    pub principal: String,
    /// The token's purpose.
    pub label: String,
    /// The highest role that the token allows.
    pub role: Option<Role>,
    /// The projects that the token is scoped to.
    pub projects: Option<Vec<String>>,
    /// When the token expires.
    pub expires_at: Time,
}

impl Payload for TokenAdded {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} gave {} the token {subject}", cut(&self.principal, 200))
    }
}

/// `token.revoked`: a token was revoked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenRevoked {
    /// The principal it authenticated.
    pub principal: String,
    /// The token's purpose.
    pub label: String,
}

impl Payload for TokenRevoked {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} revoked the token {subject} of {}", cut(&self.principal, 200))
    }
}

/// `login.offered`: a person was offered a one-time link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginLinkOffered {
    /// When the link expires.
    pub expires_at: Time,
}

impl Payload for LoginLinkOffered {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} offered {subject} a link to sign in")
    }
}

/// `login.taken`: a one-time link was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginLinkTaken {
    /// When the session expires.
    pub expires_at: Time,
    /// The client's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl Payload for LoginLinkTaken {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} signed in")
    }
}

/// `login.closed`: browser sessions were closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginClosed {
    /// The number of sessions closed.
    pub closed: u64,
}

impl Payload for LoginClosed {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} was signed out")
    }
}

/// `access.denied`: a request was denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DenialRecorded {
    /// The op or query that was requested.
    pub what: String,
    /// The code of the refusal.
    pub code: String,
    /// The agent that the caller named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The project that the caller named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The client's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The number of denied requests since the last such event that have no event of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<i64>,
}

impl Payload for DenialRecorded {
    fn sentence(&self, _: &str, subject: &str) -> String {
        let place = match cut(self.project.as_deref().unwrap_or_default(), 200).as_str() {
            "" => String::new(),
            project => format!(" in {}", quote(project, 120)),
        };
        let more = match self.left_out {
            Some(more) if more > 0 => format!(", and {more} more times"),
            _ => String::new(),
        };
        format!("{subject} was denied {}{place}: {}{more}", quote(&cut(&self.what, 200), 120), cut(&self.code, 200))
    }
}
