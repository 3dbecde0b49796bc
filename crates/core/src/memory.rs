//! Memories: scopes, kinds, canonical keys, and the single ranking in which memories are shown.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::id::TaskId;
use crate::name::AgentName;
use crate::text::{self, excerpt};
use crate::time::{Span, Time};

/// The longest key, in characters.
pub const KEY_MAX: usize = 120;
/// The longest text of a memory, in bytes: a memory is a short note, not a file.
pub const TEXT_MAX: usize = 4 * 1024;
/// The most pins in one scope.
pub const PINS_MAX: i64 = 20;
/// The most memories in one request.
pub const BATCH_MAX: usize = 50;

/// The kind of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub enum MemoryKind {
    /// A fact.
    #[default]
    Fact,
    /// A rule to follow whenever it applies.
    Directive,
    /// A lesson learnt from a failure.
    Lesson,
}

impl MemoryKind {
    /// All kinds.
    pub const ALL: [MemoryKind; 3] = [MemoryKind::Fact, MemoryKind::Directive, MemoryKind::Lesson];

    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            MemoryKind::Fact => "fact",
            MemoryKind::Directive => "directive",
            MemoryKind::Lesson => "lesson",
        }
    }

    /// Parses the word.
    pub fn parse(word: &str) -> Option<MemoryKind> {
        MemoryKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The audience of a memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryScope {
    /// Every agent that works on one task.
    Task(TaskId),
    /// One agent.
    Agent(AgentName),
    /// Every agent in the project.
    Project,
    /// Every agent in the store.
    Global,
}

impl MemoryScope {
    /// The stored word.
    pub const fn word(&self) -> &'static str {
        match self {
            MemoryScope::Task(_) => "task",
            MemoryScope::Agent(_) => "agent",
            MemoryScope::Project => "project",
            MemoryScope::Global => "global",
        }
    }

    /// The task or agent of the scope; empty for other scopes.
    pub fn subject(&self) -> &str {
        match self {
            MemoryScope::Task(task) => task,
            MemoryScope::Agent(agent) => agent,
            MemoryScope::Project | MemoryScope::Global => "",
        }
    }

    /// Parses the stored columns.
    pub fn of(word: &str, subject: &str) -> Option<MemoryScope> {
        match word {
            "task" => Some(MemoryScope::Task(subject.into())),
            "agent" => Some(MemoryScope::Agent(subject.into())),
            "project" => Some(MemoryScope::Project),
            "global" => Some(MemoryScope::Global),
            _ => None,
        }
    }

    /// Whether only people may pin in this scope, because its pins are shown to every agent.
    pub fn is_shared(&self) -> bool {
        matches!(self, MemoryScope::Project | MemoryScope::Global)
    }

    /// The distance from the work at hand: 0 is nearest.
    fn distance(&self) -> u64 {
        match self {
            MemoryScope::Task(_) => 0,
            MemoryScope::Agent(_) => 1,
            MemoryScope::Project => 2,
            MemoryScope::Global => 3,
        }
    }
}

/// The canonical form of a key: lowercase, blanks and underscores as `-`, no `-` at the ends or twice in a row.
pub fn key(given: &str) -> Result<String> {
    let mut key = String::with_capacity(given.len());
    for c in given.trim().chars().flat_map(char::to_lowercase) {
        match c {
            '_' | '-' => dash(&mut key),
            c if c.is_whitespace() => dash(&mut key),
            c if c.is_alphanumeric() || "./:#@+".contains(c) => key.push(c),
            other => {
                return Err(Error::usage(
                    Code::BadKey,
                    format!("the key `{}` contains the character `{other}`", excerpt(given)),
                )
                .hint("A key consists of letters, digits and . / : # @ + -"));
            }
        }
    }
    let key = key.trim_matches('-').to_owned();
    let length = key.chars().count();
    if length == 0 || length > KEY_MAX {
        return Err(Error::usage(Code::BadKey, format!("the key `{}` has {length} characters", excerpt(given)))
            .hint("A key has 1 to 120 characters."));
    }
    Ok(key)
}

fn dash(key: &mut String) {
    if !key.ends_with('-') {
        key.push('-');
    }
}

/// The key of a memory without one: its first words, so that repeating a text updates the same memory.
pub fn key_of(text: &str) -> String {
    let mut key = String::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let lowered = word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric());
        // An overlong first word is truncated, because the key must not be empty.
        let word: String = if key.is_empty() { lowered.take(79).collect() } else { lowered.collect() };
        if key.chars().count() + word.chars().count() + 1 > 80 {
            break;
        }
        dash(&mut key);
        key.push_str(&word);
    }
    match key.trim_matches('-') {
        "" => format!(
            "note-{:08x}",
            text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
        ),
        key => key.to_owned(),
    }
}

/// Checks the text of a memory.
pub fn text(given: &str) -> Result<String> {
    let text = text::required(given, "memory")?;
    if text.len() > TEXT_MAX {
        return Err(Error::usage(
            Code::MemoryTooLong,
            format!("the memory has {} bytes; the limit is {TEXT_MAX}", text.len()),
        )
        .hint("Summarize it in a few sentences, and name the file that has the rest."));
    }
    Ok(text.trim().to_owned())
}

/// Checks the lifetime of a memory: a minute to ten years.
pub fn ttl(span: Span) -> Result<Span> {
    if (Span::minutes(1)..=Span::days(3_650)).contains(&span) {
        return Ok(span);
    }
    Err(Error::usage(Code::BadMemoryTtl, "the lifetime of a memory is not between 1m and 3650d")
        .hint("Omit it to keep the memory forever."))
}

/// The inputs of the ranking. The number of times a memory was shown is not among them: being shown never raises a
/// rank.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The memory's id.
    pub id: &'a str,
    /// The memory's audience.
    pub scope: &'a MemoryScope,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// Whether it is pinned.
    pub pinned: bool,
    /// When it was last changed.
    pub updated_at: Time,
    /// The number of words it contains.
    pub length: u64,
    /// How often it contains each query word, in query order; 0 for an absent word.
    pub counts: &'a [u32],
}

/// Statistics over all memories searched.
#[derive(Clone, Debug)]
pub struct Corpus<'a> {
    /// The number of memories.
    pub size: u64,
    /// The number of words in all of them.
    pub length: u64,
    /// The number of memories that contain each query word.
    pub having: &'a [u64],
}

/// Scores how well a memory matches: a rare word counts more, a repeated word a little more, and a short memory more
/// than a long one that happens to contain the word. Integers only, so that every machine computes the same ranking.
pub fn score(corpus: &Corpus<'_>, candidate: &Candidate<'_>) -> u64 {
    let size = corpus.size.max(1);
    let mean = (corpus.length / size).max(1);
    // 1,000 for a memory of mean length, 250 for an empty one.
    let stretch = 250 + (750 * candidate.length / mean).min(10_000);
    let words = candidate.counts.iter().zip(corpus.having).map(|(count, having)| {
        let count = u64::from(*count);
        if count == 0 {
            return 0;
        }
        let rarity = log2_milli(1_000 + 1_000 * size / (*having).max(1));
        rarity * (2_200 * count) / (1_000 * count + 12 * stretch / 10)
    });
    let sum: u64 = words.sum();
    if sum == 0 {
        return 0;
    }
    // A nearer scope and a directive each raise the score, but by less than one more matching word does.
    let near = 100 + 5 * (3 - candidate.scope.distance().min(3));
    let kind = if candidate.kind == MemoryKind::Directive { 110 } else { 100 };
    let pinned = if candidate.pinned { 120 } else { 100 };
    sum * near * kind * pinned / 1_000_000
}

/// The order of results: score, then newest, then id. It is total, because ids are unique.
pub fn order(a: (u64, &Candidate<'_>), b: (u64, &Candidate<'_>)) -> std::cmp::Ordering {
    b.0.cmp(&a.0).then(b.1.updated_at.cmp(&a.1.updated_at)).then(a.1.id.cmp(b.1.id))
}

/// 1,000 × log2(x / 1,000), computed by bits with linear interpolation between powers; 0 below 1,000.
fn log2_milli(x: u64) -> u64 {
    if x <= 1_000 {
        return 0;
    }
    let (mut whole, mut rest) = (0, x);
    while rest >= 2_000 {
        rest /= 2;
        whole += 1_000;
    }
    whole + (rest - 1_000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inv_m1_keys_have_one_spelling() {
        for (given, spelt) in [
            ("DB Schema", "db-schema"),
            (" db__schema- ", "db-schema"),
            ("src/Core.rs", "src/core.rs"),
            ("Straße", "straße"),
        ] {
            assert_eq!(key(given).unwrap(), spelt);
            assert_eq!(key(spelt).unwrap(), spelt);
        }
        for bad in ["", " - ", "a\nb\u{0}", "`x`", "$(x)", &"k".repeat(121)] {
            assert_eq!(key(bad).unwrap_err().code(), "bad_key", "{bad:?}");
        }
        assert_eq!(key_of("Use make test, not cargo test!"), "use-make-test-not-cargo-test");
        assert_ne!(key_of("!!!"), key_of("???"), "what has no words is not all the same");
        assert_ne!(key_of(&format!("{} a", "a".repeat(90))), key_of(&format!("{} b", "b".repeat(90))));
    }

    #[test]
    fn inv_m2_rare_words_short_texts_and_near_scopes_come_first() {
        let corpus = Corpus { size: 100, length: 1_000, having: &[50, 2] };
        let near = MemoryScope::Task("t-1".into());
        let far = MemoryScope::Global;
        let points = |scope: &MemoryScope, counts: &[u32], length| {
            let (id, kind, pinned, updated_at) = ("m-1", MemoryKind::Fact, false, Time(0));
            score(&corpus, &Candidate { id, scope, kind, pinned, updated_at, length, counts })
        };
        assert!(points(&far, &[0, 1], 10) > points(&far, &[1, 0], 10), "the rare word");
        assert!(points(&far, &[1, 1], 10) > points(&near, &[0, 1], 10), "one more word beats nearness");
        assert!(points(&near, &[0, 1], 10) > points(&far, &[0, 1], 10));
        assert!(points(&far, &[0, 1], 5) > points(&far, &[0, 1], 50));
        assert!(points(&far, &[0, 2], 10) > points(&far, &[0, 1], 10));
        assert_eq!(points(&near, &[0, 0], 10), 0, "what has none of the words is no answer");
    }

    proptest! {
        #[test]
        fn inv_m2_keys_are_stable_and_found_keys_fit(text in "\\PC{0,300}") {
            let made = key_of(&text);
            prop_assert!(made.chars().count() <= KEY_MAX);
            if let Ok(spelt) = key(&text) {
                prop_assert_eq!(key(&spelt).unwrap(), spelt);
            }
        }

        #[test]
        fn inv_m2_more_of_a_word_never_scores_less(
            size in 1_u64..100_000, having in 1_u64..100_000, count in 0_u32..1_000, length in 0_u64..10_000,
        ) {
            let corpus = Corpus { size, length: size * 20, having: &[having.min(size)] };
            let scope = MemoryScope::Project;
            let of = |counts: &[u32]| {
                let id = "m";
                let (kind, pinned, updated_at) = (MemoryKind::Lesson, false, Time(0));
                score(&corpus, &Candidate { id, scope: &scope, kind, pinned, updated_at, length, counts })
            };
            prop_assert!(of(&[count + 1]) >= of(&[count]));
        }
    }
}
