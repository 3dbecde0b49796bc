//! The workspace of a call: its checkout, its project, its configuration and the location of its store.
//!
//! Everything is resolved from the project, never from the working directory alone, so that worktrees, subdirectories,
//! hooks and other homes share one project and one store, or are refused. It reads files of git and of the user; it opens
//! no store and knows no caller.

pub(crate) mod config;
pub(crate) mod file;
pub(crate) mod git;
pub(crate) mod git_changes;
pub(crate) mod git_config;
mod git_index;
mod git_object;
pub(crate) mod gitignore;
pub(crate) mod head;
pub(crate) mod location;
pub(crate) mod path_args;
pub(crate) mod pin;
pub(crate) mod process;
pub(crate) mod project;
pub(crate) mod restore_record;
pub(crate) mod scratch;
pub(crate) mod server;
pub(crate) mod server_record;
pub(crate) mod tracking;
pub(crate) mod trust;

#[cfg(test)]
pub(crate) mod fixture;

use std::path::{Path, PathBuf};

use tenure_core::action::Action;
use tenure_core::error::detail::RecordedPlace;
pub(crate) use tenure_core::name::fnv1a;
use tenure_core::{Code, Error, Result, Stage};

use crate::env::Env;
use crate::settings::Globals;

use config::{Config, SettingLevel};
pub(crate) use location::StoreLocation;
use pin::Pin;
use project::{KeyKind, ProjectRef};

/// The directory that a project keeps its own store in.
const STORE_DIR: &str = ".tenure";

/// The workspace of a call.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    /// What paths are relative to: the top of the checkout, or of a project without git.
    pub(crate) dir: PathBuf,
    pub(crate) checkout: Option<git::GitCheckout>,
    pub(crate) project: ProjectRef,
    pub(crate) store: StoreLocation,
    /// The source of the store's location.
    pub(crate) store_from: StoreFrom,
    /// Whether only the repository names the project: in `tenure.toml`, or in the pin that its git directory has.
    pub(crate) named_by_repository: bool,
    pub(crate) config: Config,
}

/// The source of a store's location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFrom {
    Flag,
    Variable,
    ProjectConfig,
    ProjectDirectory,
    UserConfig,
    User,
    /// A server, by `TENURE_URL`.
    UrlVariable,
}

impl StoreFrom {
    /// The words shown.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            StoreFrom::Flag => "--store",
            StoreFrom::Variable => "TENURE_STORE",
            StoreFrom::ProjectConfig => "tenure.toml",
            StoreFrom::ProjectDirectory => "the project's .tenure directory",
            StoreFrom::UserConfig => "the user's config.toml",
            StoreFrom::User => "the user's store",
            StoreFrom::UrlVariable => "TENURE_URL",
        }
    }
}

/// Resolves the workspace of the working directory.
pub(crate) fn resolve(globals: &Globals, env: &Env) -> Result<Workspace> {
    resolve_at(env.cwd()?, globals, env)
}

/// Resolves the workspace that a path is in, whatever the working directory.
pub(crate) fn resolve_at(path: &Path, globals: &Globals, env: &Env) -> Result<Workspace> {
    let checkout = git::locate(path)?;
    let (dir, root) = match &checkout {
        Some(checkout) => (checkout.top.clone(), checkout.main.clone()),
        None => {
            let dir = directory_without_git(path)?;
            (dir.clone(), dir)
        }
    };
    let places = [dir.as_path(), root.as_path()];
    let config = config::load(if dir == root { &places[..1] } else { &places }, env)?;
    let (store, store_from) = find_store(globals, env, &config, &root)?;
    let given = match &globals.project {
        Some(name) => Some(name.as_str()),
        None => env.var("TENURE_PROJECT")?,
    };
    let (project, named_by_repository) = match (given.or(config.project.as_deref()), &checkout, &store) {
        (Some(name), _, _) => (ProjectRef::named(name)?, given.is_none()),
        (None, Some(checkout), StoreLocation::Sqlite(_)) => (ProjectRef::by_id(checkout)?, false),
        (None, Some(checkout), StoreLocation::Postgres(_) | StoreLocation::Server(_)) => shared_repository(checkout)?,
        (None, None, StoreLocation::Sqlite(_)) => (ProjectRef::by_dir(&dir, None), false),
        (None, None, StoreLocation::Postgres(_) | StoreLocation::Server(_)) => {
            (ProjectRef::by_dir(&dir, Some(&env.hostname())), false)
        }
    };
    Ok(Workspace { dir, checkout, project, store, store_from, named_by_repository, config })
}

/// The project's directory where there is no git: the nearest one above that has a store or a configuration of its own,
/// so that subdirectories are one project; else the directory itself.
fn directory_without_git(path: &Path) -> Result<PathBuf> {
    let start = git::canonical(path)?;
    let marked = |dir: &&Path| dir.join(STORE_DIR).is_dir() || dir.join(config::FILE).is_file();
    Ok(start.ancestors().find(marked).unwrap_or(&start).to_path_buf())
}

/// The store: `root` is the top of the main checkout, so that all worktrees find the same one.
fn find_store(globals: &Globals, env: &Env, config: &Config, root: &Path) -> Result<(StoreLocation, StoreFrom)> {
    if let Some(given) = &globals.store {
        return Ok((StoreLocation::parse(given, env.cwd()?, env)?, StoreFrom::Flag));
    }
    match (env.var("TENURE_STORE")?, env.var("TENURE_URL")?) {
        (Some(_), Some(_)) => return Err(server::both()),
        (Some(given), None) => return Ok((StoreLocation::parse(given, env.cwd()?, env)?, StoreFrom::Variable)),
        (None, Some(given)) => {
            return Ok((StoreLocation::Server(server::address(given, env)?), StoreFrom::UrlVariable));
        }
        (None, None) => {}
    }
    // Of one level a file names a store or a server, never both; the project's own counts before the user's.
    let serving = config.server.as_ref();
    if let Some(setting) = serving.filter(|setting| setting.level == SettingLevel::Project) {
        return Ok((StoreLocation::Server(server::address(&setting.value, env)?), StoreFrom::ProjectConfig));
    }
    let set = config.store.as_ref();
    // A committed `tenure.toml` is in every worktree: seen from the file, a relative path would be as many stores.
    if let Some(setting) = set.filter(|setting| setting.level == SettingLevel::Project) {
        return Ok((StoreLocation::parse(&setting.value, root, env)?, StoreFrom::ProjectConfig));
    }
    let own = root.join(STORE_DIR);
    if own.is_dir() {
        return Ok((StoreLocation::inside(&own), StoreFrom::ProjectDirectory));
    }
    if let Some(setting) = serving {
        return Ok((StoreLocation::Server(server::address(&setting.value, env)?), StoreFrom::UserConfig));
    }
    match set {
        Some(setting) => {
            let base = setting.file.parent().unwrap_or(root);
            Ok((StoreLocation::parse(&setting.value, base, env)?, StoreFrom::UserConfig))
        }
        None => Ok((StoreLocation::of_user(env)?, StoreFrom::User)),
    }
}

/// The key of a repository on a store that several machines share. The pinned key counts whichever store it was pinned
/// for: if that is not the one resolved, the pin refuses the call anyway. A git directory can come in an archive: whether
/// the repository names the project by a pin that nothing else in it leads to.
fn shared_repository(checkout: &git::GitCheckout) -> Result<(ProjectRef, bool)> {
    let url = git_config::origin(&checkout.common)?;
    let by_url = url.as_deref().and_then(git_config::normalise_url).map(|url| ProjectRef::by_url(&url));
    if let Some(pin) = pin::read_pin(&checkout.common)? {
        let project = ProjectRef::by_pin(&pin.key, checkout)?;
        let is_shared = matches!(project.kind, KeyKind::Name | KeyKind::Url);
        let is_expected = by_url.is_some_and(|expected| expected.key == project.key);
        return Ok((project, is_shared && !is_expected));
    }
    match by_url {
        Some(project) => Ok((project, false)),
        None => Ok((ProjectRef::by_id(checkout)?, false)),
    }
}

impl Workspace {
    /// The project's key for a write: a repository without an id gets one now.
    pub(crate) fn ensure_key(&self, fill: &mut dyn FnMut(&mut [u8])) -> Result<String> {
        match (&self.project.key, &self.checkout) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(checkout)) => Ok(project::id_key(&pin::make_id(&checkout.common, fill)?)),
            (None, None) => Err(Error::bug("a project without git has no key")),
        }
    }

    /// Refuses the call if the project is pinned to another store than the one with this id.
    pub(crate) fn check_pin(&self, store_id: &str) -> Result<()> {
        match self.pin()? {
            Some(pin) if pin.store != store_id => Err(self.pinned_elsewhere(&pin)),
            _ => Ok(()),
        }
    }

    /// Refuses the call if the resolved store does not exist while the project is pinned to one: an empty answer, or a
    /// new store, would hide the work that is there.
    pub(crate) fn check_no_pin(&self) -> Result<()> {
        let Some(pin) = self.pin()? else { return Ok(()) };
        if pin.location != self.store.display() {
            return Err(self.pinned_elsewhere(&pin));
        }
        let message =
            format!("the store that project {} is pinned to does not exist: {}", self.project.label, pin.location);
        Err(Error::new(Code::PinnedStoreGone, message)
            .at(Stage::Resolve)
            .entity(pin.location)
            .hint("Move it back, or restore a backup.")
            .person("If it is lost, a person pins a new store with `tenure project pin`."))
    }

    /// Pins the project to the store with this id, unless it is pinned; refuses if that is another store.
    pub(crate) fn ensure_pin(&self, store_id: &str, key: &str) -> Result<()> {
        let Some(checkout) = &self.checkout else { return Ok(()) };
        let wanted = Pin { store: store_id.into(), location: self.store.display(), key: key.into() };
        let pin = pin::make_pin(&checkout.common, &wanted)?;
        if pin.store == store_id { Ok(()) } else { Err(self.pinned_elsewhere(&pin)) }
    }

    /// Refuses a command that works on the store itself, where the project is on a server.
    pub(crate) fn needs_store(&self, what: &str) -> Result<()> {
        match &self.store {
            StoreLocation::Server(address) => Err(tenure_client::needs_store(what, &address.to_string())),
            StoreLocation::Sqlite(_) | StoreLocation::Postgres(_) => Ok(()),
        }
    }

    /// Keeps git away from a store that is in a checkout.
    pub(crate) fn keep_git_out(&self, env: &Env) -> Result<()> {
        match &self.store {
            StoreLocation::Sqlite(path) => tracking::keep_out(path, env),
            StoreLocation::Postgres(_) | StoreLocation::Server(_) => Ok(()),
        }
    }

    /// The top of the working tree, as holds name it.
    pub(crate) fn tree_path(&self) -> String {
        project::encode(self.checkout.as_ref().map_or(&self.dir, |checkout| &checkout.top))
    }

    /// The pin, if the project has one.
    pub(crate) fn pin(&self) -> Result<Option<Pin>> {
        self.checkout.as_ref().map_or(Ok(None), |checkout| pin::read_pin(&checkout.common))
    }

    /// Path, device and inode of the common git directory; None without git.
    pub(crate) fn common_identity(&self) -> Option<RecordedPlace> {
        project::place_of(&self.checkout.as_ref()?.common).ok()
    }

    /// Whether this repository is a copy of the one at a recorded place; false also where nothing can be compared.
    pub(crate) fn is_copy_of(&self, recorded: &RecordedPlace, key: &str) -> Result<bool> {
        self.common_identity().map_or(Ok(false), |ours| project::is_copy(recorded, &ours, key))
    }

    /// The refusal of a call that resolved another store, or another copy of it, than the project is pinned to.
    pub(crate) fn pinned_elsewhere(&self, pin: &Pin) -> Error {
        let here = self.store.display();
        let message = if pin.location == here {
            format!("the store at {here} is not the one that project {} was pinned to there", self.project.label)
        } else {
            format!(
                "project {} is pinned to the store at {}, but this call resolved the store at {here} ({})",
                self.project.label,
                pin.location,
                self.store_from.as_str(),
            )
        };
        let file = self.checkout.as_ref().map(|checkout| pin::pin_file(&checkout.common).display().to_string());
        Error::new(Code::PinnedElsewhere, message)
            .at(Stage::Resolve)
            .entity(self.project.key.clone().unwrap_or_else(|| self.project.label.clone()))
            .hint("Check --store, TENURE_STORE, HOME and tenure.toml: all sessions of a project share one store.")
            .attempt(Action::Whoami)
            .person("If the project is meant to use the other store, a person changes that with `tenure project pin`.")
            .detail("pinned", pin.location.clone())
            .detail("resolved", here)
            .detail("file", file)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads small files of its own")]
mod tests;
