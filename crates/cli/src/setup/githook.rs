//! The hooks of a git repository. If the hook is a shell script, Tenure's lines are added to it. Any other hook is
//! renamed, and called from a new one. If git reads hooks from its configuration, the configuration is used and no file
//! is changed.
//!
//! An existing hook is kept: it runs after Tenure's lines with its arguments, its input and its exit status.

mod config;
mod location;
mod script;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tenure_core::Result;

use super::Problem;
use super::json_entries::FileOutcome;
use super::marked_section::{self, TOML};
use super::plan::{PlanDirection, unusable};
pub(crate) use config::{configured, configured_presence};
pub(crate) use location::{Hooks, git};
pub(crate) use script::HookProgram;
use script::{lines, named};

/// The hooks that are installed.
pub(crate) const EVENTS: [&str; 5] = ["pre-commit", "post-commit", "pre-merge-commit", "post-merge", "pre-push"];
/// The suffix of a hook that was renamed because it cannot be edited.
const ASIDE: &str = "before-tenure";
/// The suffix that the program pre-commit gives a hook that it found; it runs the hook from there.
const LEGACY: &str = "legacy";
/// The maximum size of a hook that is read.
const LARGEST: u64 = 8 * 1024 * 1024;

/// What happens to a file besides the change of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// The existing file is renamed first.
    Aside(PathBuf),
    /// The renamed file gets its name back.
    Back(PathBuf),
    /// The existing file gets the mode that git requires.
    Mode,
}

/// The planned change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) remarks: Vec<String>,
    pub(crate) moved: Option<Move>,
    /// The mode of a new file.
    pub(crate) mode: u32,
}

/// The file of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookFile {
    pub(crate) event: &'static str,
    husky: bool,
    /// Whether hooks are installed as files here.
    wanted: bool,
    /// The path of the program, if the file may contain one.
    program: Option<String>,
}

impl HookFile {
    /// The lines between the marks.
    fn lines(&self) -> String {
        lines(self.event, self.program.as_deref())
    }

    /// The program that the lines between the marks name, if setup wrote them.
    fn named(&self, text: &str) -> Option<HookProgram> {
        let span = locate(text).ok()??;
        named(&text[span.inside], self.event)
    }

    /// The whole file with these lines between the marks.
    fn made(&self, lines: &str) -> String {
        if self.husky { own_husky(lines) } else { own(self.event, lines) }
    }

    /// Whether this or an earlier version of setup made the file, and it is unchanged.
    fn is_made(&self, text: &str) -> bool {
        let inside = locate(text).ok().flatten().map(|span| text[span.inside].trim_end_matches('\n').to_owned());
        let of = |inside: String| own(self.event, &inside) == text || self.husky && own_husky(&inside) == text;
        self.named(text).is_some() && inside.is_some_and(of)
    }
}

fn block(lines: &str) -> String {
    format!("{}\n{lines}\n{}", TOML.begin, TOML.end)
}

/// The first line of a file that setup makes.
const MADE: &str = "# Made by `tenure setup git`; `tenure setup git --remove` takes it out.\n";

/// A new file with these lines between the marks. A hook that existed before runs after them.
fn own(event: &str, lines: &str) -> String {
    format!(
        "#!/bin/sh\n{MADE}{}\nbefore=\"${{0%/*}}/{event}.{ASIDE}\"\nif [ -x \"$before\" ]; then exec \"$before\" \"$@\"; fi\n",
        block(lines)
    )
}

/// The same for husky, which runs the lines of a file.
fn own_husky(lines: &str) -> String {
    format!("{MADE}{}\n", block(lines))
}

/// The state of a hook's file.
enum HookFileState {
    Absent,
    /// Setup made it, and it is unchanged.
    Made,
    /// A shell script.
    Script,
    /// A link, a binary, a script in another language, or a file that git does not run.
    Other,
}

/// The content of a hook's file. If it is not text, it is only compared.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    let unusable = |why: &str| unusable(path, why);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(&error.to_string()).cause(error)),
        Ok(meta) if meta.is_dir() => return Err(unusable("it is a directory")),
        Ok(meta) if meta.len() > LARGEST => return Err(unusable("it is larger than 8 MiB")),
        Ok(meta) if meta.is_symlink() => {
            let target = fs::read_link(path).map_err(|error| unusable(&error.to_string()).cause(error))?;
            return Ok(Some(format!("(a link to {})\n", target.display())));
        }
        Ok(meta) if !meta.is_file() => return Err(unusable("it is not a regular file")),
        Ok(_) => {}
    }
    #[expect(clippy::disallowed_methods, reason = "a hook of git; never the database")]
    let bytes = fs::read(path).map_err(|error| unusable(&error.to_string()).cause(error))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Whether git runs the file. Husky passes it to a shell; git itself skips a file that is not executable.
fn runs(path: &Path, hook: &HookFile) -> bool {
    hook.husky || fs::symlink_metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

fn state(path: &Path, hook: &HookFile, text: Option<&str>) -> HookFileState {
    let Some(text) = text else { return HookFileState::Absent };
    let meta = fs::symlink_metadata(path).ok();
    let regular = meta.as_ref().is_some_and(|meta| meta.is_file());
    let runs = runs(path, hook);
    if regular && hook.is_made(text) {
        return HookFileState::Made;
    }
    if regular && runs && is_shell(text, hook.husky) && !text.contains('\u{fffd}') {
        return HookFileState::Script;
    }
    HookFileState::Other
}

/// Whether a shell reads the text: its first line says so, or husky passes it to one.
fn is_shell(text: &str, husky: bool) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let Some(rest) = first.strip_prefix("#!") else { return husky };
    let mut words = rest.split_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let mut program = words.next().map(base).unwrap_or_default();
    if program == "env" {
        program = words.find(|word| !word.starts_with('-') && !word.contains('=')).map(base).unwrap_or_default();
    }
    ["sh", "bash", "dash", "ash", "ksh", "zsh"].contains(&program.as_str())
}

/// The change of a hook's file.
pub(crate) fn plan(path: &Path, hook: &HookFile, way: PlanDirection) -> Result<Planned> {
    let before = read(path)?;
    let set = way == PlanDirection::Set && hook.wanted;
    let mode = if hook.husky { 0o644 } else { 0o755 };
    let mut planned = Planned { after: before.clone(), before: before.clone(), remarks: Vec::new(), moved: None, mode };
    let is_legacy = path.extension().is_some_and(|end| end == LEGACY);
    let aside = path.with_file_name(format!("{}.{ASIDE}", hook.event));
    let made = hook.made(&hook.lines());
    match (set, state(path, hook, before.as_deref())) {
        (true, HookFileState::Absent) => planned.after = Some(made),
        (true, HookFileState::Made) if !runs(path, hook) => {
            planned.after = Some(made);
            planned.moved = Some(Move::Mode);
            planned.remarks.push("it was not executable, so git did not run it; now it is".to_owned());
        }
        (true, HookFileState::Made) => planned.after = Some(made),
        (false, HookFileState::Absent) => {}
        (true, HookFileState::Script) if runs_legacy(path, hook) => {}
        (true, HookFileState::Script) => {
            let text = before.unwrap_or_default();
            let outcome = put(&text, hook).map_err(|problem| problem.of(path))?;
            (planned.after, planned.remarks) = (outcome.text, outcome.remarks);
        }
        (true, HookFileState::Other) if fs::symlink_metadata(&aside).is_ok() => {
            planned.remarks.push(format!("it is kept: {} already contains an earlier hook", aside.display()));
        }
        (true, HookFileState::Other) => {
            planned.after = Some(own(hook.event, &hook.lines()));
            planned.moved = Some(Move::Aside(aside));
            planned.remarks.push(format!("the existing hook becomes {}.{ASIDE} and runs after Tenure", hook.event));
        }
        (false, HookFileState::Made) if !is_legacy && fs::symlink_metadata(&aside).is_ok() => {
            planned.after = read(&aside)?;
            planned.moved = Some(Move::Back(aside));
        }
        // No other program has written to it.
        (false, HookFileState::Made) if is_legacy || way == PlanDirection::Remove || !hook.wanted => {
            planned.after = if is_legacy && way == PlanDirection::Set { before } else { None };
        }
        (false, HookFileState::Script) if !is_legacy || way == PlanDirection::Remove => {
            let text = before.unwrap_or_default();
            let outcome = take(&text, hook).map_err(|problem| problem.of(path))?;
            (planned.after, planned.remarks) = (outcome.text, outcome.remarks);
        }
        (false, _) => {}
    }
    Ok(planned)
}

/// Whether another program that installs hooks already runs Tenure's renamed hook.
fn runs_legacy(path: &Path, hook: &HookFile) -> bool {
    let legacy = path.with_file_name(format!("{}.{LEGACY}", hook.event));
    read(&legacy).is_ok_and(|text| text.is_some_and(|text| hook.named(&text).is_some()))
}

/// The remark about lines that were edited.
const CHANGED: &str = "the lines between the marks were changed and are kept";

/// Adds the lines after the first line of a script, before any command that could end it.
fn put(text: &str, hook: &HookFile) -> std::result::Result<FileOutcome, Problem> {
    if let Some(span) = locate(text)? {
        if named(&text[span.inside.clone()], hook.event).is_none() {
            return Ok(FileOutcome { text: Some(text.to_owned()), remarks: vec![CHANGED.to_owned()] });
        }
        let mut after = text.to_owned();
        after.replace_range(span.inside, &format!("{}\n", hook.lines()));
        return Ok(FileOutcome { text: Some(after), remarks: Vec::new() });
    }
    let block = block(&hook.lines());
    let after = match (text.starts_with("#!"), text.find('\n')) {
        (false, _) => format!("{block}\n{text}"),
        (true, Some(end)) => format!("{}{block}\n{}", &text[..=end], &text[end + 1..]),
        (true, None) => format!("{text}\n{block}"),
    };
    Ok(FileOutcome { text: Some(after), remarks: Vec::new() })
}

/// Removes the lines from a script; `None` if the script was made for them.
fn take(text: &str, hook: &HookFile) -> std::result::Result<FileOutcome, Problem> {
    let Some(span) = locate(text)? else { return Ok(FileOutcome { text: Some(text.to_owned()), remarks: Vec::new() }) };
    if named(&text[span.inside.clone()], hook.event).is_none() {
        return Ok(FileOutcome { text: Some(text.to_owned()), remarks: vec![CHANGED.to_owned()] });
    }
    let (mut front, back) = (&text[..span.whole.start], &text[span.whole.end..]);
    // If the file did not end with a newline, one was added before the lines.
    if back.is_empty() && !text.ends_with('\n') {
        front = front.strip_suffix('\n').unwrap_or(front);
    }
    let rest = format!("{front}{back}");
    let text = (rest != MADE).then_some(rest);
    Ok(FileOutcome { text, remarks: Vec::new() })
}

fn locate(text: &str) -> std::result::Result<Option<marked_section::SectionSpan>, Problem> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        at += line.len();
        at - line.len()..at
    });
    marked_section::locate(text, lines.collect::<Vec<_>>().into_iter(), &TOML)
}

/// The state of Tenure's lines in a hook's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinePresence {
    Absent,
    There(HookProgram),
    /// They were edited.
    Changed,
    /// They are present, but git does not run the file.
    Idle,
}

/// Whether Tenure's lines are in a hook's file and git runs it.
pub(crate) fn presence(path: &Path, hook: &HookFile) -> Result<LinePresence> {
    let Some(text) = read(path)? else { return Ok(LinePresence::Absent) };
    // A file that another program runs is reported with the hook of that program.
    let is_legacy = path.extension().is_some_and(|end| end == LEGACY);
    let named = hook.named(&text);
    if !is_legacy && named.is_some() && !runs(path, hook) {
        return Ok(LinePresence::Idle);
    }
    if is_legacy || matches!(state(path, hook, Some(&text)), HookFileState::Other) {
        return Ok(LinePresence::Absent);
    }
    let legacy = || {
        let text = read(&path.with_file_name(format!("{}.{LEGACY}", hook.event))).ok()??;
        hook.named(&text)
    };
    if let Some(named) = named.or_else(legacy) {
        return Ok(LinePresence::There(named));
    }
    Ok(if text.contains(TOML.begin) { LinePresence::Changed } else { LinePresence::Absent })
}

/// The text that setup writes for a hook.
pub(crate) fn wanted(hook: &HookFile) -> HookProgram {
    HookProgram::of(hook.program.as_deref())
}

#[cfg(test)]
mod tests;
