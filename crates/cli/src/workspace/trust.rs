//! What is believed of a repository that may just have been cloned.
//!
//! Whoever made a repository wrote its files: `tenure.toml`, a committed `.tenure/`, and in an archive even its git
//! directory. None of it decides which store is opened or which project is shown. That is for the person: by a flag, a
//! variable, the user's own configuration, or by a yes for this clone. The yes is kept with the user's own state, for one
//! directory: its path, its inode and the time it was made, so that another clone in its place does not inherit it.
//!
//! What was used from this very directory before needs no yes: the store remembers that (see `Condition`), and nobody can
//! commit the number of an inode on another machine.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use tenure_core::error::detail::TrackedFile;
use tenure_core::{Code, Error, Kind, Result, Stage};
use tenure_kernel::{Condition, Repository, unconfirmed_store};

use super::project::encode;
use super::{StoreFrom, StoreLocation, Workspace, file, fnv1a, git, pin, tracking};
use crate::env::Env;
use crate::workspace::process::HostFacts;

/// What a person said yes to for one clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Yes {
    /// The common git directory; without git, the directory itself.
    path: String,
    inode: u64,
    /// When the directory was made, in nanoseconds; where the file system does not say, its device.
    #[serde(default)]
    born: Option<u64>,
    #[serde(default)]
    device: Option<u64>,
    /// The store: a file by its real path, an address without a password.
    #[serde(default)]
    store: Option<String>,
    /// The key of the project.
    #[serde(default)]
    project: Option<String>,
}

impl Workspace {
    /// What must be so before the store is asked; a refusal where it is not asked at all.
    pub(crate) fn condition(&self, env: &Env) -> Result<Condition> {
        let by_repository = matches!(self.store_from, StoreFrom::ProjectConfig | StoreFrom::ProjectDirectory);
        if let StoreLocation::Sqlite(path) = &self.store
            && let Some(found) = tracking::tracked(path)?
        {
            let refused = tracking::refused(&found, path);
            // Of a clone that has never been used, hooks say nothing.
            return Err(if by_repository && self.pin()?.is_none() { fresh(&refused) } else { refused });
        }
        let is_named = self.named_by_repository && !self.has_yes(env, |yes| yes.project == self.project.key)?;
        if by_repository && !self.has_yes(env, |yes| yes.store == Some(self.confirmed_store()))? {
            let must_be_known = match &self.store {
                StoreLocation::Sqlite(path) => self.must_be_known(path)?,
                StoreLocation::Postgres(_) | StoreLocation::Server(_) => return Err(self.unconfirmed()),
            };
            if must_be_known {
                let repository = self.repository(env)?;
                return Ok(match is_named {
                    true => Condition::KnownBoth(repository),
                    false => Condition::KnownStore(repository),
                });
            }
        }
        if is_named { self.condition_of_name(env) } else { Ok(Condition::None) }
    }

    /// What must be so before a project is shown that only the repository names. A clone has no pin; that the pin is of
    /// this store is looked at with every call.
    pub(crate) fn condition_of_name(&self, env: &Env) -> Result<Condition> {
        Ok(match self.checkout.is_some() && self.pin()?.is_none() {
            true => Condition::NewProject,
            false => Condition::KnownProject(self.repository(env)?),
        })
    }

    /// Whether a file that the repository brings along or names must have a record of it; not where the file is made by
    /// the first write, in the checkout itself.
    fn must_be_known(&self, path: &Path) -> Result<bool> {
        let is_there = path.symlink_metadata().is_ok_and(|meta| meta.len() > 0);
        // Where it really is: `.tenure` may be a link that came in an archive.
        let top = self.checkout.as_ref().map_or(&self.dir, |checkout| &checkout.main);
        let is_inside = git::canonical(path)?.starts_with(top);
        let is_pinned = || Ok::<_, Error>(self.pin()?.is_some_and(|pin| pin.location == self.store.display()));
        match (is_inside, is_there) {
            (true, false) => Ok(false),
            (false, _) if !is_pinned()? => Err(self.unconfirmed()),
            _ => Ok(true),
        }
    }

    /// This repository as the store remembers it.
    fn repository(&self, env: &Env) -> Result<Repository> {
        let host = HostFacts::host(env);
        Ok(match self.common_identity() {
            Some(seen) => Repository { host, path: seen.path, device: seen.device, inode: seen.inode },
            None => Repository { host, path: encode(&self.dir), device: 0, inode: 0 },
        })
    }

    /// The refusal of the store that this repository names.
    pub(crate) fn unconfirmed(&self) -> Error {
        let store = self.store.display();
        unconfirmed_store(&format!("the store at {store}, which this repository names,"))
            .entity(store.clone())
            .detail("store", store)
            .detail("from", self.store_from.as_str())
    }

    /// Whether a person has to say yes before the store and the project of this place are used.
    pub(crate) fn needs_yes(&self) -> bool {
        self.named_by_repository || matches!(self.store_from, StoreFrom::ProjectConfig | StoreFrom::ProjectDirectory)
    }

    /// Remembers that a person said yes to the store and the project of this place.
    pub(crate) fn say_yes(&self, env: &Env, key: &str) -> Result<()> {
        self.record_yes(env, Some(key.to_owned()))
    }

    /// Remembers the store that the caller is about to make inside this checkout, as if a person had said yes to it. A
    /// write to a project records the repository in the store itself; a write to the whole store does not.
    pub(crate) fn consent_to_new_store(&self, env: &Env) -> Result<()> {
        let by_repository = matches!(self.store_from, StoreFrom::ProjectConfig | StoreFrom::ProjectDirectory);
        let StoreLocation::Sqlite(path) = &self.store else { return Ok(()) };
        if !by_repository || self.must_be_known(path)? {
            return Ok(());
        }
        let project = self.yes(env)?.and_then(|yes| yes.project);
        match self.record_yes(env, project) {
            // Without a place to keep it, a person is asked once the store is there.
            Err(error) if matches!(error.kind(), Kind::Storage | Kind::Usage) => Ok(()),
            other => other,
        }
    }

    fn record_yes(&self, env: &Env, project: Option<String>) -> Result<()> {
        let dir = self.confirmed_dir();
        let Some(file) = file_of(dir, env) else { return Err(no_state()) };
        let mut yes = identity(dir)?;
        yes.store = Some(self.confirmed_store());
        yes.project = project;
        let text = serde_json::to_string(&yes).map_err(|error| {
            Error::bug(
                "a confirmation cannot be \
                                                                           written",
            )
            .cause(error)
        })?;
        if let Some(parent) = file.parent().and_then(Path::parent) {
            std::fs::create_dir_all(parent).map_err(|error| unwritable(&file, error))?;
        }
        pin::replace_file(&file, (text + "\n").as_bytes())
    }

    fn has_yes(&self, env: &Env, to: impl FnOnce(&Yes) -> bool) -> Result<bool> {
        Ok(self.yes(env)?.is_some_and(|yes| to(&yes)))
    }

    /// What a person said yes to for this very directory.
    fn yes(&self, env: &Env) -> Result<Option<Yes>> {
        let dir = self.confirmed_dir();
        let Some(file) = file_of(dir, env) else { return Ok(None) };
        let text = match file::read_with(&file, file::SETTINGS_MAX, file::Links::Refused) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            // In a sandbox that hides it nothing was said.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
            Err(error) => return Err(unreadable(&file, &error.to_string()).cause(error)),
        };
        let said: Yes =
            serde_json::from_slice(&text).map_err(|error| unreadable(&file, "its content was changed").cause(error))?;
        let here = identity(dir)?;
        let is_same =
            (&said.path, said.inode, said.born, said.device) == (&here.path, here.inode, here.born, here.device);
        Ok(is_same.then_some(said))
    }

    /// The store that a yes is for: the file by its real path, so that a link which leads elsewhere later is asked about
    /// again.
    fn confirmed_store(&self) -> String {
        self.behind_links().map_or_else(|| self.store.display(), |real| real.display().to_string())
    }

    /// Where the file of the store really is, if symbolic links lead there. A place that cannot be looked at is the
    /// store's to report.
    pub(crate) fn behind_links(&self) -> Option<PathBuf> {
        match &self.store {
            StoreLocation::Sqlite(path) => git::canonical(path).ok().filter(|real| real != path),
            StoreLocation::Postgres(_) | StoreLocation::Server(_) => None,
        }
    }

    fn confirmed_dir(&self) -> &Path {
        self.checkout.as_ref().map_or(&self.dir, |checkout| &checkout.common)
    }
}

/// A tracked store of a clone that has never been used.
fn fresh(refused: &Error) -> Error {
    let error = Error::new(Code::UnconfirmedStore, refused.message())
        .at(Stage::Resolve)
        .hint(refused.advice().cloned().unwrap_or_default())
        .person("After that, a store inside a repository needs the confirmation of a person: `tenure project pin`.");
    match refused.read::<TrackedFile>() {
        Some(file) => error.entity(&*file.0).with(&file),
        None => error,
    }
}

/// A directory as it is now.
fn identity(dir: &Path) -> Result<Yes> {
    let meta = std::fs::metadata(dir).map_err(|error| unreadable(dir, &error.to_string()).cause(error))?;
    let born = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let born = born.and_then(|since| u64::try_from(since.as_nanos()).ok());
    let device = if born.is_none() { Some(meta.dev()) } else { None };
    Ok(Yes { path: encode(dir), inode: meta.ino(), born, device, store: None, project: None })
}

/// Where it is remembered.
fn file_of(dir: &Path, env: &Env) -> Option<PathBuf> {
    let name = format!("{:016x}.json", fnv1a(encode(dir).as_bytes()));
    Some(env.state_home()?.join("tenure/clones").join(name))
}

fn no_state() -> Error {
    Error::new(Code::NoHome, "HOME is not set and the user has no home directory")
        .at(Stage::Resolve)
        .hint("Set HOME: confirmations are stored below it.")
}

fn unreadable(file: &Path, why: &str) -> Error {
    let message = format!("{} cannot be used: {why}", file.display());
    Error::new(Code::ProjectFileUnreadable, message)
        .at(Stage::Resolve)
        .entity(file.display().to_string())
        .hint("Move it away; a person can confirm again with `tenure project pin`.")
}

fn unwritable(file: &Path, error: std::io::Error) -> Error {
    let message = format!("{} cannot be written: {error}", file.display());
    Error::new(Code::ProjectFileUnwritable, message)
        .at(Stage::Resolve)
        .entity(file.display().to_string())
        .hint("Check the permissions of the directory, then repeat the command.")
        .cause(error)
}
