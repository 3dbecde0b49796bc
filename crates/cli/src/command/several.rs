//! Commands that act on several tasks: one op for each id, in the order typed.
//!
//! The ops are independent. One that is refused does not stop the rest: each result is reported, and the exit code is that of
//! the first refusal.

use serde_json::{Value, json};
use tenure_client::phrasing::Commands;
use tenure_core::{Code, Error, Result};
use tenure_kernel::answer::Task;

use crate::failure;
use crate::output::task::line;
use crate::session::Session;

// The arguments of commands that act on tasks under a fence.
#[derive(clap::Args)]
pub(super) struct SeveralArgs {
    /// The tasks, by a unique beginning of each id; default: your focus
    #[arg(value_name = "ID")]
    pub(super) tasks: Vec<String>,
    /// The fence to use instead of the one last shown to you
    #[arg(long, value_name = "N")]
    pub(super) fence: Option<i64>,
    /// Override the holder (people only; recorded)
    #[arg(long)]
    pub(super) force: bool,
}

impl SeveralArgs {
    /// Acts on each task, or on the focus.
    pub(super) fn each(&self, session: &Session<'_>, act: impl Fn(Option<&str>) -> Result<Acted>) -> Result<u8> {
        match self.tasks.as_slice() {
            [] => Ok(one(session, &act(None)?)),
            [only] => Ok(one(session, &act(Some(only))?)),
            _ if self.fence.is_some() => Err(for_one("--fence")),
            several => each(session, several, |typed| act(Some(typed))),
        }
    }
}

/// What an op did to a task.
pub(super) struct Acted {
    pub(super) text: String,
    /// The answer as JSON.
    pub(super) body: String,
}

impl Acted {
    pub(super) fn on(session: &Session<'_>, verb: &str, task: &Task, body: String) -> Acted {
        Acted { text: format!("{verb} {}", line(session.out, task)), body }
    }
}

fn one(session: &Session<'_>, acted: &Acted) -> u8 {
    if session.out.is_json() {
        session.out.body(&acted.body);
    } else {
        session.out.text(&acted.text);
    }
    0
}

/// Acts on each task that was typed.
pub(super) fn each(session: &Session<'_>, typed: &[String], act: impl Fn(&str) -> Result<Acted>) -> Result<u8> {
    if let [only] = typed {
        return Ok(one(session, &act(only)?));
    }
    if session.settings.globals.request_id.is_some() {
        return Err(for_one("--request-id"));
    }
    let mut results = Vec::new();
    let mut refused: Option<Error> = None;
    for typed in typed {
        let result = act(typed);
        if session.out.is_json() {
            results.push(match &result {
                Ok(acted) => {
                    json!({ "ok": true, "data": serde_json::from_str::<Value>(&acted.body).unwrap_or_default() })
                }
                Err(error) => json!({ "ok": false, "error": error.to_json(&Commands) }),
            });
        } else {
            match &result {
                Ok(acted) => session.out.text(&acted.text),
                Err(error) => session.out.complain(&failure::text(session.out, error)),
            }
        }
        refused = refused.or(result.err());
    }
    match (&refused, session.out.is_json()) {
        (None, true) => session.out.data(&json!({ "results": results })),
        (Some(first), true) => session
            .out
            .document(&json!({ "ok": false, "error": first.to_json(&Commands), "results": results }).to_string()),
        (_, false) => {}
    }
    Ok(refused.map_or(0, |first| first.kind().exit()))
}

/// The refusal of a flag that belongs to one op.
fn for_one(flag: &str) -> Error {
    Error::usage(Code::BadArguments, format!("{flag} applies to one task, but several were given"))
        .hint("Make one call for each task.")
}
