//! Redeems a one-time link: it becomes a browser session, once. The door runs it for the visitor who shows the link,
//! and draws the secrets of the cookie and the forms. The request contains only the hashes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::access::LoginLinkTaken;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, Span, access};
use tenure_store::table::{login, principal, web_session};

use super::operation::{Access, Domain, Door, Operation};
use crate::access::in_store;
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The maximum length of a stored address.
const FROM: usize = 200;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginTake {
    /// The SHA-256 of the link's secret, in hexadecimal.
    pub link: String,
    /// The SHA-256 of the cookie's value.
    pub session: String,
    /// The SHA-256 of the CSRF value of the forms.
    pub csrf: String,
    /// The lifetime of the session, 1 second to 30 days; by default 12 hours.
    #[serde(default)]
    pub expires_in_s: Option<i64>,
    /// The client's address as the server saw it; empty if unknown.
    #[serde(default)]
    pub from: String,
}

impl LoginTake {
    fn lifetime(&self) -> Result<Span> {
        access::lifetime(self.expires_in_s, access::SESSION_TTL, access::SESSION_MAX)
    }
}

/// Writers of the whole store take turns, so no other writer comes between reading `used_at` and writing it. Of any
/// number of concurrent attempts on one link, exactly one succeeds.
impl Operation for LoginTake {
    const NAME: &'static str = "login_take";
    const ABOUT: &'static str = "Exchange a sign-in link for a session; called by servers";
    const DOORS: &'static [Door] = &[];
    // Only the door runs it; no principal may request it.
    const ACCESS: Access = Access::NONE;
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::LoginTaken;

    fn check(&self) -> Result<()> {
        [&self.link, &self.session, &self.csrf].into_iter().try_for_each(|hash| access::hash(hash).map(drop))?;
        self.lifetime().map(drop)
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::LoginTaken> {
        in_store(work, "taking a link")?;
        let link = login::get(work.tx, &self.link)?;
        let link = link.filter(|link| link.is_good(work.now)).ok_or_else(refused)?;
        let whose = principal::get(work.tx, &link.principal)?;
        whose.filter(|row| row.disabled_at.is_none()).ok_or_else(refused)?;
        if web_session::get(work.tx, &self.session)?.is_some() {
            return Err(refused());
        }
        login::used(work.tx, &self.link, work.now)?;
        let row = web_session::Row {
            principal: link.principal,
            csrf: self.csrf.clone(),
            created_at: work.now,
            expires_at: work.now + self.lifetime()?,
            revoked_at: None,
        };
        web_session::insert(work.tx, &self.session, &row)?;
        let from = Some(&self.from).filter(|from| !from.is_empty()).map(|from| cut(from, FROM));
        let taken = LoginLinkTaken { expires_at: row.expires_at, from };
        work.append(About::of(&row.principal), Event::LoginTaken(taken))?;
        Ok(answer::LoginTaken { principal: row.principal, expires_at: row.expires_at.to_string() })
    }
}

/// The same answer for an unknown, an expired and a used link, so that the visitor does not learn which it was.
fn refused() -> Error {
    Error::new(Code::LoginRefused, "this link is not valid: it was used already, has expired, or never existed")
        .hint("Ask for a new link: each link works once and expires after a few minutes.")
}
