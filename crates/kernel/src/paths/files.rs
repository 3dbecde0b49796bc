//! Matching many files at once, such as those of a commit, against held patterns.

use tenure_core::Result;
use tenure_core::hold::{HoldKind, lapsed};
use tenure_core::id::CheckoutId;
use tenure_core::name::AgentName;
use tenure_core::pattern::{Case, Pattern};
use tenure_store::Tx;
use tenure_store::table::hold;

use super::candidates;

/// Up to this number each file is looked up in the index. Beyond it all path holds are read, because there are fewer of
/// them.
const LOOKED_UP: usize = 64;

/// Files of one checkout, sorted by prefix.
pub(crate) struct FileSet {
    case: Case,
    /// Each with its text in the form of the index.
    sorted: Vec<(String, String)>,
    patterns: Vec<Pattern>,
}

impl FileSet {
    /// Parses literal paths. A path that is too long to be held is left out.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a String>, folded: bool) -> FileSet {
        let case = if folded { Case::Folded } else { Case::Kept };
        let mut files = FileSet { case, sorted: Vec::new(), patterns: Vec::new() };
        for path in paths {
            if let Ok(pattern) = Pattern::parse(&format!("./{path}"), case) {
                files.sorted.push((pattern.prefix(), path.clone()));
                if files.patterns.len() <= LOOKED_UP {
                    files.patterns.push(pattern);
                }
            }
        }
        files.sorted.sort_unstable();
        files.sorted.dedup();
        files
    }

    pub(crate) fn case(&self) -> Case {
        self.case
    }

    /// Whether the file system is case-insensitive.
    pub(crate) fn is_folded(&self) -> bool {
        self.case == Case::Folded
    }

    /// The files that match a pattern.
    pub(crate) fn within<'a>(&'a self, pattern: &'a Pattern) -> impl Iterator<Item = &'a str> {
        let begin = pattern.prefix();
        let first = self.sorted.partition_point(|(text, _)| *text < begin);
        self.sorted[first..]
            .iter()
            .take_while(move |(text, _)| text.starts_with(&begin))
            .map(|(_, path)| path.as_str())
            .filter(|path| pattern.matches(path))
    }

    /// Patterns that cover all of these files, few enough to be looked up.
    pub(crate) fn patterns(&self) -> Result<Vec<Pattern>> {
        if self.patterns.len() <= LOOKED_UP {
            return Ok(self.patterns.clone());
        }
        Ok(vec![Pattern::parse("./", self.case)?])
    }

    /// The files that match a hold of an enclosing checkout. `dirs` are the directories of that checkout at which these
    /// files are.
    pub(crate) fn within_around<'a>(&'a self, pattern: &'a Pattern, dirs: &'a [String]) -> Vec<&'a str> {
        let is_in = |path: &&str| {
            dirs.iter().any(|dir| {
                if dir.is_empty() { pattern.matches(path) } else { pattern.matches(&format!("{dir}/{path}")) }
            })
        };
        self.sorted.iter().map(|(_, path)| path.as_str()).filter(is_in).collect()
    }

    /// The pattern of a hold, in the case mode of these files.
    pub(crate) fn pattern(&self, row: &hold::Row) -> Result<Pattern> {
        if self.case == Case::Folded && !row.folded {
            return super::pattern(&hold::Row { folded: true, ..row.clone() });
        }
        super::pattern(row)
    }

    /// The holds that have not been ended and may match one of these files, each with its pattern, in the order of
    /// their grants.
    pub(crate) fn held(
        &self,
        tx: &mut dyn Tx,
        project: &str,
        checkouts: &[Option<CheckoutId>],
    ) -> Result<Vec<(hold::Row, Pattern)>> {
        if self.sorted.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = if self.patterns.len() <= LOOKED_UP {
            candidates(tx, project, checkouts, &self.patterns)?
        } else {
            all(tx, project, checkouts)?
        };
        rows.sort_by_key(|row| row.fence);
        let mut found = Vec::new();
        for row in rows {
            let pattern = self.pattern(&row)?;
            if self.within(&pattern).next().is_some() {
                found.push((row, pattern));
            }
        }
        Ok(found)
    }
}

/// All path holds in some checkouts that have not been ended, read page by page.
fn all(tx: &mut dyn Tx, project: &str, checkouts: &[Option<CheckoutId>]) -> Result<Vec<hold::Row>> {
    const PAGE: usize = 1_000;
    let mut found: Vec<hold::Row> = Vec::new();
    let mut after = (tenure_core::Time(i64::MIN), String::new());
    loop {
        let page = tx.fetch(hold::page(project, Some(HoldKind::Path), (after.0, &after.1), PAGE))?;
        let Some(last) = page.last() else { return Ok(found) };
        after = (last.expires_at, last.id.to_string());
        let more = page.len() == PAGE;
        let mut page = page;
        super::as_found(tx, project, &mut page)?;
        found.extend(page.into_iter().filter(|row| checkouts.contains(&row.checkout)));
        if !more {
            return Ok(found);
        }
    }
}

/// Whether a hold that has not been ended counts: it has not lapsed, and its holder is not proven dead.
pub(crate) fn counts(row: &hold::Row, now: tenure_core::Time, dead: &[AgentName]) -> bool {
    !lapsed(now, row.expires_at) && !dead.contains(&row.holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_pattern_whatever_they_are_called() {
        let names = ["src/a.rs", "src/A.rs", "src b", "glob:x", "-x", "a\nb", "src/deep/x.rs", "$(id)"];
        let paths: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let within = |typed: &str, folded| {
            let files = FileSet::of(&paths, folded);
            let case = if folded { Case::Folded } else { Case::Kept };
            let pattern = Pattern::parse(typed, case).unwrap();
            files.within(&pattern).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(within("src/a.rs", false), ["src/a.rs"]);
        assert_eq!(within("SRC/a.rs", true), ["src/A.rs", "src/a.rs"]);
        assert_eq!(within("src/", false).len(), 3);
        assert_eq!(within("glob:src/*.rs", false).len(), 2);
        assert_eq!(within("./glob:x", false), ["glob:x"]);
        assert_eq!(within("a\nb", false), ["a\nb"]);
        assert_eq!(within("./", false).len(), names.len());
        assert!(within("src", false).is_empty());
    }
}
