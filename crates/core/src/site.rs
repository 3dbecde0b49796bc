//! Sites: where the files of a pattern are. A pattern is relative to the top of its checkout, and a checkout can lie
//! inside another one: a submodule, a clone in a directory of another repository, a worktree below the main one. Two
//! patterns of two checkouts overlap if they do as seen from the outer checkout.

use crate::id::{CheckoutId, ProjectId};
use crate::path_text;
use crate::pattern::Pattern;

/// The top of a working tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Top {
    /// The host.
    pub host: String,
    /// The directory, as [`path_text::place`] encodes it.
    pub path: String,
}

impl Top {
    /// The directory of this tree in which another top lies, spelled as patterns are; `None` if it is not below this
    /// one.
    pub fn dir_of(&self, inner: &Top) -> Option<String> {
        if self.host != inner.host {
            return None;
        }
        let below = inner.path.strip_prefix(self.path.trim_end_matches('/'))?.strip_prefix('/')?;
        match below {
            "" => None,
            below if below.contains('%') => Some(path_text::name(&path_text::bytes_of_place(below))),
            below => Some(below.to_owned()),
        }
    }

    /// Converts a path of this working tree, or a prefix of one, from the spelling of patterns to a place.
    pub fn place(&self, inside: &str) -> String {
        let dir = self.path.trim_end_matches('/');
        // The fast path: nearly always nothing needs re-encoding.
        if !inside.contains(|c: char| c == '%' || c.is_control()) {
            return format!("{dir}/{inside}");
        }
        format!("{dir}/{}", path_text::place(&path_text::bytes_of_name(inside)))
    }
}

/// The checkouts that a hold or a request applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The project's id.
    pub project: ProjectId,
    /// The checkout; `None` for all checkouts of the project.
    pub checkout: Option<CheckoutId>,
    /// The known locations of those checkouts.
    pub tops: Vec<Top>,
}

impl Site {
    /// Whether two sites have a checkout in common, wherever it is.
    pub fn meets(&self, other: &Site) -> bool {
        self.project == other.project && crate::reserve::meet(self.checkout.as_ref(), other.checkout.as_ref())
    }

    /// A file that a pattern here and a pattern of the other site both match, relative to the outer of the two tops.
    pub fn overlap(&self, pattern: &Pattern, other: &Site, theirs: &Pattern) -> Option<String> {
        if self.meets(other)
            && let Some(witness) = pattern.overlap(theirs)
        {
            return Some(witness);
        }
        let pairs = self.tops.iter().flat_map(|one| other.tops.iter().map(move |two| (one, two)));
        pairs.into_iter().find_map(|(one, two)| match (one.dir_of(two), two.dir_of(one)) {
            (Some(dir), _) => pattern.overlap_below(&dir, theirs),
            (_, Some(dir)) => theirs.overlap_below(&dir, pattern),
            _ if one == two => pattern.overlap(theirs),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Case;

    fn top(path: &str) -> Top {
        Top { host: "h".to_owned(), path: path.to_owned() }
    }

    fn site(project: &str, checkout: &str, paths: &[&str]) -> Site {
        Site {
            project: project.into(),
            checkout: CheckoutId::non_empty(checkout.to_owned()),
            tops: paths.iter().map(|path| top(path)).collect(),
        }
    }

    fn pattern(typed: &str) -> Pattern {
        Pattern::parse(typed, Case::Kept).unwrap()
    }

    #[test]
    fn a_top_lies_below_another_by_whole_names() {
        assert_eq!(top("/w").dir_of(&top("/w/a/b")).as_deref(), Some("a/b"));
        assert_eq!(top("/").dir_of(&top("/w")).as_deref(), Some("w"));
        assert_eq!(top("/w").dir_of(&top("/w%25C3/x")), None);
        assert_eq!(top("/w").dir_of(&top("/w/%25C3/%FF/%0A")).as_deref(), Some("%25C3/%FF/\n"));
        for other in ["/w", "/wa", "/", "/v"] {
            assert_eq!(top("/w").dir_of(&top(other)), None, "{other}");
        }
        assert_eq!(top("/w").dir_of(&Top { host: "g".to_owned(), ..top("/w/a") }), None);
        assert_eq!(top("/w").place("a/%25C3\n"), "/w/a/%25C3%0A");
        assert_eq!((top("/").place("a/"), top("/w").place("")), ("/a/".to_owned(), "/w/".to_owned()));
    }

    #[test]
    fn inv_r2_nested_checkouts_have_their_files_in_common_with_what_is_around_them() {
        let (outer, inner) = (site("p", "c1", &["/w"]), site("q", "c1", &["/w/sub/lib"]));
        for (wide, narrow, witness) in [
            ("./", "x.rs", Some("sub/lib/x.rs")),
            ("sub/", "src/", Some("sub/lib/src/\u{1}")),
            ("glob:**/*.rs", "x.rs", Some("sub/lib/x.rs")),
            ("glob:sub/*/x.*", "glob:*.rs", Some("sub/lib/x.rs")),
            ("glob:*/*/*.rs", "src/x.rs", None),
            ("sub/lib/x.rs", "x.rs", Some("sub/lib/x.rs")),
            ("sub/lib", "./", None),
            ("sub", "./", None),
            ("sub/li/", "./", None),
            ("src/", "./", None),
            ("glob:*.rs", "x.rs", None),
        ] {
            let (wide, narrow) = (pattern(wide), pattern(narrow));
            let found = outer.overlap(&wide, &inner, &narrow);
            assert_eq!(found.is_some(), witness.is_some(), "{wide:?} {narrow:?}");
            assert_eq!(found, inner.overlap(&narrow, &outer, &wide));
            if let Some(found) = found {
                assert!(wide.matches(&found) && narrow.matches(found.strip_prefix("sub/lib/").unwrap()), "{found}");
            }
        }
        let other = site("q", "c2", &["/w/sub/lib2"]);
        assert_eq!(inner.overlap(&pattern("./"), &other, &pattern("./")), None);
        // A site for all checkouts has several locations.
        let everywhere = site("p", "", &["/v", "/w"]);
        assert!(everywhere.overlap(&pattern("sub/"), &inner, &pattern("x")).is_some());
        assert!(everywhere.overlap(&pattern("x"), &inner, &pattern("x")).is_none());
        assert!(everywhere.overlap(&pattern("x"), &outer, &pattern("x")).is_some());
    }
}
