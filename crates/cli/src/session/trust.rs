//! How far a command trusts the repository it runs in: whether that may name the store and the project.

use tenure_client::Client;
use tenure_core::{Code, Error, Result};
use tenure_kernel::query::switched_on::SwitchedOn;
use tenure_kernel::{Actor, Condition};

use super::Session;
use crate::workspace::{StoreLocation, tracking};

/// Whether a call was refused because only a repository names its store or its project. Hooks are silent then.
pub(crate) fn is_unconfirmed(error: &Error) -> bool {
    matches!(error.code(), Code::UnconfirmedStore | Code::UnconfirmedProject)
}

impl Session<'_> {
    /// What must be so before the store answers; a refusal where it is not even opened.
    pub(super) fn condition(&self) -> Result<&Condition> {
        if let Some(condition) = self.condition.get() {
            return Ok(condition);
        }
        let workspace = self.workspace()?;
        let condition = match (self.repins.get(), &workspace.store) {
            (false, _) => workspace.condition(self.env)?,
            // A person chooses the store; one that git would put back is none.
            (true, StoreLocation::Sqlite(path)) => match tracking::tracked(path)? {
                Some(found) => return Err(tracking::refused(&found, path)),
                None => Condition::None,
            },
            (true, StoreLocation::Postgres(_) | StoreLocation::Server(_)) => Condition::None,
        };
        Ok(self.condition.get_or_init(|| condition))
    }

    /// The same for a call about the whole store, or a project that was named.
    pub(super) fn store_condition(&self) -> Result<Condition> {
        Ok(match self.condition()? {
            Condition::NewProject | Condition::KnownProject(_) => Condition::None,
            Condition::KnownBoth(repository) => Condition::KnownStore(repository.clone()),
            other => other.clone(),
        })
    }

    /// The same once the project is pinned: what other processes of this clone have done meanwhile counts.
    pub(super) fn condition_of_pinned(&self) -> Result<Condition> {
        match self.condition()? {
            Condition::NewProject => self.workspace()?.condition_of_name(self.env),
            other => Ok(other.clone()),
        }
    }

    /// Refuses a project that only the repository names before anything is written for it. What else is wrong the op says
    /// better.
    pub(super) fn refuse_unconfirmed_name(&self, client: &Client) -> Result<()> {
        if *self.condition()? != Condition::NewProject {
            return Ok(());
        }
        let Some(mut call) = self.call_as(Actor::named("nobody"), "query")? else { return Ok(()) };
        match self.answered(&mut call, |call| client.ask(call, &SwitchedOn {})) {
            Err(error) if is_unconfirmed(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Keeps git away from a store that is in a checkout.
    pub(super) fn keep_git_out(&self) -> Result<()> {
        match &self.workspace()?.store {
            StoreLocation::Sqlite(path) => tracking::keep_out(path, self.env),
            StoreLocation::Postgres(_) | StoreLocation::Server(_) => Ok(()),
        }
    }

    /// Refuses a store that was found in the repository and that this machine does not know, for what works on the store
    /// itself.
    pub(super) fn refuse_unknown_store(&self) -> Result<()> {
        if !matches!(self.condition()?, Condition::KnownStore(_) | Condition::KnownBoth(_)) {
            return Ok(());
        }
        match self.ask(&SwitchedOn {}) {
            Err(error) if error.code() == Code::UnconfirmedStore => Err(error),
            _ => Ok(()),
        }
    }
}
