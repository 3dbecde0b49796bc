use globset::GlobBuilder;
use proptest::prelude::*;

use super::*;

fn pattern(typed: &str) -> Pattern {
    Pattern::parse(typed, Case::Kept).unwrap_or_else(|error| panic!("{typed}: {}", error.message()))
}

fn folded(typed: &str) -> Pattern {
    Pattern::parse(typed, Case::Folded).unwrap()
}

fn code(typed: &str) -> &'static str {
    Pattern::parse(typed, Case::Kept).expect_err(typed).code().as_str()
}

fn overlap(one: &str, two: &str) -> Option<String> {
    let (one, two) = (pattern(one), pattern(two));
    let found = one.overlap(&two);
    assert_eq!(found.is_some(), two.overlap(&one).is_some(), "{one:?} and {two:?}");
    if let Some(path) = &found {
        assert!(one.matches(path) && two.matches(path), "{path} of {one:?} and {two:?}");
        assert_eq!(pattern(path).text(), path.as_str(), "the witness is a path as it is");
    }
    found
}

#[test]
fn inv_r1_a_path_means_itself_in_one_spelling() {
    for (typed, text) in [
        ("src/b.py", "src/b.py"),
        ("./src/b.py", "src/b.py"),
        ("src//./b.py", "src/b.py"),
        ("src/x/../b.py", "src/b.py"),
        ("pages/[id].tsx", "pages/[id].tsx"),
        ("a b/ü*?{x}.rs", "a b/ü*?{x}.rs"),
        ("-x", "-x"),
        ("...", "..."),
        ("src/", "src/"),
        ("src/.", "src/"),
        ("src/x/..", "src/"),
        (".", "./"),
        ("./", "./"),
        ("x/..", "./"),
        ("./glob:x", "./glob:x"),
        ("glob:src/a.rs", "src/a.rs"),
        ("glob:./src//**", "src/"),
        ("glob:**", "./"),
        ("glob:src/*/", "glob:src/*/**"),
        ("glob:a/../b*", "glob:b*"),
    ] {
        assert_eq!(pattern(typed).text(), text, "{typed}");
        assert_eq!(pattern(text).text(), text, "{text} is read as itself");
    }
    let long = format!("src/{}.rs", "x".repeat(300));
    assert!(pattern(&long).matches(&long));
    assert!(pattern("./glob:x").matches("glob:x") && !pattern("./glob:x").matches("x"));
}

#[test]
fn inv_r1_what_is_outside_is_refused() {
    for typed in ["/etc/passwd", "..", "../x", "a/../../b", "glob:../*", "glob:/x", "a/b/../../.."] {
        assert_eq!(code(typed), "path_outside", "{typed}");
    }
}

#[test]
fn inv_r1_a_malformed_pattern_is_refused() {
    for typed in [
        "",
        "glob:",
        "a\0b",
        "glob:a**",
        "glob:**b",
        "glob:***",
        "glob:{**,a}",
        "glob:[a",
        "glob:[]",
        "glob:[!]",
        "glob:[z-a]",
        "glob:[a/b]",
        "glob:{a,b",
        "glob:[^a]",
        "glob:*/../x",
        "glob:{{{{{{{{{a}}}}}}}}}",
    ] {
        assert_eq!(code(typed), "bad_pattern", "{typed}");
    }
}

#[test]
fn inv_r4_limits_count_what_was_typed_and_never_literal_text() {
    let segments = |n: usize| format!("glob:{}*", "a/".repeat(n - 1));
    let deep = |n: usize| format!("glob:{}*", "**/".repeat(n));
    let wild = |n: usize| format!("glob:{}", "?a".repeat(n));
    let ways = |n: usize| format!("glob:{}", "{a,b}".repeat(n));
    for (good, bad) in [(segments(64), segments(65)), (deep(16), deep(17)), (wild(32), wild(33)), (ways(8), ways(9))] {
        pattern(&good);
        assert_eq!(code(&bad), "pattern_limit", "{bad}");
    }
    // A path can be arbitrarily deep, and a directory can have a long name before the first wildcard.
    pattern(&"a/".repeat(200));
    pattern(&format!("glob:{}/*", "x".repeat(3_000)));
    assert_eq!(code(&format!("glob:*{}", "x".repeat(3_000))), "pattern_limit");
    assert_eq!(code(&"x".repeat(BYTES_MAX + 1)), "pattern_limit");
}

#[test]
fn inv_r3_known_traps() {
    for (one, two, common) in [
        ("src/", "src/a/b.rs", true),
        ("src/", "src", false),
        ("src", "srcs/", false),
        ("src/", "src/", true),
        ("./src/b.py", "src/b.py", true),
        ("glob:src/*.rs", "glob:src/foo*", true),
        ("glob:a*/x", "glob:*b/x", true),
        ("glob:src/**/test_*.py", "glob:src/core/*.py", true),
        ("glob:src/**/test_*.py", "glob:src/core/*.rs", false),
        ("pages/[id].tsx", "glob:pages/[id].tsx", false),
        ("pages/i.tsx", "glob:pages/[id].tsx", true),
        ("glob:src/*", "src/a/b.rs", false),
        ("glob:src/**", "src/a/b.rs", true),
        ("glob:**/b.rs", "b.rs", true),
        ("glob:a/**/b", "a/b", true),
        ("glob:*", ".hidden", true),
        ("glob:[.]", "glob:?", false),
        ("glob:a/[.][.]/b", "glob:a/??/b", false),
        ("glob:{,a}/b", "glob:{,c}/b", false),
        ("glob:{src,docs/api}/*.md", "docs/", true),
        ("glob:{src,docs/api}/*.md", "glob:docs/*.md", false),
        ("glob:[!a]", "glob:[!b]", true),
        ("glob:[A-Z]", "glob:[M-Z]", true),
        ("glob:[!\u{2}-\u{10ffff}]", "glob:?", true),
        ("./", "glob:**/*.rs", true),
    ] {
        assert_eq!(overlap(one, two).is_some(), common, "{one} and {two}");
    }
    assert_eq!(overlap("glob:a*/x", "glob:*b/x").as_deref(), Some("ab/x"));
}

#[test]
fn inv_r4_hostile_stars_are_compared_at_a_bounded_cost() {
    let stars = |last: char| format!("glob:{}{last}", "*a".repeat(30));
    assert!(overlap(&stars('b'), &stars('c')).is_none());
    let deep = |last: char| format!("glob:{}*{last}", "**/".repeat(16));
    assert!(overlap(&deep('b'), &deep('c')).is_none());
    let wide = |last: char| format!("glob:*{}{last}", "a".repeat(STATES_MAX - 2));
    assert!(overlap(&wide('b'), &wide('c')).is_none());
    assert!(!pattern(&stars('b')).covers(&pattern(&stars('c'))));
}

#[test]
fn inv_r5_a_cover_is_a_cover() {
    for (one, two, covered) in [
        ("src/", "src/a.rs", true),
        ("src/", "src/sub/", true),
        ("src/", "glob:src/**/*.rs", true),
        ("./", "glob:**/*.rs", true),
        ("src/a.rs", "src/a.rs", true),
        ("src/a.rs", "src/", false),
        ("glob:src/*.rs", "src/a.rs", true),
        ("glob:src/*", "glob:src/*.rs", true),
        ("glob:src/*.rs", "glob:src/*", false),
        ("glob:src/{a,b}", "glob:src/[ab]", true),
        ("glob:**/*.rs", "glob:src/**/t_*.rs", true),
        ("glob:src/*.rs", "src/", false),
    ] {
        assert_eq!(pattern(one).covers(&pattern(two)), covered, "{one} over {two}");
    }
}

#[test]
fn inv_r2_case_is_folded_only_where_the_file_system_does() {
    assert!(pattern("README.md").overlap(&pattern("readme.md")).is_none());
    assert!(folded("README.md").overlap(&folded("readme.md")).is_some());
    assert!(folded("README.md").overlap(&pattern("readme.md")).is_some());
    assert!(folded("glob:[A-C]x").matches("BX") && !folded("glob:[!a]x").matches("AX"));
    assert!(folded("glob:[!a]").overlap(&folded("glob:[!\u{1}-@\u{42}-\u{10ffff}]")).is_none());
    assert!(folded("ÄRGER/").matches("ärger/x"));
    // Both have the same index key.
    assert_eq!(pattern("SRC/A.rs").prefix(), folded("src/a.RS").prefix());
}

#[test]
fn inv_r4_the_index_finds_everything_that_overlaps() {
    assert_eq!(pattern("a/b").shorter_prefixes(), ["", "a", "a/", "a/b"]);
    assert_eq!(pattern("a/b").longer_prefixes(), None);
    assert_eq!(pattern("src/").longer_prefixes(), Some(("src/".into(), "src0".into())));
    assert_eq!(pattern("glob:*").longer_prefixes(), Some((String::new(), String::new())));
    assert!(pattern("glob:s*").is_anchored() && !pattern("glob:**/x").is_anchored() && !pattern(".").is_anchored());
}

/// A segment of a glob that every glob implementation interprets alike.
fn any_segment() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[ab.]".prop_map(|c| c),
        2 => Just("*".to_owned()),
        1 => Just("?".to_owned()),
        1 => Just("[a]".to_owned()),
        1 => Just("[!a]".to_owned()),
        1 => Just("{a,b}".to_owned()),
        1 => Just("{,a}".to_owned()),
        1 => Just("{a*,?b}".to_owned()),
    ];
    let plain = prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat());
    prop_oneof![4 => plain, 1 => Just("**".to_owned())]
        .prop_filter("stars next to each other are refused", |segment| segment == "**" || !segment.contains("**"))
        .prop_filter("dots are not names", |segment| segment != "." && segment != "..")
}

fn any_glob() -> impl Strategy<Value = String> {
    prop::collection::vec(any_segment(), 1..4).prop_map(|segments| segments.join("/"))
}

/// All paths over a small alphabet up to a length.
fn paths(length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = 0;
    for _ in 0..length {
        let end = all.len();
        for at in last..end {
            for c in ['a', 'b', '.', '/'] {
                all.push(format!("{}{c}", all[at]));
            }
        }
        last = end;
    }
    all.retain(|path| path.split('/').all(|segment| !matches!(segment, "" | "." | "..")));
    all
}

fn oracle(glob: &str) -> globset::GlobMatcher {
    // A negated class of globset matches slashes.
    let glob = glob.replace("[!a]", "[!a/]");
    let mut builder = GlobBuilder::new(&glob);
    builder.literal_separator(true).backslash_escape(false).empty_alternates(true);
    builder.build().unwrap().compile_matcher()
}

#[test]
fn inv_r2_a_negated_class_that_keeps_case_takes_the_other_case() {
    let class = pattern("glob:[!a]/**");
    let candidates = class.candidates_in("A").expect("the directory is in the class");
    assert_eq!(candidates.longer, Some((String::new(), String::new())), "all of that checkout");
    assert_eq!(class.candidates_in("a"), class.candidates_in("A"), "candidates may be more than needed, never fewer");
    assert_eq!(class.overlap(&folded("A/x")).as_deref(), Some("a/x"));
    assert_eq!(folded("glob:[!a]/**").overlap(&pattern("A/x")), None, "where case does not count, neither is taken");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn inv_r3_matching_agrees_with_globset(glob in any_glob()) {
        let ours = Pattern::parse(&format!("glob:{glob}"), Case::Kept).unwrap();
        let theirs = oracle(&glob);
        for path in paths(5) {
            prop_assert_eq!(ours.matches(&path), theirs.is_match(&path), "{} on {}", &glob, path);
        }
    }

    #[test]
    fn inv_r3_overlap_agrees_with_globset(one in any_glob(), two in any_glob()) {
        let found = overlap(&format!("glob:{one}"), &format!("glob:{two}"));
        let (first, second) = (oracle(&one), oracle(&two));
        match &found {
            Some(path) => prop_assert!(first.is_match(path) && second.is_match(path), "{}", path),
            None => prop_assert_eq!(paths(6).into_iter().find(|p| first.is_match(p) && second.is_match(p)), None),
        }
    }

    #[test]
    fn inv_r5_covering_is_never_claimed_wrongly(one in any_glob(), two in any_glob()) {
        let (one, two) = (pattern(&format!("glob:{one}")), pattern(&format!("glob:{two}")));
        if one.covers(&two) {
            for path in paths(5) {
                prop_assert!(!two.matches(&path) || one.matches(&path), "{}", path);
            }
        }
    }

    #[test]
    fn inv_r1_any_path_can_be_held_literally(path in "[^\0/]{1,40}(/[^\0/]{1,20}){0,3}") {
        prop_assume!(path.split('/').all(|segment| segment != "." && segment != ".."));
        let typed = if path.starts_with(GLOB) { format!("./{path}") } else { path.clone() };
        let held = pattern(&typed);
        prop_assert!(held.matches(&path));
        prop_assert_eq!(held.overlap(&held), Some(path));
    }

    #[test]
    fn inv_r4_candidates_of_the_index_are_enough(one in any_glob(), two in any_glob()) {
        let (one, two) = (pattern(&format!("glob:{one}")), pattern(&format!("glob:{two}")));
        if one.overlap(&two).is_some() {
            let prefix = two.prefix();
            let longer = one.longer_prefixes().is_some_and(|(begin, end)| prefix >= begin && (end.is_empty() || prefix < end));
            prop_assert!(longer || one.shorter_prefixes().contains(&prefix));
        }
    }

    #[test]
    fn inv_r3_overlap_with_a_nested_checkout_agrees_with_globset(
        one in any_glob(), two in any_glob(), dir in prop::sample::select(vec!["a", "b", "a/b", "ab", "b/a"])
    ) {
        let (outer, inner) = (pattern(&format!("glob:{one}")), pattern(&format!("glob:{two}")));
        let (first, second) = (oracle(&one), oracle(&two));
        let inside = |path: &str| path.strip_prefix(dir).and_then(|path| path.strip_prefix('/')).map(str::to_owned);
        match outer.overlap_below(dir, &inner) {
            Some(path) => {
                let below = inside(&path).unwrap();
                prop_assert!(first.is_match(&path) && second.is_match(&below), "{}", path);
            }
            None => {
                let both = |p: &String| first.is_match(format!("{dir}/{p}")) && second.is_match(p);
                prop_assert_eq!(paths(5).into_iter().find(both), None);
            }
        }
    }

    #[test]
    fn inv_r4_candidates_in_and_around_a_nested_checkout_are_enough(
        one in any_glob(), two in any_glob(), dir in prop::sample::select(vec!["a", "A", "a/b", "ab", "B/a"]), fold in any::<bool>()
    ) {
        let read = |glob: &str| if fold { folded(&format!("glob:{glob}")) } else { pattern(&format!("glob:{glob}")) };
        let (outer, inner) = (read(&one), pattern(&format!("glob:{two}")));
        if outer.overlap_below(dir, &inner).is_some() {
            let has = |candidates: &PatternCandidates, prefix: &String| {
                let longer = |(begin, end): &(String, String)| prefix > begin && (end.is_empty() || prefix < end);
                candidates.shorter.contains(prefix) || candidates.longer.as_ref().is_some_and(longer)
            };
            prop_assert!(has(&outer.candidates_in(dir).unwrap(), &inner.prefix()));
            prop_assert!(has(&inner.candidates_around(dir), &outer.prefix()));
        }
    }
}
