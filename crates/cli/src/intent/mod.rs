//! From what was typed to the words of a command: one table of phrases and one of flags, instead of letter distance.
//!
//! A phrase of the table that means a query, or the verb of a command under another name, is replaced by that command. One that
//! would change something under another verb is refused with the command's name. A word that is in no table is compared by
//! its letters, for typing errors, and nothing is suggested where nothing is near.

mod flag;
mod table;

use std::ffi::{OsStr, OsString};

use tenure_core::action::Action;
use tenure_core::text::{excerpt, shell_word};
use tenure_core::{Code, Error, Result, id};

use self::table::{INTENTS, MAKES_TITLE, NOUNS, STATES, TAKES_NOUN};
use crate::args::VALUED;
use crate::command::{self, Group, Spec};

/// What some phrases mean.
struct Intent {
    /// The phrases. ` $` at the end: only flags follow. ` +` at the end: something else follows. ` #` at the end: the id of a
    /// task follows.
    typed: &'static [&'static str],
    then: Then,
}

enum Then {
    /// These words take the place of the phrase. What follows the phrase stands at `…`, else at the end.
    Run(&'static str),
    /// The same: `live` at a terminal, `once` elsewhere, where a command that never ends would only be in the way.
    Watch { live: &'static str, once: &'static str },
    /// It is refused with these commands, best first. A word in braces is replaced by what was typed after the phrase.
    Name { commands: &'static [&'static str], because: &'static str },
}

/// The words that were meant. `live` says whether standard output is a terminal.
pub(crate) fn meant(typed: &[OsString], live: bool) -> Result<Vec<OsString>> {
    let mut words = flag::as_json(flag::at_root(typed));
    // A phrase can contain another: `help search` is `search --help`, which is `list --help`.
    for _ in 0..4 {
        let Some(at) = position(&words) else { break };
        match step(&words, at, live)? {
            Some(Step { line, again: true }) => words = line,
            Some(Step { line, again: false }) => {
                words = line;
                break;
            }
            None => break,
        }
    }
    match position(&words).and_then(|at| Some((at, of_name(words[at].to_str()?)?))) {
        Some((at, spec)) => flag::meant(words, at, spec.name),
        None => Ok(words),
    }
}

/// The place of the command among the words: the first that is neither a flag of every command nor its value.
pub(crate) fn position(words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if VALUED.iter().any(|flag| word == *flag) {
            at += 1;
        } else if word == "--" {
            return None;
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The command of a name or an alias.
pub(crate) fn of_name(name: &str) -> Option<&'static Spec> {
    command::ALL.iter().find(|spec| spec.name == name || spec.aliases.contains(&name))
}

/// One replacement, and whether the result is looked at again.
struct Step {
    line: Vec<OsString>,
    again: bool,
}

fn step(words: &[OsString], at: usize, live: bool) -> Result<Option<Step>> {
    let line = TypedLine::of(words, at);
    if let Some(found) = without_noun(&line)? {
        return Ok(Some(Step { line: found, again: true }));
    }
    let is_command = of_name(line.word(0)).is_some();
    let found = INTENTS.iter().flat_map(|intent| intent.typed.iter().map(move |phrase| (intent, *phrase)));
    // A command is a command: only a longer phrase, or one with a condition, means something else.
    let found = found.filter(|(_, phrase)| !is_command || phrase.contains(' '));
    let found = found.filter_map(|(intent, phrase)| Some((line.begins_with(phrase)?, phrase.len(), intent)));
    let Some((count, _, intent)) = found.max_by_key(|(count, length, _)| (*count, *length)) else { return Ok(None) };
    let run = match &intent.then {
        Then::Run(run) => *run,
        Then::Watch { live: run, .. } if live => *run,
        Then::Watch { once, .. } => *once,
        Then::Name { commands, because } => return Err(refused(&line, count, commands, because)),
    };
    Ok(Some(Step { line: line.replaced(count, run), again: run.starts_with('…') }))
}

/// The line without a noun that other trackers have in it: `issue list`, `create task "…"`.
fn without_noun(line: &TypedLine<'_>) -> Result<Option<Vec<OsString>>> {
    let (first, second) = (line.word(0), line.word(1));
    let is_noun = |word: &str| NOUNS.contains(&word);
    if !is_noun(first) {
        let is_redundant = is_noun(second) && TAKES_NOUN.contains(&first) && line.follows(2) != 0;
        // `add issue templates` is a title without quotes; `add issue "Fix the login"` has a noun too many.
        let is_title = MAKES_TITLE.contains(&first) && !line.word(2).starts_with('-') && !line.word(2).contains(' ');
        return Ok((is_redundant && !is_title).then(|| line.replaced_at(1, 1, "")));
    }
    let are_many = first.ends_with('s');
    Ok(Some(if second.is_empty() || second.starts_with('-') {
        line.replaced(1, "list")
    // `tasks done` asks for the tasks that are done: it must not finish one.
    } else if are_many && line.follows(2) == 0 && STATES.contains(&second) {
        line.replaced(1, "list --state")
    } else if is_known(second) {
        line.replaced(1, "")
    } else if is_task_id(second) || !are_many && id::is_prefix(second) && second.len() < 8 {
        line.replaced(1, "show")
    } else if are_many {
        line.replaced(1, "list")
    } else {
        return Err(refused(line, 1, &["add {TITLE}", "show {ID}"], "`add` adds a task with this title."));
    }))
}

fn is_task_id(word: &str) -> bool {
    word.starts_with("t-") && word.len() > 2 && id::is_prefix(word)
}

/// Whether a word is a command, an alias, or a phrase by itself.
fn is_known(word: &str) -> bool {
    of_name(word).is_some() || INTENTS.iter().any(|intent| intent.typed.iter().any(|phrase| first_word(phrase) == word))
}

fn first_word(phrase: &str) -> &str {
    phrase.split(' ').next().unwrap_or_default()
}

/// The words of a command line, from the command on.
struct TypedLine<'a> {
    words: &'a [OsString],
    at: usize,
    /// Where the arguments end: at `--`.
    end: usize,
}

impl TypedLine<'_> {
    fn of(words: &[OsString], at: usize) -> TypedLine<'_> {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        TypedLine { words, at, end }
    }

    /// A word, counted from the command; empty where there is none.
    fn word(&self, n: usize) -> &str {
        self.words[..self.end].get(self.at + n).and_then(|word| word.to_str()).unwrap_or_default()
    }

    /// The words after the first `count` that are no flags.
    fn arguments(&self, count: usize) -> impl Iterator<Item = &OsString> {
        let rest = self.words[..self.end].get(self.at + count..).unwrap_or_default();
        let mut is_value = false;
        rest.iter().filter(move |word| {
            let skipped = std::mem::replace(&mut is_value, VALUED.iter().any(|flag| *word == *flag));
            !skipped && !word.as_encoded_bytes().starts_with(b"-")
        })
    }

    /// How many arguments follow the first `count` words.
    fn follows(&self, count: usize) -> usize {
        self.arguments(count).count() + self.words.len().saturating_sub(self.end + 1)
    }

    /// Whether the help of the phrase is asked for, which is that of the command itself where it is one.
    fn asks_for_help(&self, count: usize) -> bool {
        (count..self.end - self.at).any(|n| ["--help", "-h"].contains(&self.word(n)))
    }

    /// How many words a phrase has, if the line begins with it.
    fn begins_with(&self, phrase: &str) -> Option<usize> {
        let mut count = 0;
        for part in phrase.split(' ') {
            match part {
                "$" if self.follows(count) != 0 || self.asks_for_help(count) => return None,
                "+" if self.follows(count) == 0 => return None,
                "#" if !is_task_id(self.word(count)) => return None,
                "$" | "+" | "#" => {}
                part if self.word(count) == part => count += 1,
                _ => return None,
            }
        }
        Some(count)
    }

    /// The line with other words in place of its first `count`.
    fn replaced(&self, count: usize, by: &str) -> Vec<OsString> {
        match by.split_once('…') {
            // What follows stands before the rest of the words.
            Some((before, after)) => {
                let mut line = self.replaced(count, before);
                let end = line.len() - (self.words.len() - self.end);
                line.splice(end..end, after.split_whitespace().map(OsString::from));
                line
            }
            None => self.replaced_at(0, count, by),
        }
    }

    fn replaced_at(&self, from: usize, count: usize, by: &str) -> Vec<OsString> {
        let mut line = self.words.to_vec();
        let begin = self.at + from;
        line.splice(begin..begin + count, by.split_whitespace().map(OsString::from));
        line
    }
}

/// The refusal of a phrase, with the commands that do what it means.
fn refused(line: &TypedLine<'_>, count: usize, commands: &[&str], because: &str) -> Error {
    let phrase = (0..count).map(|n| line.word(n)).collect::<Vec<_>>().join(" ");
    let error = not_a_command(&phrase);
    let error = if because.is_empty() { error } else { error.hint(because) };
    let arguments: Vec<&OsString> = line.arguments(count).collect();
    let named = commands.iter().map(|command| Action::Said { text: format!("tenure {}", filled(command, &arguments)) });
    let error = named.fold(error, Error::attempt);
    if commands.len() < 3 { error.attempt(Action::Help { command: None }) } else { error }
}

/// A command with what was typed in place of its words in braces. A brace with `…` takes all that is left.
fn filled(command: &str, arguments: &[&OsString]) -> String {
    let mut left = arguments.iter().filter_map(|word| word.to_str()).filter_map(shell_word);
    let parts = command.split(' ').map(|part| {
        let Some(place) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
            return part.to_owned();
        };
        match place.strip_suffix('…') {
            Some(place) => {
                let all = left.by_ref().collect::<Vec<_>>().join(" ");
                if all.is_empty() { place.to_owned() } else { all }
            }
            None => left
                .next()
                .unwrap_or_else(|| if place == "TEXT" || place == "TITLE" { "\"…\"" } else { place }.to_owned()),
        }
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn not_a_command(typed: &str) -> Error {
    Error::usage(Code::UnknownCommand, format!("`{}` is not a command of tenure", excerpt(typed)))
}

/// The refusal of a word that no table has: with the command that is spelled nearly so, if there is one.
pub(crate) fn unknown(name: &OsStr) -> Error {
    let name = name.to_string_lossy();
    let error = not_a_command(&name);
    match nearest(&name) {
        Some(meant) => {
            error.hint(format!("Did you mean `{meant}`?")).attempt(Action::Help { command: Some(meant.to_owned()) })
        }
        None => error,
    }
    .attempt(Action::Help { command: None })
}

/// The command that a word is a typing error of: one letter more, less, other or swapped, two in a longer word.
fn nearest(typed: &str) -> Option<&'static str> {
    let most = match typed.chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        _ => 2,
    };
    let commands = command::ALL.iter().filter(|spec| spec.group != Group::Hidden);
    let names = commands.flat_map(|spec| {
        std::iter::once((spec.name, spec.name)).chain(spec.aliases.iter().map(|alias| (*alias, spec.name)))
    });
    let phrases = INTENTS.iter().flat_map(|intent| {
        let meant = match &intent.then {
            Then::Run(run) | Then::Watch { once: run, .. } => run,
            Then::Name { commands, .. } => commands.first().copied().unwrap_or_default(),
        };
        intent.typed.iter().filter(|phrase| !phrase.contains(' ')).map(move |phrase| (*phrase, first_word(meant)))
    });
    names
        .chain(phrases.filter(|(_, meant)| of_name(meant).is_some()))
        .map(|(name, meant)| (strsim::osa_distance(name, typed), meant))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, meant)| meant)
}

#[cfg(test)]
mod tests;
