//! The palette: what a colour means, and whether there are colours. Nothing else names a colour, so that a state looks the
//! same in every table.

use std::ffi::OsString;

use tenure_core::agent::Liveness;
use tenure_core::task::TaskState;

use crate::env::Env;

/// How a word is set off, on a terminal that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// What a line is about: an id, a heading.
    Strong,
    /// What stands beside it: heads of tables, times, what is over.
    Faint,
    /// All is well: ready, free, alive.
    Good,
    /// Under way.
    Active,
    /// To be looked at some time: waiting, idle.
    Caution,
    /// Wrong, or stopped until someone acts: blocked, stuck, gone, errors.
    Bad,
}

impl Ink {
    /// The sequences that an ink begins and ends with. Nothing else is let through to a terminal.
    pub(super) const SEQUENCES: [&str; 7] = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[36m"];

    pub(super) fn on(self, text: &str) -> String {
        let code = match self {
            Ink::Strong => 1,
            Ink::Faint => 2,
            Ink::Bad => 31,
            Ink::Good => 32,
            Ink::Caution => 33,
            Ink::Active => 36,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    pub(crate) const fn of_state(state: TaskState) -> Ink {
        match state {
            TaskState::Ready => Ink::Good,
            TaskState::Held => Ink::Active,
            TaskState::Waiting => Ink::Caution,
            TaskState::Blocked | TaskState::Stuck => Ink::Bad,
            TaskState::Done | TaskState::Cancelled => Ink::Faint,
        }
    }

    pub(crate) const fn of_liveness(liveness: Liveness) -> Ink {
        match liveness {
            Liveness::Alive => Ink::Good,
            Liveness::Idle => Ink::Caution,
            Liveness::Stale | Liveness::Gone => Ink::Bad,
        }
    }
}

/// When there are colours: `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ColourChoice {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    Always,
    Never,
}

impl ColourChoice {
    /// The words of the flag.
    pub(crate) const WORDS: [&str; 3] = ["auto", "always", "never"];

    /// The choice among the words of the command line, found before anything can fail. A word that is none is refused
    /// when the arguments are parsed.
    pub(crate) fn among<'a>(words: impl Iterator<Item = &'a OsString>) -> ColourChoice {
        let mut words = words.filter_map(|word| word.to_str());
        let mut choice = ColourChoice::default();
        while let Some(word) = words.next() {
            let given = match word.strip_prefix("--color") {
                Some("") => words.next(),
                Some(rest) => rest.strip_prefix('='),
                None => continue,
            };
            choice = match given {
                Some("always") => ColourChoice::Always,
                Some("never") => ColourChoice::Never,
                _ => ColourChoice::Auto,
            };
        }
        choice
    }

    /// Whether there are colours on a stream: as typed, else as `NO_COLOR` and `CLICOLOR_FORCE` say, else on a terminal
    /// that is not dumb.
    pub(super) fn decide(self, env: &Env, terminal: bool) -> bool {
        let dumb = || env.os("TERM").is_some_and(|term| term == "dumb");
        match self {
            ColourChoice::Always => true,
            ColourChoice::Never => false,
            ColourChoice::Auto if env.os("NO_COLOR").is_some() => false,
            ColourChoice::Auto => env.says_yes("CLICOLOR_FORCE") || terminal && !dumb(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_flag_decides_then_the_environment_then_the_terminal() {
        let env = |vars: &[(&str, &str)]| {
            vars.iter().fold(Env::of(Path::new("/"), []), |env, (name, value)| env.with(name, *value))
        };
        let plain = env(&[]);
        assert!(ColourChoice::Auto.decide(&plain, true) && !ColourChoice::Auto.decide(&plain, false));
        assert!(ColourChoice::Always.decide(&env(&[("NO_COLOR", "1")]), false));
        assert!(!ColourChoice::Never.decide(&env(&[("CLICOLOR_FORCE", "1")]), true));
        assert!(!ColourChoice::Auto.decide(&env(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), true));
        assert!(ColourChoice::Auto.decide(&env(&[("CLICOLOR_FORCE", "1")]), false));
        assert!(ColourChoice::Auto.decide(&env(&[("NO_COLOR", "")]), true));
        assert!(!ColourChoice::Auto.decide(&env(&[("TERM", "dumb")]), true));
    }

    #[test]
    fn the_choice_is_found_among_the_words() {
        let choice = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            ColourChoice::among(words.iter())
        };
        assert_eq!(choice("list --color never"), ColourChoice::Never);
        assert_eq!(choice("--color=always list"), ColourChoice::Always);
        assert_eq!(choice("list --colour"), ColourChoice::Auto);
        assert_eq!(choice("list --color"), ColourChoice::Auto);
    }
}
