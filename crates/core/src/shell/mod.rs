//! Command lines of a shell, read as far as is needed to see which of them change a whole working tree.
//!
//! This is best effort and not a shell: quotes, lists, pipes, subshells, substitutions, here documents and the usual
//! wrappers are understood; variables, functions, loops over names and scripts in files are not followed. What it misses
//! is caught later, if at all, by the guard of commits; what it takes for a command and is none costs one refusal.

mod git;
mod lexer;

pub use git::{Aliases, Threat, threats};

/// Longest command line that is looked at, in characters.
const LINE_MAX: usize = 64 * 1024;
/// How deep quotes and substitutions may be nested.
const DEPTH_MAX: usize = 16;
/// Most commands of one line that are looked at.
const COMMANDS_MAX: usize = 4_096;

/// One simple command: its words, and the directories that the line went through before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// Directories, each seen from the one before it. A step that cannot be known is left out.
    pub dirs: Vec<String>,
}

/// The simple commands of a line, those inside substitutions and of nested shells among them.
pub fn commands(line: &str) -> Vec<Command> {
    let mut found = Vec::new();
    run(line, &[], 0, &mut found);
    found
}

fn run(line: &str, dirs: &[String], depth: usize, found: &mut Vec<Command>) {
    if depth > DEPTH_MAX {
        return;
    }
    let text: Vec<char> = line.chars().take(LINE_MAX).collect();
    lexer::Lexer::new(&text, depth, found).list(None, dirs.to_vec());
}

/// Words that may stand before a command.
const KEYWORDS: [&str; 11] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "coproc"];
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

/// Takes in one simple command: follows directories, takes wrappers off, goes into nested shells.
fn take(words: &[String], dirs: &mut Vec<String>, depth: usize, found: &mut Vec<Command>) {
    let mut words = words;
    let mut own = dirs.clone();
    loop {
        while let [first, rest @ ..] = words {
            let assignment = first.split_once('=').is_some_and(|(name, _)| is_name(name));
            if !assignment && !KEYWORDS.contains(&first.as_str()) {
                break;
            }
            if let Some(tree) = first.strip_prefix("GIT_WORK_TREE=") {
                step(&mut own, tree);
            }
            words = rest;
        }
        let [first, rest @ ..] = words else { return };
        let program = first.rsplit('/').next().unwrap_or(first);
        if let Some((name, valued, before)) = RUNNERS.iter().find(|(name, ..)| *name == program) {
            let (left, dir) = unwrapped(rest, valued, *before);
            if let Some(dir) = dir.filter(|_| matches!(*name, "env" | "sudo")) {
                step(&mut own, dir);
            }
            words = left;
            continue;
        }
        match program {
            "cd" | "pushd" => {
                let to = rest.iter().find(|word| !word.starts_with('-') && !word.starts_with('+'));
                step(dirs, to.map_or("~", String::as_str));
            }
            "eval" => run(&rest.join(" "), &own, depth + 1, found),
            _ if SHELLS.contains(&program) => {
                if let Some(line) = script(rest) {
                    run(line, &own, depth + 1, found);
                }
            }
            _ if found.len() < COMMANDS_MAX => found.push(Command { words: words.to_vec(), dirs: own }),
            _ => {}
        }
        return;
    }
}

/// Adds a directory. One that the shell would have to find out is not known.
fn step(dirs: &mut Vec<String>, to: &str) {
    if !to.is_empty() && to != "-" && !to.contains(['$', '`', '*', '?', lexer::UNKNOWN]) && dirs.len() < 64 {
        dirs.push(to.to_owned());
    }
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
            let dirs = if command.dirs.is_empty() { String::new() } else { format!("[{}] ", command.dirs.join(" ")) };
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
            ("cd; a", &["[~] a"]),
            ("cd \"$(git rev-parse --show-toplevel)\" && a", &["git|rev-parse|--show-toplevel", "a"]),
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
            ("find . | xargs -n 1 git checkout -f", &["find|.", "git|checkout|-f"]),
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
