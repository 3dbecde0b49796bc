//! `tenure import`

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args as _;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::answer::export::Imported;
use tenure_kernel::op::import::{BYTES_MAX, Import};
use tenure_kernel::query::import_plan::ImportPlan;

use super::{Group, Run, Spec, read};
use crate::session::{RunOptions, Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "import",
    aliases: &["load"],
    group: Group::People,
    about: "Import an export file (all or nothing)",
    examples: &["tenure import tasks.jsonl --dry-run", "gunzip < project.jsonl.gz | tenure import -"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let input = input(&args.file)?;
        let request = Import::parse(&input)?;
        drop(input);
        let count = request.tasks.len() + request.notes.len();
        if count > 5_000 {
            out.progress(&format!("importing {} tasks and {} notes …", request.tasks.len(), request.notes.len()));
        }
        if args.dry_run {
            let session = Session::open(settings, out, StoreUse::Read)?;
            let imported = session.ask(&ImportPlan(request))?;
            if session.out.is_json() {
                session.out.data(&imported);
            } else {
                session.out.text(&summary(&imported));
            }
            return Ok(0);
        }
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let reply = session.run(request, RunOptions::default())?;
        let imported = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
        } else {
            session.out.text(&summary(&imported));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The file that `export` wrote, or - for standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// Show what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reads the file to its end, before the store is opened: it may be any file.
#[expect(clippy::disallowed_methods, reason = "a file that the user named, closed before the store is opened")]
fn input(file: &Path) -> Result<Vec<u8>> {
    let named = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    let unreadable = |error: std::io::Error| {
        Error::new(Code::UnreadableInput, format!("{named} cannot be read"))
            .at(Stage::Arguments)
            .entity(named.clone())
            .hint("Give a file that `tenure export` wrote, or - for standard input.")
            .cause(error)
    };
    let mut input = Vec::new();
    let most = BYTES_MAX as u64 + 1;
    if file == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut input).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(file).map_err(unreadable)?;
        file.take(most).read_to_end(&mut input).map_err(unreadable)?;
    }
    Ok(input)
}

fn summary(imported: &Imported) -> String {
    let Imported { tasks, notes, unchanged, unchanged_notes, events_left_out, agents, dry_run } = imported;
    let verb = if *dry_run { "Would import" } else { "Imported" };
    let mut text = format!("{verb} {tasks} tasks and {notes} notes");
    if unchanged + unchanged_notes > 0 {
        text.push_str(&format!("; {unchanged} tasks and {unchanged_notes} notes exist already"));
    }
    if *events_left_out > 0 {
        text.push_str(&format!("; {events_left_out} events of the file are not imported"));
    }
    if *agents > 0 {
        text.push_str(&format!("; {agents} agents are known from their tasks"));
    }
    text.push('\n');
    text
}
