//! Short forms of agent names, for people. A name that was made from a session id is long and mostly random.

use std::collections::BTreeMap;

/// The shortest session id that is shortened.
const LONG: usize = 12;
/// The fewest digits that tell an id from words.
const DIGITS: usize = 3;
/// How many characters of an id are shown at least, and at most before its end is shown instead.
const SHOWN: std::ops::RangeInclusive<usize> = 4..=8;

/// Whether a name was made from the id of a session: `claude-5f0c2b7e-…`.
pub fn is_long(name: &str) -> bool {
    made_from_id(name).is_some()
}

/// The tool with its dash, and the id.
fn made_from_id(name: &str) -> Option<(&str, &str)> {
    let (tool, id) = name.split_at(name.find('-')? + 1);
    let digits = id.bytes().filter(u8::is_ascii_digit).count();
    // Names are ASCII; anything else is not one.
    (name.is_ascii() && !name.contains(':') && id.len() >= LONG && digits >= DIGITS).then_some((tool, id))
}

/// The short form of each name that has one: `claude-5f0c`. A short form is the beginning of one known name alone and
/// equals no other; sessions that began in the same moment share their beginning, so the end is shown for those:
/// `codex-…9f3a`.
pub fn short_forms<'a>(known: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, String> {
    let known: Vec<&str> = known.into_iter().collect();
    let of = |name: &'a str| {
        let (tool, id) = made_from_id(name)?;
        let others = || known.iter().filter(|other| **other != name);
        let by_beginning = SHOWN.map(|shown| name[..tool.len() + shown].to_owned()).find(|short| {
            !short.ends_with(['-', '.', '_']) && others().all(|other| !other.starts_with(short.as_str()))
        });
        let by_end = || {
            let ends = (*SHOWN.start()..id.len()).map(|shown| &id[id.len() - shown..]);
            let end =
                ends.into_iter().find(|end| others().all(|other| !(other.starts_with(tool) && other.ends_with(end))));
            end.filter(|end| end.len() < LONG).map(|end| format!("{tool}…{end}"))
        };
        Some((name, by_beginning.or_else(by_end)?))
    };
    known.iter().filter_map(|name| of(name)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: &str = "claude-5f0c2b7e-1111-4c9f-8d2e-000000000001";

    fn short(known: &[&str], name: &str) -> Option<String> {
        short_forms(known.iter().copied()).remove(name)
    }

    #[test]
    fn a_session_is_known_by_the_beginning_of_its_id() {
        assert_eq!(short(&[ONE, "person:ann"], ONE).unwrap(), "claude-5f0c");
        let near = "claude-5f0c9999-1111-4c9f-8d2e-000000000002";
        assert_eq!(short(&[ONE, near], ONE).unwrap(), "claude-5f0c2");
        assert_eq!(short(&[ONE, "claude-5f0c"], ONE).unwrap(), "claude-5f0c2", "another agent has that name");
    }

    #[test]
    fn sessions_of_one_moment_are_known_by_their_ends() {
        let known = ["codex-0199a2b3-4c5d-7000-8000-00000000aa11", "codex-0199a2b3-4c5d-7000-8000-00000000bb22"];
        assert_eq!(short(&known, known[0]).unwrap(), "codex-…aa11");
        assert_eq!(short(&known, known[1]).unwrap(), "codex-…bb22");
    }

    #[test]
    fn names_that_people_chose_stay() {
        for name in
            ["codex-2", "backend-refactoring-agent", "person:ann-0123456789abcdef", "a", "x-1-release-candidate"]
        {
            assert_eq!(short(&[name], name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_two_agents_have_one_short_form(ids in proptest::collection::btree_set("[0-2]{3}[a-b]{1,3}[0-9]{8,10}", 1..20)) {
            let names: Vec<String> = ids.iter().map(|id| format!("claude-{id}")).collect();
            let forms = short_forms(names.iter().map(String::as_str));
            let mut shown: Vec<&str> =
                names.iter().map(|name| forms.get(name.as_str()).map_or(name.as_str(), String::as_str)).collect();
            shown.sort_unstable();
            shown.dedup();
            prop_assert_eq!(shown.len(), names.len());
        }
    }
}
