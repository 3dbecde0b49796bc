//! Access: whose call it is, and whether it may be made. Calls of local programs have no principal and are trusted, as
//! whoever may open the store is; calls through a server have one, and pass through here or nowhere.

use std::fmt;

use sha2::{Digest, Sha256};
use tenure_core::access::{self, EVERY_PROJECT, Grants, PrincipalKind, Role, SECRET, SERVICE, WHOLE_STORE};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::access::PrincipalAdded;
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Result, Stage, name};
use tenure_store::table::{agent, member, principal};
use tenure_store::{Entropy, Tx};

use crate::call::Call;
use crate::op::{Domain, ErasedOp};
use crate::query::Query;
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// A secret: 256 random bits in hexadecimal behind a prefix that says what it is. Drawn by a door and shown by it once;
/// the kernel is only ever given its hash, so that no answer, event, record, log or backup has it.
pub struct Secret(String);

impl Secret {
    /// Draws one.
    pub fn draw(entropy: &dyn Entropy) -> Secret {
        let mut bytes = [0; 32];
        entropy.fill(&mut bytes);
        Secret(format!("{SECRET}{}", hex(&bytes)))
    }

    /// The secret itself, for whoever it is made for.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn hash(&self) -> String {
        hash(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What is stored of a secret. A plain SHA-256 is enough: 256 random bits cannot be guessed, however fast the guesses are.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Whether a text is the secret of a hash, in a time that does not depend on where they differ.
pub fn is_secret_of(text: &str, wanted: &str) -> bool {
    let found = hash(text);
    let differs = found.bytes().zip(wanted.bytes()).fold(0, |seen, (one, other)| seen | (one ^ other));
    // Both are hashes; one that is cut short would agree with anything as far as it goes.
    found.len() == wanted.len() && differs == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lets an op through if its principal may ask for it in this project.
pub(crate) fn admit(call: &Call, op: &dyn ErasedOp) -> Result<()> {
    match &call.actor.principal {
        None => Ok(()),
        Some(grants) => {
            let project = call.project.key.as_str();
            grants.check(project, op.entry().name, op.access().needed(project)).map(drop)
        }
    }
}

/// Lets a query through if its principal may ask it in this project. A query that is about no project in particular shows
/// only what its principal may see.
pub(crate) fn admit_query<Q: Query>(call: &Call) -> Result<()> {
    match &call.actor.principal {
        Some(grants) if Q::DOMAIN != Domain::Anywhere => {
            let project = call.project.key.as_str();
            grants.check(project, Q::NAME, Q::ACCESS.needed(project)).map(drop)
        }
        _ => Ok(()),
    }
}

/// Lets a reader through whose principal sees this project at all. The role that a query needs is checked before, by
/// [`admit_query`].
pub(crate) fn admit_reader(call: &Call) -> Result<()> {
    match &call.actor.principal {
        None => Ok(()),
        Some(grants) => {
            let least = if call.project.key == WHOLE_STORE { Role::Admin } else { Role::Viewer };
            grants.check(&call.project.key, "query", Some(least)).map(drop)
        }
    }
}

/// Whether what is looked at is the actor's own to look at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessFor {
    /// An op: an agent that belongs to nobody becomes the principal's.
    Op,
    /// A query, which makes nothing anybody's.
    Query,
}

/// Refuses an actor that is not its principal's: identity is bound to what was shown. A principal is itself; people and
/// services also are agents of their own. `known` is the actor's row.
pub(crate) fn own(tx: &mut dyn Tx, call: &Call, known: Option<&agent::Row>, doing: AccessFor) -> Result<()> {
    let Some(grants) = &call.actor.principal else { return Ok(()) };
    let actor = call.actor.name.as_str();
    match may_be(tx, grants, &call.project.key, (actor, known), doing)? {
        true => Ok(()),
        false => Err(access::not_yours(actor)),
    }
}

/// Whether a principal may act as an agent in a project. `known` is the agent's row.
///
/// The answer tells principals that have nothing to do with the project from names that are free no more than it must:
/// what is refused is in the list of the project's agents, or belongs to somebody with a role here.
pub(crate) fn may_be(
    tx: &mut dyn Tx,
    grants: &Grants,
    project: &str,
    (actor, known): (&str, Option<&agent::Row>),
    doing: AccessFor,
) -> Result<bool> {
    let me = grants.principal.as_str();
    let owner = known.and_then(|row| row.owner.as_deref());
    if actor == me {
        // Somebody may have called an agent so before the principal came here: its name is its own all the same.
        return Ok(true);
    }
    if PrincipalKind::of(me) == PrincipalKind::Agent || name::is_person(actor) || actor.starts_with(SERVICE) {
        return Ok(false);
    }
    match (owner, known) {
        (Some(owner), _) => Ok(owner == me),
        // It has no owner yet, and no principal with a role here has its name.
        (None, None) => {
            let roles = member::of(tx, actor)?;
            Ok(!roles.iter().any(|role| role.key == project || role.key == EVERY_PROJECT))
        }
        // It may be a principal that was here as itself, whatever its role is now: what it has is not another's to take.
        (None, Some(_)) if doing == AccessFor::Op => Ok(principal::get(tx, actor)?.is_none()),
        _ => Ok(false),
    }
}

/// Whether an answer that is kept for this actor is the caller's to read. Of an agent that has only just become the
/// principal's, what was answered before was answered to somebody else.
pub(crate) fn may_replay(call: &Call, known: Option<&agent::Row>) -> bool {
    match &call.actor.principal {
        None => true,
        Some(grants) => match known.and_then(|row| row.owner.as_ref()) {
            None => grants.principal == call.actor.name,
            Some(owner) => grants.principal == *owner,
        },
    }
}

/// Whether an agent is the caller's own, as far as what a caller says about its own agents is believed. Programs on the
/// machine of the store are believed about all of them.
pub(crate) fn is_own(call: &Call, agent: &AgentName, owner: Option<&AgentName>) -> bool {
    match &call.actor.principal {
        None => true,
        Some(grants) => grants.principal == *owner.unwrap_or(agent),
    }
}

/// The principal that an agent belongs to, where that is somebody else than itself.
pub(crate) fn owner_of(call: &Call) -> Option<&AgentName> {
    let principal = call.actor.principal.as_ref().map(|grants| &grants.principal);
    principal.filter(|principal| **principal != call.actor.name)
}

/// Whom an agent belongs to from this op on, where that is not whom it belonged to: nobody's becomes the principal's that
/// acts as it, and a principal's own name is its own, whoever called an agent so before.
pub(crate) fn new_owner<'a>(call: &'a Call, owner: Option<&AgentName>) -> Option<Option<&'a AgentName>> {
    match (owner_of(call), owner) {
        (Some(principal), None) => Some(Some(principal)),
        (None, Some(_)) if call.actor.principal.is_some() => Some(None),
        _ => None,
    }
}

/// Checks that an op about access is asked for in the whole store, by a person where it is not asked for by a principal:
/// of that one the role was looked at before.
pub(crate) fn of_store(work: &UnitOfWork<'_>, what: &str) -> Result<()> {
    in_store(work, what)?;
    if work.call.actor.principal.is_none() && !work.call.actor.is_person() {
        return Err(people_only(what));
    }
    Ok(())
}

/// Checks that an op about access is asked for in the whole store.
pub(crate) fn in_store(work: &UnitOfWork<'_>, what: &str) -> Result<()> {
    if work.project.key == WHOLE_STORE {
        return Ok(());
    }
    Err(Error::usage(Code::WholeStoreOnly, format!("{what} concerns the whole store, and this is a project of it"))
        .entity(&work.project.key))
}

/// The row of a principal, made where it is not known yet.
pub(crate) fn known(work: &mut UnitOfWork<'_>, name: &AgentName) -> Result<principal::Row> {
    if let Some(row) = principal::get(work.tx, name)? {
        return Ok(row);
    }
    let row = principal::Row {
        name: name.clone(),
        subject: None,
        created_at: work.now,
        created_by: work.me().clone(),
        disabled_at: None,
    };
    principal::insert(work.tx, &row)?;
    work.append(About::of(name), Event::PrincipalAdded(PrincipalAdded {}))?;
    Ok(row)
}

/// The refusal of a principal that nobody has heard of.
pub(crate) fn unknown_principal(name: &str) -> Error {
    Error::new(Code::UnknownPrincipal, format!("nobody called `{name}` has any access"))
        .entity(name)
        .attempt(Action::ListMembers)
}

/// Refuses what only an operator may do, where that turns out inside an op.
pub(crate) fn operator(work: &UnitOfWork<'_>, what: &str) -> Result<()> {
    match &work.call.actor.principal {
        None => Ok(()),
        Some(grants) => grants
            .check(&work.project.key, what, Some(Role::Operator))
            .map(drop)
            .map_err(|error| error.at(Stage::Decide)),
    }
}

/// Whether the actor may override those who are there: people, who need the role for it where they come through a server.
pub(crate) fn overrides(work: &UnitOfWork<'_>) -> bool {
    work.call.actor.is_person() && operator(work, "force").is_ok()
}

/// Whether a principal sees a project.
pub(crate) fn sees(call: &Call, key: &str) -> bool {
    key != EVERY_PROJECT && call.actor.principal.as_ref().is_none_or(|grants| grants.role(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Same;

    impl Entropy for Same {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(0xab);
        }
    }

    #[test]
    fn inv_s10_a_secret_is_shown_by_nothing_but_its_own_call() {
        let secret = Secret::draw(&Same);
        assert_eq!(secret.expose(), format!("tenure_{}", "ab".repeat(32)));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!((secret.hash().len(), secret.hash()), (64, hash(secret.expose())));
        assert_eq!(tenure_core::redact::redact(secret.expose()), tenure_core::redact::REDACTED);
    }

    #[test]
    fn inv_s3_secrets_are_compared_whole() {
        let wanted = hash("a");
        assert!(is_secret_of("a", &wanted));
        assert!(!is_secret_of("b", &wanted) && !is_secret_of("a", "") && !is_secret_of("a", &wanted[..63]));
    }
}
