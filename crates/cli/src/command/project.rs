//! `tenure project`

use std::path::{Path, PathBuf};

use clap::{Args as _, Subcommand};
use serde_json::json;
use tenure_core::{Code, Error, Kind, Result};
use tenure_kernel::answer::Forgotten;
use tenure_kernel::query::project_called::ProjectCalled;
use tenure_kernel::query::projects::Projects;
use tenure_kernel::query::switched_on::SwitchedOn;
use tenure_kernel::{Trust, op};
use tenure_store::copy::Existing;
use tenure_store::{Entropy, OsEntropy};

use super::backup::progress;
use super::restore::safety;
use super::{Agreement, Group, Run, Spec, Verbs, agree, read};
use crate::identity;
use crate::output::Printer;
use crate::output::table::print_page;
use crate::session::{RunOptions, Session, Sight, StoreUse, caller, connection};
use crate::settings::Settings;
use crate::workspace::pin::{self, Pin};
use crate::workspace::project::{KeyKind, id_key};
use crate::workspace::{self, StoreLocation, git};

pub(super) const SPEC: Spec = Spec {
    name: "project",
    aliases: &[],
    group: Group::People,
    about: "Show, list, set and delete projects",
    examples: &[
        "tenure project show",
        "tenure project list",
        "tenure project new",
        "tenure project join",
        "tenure project pin --store postgres://db/tenure",
    ],
    args: Verbs::<ProjectVerb>::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let Verbs { verb } = read(matches)?;
        let open = |store_use| Session::open(settings, out, store_use);
        match verb {
            ProjectVerb::Show => show(&open(StoreUse::Read)?),
            ProjectVerb::New => new(settings, out),
            ProjectVerb::Join => join(settings, out),
            ProjectVerb::Pin { yes } => repin(&open(StoreUse::Choose)?, yes),
            ProjectVerb::List(page) => list(settings, out, &page),
            ProjectVerb::Forget(forgetting) => forget(&open(StoreUse::Write)?, &forgetting),
        }
    }),
};

#[derive(Subcommand)]
enum ProjectVerb {
    /// Show the project, its key and its pin
    Show,
    /// Make this repository a project of its own: for a copy (people only)
    New,
    /// Make this copy one more checkout of the project it was copied from (people only)
    Join,
    /// Pin this repository to the store and the project that are resolved now, and say yes to them where only the
    /// repository names them (people only)
    Pin {
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// List the projects in this store
    List(super::list::Paging),
    /// Back up the store, then remove a project with everything in it: tasks, notes, events (people only)
    Forget(Forgetting),
}

#[derive(clap::Args)]
struct Forgetting {
    /// The key or name of the project
    #[arg(value_name = "NAME")]
    name: String,
    /// Do not ask for the name
    #[arg(long)]
    yes: bool,
    /// Remove it although its tasks are held
    #[arg(long)]
    force: bool,
    /// The backup file; default: beside an embedded store
    #[arg(long, value_name = "FILE")]
    safety: Option<PathBuf>,
    /// Make no backup
    #[arg(long, conflicts_with = "safety")]
    no_backup: bool,
}

fn show(session: &Session<'_>) -> Result<u8> {
    let place = &session.workspace;
    let pin = place.pin()?;
    let problem = session.ask(&SwitchedOn {}).err().map(|error| error.message().to_owned());
    let (store, from) = (place.store.display(), place.store_from.as_str());
    if session.out.is_json() {
        let pin = pin.map(|pin| json!({ "store": pin.store, "location": pin.location, "key": pin.key }));
        session.out.data(&json!({
            "key": place.project.key,
            "label": place.project.label,
            "pin": pin,
            "store": store,
            "store_from": from,
            "named_by_repository": place.named_by_repository,
            "problem": problem,
        }));
        return Ok(0);
    }
    let named = if place.named_by_repository { " (named by this repository)" } else { "" };
    let problem = problem.map_or_else(String::new, |problem| format!("\nproblem  {problem}"));
    let pinned =
        pin.map_or("not yet: the first write pins it".to_owned(), |pin| format!("{} ({})", pin.location, pin.store));
    session.out.text(&format!(
        "project  {}{named}\nkey      {}\nstore    {store} (from {from})\npinned   {pinned}{problem}",
        place.project.label,
        place.project.key.as_deref().unwrap_or("not yet: the first write creates it")
    ));
    Ok(0)
}

fn list(settings: &Settings<'_>, out: &Printer, page: &super::list::Paging) -> Result<u8> {
    let limit = page.limit()?;
    let session = Session::open(settings, out, StoreUse::Read)?;
    let page = session.ask(&Projects { limit, cursor: page.cursor.clone() })?;
    let heads = ["", "PROJECT", "OPEN", "DONE", "EVENTS", "LAST USED", "KEY"];
    print_page(session.out, &page, "No projects.", &heads, |project| {
        vec![
            if project.here { "*".to_owned() } else { String::new() },
            project.label.clone(),
            project.open.to_string(),
            project.done.to_string(),
            project.events.to_string(),
            session.out.time(&project.last_at),
            project.key.to_string(),
        ]
    });
    Ok(0)
}

fn forget(session: &Session<'_>, typed: &Forgetting) -> Result<u8> {
    caller::person(session, "`project forget`")?;
    // The same call under the same id is answered from its record, although the project is gone by now.
    let repeated = session.settings.globals.request_id.is_some();
    let project = session.ask(&ProjectCalled { name: typed.name.clone(), also_forgotten: repeated })?;
    let named = format!("{} ({})", project.label, project.key);
    let shown = Agreement { what: "the project", detail: "project", value: json!(project) };
    let question = format!("This removes {named} with all its tasks, notes and events.\nType its name to forget it: ");
    let agrees = |answer: &str| answer == project.label || answer == project.key.as_str();
    agree(session.out, typed.yes, (&question, "Type the name as shown"), agrees, "nothing was forgotten", shown)?;
    let safety = if typed.no_backup { None } else { Some(back_up(session, typed.safety.as_deref())?) };
    let request = op::forget::Forget { key: project.key.clone(), force: typed.force };
    let with = RunOptions { project: Some(project.into()), ..RunOptions::default() };
    let reply = session.run(request, with).inspect_err(|error| {
        // Nothing was removed, so the backup is of no use. After any other failure that is not certain.
        if let (Kind::Conflict, Some(safety)) = (error.kind(), &safety) {
            _ = std::fs::remove_file(safety);
        }
    })?;
    let safety = safety.map(|path| path.display().to_string());
    let forgotten: Forgotten = reply.read()?;
    if session.out.is_json() {
        let mut data = json!(forgotten);
        data["safety"] = json!(safety);
        session.out.data(&data);
        return Ok(0);
    }
    let Forgotten { label, key, tasks, events, .. } = forgotten;
    session.out.text(&format!("Forgot {label} ({key}): {tasks} tasks, {events} events."));
    if let Some(path) = safety {
        session.out.text(&format!("Backup of the store as it was: {path}"));
    }
    Ok(0)
}

/// Backs up the store before something is removed from it. If that fails, nothing is removed.
fn back_up(session: &Session<'_>, given: Option<&Path>) -> Result<PathBuf> {
    session.workspace.needs_store("the backup before `project forget`").map_err(no_backup)?;
    let path = safety(session, given, "forget")?;
    let taken = session.ask_with(Sight::Store, |client, call| {
        client.kernel("`project forget`")?.backup(call, &path, Existing::Keep, &progress(session, "copied"))
    });
    taken.map(|_| path).map_err(no_backup)
}

fn no_backup(error: Error) -> Error {
    error.hint("Nothing was forgotten: the backup comes first. --safety names another file, --no-backup does without.")
}

/// The common git directory, for a person. It is not found by the workspace, which cannot be resolved where the id is
/// damaged: a new id is the way out of that.
fn repository(settings: &Settings<'_>, out: &Printer, what: &str) -> Result<PathBuf> {
    match Session::open(settings, out, StoreUse::Read) {
        Ok(session) => caller::person(&session, what)?,
        Err(_) => caller::require_person(identity::resolve(&settings.globals, settings.env)?.for_op()?, what)?,
    };
    common(settings)
}

fn common(settings: &Settings<'_>) -> Result<PathBuf> {
    git::locate(settings.env.cwd()?)?.map(|checkout| checkout.common).ok_or_else(|| {
        Error::usage(Code::NoRepository, "this directory is not in a git repository")
            .hint("A directory without git is identified by its path; give it a name with `project` in tenure.toml.")
    })
}

fn new(settings: &Settings<'_>, out: &Printer) -> Result<u8> {
    let common = repository(settings, out, "`project new`")?;
    let pinned = pin::read_pin(&common)?;
    let fresh = pin::replace_id(&common, &mut |bytes| OsEntropy.fill(bytes))?;
    if let Some(old) = pinned.filter(|pin| KeyKind::Id.is_of(&pin.key)) {
        pin::replace_pin(&common, &Pin { key: id_key(&fresh), ..old })?;
    }
    let store = || Ok(workspace::resolve(&settings.globals, settings.env)?.store.display());
    answer(out, &id_key(&fresh), store, "This repository is now a separate project")
}

fn join(settings: &Settings<'_>, out: &Printer) -> Result<u8> {
    repository(settings, out, "`project join`")?;
    let session = Session::open(settings, out, StoreUse::Write)?;
    let with = RunOptions { trust: Some(Trust::Joined), ..RunOptions::default() };
    let reply = session.run(op::join::Join {}, with)?;
    if session.out.is_json() {
        session.out.body(&reply.body);
    } else {
        session.out.text("This copy is now a checkout of the project.");
    }
    Ok(0)
}

fn repin(session: &Session<'_>, yes: bool) -> Result<u8> {
    // Without the store: until a person agrees, no connection is made to a store that only the repository names. The store
    // can tell that a caller is an agent, never that it is a person.
    let caller = identity::resolve(&session.settings.globals, session.settings.env)?.for_op()?;
    caller::require_person(caller, "`project pin`")?;
    let place = &session.workspace;
    let needs_yes = place.needs_yes();
    // Without git there is no pin, but there may be something to say yes to.
    let common = if needs_yes { None } else { Some(common(session.settings)?) };
    let common = common.or_else(|| place.checkout.as_ref().map(|checkout| checkout.common.clone()));
    if needs_yes {
        confirm(session, yes)?;
    }
    let identity = connection::of(session)?.client.create()?;
    if let (true, StoreLocation::Sqlite(_)) = (needs_yes, &place.store) {
        refuse_damaged(session)?;
    }
    let key = place.ensure_key(&mut |bytes| OsEntropy.fill(bytes))?;
    if let Some(common) = common {
        pin::replace_pin(
            &common,
            &Pin { store: identity.id.into(), location: place.store.display(), key: key.clone() },
        )?;
    }
    if needs_yes {
        place.say_yes(session.settings.env, &key)?;
    }
    let store = place.store.display();
    answer(session.out, &key, || Ok(store.clone()), &format!("Pinned to {store}"))
}

/// Refuses a store that a repository brings along and that is not as Tenure makes it.
fn refuse_damaged(session: &Session<'_>) -> Result<()> {
    let found = connection::kernel(session, "`project pin`")?.store().integrity()?;
    match found.first() {
        Some(what) => Err(tenure_store::error::corrupt(format!("the store was not created by Tenure: {what}"))
            .hint("Nothing was pinned. Find out where the file comes from, or name another store.")),
        None => Ok(()),
    }
}

/// Shows what only the repository says, and asks whether it is believed for this clone.
fn confirm(session: &Session<'_>, yes: bool) -> Result<()> {
    let place = &session.workspace;
    let mut asks = Vec::new();
    if place.named_by_repository {
        asks.push(format!("project  {}, shared with all who use that name on the store", place.project.label));
    }
    let from = place.store_from.as_str();
    asks.push(format!("store    {} (from {from})", place.store.display()));
    match &place.store {
        StoreLocation::Postgres(url) => {
            let reached = tenure_store::reached(url)?;
            asks.push(format!("host     {}", reached.hosts));
            asks.push(format!("database {}", reached.database));
            asks.push(format!("TLS      {}", reached.tls));
            asks.push("sent     PGUSER and PGPASSWORD, if the address has no user and no password".to_owned());
        }
        StoreLocation::Server(address) => {
            asks.push(format!("TLS      {}", if address.to_string().starts_with("https://") { "yes" } else { "no" }));
            asks.push("sent     the token for this server from your token file, and no other token".to_owned());
        }
        StoreLocation::Sqlite(_) => {
            asks.extend(place.behind_links().map(|real| format!("link to  {}", real.display())));
        }
    }
    let shown = format!("This repository names:\n  {}", asks.join("\n  "));
    let out = session.out;
    if !out.is_json() {
        out.text(&shown);
    }
    let shown = Agreement { what: "what the repository names", detail: "asks", value: json!(asks) };
    super::confirm(out, yes, "Use these from this clone?", "nothing was pinned", shown)
}

fn answer(out: &Printer, key: &str, store: impl FnOnce() -> Result<String>, text: &str) -> Result<u8> {
    if out.is_json() {
        out.data(&json!({ "key": key, "store": store()? }));
    } else {
        out.text(&format!("{text} ({key})."));
    }
    Ok(0)
}
