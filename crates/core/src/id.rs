//! Ids: a kind letter, a dash, and base32 without look-alike characters, such as `t-7k3fq`.
//!
//! An id is drawn at random and checked for uniqueness inside the transaction that issues it. It starts short and grows
//! with the number of ids issued, so that fewer than one draw in a thousand collides.

mod typed;

use std::borrow::Borrow;

pub use typed::{
    Any, AnyId, CheckoutId, Drawn, HoldId, Id, IdKind, MemoryId, MessageId, NoteId, PlaceId, ProjectId, StoreId,
    TaskId, TokenId, kind, or_empty,
};

use crate::action::{Action, Tasks};
use crate::error::{Code, Error, Result, Stage};

/// Digits and lowercase letters without i, l, o and u.
pub const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The shortest id, in characters after the dash.
pub const SHORTEST: usize = 5;

/// The longest id, in characters after the dash; `u64` counters never need more.
pub const LONGEST: usize = 26;

/// The kind of record that an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A task.
    Task,
    /// A hold.
    Hold,
    /// A note.
    Note,
    /// A memory.
    Memory,
    /// A message.
    Message,
    /// A place in the waiting line.
    Place,
    /// A token.
    Token,
    /// A project.
    Project,
    /// A checkout.
    Checkout,
    /// A store, or one incarnation of it.
    Store,
}

impl Sort {
    /// The letter before the dash.
    pub const fn letter(self) -> char {
        match self {
            Sort::Task => 't',
            Sort::Hold => 'h',
            Sort::Note => 'n',
            Sort::Memory => 'm',
            // `m` is taken.
            Sort::Message => 'g',
            Sort::Place => 'w',
            // `t` is taken.
            Sort::Token => 'k',
            Sort::Project => 'p',
            Sort::Checkout => 'c',
            Sort::Store => 's',
        }
    }

    /// The noun used in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Sort::Task => "task",
            Sort::Hold => "hold",
            Sort::Note => "note",
            Sort::Memory => "memory",
            Sort::Message => "message",
            Sort::Place => "place in the line",
            Sort::Token => "token",
            Sort::Project => "project",
            Sort::Checkout => "checkout",
            Sort::Store => "store",
        }
    }
}

/// The length of the next id when `issued` of its sort exist: 32 to that power is at least 1,024 times `issued`, so a
/// draw collides with a probability below 0.1 %.
pub fn length(issued: u64) -> usize {
    let mut length = SHORTEST;
    let mut room: u64 = 1 << (5 * SHORTEST - 10);
    while issued >= room && length < 12 {
        length += 1;
        room <<= 5;
    }
    length
}

/// Draws an id of `length` characters from random bytes, five bits of each.
pub fn draw(sort: Sort, length: usize, fill: &mut dyn FnMut(&mut [u8])) -> String {
    let mut bytes = [0u8; LONGEST];
    let bytes = &mut bytes[..length];
    fill(bytes);
    let mut id = String::with_capacity(length + 2);
    id.push(sort.letter());
    id.push('-');
    id.extend(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])));
    id
}

/// Whether a text could be a prefix of an id, with or without its kind letter.
pub fn is_prefix(text: &str) -> bool {
    let rest = match text.as_bytes() {
        [letter, b'-', ..] if letter.is_ascii_lowercase() => &text[2..],
        _ => text,
    };
    rest.len() <= LONGEST && rest.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// Checks a complete id from outside: the kind letter of its sort, a dash, and a valid number of characters.
pub fn check(text: &str, sort: Sort) -> Result<&str> {
    let rest = text.strip_prefix(sort.letter()).and_then(|rest| rest.strip_prefix('-')).unwrap_or_default();
    if (SHORTEST..=LONGEST).contains(&rest.len()) && rest.bytes().all(|byte| ALPHABET.contains(&byte)) {
        return Ok(text);
    }
    let shown = crate::text::excerpt(text);
    Err(Error::usage(Code::BadId, format!("`{shown}` is not the id of a {}", sort.word())).entity(shown).hint(format!(
        "The id must be `{}-` and {SHORTEST} to {LONGEST} of the characters {}.",
        sort.letter(),
        String::from_utf8_lossy(ALPHABET)
    )))
}

/// Resolves a typed prefix, given the ids that begin with it (at most a page of them, in order).
///
/// An exact match wins over longer ids that begin with it.
pub fn resolve<T: Borrow<str>>(typed: &str, sort: Sort, mut candidates: Vec<T>) -> Result<T> {
    if let Some(exact) = candidates.iter().position(|id| id.borrow() == typed) {
        return Ok(candidates.swap_remove(exact));
    }
    match candidates.len() {
        1 => Ok(candidates.remove(0)),
        0 => Err(unknown(typed, sort)),
        _ => {
            candidates.truncate(10);
            Err(Error::new(Code::AmbiguousId, format!("`{typed}` matches {}", candidates.join(", ")))
                .at(Stage::Resolve)
                .entity(typed)
                .hint("Type more characters of the id.")
                .detail("candidates", candidates.iter().map(Borrow::borrow).collect::<Vec<&str>>()))
        }
    }
}

/// Refuses a text that cannot be an id, before the store is queried: PostgreSQL does not accept every text as a
/// parameter.
pub fn named(text: &str, sort: Sort) -> Result<()> {
    if is_prefix(text) { Ok(()) } else { Err(unknown(text, sort)) }
}

/// The error for an id that names no record, whatever its characters.
pub fn unknown(typed: &str, sort: Sort) -> Error {
    let shown = crate::text::excerpt(typed);
    Error::new(Code::NotFound, format!("there is no {} `{shown}` in this project", sort.word()))
        .entity(shown)
        .attempt(Action::ListTasks { which: Tasks::All })
        .attempt(Action::Whoami)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Kind;

    #[test]
    fn ids_are_short_at_first_and_grow() {
        assert_eq!(length(0), 5);
        assert_eq!(length(32_767), 5);
        assert_eq!(length(32_768), 6);
        assert_eq!(length(1 << 20), 7);
        assert_eq!(length(u64::MAX), 12);
    }

    #[test]
    fn an_id_has_a_letter_a_dash_and_no_look_alikes() {
        let mut n = 0u8;
        let id = draw(Sort::Task, 26, &mut |bytes| {
            bytes.iter_mut().for_each(|b| {
                *b = n;
                n = n.wrapping_add(37);
            });
        });
        assert!(id.starts_with("t-") && id.len() == 28);
        assert!(!id[2..].contains(['i', 'l', 'o', 'u']));
        assert!(is_prefix(&id) && is_prefix(&id[..4]) && is_prefix(&id[2..6]) && !is_prefix("t-UPPER"));
    }

    #[test]
    fn a_whole_id_is_of_its_sort_and_of_its_length() {
        assert_eq!(check("t-7k3fq", Sort::Task).unwrap(), "t-7k3fq");
        assert!(check(&format!("n-{}", "0".repeat(LONGEST)), Sort::Note).is_ok());
        let long = format!("t-{}", "0".repeat(LONGEST + 1));
        for bad in ["", "t", "t-", "t-7k3f", "n-7k3fq", "7k3fq", "t-7k3fu", "t-7K3FQ", "t-7k3f\0", "t-é0000", &long] {
            assert_eq!(check(bad, Sort::Task).unwrap_err().code(), "bad_id", "{bad:?}");
        }
    }

    #[test]
    fn an_exact_match_wins_and_ambiguity_lists_the_candidates() {
        let ids = || vec![TaskId::new("t-7k3fq"), TaskId::new("t-7k3fqx")];
        assert_eq!(resolve("t-7k3fq", Sort::Task, ids()).unwrap(), "t-7k3fq");
        let error = resolve("t-7k", Sort::Task, ids()).unwrap_err();
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "ambiguous_id"));
        assert_eq!(error.get("candidates").unwrap().as_array().unwrap().len(), 2);
        assert_eq!(resolve::<TaskId>("t-zz", Sort::Task, vec![]).unwrap_err().kind(), Kind::NotFound);
    }

    proptest! {
        #[test]
        fn any_text_is_a_prefix_or_not(text in ".{0,40}") {
            let _ = is_prefix(&text);
        }
    }
}
