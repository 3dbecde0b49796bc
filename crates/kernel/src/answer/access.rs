//! The answers of ops and queries about access. None of them contains a secret or its hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::access::{PrincipalKind, Role};
use tenure_core::id::TokenId;
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::number::EventNumber;
use tenure_core::{Time, hold};
use tenure_store::table::{member, principal, token};

use super::Instant;

/// Whether a token can still be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenState {
    /// It can.
    Valid,
    /// It has expired.
    Expired,
    /// It was revoked.
    Revoked,
}

impl TokenState {
    pub const fn as_str(self) -> &'static str {
        match self {
            TokenState::Valid => "valid",
            TokenState::Expired => "expired",
            TokenState::Revoked => "revoked",
        }
    }
}

/// A token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// The principal.
    pub principal: AgentName,
    /// The purpose.
    pub label: String,
    /// Whether it can still be used.
    pub state: TokenState,
    /// The maximum role; null if not limited.
    pub role: Option<Role>,
    /// The keys of the projects that it is valid for; null for all.
    pub projects: Option<Vec<ProjectKey>>,
    /// The time of creation.
    pub created_at: Instant,
    /// The agent that did it.
    pub created_by: AgentName,
    /// The time until which it can be used.
    pub expires_at: Instant,
    /// The time of the revocation.
    pub revoked_at: Option<Instant>,
    /// The agent that did it.
    pub revoked_by: Option<AgentName>,
}

impl Token {
    pub(crate) fn of(row: &token::Row, now: Time) -> Token {
        Token {
            id: row.id.clone(),
            principal: row.principal.clone(),
            label: row.label.clone(),
            state: match () {
                () if row.revoked.is_some() => TokenState::Revoked,
                () if hold::lapsed(now, row.expires_at) => TokenState::Expired,
                () => TokenState::Valid,
            },
            role: row.scope.role,
            projects: row.scope.projects.clone(),
            created_at: row.created_at.to_string(),
            created_by: row.created_by.clone(),
            expires_at: row.expires_at.to_string(),
            revoked_at: row.revoked.as_ref().map(|revoked| revoked.at.to_string()),
            revoked_by: row.revoked.as_ref().map(|revoked| revoked.by.clone()),
        }
    }
}

/// An identity that was given access.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// The name.
    pub name: AgentName,
    /// What it is.
    pub sort: PrincipalKind,
    /// Whether it is disabled.
    pub disabled: bool,
    /// When access was first given.
    pub created_at: Instant,
    /// The agent that did it.
    pub created_by: AgentName,
}

impl Principal {
    pub(crate) fn of(row: &principal::Row) -> Principal {
        Principal {
            name: row.name.clone(),
            sort: PrincipalKind::of(&row.name),
            disabled: row.disabled_at.is_some(),
            created_at: row.created_at.to_string(),
            created_by: row.created_by.clone(),
        }
    }
}

/// A role of somebody in a project.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Who.
    pub principal: AgentName,
    /// The key of the project, or `*` for every project without a row of its own.
    pub project: ProjectKey,
    /// As what.
    pub role: Role,
    /// The start time.
    pub set_at: Instant,
    /// Who said so.
    pub set_by: AgentName,
}

impl Member {
    pub(crate) fn of(row: &member::Row) -> Member {
        Member {
            principal: row.principal.clone(),
            project: row.key.clone(),
            role: row.role,
            set_at: row.set_at.to_string(),
            set_by: row.set_by.clone(),
        }
    }
}

/// The answer to `member_set`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Membership {
    /// Who.
    pub principal: AgentName,
    /// The key of the project, or `*`.
    pub project: ProjectKey,
    /// The new role, null for none.
    pub role: Option<Role>,
    /// The role before, null for none.
    pub before: Option<Role>,
}

/// The answer to `login_offer`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoginOffered {
    /// Whom it signs in.
    pub principal: AgentName,
    /// The time until which it can be used.
    pub expires_at: Instant,
}

/// The answer to `login_take`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoginTaken {
    /// Who is signed in.
    pub principal: AgentName,
    /// The end time.
    pub expires_at: Instant,
}

/// The answer to `login_close`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoginsClosed {
    /// How many sessions were closed.
    pub closed: i64,
}

/// The answer to `access_denied`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Denied {
    /// The number of the event in the log of the whole store.
    pub number: EventNumber,
}
