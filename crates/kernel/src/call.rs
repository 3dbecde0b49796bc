//! The context of a request: the actor, the project, the checkout and the request id. A door resolves it before it
//! enters the kernel.

use serde::{Deserialize, Serialize};
use tenure_core::access::Grants;
use tenure_core::action::Phrasing;
use tenure_core::agent::Process;
use tenure_core::error::detail::{RecordedPlace, RecordedPlaces};
use tenure_core::id::{CheckoutId, StoreId};
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Result, Span, Stage, id, name};
use tenure_store::table::{agent, checkout, project, session};
use tenure_store::{Entropy, Tx};

use crate::access;
use crate::condition::Condition;

/// A request without its payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    pub project: project::NamedProject,
    pub actor: Actor,
    /// The id that every retry repeats.
    pub request_id: RequestId,
    /// The working tree of the caller, if there is one.
    #[serde(default)]
    pub checkout: Option<Checkout>,
    /// The store that the project is pinned to, if it is.
    #[serde(default)]
    pub pinned_store: Option<StoreId>,
    /// How long events are kept; forever if `None`.
    #[serde(default, rename = "keep_events_us")]
    pub keep_events: Option<Span>,
    /// Processes that the door has just proven dead. The proof is gathered before the transaction, and can only shorten
    /// holds.
    #[serde(default)]
    pub proven_dead: Vec<Evidence>,
    /// The condition under which the call is answered.
    #[serde(default)]
    pub condition: Condition,
}

/// The proof that a process of an agent is dead. It counts only while the agent is that process: a session that has
/// come back in another process since the door looked is not dead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub agent: AgentName,
    pub process: Process,
}

/// The actor of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Actor {
    pub name: AgentName,
    /// The agent tool; empty if unknown.
    #[serde(default)]
    pub tool: String,
    /// The tool's process, if known.
    #[serde(default)]
    pub process: Option<Process>,
    /// The door that the call came through.
    #[serde(default)]
    pub door: Door,
    /// The principal of a call through a server, with its grants: the result of [`crate::Kernel::who_is`]. Calls of
    /// local programs have none. It is never serialised: each door determines it itself.
    #[serde(skip)]
    pub principal: Option<Grants>,
}

/// A way into the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// A command.
    #[default]
    Cli,
    /// A hook of an agent tool.
    Hook,
    /// A tool call.
    Mcp,
    /// A request over HTTP.
    Http,
}

/// The phrasing of each door, for texts that the kernel composes.
pub type Words = fn(Door) -> &'static dyn Phrasing;

/// The maximum length of a text in a call: paths, and keys made from them.
const TEXT_MAX: usize = 8 * 1024;
/// The maximum length of a list in a call.
const LIST_MAX: usize = 10_000;

impl Call {
    /// A call of an actor about a project, with a new request id, no working tree and no claims.
    pub fn new(project: project::NamedProject, actor: Actor, entropy: &dyn Entropy) -> Call {
        Call {
            project,
            actor,
            request_id: RequestId::draw(entropy),
            checkout: None,
            pinned_store: None,
            keep_events: None,
            proven_dead: Vec::new(),
            condition: Condition::None,
        }
    }

    /// A call about the whole store.
    pub fn of_store(actor: &str, entropy: &dyn Entropy) -> Call {
        Call::new(project::whole_store(), Actor::named(actor), entropy)
    }

    /// The same call about the whole store, without a checkout.
    pub fn about_store(&self) -> Call {
        Call { project: project::whole_store(), checkout: None, ..self.clone() }
    }

    /// Checks a call that another process made. The kernel trusts calls of a door in this process, which contain only
    /// what the door determined itself.
    pub fn check(&self) -> Result<()> {
        name::check(&self.actor.name)?;
        let mut texts: Vec<&str> = vec![&self.project.key, &self.project.label, &self.actor.tool];
        let mut longest = self.proven_dead.len();
        texts.extend(self.pinned_store.as_deref());
        let processes = self.actor.process.iter().chain(self.proven_dead.iter().map(|proof| &proof.process));
        texts.extend(processes.flat_map(|process| [&*process.host, &process.boot, &process.pidns]));
        texts.extend(self.proven_dead.iter().map(|proof| &*proof.agent));
        if let Some(here) = &self.checkout {
            texts.extend([&*here.host, &here.path, &here.tree.head]);
            texts.extend(here.common.iter().map(|(path, ..)| path.as_str()));
            texts.extend(here.tree.uncommitted.iter().map(String::as_str));
            longest = longest.max(here.tree.uncommitted.len());
            if let Trust::Moved(gone) = &here.trust {
                texts.extend(gone.iter().map(String::as_str));
                longest = longest.max(gone.len());
            }
        }
        texts.extend(self.condition.texts().map(String::as_str));
        let is_fit = |text: &&str| text.len() <= TEXT_MAX && !text.contains('\0');
        if longest <= LIST_MAX && texts.iter().all(is_fit) {
            return Ok(());
        }
        Err(Error::usage(Code::BadCall, "the call contains a NUL, or a text or a list that is too long"))
    }
}

impl Actor {
    /// An actor known only by name.
    pub fn named(name: &str) -> Actor {
        Actor { name: name.into(), tool: String::new(), process: None, door: Door::Cli, principal: None }
    }

    /// Whether this is a person.
    pub fn is_person(&self) -> bool {
        name::is_person(&self.name)
    }
}

/// A request id. The outermost process draws it once, before the first attempt. It is never computed from the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AsSent")]
pub struct RequestId {
    value: String,
    given: bool,
}

/// A request id before validation.
#[derive(Deserialize)]
struct AsSent {
    value: String,
    #[serde(default)]
    given: bool,
}

impl TryFrom<AsSent> for RequestId {
    type Error = Error;

    fn try_from(sent: AsSent) -> Result<RequestId> {
        Ok(RequestId { given: sent.given, ..RequestId::given(&sent.value)? })
    }
}

impl RequestId {
    /// Draws slightly more than 128 random bits.
    pub fn draw(entropy: &dyn Entropy) -> RequestId {
        let drawn = id::draw(id::Sort::Note, id::LONGEST, &mut |bytes| entropy.fill(bytes));
        RequestId { value: drawn[2..].to_owned(), given: false }
    }

    /// Accepts an id given by the caller: 1 to 128 visible ASCII characters.
    pub fn given(value: &str) -> Result<RequestId> {
        if (1..=128).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(RequestId { value: value.to_owned(), given: true });
        }
        Err(Error::usage(Code::BadRequestId, "the request id is not 1 to 128 visible ASCII characters")
            .hint("Give a unique id for the call, or omit it: the program then generates one."))
    }

    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// Whether the caller gave the id: such answers are kept longer.
    pub fn is_given(&self) -> bool {
        self.given
    }
}

/// The working tree of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkout {
    pub host: String,
    /// The root of the working tree.
    pub path: String,
    /// The common git directory: path, device, inode.
    #[serde(default)]
    pub common: Option<(String, i64, i64)>,
    /// What the door found out about its origin.
    pub trust: Trust,
    /// The state that the door saw. Only ops that report or store it ask for it.
    #[serde(default)]
    pub tree: WorkingTree,
}

/// The state of a working tree, as the door saw it before the transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkingTree {
    /// The current commit; empty if unknown.
    pub head: String,
    /// Files that differ from the commit, relative to the root. If there are many, only the first ones.
    pub uncommitted: Vec<String>,
    /// How many more files differ.
    pub uncommitted_more: usize,
}

/// Whether a project may be used from a place where it has not been seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The project is shared by name or URL, so any place may use it.
    Any,
    /// The project belongs to one repository. Another place is refused until the door has checked the old one.
    Known,
    /// The door has checked: the named places are gone, so the repository has moved here.
    Moved(Vec<String>),
    /// A person has confirmed that this copy belongs to the project.
    Joined,
}

/// Reports where a project was seen, for a door that must find out whether a repository was moved or copied.
pub(crate) fn place_differs(recorded: &[&checkout::Row]) -> Error {
    let places = recorded.iter().map(|row| RecordedPlace {
        path: row.common_path.clone(),
        device: row.common_device,
        inode: row.common_inode,
    });
    Error::new(Code::PlaceDiffers, "this project was last seen in another repository")
        .at(Stage::Resolve)
        .with(&RecordedPlaces(places.collect()))
}

/// The agents for which the evidence of a call still holds: each is still that process and has no other live one. A
/// program on another machine is believed only about the agents of its own principal. About others it can only claim
/// that they are dead.
pub(crate) fn dead(tx: &mut dyn Tx, project: &str, call: &Call) -> Result<Vec<AgentName>> {
    let evidence = &call.proven_dead;
    if evidence.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<AgentName> = evidence.iter().map(|proof| proof.agent.clone()).collect();
    let proven =
        |name: &str, process: &Process| evidence.iter().any(|proof| proof.agent == name && proof.process == *process);
    let mut dead = agent::whereabouts(tx, project, &names)?;
    dead.retain(|one| proven(&one.name, &one.process) && access::is_own(call, &one.name, one.owner.as_ref()));
    // An agent with a given name may run in several processes.
    let mut living = session::live_of(tx, project, &names)?;
    living.retain(|(name, process)| !proven(name, process));
    dead.retain(|one| !living.iter().any(|(alive, _)| *alive == one.name));
    Ok(dead.into_iter().map(|one| one.name).collect())
}

/// What the store knows about the checkout of a call.
pub(crate) enum Sighting {
    /// Seen before; nothing to write.
    Known,
    /// To be recorded, after the working trees of common directories that are gone.
    New(Vec<Moved>),
}

/// The fate of a working tree whose common directory was moved.
pub(crate) struct Moved {
    pub(crate) old_path: String,
    /// Its new row. `None` if another working tree is recorded there.
    pub(crate) now: Option<checkout::Row>,
}

/// The working trees of a repository that was moved. They keep their ids and their holds. A linked one stays where it
/// is; the main one and everything below it move along.
fn moved(here: &Checkout, gone: &[String], recorded: &[checkout::Row]) -> Vec<Moved> {
    let (common_path, common_device, common_inode) = here.common.clone().unwrap_or_default();
    let main = common_path.strip_suffix("/.git");
    let mut moved: Vec<Moved> = Vec::new();
    for row in recorded.iter().filter(|row| gone.contains(&row.common_path)) {
        let below = row.common_path.strip_suffix("/.git").and_then(|old| row.path.strip_prefix(old));
        let path = match (main, below) {
            (Some(main), Some(below)) if below.is_empty() || below.starts_with('/') => format!("{main}{below}"),
            _ => row.path.clone(),
        };
        let is_taken = path != row.path
            && (recorded.iter().any(|other| other.path == path)
                || moved.iter().any(|other| other.now.as_ref().is_some_and(|now| now.path == path)));
        let now = checkout::Row { path, common_path: common_path.clone(), common_device, common_inode, ..row.clone() };
        moved.push(Moved { old_path: row.path.clone(), now: (!is_taken).then_some(now) });
    }
    moved
}

/// Compares the checkout of a call with those recorded for its project and host.
pub(crate) fn sight(call: &Call, recorded: &[checkout::Row]) -> Result<Sighting> {
    let Some(here) = &call.checkout else { return Ok(Sighting::Known) };
    let common = |row: &checkout::Row| (row.common_path.clone(), row.common_device, row.common_inode);
    let ours = here.common.clone().unwrap_or_default();
    let known = recorded.iter().any(|row| row.path == here.path && common(row) == ours);
    if known {
        return Ok(Sighting::Known);
    }
    let elsewhere: Vec<&checkout::Row> = recorded.iter().filter(|row| common(row) != ours).collect();
    let same_repository = recorded.iter().any(|row| common(row) == ours);
    match &here.trust {
        Trust::Any | Trust::Joined => Ok(Sighting::New(Vec::new())),
        Trust::Known if same_repository || elsewhere.is_empty() => Ok(Sighting::New(Vec::new())),
        Trust::Known => Err(place_differs(&elsewhere)),
        Trust::Moved(gone) => Ok(Sighting::New(moved(here, gone, recorded))),
    }
}

/// The id of the checkout of a call. `None` if it was not seen before.
pub(crate) fn checkout_id(call: &Call, recorded: &[checkout::Row]) -> Option<CheckoutId> {
    let here = call.checkout.as_ref()?;
    if let Some(row) = recorded.iter().find(|row| row.path == here.path) {
        return Some(row.id.clone());
    }
    let Trust::Moved(gone) = &here.trust else { return None };
    let mut came = moved(here, gone, recorded).into_iter().filter_map(|one| one.now);
    came.find(|row| row.path == here.path).map(|row| row.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Repository;

    fn call() -> Call {
        let process = Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid: 7, started: 9 };
        Call {
            project: project::NamedProject { key: "id:x".into(), label: "x".into() },
            actor: Actor { process: Some(process.clone()), door: Door::Hook, ..Actor::named("a") },
            request_id: RequestId::given("r-1").unwrap(),
            checkout: Some(Checkout {
                host: "h".into(),
                path: "/w".into(),
                common: Some(("/w/.git".into(), 1, 2)),
                trust: Trust::Moved(vec!["/old".into()]),
                tree: WorkingTree { head: "c0ffee".into(), uncommitted: vec!["a".into()], uncommitted_more: 3 },
            }),
            pinned_store: Some("s-1".into()),
            keep_events: Some(Span::days(3)),
            proven_dead: vec![Evidence { agent: "b".into(), process }],
            condition: Condition::KnownProject(Repository {
                host: "h".into(),
                path: "/w/.git".into(),
                device: 1,
                inode: 2,
            }),
        }
    }

    #[test]
    fn a_call_that_was_sent_is_the_same() {
        let sent = serde_json::to_value(call()).unwrap();
        let read: Call = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", call()));
        assert_eq!(sent["keep_events_us"], Span::days(3).0);
        assert_eq!(sent["actor"]["door"], "hook");
        assert_eq!(sent["request_id"], serde_json::json!({ "value": "r-1", "given": true }));
        let least = r#"{"project":{"key":"name:p","label":"p"},"actor":{"name":"a"},"request_id":{"value":"q"}}"#;
        let least: Call = serde_json::from_str(least).unwrap();
        assert!(!least.request_id.is_given() && least.check().is_ok() && call().check().is_ok());
    }

    #[test]
    fn a_call_of_another_process_is_looked_at() {
        let nul = Actor { tool: "a\0".into(), ..Actor::named("a") };
        assert_eq!(Call { actor: nul, ..call() }.check().unwrap_err().code(), "bad_call");
        assert_eq!(Call { actor: Actor::named("No Name"), ..call() }.check().unwrap_err().code(), "bad_name");
        let long = project::NamedProject { key: "k".repeat(TEXT_MAX + 1).into(), label: String::new() };
        assert_eq!(Call { project: long, ..call() }.check().unwrap_err().code(), "bad_call");
        let many = vec![call().proven_dead.remove(0); LIST_MAX + 1];
        assert_eq!(Call { proven_dead: many, ..call() }.check().unwrap_err().code(), "bad_call");
        let read = |id: &str| serde_json::from_value::<RequestId>(serde_json::json!({ "value": id, "given": true }));
        assert!(read("").is_err() && read("a b").is_err() && read("ok").is_ok());
    }
}
