//! `tenure import`

use std::path::PathBuf;

use clap::Args as _;
use tenure_kernel::answer::export::Imported;
use tenure_kernel::op::add_many::AddMany;
use tenure_kernel::op::import::{BYTES_MAX, Import};
use tenure_kernel::query::import_plan::ImportPlan;

use super::{Group, Run, Spec, bulk, input, read};
use crate::output::progress::Progress;
use crate::session::{RunOptions, Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "import",
    aliases: &["load"],
    group: Group::People,
    about: "Import an export file or tasks (all or nothing)",
    examples: &["tenure import tasks.jsonl --dry-run", "gunzip < project.jsonl.gz | tenure import -"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let input = input::read(&args.file, BYTES_MAX)?;
        if AddMany::is_batch(&input) {
            let request = AddMany::parse(&input)?;
            drop(input);
            return bulk::add(settings, out, request, args.dry_run);
        }
        let request = Import::parse(&input)?;
        drop(input);
        let what = format!("Importing {} tasks and {} notes", request.tasks.len(), request.notes.len());
        let progress = Progress::begin(out, &what);
        if args.dry_run {
            let session = Session::open(settings, out, StoreUse::Read)?;
            let imported = session.ask(&ImportPlan(request))?;
            drop(progress);
            if session.out.is_json() {
                session.out.data(&imported);
            } else {
                session.out.text(&summary(&imported));
            }
            return Ok(0);
        }
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let reply = session.run(request, RunOptions::default())?;
        drop(progress);
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
    /// A file that `export` wrote, or tasks as `add --stdin` takes them; - for standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// Show what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
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
