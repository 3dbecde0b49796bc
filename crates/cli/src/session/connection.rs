//! The connection to the kernel: in this process, through the server beside the store, or through a server elsewhere.
//!
//! It is chosen from settings and files alone. Nothing is sent and no store is made before the first request.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tenure_client::{Client, Http, Sidecar, needs_store, socket_path as sockets};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::{Condition, Kernel};
use tenure_store::{Clock, Durability, Location, Options, SHORT_LOG, Store, SystemClock};

use super::server_timeouts::ServerTimeout;
use super::{Session, StoreUse, trust};
use crate::env::Env;
use crate::settings::Settings;
use crate::workspace::pin::Pin;
use crate::workspace::restore_record::Records;
use crate::workspace::{StoreLocation, Workspace, config, server};

/// How long a hook lets PostgreSQL take for a connection and for a statement: its tool ends it after 5 s, and a guard that
/// must refuse what it could not check has to answer before that. No hook waits longer than this for its turn.
const HOOK_ANSWER: Duration = Duration::from_secs(2);
/// The least that a hook waits for a remote server: name resolution, a TLS handshake and an answer.
const REMOTE_LEAST: Duration = Duration::from_millis(1_500);

/// A connection, and the terms of the repository under which it is used.
pub(crate) struct StoreConnection {
    pub(crate) client: Client,
    /// The store that the repository was pinned to when the session was opened.
    pub(super) pin: Option<Pin>,
    /// The condition under which the store answers, where only the repository names the store or the project.
    pub(super) condition: Condition,
}

impl StoreConnection {
    /// The connection of a workspace.
    pub(super) fn open(settings: &Settings<'_>, workspace: &Workspace, store_use: StoreUse) -> Result<StoreConnection> {
        let condition = trust::condition(workspace, settings.env, store_use)?;
        let recent = store_use.hook().and_then(|_| ServerTimeout::of(settings.env, &workspace.store));
        if recent.is_some_and(|timeout| timeout.is_recent(SystemClock.now())) {
            return Err(Error::new(Code::Unreachable, "the store did not answer a moment ago").at(Stage::Open));
        }
        let pin = match store_use {
            // A pin that is damaged, or of another store, is what the person is about to replace.
            StoreUse::Choose => None,
            StoreUse::Restore => workspace.pin().ok().flatten(),
            _ => pin(workspace)?,
        };
        let client = client(settings, workspace, pin.as_ref(), store_use)?;
        Ok(StoreConnection { client, pin, condition })
    }

    /// The condition of a call about the whole store, or a project that is named.
    pub(super) fn condition_of_store(&self) -> Condition {
        match &self.condition {
            Condition::NewProject | Condition::KnownProject(_) => Condition::None,
            Condition::KnownBoth(repository) => Condition::KnownStore(repository.clone()),
            other => other.clone(),
        }
    }

    /// The condition once the project is pinned: other processes of this clone may have pinned it meanwhile.
    pub(super) fn condition_once_pinned(&self, session: &Session<'_>) -> Result<Condition> {
        match &self.condition {
            Condition::NewProject => session.workspace.condition_of_name(session.settings.env),
            other => Ok(other.clone()),
        }
    }
}

/// The connection of a session; the refusal, where there is none.
pub(crate) fn of<'s>(session: &'s Session<'_>) -> Result<&'s StoreConnection> {
    session.connection.as_ref().map_err(Error::repeated)
}

/// The kernel on the store, for commands that work on the store itself.
pub(crate) fn kernel<'s>(session: &'s Session<'_>, what: &str) -> Result<&'s Kernel> {
    session.workspace.needs_store(what)?;
    let connection = of(session)?;
    trust::refuse_unknown_store(session, connection)?;
    connection.client.kernel(what)
}

/// A kernel of its own on the store, for a process that serves others.
pub(crate) fn serving_kernel(session: &Session<'_>, what: &str) -> Result<Kernel> {
    let (workspace, env) = (&session.workspace, session.settings.env);
    workspace.needs_store(what)?;
    let connection = of(session)?;
    trust::refuse_unknown_store(session, connection)?;
    workspace.consent_to_new_store(env)?;
    let usual = options(env, workspace, connection.pin.as_ref(), StoreUse::Write);
    let options = Options { one_connection: false, one_shot: false, leave_log: 0, ..usual };
    match &workspace.store {
        StoreLocation::Postgres(url) => {
            Kernel::new(Location::Postgres(url.clone()), as_user(env, options)?, tenure_client::phrasing::of)
        }
        StoreLocation::Sqlite(path) => Kernel::new(Location::File(path.clone()), options, tenure_client::phrasing::of),
        StoreLocation::Server(address) => Err(needs_store(what, &address.to_string())),
    }
}

/// Limits how long an answer of the database may take from now on. A remote server has its own limit. A missing store is
/// reported by the next request.
pub(crate) fn limit_answers(session: &Session<'_>, limit: Duration) {
    if let Some(kernel) = of(session).ok().and_then(|connection| connection.client.local()) {
        kernel.store().hurry(limit);
    }
}

/// The pin of the repository. A store that was restored to a second place has the id of the first. As long as the first is
/// where the project is pinned to, work in the second would split the project.
fn pin(workspace: &Workspace) -> Result<Option<Pin>> {
    let Some(pin) = workspace.pin()? else { return Ok(None) };
    let there = Path::new(&pin.location);
    let is_here = pin.location == workspace.store.display() || !there.is_absolute() || !there.is_file();
    let is_same = match &workspace.store {
        StoreLocation::Sqlite(here) => is_same_file(here, there),
        StoreLocation::Postgres(_) => false,
        // A server may serve that very file; the store's id says whether it does.
        StoreLocation::Server(_) => true,
    };
    if is_here || is_same {
        return Ok(Some(pin));
    }
    let options = Options { may_create: false, ..Options::default() };
    match Store::new(Location::File(there.to_owned()), options)?.identity() {
        Ok(Some(identity)) if identity.id == pin.store => Err(workspace.pinned_elsewhere(&pin)),
        _ => Ok(Some(pin)),
    }
}

/// Whether two paths lead to one file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    file(one).is_some_and(|one| file(other) == Some(one))
}

fn client(settings: &Settings<'_>, workspace: &Workspace, pin: Option<&Pin>, store_use: StoreUse) -> Result<Client> {
    let env = settings.env;
    let local = |location, options| {
        Kernel::new(location, options, tenure_client::phrasing::of).map(|kernel| Client::Local(Arc::new(kernel)))
    };
    match &workspace.store {
        StoreLocation::Server(address) => {
            let token = server::token(env, address, workspace.store_from)?;
            // A hook that gives up sooner than a connection is made would never guard anything.
            let patience = store_use.hook().map(|time| time.patience.max(REMOTE_LEAST));
            let patience = patience.unwrap_or(Options::default().patience);
            let http = Http::new(address.clone(), &token, patience, &settings.connections)?;
            Ok(Client::Remote(Box::new(http.ends(store_use.hook().map(|time| time.deadline)))))
        }
        StoreLocation::Postgres(url) => {
            local(Location::Postgres(url.clone()), as_user(env, options(env, workspace, pin, store_use))?)
        }
        StoreLocation::Sqlite(path) => {
            let options = options(env, workspace, pin, store_use);
            let allowed = env.os("TENURE_SOCKET").is_none() || env.says_yes("TENURE_SOCKET");
            let runtime = env.directory("XDG_RUNTIME_DIR");
            let socket = if allowed { sockets::socket_path(path, runtime.as_deref()) } else { None };
            match socket.filter(|socket| sockets::is_own_socket(socket)) {
                Some(socket) => {
                    let store = pin.map(|pin| pin.store.clone());
                    let sidecar = Sidecar::new(path.clone(), options, socket, store, writes(store_use))?;
                    Ok(Client::Sidecar(Box::new(sidecar)))
                }
                None => local(Location::File(path.clone()), options),
            }
        }
    }
}

/// Whether the command is going to write.
const fn writes(store_use: StoreUse) -> bool {
    match store_use {
        StoreUse::Write | StoreUse::Restore => true,
        StoreUse::Read | StoreUse::Follow | StoreUse::Choose => false,
        StoreUse::Hook { writes, .. } => writes,
    }
}

fn options(env: &Env, workspace: &Workspace, pin: Option<&Pin>, store_use: StoreUse) -> Options {
    let (usual, hook) = (Options::default(), store_use.hook());
    let can_write = writes(store_use) || matches!(store_use, StoreUse::Follow);
    Options {
        durability: match workspace.config.durability {
            config::DurabilitySetting::Full => Durability::Full,
            config::DurabilitySetting::Fast => Durability::Fast,
        },
        may_create: match store_use {
            StoreUse::Hook { .. } => false,
            StoreUse::Restore | StoreUse::Choose => true,
            // A store that the project is pinned to exists; where it is missing, a new one would split the project.
            StoreUse::Read | StoreUse::Follow | StoreUse::Write => pin.is_none(),
        },
        patience: hook.map_or(usual.patience, |time| time.patience),
        answer: hook.map_or(usual.answer, |_| HOOK_ANSWER),
        deadline: hook.map(|time| time.deadline),
        one_connection: can_write,
        one_shot: !can_write,
        leave_log: SHORT_LOG,
        any_file_system: env.says_yes("TENURE_FORCE_FILE_SYSTEM"),
        continued: Some(Arc::new(Records::of(env))),
        ..usual
    }
}

/// The user and the password of PostgreSQL, where the URL has none.
fn as_user(env: &Env, options: Options) -> Result<Options> {
    Ok(Options {
        user: env.var("PGUSER")?.map(str::to_owned).or_else(|| env.user_name()),
        password: env.var("PGPASSWORD")?.map(str::to_owned),
        ..options
    })
}
