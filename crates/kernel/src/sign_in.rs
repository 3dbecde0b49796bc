//! Looking up credentials: what a server asks before it knows the caller. These are not queries: they are never sent,
//! and no role grants them.

use tenure_core::access::{self, Grants, TokenScope};
use tenure_core::name::AgentName;
use tenure_core::{Result, Time, hold};
use tenure_store::Tx;
use tenure_store::table::{agent, login, member, principal, project, token, web_session};

use crate::call::Call;
use crate::kernel::Kernel;

/// A browser that is signed in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub grants: Grants,
    /// The hash of its CSRF token; see [`crate::access::is_secret_of`].
    pub csrf: String,
    pub expires_at: Time,
}

impl Kernel {
    /// The principal and the grants of the token with this hash, at the time of the snapshot. `None` if the token is
    /// unknown, expired or revoked, or if its principal is disabled; the caller is not told which. An error means that
    /// there is no answer, and so no access.
    pub fn who_is(&self, hash: &str) -> Result<Option<Grants>> {
        access::hash(hash)?;
        self.of_store(|tx, now| {
            let Some(found) = token::of_hash(tx, hash)? else { return Ok(None) };
            if found.revoked.is_some() || hold::lapsed(now, found.expires_at) {
                return Ok(None);
            }
            grants(tx, found.principal, found.scope)
        })
    }

    /// The session with this hash; see [`Kernel::who_is`].
    pub fn who_is_session(&self, hash: &str) -> Result<Option<SignedIn>> {
        access::hash(hash)?;
        self.of_store(|tx, now| {
            let Some(found) = web_session::get(tx, hash)? else { return Ok(None) };
            if found.revoked_at.is_some() || hold::lapsed(now, found.expires_at) {
                return Ok(None);
            }
            let grants = grants(tx, found.principal, TokenScope::default())?;
            Ok(grants.map(|grants| SignedIn { grants, csrf: found.csrf, expires_at: found.expires_at }))
        })
    }

    /// Whether a one-time link with this hash can be redeemed. This does not use it up. Only [`crate::op::login_take`]
    /// decides who redeems it.
    pub fn is_login_link(&self, hash: &str) -> Result<bool> {
        access::hash(hash)?;
        self.of_store(|tx, now| Ok(login::get(tx, hash)?.is_some_and(|link| link.is_good(now))))
    }

    /// Whether the session of the caller has ended. `None` if no agent of that name was seen in the project.
    pub fn said_good_bye(&self, call: &Call) -> Result<Option<bool>> {
        self.in_snapshot(call, |tx, snapshot| {
            let row = tx.fetch(agent::get(snapshot.project_id(), &call.actor.name))?;
            Ok(row.map(|row| row.ended_at.is_some()))
        })
    }

    /// Reads from the whole store, before the caller is known.
    fn of_store<T>(&self, body: impl Fn(&mut dyn Tx, Time) -> Result<T>) -> Result<T> {
        self.store().read(project::WHOLE_STORE, |tx, entered| body(tx, entered.reading().0))
    }
}

/// The grants of a principal. `None` if it is disabled or unknown.
fn grants(tx: &mut dyn Tx, name: AgentName, scope: TokenScope) -> Result<Option<Grants>> {
    let known = principal::get(tx, &name)?;
    if known.is_none_or(|row| row.disabled_at.is_some()) {
        return Ok(None);
    }
    let members = member::of(tx, &name)?.into_iter().map(|row| (row.key, row.role)).collect();
    Ok(Some(Grants { principal: name, members, scope }))
}
