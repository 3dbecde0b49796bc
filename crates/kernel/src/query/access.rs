//! Who a secret belongs to and what it may, and the lists that people read of it.

use tenure_core::access::{self, Grants, Scope};
use tenure_core::name::AgentName;
use tenure_core::{Result, Time, hold, id};
use tenure_store::Tx;
use tenure_store::table::{login, member, principal, project, token, web_session};

use super::{bad_cursor, limit};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::{self, Page};
use crate::unit::people_only;

/// Whose memberships.
#[derive(Clone, Copy, Debug)]
pub enum Of<'a> {
    /// All there are.
    All,
    /// Those in a project, by its key, or `*`.
    Project(&'a str),
    /// Those of a principal.
    Principal(&'a str),
}

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
    /// Whose token has this hash, and what it may, at the time of the snapshot. `None` for a token that never was, is over,
    /// was revoked, or is of somebody who is disabled: nobody is told which. An error is no answer, and no access.
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
            let grants = grants(tx, found.principal, Scope::default())?;
            Ok(grants.map(|grants| SignedIn { grants, csrf: found.csrf, expires_at: found.expires_at }))
        })
    }

    /// Whether a one-time link has this hash and can be taken: a look that uses nothing up. Who takes it is decided by
    /// [`crate::op::login_take`] alone.
    pub fn is_login_link(&self, hash: &str) -> Result<bool> {
        access::hash(hash)?;
        self.of_store(|tx, now| Ok(login::get(tx, hash)?.is_some_and(|link| link.is_good(now))))
    }

    /// A page of tokens by id, of one principal where it is named. Never a hash.
    pub fn tokens(
        &self,
        call: &Call,
        of: Option<&str>,
        rows: usize,
        cursor: Option<&str>,
    ) -> Result<Page<shape::Token>> {
        limit(rows)?;
        if let Some(text) = cursor.filter(|text| id::check(text, id::Sort::Token).is_err()) {
            return Err(bad_cursor(text));
        }
        people(call)?;
        of.map(access::principal).transpose()?;
        self.ask(&in_store(call), |tx, scene| {
            let found = token::list(tx, of, cursor.unwrap_or_default(), rows + 1)?;
            Ok(page(found, rows, cursor, |row| row.id.to_string(), |row| shape::Token::of(row, scene.now)))
        })
    }

    /// The id of a token that begins with a text; its kind letter may be left out.
    pub fn token_id(&self, call: &Call, typed: &str) -> Result<String> {
        people(call)?;
        if typed.is_empty() || !id::is_prefix(typed) {
            return Err(id::unknown(typed, id::Sort::Token));
        }
        let prefix = if typed.starts_with("k-") { typed.to_owned() } else { format!("k-{typed}") };
        self.ask(&in_store(call), |tx, _| {
            id::resolve(&prefix, id::Sort::Token, token::beginning(tx, &prefix, 11)?).map(String::from)
        })
    }

    /// A page of memberships by principal and project.
    pub fn members(&self, call: &Call, of: Of<'_>, rows: usize, cursor: Option<&str>) -> Result<Page<shape::Member>> {
        limit(rows)?;
        people(call)?;
        match of {
            Of::All => {}
            Of::Project(key) => drop(access::project(key)?),
            Of::Principal(name) => drop(access::principal(name)?),
        }
        let after = match cursor {
            None => ("", ""),
            // A name has no blank in it.
            Some(text) => text
                .split_once(' ')
                .filter(|(name, _)| access::principal(name).is_ok())
                .ok_or_else(|| bad_cursor(text))?,
        };
        if let Some(text) = cursor.filter(|_| access::project(after.1).is_err()) {
            return Err(bad_cursor(text));
        }
        self.ask(&in_store(call), |tx, _| {
            let found = match of {
                Of::All => member::list(tx, None, after, rows + 1)?,
                Of::Project(key) => member::list(tx, Some(key), after, rows + 1)?,
                // As many as there are projects, which are not many.
                Of::Principal(name) => {
                    let mut own = member::of(tx, name)?;
                    own.retain(|row| (row.principal.as_str(), row.key.as_str()) > after);
                    own
                }
            };
            Ok(page(found, rows, cursor, |row| format!("{} {}", row.principal, row.key), shape::Member::of))
        })
    }

    /// A page of all who access was given to, by name.
    pub fn principals(&self, call: &Call, rows: usize, cursor: Option<&str>) -> Result<Page<shape::Principal>> {
        limit(rows)?;
        people(call)?;
        if let Some(text) = cursor.filter(|text| access::principal(text).is_err()) {
            return Err(bad_cursor(text));
        }
        self.ask(&in_store(call), |tx, _| {
            let found = principal::list(tx, cursor.unwrap_or_default(), rows + 1)?;
            Ok(page(found, rows, cursor, |row| row.name.to_string(), shape::Principal::of))
        })
    }

    /// Reads what belongs to the whole store, before it is known who asks.
    fn of_store<T>(&self, body: impl Fn(&mut dyn Tx, Time) -> Result<T>) -> Result<T> {
        self.store().read(project::WHOLE_STORE, |tx, entered| body(tx, entered.reading().0))
    }
}

/// What a principal may; nothing where it is disabled, or is not known.
fn grants(tx: &mut dyn Tx, name: AgentName, scope: Scope) -> Result<Option<Grants>> {
    let known = principal::get(tx, &name)?;
    if known.is_none_or(|row| row.disabled_at.is_some()) {
        return Ok(None);
    }
    let members = member::of(tx, &name)?.into_iter().map(|row| (row.key, row.role)).collect();
    Ok(Some(Grants { principal: name, members, scope }))
}

/// Who has access is for people to see; of a principal the role was looked at.
fn people(call: &Call) -> Result<()> {
    if call.actor.principal.is_none() && !call.actor.is_person() {
        return Err(people_only("who has access"));
    }
    Ok(())
}

/// The same call about what belongs to the whole store, which is in no checkout.
fn in_store(call: &Call) -> Call {
    Call { project: project::whole_store(), checkout: None, proven_dead: Vec::new(), ..call.clone() }
}

fn page<R, T>(
    mut found: Vec<R>,
    rows: usize,
    cursor: Option<&str>,
    at: impl Fn(&R) -> String,
    show: impl Fn(&R) -> T,
) -> Page<T> {
    let more = found.len() > rows;
    found.truncate(rows);
    let next = more.then(|| found.last().map(at)).flatten();
    let total = (!more && cursor.is_none()).then_some(i64::try_from(found.len()).unwrap_or(i64::MAX));
    Page::of(found.iter().map(show).collect(), total, next)
}
