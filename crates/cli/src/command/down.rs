//! `tenure down`

use std::time::{Duration, Instant};

use serde_json::json;
use tenure_core::{Code, Error, Result, Stage};

use super::{Group, Run, Spec};
use crate::output::progress::Progress;
use crate::session::{Session, StoreUse, caller};
use crate::workspace::server_record::ServerRecord;

/// How long a server may take to finish its requests.
const PATIENCE: Duration = Duration::from_secs(40);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(20);

pub(super) const SPEC: Spec = Spec {
    name: "down",
    aliases: &[],
    group: Group::People,
    about: "End the running server of this store; people only",
    examples: &["tenure down"],
    args: |command| command,
    run: Run::InProject(StoreUse::Read, |session, _| {
        caller::person(session, "`down`")?;
        let env = session.settings.env;
        let found = ServerRecord::find(env, &session.workspace.store);
        if let Some(server) = &found {
            end(session, server)?;
        }
        if session.out.is_json() {
            let (url, pid) =
                (found.as_ref().and_then(|server| server.url.clone()), found.as_ref().map(ServerRecord::pid));
            session.out.data(&json!({ "ended": found.is_some(), "url": url, "pid": pid }));
            return Ok(0);
        }
        session.out.text(&match &found {
            Some(server) => match &server.url {
                Some(url) => format!("The server at {url} has ended."),
                None => format!("The server, process {}, has ended.", server.pid()),
            },
            None => "No server of this store is running on this machine.".to_owned(),
        });
        Ok(0)
    }),
};

/// Ends a server, and waits until its process is gone.
#[expect(clippy::disallowed_methods, reason = "the end of a process rings no bell")]
fn end(session: &Session<'_>, server: &ServerRecord) -> Result<()> {
    let env = session.settings.env;
    server.end(env)?;
    let _progress = Progress::begin(session.out, "Waiting for the server to finish its requests");
    let begun = Instant::now();
    while server.is_running(env) {
        if begun.elapsed() > PATIENCE {
            return Err(Error::new(Code::TookTooLong, "the server is still finishing its requests")
                .at(Stage::Write)
                .hint("It has been told to end: call again to see whether it has."));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
