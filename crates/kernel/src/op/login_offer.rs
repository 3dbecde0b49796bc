//! Offers a person a one-time link. The door draws its secret and prints it; the request has its hash only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::access::{self, Sort};
use tenure_core::event::Event;
use tenure_core::event::access::LoginOffered;
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Result, Span};
use tenure_store::table::{login, web_session};

use super::operation::{Access, Domain, Door, Operation, Role};
use crate::access::{known, of_store};
use crate::shape;
use crate::unit::{About, Unit};

/// How long after its end a link or a session is kept, for whoever wonders what became of it.
const KEPT: Span = Span::days(7);

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginOffer {
    /// Whom it signs in: `person:NAME`.
    pub principal: AgentName,
    /// The SHA-256 of the link's secret, in hexadecimal.
    pub hash: String,
    /// How long it lives, 1 second to 1 hour; 10 minutes without it.
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
    const ABOUT: &'static str = "Offers a person a one-time link to sign in";
    const DOORS: &'static [Door] = &[];
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = shape::LoginOffered;

    fn check(&self) -> Result<()> {
        access::outsider(&self.principal)?;
        access::hash(&self.hash)?;
        self.lifetime()?;
        if Sort::of(&self.principal) != Sort::Person {
            return Err(Error::usage(Code::NotAPerson, format!("`{}` is not a person", self.principal))
                .hint("Links sign people in, person:NAME; services and agents show tokens."));
        }
        Ok(())
    }

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::LoginOffered> {
        of_store(unit, "offering links")?;
        if login::get(unit.tx, &self.hash)?.is_some() {
            return Err(
                Error::new(Code::LoginKnown, "there is a link with this secret already").hint("Draw another secret.")
            );
        }
        known(unit, &self.principal)?;
        login::prune(unit.tx, unit.now - KEPT)?;
        web_session::prune(unit.tx, unit.now - KEPT)?;
        let row = login::Row {
            principal: self.principal.clone(),
            created_at: unit.now,
            created_by: unit.me().clone(),
            expires_at: unit.now + self.lifetime()?,
            used_at: None,
        };
        login::insert(unit.tx, &self.hash, &row)?;
        let offered = LoginOffered { expires_at: row.expires_at };
        unit.append(About::of(&row.principal), Event::LoginOffered(offered))?;
        Ok(shape::LoginOffered { principal: row.principal, expires_at: row.expires_at.to_string() })
    }
}
