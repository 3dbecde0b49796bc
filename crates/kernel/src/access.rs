//! Access: the principal of a call, and whether it may make the call. Calls of local programs have no principal and are
//! trusted, because such a program may open the store itself. Calls through a server have a principal and must pass
//! these checks.

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

/// A secret: 256 random bits in hexadecimal, behind a prefix that says what it is. A door draws it and shows it once.
/// The kernel only ever gets its hash, so no answer, event, record, log or backup contains it.
pub struct Secret(String);

impl Secret {
    /// Draws a secret.
    pub fn draw(entropy: &dyn Entropy) -> Secret {
        let mut bytes = [0; 32];
        entropy.fill(&mut bytes);
        Secret(format!("{SECRET}{}", hex(&bytes)))
    }

    /// The secret itself, for its owner.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The hash that is stored.
    pub fn hash(&self) -> String {
        hash(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The stored form of a secret. A plain SHA-256 is enough: 256 random bits cannot be guessed, however fast the guesses
/// are.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Whether a text is the secret of a hash, in constant time.
pub fn is_secret_of(text: &str, wanted: &str) -> bool {
    let found = hash(text);
    let differs = found.bytes().zip(wanted.bytes()).fold(0, |seen, (one, other)| seen | (one ^ other));
    // Both are hashes. A truncated one would otherwise match on its prefix.
    found.len() == wanted.len() && differs == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Admits an op if its principal may run it in this project.
pub(crate) fn admit(call: &Call, op: &dyn ErasedOp) -> Result<()> {
    match &call.actor.principal {
        None => Ok(()),
        Some(grants) => {
            let project = call.project.key.as_str();
            grants.check(project, op.entry().name, op.access().needed(project)).map(drop)
        }
    }
}

/// Admits a query if its principal may ask it in this project. A query that is not about a particular project shows
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

/// Admits a reader whose principal sees this project at all. [`admit_query`] has already checked the role that the
/// query needs.
pub(crate) fn admit_reader(call: &Call) -> Result<()> {
    match &call.actor.principal {
        None => Ok(()),
        Some(grants) => {
            let least = if call.project.key == WHOLE_STORE { Role::Admin } else { Role::Viewer };
            grants.check(&call.project.key, "query", Some(least)).map(drop)
        }
    }
}

/// The kind of request that acts as an agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessFor {
    /// An op: an agent without an owner becomes the principal's.
    Op,
    /// A query: it never assigns an owner.
    Query,
}

/// Refuses an actor that is not its principal's: an identity is bound to the credential that was presented. A principal
/// may act as itself; people and services may also act as their own agents. `known` is the actor's row.
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
/// The answer reveals as little as possible about principals that have nothing to do with the project: a refused name
/// is in the list of the project's agents, or belongs to a principal with a role here.
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
        // An agent may have had this name before the principal came here. The name belongs to the principal all the
        // same.
        return Ok(true);
    }
    if PrincipalKind::of(me) == PrincipalKind::Agent || name::is_person(actor) || actor.starts_with(SERVICE) {
        return Ok(false);
    }
    match (owner, known) {
        (Some(owner), _) => Ok(owner == me),
        // The agent has no owner yet, and no principal with a role here has its name.
        (None, None) => {
            let roles = member::of(tx, actor)?;
            Ok(!roles.iter().any(|role| role.key == project || role.key == EVERY_PROJECT))
        }
        // The agent may be a principal that acted here as itself, whatever its role is now. Another principal must not
        // take over what it holds.
        (None, Some(_)) if doing == AccessFor::Op => Ok(principal::get(tx, actor)?.is_none()),
        _ => Ok(false),
    }
}

/// Whether the caller may read an answer that is stored for this actor. If the agent has only just become the
/// principal's, earlier answers were given to another caller.
pub(crate) fn may_replay(call: &Call, known: Option<&agent::Row>) -> bool {
    match &call.actor.principal {
        None => true,
        Some(grants) => match known.and_then(|row| row.owner.as_ref()) {
            None => grants.principal == call.actor.name,
            Some(owner) => grants.principal == *owner,
        },
    }
}

/// Whether an agent is the caller's own, for claims that are believed only about own agents. Programs on the store's
/// machine are believed about all agents.
pub(crate) fn is_own(call: &Call, agent: &AgentName, owner: Option<&AgentName>) -> bool {
    match &call.actor.principal {
        None => true,
        Some(grants) => grants.principal == *owner.unwrap_or(agent),
    }
}

/// The principal that an agent belongs to, if that is not the agent itself.
pub(crate) fn owner_of(call: &Call) -> Option<&AgentName> {
    let principal = call.actor.principal.as_ref().map(|grants| &grants.principal);
    principal.filter(|principal| **principal != call.actor.name)
}

/// The owner of an agent from this op on, if it changes. An agent without an owner becomes the property of the
/// principal that acts as it. A principal's own name belongs to itself, even if an agent had it before.
pub(crate) fn new_owner<'a>(call: &'a Call, owner: Option<&AgentName>) -> Option<Option<&'a AgentName>> {
    match (owner_of(call), owner) {
        (Some(principal), None) => Some(Some(principal)),
        (None, Some(_)) if call.actor.principal.is_some() => Some(None),
        _ => None,
    }
}

/// Checks that an op about access is run on the whole store. Without a principal the actor must be a person. The role
/// of a principal has been checked before.
pub(crate) fn of_store(work: &UnitOfWork<'_>, what: &str) -> Result<()> {
    in_store(work, what)?;
    if work.call.actor.principal.is_none() && !work.call.actor.is_person() {
        return Err(people_only(what));
    }
    Ok(())
}

/// Checks that an op about access is run on the whole store.
pub(crate) fn in_store(work: &UnitOfWork<'_>, what: &str) -> Result<()> {
    if work.project.key == WHOLE_STORE {
        return Ok(());
    }
    Err(Error::usage(Code::WholeStoreOnly, format!("{what} concerns the whole store, but the request names a project"))
        .entity(&work.project.key))
}

/// The row of a principal, created if it does not exist.
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

/// The refusal of an unknown principal.
pub(crate) fn unknown_principal(name: &str) -> Error {
    Error::new(Code::UnknownPrincipal, format!("the principal `{name}` has no access"))
        .entity(name)
        .attempt(Action::ListMembers)
}

/// Refuses what only an operator may do, if that becomes clear only inside an op.
pub(crate) fn operator(work: &UnitOfWork<'_>, what: &str) -> Result<()> {
    match &work.call.actor.principal {
        None => Ok(()),
        Some(grants) => grants
            .check(&work.project.key, what, Some(Role::Operator))
            .map(drop)
            .map_err(|error| error.at(Stage::Decide)),
    }
}

/// Whether the actor may override other holders: people may, and through a server they need the operator role.
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
