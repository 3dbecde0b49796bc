//! `tenure setup`: brings agent tools and Tenure together, checks that, and takes it back.

mod check;

use std::path::PathBuf;

use clap::Args as _;
use serde_json::{Value, json};
use tenure_client::phrasing::Commands;
use tenure_core::action::Action;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::op;
use tenure_kernel::query::switched_on::SwitchedOn;

use super::{Agreement, Group, Run, Spec, confirm, read};
use crate::agent_tool;
use crate::output::Ink;
use crate::output::table::report;
use crate::session::{RunOptions, Session, StoreUse};
use crate::setup::check::installed;
use crate::setup::diagnosis::{Diagnosis, diagnose, survey};
use crate::setup::diff;
use crate::setup::githook::Hooks;
use crate::setup::plan::{FileChange, PlanDirection, SetupPlan, plan};
use crate::setup::target::{Content, Ground, SetupScope, SetupTarget, TargetFile, named};
use crate::setup::writer::{SetupRecord, SetupRecords, left_behind};
use crate::workspace::StoreLocation;

pub(super) const SPEC: Spec = Spec {
    name: "setup",
    aliases: &["init", "install"],
    group: Group::People,
    about: "Connect agent tools: hooks, MCP server, sandbox grant",
    examples: &[
        "tenure setup",
        "tenure setup claude codex --yes",
        "tenure setup git",
        "tenure setup --scope project",
        "tenure setup --check",
        "tenure setup --remove",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let store_use = if args.check { StoreUse::Read } else { StoreUse::Write };
        run(&Session::open(settings, out, store_use)?, &args)
    }),
};

#[derive(clap::Args)]
struct Args {
    #[arg(value_name = "TOOL", help = tools_help())]
    tools: Vec<String>,
    /// The files to write: `user` for your own, or `project` for files of this repository to commit. Default: `user` to
    /// install, both to check and to remove
    #[arg(long, value_name = "user|project", value_parser = ["user", "project"])]
    scope: Option<String>,
    /// Run every installed hook in a temporary project, and show when it last fired
    #[arg(long, conflicts_with = "remove")]
    check: bool,
    /// Remove everything that setup installed
    #[arg(long)]
    remove: bool,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    yes: bool,
}

fn tools_help() -> String {
    format!(
        "{}; `git` for the commit guard of this repository; aider, agents and other tools without hooks get a \
         section in AGENTS.md; default: all installed tools",
        agent_tool::names().join(", ")
    )
}

/// What a call is about.
struct SetupJob<'a> {
    session: &'a Session<'a>,
    ground: Ground,
    targets: Vec<SetupTarget>,
    scopes: Vec<SetupScope>,
    /// Where setup keeps its lock, its record and what was there before.
    records: PathBuf,
}

fn run(session: &Session<'_>, args: &Args) -> Result<u8> {
    let mut ground = ground(session)?;
    let records = session.settings.env.state_home().ok_or_else(no_home)?.join("tenure/setup");
    let scopes = match args.scope.as_deref() {
        Some("project") => vec![SetupScope::Project],
        Some(_) => vec![SetupScope::User],
        None if args.check || args.remove => vec![SetupScope::User, SetupScope::Project],
        None => vec![SetupScope::User],
    };
    if scopes == [SetupScope::Project] && ground.checkout.is_none() {
        return Err(Error::usage(Code::NoRepository, "this directory is not in a git repository")
            .hint("`--scope project` writes files of a repository; without it, setup writes your own files."));
    }
    let everything = args.check || args.remove;
    let targets = targets(&args.tools, &ground, everything)?;
    if targets.contains(&SetupTarget::Git) {
        let named = args.tools.iter().any(|name| name.eq_ignore_ascii_case("git"));
        ground.git = hooks(session, named, &ground.program)?;
    }
    let job = SetupJob { session, ground, targets, scopes, records };
    match (args.check, args.remove) {
        (true, _) => job.check(),
        (_, true) => job.change(PlanDirection::Remove, args.yes),
        _ => job.change(PlanDirection::Set, args.yes),
    }
}

fn ground(session: &Session<'_>) -> Result<Ground> {
    let env = session.settings.env;
    let place = &session.workspace;
    let path = env.path();
    let running = crate::env::program().map_err(|error| {
        Error::new(Code::IoFailure, "the path of this program is unknown").at(Stage::Resolve).cause(error)
    })?;
    Ok(Ground {
        home: env.home(),
        config_home: env.config_home(),
        claude: env.directory("CLAUDE_CONFIG_DIR"),
        codex: env.directory("CODEX_HOME"),
        checkout: place.checkout.as_ref().map(|checkout| checkout.top.clone()),
        dir: place.dir.clone(),
        git: None,
        program: named(&path, &running),
        store: match &place.store {
            // No sandbox is opened for a directory that only a repository names.
            StoreLocation::Sqlite(database) if place.condition(env).is_ok() => database.parent().map(PathBuf::from),
            StoreLocation::Sqlite(_) | StoreLocation::Postgres(_) | StoreLocation::Server(_) => None,
        },
        path,
    })
}

/// Where the hooks of this repository are. A caller that names git gets an error where there are none.
fn hooks(session: &Session<'_>, named: bool, program: &str) -> Result<Option<Hooks>> {
    let place = &session.workspace;
    // A bare repository makes no commits.
    let checkout = place.checkout.as_ref().filter(|checkout| checkout.top != checkout.common);
    let found = checkout.and_then(|checkout| Hooks::of(checkout, program));
    if found.is_none() && named {
        return Err(Error::usage(Code::NoRepository, "this directory is not in the working tree of a git repository")
            .hint(
                "`tenure setup git` installs the hooks of a repository: run it inside a repository, with git on \
                   PATH.",
            ));
    }
    Ok(found)
}

/// The targets: those named, or those found; to check and to remove, all there are.
fn targets(given: &[String], ground: &Ground, everything: bool) -> Result<Vec<SetupTarget>> {
    if given.is_empty() {
        let all = SetupTarget::with_hooks().chain(everything.then_some(SetupTarget::Agents));
        let targets: Vec<SetupTarget> = all.filter(|target| everything || target.is_found(ground)).collect();
        // Git is everywhere; it is offered only beside an agent tool.
        if targets.iter().all(|target| *target == SetupTarget::Git) {
            return Err(Error::usage(
                Code::NoTools,
                "no agent tool was found: neither a configuration nor a program on PATH",
            )
            .hint(format!("Name the tools: {}.", SetupTarget::names()))
            .attempt(Action::Setup { tool: Some("claude".to_owned()) }));
        }
        return Ok(targets);
    }
    let mut targets = Vec::new();
    for name in given {
        let target = SetupTarget::called(&name.to_lowercase()).ok_or_else(|| {
            let name = tenure_core::text::excerpt(name);
            Error::usage(Code::UnknownTool, format!("`setup` does not know the tool `{name}`"))
                .hint(format!("Known fields: {}.", SetupTarget::names()))
        })?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

fn no_home() -> Error {
    Error::usage(Code::NoHome, "HOME is not set and the user has no home directory").hint("Set HOME.")
}

impl SetupJob<'_> {
    fn files(&self) -> Vec<TargetFile> {
        let mut files: Vec<TargetFile> = Vec::new();
        for target in &self.targets {
            for scope in &self.scopes {
                for file in target.files(*scope, &self.ground) {
                    // AGENTS.md is one file whatever the scope is, and HOME may be the repository.
                    if !files.iter().any(|other| other.path == file.path && same_kind(&other.content, &file.content)) {
                        files.push(file);
                    }
                }
            }
        }
        files
    }

    fn change(&self, way: PlanDirection, yes: bool) -> Result<u8> {
        let mut shown = plan(&self.files(), way, &SetupRecord::read(&self.records));
        loop {
            if shown.changes.is_empty() && !shown.failed.is_empty() {
                return self.report(SetupResult { way, plan: shown, kept: Vec::new(), switched_on: false });
            }
            let switch_on = way == PlanDirection::Set && self.is_off()?;
            let any = shown.changes.iter().any(FileChange::is_change);
            let paths: Vec<PathBuf> = shown.changes.iter().map(|change| change.path.clone()).collect();
            if !any && !switch_on {
                if !left_behind(&paths).is_empty()
                    && let Ok(records) = SetupRecords::open(&self.records)
                {
                    records.sweep(&paths);
                }
                return self.report(SetupResult { way, plan: shown, kept: Vec::new(), switched_on: false });
            }
            self.confirm(&shown.changes, switch_on, yes)?;
            let records = SetupRecords::open(&self.records)?;
            records.sweep(&paths);
            let now = plan(&self.files(), way, &records.record());
            // Another program was faster: what the person agreed to is not what would be written now.
            if now.changes != shown.changes && !yes {
                drop(records);
                self.session.out.aside("The files were changed in the meantime.");
                shown = now;
                continue;
            }
            if switch_on {
                // First, so that a store that cannot be written leaves everything as it is.
                self.session.run(op::switch_on::SwitchOn {}, RunOptions::default())?;
            }
            let (plan, kept) = write(&records, now);
            drop(records);
            return self.report(SetupResult { way, plan, kept, switched_on: switch_on });
        }
    }

    /// Whether hooks do nothing yet in the project of this workspace. A directory that is no repository is no project
    /// unless a person makes it one.
    fn is_off(&self) -> Result<bool> {
        if self.ground.checkout.is_none() {
            return Ok(false);
        }
        Ok(!self.session.ask(&SwitchedOn {})?)
    }

    fn confirm(&self, changes: &[FileChange], switch_on: bool, yes: bool) -> Result<()> {
        let out = self.session.out;
        let diffs: String = changes
            .iter()
            .map(|change| diff::unified(&self.short(&change.path), change.before.as_deref(), change.after.as_deref()))
            .collect();
        if !out.is_json() {
            out.text(&diff::coloured(out, &diffs));
            if switch_on {
                out.text(&format!("Setup also switches on the project {}, so that hooks act in it.", self.label()));
            }
        }
        let shown = Agreement { what: "the difference", detail: "diff", value: json!(diffs) };
        confirm(out, yes, "Write this?", "nothing was written", shown)
    }

    fn label(&self) -> String {
        self.session.workspace.project.label.clone()
    }

    /// A path as people write it.
    fn short(&self, path: &std::path::Path) -> String {
        if let Some(below) = self.ground.checkout.as_ref().and_then(|top| path.strip_prefix(top).ok()) {
            return below.display().to_string();
        }
        match self.ground.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    /// Says what was done. One tool that failed alone is the refusal itself.
    fn report(&self, done: SetupResult) -> Result<u8> {
        let SetupResult { way, plan: SetupPlan { changes, mut failed }, kept, switched_on } = done;
        if changes.is_empty()
            && failed.len() == 1
            && !switched_on
            && let Some((_, error)) = failed.pop()
        {
            return Err(error);
        }
        let found = if way == PlanDirection::Set { self.diagnoses() } else { Vec::new() };
        let notes = self.notes(way, &changes, &found);
        // A caller that asks for the hooks of git alone and gets none must not take them for installed.
        let no_hooks = way == PlanDirection::Set && self.targets == [SetupTarget::Git] && self.has_no_hooks();
        let code = u8::from(no_hooks || !failed.is_empty());
        let backup = |change: &FileChange| kept.iter().find(|(path, _)| *path == change.path).map(|(_, backup)| backup);
        let out = self.session.out;
        if out.is_json() {
            let files: Vec<Value> = changes
                .iter()
                .map(|change| {
                    json!({
                        "tool": change.target.name(),
                        "scope": change.scope.as_str(),
                        "path": change.path.display().to_string(),
                        "action": action(change, way),
                        "backup": backup(change).map(|path| path.display().to_string()),
                        "remarks": change.remarks,
                    })
                })
                .collect();
            let of = |(target, error): &(SetupTarget, Error)| json!({ "tool": target.name(), "code": error.code(), "message": error.message(), "hint": error.advice().map(|advice| advice.say(&Commands)) });
            let failed: Vec<Value> = failed.iter().map(of).collect();
            out.data(&json!({
                "files": files, "failed": failed, "switched_on": switched_on, "findings": found, "notes": notes,
            }));
            return Ok(code);
        }
        let mut text = String::new();
        let any = changes.iter().any(FileChange::is_change);
        match (way, any || switched_on) {
            (PlanDirection::Set, _) if no_hooks => text.push_str("The hooks of git are not installed.\n"),
            _ if changes.is_empty() => {}
            (PlanDirection::Set, false) => text.push_str(&format!("Already set up: {}.\n", self.names(&changes))),
            (PlanDirection::Remove, false) => text.push_str("Nothing to remove.\n"),
            _ => {
                let rows: Vec<Vec<String>> = changes
                    .iter()
                    .filter(|change| way == PlanDirection::Set || change.is_change())
                    .map(|change| {
                        vec![change.target.name().to_owned(), action(change, way).to_owned(), self.short(&change.path)]
                    })
                    .collect();
                text.push_str(&report(out, &["TOOL", "", "FILE"], &rows));
            }
        }
        if let Some((_, backup)) = kept.first() {
            let dir = backup.parent().unwrap_or(backup);
            text.push_str(&format!("The previous files are kept in {}.\n", self.short(dir)));
        }
        for note in &notes {
            text.push_str(&format!("{} {note}\n", out.ink(Ink::Caution, "note:")));
        }
        for (target, error) in &failed {
            let what = if way == PlanDirection::Set { "is not set up" } else { "is not removed" };
            let label = out.ink(Ink::Bad, "FAILED:");
            text.push_str(&format!("{label} {} {what}: {}\n", target.name(), error.message()));
            text.extend(error.advice().map(|advice| format!("  {}\n", advice.say(&Commands))));
        }
        out.text(&text);
        Ok(code)
    }

    /// What is wrong or worth knowing of what these tools have installed.
    fn diagnoses(&self) -> Vec<Diagnosis> {
        diagnose(&survey(&self.targets, &self.scopes, &self.ground), &self.ground, self.session.settings.env)
    }

    /// Whether git looks for hooks where none of this repository can be.
    fn has_no_hooks(&self) -> bool {
        self.targets.contains(&SetupTarget::Git) && self.ground.git.as_ref().is_some_and(Hooks::has_no_place)
    }

    fn names(&self, changes: &[FileChange]) -> String {
        let mut names: Vec<&str> = changes.iter().map(|change| change.target.name()).collect();
        names.dedup();
        names.join(", ")
    }

    /// What a person should know now.
    fn notes(&self, way: PlanDirection, changes: &[FileChange], found: &[Diagnosis]) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for change in changes {
            let remark = |remark: &String| format!("{}: {remark}.", self.short(&change.path));
            notes.extend(change.remarks.iter().map(remark));
        }
        if way == PlanDirection::Remove {
            return notes;
        }
        if self.targets.contains(&SetupTarget::Git) && !self.has_no_hooks() {
            notes.extend(self.ground.git.as_ref().and_then(Hooks::note));
        }
        let is_untrusted =
            |target: SetupTarget| found.iter().any(|one| one.is_trust && one.tool == Some(target.name()));
        for change in changes.iter().filter(|change| change.is_change() && !is_untrusted(change.target)) {
            notes.extend(change.target.note(change.scope).map(str::to_owned));
        }
        // A tool that failed is told as such.
        let told = |diagnosis: &&Diagnosis| changes.iter().any(|change| Some(change.target.name()) == diagnosis.tool);
        let all = |diagnosis: &&Diagnosis| diagnosis.tool.is_none() || told(diagnosis) || self.has_no_hooks();
        notes.extend(found.iter().filter(all).map(Diagnosis::sentence));
        for target in &self.targets {
            let other = if self.scopes == [SetupScope::User] { SetupScope::Project } else { SetupScope::User };
            let files = target.files(other, &self.ground);
            if target.tool().is_some() && installed(&files, &self.ground).is_ok_and(|found| !found.hooks.is_empty()) {
                notes.push(format!(
                    "{} is also set up for the {}, so its hooks would run twice; `tenure setup {} --remove --scope \
                     {}` removes one.",
                    target.name(),
                    other.as_str(),
                    target.name(),
                    other.as_str(),
                ));
            }
        }
        if self.ground.store.is_none() && changes.iter().any(FileChange::is_change) {
            notes.push(
                "The store is a PostgreSQL database: a shell in a sandbox without network reaches it through the MCP \
                 tools only."
                    .to_owned(),
            );
        }
        notes.dedup();
        notes
    }
}

/// What was done.
struct SetupResult {
    way: PlanDirection,
    plan: SetupPlan,
    /// Where what was there before is kept.
    kept: Vec<(PathBuf, PathBuf)>,
    switched_on: bool,
}

/// Writes what is planned, one tool after the other: one that cannot be written keeps no other from it.
fn write(records: &SetupRecords, mut plan: SetupPlan) -> (SetupPlan, Vec<(PathBuf, PathBuf)>) {
    let mut kept = Vec::new();
    let mut targets: Vec<SetupTarget> = plan.changes.iter().map(|change| change.target).collect();
    targets.dedup();
    let stamp = super::backup::stamp();
    for target in targets {
        let is_meant = |change: &&FileChange| change.target == target && change.is_change();
        let changes: Vec<FileChange> = plan.changes.iter().filter(is_meant).cloned().collect();
        if changes.is_empty() {
            continue;
        }
        match records.write(&changes, &stamp) {
            Ok(backups) => {
                let paths = changes.into_iter().map(|change| change.path);
                kept.extend(paths.zip(backups).filter_map(|(path, backup)| Some((path, backup?))));
            }
            Err(error) => {
                plan.changes.retain(|change| change.target != target);
                plan.failed.push((target, error));
            }
        }
    }
    (plan, kept)
}

fn action(change: &FileChange, way: PlanDirection) -> &'static str {
    match (&change.before, &change.after) {
        _ if !change.is_change() => match way {
            PlanDirection::Set => "as it is",
            PlanDirection::Remove => "untouched",
        },
        (None, _) => "made",
        (_, None) => "removed",
        _ => "changed",
    }
}

fn same_kind(one: &Content, other: &Content) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// What `doctor` says about hooks.
pub(super) struct HookSummary {
    /// How many hooks each tool has that is set up.
    pub(super) hooks: Vec<(&'static str, usize)>,
    /// What is wrong or worth knowing.
    pub(super) diagnoses: Vec<Diagnosis>,
}

pub(super) fn summary(session: &Session<'_>) -> Result<HookSummary> {
    let mut ground = ground(session)?;
    ground.git = hooks(session, false, &ground.program)?;
    let targets: Vec<SetupTarget> = SetupTarget::with_hooks().collect();
    let found = survey(&targets, &[SetupScope::User, SetupScope::Project], &ground);
    let count = |target: &SetupTarget| {
        let of = found.iter().filter(|one| one.target == *target).filter_map(|one| one.installed.as_ref().ok());
        of.map(|installed| installed.hooks.len()).sum::<usize>()
    };
    let counted = targets.iter().map(|target| (target.name(), count(target))).filter(|(_, hooks)| *hooks > 0).collect();
    Ok(HookSummary { hooks: counted, diagnoses: diagnose(&found, &ground, session.settings.env) })
}
