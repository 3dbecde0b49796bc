//! Events of access: principals, roles, tokens and sign-ins.

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
        format!("{actor} gave {subject} access")
    }
}

/// `principal.disabled`: nothing of a principal counts any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrincipalDisabled {
    /// How many sessions of browsers that closed.
    pub closed: u64,
}

impl Payload for PrincipalDisabled {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} disabled all access of {subject}")
    }
}

/// `principal.enabled`: a principal counts again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrincipalEnabled {}

impl Payload for PrincipalEnabled {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} let {subject} in again")
    }
}

/// `member.set`: a principal has another role in a project than before, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberSet {
    /// The project, `*` for all of them.
    pub project: String,
    /// The role, if any.
    pub role: Option<Role>,
    /// The role before.
    pub before: Option<Role>,
}

impl Payload for MemberSet {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let place = match self.project.as_str() {
            "*" => "every project".to_owned(),
            project => cut(project, 200),
        };
        match self.role {
            Some(role) => format!("{actor} made {subject} {} in {place}", role.as_str()),
            None => {
                let before = self.before.map_or("", Role::as_str);
                format!("{actor} took the role {before} in {place} from {subject}")
            }
        }
    }
}

/// `token.added`: a token was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenAdded {
    /// Whose it is.
    pub principal: String,
    /// What it is for.
    pub label: String,
    /// The role that it is narrowed to.
    pub role: Option<Role>,
    /// The projects that it is narrowed to.
    pub projects: Option<Vec<String>>,
    /// When it ends.
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
    /// Whose it was.
    pub principal: String,
    /// What it was for.
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
pub struct LoginOffered {
    /// When the link ends.
    pub expires_at: Time,
}

impl Payload for LoginOffered {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} offered {subject} a link to sign in")
    }
}

/// `login.taken`: a one-time link was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginTaken {
    /// When the session ends.
    pub expires_at: Time,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl Payload for LoginTaken {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} signed in")
    }
}

/// `login.closed`: sessions of browsers were closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginClosed {
    /// How many.
    pub closed: u64,
}

impl Payload for LoginClosed {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} was signed out")
    }
}

/// `access.denied`: a caller was denied something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Denied {
    /// What it asked for.
    pub what: String,
    /// The code of the refusal.
    pub code: String,
    /// The agent that it named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The project that it named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How many refusals since the last such event have none of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<i64>,
}

impl Payload for Denied {
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
