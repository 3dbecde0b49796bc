//! Detects git commands that change files across a working tree, regardless of which agent holds them.

mod rules;
mod table;

use super::git_args::GitArgs;
use super::{Command, DirectoryStep, ShellLine, program_of, read, step};
use table::SubcommandRule;
pub use table::{SUBCOMMANDS, Subcommand};

/// Resolves an alias by its name.
pub type Aliases<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A command that would change files of other agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threat {
    /// The command in a few plain words: `git reset --hard`.
    pub what: String,
    /// The steps that lead to the working tree.
    pub dirs: Vec<DirectoryStep>,
    /// The files or directories that it is limited to, relative to there. `None` for the whole tree.
    pub paths: Option<Vec<String>>,
    /// If this is a file, the command changes only it: `git checkout NAME` takes a branch or a path.
    pub unless_file: Option<String>,
    /// Which working trees it changes.
    pub trees: Trees,
}

/// Which working trees a command changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trees {
    /// The current one.
    #[default]
    Own,
    /// The working trees of its submodules.
    Submodules,
    /// Both.
    All,
}

/// The most levels of aliases that refer to aliases.
const ALIASES_DEEP: usize = 8;
/// The most commands examined for one line, including those that aliases expand to.
const LOOKED_AT: usize = 16_384;
/// The most distinct threats of a line.
const THREATS_MAX: usize = 256;

/// The threats of a command line to files of other agents.
///
/// A line that exceeds the limits on length, depth or work cannot be decided. It is scanned for words, without its
/// quotes, and refused for those alone, whatever directory it leads to. A line is never let through because it is long.
pub fn threats(line: &str, aliases: Aliases<'_>) -> Vec<Threat> {
    let found = read(line);
    let mut search = Search { aliases, left: LOOKED_AT, is_cut: found.is_cut, threats: Vec::new() };
    for command in &found.commands {
        search.look(command, 0);
    }
    if search.is_cut {
        let scanned = scanned(line, &found);
        search.threats.extend(scanned);
    }
    search.threats
}

/// Scans a line that was not read to its end for a program that changes trees and one of its verbs that does.
fn scanned(line: &str, found: &ShellLine) -> Option<Threat> {
    let threat =
        |what: String| Threat { what, dirs: found.steps.clone(), paths: None, unless_file: None, trees: Trees::All };
    // Numeric escapes can spell any word.
    if line.contains("$'") {
        return Some(threat("git …".to_owned()));
    }
    let plain: String = line.replace("\\\n", "").chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let mut program = None;
    for word in plain.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_') {
        if let Some(verb) = word.strip_prefix("git-").filter(|verb| is_dangerous(verb)) {
            return Some(threat(format!("git {verb}")));
        }
        if matches!(word, "git" | "hub" | "gh" | "glab") {
            program = Some(word);
        } else if let Some(program) = program.filter(|_| is_dangerous(word)) {
            return Some(threat(format!("{} {word}", if program == "hub" { "git" } else { program })));
        }
    }
    None
}

/// Whether a subcommand may change files of other agents. `gh` and `glab` have some of the same names.
fn is_dangerous(verb: &str) -> bool {
    table::find(verb).is_some_and(Subcommand::changes_files) || matches!(verb, "co" | "sync")
}

/// A bounded search for threats.
struct Search<'a> {
    aliases: Aliases<'a>,
    /// The number of commands that may still be examined.
    left: usize,
    is_cut: bool,
    threats: Vec<Threat>,
}

impl Search<'_> {
    fn add(&mut self, threat: Threat) {
        if self.threats.contains(&threat) {
            return;
        }
        match self.threats.len() < THREATS_MAX {
            true => self.threats.push(threat),
            false => self.is_cut = true,
        }
    }

    /// Examines a line that another command runs, in the directories that this command names.
    fn look_at_line(&mut self, line: &str, args: &[String], dirs: &[DirectoryStep], trees: Trees, depth: usize) {
        let mut found = read(line);
        self.is_cut |= found.is_cut;
        let last = found.commands.len().saturating_sub(1);
        let before = self.threats.len();
        for (n, command) in found.commands.iter_mut().enumerate() {
            command.dirs = [dirs, &command.dirs].concat();
            if n == last {
                // Arguments are appended; their content is a word and not shell syntax.
                command.words.extend_from_slice(args);
            }
            self.look(command, depth + 1);
        }
        if trees != Trees::Own {
            self.threats.iter_mut().skip(before).for_each(|threat| threat.trees = trees);
        }
    }

    fn look(&mut self, command: &Command, depth: usize) {
        let cost = 1 + command.words.len() / 16 + command.dirs.len() / 16;
        if self.left < cost || depth > ALIASES_DEEP {
            self.is_cut = true;
            return;
        }
        self.left -= cost;
        let [program, rest @ ..] = command.words.as_slice() else { return };
        let program = program_of(program);
        match program {
            "git" | "hub" => self.git(rest, command, depth),
            "gh" | "glab" => {
                let whole = |what| Threat {
                    what,
                    dirs: command.dirs.clone(),
                    paths: None,
                    unless_file: None,
                    trees: Trees::Own,
                };
                rules::forge(program, rest).map(whole).into_iter().for_each(|threat| self.add(threat));
            }
            // The names of git's programs in its own directory.
            _ => {
                if let Some(verb) = program.strip_prefix("git-").filter(|verb| table::find(verb).is_some()) {
                    let words = [&[verb.to_owned()], rest].concat();
                    self.git(&words, command, depth);
                }
            }
        }
    }

    /// Examines the words after `git`.
    fn git(&mut self, rest: &[String], command: &Command, depth: usize) {
        let mut dirs = command.dirs.clone();
        let none = ShellLine::default();
        let mut given: Vec<(&str, &str)> = Vec::new();
        let mut at = 0;
        while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
            let value = rest.get(at + 1).map_or("", String::as_str);
            match word.as_str() {
                "-h" | "--help" | "--version" | "-v" => return,
                "-C" | "--work-tree" => _ = step(&mut dirs, value, &none, DirectoryStep::Into),
                "-c" => given.extend(value.strip_prefix("alias.").and_then(|alias| alias.split_once('='))),
                "--git-dir" | "--namespace" | "--exec-path" | "--config-env" | "--attr-source" | "--super-prefix" => {}
                one => {
                    if let Some(tree) = one.strip_prefix("--work-tree=") {
                        step(&mut dirs, tree, &none, DirectoryStep::Into);
                    }
                    at += 1;
                    continue;
                }
            }
            at += 2;
        }
        let Some((verb, args)) = rest.get(at..).and_then(<[String]>::split_first) else { return };
        let Some(subcommand) = table::find(verb) else {
            let alias =
                given.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(verb)).map(|(_, is)| (*is).to_owned());
            let Some(alias) = alias.or_else(|| (self.aliases)(verb)) else { return };
            if depth >= ALIASES_DEEP {
                // Git refuses an alias that refers to itself.
                return;
            }
            let line = match alias.trim_start().strip_prefix('!') {
                Some(line) => line.to_owned(),
                None => format!("git {alias}"),
            };
            return self.look_at_line(&line, args, &dirs, Trees::Own, depth);
        };
        let risk = match subcommand.rule {
            SubcommandRule::Never => return,
            SubcommandRule::Changes(risk) => risk,
            SubcommandRule::Runs(line, risk) => {
                if let Some((line, trees)) = line(args) {
                    return self.look_at_line(&line, &[], &dirs, trees, depth);
                }
                risk
            }
        };
        let args = GitArgs::read(verb, args);
        let Some(risk) = risk(&args).filter(|_| !args.is_help()) else { return };
        if let Some(tree) = &risk.tree {
            step(&mut dirs, tree, &none, DirectoryStep::Into);
        }
        let what = format!("git {verb} {}", risk.what).trim_end().to_owned();
        let (paths, unless_file, trees) = (risk.paths, risk.unless_file, risk.trees);
        self.add(Threat { what, dirs, paths, unless_file, trees });
    }
}

/// A word as displayed.
fn shown(word: &str) -> String {
    crate::text::cut(&word.replace(super::lexer::UNKNOWN, "…"), 60)
}

#[cfg(test)]
mod tests;
