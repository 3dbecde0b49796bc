//! Command lines of a shell, read as far as is needed to see which of them change a whole working tree.
//!
//! This is best effort and not a shell: quotes, lists, pipes, subshells, substitutions, here documents and the usual
//! wrappers are understood; variables, functions, loops over names and scripts in files are not followed. What it misses
//! is caught later, if at all, by the guard of commits; what it takes for a command and is none costs one refusal. A line
//! that is longer or deeper than is read is scanned for words.

mod git;
mod git_args;
mod lexer;
mod way;

pub use git::{Aliases, Threat, threats};
use way::{End, Way};

/// Longest command line that is read as a shell would, in characters.
const LINE_MAX: usize = 1024 * 1024;
/// How deep quotes and substitutions may be nested.
const DEPTH_MAX: usize = 16;
/// Most commands of one line that are looked at.
const COMMANDS_MAX: usize = 4_096;
/// Most directories that a line is followed through.
const STEPS_MAX: usize = 64;

/// A step from one directory to another on the way to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The command runs there or not at all: `git -C DIR`.
    Into(String),
    /// It runs there if the directory exists: `cd DIR && …`.
    Sure(String),
    /// It runs there, or where it would have run without the step: `a && cd DIR; …`.
    Maybe(String),
    /// It runs in any of the directories so far: `cd -`, `popd`, `cd "$X"`.
    Back,
}

/// One simple command: its words, and the steps that the line took before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// Directories, each seen from the one before it.
    pub dirs: Vec<Step>,
}

/// What was read of a line.
#[derive(Default)]
struct Found {
    commands: Vec<Command>,
    /// Every step that the line takes anywhere.
    steps: Vec<Step>,
    /// Whether a part of the line may run after what stands behind it: a loop, a function.
    returns: bool,
    /// Whether there is more than is read.
    is_cut: bool,
}

/// The simple commands of a line, those inside substitutions and of nested shells among them.
pub fn commands(line: &str) -> Vec<Command> {
    read(line).commands
}

fn read(line: &str) -> Found {
    let mut found = Found::default();
    run(line, &[], 0, &mut found);
    if found.returns && !found.steps.is_empty() {
        let maybe = |step: &Step| match step {
            Step::Sure(to) | Step::Into(to) | Step::Maybe(to) => Step::Maybe(to.clone()),
            Step::Back => Step::Back,
        };
        let steps: Vec<Step> = found.steps.iter().map(maybe).collect();
        found.commands.iter_mut().for_each(|command| command.dirs.extend_from_slice(&steps));
    }
    found
}

fn run(line: &str, dirs: &[Step], depth: usize, found: &mut Found) {
    if depth > DEPTH_MAX {
        found.is_cut = true;
        return;
    }
    let text: Vec<char> = line.chars().take(LINE_MAX).collect();
    found.is_cut |= text.len() == LINE_MAX;
    lexer::Lexer::new(&text, depth, found).list(None, dirs.to_vec());
}

/// Words that may stand before a command.
const KEYWORDS: [&str; 10] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "coproc"];
/// Programs that run what comes after them, with their options that take a value and how many words come before it.
const RUNNERS: [(&str, &str, usize); 17] = [
    ("sudo", "-u -g -h -p -C -D -r -t -T -U --user --group --chdir", 0),
    ("doas", "-u -C", 0),
    ("env", "-u -C -S --unset --chdir --split-string", 0),
    ("command", "", 0),
    ("builtin", "", 0),
    ("exec", "-a", 0),
    ("nohup", "", 0),
    ("nice", "-n --adjustment", 0),
    ("ionice", "-c -n -p --class --classdata", 0),
    ("stdbuf", "-i -o -e", 0),
    ("setsid", "", 0),
    ("timeout", "-k -s --kill-after --signal", 1),
    ("time", "-f -o --format --output", 0),
    ("chrt", "", 1),
    ("taskset", "", 1),
    ("xargs", "-I -n -P -L -d -s -a -E --max-args --max-procs --replace --delimiter --arg-file", 0),
    ("busybox", "", 0),
];
const SHELLS: [&str; 8] = ["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"];

/// Takes in one simple command: follows directories, takes wrappers off, goes into nested shells. A shell that is given no
/// line reads one from its input: then the answer is where it runs.
fn take(words: &[String], way: &mut Way, depth: usize, found: &mut Found) -> Option<Vec<Step>> {
    let mut words = words;
    let mut own = way.dirs.clone();
    let mut is_denied = false;
    let mut more = None;
    loop {
        while let [first, rest @ ..] = words {
            let assignment = first.split_once('=').is_some_and(|(name, _)| is_name(name));
            if !assignment && !KEYWORDS.contains(&first.as_str()) {
                break;
            }
            way.keyword(first);
            found.returns |= matches!(first.as_str(), "while" | "until");
            is_denied |= first == "!";
            if let Some(tree) = first.strip_prefix("GIT_WORK_TREE=") {
                step(&mut own, tree, Step::Into);
            }
            words = rest;
        }
        let [first, rest @ ..] = words else { return None };
        way.keyword(first);
        let program = first.rsplit('/').next().unwrap_or(first);
        if let Some((name, valued, before)) = RUNNERS.iter().find(|(name, ..)| *name == program) {
            let (left, dir) = unwrapped(rest, valued, *before);
            if let Some(dir) = dir.filter(|_| matches!(*name, "env" | "sudo")) {
                step(&mut own, dir, Step::Into);
            }
            if let Some(line) = (*name == "env").then(|| split_string(rest)).flatten() {
                run(&line, &own, depth + 1, found);
                return None;
            }
            // Words that nobody knows come behind, or in the place of some.
            more = more.or((*name == "xargs").then(|| lexer::UNKNOWN.to_string()));
            words = left;
            continue;
        }
        match program {
            "function" => {
                found.returns = true;
                words = rest.get(1..).unwrap_or_default();
                continue;
            }
            "for" | "select" => found.returns = true,
            "cd" | "pushd" | "popd" | "chdir" => found.is_cut |= !way.go(program, rest, is_denied, &mut found.steps),
            "eval" => {
                found.returns |= rest.iter().any(|word| word.contains("cd") || word.contains("pushd"));
                run(&rest.join(" "), &own, depth + 1, found);
            }
            _ if SHELLS.contains(&program) => match script(rest) {
                Some(line) => run(line, &own, depth + 1, found),
                None => return Some(own),
            },
            _ if found.commands.len() < COMMANDS_MAX => {
                let words = words.iter().cloned().chain(more).collect();
                found.commands.push(Command { words, dirs: own });
            }
            _ => found.is_cut = true,
        }
        return None;
    }
}

/// Adds a directory. One that the shell would have to find out may be any. False where there are too many.
fn step(dirs: &mut Vec<Step>, to: &str, kind: impl Fn(String) -> Step) -> bool {
    if dirs.len() >= STEPS_MAX {
        return false;
    }
    let is_known = !to.is_empty() && to != "-" && !to.contains(['$', '`', '*', '?', '[', '{', lexer::UNKNOWN]);
    dirs.push(if is_known { kind(to.to_owned()) } else { Step::Back });
    true
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && chars.all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// What a wrapper runs, and the directory that it runs it in.
fn unwrapped<'a>(words: &'a [String], valued: &str, mut before: usize) -> (&'a [String], Option<&'a str>) {
    let mut at = 0;
    let mut dir = None;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return (&words[at + 1..], dir);
        }
        if word.starts_with('-') && word.len() > 1 {
            let takes = valued.split(' ').any(|option| option == word);
            let value =
                if takes { words.get(at + 1).map(String::as_str) } else { word.split_once('=').map(|(_, v)| v) };
            if ["-C", "-D", "--chdir"].iter().any(|option| word.split('=').next() == Some(option)) {
                dir = value;
            }
            at += if takes { 2 } else { 1 };
        } else if before > 0 {
            before -= 1;
            at += 1;
        } else {
            break;
        }
    }
    (words.get(at..).unwrap_or_default(), dir)
}

/// The line that `env -S` takes apart, with the words behind it.
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

/// The line that a shell is given with `-c`.
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
            let dirs: Vec<String> = command.dirs.iter().map(way::shown).collect();
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
            ("if a; then b; else c; fi", &["a", "b", "c", "fi"]),
            ("! a && { b; }", &["a", "b", "}"]),
            ("a > out 2>&1 < in >> x b", &["a|b"]),
            ("a <<'EOF'\ngit stash\nEOF\nb", &["a", "b"]),
            ("a <<-E <<F\nx\n\tE\ny\nF\nb", &["a", "b"]),
            ("a <<< 'git stash' b", &["a|b"]),
            ("a # git stash\nb#c", &["a", "b#c"]),
            ("a \\\n b", &["a|b"]),
            ("find . | xargs -n 1 git checkout -f", &["find|.", "git|checkout|-f|\u{fffd}"]),
            ("case x in y) git stash;; esac", &["case|x|in|y", "git|stash", "esac"]),
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
