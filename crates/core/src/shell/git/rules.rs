//! The file effects of git subcommands, depending on their arguments.

use super::super::git_args::GitArgs;
use super::super::lexer::UNKNOWN;
use super::{Trees, shown};

/// The effect of a command on files.
#[derive(Default)]
pub(super) struct FileEffect {
    /// The word shown after the verb.
    pub(super) what: String,
    pub(super) paths: Option<Vec<String>>,
    pub(super) unless_file: Option<String>,
    /// The working tree, if it is not the current one.
    pub(super) tree: Option<String>,
    pub(super) trees: Trees,
}

impl FileEffect {
    fn whole(what: impl Into<String>) -> FileEffect {
        FileEffect { what: what.into(), ..FileEffect::default() }
    }

    /// An effect limited to these paths; the whole tree if a path is unclear or there are none.
    fn of(paths: Vec<String>) -> FileEffect {
        let what = paths.first().map(|path| shown(path)).unwrap_or_default();
        let is_known = paths.iter().all(|path| is_plain(path));
        FileEffect { what, paths: Some(paths).filter(|paths| is_known && !paths.is_empty()), ..FileEffect::default() }
    }

    /// The same, for a command that can read further paths from a file.
    fn listed(args: &GitArgs, paths: Vec<String>, what: &str) -> Option<FileEffect> {
        match args.is_listed() {
            true => Some(FileEffect::whole(what)),
            false => (!paths.is_empty()).then(|| FileEffect::of(paths)),
        }
    }
}

/// Whether a path is literal: no pathspec magic, no pattern, nothing that the shell expands.
fn is_plain(path: &str) -> bool {
    let is_odd = |c: char| matches!(c, '*' | '?' | '[' | '{' | '$' | '`' | '\\' | UNKNOWN);
    !path.is_empty() && !path.starts_with([':', '~']) && !path.contains(is_odd)
}

/// The whole tree if the first word is one of these, otherwise no effect.
fn verbs(args: &GitArgs, changing: &[&str]) -> Option<FileEffect> {
    changing.contains(&args.first()).then(|| FileEffect::whole(shown(args.first())))
}

fn is_dry_run(args: &GitArgs) -> bool {
    args.has("-n", "--dry-run", 4)
}

fn has_any(args: &GitArgs, words: &[&str], least: usize) -> bool {
    words.iter().any(|word| args.has("", word, least))
}

pub(super) fn nothing(_: &GitArgs) -> Option<FileEffect> {
    None
}

pub(super) fn always(_: &GitArgs) -> Option<FileEffect> {
    Some(FileEffect::default())
}

pub(super) fn reset(args: &GitArgs) -> Option<FileEffect> {
    ["--hard", "--merge", "--keep"].into_iter().find(|mode| args.has("", mode, 4)).map(FileEffect::whole)
}

/// `git checkout`: of a branch, which affects the whole tree, or of paths.
pub(super) fn checkout(args: &GitArgs) -> Option<FileEffect> {
    let makes = args.has("-b", "", 0) || args.has("-B", "", 0) || args.has("", "--orphan", 4);
    let paths = args.paths.clone().unwrap_or_default();
    if args.is_listed() {
        return Some(FileEffect::whole("."));
    } else if !paths.is_empty() {
        return Some(FileEffect::of(paths));
    } else if args.has("-p", "--patch", 5) && args.plain.is_empty() {
        // It asks for each hunk, and an agent can pipe the answers in.
        return Some(FileEffect::whole("-p"));
    } else if args.has("-f", "--force", 4) {
        return Some(FileEffect::whole("-f"));
    } else if makes {
        // With a start point, the tree is switched to it.
        let names = args.plain.len() + usize::from(args.is_inline("--orphan", 4));
        let what = if args.has("", "--orphan", 4) { "--orphan" } else { "-b" };
        return (names > 1).then(|| FileEffect::whole(what));
    }
    match args.plain.as_slice() {
        [] => None,
        // `git checkout NAME --`: the name is a branch.
        [one] if args.paths.is_some() => Some(FileEffect::whole(shown(one))),
        [one] if one == "." || one == ".." => Some(FileEffect::of(vec![one.clone()])),
        [one] => Some(FileEffect { unless_file: Some(one.clone()), ..FileEffect::whole(shown(one)) }),
        // The first word may be a branch or a path. Treating it as a path adds at most one path too many.
        [first, rest @ ..] if is_plain(first) => Some(FileEffect::of([std::slice::from_ref(first), rest].concat())),
        [_, rest @ ..] => Some(FileEffect::of(rest.to_vec())),
    }
}

pub(super) fn switch(args: &GitArgs) -> Option<FileEffect> {
    let makes = args.has("-c", "--create", 4) || args.has("-C", "--force-create", 8);
    // An orphan branch starts without any file.
    let orphan = args.has("", "--orphan", 4);
    let forced = args.has("-f", "--force", 7) || args.has("", "--discard-changes", 5);
    let inline = args.is_inline("--create", 4) || args.is_inline("--force-create", 8);
    let names = args.plain.len() + usize::from(inline);
    (forced || orphan || names > usize::from(makes))
        .then(|| FileEffect::whole(shown(args.plain.last().map_or(if orphan { "--orphan" } else { "-f" }, |n| n))))
}

pub(super) fn restore(args: &GitArgs) -> Option<FileEffect> {
    let index_alone = args.has("-S", "--staged", 4) && !args.has("-W", "--worktree", 4);
    let paths = args.all(0);
    match args.has("-p", "--patch", 5) && paths.is_empty() {
        _ if index_alone => None,
        // Without paths it asks for every hunk of the tree.
        true => Some(FileEffect::whole("-p")),
        false => FileEffect::listed(args, paths, "."),
    }
}

pub(super) fn clean(args: &GitArgs) -> Option<FileEffect> {
    (!is_dry_run(args)).then(|| FileEffect::of(args.all(0)))
}

pub(super) fn rm(args: &GitArgs) -> Option<FileEffect> {
    let harmless = args.has("", "--cached", 4) || is_dry_run(args);
    if harmless { None } else { FileEffect::listed(args, args.all(0), "") }
}

pub(super) fn stash(args: &GitArgs) -> Option<FileEffect> {
    match args.first() {
        "list" | "show" | "create" | "store" | "export" | "import" => None,
        "push" | "" if args.is_listed() => Some(FileEffect::whole("")),
        "push" | "" => Some(FileEffect::of(args.all(1))),
        word => Some(FileEffect::whole(shown(word))),
    }
}

pub(super) fn worktree(args: &GitArgs) -> Option<FileEffect> {
    let is_meant = match args.first() {
        "remove" => args.has("-f", "--force", 4),
        "move" => true,
        _ => false,
    };
    let tree = args.plain.get(1).filter(|_| is_meant)?;
    Some(FileEffect { tree: Some(tree.clone()), ..FileEffect::whole(args.first()) })
}

pub(super) fn rebase(args: &GitArgs) -> Option<FileEffect> {
    (!has_any(args, &["--show-current-patch", "--edit-todo", "--quit"], 5)).then(FileEffect::default)
}

pub(super) fn pull(args: &GitArgs) -> Option<FileEffect> {
    // Git lets the last of `--dry-run` and `--no-dry-run` win. Their order is not tracked here, so the command may be
    // meant.
    let is_dry_run = args.has("", "--dry-run", 4) && !args.has("", "--no-dry-run", 7);
    (!is_dry_run).then(FileEffect::default)
}

pub(super) fn unless_quit(args: &GitArgs) -> Option<FileEffect> {
    (!args.has("", "--quit", 4)).then(FileEffect::default)
}

pub(super) fn am(args: &GitArgs) -> Option<FileEffect> {
    (!has_any(args, &["--quit", "--show-current-patch"], 5)).then(FileEffect::default)
}

pub(super) fn apply(args: &GitArgs) -> Option<FileEffect> {
    let looks = has_any(args, &["--check", "--stat", "--numstat", "--summary"], 5);
    let index_alone = args.has("", "--cached", 5);
    (!index_alone && (!looks || args.has("", "--apply", 4))).then(FileEffect::default)
}

/// `git mv`: the sources and the destinations.
pub(super) fn mv(args: &GitArgs) -> Option<FileEffect> {
    let paths = args.all(0);
    let (to, from) = paths.split_last().filter(|(_, from)| !from.is_empty() && !is_dry_run(args))?;
    let is_dir = from.len() > 1 || to.ends_with('/') || to == "." || to == "..";
    let name = |path: &String| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let there: Vec<String> = match is_dir && is_plain(to) {
        true => from.iter().map(|path| format!("{}/{}", to.trim_end_matches('/'), name(path))).collect(),
        false => vec![to.clone()],
    };
    Some(FileEffect::of([from, &there].concat()))
}

pub(super) fn bisect(args: &GitArgs) -> Option<FileEffect> {
    verbs(args, &["start", "good", "bad", "new", "old", "skip", "reset", "run", "replay", "next"])
}

pub(super) fn read_tree(args: &GitArgs) -> Option<FileEffect> {
    ((args.has("-u", "", 0) || args.has("", "--reset", 4)) && !is_dry_run(args)).then(FileEffect::default)
}

pub(super) fn checkout_index(args: &GitArgs) -> Option<FileEffect> {
    // With a prefix it writes copies elsewhere.
    if has_any(args, &["--temp", "--prefix"], 5) {
        return None;
    }
    if args.has("-a", "--all", 4) || args.has("", "--stdin", 5) {
        return Some(FileEffect::default());
    }
    let paths = args.all(0);
    (args.has("-f", "--force", 4) && !paths.is_empty()).then(|| FileEffect::of(paths))
}

pub(super) fn merge_file(args: &GitArgs) -> Option<FileEffect> {
    let file = args.plain.first().filter(|_| !args.has("-p", "--stdout", 5))?;
    Some(FileEffect::of(vec![file.clone()]))
}

pub(super) fn some_paths(args: &GitArgs) -> Option<FileEffect> {
    Some(FileEffect::of(args.all(0)))
}

pub(super) fn rerere(args: &GitArgs) -> Option<FileEffect> {
    args.plain.is_empty().then(FileEffect::default)
}

/// `git submodule`: without force an update keeps local changes, so only the trees of the submodules count.
pub(super) fn submodule(args: &GitArgs) -> Option<FileEffect> {
    let forced = args.has("-f", "--force", 4);
    let trees = if forced { Trees::All } else { Trees::Submodules };
    match args.first() {
        "update" | "deinit" => Some(FileEffect { trees, ..FileEffect::whole(shown(args.first())) }),
        _ => None,
    }
}

pub(super) fn subtree(args: &GitArgs) -> Option<FileEffect> {
    match args.first() {
        "split" | "push" => args.has("", "--rejoin", 8).then(|| FileEffect::whole("split")),
        _ => verbs(args, &["add", "merge", "pull"]),
    }
}

pub(super) fn sparse_checkout(args: &GitArgs) -> Option<FileEffect> {
    verbs(args, &["init", "set", "add", "reapply", "disable", "clean"])
}

pub(super) fn filter_repo(args: &GitArgs) -> Option<FileEffect> {
    (!has_any(args, &["--analyze", "--dry-run"], 5)).then(FileEffect::default)
}

pub(super) fn lfs(args: &GitArgs) -> Option<FileEffect> {
    match args.first() {
        "migrate" => (args.plain.get(1).map(String::as_str) != Some("info")).then(|| FileEffect::whole("migrate")),
        _ => verbs(args, &["pull", "checkout", "merge-driver"]),
    }
}

pub(super) fn svn(args: &GitArgs) -> Option<FileEffect> {
    verbs(args, &["rebase", "dcommit", "up", "merge"]).filter(|_| !is_dry_run(args))
}

pub(super) fn p4(args: &GitArgs) -> Option<FileEffect> {
    verbs(args, &["sync", "rebase", "submit", "unshelve"]).filter(|_| !is_dry_run(args))
}

pub(super) fn cvsimport(args: &GitArgs) -> Option<FileEffect> {
    (!args.has("-i", "", 0)).then(FileEffect::default)
}

pub(super) fn flow(args: &GitArgs) -> Option<FileEffect> {
    const CHANGING: [&str; 8] = ["start", "finish", "track", "checkout", "pull", "rebase", "delete", "update"];
    let verb = args.plain.get(1).map_or("", String::as_str);
    (args.first() == "init" || CHANGING.contains(&verb)).then(|| FileEffect::whole(shown(args.first())))
}

pub(super) fn town(args: &GitArgs) -> Option<FileEffect> {
    const READING: [&str; 9] =
        ["", "branch", "completions", "config", "diff-parent", "help", "offline", "repo", "status"];
    (!READING.contains(&args.first())).then(|| FileEffect::whole(shown(args.first())))
}

pub(super) fn annex(args: &GitArgs) -> Option<FileEffect> {
    const CHANGING: [&str; 19] = [
        "sync", "pull", "assist", "merge", "adjust", "undo", "get", "drop", "move", "unlock", "lock", "fix", "unannex",
        "uninit", "view", "vadd", "vfilter", "vpop", "proxy",
    ];
    verbs(args, &CHANGING)
}

pub(super) fn crypt(args: &GitArgs) -> Option<FileEffect> {
    verbs(args, &["lock", "unlock"])
}

/// `git submodule foreach CMD`: the line runs in each submodule.
pub(super) fn foreach(words: &[String]) -> Option<(String, Trees)> {
    let (_, line) = words.split_first().filter(|(verb, _)| *verb == "foreach")?;
    let begin = line.iter().position(|word| !word.starts_with('-')).unwrap_or(line.len());
    Some((line[begin..].join(" "), Trees::All))
}

/// `git for-each-repo --config=KEY CMD`: a git command in the repositories that a setting lists.
pub(super) fn in_each_repository(words: &[String]) -> Option<(String, Trees)> {
    let mut rest = words;
    while let [first, behind @ ..] = rest {
        rest = match first.as_str() {
            "--config" => behind.get(1..).unwrap_or_default(),
            _ if first.starts_with('-') => behind,
            _ => break,
        };
    }
    Some((format!("git {}", rest.join(" ")), Trees::Own))
}

/// The effects of forge programs on the current tree.
pub(super) fn forge(program: &str, words: &[String]) -> Option<String> {
    let plain: Vec<&str> = words.iter().filter(|word| !word.starts_with('-')).map(String::as_str).collect();
    let has = |letter: char, long: &str| {
        words.iter().any(|word| match word.strip_prefix("--") {
            Some(name) => name == long || name.strip_prefix(long).is_some_and(|value| value.starts_with('=')),
            None => word.len() > 1 && word.starts_with('-') && word.contains(letter),
        })
    };
    if has('h', "help") {
        return None;
    }
    let changes = match (program, plain.as_slice()) {
        ("gh", ["pr", "checkout", ..] | ["co", ..]) | ("glab", ["mr", "checkout", ..]) => true,
        // Without a named repository, the local branch is deleted too, and the tree is switched to another one first.
        ("gh", ["pr", "merge", ..]) => has('d', "delete-branch") && !has('R', "repo"),
        ("gh", ["repo", "sync"]) => true,
        ("gh", ["issue", "develop", ..]) => has('c', "checkout"),
        _ => false,
    };
    let verb = plain.iter().take(if plain.first() == Some(&"co") { 1 } else { 2 });
    changes.then(|| format!("{program} {}", verb.copied().collect::<Vec<_>>().join(" ")))
}
