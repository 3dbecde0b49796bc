//! Which git commands change files all over a working tree, whoever works on them.

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

/// Arguments of a git command.
struct Args {
    options: Vec<String>,
    plain: Vec<String>,
    /// What stands behind `--`, if that is there.
    paths: Option<Vec<String>>,
}

/// Options of a verb that take a word of their own; the letters among them; those whose word is a name that counts.
const VALUED: [(&str, &str, &str, &str); 6] = [
    ("checkout", "--conflict --pathspec-from-file", "", "bB"),
    ("switch", "--conflict", "", "cC"),
    ("restore", "--source --conflict --pathspec-from-file", "s", ""),
    ("clean", "--exclude", "e", ""),
    ("stash", "--message --pathspec-from-file", "m", ""),
    ("rm", "--pathspec-from-file", "", ""),
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

    /// Whether a word is there with its value behind a `=`.
    fn is_inline(&self, word: &str, least: usize) -> bool {
        let name = |option: &String| option.split_once('=').map(|(name, _)| name.to_owned());
        self.options.iter().filter_map(name).any(|name| name.len() >= least && word.starts_with(&name))
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
    use super::super::way;
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
            let dirs: String = threat.dirs.iter().map(|dir| format!("[{}]", way::shown(dir))).collect();
            let unless = threat.unless_file.map_or_else(String::new, |file| format!(" unless {file}"));
            let paths = threat.paths.map_or_else(String::new, |paths| format!(" of {}", paths.join(" ")));
            format!("{dirs}{}{unless}{paths}", threat.what)
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
            ("git checkout .", "git checkout . of ."),
            ("git checkout -- .", "git checkout . of ."),
            ("git checkout HEAD -- :/", "git checkout :/"),
            ("git checkout HEAD ./", "git checkout HEAD of HEAD ./"),
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
            ("git restore .", "git restore . of ."),
            ("git restore --source HEAD~1 -- :/", "git restore :/"),
            ("git restore -s HEAD .", "git restore . of ."),
            ("git restore --staged --worktree .", "git restore . of ."),
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
            ("git switch --orphan x", "git switch x"),
            ("git switch --orphan=x", "git switch --orphan"),
            ("git switch --create=x main", "git switch main"),
            ("git checkout --orphan x main", "git checkout --orphan"),
            ("git checkout --orphan=x main", "git checkout --orphan"),
            ("git merge -Xtheirs main", "git merge"),
            ("git cherry-pick -n main", "git cherry-pick"),
            ("git cherry-pick --abort", "git cherry-pick"),
            ("git revert --no-edit HEAD", "git revert"),
            ("git am < x.patch", "git am"),
            ("git apply x.patch", "git apply"),
            ("git apply --stat --apply x.patch", "git apply"),
            ("git diff a | git apply -R", "git apply"),
            ("time -p git stash", "git stash"),
            ("env -S \"git stash\"", "git stash"),
            ("env -i -S'git stash' -u", "git stash"),
            ("env -uSHELL git stash", "git stash"),
            ("env -C sub --split-string='A=1 git' stash", "[sub]git stash"),
            ("$'git' stash", "git stash"),
            ("$'g\\x69t' $\"stash\"", "git stash"),
            ("git ls-files | xargs git restore", "git restore …"),
            ("git ls-files -z | xargs -0 git checkout --", "git checkout …"),
            ("ls | xargs git checkout HEAD -- a", "git checkout a"),
            ("ls | xargs -n 1 git rm -f", "git rm …"),
            ("ls | xargs -I % git restore %", "git restore %"),
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
            "git switch -c new",
            "git switch --create=new",
            "git checkout --orphan=new",
            "git cherry-pick --quit",
            "git revert --quit",
            "git am --show-current-patch",
            "git apply --check x.patch",
            "git apply --stat x.patch",
            "git apply --cached x.patch",
            "git mv -n a b",
            "ls | xargs git add",
            "echo $'it\\'s' git stash",
            "time -p git status",
            "git switch --create new",
            "git restore --staged .",
            "git restore -S .",
            "git clean -n",
            "git clean -fdn",
            "git clean --dry-run -x",
            "git stash list",
            "git stash show -p",
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
            "git rm --cached src/a.rs",
            "git rm -n src",
            "git worktree remove ../side",
            "git worktree list",
            "git restore -S src",
            "cat > x.sh <<EOF\ngit stash\nEOF\nbash x.sh",
            "git",
            "git -C x",
            "digit stash",
        ] {
            assert_eq!(found(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn inv_r13_what_is_limited_to_paths_is_told_with_them() {
        for (line, expected) in [
            ("git checkout -- file.rs", "git checkout file.rs of file.rs"),
            ("git checkout -f -- file.rs", "git checkout file.rs of file.rs"),
            ("git checkout HEAD -- src/a.rs b", "git checkout src/a.rs of src/a.rs b"),
            ("git checkout main src/a.rs", "git checkout main of main src/a.rs"),
            ("git checkout main --", "git checkout main"),
            ("git checkout -- /abs/top", "git checkout /abs/top of /abs/top"),
            ("git checkout -- \"$PWD\"", "git checkout $PWD"),
            ("git checkout -- ':(glob)**'", "git checkout :(glob)**"),
            ("git checkout --pathspec-from-file=x", "git checkout ."),
            ("git checkout --pathspec-from-file x", "git checkout ."),
            ("git restore file.rs", "git restore file.rs of file.rs"),
            ("git restore ../r", "git restore ../r of ../r"),
            ("git restore --pathspec-from-file=- --staged --worktree", "git restore ."),
            ("git restore *.rs", "git restore *.rs"),
            ("git clean -fd target", "git clean target of target"),
            ("git clean -fd -e keep -- src/ b", "git clean src/ of src/ b"),
            ("git stash push -m x -- a.rs", "git stash a.rs of a.rs"),
            ("git stash push a.rs", "git stash a.rs of a.rs"),
            ("git stash -- a.rs", "git stash a.rs of a.rs"),
            ("git stash push --pathspec-from-file=x", "git stash"),
            ("git rm -rf .", "git rm . of ."),
            ("git rm a.rs", "git rm a.rs of a.rs"),
            ("git mv a.rs b.rs", "git mv a.rs of a.rs b.rs"),
            ("git mv -f a.rs src/", "git mv a.rs of a.rs src/a.rs"),
            ("git mv x/a.rs b.rs src", "git mv x/a.rs of x/a.rs b.rs src/a.rs src/b.rs"),
            ("git mv *.rs src", "git mv *.rs"),
            ("git worktree remove --force ../x", "[../x]git worktree remove"),
            ("git worktree remove -f ../x", "[../x]git worktree remove"),
        ] {
            assert_eq!(found(line), [expected], "{line}");
        }
    }

    #[test]
    fn inv_r13_a_directory_that_may_not_be_entered_leaves_the_one_before() {
        for (line, expected) in [
            ("cd /x; git stash", "[/x]git stash"),
            ("cd /x && git stash", "[/x]git stash"),
            ("false && cd /x; git stash", "[/x?]git stash"),
            ("if false; then cd /x; fi; git stash", "[/x?]git stash"),
            ("cd /x || git stash", "[/x?]git stash"),
            ("cd /x & git stash", "[/x?]git stash"),
            ("cd /x | git stash", "[/x?]git stash"),
            ("cd /x; cd -; git stash", "[/x][-]git stash"),
            ("cd /x && cd - && git stash", "[/x][-]git stash"),
            ("pushd /x; popd; git stash", "[/x][-]git stash"),
            ("cd \"$X\" && git stash", "[-]git stash"),
            ("f() { cd /x; }; git stash", "[/x?][/x?]git stash"),
            ("f() { git stash; }; cd /x && f", "[/x?]git stash"),
            ("function f { git stash; }; cd /x; f", "[/x?]git stash"),
            ("for d in a; do git stash; cd /x; done", "[/x?]git stash"),
            ("eval cd /x; git stash", "[/x?]git stash"),
            ("cd /x && git -C y stash", "[/x][y]git stash"),
        ] {
            assert_eq!(found(line), [expected], "{line}");
        }
    }

    #[test]
    fn inv_r13_what_is_too_long_or_too_deep_is_scanned_for_words() {
        let long = "x".repeat(2 << 20);
        let deep = "$(".repeat(40);
        for (line, expected) in [
            (format!(": {long}; git stash"), vec!["git stash"]),
            (format!(": {long}; git status"), vec![]),
            (format!(": {long}; digit stash"), vec![]),
            (format!("echo {deep} git stash"), vec!["git stash"]),
            (format!("{} git stash", "a;".repeat(10_000)), vec!["git stash"]),
            (format!(": {}; git stash", "x".repeat(100_000)), vec!["git stash"]),
        ] {
            assert_eq!(found(&line), expected, "{}", &line[line.len().saturating_sub(40)..]);
        }
        for line in [
            "bash <<EOF\ngit stash\nEOF",
            "sh <<< 'git stash'",
            "echo 'git stash' | sh",
            "cat <<E | bash\ngit stash\nE",
        ] {
            assert_eq!(found(line), ["git stash"], "{line}");
        }
    }
}
