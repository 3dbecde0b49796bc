//! Offers a person a one-time link. The door draws its secret and prints it. The request contains only the hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::access::{self, PrincipalKind};
use tenure_core::event::Event;
use tenure_core::event::access::LoginLinkOffered;
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Result, Span};
use tenure_store::table::{login, web_session};

use super::operation::{Access, Domain, Door, Operation, Role};
use crate::access::{known, of_store};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// How long a link or session is kept after its end, for questions about what happened to it.
const KEPT: Span = Span::days(7);

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginOffer {
    /// The person to sign in: `person:NAME`.
    pub principal: AgentName,
    /// The SHA-256 of the link's secret, in hexadecimal.
    pub hash: String,
    /// The lifetime, 1 second to 1 hour; by default 10 minutes.
    #[serde(default)]
    pub expires_in_s: Option<i64>,
}

impl LoginOffer {
    fn lifetime(&self) -> Result<Span> {
        access::lifetime(self.expires_in_s, access::LOGIN_TTL, access::LOGIN_MAX)
    }
}

impl Operation for LoginOffer {
    const NAME: &'static str = "login_offer";
    const ABOUT: &'static str = "Create a one-time sign-in link for a person";
    const DOORS: &'static [Door] = &[];
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::LoginOffered;

    fn check(&self) -> Result<()> {
        access::outsider(&self.principal)?;
        access::hash(&self.hash)?;
        self.lifetime()?;
        if PrincipalKind::of(&self.principal) != PrincipalKind::Person {
            return Err(Error::usage(Code::NotAPerson, format!("`{}` is not a person", self.principal))
                .hint("Links are for people, person:NAME; services and agents use tokens."));
        }
        Ok(())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::LoginOffered> {
        of_store(work, "offering links")?;
        if login::get(work.tx, &self.hash)?.is_some() {
            return Err(
                Error::new(Code::LoginKnown, "a link with this secret exists already").hint("Generate another secret.")
            );
        }
        known(work, &self.principal)?;
        login::prune(work.tx, work.now - KEPT)?;
        web_session::prune(work.tx, work.now - KEPT)?;
        let row = login::Row {
            principal: self.principal.clone(),
            created_at: work.now,
            created_by: work.me().clone(),
            expires_at: work.now + self.lifetime()?,
            used_at: None,
        };
        login::insert(work.tx, &self.hash, &row)?;
        let offered = LoginLinkOffered { expires_at: row.expires_at };
        work.append(About::of(&row.principal), Event::LoginOffered(offered))?;
        Ok(answer::LoginOffered { principal: row.principal, expires_at: row.expires_at.to_string() })
    }
}
