//! `tenure note`

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args as _;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tenure_core::action::Action;
use tenure_core::{Code, Error, Result, Stage, id};
use tenure_kernel::op::note::{Artifact, Note};
use tenure_kernel::op::remember::NewMemory;

use super::{Group, Run, Spec, read, task_id_or_focus};
use crate::session::{RunOptions, Session, StoreUse};
use crate::workspace::Workspace;
use crate::workspace::project::encode;

pub(super) const SPEC: Spec = Spec {
    name: "note",
    aliases: &["comment", "progress"],
    group: Group::Everyday,
    about: "Note progress on your task, or on any task by id",
    examples: &[
        "tenure note \"parser done, tests next\"",
        "tenure note t-7k3fq \"seen this on staging too\"",
        "tenure note \"bench\" --data '{\"p50_ms\": 3}'",
        "tenure note \"report written\" --artifact out/report.html --remember \"the export needs LC_ALL=C\"",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (typed, text) = match (args.first, args.second.or(args.message)) {
            (None, text) => (None, text.unwrap_or_default()),
            (Some(first), Some(text)) => (Some(first), text),
            // A lone id is a note without words, not words.
            (Some(first), None) if first.starts_with("t-") && id::is_prefix(&first) => {
                return Err(Error::usage(Code::TextEmpty, "no text was given").attempt(Action::note(first)));
            }
            (Some(text), None) => (None, text),
        };
        let data = args.data.as_deref().map(data).transpose()?;
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let task = task_id_or_focus(session, typed.as_deref())?;
        let mut memories: Vec<NewMemory> =
            args.remember.into_iter().map(|text| NewMemory { text, ..NewMemory::default() }).collect();
        if let Some(given) = &args.memories {
            memories.extend(items(json(given, "the memories are")?)?);
        }
        let artifacts =
            args.artifact.iter().map(|given| artifact(&session.workspace, given)).collect::<Result<Vec<_>>>()?;
        let request = Note { task, text, memories, artifacts, data, fence: args.fence.map(Into::into) };
        let reply = session.run(request, RunOptions::default())?;
        let noted = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
        } else {
            let late = if noted.late { ", late: your hold had expired, and no agent had taken over" } else { "" };
            let counted = |count: usize, one: &str, many: &str| match count {
                0 => None,
                1 => Some(format!("1 {one}")),
                count => Some(format!("{count} {many}")),
            };
            let files = counted(noted.artifacts, "file", "files");
            let memories = counted(noted.memories.len(), "memory", "memories");
            let with: Vec<String> = [files, memories].into_iter().flatten().collect();
            let with = if with.is_empty() { String::new() } else { format!(", with {}", with.join(" and ")) };
            session.out.text(&format!("Noted {} on {}{with}{late}", noted.id, noted.task));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The text, or a task id followed by the text
    #[arg(value_name = "[ID] TEXT", allow_hyphen_values = true, required_unless_present = "message")]
    first: Option<String>,
    #[arg(hide = true, allow_hyphen_values = true)]
    second: Option<String>,
    /// The text, instead of the argument
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "second")]
    message: Option<String>,
    /// Structured data for the note: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
    /// A memory to store for this task; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    remember: Vec<String>,
    /// Memories to store: a JSON list of objects with text, key, kind, scope, ttl_s; JSON, @FILE or -
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    memories: Option<String>,
    /// A file that the work produced, as PATH or KIND=PATH; may be repeated
    #[arg(long, value_name = "PATH")]
    artifact: Vec<std::ffi::OsString>,
    /// The fence to use instead of the one last shown to you
    #[arg(long, value_name = "N")]
    fence: Option<i64>,
}

fn data(given: &str) -> Result<Value> {
    json(given, "the data is")
}

fn items(value: Value) -> Result<Vec<NewMemory>> {
    serde_json::from_value(value).map_err(|error| {
        Error::usage(Code::BadData, format!("the memories are malformed: {error}"))
            .hint("Give a list of objects with `text` and optionally `key`, `kind`, `scope`, `task`, `ttl_s`.")
    })
}

/// Reads a file that a note names: where it is, what it contained, how long it was.
#[expect(clippy::disallowed_methods, reason = "a file that the user named")]
pub(super) fn artifact(workspace: &Workspace, given: &OsStr) -> Result<Artifact> {
    let (kind, path) = match given.to_str().and_then(|text| text.split_once('=')) {
        // A file may have such a name itself.
        Some((kind, path)) if !Path::new(given).exists() => (Some(kind.to_owned()), PathBuf::from(path)),
        _ => (None, PathBuf::from(given)),
    };
    let unreadable = |error: std::io::Error| {
        let message = format!("{} cannot be read", path.display());
        Error::new(Code::UnreadableInput, message).at(Stage::Arguments).hint("Name a file.").cause(error)
    };
    let meta = std::fs::metadata(&path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(unreadable(std::io::ErrorKind::InvalidInput.into()));
    }
    let whole = path.canonicalize().map_err(unreadable)?;
    let top = &workspace.dir;
    let inside = whole.strip_prefix(top.canonicalize().as_ref().unwrap_or(top)).map_err(|_| {
        Error::usage(Code::PathOutside, format!("{} is outside {}", path.display(), top.display()))
            .entity(path.display().to_string())
            .hint("Name files of this checkout: other agents cannot read other files.")
    })?;
    let mut file = std::fs::File::open(&path).map_err(unreadable)?;
    let mut sum = Sha256::new();
    let size = std::io::copy(&mut file, &mut HashSink(&mut sum)).map_err(unreadable)?;
    let sha256 = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Artifact { path: encode(inside), kind, sha256, size: i64::try_from(size).unwrap_or(i64::MAX) })
}

/// Takes what is written to it into a sum.
struct HashSink<'a>(&'a mut Sha256);

impl std::io::Write for HashSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// How much is read from a file or standard input.
const INPUT_MAX: u64 = 1 << 20;

/// JSON as it is typed, in a file, or on standard input.
#[expect(clippy::disallowed_methods, reason = "a file that the user named")]
fn json(given: &str, what: &str) -> Result<Value> {
    let unreadable = |what: &str, error: std::io::Error| {
        Error::new(Code::UnreadableInput, format!("{what} cannot be read")).at(Stage::Arguments).cause(error)
    };
    let text = if given == "-" {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .take(INPUT_MAX)
            .read_to_string(&mut text)
            .map_err(|error| unreadable("standard input", error))?;
        text
    } else if let Some(path) = given.strip_prefix('@') {
        // A pipe or a device has no end to wait for.
        let meta = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
        if !meta.is_file() || meta.len() > INPUT_MAX {
            return Err(unreadable(path, std::io::ErrorKind::InvalidInput.into()).hint("Name a file of at most 1 MiB."));
        }
        std::fs::read_to_string(path).map_err(|error| unreadable(path, error))?
    } else {
        given.to_owned()
    };
    serde_json::from_str(&text).map_err(|error| {
        Error::usage(Code::BadData, format!("{what} not JSON: {error}"))
            .hint("Give JSON, @FILE, or - for standard input.")
    })
}
