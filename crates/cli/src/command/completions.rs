//! `tenure completions`: the completion script of a shell, printed, or installed for the user together with the man pages.

pub(super) mod candidates;
mod script;

use std::path::{Path, PathBuf};

use clap::Args as _;
use clap_complete::Shell;
use serde::Serialize;
use tenure_core::{Code, Error, Result, Stage};

use self::script::script;
use super::{Group, Run, Spec, man, read};
use crate::env::Env;
use crate::user_file::{self, FoundFile, UserFile};

pub(super) const SPEC: Spec = Spec {
    name: "completions",
    aliases: &["completion"],
    group: Group::People,
    about: "Print or install shell completions and man pages",
    examples: &["tenure completions --install", "tenure completions --uninstall", "tenure completions bash"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let report = match args.shell {
            Some(shell) if !args.install => {
                out.text(&script(shell));
                return Ok(0);
            }
            shell if args.install => install(&InstallLocation::find(settings.env)?, shell)?,
            _ => uninstall(&InstallLocation::find(settings.env)?)?,
        };
        if out.is_json() {
            out.data(&report);
        } else {
            out.text(&report.to_text());
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL", required_unless_present_any = ["install", "uninstall"], conflicts_with = "uninstall")]
    shell: Option<Shell>,
    /// Write man pages and completions for this shell (default: bash, zsh and fish) to your data directory
    #[arg(long)]
    install: bool,
    /// Remove what --install wrote
    #[arg(long, conflicts_with = "install")]
    uninstall: bool,
}

/// Shells that load completions from a directory of the user, and the file in it.
const FILES: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/tenure"),
    (Shell::Zsh, "zsh/site-functions/_tenure"),
    (Shell::Fish, "fish/vendor_completions.d/tenure.fish"),
];
const MAN: &str = "man/man1";

/// Where the files go.
struct InstallLocation {
    /// The user's data directory.
    data: PathBuf,
    /// The nearest directory above the files that is never removed.
    top: PathBuf,
    /// Whether `man` looks there by itself: it derives `DIR/share/man` from each `DIR/bin` of PATH.
    found_by_man: bool,
}

impl InstallLocation {
    fn find(env: &Env) -> Result<InstallLocation> {
        let data = env.data_home().ok_or_else(|| {
            Error::new(Code::NoHome, "HOME is not set and the user has no home directory")
                .at(Stage::Resolve)
                .hint("Set HOME or XDG_DATA_HOME.")
        })?;
        let top = env.home().filter(|home| data.starts_with(home)).unwrap_or_else(|| data.clone());
        let bin = data.parent().filter(|_| data.ends_with("share")).map(|prefix| prefix.join("bin"));
        let found_by_man = bin.is_some_and(|bin| env.path().contains(&bin));
        Ok(InstallLocation { data, top, found_by_man })
    }

    fn script(&self, shell: Shell) -> Option<PathBuf> {
        FILES.iter().find(|(known, _)| *known == shell).map(|(_, file)| self.data.join(file))
    }

    /// The man pages that any version of this program wrote.
    fn own_pages(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.data.join(MAN)).into_iter().flatten().flatten();
        let is_page = |name: &str| name == "tenure.1" || (name.starts_with("tenure-") && name.ends_with(".1"));
        let mut pages: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_page))
            .map(|entry| entry.path())
            .filter(|path| user_file::is_own(path))
            .collect();
        pages.sort();
        pages
    }
}

#[derive(Serialize)]
struct Report {
    directory: PathBuf,
    written: Vec<PathBuf>,
    unchanged: Vec<PathBuf>,
    removed: Vec<PathBuf>,
    /// Files in the same places that this program did not write.
    kept: Vec<PathBuf>,
    /// What the user still has to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Report {
    fn new(place: &InstallLocation) -> Report {
        let [written, unchanged, removed, kept] = [const { Vec::new() }; 4];
        Report { directory: place.data.clone(), written, unchanged, removed, kept, notes: Vec::new() }
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let groups = [("Wrote", &self.written), ("Unchanged", &self.unchanged), ("Removed", &self.removed)];
        for (verb, paths) in groups.into_iter().filter(|(_, paths)| !paths.is_empty()) {
            text.push_str(&format!("{verb} in {}:\n", self.directory.display()));
            let (pages, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
                paths.iter().partition(|path| path.starts_with(self.directory.join(MAN)));
            for path in others {
                text.push_str(&format!("  {}\n", path.strip_prefix(&self.directory).unwrap_or(path).display()));
            }
            if !pages.is_empty() {
                text.push_str(&format!("  {MAN}/tenure*.1 ({} man pages)\n", pages.len()));
            }
        }
        for path in &self.kept {
            text.push_str(&format!(
                "Kept {}: its content differs from what `completions --install` writes\n",
                path.display()
            ));
        }
        if text.is_empty() {
            text.push_str("Nothing is installed.\n");
        }
        for note in &self.notes {
            text.push_str(&format!("{note}\n"));
        }
        text
    }
}

fn install(place: &InstallLocation, shell: Option<Shell>) -> Result<Report> {
    let shells: Vec<Shell> = shell.map_or_else(|| FILES.map(|(shell, _)| shell).to_vec(), |shell| vec![shell]);
    let mut files = Vec::new();
    for shell in &shells {
        let path = place.script(*shell).ok_or_else(|| {
            Error::usage(Code::BadArguments, format!("{shell} has no user directory for completions"))
                .hint(format!("Load the output of `tenure completions {shell}` in the shell's configuration."))
        })?;
        files.push(UserFile::script(path, &script(*shell)));
    }
    for page in man::pages()? {
        files.push(UserFile::page(place.data.join(MAN).join(&page.name), &page.text));
    }
    let mut found = Vec::new();
    for file in &files {
        found.push(file.found().map_err(|error| unwritable(&file.path, error))?);
    }
    let is_foreign = |found: &FoundFile| *found == FoundFile::Foreign;
    if let Some(at) = found.iter().position(is_foreign) {
        return Err(foreign(&files[at].path));
    }
    let mut report = Report::new(place);
    for (file, found) in files.iter().zip(found) {
        if found == FoundFile::Current {
            report.unchanged.push(file.path.clone());
        } else {
            file.write(found).map_err(|error| unwritable(&file.path, error))?;
            report.written.push(file.path.clone());
        }
    }
    // Pages of commands that this version does not have.
    for path in place.own_pages().into_iter().filter(|path| files.iter().all(|file| file.path != *path)) {
        user_file::remove(&path, &place.top).map_err(|error| unwritable(&path, error))?;
        report.removed.push(path);
    }
    report.notes = notes(place, &shells);
    Ok(report)
}

fn uninstall(place: &InstallLocation) -> Result<Report> {
    let mut report = Report::new(place);
    let scripts = FILES.iter().map(|(_, file)| place.data.join(file));
    for path in scripts.chain(place.own_pages()) {
        if user_file::is_own(&path) {
            user_file::remove(&path, &place.top).map_err(|error| unwritable(&path, error))?;
            report.removed.push(path);
        } else if path.symlink_metadata().is_ok() {
            report.kept.push(path);
        }
    }
    Ok(report)
}

fn notes(place: &InstallLocation, shells: &[Shell]) -> Vec<String> {
    let mut notes = Vec::new();
    if shells.contains(&Shell::Zsh) {
        let dir = place.data.join("zsh/site-functions");
        notes.push(format!("zsh: put `fpath=({} $fpath)` into ~/.zshrc, before compinit.", dir.display()));
    }
    if shells.contains(&Shell::Bash) {
        notes.push("bash: new shells load it if the package bash-completion is installed.".to_owned());
    }
    if !place.found_by_man {
        notes.push(format!("man: put `export MANPATH={}:` into your profile.", place.data.join("man").display()));
    }
    notes.push("Undo with `tenure completions --uninstall`.".to_owned());
    notes
}

fn foreign(path: &Path) -> Error {
    Error::new(Code::FileExists, format!("{} exists, and `completions --install` did not write it", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .hint("Nothing was written. Move the file away and repeat the command; a package may have installed it.")
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    Error::new(Code::NotWritable, format!("{} cannot be written", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .cause(error)
}
