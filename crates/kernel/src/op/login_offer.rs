//! Offers a person a one-time link. The door draws its secret and prints it; the request has its hash only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::access::{self, Sort};
use tenure_core::{Error, Kind, Result, Span, Time, event};
use tenure_store::table::{login, web_session};

use crate::access::{known, of_store};
use crate::shape;
use crate::unit::Unit;

/// How long after its end a link or a session is kept, for whoever wonders what became of it.
const KEPT: Span = Span::days(7);

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Whom it signs in: `person:NAME`.
    pub principal: String,
    /// The SHA-256 of the link's secret, in hexadecimal.
    pub hash: String,
    /// How long it lives, 1 second to 1 hour; 10 minutes without it.
    #[serde(default)]
    pub expires_in_s: Option<i64>,
}

impl Request {
    pub(crate) fn check(&self) -> Result<()> {
        access::outsider(&self.principal)?;
        access::hash(&self.hash)?;
        self.lifetime()?;
        if Sort::of(&self.principal) != Sort::Person {
            return Err(Error::usage("not_a_person", format!("`{}` is not a person", self.principal))
                .hint("Links sign people in, person:NAME; services and agents show tokens."));
        }
        Ok(())
    }

    fn lifetime(&self) -> Result<Span> {
        access::lifetime(self.expires_in_s, access::LOGIN_TTL, access::LOGIN_MAX)
    }
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::LoginOffered> {
    of_store(unit, "offering links")?;
    if login::get(unit.tx, &request.hash)?.is_some() {
        return Err(Error::refused(Kind::Conflict, "login_known", "there is a link with this secret already")
            .hint("Draw another secret."));
    }
    known(unit, &request.principal)?;
    login::prune(unit.tx, unit.now - KEPT)?;
    web_session::prune(unit.tx, unit.now - KEPT)?;
    let row = login::Row {
        principal: request.principal.clone(),
        created_at: unit.now,
        created_by: unit.me().to_owned(),
        expires_at: unit.now + request.lifetime()?,
        used_at: Time(0),
    };
    login::insert(unit.tx, &request.hash, &row)?;
    let data = json!({ "expires_at": row.expires_at });
    unit.append(event::kind::LOGIN_OFFERED, &row.principal, "", None, &data)?;
    Ok(shape::LoginOffered { principal: row.principal, expires_at: row.expires_at.to_string() })
}
