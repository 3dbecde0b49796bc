//! Programs that run another program: which of their words are the command.

mod table;

use super::lexer::UNKNOWN;
pub use table::RUNNERS;

/// How a program interprets the words after its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandForm {
    /// A program and its arguments.
    Words,
    /// The same, only after `--`.
    Dashes,
    /// A program and its arguments after this option.
    Behind(&'static str),
    /// Words after this option that are joined into a command line.
    JoinedBehind(&'static str),
    /// The same for PowerShell, which accepts options in any case and abbreviated.
    PowerShell {
        /// Whether words without the option are a command line too.
        bare: bool,
    },
    /// Words that are joined into a command line for a shell.
    Joined,
    /// Command lines for a shell, one per word.
    Lines,
    /// Nothing: an option names the command.
    Nothing,
}

/// A program that runs another program.
#[derive(Clone, Copy, Debug)]
pub struct Runner {
    /// The program, with the subcommand that makes it run something: `npm exec`.
    pub name: &'static str,
    /// Options that take the next word as their value.
    valued: &'static str,
    /// Options that take the next two words.
    pairs: &'static str,
    /// The number of words before the command.
    before: usize,
    /// Whether those words are optional: then the command is recognised by its name.
    is_optional: bool,
    /// Options whose value is a command line for a shell.
    line: &'static str,
    /// Options that set the working directory.
    dir: &'static str,
    form: OperandForm,
    /// Whether words known only at run time are added or substituted.
    has_unknown: bool,
}

impl Runner {
    const fn new(name: &'static str) -> Runner {
        Runner {
            name,
            valued: "",
            pairs: "",
            before: 0,
            is_optional: false,
            line: "",
            dir: "",
            form: OperandForm::Words,
            has_unknown: false,
        }
    }

    const fn valued(self, valued: &'static str) -> Runner {
        Runner { valued, ..self }
    }

    const fn pairs(self, pairs: &'static str) -> Runner {
        Runner { pairs, ..self }
    }

    const fn before(self, before: usize) -> Runner {
        Runner { before, ..self }
    }

    const fn perhaps(self, before: usize) -> Runner {
        Runner { before, is_optional: true, ..self }
    }

    const fn line(self, line: &'static str) -> Runner {
        Runner { line, ..self }
    }

    const fn dir(self, dir: &'static str) -> Runner {
        Runner { dir, ..self }
    }

    const fn form(self, form: OperandForm) -> Runner {
        Runner { form, ..self }
    }

    const fn unknown(self) -> Runner {
        Runner { has_unknown: true, ..self }
    }

    /// Which words are read as a command, for the reference page.
    pub fn reads(&self) -> String {
        let words = match (self.form, self.before) {
            (OperandForm::Words, 0) => "the words after its options".to_owned(),
            (OperandForm::Words, 1) if self.is_optional => {
                "the words after its options and optionally one word".to_owned()
            }
            (OperandForm::Words, 1) => "the words after its options and one word".to_owned(),
            (OperandForm::Words, before) => format!("the words after its options and {before} words"),
            (OperandForm::Dashes, _) => "the words after `--`".to_owned(),
            (OperandForm::Behind(option), _) => format!("the words after {}", quoted(option)),
            (OperandForm::JoinedBehind(option), _) => format!("the words after {}, as a line", quoted(option)),
            (OperandForm::PowerShell { bare: false }, _) => "the words after `-Command`, as a line".to_owned(),
            (OperandForm::PowerShell { bare: true }, _) => {
                "the words after `-Command` or after its options, as a line".to_owned()
            }
            (OperandForm::Joined, _) => "the words after its options, as a line".to_owned(),
            (OperandForm::Lines, _) => "each word after its options, as a line".to_owned(),
            (OperandForm::Nothing, _) => String::new(),
        };
        let line = match self.line {
            "" => String::new(),
            line => format!("the value of {}, as a line", quoted(line)),
        };
        [words, line].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

fn quoted(options: &str) -> String {
    options.split(' ').map(|option| format!("`{option}`")).collect::<Vec<_>>().join(", ")
}

/// The command that a program runs.
#[derive(Debug, Default)]
pub(super) struct RunnerCall<'a> {
    /// A program and its arguments.
    pub(super) words: &'a [String],
    /// Command lines for a shell.
    pub(super) lines: Vec<String>,
    /// The directories it changes to first, each relative to the one before it.
    pub(super) dirs: Vec<&'a str>,
    pub(super) has_unknown: bool,
}

/// The command that a runner runs; `None` for any other program. `rest` are the words after its name.
pub(super) fn run<'a>(program: &str, rest: &'a [String]) -> Option<RunnerCall<'a>> {
    RUNNERS.iter().find_map(|runner| {
        let (name, verb) = runner.name.split_once(' ').unwrap_or((runner.name, ""));
        if name != program {
            return None;
        }
        let mut run = RunnerCall { has_unknown: runner.has_unknown, ..RunnerCall::default() };
        let rest = match verb {
            "" => rest,
            // Options of the program itself can precede the subcommand.
            verb => {
                let at = options(runner, rest, &mut run)?;
                (rest.get(at)? == verb).then(|| &rest[at + 1..])?
            }
        };
        read(runner, rest, &mut run);
        Some(run)
    })
}

/// The value of an option in a list of options, as its own word, after `=` or directly attached; and the number of
/// words used.
fn value<'a>(list: &str, word: &'a str, next: Option<&'a String>) -> Option<(&'a str, usize)> {
    if list.is_empty() {
        return None;
    }
    let (name, inline) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let is_long = word.starts_with("--");
    list.split(' ').find_map(|option| match (is_long || !option.starts_with("--"), inline) {
        (false, _) => None,
        (_, None) if option == word => Some((next.map_or("", String::as_str), 2)),
        (_, Some(value)) if option == name && is_long => Some((value, 1)),
        _ if is_long || option.len() != 2 => None,
        _ if word.starts_with(option) => Some((&word[2..], 1)),
        // `-qc LINE`: the last of several letters has the value.
        _ if word[1..].chars().all(|c| c.is_ascii_alphabetic()) && word.ends_with(&option[1..]) => {
            Some((next.map_or("", String::as_str), 2))
        }
        _ => None,
    })
}

/// Skips options and records the relevant ones. Returns the index of the first other word, if any.
fn options<'a>(runner: &Runner, words: &'a [String], run: &mut RunnerCall<'a>) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        if !word.starts_with('-') || word.len() == 1 || word == "--" {
            return Some(at);
        }
        let next = words.get(at + 1);
        if let Some((line, taken)) = value(runner.line, word, next) {
            run.lines.push(line.to_owned());
            at += taken;
        } else if let Some((dir, taken)) = value(runner.dir, word, next) {
            run.dirs.push(dir);
            at += taken;
        } else {
            let is_in = |list: &str| list.split(' ').any(|option| option == word);
            at += if is_in(runner.pairs) {
                3
            } else if is_in(runner.valued) {
                2
            } else {
                1
            };
        }
    }
}

fn read<'a>(runner: &Runner, words: &'a [String], run: &mut RunnerCall<'a>) {
    if let OperandForm::Behind(options) = runner.form {
        let behind = words.iter().position(|word| options.split(' ').any(|option| option == word));
        run.words = behind.map_or(&[], |at| &words[at + 1..]);
        return;
    }
    if let OperandForm::JoinedBehind(options) = runner.form {
        let behind = words.iter().position(|word| options.split(' ').any(|option| option == word));
        run.lines.extend(behind.map(|at| words[at + 1..].join(" ")));
        return;
    }
    if let OperandForm::PowerShell { bare } = runner.form {
        run.lines.extend(power_shell(runner, words, bare));
        return;
    }
    let mut before = runner.before;
    let mut at = 0;
    while let Some(next) = options(runner, &words[at..], run) {
        at += next;
        let is_dashes = words[at] == "--";
        match runner.form {
            OperandForm::Nothing => at += 1,
            OperandForm::Dashes if !is_dashes => at += 1,
            _ if is_dashes => {
                at += 1;
                break;
            }
            _ if before > 0 && !(runner.is_optional && is_command(&words[at])) => {
                before -= 1;
                at += 1;
            }
            _ => break,
        }
        if at >= words.len() {
            break;
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    match runner.form {
        // Only options are left.
        _ if rest.first().is_some_and(|word| word.starts_with('-') && word.len() > 1) => {}
        OperandForm::Joined if !rest.is_empty() => run.lines.push(rest.join(" ")),
        OperandForm::Lines => run.lines.extend(rest.iter().cloned()),
        OperandForm::Words | OperandForm::Dashes => run.words = rest,
        _ => {}
    }
}

/// Whether a word names a program that is examined further: a runner, a shell or git.
fn is_command(word: &str) -> bool {
    let name = super::program_of(word);
    let is_runner = |runner: &Runner| runner.name.split(' ').next() == Some(name);
    name.starts_with("git")
        || super::SHELLS.contains(&name)
        || ["gh", "glab", "hub"].contains(&name)
        || RUNNERS.iter().any(is_runner)
}

/// The command line of PowerShell: everything after `-Command`, in any spelling.
fn power_shell(runner: &Runner, words: &[String], bare: bool) -> Option<String> {
    let mut at = 0;
    loop {
        let word = words.get(at)?.to_ascii_lowercase();
        let Some(option) = word.strip_prefix('-').or_else(|| (word == "/c").then_some("c")) else {
            return bare.then(|| words[at..].join(" "));
        };
        let option = option.strip_prefix('-').unwrap_or(option);
        if !option.is_empty() && ("commandwithargs".starts_with(option) || option == "cwa") {
            return Some(words[at + 1..].join(" "));
        }
        // The arguments of a script are its own.
        if option == "f" || (option.len() > 1 && "file".starts_with(option)) {
            return None;
        }
        at += if runner.valued.split(' ').any(|valued| valued == word) { 2 } else { 1 };
    }
}

/// The commands of `find`, with a placeholder for `{}`, and its starting points.
pub(super) fn find(words: &[String]) -> (Vec<Vec<String>>, Vec<&str>) {
    let begins = words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).map(String::as_str).collect();
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut command: Vec<String> = Vec::new();
        for word in words.by_ref() {
            if word == ";" || (word == "+" && command.last().is_some_and(|last| last.contains(UNKNOWN))) {
                break;
            }
            command.push(word.replace("{}", &UNKNOWN.to_string()));
        }
        found.push(command);
    }
    (found, begins)
}

/// The command lines of `parallel`: the command with a placeholder for a word known only at run time, or the words
/// after `:::` if there is no command.
pub(super) fn parallel(words: &[String]) -> Vec<String> {
    const VALUED: &str =
        "-j --jobs -P -a --arg-file -S --sshlogin -N -n -L -d -I -C --colsep --delay --timeout --results";
    let is_list = |word: &String| matches!(word.as_str(), ":::" | "::::" | ":::+" | "::::+");
    let end = words.iter().position(is_list).unwrap_or(words.len());
    let mut at = 0;
    while let Some(word) = words[..end].get(at).filter(|word| word.starts_with('-')) {
        at += if VALUED.split(' ').any(|option| option == word) { 2 } else { 1 };
    }
    let command = words[at.min(end)..end].join(" ");
    match command.is_empty() {
        true => words[end..].iter().filter(|word| !is_list(word)).cloned().collect(),
        false => vec![format!("{} {UNKNOWN}", command.replace("{}", &UNKNOWN.to_string()))],
    }
}
