//! The decision on a request for paths: which own holds already cover it, what is granted, and which holds block it.

use crate::hold::Mode;
use crate::id::CheckoutId;
use crate::pattern::Pattern;

/// The most patterns of one request.
pub const PATTERNS_MAX: usize = 256;
/// The most live unanchored patterns of a project.
pub const UNANCHORED_PROJECT: i64 = 256;
/// The most live unanchored patterns of one agent.
pub const UNANCHORED_AGENT: i64 = 16;

/// The most live patterns of a project.
pub const LIVE_PROJECT: i64 = 200_000;
/// The most live patterns of one agent.
pub const LIVE_AGENT: i64 = 100_000;
/// The number of grants between two counts of the live holds. Counting scans all of them, and the cost of a reservation
/// must not depend on their number. So a project can exceed its limit by as many holds as one request can ask for,
/// never by more.
const COUNT_EVERY: i64 = PATTERNS_MAX as i64;

/// Whether all live patterns are counted before `new` more are granted in a project that has issued `issued` holds.
pub fn is_counted(issued: i64, new: i64) -> bool {
    issued + new > LIVE_AGENT.min(LIVE_PROJECT) && issued / COUNT_EVERY != (issued + new) / COUNT_EVERY
}

/// A live hold on a pattern.
#[derive(Clone, Debug)]
pub struct LivePattern<'a> {
    /// The holder.
    pub holder: &'a str,
    /// The files held.
    pub pattern: Pattern,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The checkout; `None` for all checkouts.
    pub checkout: Option<&'a CheckoutId>,
}

/// A request for paths.
#[derive(Clone, Copy, Debug)]
pub struct PatternRequest<'a> {
    /// The requesting agent.
    pub agent: &'a str,
    /// The checkout; `None` for all checkouts.
    pub checkout: Option<&'a CheckoutId>,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The files requested.
    pub patterns: &'a [Pattern],
}

impl PatternRequest<'_> {
    /// The patterns for which the request asks for more than its agent holds, given the decisions on them.
    pub fn asked(&self, steps: &[PatternDecision], held: &[LivePattern<'_>]) -> Vec<Pattern> {
        let asks = |step: &PatternDecision| asks_more(self, held, *step);
        self.patterns.iter().zip(steps).filter(|(_, step)| asks(step)).map(|(pattern, _)| pattern.clone()).collect()
    }
}

/// The decision on one pattern of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternDecision {
    /// The own hold at this index covers it.
    Keep(usize),
    /// The own hold at this index has the same pattern in another mode.
    Change(usize),
    /// The pattern at this index of the same request covers it.
    Within(usize),
    /// A new hold is granted.
    Grant,
}

/// Whether two checkouts, where `None` is all of them, have one in common.
pub(crate) fn meet(one: Option<&CheckoutId>, other: Option<&CheckoutId>) -> bool {
    one == other || one.is_none() || other.is_none()
}

/// Whether a hold blocks a pattern: it is another agent's, in the same checkout, overlaps, and not both are shared.
pub fn blocks(held: &LivePattern<'_>, wanted: &PatternRequest<'_>, pattern: &Pattern) -> bool {
    held.holder != wanted.agent
        && (held.mode == Mode::Exclusive || wanted.mode == Mode::Exclusive)
        && meet(held.checkout, wanted.checkout)
        && held.pattern.overlap(pattern).is_some()
}

/// Whether a hold is on the same files in another checkout. It does not block there, but both agents are told, because
/// their changes meet when they are merged. Two shared holds have nothing to merge.
pub fn meets_elsewhere(held: &LivePattern<'_>, wanted: &PatternRequest<'_>, pattern: &Pattern) -> bool {
    held.holder != wanted.agent
        && (held.mode == Mode::Exclusive || wanted.mode == Mode::Exclusive)
        && !meet(held.checkout, wanted.checkout)
        && held.pattern.overlap(pattern).is_some()
}

/// Decides a request as a whole: a decision for each pattern, or all blockers.
pub fn decide(wanted: &PatternRequest<'_>, held: &[LivePattern<'_>]) -> Result<Vec<PatternDecision>, Vec<usize>> {
    let mut steps: Vec<PatternDecision> = Vec::with_capacity(wanted.patterns.len());
    let mut blockers: Vec<usize> = Vec::new();
    for (at, pattern) in wanted.patterns.iter().enumerate() {
        let step = own(wanted, held, at, &steps);
        if asks_more(wanted, held, step) {
            blockers.extend((0..held.len()).filter(|other| blocks(&held[*other], wanted, pattern)));
        }
        steps.push(step);
    }
    if blockers.is_empty() {
        return Ok(steps);
    }
    blockers.sort_unstable();
    blockers.dedup();
    Err(blockers)
}

/// Whether a decision gives an agent more than it has.
fn asks_more(wanted: &PatternRequest<'_>, held: &[LivePattern<'_>], step: PatternDecision) -> bool {
    match step {
        PatternDecision::Grant => true,
        PatternDecision::Change(own) => held[own].mode < wanted.mode,
        PatternDecision::Keep(_) | PatternDecision::Within(_) => false,
    }
}

/// How the agent's own holds and the earlier patterns of the request answer a pattern.
fn own(
    wanted: &PatternRequest<'_>,
    held: &[LivePattern<'_>],
    at: usize,
    before: &[PatternDecision],
) -> PatternDecision {
    let pattern = &wanted.patterns[at];
    let mine = |other: &LivePattern<'_>| other.holder == wanted.agent;
    let same = |other: &LivePattern<'_>| {
        mine(other) && other.checkout == wanted.checkout && other.pattern.text() == pattern.text()
    };
    if let Some(found) = held.iter().position(same) {
        return if held[found].mode == wanted.mode {
            PatternDecision::Keep(found)
        } else {
            PatternDecision::Change(found)
        };
    }
    let covers = |other: &LivePattern<'_>| {
        mine(other)
            && other.mode >= wanted.mode
            && (other.checkout == wanted.checkout || other.checkout.is_none())
            && other.pattern.covers(pattern)
    };
    if let Some(found) = held.iter().position(covers) {
        return PatternDecision::Keep(found);
    }
    let earlier = (0..at).find(|earlier| {
        matches!(before[*earlier], PatternDecision::Grant | PatternDecision::Change(_))
            && wanted.patterns[*earlier].covers(pattern)
    });
    earlier.map_or(PatternDecision::Grant, PatternDecision::Within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Case;

    fn patterns(typed: &[&str]) -> Vec<Pattern> {
        typed.iter().map(|typed| Pattern::parse(typed, Case::Kept).unwrap()).collect()
    }

    /// A checkout id; `None` for an empty name. It is leaked, so it outlives the test.
    fn at(checkout: &str) -> Option<&'static CheckoutId> {
        CheckoutId::non_empty(checkout.to_owned()).map(|id| &*Box::leak(Box::new(id)))
    }

    fn held<'a>(holder: &'a str, typed: &str, mode: Mode, checkout: &'a str) -> LivePattern<'a> {
        LivePattern { holder, pattern: patterns(&[typed]).remove(0), mode, checkout: at(checkout) }
    }

    fn ask(
        typed: &[&str],
        mode: Mode,
        checkout: &str,
        held: &[LivePattern<'_>],
    ) -> Result<Vec<PatternDecision>, Vec<usize>> {
        decide(&PatternRequest { agent: "a", checkout: at(checkout), mode, patterns: &patterns(typed) }, held)
    }

    use Mode::{Exclusive, Shared};

    #[test]
    fn inv_r4_patterns_are_counted_before_a_limit_is_passed_by_more_than_a_request() {
        let most = PATTERNS_MAX as i64;
        assert!(!is_counted(0, LIVE_AGENT), "as many as there may be need no count");
        assert!(is_counted(LIVE_AGENT, most));
        for start in [LIVE_AGENT, 154_321, 1_000_000] {
            let counted = (start..start + most).filter(|issued| is_counted(*issued, 1)).count();
            assert_eq!(counted, 1, "once in so many, wherever they begin");
        }
    }

    #[test]
    fn inv_r2_who_conflicts_with_whom() {
        let src = |holder, mode, checkout| [held(holder, "src/", mode, checkout)];
        for (held, mode, checkout, free) in [
            (src("b", Exclusive, "c1"), Exclusive, "c1", false),
            (src("b", Exclusive, "c1"), Shared, "c1", false),
            (src("b", Shared, "c1"), Exclusive, "c1", false),
            (src("b", Shared, "c1"), Shared, "c1", true),
            (src("b", Exclusive, "c1"), Exclusive, "c2", true),
            (src("b", Exclusive, ""), Exclusive, "c2", false),
            (src("b", Exclusive, "c1"), Exclusive, "", false),
            (src("a", Shared, "c1"), Exclusive, "c1", true),
        ] {
            assert_eq!(ask(&["src/x.rs"], mode, checkout, &held).is_ok(), free, "{held:?} {mode:?} {checkout}");
        }
        assert!(ask(&["srcs/x.rs"], Exclusive, "c1", &src("b", Exclusive, "c1")).is_ok());
    }

    #[test]
    fn inv_r2_every_pair_either_conflicts_or_meets_elsewhere_or_neither() {
        let asked = patterns(&["src/x.rs"]);
        for (holder, typed, mode, checkout, here, elsewhere) in [
            ("b", "src/", Exclusive, "c1", "c2", true),
            ("b", "src/x.rs", Shared, "c1", "c2", true),
            ("b", "src/y.rs", Exclusive, "c1", "c2", false),
            ("b", "src/", Exclusive, "c2", "c2", false),
            ("b", "src/", Exclusive, "", "c2", false),
            ("b", "src/", Exclusive, "c1", "", false),
            ("a", "src/", Exclusive, "c1", "c2", false),
        ] {
            let wanted = PatternRequest { agent: "a", checkout: at(here), mode: Exclusive, patterns: &asked };
            let held = held(holder, typed, mode, checkout);
            assert_eq!(meets_elsewhere(&held, &wanted, &asked[0]), elsewhere, "{held:?} {here}");
            assert!(!(elsewhere && blocks(&held, &wanted, &asked[0])), "{held:?} {here}");
        }
        let shared = PatternRequest { agent: "a", checkout: at("c2"), mode: Shared, patterns: &asked };
        assert!(!meets_elsewhere(&held("b", "src/", Shared, "c1"), &shared, &asked[0]));
    }

    #[test]
    fn inv_r5_own_holds_answer_what_they_cover() {
        let own = |mode| vec![held("a", "src/", mode, "c1")];
        assert_eq!(ask(&["src/x"], Exclusive, "c1", &own(Exclusive)), Ok(vec![PatternDecision::Keep(0)]));
        assert_eq!(ask(&["src/x"], Shared, "c1", &own(Exclusive)), Ok(vec![PatternDecision::Keep(0)]));
        assert_eq!(ask(&["src/x"], Exclusive, "c1", &own(Shared)), Ok(vec![PatternDecision::Grant]));
        assert_eq!(ask(&["src/"], Shared, "c1", &own(Exclusive)), Ok(vec![PatternDecision::Change(0)]));
        assert_eq!(ask(&["src/"], Exclusive, "c1", &own(Shared)), Ok(vec![PatternDecision::Change(0)]));
        assert_eq!(ask(&["src/"], Exclusive, "c2", &own(Exclusive)), Ok(vec![PatternDecision::Grant]));
        // An upgrade needs the files to be free; a downgrade always succeeds.
        let mut shared = own(Shared);
        shared.push(held("b", "src/y", Shared, "c1"));
        assert_eq!(ask(&["src/"], Exclusive, "c1", &shared), Err(vec![1]));
        shared[0].mode = Exclusive;
        assert_eq!(ask(&["src/"], Shared, "c1", &shared), Ok(vec![PatternDecision::Change(0)]));
    }

    #[test]
    fn inv_r6_all_or_none_and_every_blocker_once() {
        let others =
            [held("b", "a", Exclusive, "c"), held("c", "glob:[ab]", Shared, "c"), held("b", "z", Exclusive, "c")];
        assert_eq!(ask(&["a", "b", "x"], Exclusive, "c", &others), Err(vec![0, 1]));
        assert_eq!(
            ask(&["src/", "src/a", "src/"], Exclusive, "c", &[]),
            Ok(vec![PatternDecision::Grant, PatternDecision::Within(0), PatternDecision::Within(0)])
        );
    }
}
