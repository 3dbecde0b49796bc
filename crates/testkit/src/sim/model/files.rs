//! A small fixed set of files. The model compares patterns by enumerating all of them.
//!
//! The files are chosen so that two patterns overlap, or one covers the other, within this set exactly when they do
//! among all possible files. A test below checks that.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// All files.
pub const FILES: [&str; 20] = [
    "README.md",
    "Cargo.toml",
    "a.rs",
    "src/a.rs",
    "src/b.rs",
    "src/main.rs",
    "src/alpha.md",
    "src/abc.txt",
    "src/z.txt",
    "src/a/deep.rs",
    "src/core/a.rs",
    "src/core/b.rs",
    "src/core/a.md",
    "src/core/x.txt",
    "docs/a.md",
    "docs/b.md",
    "docs/c.md",
    "docs/a.txt",
    "docs/d/e.md",
    "lib/a.x",
];

/// Patterns: as typed, and in normal form.
pub const PATTERNS: [(&str, &str); 18] = [
    ("src/a.rs", "src/a.rs"),
    ("./src//b.rs", "src/b.rs"),
    ("src/core/../core/a.rs", "src/core/a.rs"),
    ("docs/a.md", "docs/a.md"),
    ("docs/b.md", "docs/b.md"),
    ("README.md", "README.md"),
    ("src/", "src/"),
    ("src/core/", "src/core/"),
    ("docs/", "docs/"),
    ("./", "./"),
    ("glob:src/*.rs", "glob:src/*.rs"),
    ("glob:src/**/*.rs", "glob:src/**/*.rs"),
    ("glob:**/*.md", "glob:**/*.md"),
    ("glob:src/a*", "glob:src/a*"),
    ("glob:docs/{a,b}.md", "glob:docs/{a,b}.md"),
    ("glob:*/a.*", "glob:*/a.*"),
    ("glob:src/**", "src/"),
    ("glob:docs/a.md", "docs/a.md"),
];

/// The normal form of a typed pattern.
pub fn spelling(typed: &str) -> String {
    let known = PATTERNS.iter().find(|(known, _)| *known == typed);
    known.map_or_else(|| panic!("{typed} is not a pattern of this world"), |(_, spelling)| (*spelling).to_owned())
}

/// The files that each pattern matches, as a bit set.
static OF: LazyLock<BTreeMap<&str, u32>> = LazyLock::new(|| {
    let bits = |spelling: &str| (0..FILES.len()).filter(|at| has(spelling, FILES[*at])).map(|at| 1 << at).sum();
    PATTERNS.iter().map(|(_, spelling)| (*spelling, bits(spelling))).collect()
});

fn has(pattern: &str, file: &str) -> bool {
    if let Some(glob) = pattern.strip_prefix("glob:") {
        return either(glob).iter().any(|one| parts(&pieces(one), &pieces(file)));
    }
    match pattern.strip_suffix('/') {
        Some(".") => true,
        Some(directory) => file.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')),
        None => pattern == file,
    }
}

fn pieces(path: &str) -> Vec<&str> {
    path.split('/').collect()
}

/// Expands the alternatives of a glob.
fn either(glob: &str) -> Vec<String> {
    let Some((before, rest)) = glob.split_once('{') else { return vec![glob.to_owned()] };
    let (inside, after) = rest.split_once('}').expect("a brace that closes");
    inside.split(',').map(|one| format!("{before}{one}{after}")).collect()
}

fn parts(glob: &[&str], file: &[&str]) -> bool {
    match (glob, file) {
        ([], []) => true,
        (["**", rest @ ..], file) => (0..=file.len()).any(|skipped| parts(rest, &file[skipped..])),
        ([first, glob @ ..], [name, file @ ..]) => letters(first.as_bytes(), name.as_bytes()) && parts(glob, file),
        _ => false,
    }
}

fn letters(glob: &[u8], name: &[u8]) -> bool {
    match (glob, name) {
        ([], []) => true,
        ([b'*', rest @ ..], name) => (0..=name.len()).any(|skipped| letters(rest, &name[skipped..])),
        ([one, glob @ ..], [other, name @ ..]) => one == other && letters(glob, name),
        _ => false,
    }
}

/// Whether two patterns match a common file.
pub fn overlap(one: &str, other: &str) -> bool {
    OF[one] & OF[other] != 0
}

/// Whether the first pattern matches every file of the second.
pub fn covers(one: &str, other: &str) -> bool {
    OF[other] & !OF[one] == 0
}

#[cfg(test)]
mod tests {
    use tenure_core::pattern::{Case, Pattern};

    use super::*;

    #[test]
    fn inv_r3_the_files_tell_the_patterns_apart_as_all_files_would() {
        let patterns: Vec<Pattern> =
            PATTERNS.iter().map(|(typed, _)| Pattern::parse(typed, Case::Kept).unwrap()).collect();
        for (one, (_, spelling)) in patterns.iter().zip(PATTERNS) {
            assert_eq!(one.text(), spelling);
            for (other, (_, second)) in patterns.iter().zip(PATTERNS) {
                assert_eq!(one.overlap(other).is_some(), overlap(spelling, second), "{spelling} and {second}");
                assert_eq!(one.covers(other), covers(spelling, second), "{spelling} over {second}");
            }
        }
    }
}
