//! Search by words: what is searched for, the words of a task, and where a task has them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::text::excerpt;
use crate::words;

/// The most words in one search.
const SEARCHED_MAX: usize = 16;

/// A text of a task that has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchedText {
    /// The title.
    Title,
    /// The description.
    Description,
    /// The acceptance criteria.
    Acceptance,
    /// A note.
    Note,
}

impl MatchedText {
    /// The word in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            MatchedText::Title => "title",
            MatchedText::Description => "description",
            MatchedText::Acceptance => "acceptance",
            MatchedText::Note => "note",
        }
    }
}

/// The texts of a task itself, without its notes.
#[derive(Clone, Copy, Debug)]
pub struct TaskTexts<'a> {
    /// The title.
    pub title: &'a str,
    /// The description.
    pub description: &'a str,
    /// The acceptance criteria.
    pub acceptance: &'a str,
}

impl TaskTexts<'_> {
    /// The words under which the task is found. Each text has its own limit of words.
    pub fn words(&self) -> BTreeSet<String> {
        let mut words = words::distinct(self.title);
        for text in [self.description, self.acceptance] {
            words.append(&mut words::distinct(text));
        }
        words
    }
}

/// What is searched for: every word must begin a word of the task or of one of its notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    beginnings: Vec<String>,
}

impl Search {
    /// Parses a search. Stop words are left out.
    pub fn parse(text: &str) -> Result<Search> {
        let beginnings: Vec<String> = words::distinct(text).into_iter().collect();
        if beginnings.is_empty() {
            return Err(Error::usage(Code::BadSearch, format!("`{}` has no word to search for", excerpt(text)))
                .hint("Give letters or digits. Words like `the` and `with` are not searched for."));
        }
        if beginnings.len() > SEARCHED_MAX {
            let message = format!("{} words are too many to search for, at most {SEARCHED_MAX} fit", beginnings.len());
            return Err(Error::usage(Code::BadSearch, message).hint("Leave out the common ones."));
        }
        Ok(Search { beginnings })
    }

    /// The beginnings of words, sorted.
    pub fn beginnings(&self) -> &[String] {
        &self.beginnings
    }

    /// The beginnings that no word of these has.
    pub fn missing(&self, words: &BTreeSet<String>) -> Vec<&str> {
        self.beginnings.iter().map(String::as_str).filter(|beginning| !begins(words, beginning)).collect()
    }

    /// The first text with each of the words, for a task that has all of them.
    pub fn places(&self, texts: TaskTexts<'_>) -> Vec<MatchedText> {
        let own = [
            (MatchedText::Title, words::distinct(texts.title)),
            (MatchedText::Description, words::distinct(texts.description)),
            (MatchedText::Acceptance, words::distinct(texts.acceptance)),
        ];
        let of = |beginning: &String| {
            own.iter().find(|(_, words)| begins(words, beginning)).map_or(MatchedText::Note, |(place, _)| *place)
        };
        let found: BTreeSet<MatchedText> = self.beginnings.iter().map(of).collect();
        found.into_iter().collect()
    }
}

/// Whether one of the words begins so.
pub fn begins(words: &BTreeSet<String>, beginning: &str) -> bool {
    words
        .range::<str, _>((std::ops::Bound::Included(beginning), std::ops::Bound::Unbounded))
        .next()
        .is_some_and(|word| word.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts<'a>(title: &'a str, description: &'a str) -> TaskTexts<'a> {
        TaskTexts { title, description, acceptance: "" }
    }

    #[test]
    fn every_word_must_begin_a_word() {
        let has =
            |search: &str, title: &str| Search::parse(search).unwrap().missing(&texts(title, "").words()).is_empty();
        assert!(has("log", "Fix the login"));
        assert!(has("LOGIN fix", "Fix the login"));
        assert!(has("logins", "Fix the login") && has("login", "Two logins"), "plurals are one");
        assert!(has("read", "readFile") && has("readFile", "read_file"));
        assert!(has("ärg", "Ärger mit Straße"));
        assert!(has("数据", "数据库"));
        assert!(!has("ogin", "Fix the login"), "not inside a word");
        assert!(!has("login page", "Fix the login"), "all of them");
    }

    #[test]
    fn a_search_has_words_and_not_too_many() {
        for bad in ["", "  ", "the", "!?", &"x".repeat(41), &(0..17).map(|n| format!("w{n} ")).collect::<String>()] {
            assert_eq!(Search::parse(bad).unwrap_err().code(), "bad_search", "{bad}");
        }
    }

    #[test]
    fn the_place_is_the_first_text_with_the_word() {
        let search = Search::parse("login page").unwrap();
        assert_eq!(search.places(texts("Login page", "login")), [MatchedText::Title]);
        assert_eq!(search.places(texts("Login", "the page")), [MatchedText::Title, MatchedText::Description]);
        assert_eq!(search.places(texts("Login", "")), [MatchedText::Title, MatchedText::Note]);
    }

    proptest! {
        #[test]
        fn a_text_is_found_by_the_beginning_of_each_of_its_words(text in "\\PC{0,300}", cut in 1_usize..6) {
            let words = texts(&text, "").words();
            for word in &words {
                let beginning: String = word.chars().take(cut).collect();
                prop_assert!(begins(&words, &beginning), "{} of {}", beginning, word);
            }
        }

        #[test]
        fn words_are_bounded_and_searching_for_some_of_a_text_finds_it(text in "\\PC{0,2000}") {
            let words = texts(&text, &text).words();
            prop_assert!(words.len() <= 256);
            prop_assert!(words.iter().all(|word| !word.is_empty() && word.chars().count() <= 40));
            let typed: Vec<&str> = text.split_whitespace().take(3).collect();
            if let Ok(search) = Search::parse(&typed.join(" ")) {
                prop_assert_eq!(search.missing(&words), Vec::<&str>::new());
            }
        }
    }
}
