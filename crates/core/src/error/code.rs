//! Error codes: the stable words that identify errors, and their rows in the table.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Serialize, Serializer};

use super::Kind;
pub use super::table::Code;

/// The longest code that a client accepts.
const CODE_MAX: usize = 64;
/// The most unknown codes that one process accepts. A server that sends more is not a Tenure server, and must not grow
/// the client's memory without bound.
const FOREIGN_MAX: usize = 1_000;

/// Generates [`Code`] from the table: documentation, variant, word and kind of each code.
///
/// The documentation says when the error happens and, after the arrow, what to do. The reference page repeats it.
macro_rules! codes {
    ($($(#[doc = $line:literal])+ $variant:ident $text:literal $kind:ident;)+) => {
        /// The stable code of an error. Each variant says when the error happens and what to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $line])+ $variant,)+
            /// A code that this version does not know, as a server sent it.
            Foreign(&'static str),
        }

        impl Code {
            /// Every code of this version, sorted by its word.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            pub(super) const fn row(self) -> Row {
                match self {
                    $(Code::$variant => Row { text: $text, kind: Kind::$kind, lines: &[$($line),+] },)+
                    Code::Foreign(text) => Row { text, kind: Kind::Internal, lines: &[] },
                }
            }

            pub(super) fn known(text: &str) -> Option<Code> {
                match text {
                    $($text => Some(Code::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub(super) use codes;

/// The table's row of a code.
pub(super) struct Row {
    pub(super) text: &'static str,
    pub(super) kind: Kind,
    pub(super) lines: &'static [&'static str],
}

impl Code {
    /// The code's word in JSON.
    pub const fn as_str(self) -> &'static str {
        self.row().text
    }

    /// The kind of the code's errors. Three codes have a second kind; see
    /// [`Error::with_kind`](super::Error::with_kind).
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// When the error happens, for the reference page.
    pub fn when(self) -> String {
        self.documentation().0
    }

    /// What to do, for the reference page.
    pub fn remedy(self) -> String {
        self.documentation().1
    }

    fn documentation(self) -> (String, String) {
        let lines: Vec<&str> = self.row().lines.iter().map(|line| line.trim()).collect();
        let text = lines.join(" ");
        let (when, remedy) = text.split_once(" → ").unwrap_or((&text, ""));
        (when.to_owned(), remedy.to_owned())
    }

    /// Parses a code that another program sent. Refuses a text that cannot be a code.
    ///
    /// An unknown code is kept for the life of the process, so that `Code` stays `Copy` and comparable.
    pub(super) fn read(text: &str) -> Option<Code> {
        static FOREIGN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let is_code = (1..=CODE_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !is_code {
            return None;
        }
        if let Some(code) = Code::known(text) {
            return Some(code);
        }
        let mut foreign = FOREIGN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = foreign.get(text) {
            return Some(Code::Foreign(kept));
        }
        if foreign.len() >= FOREIGN_MAX {
            return None;
        }
        let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
        foreign.insert(kept);
        Some(Code::Foreign(kept))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_code_says_when_and_what_to_do() {
        let words: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert!(words.is_sorted_by(|one, next| one < next));
        for code in Code::ALL {
            assert!(!code.when().is_empty() && !code.remedy().is_empty(), "{code}");
            assert!(!(code.when() + &code.remedy()).contains(['|', '→', '\n']), "{code}");
            assert_eq!(Code::read(code.as_str()), Some(*code));
        }
    }

    #[test]
    fn the_word_of_a_code_is_its_variant_in_snake_case() {
        for code in Code::ALL {
            let words = code.as_str().split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
            assert_eq!(format!("{code:?}"), words.collect::<String>());
        }
    }

    #[test]
    fn a_code_of_another_version_keeps_its_word() {
        let code = Code::read("of_tomorrow").unwrap();
        assert_eq!((code, code.kind()), (Code::Foreign("of_tomorrow"), Kind::Internal));
        assert_eq!(Code::read("of_tomorrow"), Some(code));
        for bad in ["", "Task", "a b", "a\n", &"a".repeat(65)] {
            assert_eq!(Code::read(bad), None, "{bad:?}");
        }
    }
}
