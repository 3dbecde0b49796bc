//! `tenure note`

use std::io::Read;

use clap::Args as _;
use serde_json::Value;
use tenure_core::{Error, Kind, Result, Stage, id};
use tenure_kernel::Op;
use tenure_kernel::op::note::Request;
use tenure_kernel::shape::Noted;

use super::{Group, Spec, read};

pub(super) const SPEC: Spec = Spec {
    name: "note",
    aliases: &["comment", "progress"],
    group: Group::Everyday,
    about: "Note progress on your task, or on any task by id",
    examples: &[
        "tenure note \"parser done, tests next\"",
        "tenure note t-7k3fq \"seen this on staging too\"",
        "tenure note \"bench\" --data '{\"p50_ms\": 3}'",
    ],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        context.will_write();
        let (typed, text) = match (args.first, args.second) {
            (first, Some(text)) => (Some(first), text),
            // A lone id is a note without words, not words.
            (first, None) if first.starts_with("t-") && id::is_prefix(&first) => {
                return Err(
                    Error::usage("text_empty", "no text was given").attempt(format!("tenure note {first} \"…\""))
                );
            }
            (text, None) => (None, text),
        };
        let data = args.data.as_deref().map(data).transpose()?;
        let task = context.task_id_or_focus(typed.as_deref())?;
        let (noted, reply) = context.answer::<Noted>(&Op::Note(Request { task, text, data, fence: args.fence }))?;
        if context.out.is_json() {
            context.out.body(&reply.body);
        } else {
            let late = if noted.late { ", late: your hold had lapsed and nobody had taken over" } else { "" };
            context.out.text(&format!("Noted {} on {}{late}", noted.id, noted.task));
        }
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    /// The text, or a task id followed by the text
    #[arg(value_name = "[ID] TEXT", allow_hyphen_values = true)]
    first: String,
    #[arg(hide = true, allow_hyphen_values = true)]
    second: Option<String>,
    /// Structured data to keep with it: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
    /// The fence to act under, in place of the one last shown to you
    #[arg(long, value_name = "N")]
    fence: Option<i64>,
}

#[expect(clippy::disallowed_methods, reason = "a file that the user named")]
fn data(given: &str) -> Result<Value> {
    let unreadable = |what: &str, error: std::io::Error| {
        Error::new(Kind::Usage, "unreadable_input", Stage::Arguments, format!("{what} cannot be read")).cause(error)
    };
    let text = if given == "-" {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .take(1 << 20)
            .read_to_string(&mut text)
            .map_err(|error| unreadable("standard input", error))?;
        text
    } else if let Some(path) = given.strip_prefix('@') {
        std::fs::read_to_string(path).map_err(|error| unreadable(path, error))?
    } else {
        given.to_owned()
    };
    serde_json::from_str(&text).map_err(|error| {
        Error::usage("bad_data", format!("the data is not JSON: {error}"))
            .hint("Give JSON, @FILE, or - for standard input.")
    })
}
