//! `tenure open`

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;
use tenure_core::action::Action;
use tenure_core::{Code, Error, Result, Stage};
use tenure_store::OsEntropy;

use super::{Group, Run, Spec, serve};
use crate::env::Env;
use crate::session::{RunOptions, Session, StoreUse, caller};
use crate::workspace::StoreLocation;
use crate::workspace::server_record::ServerRecord;

/// The programs that open a page in the browser of the user, by system.
const OPENERS: [&str; 2] = if cfg!(target_os = "macos") { ["open", "xdg-open"] } else { ["xdg-open", "open"] };

pub(super) const SPEC: Spec = Spec {
    name: "open",
    aliases: &[],
    group: Group::People,
    about: "Open the page of the running server; people only",
    examples: &["tenure open"],
    args: |command| command,
    run: Run::InProject(StoreUse::Write, |session, _| {
        let person = caller::person(session, "`open`")?;
        let (url, link) = match &session.workspace.store {
            // Who may sign in there is for its people to say.
            StoreLocation::Server(address) => (address.to_string(), None),
            store => {
                let server = ServerRecord::find(session.settings.env, store).and_then(|server| server.url);
                let url = server.ok_or_else(no_page)?;
                let link = sign_in(session, &person.name, &url)?;
                (url, Some(link))
            }
        };
        let target = link.as_deref().unwrap_or(&url);
        let opened = session.out.is_terminal() && !session.out.is_json() && open(session.settings.env, target);
        if session.out.is_json() {
            session.out.data(&json!({ "url": url, "sign_in": link, "opened": opened }));
        } else if opened {
            session.out.text(&format!("Opened {url} in the browser."));
        } else {
            session.out.text(target);
            if link.is_some() {
                session.out.aside("The link signs you in once, within 10 minutes.");
            }
        }
        Ok(0)
    }),
};

fn no_page() -> Error {
    Error::new(Code::NoServer, "no server of this store is running with a page")
        .at(Stage::Resolve)
        .hint("Start one in another terminal.")
        .attempt(Action::Said { text: "tenure up".to_owned() })
}

/// A fresh link for the person. Its secret is an argument of the browser, which other users of the machine may see: it is
/// good for one use and ten minutes.
fn sign_in(session: &Session<'_>, person: &str, url: &str) -> Result<String> {
    let (secret, ops) = serve::offer(person);
    for op in ops {
        let request_id = Some(tenure_kernel::RequestId::draw(&OsEntropy));
        session.run_any(&op, RunOptions { request_id, ..RunOptions::in_store() })?;
    }
    Ok(serve::login_url(url, &secret))
}

/// Opens an address in the browser, where there is one.
fn open(env: &Env, url: &str) -> bool {
    let has_display =
        cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env.os(name).is_some());
    let browser = env.os("BROWSER").map(OsString::from).map(PathBuf::from);
    let program = browser.or_else(|| has_display.then(|| OPENERS.iter().find_map(|name| find(env, name))).flatten());
    let Some(program) = program else { return false };
    let run = Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

fn find(env: &Env, name: &str) -> Option<PathBuf> {
    env.path().into_iter().map(|dir| dir.join(name)).find(|file| file.is_file())
}
