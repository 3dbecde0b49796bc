//! Adds a token for a principal. The door draws the secret and shows it once. The request contains only the hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::access::{self, EVERY_PROJECT, Role, TokenScope};
use tenure_core::event::Event;
use tenure_core::event::access::TokenAdded;
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::{Code, Error, Result, Span, text};
use tenure_store::table::token;

use super::operation::{Access, Domain, Door, Operation};
use crate::access::{known, of_store};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenAdd {
    /// The principal: `person:NAME`, `service:NAME` or the name of an agent.
    pub principal: AgentName,
    /// The SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    /// The label: at most 200 characters on one line.
    #[serde(default)]
    pub label: String,
    /// The maximum role.
    #[serde(default)]
    pub role: Option<Role>,
    /// The keys of the projects that it is valid for, at most 100; by default all.
    #[serde(default)]
    pub projects: Option<Vec<ProjectKey>>,
    /// The lifetime, 1 second to 365 days; by default 90 days.
    #[serde(default)]
    pub expires_in_s: Option<i64>,
}

impl TokenAdd {
    fn lifetime(&self) -> Result<Span> {
        access::lifetime(self.expires_in_s, access::TOKEN_TTL, access::TOKEN_MAX)
    }
}

impl Operation for TokenAdd {
    const NAME: &'static str = "token_add";
    const ABOUT: &'static str = "Create a token for a principal, from the hash of its secret";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::Token;

    fn check(&self) -> Result<()> {
        access::outsider(&self.principal)?;
        access::hash(&self.hash)?;
        self.lifetime()?;
        if self.label.chars().count() > access::LABEL_MAX || text::cut(&self.label, access::LABEL_MAX) != self.label {
            return Err(Error::usage(Code::BadTokenLabel, "the label is not one line of at most 200 characters"));
        }
        if let Some(keys) = &self.projects {
            // A token needs at least one project, and a list must not contain `*`.
            if keys.is_empty() || keys.len() > access::PROJECTS_MAX || keys.iter().any(|key| key == EVERY_PROJECT) {
                return Err(Error::usage(
                    Code::BadTokenProjects,
                    "the list of projects of a token must have 1 to 100 \
                                                                 keys",
                )
                .hint("Omit the list for a token for all projects of its principal."));
            }
            keys.iter().try_for_each(|key| access::project(key).map(drop))?;
        }
        Ok(())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Token> {
        of_store(work, "creating tokens")?;
        if token::of_hash(work.tx, &self.hash)?.is_some() {
            return Err(Error::new(Code::TokenKnown, "a token with this secret exists already")
                .hint("Generate another secret."));
        }
        known(work, &self.principal)?;
        let projects = self.projects.clone().map(|mut keys| {
            keys.sort();
            keys.dedup();
            keys
        });
        let row = token::Row {
            id: work.redraw()?,
            principal: self.principal.clone(),
            label: self.label.clone(),
            scope: TokenScope { role: self.role, projects },
            created_at: work.now,
            created_by: work.me().clone(),
            expires_at: work.now + self.lifetime()?,
            revoked: None,
        };
        token::insert(work.tx, &row, &self.hash)?;
        let added = TokenAdded {
            principal: row.principal.to_string(),
            label: row.label.clone(),
            role: row.scope.role,
            projects: row.scope.projects.as_ref().map(|keys| keys.iter().map(String::from).collect()),
            expires_at: row.expires_at,
        };
        work.append(About::of(&row.id), Event::TokenAdded(added))?;
        Ok(answer::Token::of(&row, work.now))
    }
}
