//! The condition for answering a call whose store or project only a repository names.
//!
//! Anyone can commit a file with a name in it. But no commit can forge what this machine has recorded: that the project
//! was used from the directory that the call comes from.

use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::{Code, Error, Result, Stage, Time, text};
use tenure_store::Tx;
use tenure_store::table::{checkout, project};

use crate::call::Call;

/// The condition for answering a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// No condition: a person named the store and the project, or confirmed them.
    #[default]
    None,
    /// The project has not been used yet.
    NewProject,
    /// The project has not been used yet, or it was used from this repository before.
    KnownProject(Repository),
    /// The store has no projects yet, or it was used from this repository before.
    KnownStore(Repository),
    /// Both the condition on the store and the one on the project.
    KnownBoth(Repository),
}

/// A repository as the store records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    pub host: String,
    /// The common git directory; without git, the directory itself.
    pub path: String,
    /// Its device; 0 without git.
    pub device: i64,
    /// Its inode; 0 without git.
    pub inode: i64,
}

impl Repository {
    /// Whether a recorded working tree belongs to this repository. Device numbers change when a machine reboots, and a
    /// repository that moves keeps its inode. So either the device or the path may differ.
    fn has(&self, row: &checkout::Row) -> bool {
        if row.host != self.host {
            return false;
        }
        if self.inode == 0 {
            return row.common_path.is_empty() && row.path == self.path;
        }
        row.common_inode == self.inode && (row.common_device == self.device || row.common_path == self.path)
    }
}

impl Condition {
    /// The texts in it, for validation.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        let repository = match self {
            Condition::None | Condition::NewProject => None,
            Condition::KnownProject(repository)
            | Condition::KnownStore(repository)
            | Condition::KnownBoth(repository) => Some(repository),
        };
        repository.into_iter().flat_map(|repository| [&repository.host, &repository.path])
    }

    /// Refuses a call whose condition is not met. `places` are the working trees of the project on the host of the
    /// call. `clock` is the time at which the row of a new project was created.
    pub(crate) fn check(
        &self,
        tx: &mut dyn Tx,
        call: &Call,
        (project, clock): (Option<&project::Row>, Time),
        places: &[checkout::Row],
    ) -> Result<()> {
        let is_new = project.is_none_or(|project| !project.is_switched_on());
        let is_whole_store = call.project.key == project::WHOLE_STORE;
        match self {
            Condition::None => Ok(()),
            Condition::NewProject if is_new || is_whole_store => Ok(()),
            Condition::NewProject => Err(unconfirmed_project(&call.project.label)),
            Condition::KnownProject(repository)
            | Condition::KnownStore(repository)
            | Condition::KnownBoth(repository)
                if places.iter().any(|row| repository.has(row)) =>
            {
                Ok(())
            }
            Condition::KnownProject(_) if is_new || is_whole_store => Ok(()),
            Condition::KnownProject(_) => Err(unconfirmed_project(&call.project.label)),
            Condition::KnownStore(repository) | Condition::KnownBoth(repository) => {
                let is_known = checkout::of_inode(tx, &repository.host, repository.inode)?
                    .iter()
                    .any(|row| repository.has(row))
                    || project::is_none(tx, project.filter(|row| row.created_at == clock && !row.is_switched_on()))?;
                match self {
                    _ if !is_known => Err(unconfirmed_store("the store that this repository contains")),
                    Condition::KnownBoth(_) if !is_new && !is_whole_store => {
                        Err(unconfirmed_project(&call.project.label))
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

/// The refusal of a project that only a repository names.
fn unconfirmed_project(label: &str) -> Error {
    let label = text::excerpt(label);
    Error::new(
        Code::UnconfirmedProject,
        format!("this repository names the project {label}, which exists and was not used from this clone"),
    )
    .at(Stage::Resolve)
    .entity(label)
    .hint("Nothing was shown or changed. A person must confirm the project for this clone first.")
    .attempt(Action::ShowProject)
    .person(
        Advice::from("If this clone belongs to that project, a person confirms it here, once: ")
            .action(Action::PinProject)
            .text("."),
    )
}

/// The refusal of a store that only a repository names.
pub fn unconfirmed_store(what: &str) -> Error {
    Error::new(Code::UnconfirmedStore, format!("{what} needs the confirmation of a person for this clone"))
        .at(Stage::Resolve)
        .hint(
            Advice::from("Nothing was opened, shown or sent. ")
                .action(Action::ShowProject)
                .text(" shows what this repository names."),
        )
        .attempt(Action::ShowProject)
        .person(
            Advice::from("If you trust the store, a person confirms it here, once: ")
                .action(Action::PinProject)
                .text("."),
        )
}
