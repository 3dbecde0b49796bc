//! The session of one command: caller, workspace, store and client, each resolved once, on first use.

mod connection;
mod identity;
mod server_timeouts;
mod trust;

use std::cell::{Cell, OnceCell};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tenure_client::{Client, Connections};
use tenure_core::action::Action;
use tenure_core::error::detail::{OtherStore, RecordedPlace, RecordedPlaces, SentAs};
use tenure_core::id::TaskId;
use tenure_core::session::CommandOwner;
use tenure_core::{Code, Error, Kind, Result, Stage};
use tenure_kernel::Query;
use tenure_kernel::op::{Input, confirm};
use tenure_kernel::query::task_id;
use tenure_kernel::{
    Actor, Answered, Call, Checkout, Condition, Evidence, Op, Operation, Reply, RequestId, Trust, WorkingTree,
};
use tenure_store::table::project;
use tenure_store::{Clock, Deadline, Entropy, Options, OsEntropy, StoreIdentity, SystemClock};

use self::identity::actor;
use self::server_timeouts::ServerTimeout;
pub(crate) use self::trust::is_unconfirmed;
use crate::env::Env;
use crate::git_status;
use crate::globals::Globals;
use crate::output::Printer;
use crate::workspace::pin::Pin;
use crate::workspace::process::HostFacts;
use crate::workspace::project::{KeyKind, encode};
use crate::workspace::{self, StoreFrom, StoreLocation, Workspace, head};

/// How long a hook lets PostgreSQL take for a connection and for a statement: its tool ends it after 5 s, and a guard that
/// is to refuse what it could not look at must have said so by then. No hook waits longer than that for its turn.
const HOOK_ANSWER: Duration = Duration::from_secs(2);
/// A hook that has less time left than this when its store fails has waited for it.
const SLOW: Duration = Duration::from_millis(750);

/// What a hook has time for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookTime {
    /// How long it waits for its turn at the store.
    pub(crate) patience: Duration,
    /// When it must have answered, whatever it waits for.
    pub(crate) deadline: Deadline,
}

/// A command's surroundings.
pub(crate) struct Session<'a> {
    pub(crate) globals: Globals,
    pub(crate) env: &'a Env,
    pub(crate) out: &'a Printer,
    workspace: OnceCell<Workspace>,
    pin: OnceCell<Option<Pin>>,
    client: OnceCell<Client>,
    /// What must be so before the store answers, since only the repository names it or the project.
    condition: OnceCell<Condition>,
    /// Whether this command is going to write: set before the store is first touched.
    writes: Cell<bool>,
    /// Whether the command goes on reading.
    lasts: Cell<bool>,
    /// Whether a person is choosing the store: it is made even where the project is pinned to another.
    repins: Cell<bool>,
    /// What a hook has time for, if this is one: it makes no store.
    hook: Cell<Option<HookTime>>,
    /// The agent that a hook registered for this command, once it was looked for.
    registered: OnceCell<CommandOwner>,
    /// Who acts, where a door has found that out by itself.
    acting: Option<Actor>,
    /// To a server far away.
    connections: Connections,
}

impl<'a> Session<'a> {
    pub(crate) fn new(globals: Globals, env: &'a Env, out: &'a Printer) -> Session<'a> {
        Session {
            globals,
            env,
            out,
            workspace: OnceCell::new(),
            pin: OnceCell::new(),
            client: OnceCell::new(),
            condition: OnceCell::new(),
            writes: Cell::new(false),
            lasts: Cell::new(false),
            repins: Cell::new(false),
            hook: Cell::new(None),
            registered: OnceCell::new(),
            acting: None,
            connections: Connections::default(),
        }
    }

    /// The same, with connections that outlive it.
    pub(crate) fn over(self, connections: &Connections) -> Session<'a> {
        Session { connections: connections.clone(), ..self }
    }

    /// The same surroundings for somebody whom a door has identified.
    pub(crate) fn acting_as(self, actor: Actor) -> Session<'a> {
        Session { acting: Some(actor), ..self }
    }

    /// The same command, looking anew where it is, if the repository had no project yet: for those who keep watching.
    pub(crate) fn renewed(&self) -> Result<Option<Session<'a>>> {
        let found = self.workspace()?.project.key.is_some();
        Ok(if found { None } else { Some(self.anew()) })
    }

    /// The same command with connections of its own.
    pub(crate) fn anew(&self) -> Session<'a> {
        Session::new(self.globals.clone(), self.env, self.out)
    }

    /// Says that this command runs an op, so that its reads share the connection that will write.
    pub(crate) fn will_write(&self) {
        self.writes.set(true);
    }

    /// Says that this command goes on reading, so that it does so on a connection that can write. Commands that end while
    /// it reads leave what they wrote in the log, and where that is removed, only such a connection can save it.
    pub(crate) fn will_last(&self) {
        self.lasts.set(true);
    }

    /// Where the command is: project, checkout, store, configuration.
    pub(crate) fn workspace(&self) -> Result<&Workspace> {
        if let Some(workspace) = self.workspace.get() {
            return Ok(workspace);
        }
        let workspace = workspace::resolve(&self.globals, self.env)?;
        Ok(self.workspace.get_or_init(|| workspace))
    }

    /// Says that the command is about what is in a directory, wherever the process is. It counts if nobody asked before.
    pub(crate) fn move_to(&self, dir: &Path) -> Result<()> {
        if self.workspace.get().is_none() {
            let workspace = workspace::resolve_at(dir, &self.globals, self.env)?;
            self.workspace.get_or_init(|| workspace);
        }
        Ok(())
    }

    /// The store that this repository is pinned to, as found when first asked.
    fn pin(&self) -> Result<Option<&Pin>> {
        if let Some(pin) = self.pin.get() {
            return Ok(pin.as_ref());
        }
        let pin = self.workspace()?.pin()?;
        if let Some(pin) = &pin {
            self.refuse_second_place(pin)?;
        }
        Ok(self.pin.get_or_init(|| pin).as_ref())
    }

    /// A store that was restored to a second place has the id of the first. As long as the first is where the project is
    /// pinned to, work in the second would split the project.
    fn refuse_second_place(&self, pin: &Pin) -> Result<()> {
        let workspace = self.workspace()?;
        let there = Path::new(&pin.location);
        if pin.location == workspace.store.display() || !there.is_absolute() || !there.is_file() {
            return Ok(());
        }
        // A server may well serve that very file; the store's id says whether it does.
        if matches!(workspace.store, StoreLocation::Server(_)) {
            return Ok(());
        }
        if matches!(&workspace.store, StoreLocation::Sqlite(here) if is_same_file(here, there)) {
            return Ok(());
        }
        let options = Options { may_create: false, ..Options::default() };
        let store = tenure_store::Store::new(tenure_store::Location::File(there.to_owned()), options)?;
        match store.identity() {
            Ok(Some(identity)) if identity.id == pin.store => Err(workspace.pinned_elsewhere(pin)),
            _ => Ok(()),
        }
    }

    /// Says that this is a hook, what it has time for, and whether it is one that always writes. The others
    /// mostly only look, with a connection that cannot write: one that can makes files beside the store and clears them
    /// away again.
    pub(crate) fn is_hook(&self, time: HookTime, writes: bool) {
        self.hook.set(Some(time));
        self.writes.set(writes);
    }

    /// A call as somebody whom the door knows, in a project that has a key; none where nothing has ever happened.
    pub(crate) fn call_as(&self, actor: Actor, request_id: &str) -> Result<Option<Call>> {
        let workspace = self.workspace()?;
        let Some(key) = workspace.project.key.clone() else { return Ok(None) };
        Ok(Some(Call {
            project: project::NamedProject { key: key.into(), label: workspace.project.label.clone() },
            actor,
            request_id: match request_id {
                "" => RequestId::draw(&OsEntropy),
                given => RequestId::given(given)?,
            },
            checkout: self.checkout(None),
            pinned_store: self.pin()?.map(|pin| pin.store.as_str().into()),
            keep_events: workspace.config.keep_events,
            proven_dead: Vec::new(),
            condition: self.condition()?.clone(),
        }))
    }

    fn actor(&self) -> Result<Actor> {
        match &self.acting {
            Some(actor) => Ok(actor.clone()),
            None => Ok(actor(&self.caller()?)),
        }
    }

    /// Runs an op and returns its answer.
    pub(crate) fn run(&self, op: &Op) -> Result<Reply> {
        self.run_trusting(op, None)
    }

    /// Runs an op in a project of this store that is named, whatever the one of this place is.
    pub(crate) fn run_in(&self, project: project::NamedProject, op: &Op) -> Result<Reply> {
        self.will_write();
        let mut call = Call {
            project,
            actor: self.actor()?,
            request_id: self.request_id()?,
            checkout: None,
            pinned_store: self.pin()?.map(|pin| pin.store.as_str().into()),
            keep_events: None,
            proven_dead: Vec::new(),
            condition: self.store_condition()?,
        };
        let client = self.client()?;
        self.workspace()?.consent_to_new_store(self.env)?;
        self.answered(&mut call, |call| client.run_any(call, op))
    }

    /// Runs an op from a place that a person vouches for.
    pub(crate) fn run_trusting(&self, op: &Op, trust: Option<Trust>) -> Result<Reply> {
        self.run_under(op, trust, self.request_id()?)
    }

    fn run_under(&self, op: &Op, trust: Option<Trust>, request_id: RequestId) -> Result<Reply> {
        self.will_write();
        let actor = self.actor()?;
        let workspace = self.workspace()?;
        // What can be refused by its words alone is refused before a store or an id is made for it.
        op.check()?;
        let client = self.client()?;
        let (key, pinned_store) = self.pinned(client)?;
        if !matches!(workspace.store_from, StoreFrom::User | StoreFrom::UserConfig) {
            self.keep_git_out()?;
        }
        let mut call = Call {
            project: project::NamedProject { key: key.into(), label: workspace.project.label.clone() },
            actor,
            request_id,
            checkout: self.checkout(trust),
            pinned_store: pinned_store.map(Into::into),
            keep_events: workspace.config.keep_events,
            proven_dead: Vec::new(),
            condition: self.condition_of_pinned()?,
        };
        for input in op.entry().inputs {
            match input {
                Input::DeadAgents => call.proven_dead = self.dead(client, &call),
                Input::WorkingTree => see(&mut call, || self.tree()),
                Input::Head => see(&mut call, || WorkingTree { head: self.head(), ..WorkingTree::default() }),
            }
        }
        let request_id = call.request_id.as_str().to_owned();
        // Where the outcome may be unknown, the id is what finds out: the same request under it is carried out once.
        self.answered(&mut call, |call| client.run_any(call, op)).map_err(|error| match error.kind() {
            Kind::Busy => error.with(&SentAs(request_id)),
            _ => error,
        })
    }

    /// Runs an op that belongs to one that has just been answered. It is a request of its own: the id that was given is
    /// that of the first.
    pub(crate) fn run_aside(&self, op: &Op) -> Result<Reply> {
        self.run_aside_as(op, &RequestId::draw(&OsEntropy))
    }

    /// The same under an id that was drawn before, for those who ask again until they have an answer.
    pub(crate) fn run_aside_as(&self, op: &Op, request_id: &RequestId) -> Result<Reply> {
        self.run_under(op, None, request_id.clone())
    }

    /// Confirms what was offered, once it was written out. Whatever goes wrong here, it is offered again.
    pub(crate) fn confirm(&self, events: Option<i64>, mail: Option<i64>) {
        if (events.is_some() || mail.is_some()) && self.out.has_shown_all() {
            let _ = self.run_aside(&Op::new(confirm::Confirm { events, mail }));
        }
    }

    /// What is to be seen in the working tree; nothing where there is none.
    pub(crate) fn tree(&self) -> WorkingTree {
        self.workspace()
            .ok()
            .and_then(|workspace| workspace.checkout.as_ref())
            .map_or_else(WorkingTree::default, git_status::look)
    }

    fn head(&self) -> String {
        self.workspace().ok().and_then(|workspace| workspace.checkout.as_ref()).map_or_else(String::new, head::head)
    }

    /// Runs an op and reads its answer.
    pub(crate) fn answer<O: Operation>(&self, op: O) -> Result<(O::Answer, Answered<O::Answer>)> {
        let answered = Answered::from(self.run(&Op::new(op))?);
        Ok((answered.read()?, answered))
    }

    /// Asks a query.
    pub(crate) fn ask<Q: Query>(&self, query: &Q) -> Result<Q::Answer> {
        self.ask_with(|client, call| client.ask(call, query))
    }

    /// The same with a call that is made of several queries, or differs from the usual one. It may be made twice.
    pub(crate) fn ask_with<T>(&self, ask: impl Fn(&Client, &Call) -> Result<T>) -> Result<T> {
        self.ask_knowing(|_, _| Vec::new(), ask)
    }

    /// Asks a query that shows who holds what: an agent whose process is dead holds nothing, as for a claim.
    pub(crate) fn ask_who_holds<Q: Query>(&self, query: &Q) -> Result<Q::Answer> {
        self.ask_who_holds_with(|client, call| client.ask(call, query))
    }

    /// The same with a call that differs from the usual one.
    pub(crate) fn ask_who_holds_with<T>(&self, ask: impl Fn(&Client, &Call) -> Result<T>) -> Result<T> {
        self.ask_knowing(|client, call| self.dead(client, call), ask)
    }

    fn ask_knowing<T>(
        &self,
        proof: impl Fn(&Client, &Call) -> Vec<Evidence>,
        ask: impl Fn(&Client, &Call) -> Result<T>,
    ) -> Result<T> {
        let workspace = self.workspace()?;
        let client = self.client()?;
        let actor = match &self.acting {
            Some(actor) => actor.clone(),
            None => match self.asker()?.for_query() {
                Some(identity) => actor(&self.as_token(identity)?),
                None => Actor::named("nobody"),
            },
        };
        let mut call = Call {
            project: project::NamedProject {
                key: workspace.project.key.clone().unwrap_or_default().into(),
                label: workspace.project.label.clone(),
            },
            actor,
            // A query is not recorded, so it needs no id of its own.
            request_id: RequestId::given(self.globals.request_id.as_deref().unwrap_or("query"))?,
            checkout: self.checkout(None),
            pinned_store: self.pin()?.map(|pin| pin.store.as_str().into()),
            keep_events: None,
            proven_dead: Vec::new(),
            condition: self.condition()?.clone(),
        };
        call.proven_dead = proof(client, &call);
        self.answered(&mut call, |call| ask(client, call))
    }

    /// Says that the store is made if it is not there, whatever the project is pinned to: a person puts it back.
    pub(crate) fn may_make_store(&self) {
        self.repins.set(true);
        self.will_write();
    }

    /// Which store this is, made if need be, whatever the project is pinned to: a person chooses it.
    pub(crate) fn create_store(&self) -> Result<StoreIdentity> {
        self.repins.set(true);
        self.client()?.create()
    }

    /// The full id of a task from what was typed of it.
    pub(crate) fn task_id(&self, typed: &str) -> Result<TaskId> {
        self.ask(&task_id::ResolveTask { typed: typed.into() }).map(TaskId::from)
    }

    /// The same where nothing may have been typed.
    pub(crate) fn task_id_or_focus(&self, typed: Option<&str>) -> Result<Option<TaskId>> {
        typed.map(|typed| self.task_id(typed)).transpose()
    }

    fn request_id(&self) -> Result<RequestId> {
        match &self.globals.request_id {
            Some(given) => RequestId::given(given),
            None => Ok(RequestId::draw(&OsEntropy)),
        }
    }

    /// The project's key and the store that it is pinned to; the first write makes both.
    fn pinned(&self, client: &Client) -> Result<(String, Option<String>)> {
        let workspace = self.workspace()?;
        let key = || workspace.ensure_key(&mut |bytes| OsEntropy.fill(bytes));
        if let Some(pin) = self.pin()? {
            return Ok((key()?, Some(pin.store.clone())));
        }
        if workspace.checkout.is_none() {
            return Ok((key()?, None));
        }
        self.refuse_unconfirmed_name(client)?;
        // The store first: one that cannot be had leaves nothing in the repository.
        let identity = client.create()?;
        self.keep_git_out()?;
        let key = key()?;
        workspace.ensure_pin(&identity.id, &key)?;
        Ok((key, Some(identity.id.into())))
    }

    fn checkout(&self, trust: Option<Trust>) -> Option<Checkout> {
        let workspace = self.workspace().ok()?;
        let common = workspace.common_identity().map(|seen| (seen.path, seen.device, seen.inode));
        let path = workspace.checkout.as_ref().map_or(&workspace.dir, |checkout| &checkout.top);
        let trust = trust.unwrap_or(match workspace.project.kind {
            KeyKind::Id => Trust::Known,
            _ => Trust::Any,
        });
        Some(Checkout {
            host: HostFacts::host(self.env),
            path: encode(path),
            common,
            trust,
            tree: WorkingTree::default(),
        })
    }

    /// The working tree that the command is in, as holds name it.
    pub(crate) fn here(&self) -> Option<String> {
        self.checkout(None).map(|here| here.path)
    }

    /// Makes a call, and once more where the store says that the project was last seen in another repository: if that
    /// one still stands this is a copy, else it has moved here.
    pub(crate) fn answered<T>(&self, call: &mut Call, make: impl Fn(&Call) -> Result<T>) -> Result<T> {
        let answer = self.answered_in_place(call, make);
        if let (Err(error), Some(time)) = (&answer, self.hook.get()) {
            // What fails at once costs nobody anything.
            if ServerTimeout::is_meant(error) && time.deadline.remaining() < time.patience.max(SLOW) {
                let silence = ServerTimeout::of(self.env, &self.workspace()?.store);
                silence.into_iter().for_each(|silence| silence.note(SystemClock.now()));
            }
        }
        answer
    }

    fn answered_in_place<T>(&self, call: &mut Call, make: impl Fn(&Call) -> Result<T>) -> Result<T> {
        let workspace = self.workspace()?;
        match make(call) {
            Err(error) if error.code() == Code::OtherStore => {
                let OtherStore(found) = error.read().unwrap_or_default();
                workspace.check_pin(&found)?;
                Err(error)
            }
            Err(error) if error.code() == Code::NoStore => {
                workspace.check_no_pin()?;
                Err(error)
            }
            // The first write from this clone may just have made the project, and the pin.
            Err(error) if error.code() == Code::UnconfirmedProject => {
                let is_stale = call.condition == Condition::NewProject && workspace.pin()?.is_some();
                if !is_stale {
                    return Err(error);
                }
                call.condition = workspace.condition_of_name(self.env)?;
                make(call)
            }
            Err(error) if error.code() == Code::UnconfirmedStore => Err(workspace.unconfirmed()),
            Err(error) if error.code() == Code::PlaceDiffers => {
                let mut gone = Vec::new();
                for recorded in error.read::<RecordedPlaces>().unwrap_or_default().0 {
                    if workspace.is_copy_of(&recorded, &call.project.key)? {
                        return Err(copied(workspace, &recorded));
                    }
                    gone.push(recorded.path);
                }
                if let Some(here) = &mut call.checkout {
                    here.trust = Trust::Moved(gone);
                }
                make(call)
            }
            other => other,
        }
    }
}

/// Puts what is to be seen in the working tree into a call that comes from one.
fn see(call: &mut Call, tree: impl FnOnce() -> WorkingTree) {
    if let Some(here) = &mut call.checkout {
        here.tree = tree();
    }
}

/// Whether two paths lead to one file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let workspace = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    workspace(one).is_some_and(|one| workspace(other) == Some(one))
}

fn copied(workspace: &Workspace, other: &RecordedPlace) -> Error {
    let here = workspace.checkout.as_ref().map_or(&workspace.dir, |checkout| &checkout.common).display().to_string();
    Error::new(
        Code::CopiedProject,
        format!("this repository ({here}) has the project id of {}, which is still there: it is a copy", other.path),
    )
    .at(Stage::Resolve)
    .entity(here.clone())
    .hint("A copy is a project of its own, or one more checkout of the first: a person says which.")
    .attempt(Action::NewProject)
    .attempt(Action::JoinProject)
    .detail("here", here)
    .detail("other", other.path.clone())
}
