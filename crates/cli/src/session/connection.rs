//! The connection to the kernel: in this process, through the server beside the store, or through a server elsewhere.

use std::sync::Arc;
use std::time::Duration;

use tenure_client::{Client, Http, Sidecar, needs_store, socket_path as sockets};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::Kernel;
use tenure_store::{Clock, Durability, Options, SystemClock};

use super::server_timeouts::ServerTimeout;
use super::{HOOK_ANSWER, Session};
use crate::workspace::restore_record::Records;
use crate::workspace::{StoreLocation, config, server};

/// The least that a hook waits for a server elsewhere: a name to be found, a connection made safe, an answer.
const FAR_LEAST: Duration = Duration::from_millis(1_500);

impl Session<'_> {
    /// The way to the kernel of this place.
    pub(crate) fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        self.condition()?;
        let client = self.find_way()?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The kernel on the store of this place, for what needs the store itself.
    pub(crate) fn kernel(&self, what: &str) -> Result<&Kernel> {
        self.needs_store(what)?;
        self.refuse_unknown_store()?;
        self.client()?.kernel(what)
    }

    /// Says how long an answer of the database may take from now on. A server far away has its own patience, and where
    /// there is no store the op says so.
    pub(crate) fn hurry(&self, limit: Duration) {
        let what = "waiting";
        if let Ok(kernel) = self.needs_store(what).and_then(|()| self.client()?.kernel(what)) {
            kernel.store().hurry(limit);
        }
    }

    /// Refuses what works on the store itself where the project is on a server, before anything is done for it.
    pub(crate) fn needs_store(&self, what: &str) -> Result<()> {
        match &self.workspace()?.store {
            StoreLocation::Server(address) => Err(needs_store(what, &address.to_string())),
            StoreLocation::Sqlite(_) | StoreLocation::Postgres(_) => Ok(()),
        }
    }

    /// A kernel of its own on the store of this place, for a process that goes on answering others.
    pub(crate) fn own_kernel(&self, what: &str) -> Result<Kernel> {
        self.needs_store(what)?;
        self.refuse_unknown_store()?;
        self.workspace()?.consent_to_new_store(self.env)?;
        self.will_write();
        let options = Options { one_connection: false, one_shot: false, ..self.options()? };
        match &self.workspace()?.store {
            StoreLocation::Postgres(url) => Kernel::new(
                tenure_store::Location::Postgres(url.clone()),
                self.as_user(options)?,
                tenure_client::phrasing::of,
            ),
            StoreLocation::Sqlite(path) => {
                Kernel::new(tenure_store::Location::File(path.clone()), options, tenure_client::phrasing::of)
            }
            StoreLocation::Server(address) => Err(needs_store(what, &address.to_string())),
        }
    }

    /// Who PostgreSQL is asked as, where the URL does not say.
    fn as_user(&self, options: Options) -> Result<Options> {
        Ok(Options {
            user: self.env.var("PGUSER")?.map(str::to_owned).or_else(|| self.env.user_name()),
            password: self.env.var("PGPASSWORD")?.map(str::to_owned),
            ..options
        })
    }

    fn find_way(&self) -> Result<Client> {
        let workspace = self.workspace()?;
        if self
            .hook
            .get()
            .and_then(|_| ServerTimeout::of(self.env, &workspace.store))
            .is_some_and(|it| it.is_recent(SystemClock.now()))
        {
            return Err(Error::new(Code::Unreachable, "the store did not answer a moment ago").at(Stage::Open));
        }
        let direct = |location, options| {
            Kernel::new(location, options, tenure_client::phrasing::of).map(|kernel| Client::Local(Arc::new(kernel)))
        };
        match &workspace.store {
            StoreLocation::Server(address) => {
                let token = server::token(self.env, address, workspace.store_from)?;
                // A hook that gives up sooner than a connection is made would never guard anything.
                let patience = self.hook.get().map_or(Options::default().patience, |time| time.patience.max(FAR_LEAST));
                let http = Http::new(address.clone(), &token, patience, &self.connections)?;
                Ok(Client::Remote(Box::new(http.ends(self.hook.get().map(|time| time.deadline)))))
            }
            StoreLocation::Postgres(url) => {
                direct(tenure_store::Location::Postgres(url.clone()), self.as_user(self.options()?)?)
            }
            StoreLocation::Sqlite(path) => {
                let options = self.options()?;
                let allowed = self.env.os("TENURE_SOCKET").is_none() || self.env.says_yes("TENURE_SOCKET");
                let runtime = self.env.directory("XDG_RUNTIME_DIR");
                let socket = if allowed { sockets::socket_path(path, runtime.as_deref()) } else { None };
                match socket.filter(|socket| sockets::is_own_socket(socket)) {
                    Some(socket) => {
                        let store = self.pin()?.map(|pin| pin.store.clone());
                        let sidecar = Sidecar::new(path.clone(), options, socket, store, self.writes.get())?;
                        Ok(Client::Sidecar(Box::new(sidecar)))
                    }
                    None => direct(tenure_store::Location::File(path.clone()), options),
                }
            }
        }
    }

    fn options(&self) -> Result<Options> {
        let can_write = self.writes.get() || self.lasts.get();
        Ok(Options {
            durability: match self.workspace()?.config.durability {
                config::DurabilitySetting::Full => Durability::Full,
                config::DurabilitySetting::Fast => Durability::Fast,
            },
            // A store that the project is pinned to exists; if it is not there, making another would split the project.
            may_create: self.hook.get().is_none() && (self.repins.get() || self.pin()?.is_none()),
            patience: self.hook.get().map_or(Options::default().patience, |time| time.patience),
            answer: self.hook.get().map_or(Options::default().answer, |_| HOOK_ANSWER),
            deadline: self.hook.get().map(|time| time.deadline),
            one_connection: can_write,
            one_shot: !can_write,
            any_file_system: self.env.says_yes("TENURE_FORCE_FILE_SYSTEM"),
            continued: Some(Arc::new(Records::of(self.env))),
            ..Options::default()
        })
    }
}
