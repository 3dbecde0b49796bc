//! Which git commands change files all over a working tree, whoever works on them.

use super::git_args::Args;
use super::{Command, Step, commands, read, step};

/// What an alias stands for, if there is one of that name.
pub type Aliases<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A command that would change files of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threat {
    /// The command in a few plain words: `git reset --hard`.
    pub what: String,
    /// The steps that lead to the working tree.
    pub dirs: Vec<Step>,
    /// What it is limited to, seen from there: files, or directories with everything in them. None for the whole tree.
    pub paths: Option<Vec<String>>,
    /// If this is a file, it alone is meant: `git checkout NAME` takes a branch or a path.
    pub unless_file: Option<String>,
}

/// How often an alias may stand for another.
const ALIASES_DEEP: usize = 8;

/// What a command line would do to files of others.
pub fn threats(line: &str, aliases: Aliases<'_>) -> Vec<Threat> {
    let found = read(line);
    let mut threats: Vec<Threat> = found.commands.iter().flat_map(|command| of(command, aliases, 0)).collect();
    if found.is_cut {
        threats.extend(scanned(line));
    }
    threats
}

/// What may stand in a line that is longer or deeper than is read: the word `git`, and one that is dangerous behind it.
fn scanned(line: &str) -> Option<Threat> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    words.find(|word| *word == "git")?;
    let verb = words.find(|word| DANGEROUS.contains(word))?;
    Some(Threat { what: format!("git {verb}"), dirs: Vec::new(), paths: None, unless_file: None })
}

/// Verbs that may change files of others; a line too long to be read is refused for any of them.
const DANGEROUS: [&str; 18] = [
    "reset",
    "checkout",
    "switch",
    "restore",
    "clean",
    "stash",
    "rebase",
    "pull",
    "merge",
    "bisect",
    "read-tree",
    "checkout-index",
    "rm",
    "cherry-pick",
    "revert",
    "am",
    "apply",
    "mv",
];

fn of(command: &Command, aliases: Aliases<'_>, depth: usize) -> Vec<Threat> {
    let [program, rest @ ..] = command.words.as_slice() else { return Vec::new() };
    let mut dirs = command.dirs.clone();
    match (program.rsplit('/').next().unwrap_or(program), rest) {
        ("git", _) => {}
        ("gh", [pr, checkout, ..]) if pr == "pr" && checkout == "checkout" => {
            return vec![Threat { what: "gh pr checkout".to_owned(), dirs, paths: None, unless_file: None }];
        }
        _ => return Vec::new(),
    }
    let mut given: Vec<(&str, &str)> = Vec::new();
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        let value = rest.get(at + 1).map_or("", String::as_str);
        match word.as_str() {
            "-h" | "--help" | "--version" | "-v" => return Vec::new(),
            "-C" | "--work-tree" => _ = step(&mut dirs, value, Step::Into),
            "-c" => given.extend(value.strip_prefix("alias.").and_then(|alias| alias.split_once('='))),
            "--git-dir" | "--namespace" | "--exec-path" | "--config-env" | "--attr-source" | "--super-prefix" => {}
            one => {
                if let Some(tree) = one.strip_prefix("--work-tree=") {
                    step(&mut dirs, tree, Step::Into);
                }
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    let Some((verb, args)) = rest.get(at..).and_then(<[String]>::split_first) else { return Vec::new() };
    if DANGEROUS.iter().chain(&OTHERS).any(|known| known == verb) {
        let Some(risk) = threat(verb, args) else { return Vec::new() };
        if let Some(tree) = &risk.tree {
            step(&mut dirs, tree, Step::Into);
        }
        let what = format!("git {verb} {}", risk.what).trim_end().to_owned();
        return vec![Threat { what, dirs, paths: risk.paths, unless_file: risk.unless_file }];
    }
    let alias = given.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(verb)).map(|(_, is)| (*is).to_owned());
    let Some(alias) = alias.or_else(|| aliases(verb)).filter(|_| depth < ALIASES_DEEP) else { return Vec::new() };
    let line = match alias.trim_start().strip_prefix('!') {
        Some(line) => line.to_owned(),
        None => format!("git {alias}"),
    };
    // Arguments are added behind; whatever is in them is a word and no shell.
    let mut meant = commands(&line);
    let last = meant.len().saturating_sub(1);
    for (n, command) in meant.iter_mut().enumerate() {
        command.dirs = [dirs.as_slice(), &command.dirs].concat();
        if n == last {
            command.words.extend_from_slice(args);
        }
    }
    meant.iter().flat_map(|command| of(command, aliases, depth + 1)).collect()
}

/// Other commands of git's own that are used most: no alias can change them, nor the dangerous ones.
const OTHERS: [&str; 18] = [
    "status",
    "add",
    "commit",
    "diff",
    "log",
    "show",
    "push",
    "fetch",
    "clone",
    "init",
    "branch",
    "tag",
    "rev-parse",
    "ls-files",
    "config",
    "remote",
    "worktree",
    "grep",
];

/// What a command does to files.
#[derive(Default)]
struct Risk {
    /// What follows the verb, in a word.
    what: String,
    paths: Option<Vec<String>>,
    unless_file: Option<String>,
    /// The working tree that is meant, if it is not the one around.
    tree: Option<String>,
}

impl Risk {
    fn whole(what: impl Into<String>) -> Risk {
        Risk { what: what.into(), ..Risk::default() }
    }

    /// What is limited to some paths, unless those say too little or too much.
    fn of(paths: Vec<String>) -> Risk {
        let what = paths.first().map(|path| shown(path)).unwrap_or_default();
        let is_known = paths.iter().all(|path| is_plain(path));
        Risk { what, paths: Some(paths).filter(|paths| is_known && !paths.is_empty()), ..Risk::default() }
    }
}

/// Whether a path means what it says: no magic, no pattern, nothing that only the shell knows.
fn is_plain(path: &str) -> bool {
    let is_odd = |c: char| matches!(c, '*' | '?' | '[' | '{' | '$' | '`' | '\\' | super::lexer::UNKNOWN);
    !path.is_empty() && !path.starts_with([':', '~']) && !path.contains(is_odd)
}

/// Whether a command changes files of the tree, and which.
fn threat(verb: &str, args: &[String]) -> Option<Risk> {
    let args = Args::read(verb, args);
    // `-h` alone: in `-Xtheirs` it is a letter of something else.
    if args.options.iter().any(|option| option == "-h") || args.has("", "--help", 6) {
        return None;
    }
    let first = args.plain.first().map(String::as_str);
    let listed = args.has("", "--pathspec-from-file", 12);
    // Every path, before `--` and behind it.
    let all = |from: usize| -> Vec<String> {
        args.plain.iter().skip(from).chain(args.paths.iter().flatten()).cloned().collect()
    };
    match verb {
        "reset" => ["--hard", "--merge", "--keep"].into_iter().find(|mode| args.has("", mode, 4)).map(Risk::whole),
        "checkout" => checkout(&args, listed),
        "switch" => {
            let makes = args.has("-c", "--create", 4) || args.has("-C", "--force-create", 8);
            // An orphan begins without any file.
            let orphan = args.has("", "--orphan", 4);
            let forced = args.has("-f", "--force", 7) || args.has("", "--discard-changes", 5);
            let inline = args.is_inline("--create", 4) || args.is_inline("--force-create", 8);
            let names = args.plain.len() + usize::from(inline);
            (forced || orphan || names > usize::from(makes))
                .then(|| Risk::whole(shown(args.plain.last().map_or(if orphan { "--orphan" } else { "-f" }, |n| n))))
        }
        "restore" => {
            let index_alone = args.has("-S", "--staged", 4) && !args.has("-W", "--worktree", 4);
            let paths = all(0);
            match index_alone || args.has("-p", "--patch", 5) {
                true => None,
                false if listed => Some(Risk::whole(".")),
                false => (!paths.is_empty()).then(|| Risk::of(paths)),
            }
        }
        "clean" => (!args.has("-n", "--dry-run", 4)).then(|| Risk::of(all(0))),
        "rm" => {
            let harmless = args.has("", "--cached", 4) || args.has("-n", "--dry-run", 4);
            let paths = all(0);
            (!harmless && (listed || !paths.is_empty())).then(|| if listed { Risk::whole("") } else { Risk::of(paths) })
        }
        "stash" => match first {
            Some("list" | "show" | "create" | "store") => None,
            Some("push") | None if listed => Some(Risk::whole("")),
            Some("push") | None => Some(Risk::of(all(1))),
            Some(word) => Some(Risk::whole(shown(word))),
        },
        "worktree" => {
            let tree = args.plain.get(1).filter(|_| first == Some("remove") && args.has("-f", "--force", 4))?;
            Some(Risk { tree: Some(tree.clone()), ..Risk::whole("remove") })
        }
        "rebase" => {
            let harmless = ["--show-current-patch", "--edit-todo", "--quit"];
            (!harmless.into_iter().any(|word| args.has("", word, 5))).then(Risk::default)
        }
        "pull" => Some(Risk::default()),
        "merge" | "cherry-pick" | "revert" => (!args.has("", "--quit", 4)).then(Risk::default),
        "am" => (!args.has("", "--quit", 5) && !args.has("", "--show-current-patch", 5)).then(Risk::default),
        "apply" => {
            let looks = ["--check", "--stat", "--numstat", "--summary"].into_iter().any(|word| args.has("", word, 5));
            let index_alone = args.has("", "--cached", 5);
            (!index_alone && (!looks || args.has("", "--apply", 4))).then(Risk::default)
        }
        "mv" => moved(&all(0)).filter(|_| !args.has("-n", "--dry-run", 4)),
        "bisect" => {
            matches!(first, Some("start" | "good" | "bad" | "new" | "old" | "skip" | "reset" | "run" | "replay"))
                .then(|| Risk::whole(shown(first.unwrap_or_default())))
        }
        "read-tree" => (args.has("-u", "", 0) || args.has("", "--reset", 4)).then(Risk::default),
        "checkout-index" => (args.has("-a", "--all", 4)).then(Risk::default),
        _ => None,
    }
}

/// `git checkout`: of a branch, which is the whole tree, or of paths.
fn checkout(args: &Args, listed: bool) -> Option<Risk> {
    let makes = args.has("-b", "", 0) || args.has("-B", "", 0) || args.has("", "--orphan", 4);
    let paths = args.paths.clone().unwrap_or_default();
    if listed {
        return Some(Risk::whole("."));
    } else if args.has("-p", "--patch", 5) {
        return None;
    } else if !paths.is_empty() {
        return Some(Risk::of(paths));
    } else if args.has("-f", "--force", 4) {
        return Some(Risk::whole("-f"));
    } else if makes {
        // With a place to begin at, the tree goes there.
        let names = args.plain.len() + usize::from(args.is_inline("--orphan", 4));
        let what = if args.has("", "--orphan", 4) { "--orphan" } else { "-b" };
        return (names > 1).then(|| Risk::whole(what));
    }
    match args.plain.as_slice() {
        [] => None,
        // `git checkout NAME --`: the name is that of a branch.
        [one] if args.paths.is_some() => Some(Risk::whole(shown(one))),
        [one] if one == "." || one == ".." => Some(Risk::of(vec![one.clone()])),
        [one] => Some(Risk { unless_file: Some(one.clone()), ..Risk::whole(shown(one)) }),
        // The first may be a branch or a path: as a path it is no more than one too many.
        [first, rest @ ..] if is_plain(first) => Some(Risk::of([std::slice::from_ref(first), rest].concat())),
        [_, rest @ ..] => Some(Risk::of(rest.to_vec())),
    }
}

/// `git mv`: what moves, and where it is then.
fn moved(paths: &[String]) -> Option<Risk> {
    let (to, from) = paths.split_last().filter(|(_, from)| !from.is_empty())?;
    let is_dir = from.len() > 1 || to.ends_with('/') || to == "." || to == "..";
    let name = |path: &String| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let there: Vec<String> = match is_dir && is_plain(to) {
        true => from.iter().map(|path| format!("{}/{}", to.trim_end_matches('/'), name(path))).collect(),
        false => vec![to.clone()],
    };
    Some(Risk::of([from, &there].concat()))
}

/// A word as it is shown to others.
fn shown(word: &str) -> String {
    crate::text::cut(&word.replace(super::lexer::UNKNOWN, "…"), 60)
}

#[cfg(test)]
mod tests;
