//! What comes after the literal beginning of a pattern: an automaton without empty steps.

use super::parse::{Segment, SegmentPart};
use super::set::{Label, Spelling, fold};

/// One step: what it takes, which steps may follow, and whether the text may end after it.
#[derive(Clone, Debug)]
pub(super) struct AutomatonStep {
    pub(super) label: Label,
    pub(super) next: Vec<u32>,
    pub(super) end: bool,
}

/// The steps of a pattern, those that may come first, and whether there may be none.
#[derive(Clone, Debug)]
pub(super) struct Automaton {
    pub(super) steps: Vec<AutomatonStep>,
    pub(super) first: Vec<u32>,
    pub(super) end: bool,
}

/// Where a walk through an automaton stands: the steps that may come next, and whether the text may end here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StateSet {
    pub(super) steps: Vec<u32>,
    pub(super) end: bool,
}

impl Automaton {
    /// How many steps it has.
    pub(super) fn size(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn step(&self, at: u32) -> &AutomatonStep {
        &self.steps[at as usize]
    }

    pub(super) fn start(&self) -> StateSet {
        StateSet { steps: self.first.clone(), end: self.end }
    }

    /// Where a walk stands after one more character.
    pub(super) fn after(&self, standing: &StateSet, c: char) -> StateSet {
        let mut out = StateSet { steps: Vec::new(), end: false };
        for step in standing.steps.iter().map(|at| self.step(*at)).filter(|step| step.label.takes(c)) {
            out.steps.extend(&step.next);
            out.end |= step.end;
        }
        out.steps.sort_unstable();
        out.steps.dedup();
        out
    }

    /// Where a walk stands after a text.
    pub(super) fn walk(&self, text: &str) -> StateSet {
        let mut standing = self.start();
        for c in text.chars() {
            standing = self.after(&standing, c);
            if standing.steps.is_empty() && !standing.end {
                break;
            }
        }
        standing
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let mut standing = self.start();
        for c in text.chars() {
            if standing.steps.is_empty() {
                return false;
            }
            standing = self.after(&standing, c);
        }
        standing.end
    }
}

/// The literal beginning of a pattern, and the automaton of the rest.
pub(super) fn compile(segments: &[Segment], spelling: Spelling) -> (String, Automaton) {
    let mut builder = Builder { spelling, states: vec![BuildState::End] };
    let mut prefix = String::new();
    for (at, segment) in segments.iter().enumerate() {
        let Segment::Plain(nodes) = segment else {
            let start = builder.from(&segments[at..]);
            return (prefix, builder.finish(start));
        };
        for (within, node) in nodes.iter().enumerate() {
            let SegmentPart::Char(c) = node else {
                let rest = builder.behind(&segments[at + 1..]);
                let start = builder.sequence(&nodes[within..], rest);
                return (prefix, builder.finish(start));
            };
            prefix.push(builder.spelled(*c));
        }
        if at + 1 < segments.len() {
            prefix.push('/');
        }
    }
    (prefix, builder.finish(END))
}

/// The state in which a text may end.
const END: usize = 0;

/// A state while the automaton is built, with empty steps.
enum BuildState {
    End,
    Take(Label, usize),
    Either(Vec<usize>),
}

/// Builds from the end of a pattern to its beginning: each part is told what comes after it.
struct Builder {
    spelling: Spelling,
    states: Vec<BuildState>,
}

impl Builder {
    fn add(&mut self, state: BuildState) -> usize {
        self.states.push(state);
        self.states.len() - 1
    }

    fn spelled(&self, c: char) -> char {
        if self.spelling == Spelling::Typed { c } else { fold(c) }
    }

    /// Any number of characters that a label takes, then `then`.
    fn many(&mut self, label: Label, then: usize) -> usize {
        let start = self.add(BuildState::Either(Vec::new()));
        let again = self.add(BuildState::Take(label, start));
        self.states[start] = BuildState::Either(vec![again, then]);
        start
    }

    /// A slash and some segments, or nothing where there are none.
    fn behind(&mut self, segments: &[Segment]) -> usize {
        if segments.is_empty() {
            return END;
        }
        let then = self.from(segments);
        self.add(BuildState::Take(Label::One('/'), then))
    }

    fn from(&mut self, segments: &[Segment]) -> usize {
        match segments {
            [] => END,
            [Segment::Plain(nodes), rest @ ..] => {
                let then = self.behind(rest);
                self.sequence(nodes, then)
            }
            // At the end: everything below. That it is not empty and ends in a name is seen to wherever a text is made.
            [Segment::Deep] => self.many(Label::Any, END),
            // Before others: no segment at all, or some with a slash after them.
            [Segment::Deep, rest @ ..] => {
                let then = self.from(rest);
                let slash = self.add(BuildState::Take(Label::One('/'), then));
                let some = self.many(Label::Any, slash);
                self.add(BuildState::Either(vec![then, some]))
            }
        }
    }

    fn sequence(&mut self, nodes: &[SegmentPart], then: usize) -> usize {
        nodes.iter().rev().fold(then, |then, node| match node {
            SegmentPart::Char(c) => {
                let c = self.spelled(*c);
                self.add(BuildState::Take(Label::One(c), then))
            }
            SegmentPart::One => self.add(BuildState::Take(Label::Inside, then)),
            SegmentPart::Many => self.many(Label::Inside, then),
            SegmentPart::Class(ranges, negated) => {
                let label = Label::class(ranges, *negated, self.spelling);
                self.add(BuildState::Take(label, then))
            }
            SegmentPart::Either(ways) => {
                let ways = ways.iter().map(|way| self.sequence(way, then)).collect();
                self.add(BuildState::Either(ways))
            }
        })
    }

    /// Takes the empty steps out.
    fn finish(self, start: usize) -> Automaton {
        let mut number = vec![None; self.states.len()];
        let mut takes = Vec::new();
        for (at, state) in self.states.iter().enumerate() {
            if let BuildState::Take(label, then) = state {
                number[at] = u32::try_from(takes.len()).ok();
                takes.push((label.clone(), *then));
            }
        }
        let reach = |from: usize| {
            let (mut seen, mut open) = (vec![false; self.states.len()], vec![from]);
            let (mut steps, mut end) = (Vec::new(), false);
            while let Some(at) = open.pop() {
                if std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                match &self.states[at] {
                    BuildState::End => end = true,
                    BuildState::Take(..) => steps.extend(number[at]),
                    BuildState::Either(ways) => open.extend(ways),
                }
            }
            steps.sort_unstable();
            (steps, end)
        };
        let (first, end) = reach(start);
        let steps = takes
            .into_iter()
            .map(|(label, then)| {
                let (next, end) = reach(then);
                AutomatonStep { label, next, end }
            })
            .collect();
        Automaton { steps, first, end }
    }
}
