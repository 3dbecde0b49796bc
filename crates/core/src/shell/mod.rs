//! Shell command lines, parsed far enough to detect commands that change a whole working tree.
//!
//! This is best effort and not a shell. It understands quotes, lists, pipes, subshells, substitutions, here documents
//! and the usual wrappers. It does not follow variables, functions, loops over names and scripts in files. The commit
//! guard may catch what it misses; a false positive costs one refusal. A line that exceeds the limits on length or
//! depth is scanned for words.

mod cwd;
mod git;
mod git_args;
mod lexer;
mod mkdir;
mod runner;

use cwd::{CommandSeparator, ShellCwd};
pub use git::{Aliases, SUBCOMMANDS, Subcommand, Threat, Trees, threats};
pub use lexer::FRESH;
pub use runner::{RUNNERS, Runner};

/// The longest command line that is parsed, in characters.
const LINE_MAX: usize = 1024 * 1024;
/// The deepest nesting of quotes and substitutions.
const DEPTH_MAX: usize = 16;
/// The most commands of one line that are examined.
const COMMANDS_MAX: usize = 4_096;
/// The most directory steps that a line is followed through.
const STEPS_MAX: usize = 64;
/// The longest path that the operating system accepts; a longer one leads nowhere.
const PATH_MAX: usize = 4_096;
/// The most work for one line, in characters examined or copied. It is twice what the longest line without nesting
/// needs, so only contrived lines reach it.
const WORK_MAX: usize = 4 * LINE_MAX;

/// A change of directory on the way to a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DirectoryStep {
    /// The command runs there or not at all: `cd DIR && …`, `git -C DIR`.
    Into(String),
    /// The command runs there if the directory exists: `cd DIR; …`.
    Sure(String),
    /// The command runs there, or where it would have run without the step: `a && cd DIR; …`.
    Maybe(String),
    /// The command runs in any of the directories so far: `cd -`, `popd`, `cd "$X"`.
    Back,
    /// Not a change of directory: something is created that later steps may lead to.
    Make(Make),
}

/// A directory that a command creates and later commands may enter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Make {
    /// The directory's path.
    pub path: String,
    /// Whether it can be entered afterwards in any case: `mkdir` hardly ever fails, `git clone` does.
    pub exists: bool,
    /// Whether it is a working tree of its own from then on.
    pub is_tree: bool,
    /// Whether the command certainly runs, as far as the line shows.
    pub is_sure: bool,
}

/// One simple command: its words, and the steps before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// The directory steps, each relative to the one before it.
    pub dirs: Vec<DirectoryStep>,
}

/// The parsed line.
#[derive(Default)]
struct ShellLine {
    commands: Vec<Command>,
    /// Every step anywhere in the line.
    steps: Vec<DirectoryStep>,
    /// Whether a part of the line may run after the text behind it: a loop, a function.
    returns: bool,
    /// Whether parsing stopped before the end of the line.
    is_cut: bool,
    /// The work done so far.
    work: usize,
    /// Variables with a plain value, as far as the line was read.
    variables: Vec<(String, String)>,
}

impl ShellLine {
    /// Adds work. Returns false if the limit is reached: parsing then stops.
    fn spend(&mut self, work: usize) -> bool {
        let has_room = self.work.saturating_add(work) <= WORK_MAX;
        self.work = if has_room { self.work + work } else { WORK_MAX };
        self.is_cut |= !has_room;
        has_room
    }

    /// A word with its variable replaced, if the variable is known.
    fn resolved(&self, word: &str) -> Option<String> {
        let name = word.strip_prefix('$').filter(|_| !self.returns)?;
        let (name, rest) = match name.strip_prefix('{') {
            Some(name) => name.split_once('}')?,
            None => name.split_at(name.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(name.len())),
        };
        let (_, value) = self.variables.iter().find(|(known, _)| known == name)?;
        Some(format!("{value}{rest}")).filter(|path| path.len() <= PATH_MAX)
    }

    /// Processes an assignment. If it may not happen, or its value is not plain, the variable becomes unknown.
    fn assign(&mut self, name: &str, value: &str, is_sure: bool) {
        self.variables.retain(|(known, _)| known != name);
        let value = self.resolved(value).unwrap_or_else(|| value.to_owned());
        if is_sure && is_known(&value) && value.len() <= PATH_MAX && self.variables.len() < STEPS_MAX {
            self.variables.push((name.to_owned(), value));
        }
    }
}

/// The simple commands of a line, including those inside substitutions and nested shells.
pub fn commands(line: &str) -> Vec<Command> {
    read(line).commands
}

fn read(line: &str) -> ShellLine {
    let mut found = ShellLine::default();
    run(line, &[], 0, &mut found);
    if found.returns && !found.steps.is_empty() {
        let steps = found.steps.clone();
        // Each command may run anywhere that the line leads to, so each gets a copy of all steps.
        let size = steps.iter().map(size_of).sum::<usize>();
        if found.spend(size.saturating_mul(found.commands.len())) {
            found.commands.iter_mut().for_each(|command| command.dirs.extend_from_slice(&steps));
        }
    }
    found
}

/// The cost of copying a step.
fn size_of(step: &DirectoryStep) -> usize {
    match step {
        DirectoryStep::Into(to) | DirectoryStep::Sure(to) | DirectoryStep::Maybe(to) => to.len() + 8,
        DirectoryStep::Back => 8,
        DirectoryStep::Make(make) => make.path.len() + 8,
    }
}

fn run(line: &str, dirs: &[DirectoryStep], depth: usize, found: &mut ShellLine) {
    if depth > DEPTH_MAX || !found.spend(line.len()) {
        found.is_cut = true;
        return;
    }
    // The placeholder belongs to this parser: input must not contain it.
    let own = |c: char| if c == FRESH { lexer::UNKNOWN } else { c };
    let text: Vec<char> = line.chars().take(LINE_MAX).map(own).collect();
    found.is_cut |= text.len() == LINE_MAX;
    lexer::Lexer::new(&text, depth, found).list(None, dirs.to_vec());
}

/// Words that can precede a command.
const KEYWORDS: [&str; 10] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "coproc"];
/// Shells: the value of `-c`, or their input, is a command line.
pub const SHELLS: [&str; 8] = ["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"];
/// Commands that change variables in ways that are not followed.
const SETTERS: [&str; 9] = ["read", "unset", "mapfile", "readarray", "printf", "source", ".", "getopts", "let"];

/// Processes one simple command: follows directories, strips wrappers and parses nested shells. A shell without a
/// command line reads one from its input: then the result is the directory in which it runs.
fn take(words: &[String], way: &mut ShellCwd, depth: usize, found: &mut ShellLine) -> Option<Vec<DirectoryStep>> {
    let mut words = words;
    if !found.spend(16 + words.len() + way.dirs.iter().map(size_of).sum::<usize>()) {
        return None;
    }
    let mut own = way.dirs.clone();
    let mut is_denied = false;
    let mut has_unknown = false;
    let mut assigned = Vec::new();
    loop {
        while let [first, rest @ ..] = words {
            let assignment = first.split_once('=').filter(|(name, _)| is_name(name));
            if assignment.is_none() && !KEYWORDS.contains(&first.as_str()) {
                break;
            }
            way.keyword(first);
            found.returns |= matches!(first.as_str(), "while" | "until");
            is_denied |= first == "!";
            assigned.extend(assignment);
            if let Some(tree) = first.strip_prefix("GIT_WORK_TREE=") {
                step(&mut own, tree, found, DirectoryStep::Into);
            }
            // `coproc NAME { …; }`
            let is_named = first == "coproc" && rest.get(1).is_some_and(|next| KEYWORDS.contains(&next.as_str()));
            words = if is_named { &rest[1..] } else { rest };
        }
        let [first, rest @ ..] = words else {
            let is_sure = way.is_sure(is_denied) && way.is_plain();
            assigned.into_iter().for_each(|(name, value)| found.assign(name, value, is_sure));
            return None;
        };
        way.keyword(first);
        let program = program_of(first);
        if let Some(run) = runner::run(program, rest) {
            for dir in run.dirs {
                step(&mut own, dir, found, DirectoryStep::Into);
            }
            if let Some(line) = (program == "env").then(|| split_string(rest)).flatten() {
                self::run(&line, &own, depth + 1, found);
                return None;
            }
            run.lines.iter().for_each(|line| self::run(line, &own, depth + 1, found));
            has_unknown |= run.has_unknown;
            words = run.words;
            continue;
        }
        match program {
            "function" => {
                found.returns = true;
                words = rest.get(1..).unwrap_or_default();
                continue;
            }
            "for" | "select" => found.returns = true,
            "cd" | "pushd" | "popd" | "chdir" => {
                let has_room = way.go(program, rest, is_denied, found);
                found.is_cut |= !has_room;
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                let is_sure = way.is_sure(is_denied) && way.is_plain();
                let pairs = rest.iter().filter_map(|word| word.split_once('='));
                pairs.for_each(|(name, value)| found.assign(name, value, is_sure));
            }
            "eval" => {
                found.returns |= rest.iter().any(|word| word.contains("cd") || word.contains("pushd"));
                found.variables.clear();
                run(&rest.join(" "), &own, depth + 1, found);
            }
            "trap" => {
                let line =
                    rest.iter().find(|word| *word != "--").filter(|word| !word.is_empty() && !word.starts_with('-'));
                // It runs later, in whatever directory the shell is in then.
                found.returns = true;
                run(line.map_or("", |line| line), &own, depth + 1, found);
            }
            "find" => {
                let (commands, begins) = runner::find(rest);
                begins.into_iter().for_each(|dir| _ = step(&mut own, dir, found, DirectoryStep::Maybe));
                commands.iter().for_each(|words| _ = take(words, &mut ShellCwd::new(own.clone()), depth + 1, found));
            }
            "parallel" | "sem" => {
                runner::parallel(rest).iter().for_each(|line| run(line, &own, depth + 1, found));
            }
            _ if SHELLS.contains(&program) => match script(rest) {
                Some(line) => run(line, &own, depth + 1, found),
                None => return Some(own),
            },
            _ if found.commands.len() < COMMANDS_MAX => {
                if SETTERS.contains(&program) {
                    found.variables.clear();
                }
                let dirs = own.len() == way.dirs.len();
                mkdir::of(words).iter().filter(|_| dirs).for_each(|make| way.make(make, is_denied, found));
                let unknown = has_unknown.then(|| lexer::UNKNOWN.to_string());
                found.commands.push(Command { words: words.iter().cloned().chain(unknown).collect(), dirs: own });
            }
            _ => found.is_cut = true,
        }
        return None;
    }
}

/// Adds a directory step. A directory that only the shell can compute becomes [`DirectoryStep::Back`]. Returns false if
/// there are too many steps.
fn step(dirs: &mut Vec<DirectoryStep>, to: &str, found: &ShellLine, kind: impl Fn(String) -> DirectoryStep) -> bool {
    if dirs.len() >= STEPS_MAX {
        return false;
    }
    let to = found.resolved(to).unwrap_or_else(|| to.to_owned());
    dirs.push(match is_known(&to) {
        // An overlong path cannot be entered.
        true if to.len() > PATH_MAX => DirectoryStep::Maybe(".".to_owned()),
        true => kind(to),
        false => DirectoryStep::Back,
    });
    true
}

/// Whether a directory is known by its literal name.
fn is_known(to: &str) -> bool {
    !to.is_empty() && to != "-" && !to.contains(['$', '`', '*', '?', '[', '{', lexer::UNKNOWN])
}

/// The name of a program without its directory and without the suffix of Windows programs, which run beside others
/// under WSL and in shells of Windows.
fn program_of(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".EXE")).unwrap_or(name)
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && chars.all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// The command line that `env -S` splits, with the words after it.
fn split_string(words: &[String]) -> Option<String> {
    let mut at = 0;
    loop {
        let word = words.get(at).filter(|word| word.starts_with('-') && *word != "--")?;
        let given = match word.strip_prefix("--split-string") {
            Some(value) => Some(value.strip_prefix('=')),
            None => word
                .split_once('S')
                .filter(|(flags, _)| !flags.starts_with("--") && flags[1..].chars().all(|c| "i0v".contains(c)))
                .map(|(_, value)| Some(value).filter(|value| !value.is_empty())),
        };
        let (line, rest) = match given {
            Some(Some(line)) => (line, at + 1),
            Some(None) => (words.get(at + 1)?.as_str(), at + 2),
            None => {
                at += if ["-u", "-C", "--unset", "--chdir"].contains(&word.as_str()) { 2 } else { 1 };
                continue;
            }
        };
        return Some(format!("{line} {}", words[rest..].join(" ")));
    }
}

/// The command line that a shell gets with `-c`.
fn script(words: &[String]) -> Option<&str> {
    let flag = words.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))?;
    words[flag + 1..].iter().find(|word| !word.starts_with('-')).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(line: &str) -> Vec<String> {
        let show = |command: Command| {
            let dirs: Vec<String> = command.dirs.iter().map(cwd::shown).collect();
            let dirs = if dirs.is_empty() { String::new() } else { format!("[{}] ", dirs.join(" ")) };
            format!("{dirs}{}", command.words.join("|"))
        };
        commands(line).into_iter().map(show).collect()
    }

    #[test]
    fn lists_quotes_substitutions_and_wrappers_are_read() {
        for (line, expected) in [
            ("git status", &["git|status"][..]),
            ("a && b || c; d | e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]),
            ("git commit -m 'git stash; x' \"a \\\" b\" c\\ d", &["git|commit|-m|git stash; x|a \" b|c d"]),
            ("(cd x && a); b", &["[x] a", "b"]),
            ("cd x && a; cd ../y; b", &["[x] a", "[x ../y] b"]),
            ("cd x || exit 1\na", &["[x?] exit|1", "[x] a"]),
            ("cd x; a", &["[x] a"]),
            ("a && cd x; b", &["a", "[x?] b"]),
            ("a && cd x && b; c", &["a", "[x] b", "[x?] c"]),
            ("a || cd x && b", &["a", "[x?] b"]),
            ("cd x || a", &["[x?] a"]),
            ("cd x & a", &["[x?] a"]),
            ("cd x && a & b", &["[x] a", "[x?] b"]),
            ("cd x | a; b", &["[x?] a", "[x?] b"]),
            ("! cd x && a", &["[x?] a"]),
            ("cd x; cd -; a", &["[x -] a"]),
            ("pushd x; popd; a", &["[x -] a"]),
            ("if a; then cd x; fi; b", &["a", "[x?] fi", "[x?] b"]),
            ("if a; then b; cd x; fi; c", &["a", "b", "[x?] fi", "[x?] c"]),
            ("if a; then cd x && b; fi", &["a", "[x] b", "[x?] fi"]),
            ("f() { a; }; cd x && f", &["[x?] f", "[x?] a", "[x?] }", "[x x?] f"]),
            ("while a; do b; cd x; done", &["[x?] a", "[x?] b", "[x? x?] done"]),
            ("cd x &> /dev/null && a", &["[x] a"]),
            ("cd x &&\n a", &["[x] a"]),
            ("bash <<E\na\ncd x && b\nE\nc", &["a", "[x] b", "c"]),
            ("cat <<E | sudo bash -s\na b\nE", &["cat", "a|b"]),
            ("bash <<< 'a b'", &["a|b"]),
            ("echo 'a b' | sh", &["echo|a b", "a|b"]),
            ("cd; a", &["[~] a"]),
            ("cd \"$(git rev-parse --show-toplevel)\" && a", &["git|rev-parse|--show-toplevel", "[-] a"]),
            ("echo $(git stash) `b c` \"x $(d)\"", &["git|stash", "d", "b|c", "echo|\u{fffd}|\u{fffd}|x \u{fffd}"]),
            ("A=1 B='2 3' git stash", &["git|stash"]),
            ("sudo -u bob env -i X=1 timeout -k 5 10 nice -n 3 /usr/bin/git stash", &["/usr/bin/git|stash"]),
            ("env -C dir git stash", &["[dir] git|stash"]),
            ("bash -lc 'cd q && git stash' x", &["[q] git|stash"]),
            ("sh -e -c \"sh -c 'git stash'\"", &["git|stash"]),
            ("eval git stash", &["git|stash"]),
            ("trap 'git stash pop' EXIT", &["git|stash|pop"]),
            ("trap -- 'a; b' INT TERM", &["a", "b"]),
            ("trap - EXIT; trap '' INT; trap -p EXIT; a", &["a"]),
            ("if a; then b; else c; fi", &["a", "b", "c", "fi"]),
            ("! a && { b; }", &["a", "b", "}"]),
            ("a > out 2>&1 < in >> x b", &["a|b"]),
            ("a <<'EOF'\ngit stash\nEOF\nb", &["a", "b"]),
            ("a <<-E <<F\nx\n\tE\ny\nF\nb", &["a", "b"]),
            ("a <<< 'git stash' b", &["a|b"]),
            ("a # git stash\nb#c", &["a", "b#c"]),
            ("a \\\n b", &["a|b"]),
            ("ls . | xargs -n 1 git checkout -f", &["ls|.", "git|checkout|-f|\u{fffd}"]),
            ("case x in y) git stash;; esac", &["case|x|in|y", "git|stash", "esac"]),
            ("find a -exec b {} + -ok c ';'", &["[a?] b|\u{fffd}", "[a?] c"]),
            ("cd $(mktemp -d) && a", &["mktemp|-d", "[\u{fdd0}] a"]),
            ("cd \u{fdd0} && a", &["[-] a"]),
            ("d=$(mktemp -d) && cd \"$d/x\" && a", &["mktemp|-d", "[\u{fdd0}/x] a"]),
            ("d=x; (d=y); cd $d; a", &["[x] a"]),
            ("d=x; read d; cd $d; a", &["read|d", "[-] a"]),
            ("a && d=x; b || d=y; cd $d; c", &["a", "b", "[-] c"]),
            ("git clone u/y.git && cd y && a", &["git|clone|u/y.git", "[+y y] a"]),
            ("mkdir -p b; cd b; a", &["mkdir|-p|b", "[+b b] a"]),
            ("", &[]),
        ] {
            let mut found = seen(line);
            let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
            if line.starts_with("echo $(") {
                found.sort();
                expected.sort();
            }
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        for open in ["$(", "(", "\"$(", "`", "bash -c '", "eval "] {
            commands(&open.repeat(20_000));
            commands(&format!("{}git stash", open.repeat(3_000)));
        }
        assert!(commands(&"a;".repeat(100_000)).len() <= COMMANDS_MAX);
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(line in "[ -~\n]{0,200}|\\PC{0,60}", parts in prop::collection::vec(
            prop::sample::select(vec!["git ", "stash", " && ", "$(", ")", "(", "'", "\"", "`", "\\", "<<E\n", "\n", "-c ", "cd ",
                "bash ", "> ", "#", ";;", "env ", "\u{2028}", "\0", "reset --hard ", "é"]), 0..40)) {
            let none: Aliases<'_> = &|_| None;
            threats(&line, none);
            threats(&parts.concat(), none);
        }
    }
}
