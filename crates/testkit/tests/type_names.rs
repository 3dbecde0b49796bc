//! A name means one thing: no type of the product that others can see has the name of another one.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that are shipped.
const CRATES: [&str; 7] = ["core", "store", "kernel", "client", "server", "engine", "cli"];

/// Names that each table has: its module says which one is meant.
const IDIOMS: [&str; 1] = ["Row"];

/// The types that a source declares for others, with the lines that declare them. Those of a test module at its end are left
/// out.
fn declared(source: &str) -> Vec<&str> {
    let product = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    product.lines().filter_map(|line| name(line.trim_start())).collect()
}

/// The name of the type that a line declares for others.
fn name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let named = ["struct ", "enum ", "type ", "trait "].iter().find_map(|word| rest.strip_prefix(word))?;
    named.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs")
            && path.file_stem().is_some_and(|name| name != "tests")
        {
            found.push(path);
        }
    }
}

/// The names that are declared more than once, with where.
fn repeated(files: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, source) in files {
        for name in declared(source).into_iter().filter(|name| !IDIOMS.contains(name)) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    places.retain(|_, places| places.len() > 1);
    places
}

#[test]
fn a_type_name_exists_once() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut paths = Vec::new();
    for name in CRATES {
        sources(&crates.join(name).join("src"), &mut paths);
    }
    assert!(paths.len() > 300, "{} sources", paths.len());
    let read = |path: &PathBuf| (path.display().to_string(), fs::read_to_string(path).unwrap());
    let files: Vec<(String, String)> = paths.iter().map(read).collect();
    let repeated = repeated(&files);
    assert!(repeated.is_empty(), "rename all but one of each: {repeated:#?}");
}

#[test]
fn a_name_that_exists_twice_is_found() {
    let one = "pub struct Place {\n    pub enum Task {}\nstruct Request;\npub struct Row {";
    let two = "    pub(crate) enum Place<T> {\nstruct Request;\npub struct Row {\n\n#[cfg(test)]\nmod tests {\n    pub struct Task;";
    let files = [("a.rs", one), ("b.rs", two)].map(|(path, source)| (path.to_owned(), source.to_owned()));
    assert_eq!(repeated(&files), BTreeMap::from([("Place".to_owned(), vec!["a.rs".to_owned(), "b.rs".to_owned()])]));
}
