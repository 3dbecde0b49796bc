//! Whose a secret is and what it may: what a server asks before it knows who calls. These are no queries: they are never
//! sent, and no role allows them.

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
    /// Who it is and what it may.
    pub grants: Grants,
    /// The hash of what its forms must say; see [`crate::access::is_secret_of`].
    pub csrf: String,
    /// Until when.
    pub expires_at: Time,
}

impl Kernel {
    /// Whose token has this hash, and what it may, at the time of the snapshot. `None` for a token that never was, is over or
    /// was revoked, or whose principal is disabled; the caller is not told which. An error is no answer, and no access.
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

    /// Whose session has this hash; see [`Kernel::who_is`].
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

    /// Whether a one-time link has this hash and can be taken: a look that uses nothing up. Who takes it is decided by
    /// [`crate::op::login_take`] alone.
    pub fn is_login_link(&self, hash: &str) -> Result<bool> {
        access::hash(hash)?;
        self.of_store(|tx, now| Ok(login::get(tx, hash)?.is_some_and(|link| link.is_good(now))))
    }

    /// Whether the session of the caller has said good-bye; `None` where no agent of that name was seen in the project.
    pub fn said_good_bye(&self, call: &Call) -> Result<Option<bool>> {
        self.in_snapshot(call, |tx, snapshot| {
            let row = tx.fetch(agent::get(snapshot.project_id(), &call.actor.name))?;
            Ok(row.map(|row| row.ended_at.is_some()))
        })
    }

    /// Reads what belongs to the whole store, before it is known who asks.
    fn of_store<T>(&self, body: impl Fn(&mut dyn Tx, Time) -> Result<T>) -> Result<T> {
        self.store().read(project::WHOLE_STORE, |tx, entered| body(tx, entered.reading().0))
    }
}

/// What a principal may; nothing where it is disabled, or is not known.
fn grants(tx: &mut dyn Tx, name: AgentName, scope: TokenScope) -> Result<Option<Grants>> {
    let known = principal::get(tx, &name)?;
    if known.is_none_or(|row| row.disabled_at.is_some()) {
        return Ok(None);
    }
    let members = member::of(tx, &name)?.into_iter().map(|row| (row.key, row.role)).collect();
    Ok(Some(Grants { principal: name, members, scope }))
}
