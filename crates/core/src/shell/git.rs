//! Which git commands change files all over a working tree, whoever works on them.

use super::{Command, commands, step};

/// What an alias stands for, if there is one of that name.
pub type Aliases<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A command that would change files of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threat {
    /// The command in a few plain words: `git reset --hard`.
    pub what: String,
    /// The directories that lead to the working tree, each seen from the one before it.
    pub dirs: Vec<String>,
    /// If this is a file, it alone is meant and nothing is at risk: `git checkout NAME` takes a branch or a path.
    pub unless_file: Option<String>,
}

/// How often an alias may stand for another.
const ALIASES_DEEP: usize = 8;

/// What a command line would do to a whole working tree.
pub fn threats(line: &str, aliases: Aliases<'_>) -> Vec<Threat> {
    commands(line).iter().flat_map(|command| of(command, aliases, 0)).collect()
}

fn of(command: &Command, aliases: Aliases<'_>, depth: usize) -> Vec<Threat> {
    let [program, rest @ ..] = command.words.as_slice() else { return Vec::new() };
    let mut dirs = command.dirs.clone();
    match (program.rsplit('/').next().unwrap_or(program), rest) {
        ("git", _) => {}
        ("gh", [pr, checkout, ..]) if pr == "pr" && checkout == "checkout" => {
            return vec![Threat { what: "gh pr checkout".to_owned(), dirs, unless_file: None }];
        }
        _ => return Vec::new(),
    }
    let mut given: Vec<(&str, &str)> = Vec::new();
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        let value = rest.get(at + 1).map_or("", String::as_str);
        match word.as_str() {
            "-h" | "--help" | "--version" | "-v" => return Vec::new(),
            "-C" => step(&mut dirs, value),
            "--work-tree" => step(&mut dirs, value),
            "-c" => given.extend(value.strip_prefix("alias.").and_then(|alias| alias.split_once('='))),
            "--git-dir" | "--namespace" | "--exec-path" | "--config-env" | "--attr-source" | "--super-prefix" => {}
            one => {
                if let Some(tree) = one.strip_prefix("--work-tree=") {
                    step(&mut dirs, tree);
                }
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    let Some((verb, args)) = rest.get(at..).and_then(<[String]>::split_first) else { return Vec::new() };
    if KNOWN.contains(&verb.as_str()) {
        return threat(verb, args).map(|(what, unless_file)| Threat { what, dirs, unless_file }).into_iter().collect();
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

/// Commands of git's own, which no alias can change: those that matter here, and those that are used most.
const KNOWN: [&str; 34] = [
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
    "rm",
    "mv",
    "rev-parse",
    "ls-files",
    "config",
    "remote",
    "worktree",
    "cherry-pick",
    "revert",
    "grep",
];

/// Whether a command changes files all over the tree: what it is in plain words, and the file that would make it harmless.
fn threat(verb: &str, args: &[String]) -> Option<(String, Option<String>)> {
    let args = Args::read(verb, args);
    if args.has("-h", "--help", 6) {
        return None;
    }
    let first = args.plain.first().map(String::as_str);
    let whole = |paths: &[String]| paths.iter().any(|path| is_everything(path));
    let mut unless_file = None;
    let what = match verb {
        "reset" => ["--hard", "--merge", "--keep"].into_iter().find(|mode| args.has("", mode, 4)).map(str::to_owned),
        "checkout" => {
            let makes = args.has("-b", "", 0) || args.has("-B", "", 0) || args.has("", "--orphan", 4);
            if args.has("-f", "--force", 4) {
                Some("-f".to_owned())
            } else if args.has("-p", "--patch", 5) {
                None
            } else if let Some(paths) = &args.paths {
                whole(paths).then(|| ".".to_owned())
            } else if makes {
                // With a place to begin at, the tree goes there.
                (args.plain.len() > 1 && !args.has("", "--orphan", 4)).then(|| "-b".to_owned())
            } else {
                match args.plain.as_slice() {
                    [] => None,
                    [one] if is_everything(one) => Some(".".to_owned()),
                    [one] => {
                        unless_file = Some(one.clone());
                        Some(shown(one))
                    }
                    [_, paths @ ..] => whole(paths).then(|| ".".to_owned()),
                }
            }
        }
        "switch" => {
            let makes = args.has("-c", "--create", 4) || args.has("-C", "--force-create", 8);
            let orphan = args.has("", "--orphan", 4);
            let forced = args.has("-f", "--force", 7) || args.has("", "--discard-changes", 5);
            let names = args.plain.len();
            (forced || (!orphan && names > usize::from(makes))).then(|| shown(args.plain.last().map_or("-f", |n| n)))
        }
        "restore" => {
            let index_alone = args.has("-S", "--staged", 4) && !args.has("-W", "--worktree", 4);
            let paths = args.paths.as_deref().unwrap_or_default();
            (!index_alone && (whole(paths) || whole(&args.plain))).then(|| ".".to_owned())
        }
        "clean" => {
            let dry = args.has("-n", "--dry-run", 4);
            let paths: Vec<String> = args.plain.iter().chain(args.paths.iter().flatten()).cloned().collect();
            (!dry && (paths.is_empty() || whole(&paths))).then(String::new)
        }
        "stash" => match first {
            Some("list" | "show" | "create" | "store") => None,
            Some("push") | None => {
                let named = args.plain.get(1..).unwrap_or_default();
                let paths: Vec<String> = named.iter().chain(args.paths.iter().flatten()).cloned().collect();
                (paths.is_empty() || whole(&paths)).then(String::new)
            }
            Some(word) => Some(shown(word)),
        },
        "rebase" => {
            let harmless = ["--show-current-patch", "--edit-todo", "--quit"];
            (!harmless.into_iter().any(|word| args.has("", word, 5))).then(String::new)
        }
        "pull" => Some(String::new()),
        "merge" => (!args.has("", "--quit", 4)).then(String::new),
        "bisect" => {
            matches!(first, Some("start" | "good" | "bad" | "new" | "old" | "skip" | "reset" | "run" | "replay"))
                .then(|| shown(first.unwrap_or_default()))
        }
        "read-tree" => (args.has("-u", "", 0) || args.has("", "--reset", 4)).then(String::new),
        "checkout-index" => (args.has("-a", "--all", 4)).then(String::new),
        _ => None,
    }?;
    Some((format!("git {verb} {what}").trim_end().to_owned(), unless_file))
}

/// A word as it is shown to others.
fn shown(word: &str) -> String {
    crate::text::cut(word, 60)
}

/// Whether a path means everything, or too much to tell.
fn is_everything(path: &str) -> bool {
    let plain = path.trim_end_matches('/');
    matches!(
        plain,
        "" | "." | ".." | "*" | ":" | ":/" | ":/*" | ":/." | ":(top)" | ":(top)." | ":(top)*" | "**" | "./*"
    ) || plain.starts_with(":!")
        || plain.starts_with(":^")
        || plain.starts_with(":(exclude)")
        || (plain.starts_with("../") && plain.split('/').all(|part| part == ".."))
}

/// Arguments of a git command.
struct Args {
    options: Vec<String>,
    plain: Vec<String>,
    /// What stands behind `--`, if that is there.
    paths: Option<Vec<String>>,
}

/// Options of a verb that take a word of their own; the letters among them; those whose word is a name that counts.
const VALUED: [(&str, &str, &str, &str); 5] = [
    ("checkout", "--conflict --pathspec-from-file", "", "bB"),
    ("switch", "--conflict", "", "cC"),
    ("restore", "--source --conflict --pathspec-from-file", "s", ""),
    ("clean", "--exclude", "e", ""),
    ("stash", "--message --pathspec-from-file", "m", ""),
];

impl Args {
    fn read(verb: &str, args: &[String]) -> Args {
        let found = VALUED.iter().find(|(of, ..)| *of == verb);
        let (words, letters, names) =
            found.map_or(("", "", ""), |(_, words, letters, names)| (*words, *letters, *names));
        let mut read = Args { options: Vec::new(), plain: Vec::new(), paths: None };
        let mut args = args.iter();
        while let Some(word) = args.next() {
            match word.as_str() {
                "--" => {
                    read.paths = Some(args.cloned().collect());
                    break;
                }
                "-" => read.plain.push(word.clone()),
                _ if word.starts_with("--") => {
                    if words.split(' ').any(|option| option == word) {
                        args.next();
                    }
                    read.options.push(word.clone());
                }
                _ if word.starts_with('-') => {
                    // Behind a letter that takes a value stands the value, at once or as the next word.
                    let valued = |c: char| letters.contains(c) || names.contains(c);
                    let (option, value) = match word.find(valued) {
                        Some(at) => word.split_at(at + 1),
                        None => (word.as_str(), ""),
                    };
                    if option.ends_with(|c| names.contains(c)) && !value.is_empty() {
                        read.plain.push(value.to_owned());
                    } else if option.ends_with(|c| letters.contains(c)) && value.is_empty() && option.len() > 1 {
                        args.next();
                    }
                    read.options.push(option.to_owned());
                }
                _ => read.plain.push(word.clone()),
            }
        }
        read
    }

    /// Whether an option is there: a letter, alone or among others, or a word, of which git takes any beginning that no
    /// other option has; `least` is how long that must be.
    fn has(&self, letter: &str, word: &str, least: usize) -> bool {
        let letter = letter.strip_prefix('-');
        self.options.iter().any(|option| match option.strip_prefix("--") {
            Some(_) => {
                let name = option.split('=').next().unwrap_or(option);
                !word.is_empty() && name.len() >= least && word.starts_with(name)
            }
            None => letter.is_some_and(|letter| option[1..].contains(letter)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        let aliases = |name: &str| match name {
            "co" => Some("checkout".to_owned()),
            "nuke" => Some("!cd sub && git reset --hard".to_owned()),
            "undo" => Some("nuke2".to_owned()),
            "nuke2" => Some("reset --hard HEAD~1".to_owned()),
            "loop" => Some("loop".to_owned()),
            "st" => Some("status".to_owned()),
            "stash" | "status" => Some("reset --hard".to_owned()),
            _ => None,
        };
        let show = |threat: Threat| {
            let dirs: String = threat.dirs.iter().map(|dir| format!("[{dir}]")).collect();
            let unless = threat.unless_file.map_or_else(String::new, |file| format!(" unless {file}"));
            format!("{dirs}{}{unless}", threat.what)
        };
        threats(line, &aliases).into_iter().map(show).collect()
    }

    #[test]
    fn inv_r13_whole_tree_verbs_are_recognised_by_words() {
        for (line, expected) in [
            ("git reset --hard", "git reset --hard"),
            ("git reset --har HEAD~3", "git reset --hard"),
            ("git reset -q --merge", "git reset --merge"),
            ("git reset --keep x", "git reset --keep"),
            ("git checkout .", "git checkout ."),
            ("git checkout -- .", "git checkout ."),
            ("git checkout HEAD -- :/", "git checkout ."),
            ("git checkout HEAD ./", "git checkout ."),
            ("git checkout -f", "git checkout -f"),
            ("git checkout -qf main", "git checkout -f"),
            ("git checkout main", "git checkout main unless main"),
            ("git checkout -", "git checkout - unless -"),
            ("git checkout -b new origin/main", "git checkout -b"),
            ("git checkout -bfix origin/main", "git checkout -b"),
            ("git switch main", "git switch main"),
            ("git switch -", "git switch -"),
            ("git switch -c new main", "git switch main"),
            ("git switch -f main", "git switch main"),
            ("git restore .", "git restore ."),
            ("git restore --source HEAD~1 -- :/", "git restore ."),
            ("git restore -s HEAD .", "git restore ."),
            ("git restore --staged --worktree .", "git restore ."),
            ("git clean -fd", "git clean"),
            ("git clean -fdx -e keep", "git clean"),
            ("git stash", "git stash"),
            ("git stash -u", "git stash"),
            ("git stash push -m 'my work'", "git stash"),
            ("git stash pop", "git stash pop"),
            ("git stash apply stash@{1}", "git stash apply"),
            ("git stash drop", "git stash drop"),
            ("git rebase main", "git rebase"),
            ("git rebase --abort", "git rebase"),
            ("git pull", "git pull"),
            ("git pull --rebase origin main", "git pull"),
            ("git merge main", "git merge"),
            ("git bisect start", "git bisect start"),
            ("git read-tree -u -m HEAD", "git read-tree"),
            ("git -C ../x reset --hard", "[../x]git reset --hard"),
            ("git -C a -C b stash", "[a][b]git stash"),
            ("git --git-dir=.git --work-tree=/w reset --hard", "[/w]git reset --hard"),
            ("git --git-dir .git --work-tree /w reset --hard", "[/w]git reset --hard"),
            ("git -c a.b=c -c x=y --no-pager stash", "git stash"),
            ("GIT_WORK_TREE=/w git stash", "[/w]git stash"),
            ("A=1 sudo -u x env B=2 command time git stash", "git stash"),
            ("/usr/bin/git stash", "git stash"),
            ("cd sub && git stash", "[sub]git stash"),
            ("git add . && git stash || true", "git stash"),
            ("true; git stash", "git stash"),
            ("yes | git clean -f", "git clean"),
            ("ls\ngit stash", "git stash"),
            ("(git stash)", "git stash"),
            ("echo \"$(git stash)\"", "git stash"),
            ("bash -c 'git stash'", "git stash"),
            ("'git' \"stash\"", "git stash"),
            ("g\\it sta\\sh", "git stash"),
            ("git co main", "git checkout main unless main"),
            ("git -C x nuke", "[x][sub]git reset --hard"),
            ("git undo", "git reset --hard"),
            ("git -c alias.q='reset --hard' q", "git reset --hard"),
            ("gh pr checkout 7", "gh pr checkout"),
        ] {
            assert_eq!(found(line), [expected], "{line}");
        }
    }

    #[test]
    fn inv_r13_what_leaves_the_files_of_others_alone_is_let_through() {
        for line in [
            "git status",
            "git reset",
            "git reset --soft HEAD~1",
            "git reset HEAD file.rs",
            "git checkout -b new",
            "git checkout -B new",
            "git checkout -bfix",
            "git checkout --orphan new",
            "git checkout -- file.rs",
            "git checkout HEAD -- src/a.rs",
            "git checkout main src/a.rs",
            "git switch -c new",
            "git switch --create new",
            "git restore file.rs",
            "git restore --staged .",
            "git restore -S .",
            "git clean -n",
            "git clean -fdn",
            "git clean --dry-run -x",
            "git clean -fd target",
            "git stash list",
            "git stash show -p",
            "git stash push -m x -- a.rs",
            "git stash push a.rs",
            "git rebase --show-current-patch",
            "git commit -m 'git stash'",
            "echo git stash",
            "echo 'git reset --hard'",
            "grep -r \"git stash\" .",
            "cat <<EOF\ngit stash\nEOF",
            "# git stash",
            "git stash --help",
            "git --help stash",
            "git log --grep='reset --hard'",
            "git st",
            "git loop",
            "git",
            "git -C x",
            "digit stash",
        ] {
            assert_eq!(found(line), [""; 0], "{line}");
        }
    }
}
