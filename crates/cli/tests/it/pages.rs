//! The documentation: every relative link leads to a file and a heading, and the index has every page.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages: those at the top and those below `docs`.
fn pages() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![top(), top().join("docs")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && dir != top() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.insert(path);
            }
        }
    }
    found
}

/// The lines of a page that are not inside a block of code.
fn prose(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if !is_fence && !in_code {
            lines.push(line.to_owned());
        }
        in_code ^= is_fence;
    }
    lines
}

/// The relative links of a page: the file, and the part after `#`.
fn links(page: &Path) -> Vec<(PathBuf, String)> {
    let text = prose(page).join("\n");
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()));
    targets
        .filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
        .map(|target| {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { page.to_owned() } else { plain(&page.parent().unwrap().join(file)) };
            (file, anchor.to_owned())
        })
        .collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => assert!(plain.pop()),
            part => plain.push(part),
        }
        plain
    })
}

/// The anchors of a page, as forges make them from headings.
fn anchors(page: &Path) -> BTreeSet<String> {
    let is_kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let anchor = |line: &String| {
        let heading = line.trim_start_matches('#').strip_prefix(' ')?;
        line.starts_with('#')
            .then(|| heading.to_lowercase().chars().filter(is_kept).collect::<String>().replace(' ', "-"))
    };
    prose(page).iter().filter_map(anchor).collect()
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut count = 0;
    for page in pages() {
        for (file, anchor) in links(&page) {
            assert!(file.exists(), "{}: {}", page.display(), file.display());
            if !anchor.is_empty() && file.extension().is_some_and(|end| end == "md") {
                assert!(anchors(&file).contains(&anchor), "{}: {}#{anchor}", page.display(), file.display());
            }
            count += 1;
        }
    }
    assert!(count > 150, "{count} links");
}

#[test]
fn the_index_has_every_page_of_the_documentation() {
    let index = top().join("docs/README.md");
    let linked: BTreeSet<PathBuf> = links(&index).into_iter().map(|(file, _)| file).collect();
    let below = top().join("docs");
    let missing: Vec<_> = pages()
        .into_iter()
        .filter(|page| page.starts_with(&below) && *page != index && !linked.contains(page))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
