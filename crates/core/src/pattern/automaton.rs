//! The automaton (NFA without epsilon transitions) for the part of a pattern after its literal prefix.

use super::parse::{Segment, SegmentPart};
use super::set::{Label, Spelling, fold};

/// One step: the characters it accepts, the steps that can follow, and whether the text can end after it.
#[derive(Clone, Debug)]
pub(super) struct AutomatonStep {
    pub(super) label: Label,
    pub(super) next: Vec<u32>,
    pub(super) end: bool,
}

/// The steps of a pattern, the possible first ones, and whether the empty text is accepted.
#[derive(Clone, Debug)]
pub(super) struct Automaton {
    pub(super) steps: Vec<AutomatonStep>,
    pub(super) first: Vec<u32>,
    pub(super) end: bool,
}

/// The state of a walk: the steps that can come next, and whether the text can end here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StateSet {
    pub(super) steps: Vec<u32>,
    pub(super) end: bool,
}

impl Automaton {
    /// The number of steps.
    pub(super) fn size(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn step(&self, at: u32) -> &AutomatonStep {
        &self.steps[at as usize]
    }

    pub(super) fn start(&self) -> StateSet {
        StateSet { steps: self.first.clone(), end: self.end }
    }

    /// The state after one more character.
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

    /// The state after a text.
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

/// Compiles segments into a literal prefix and the automaton of the rest.
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

/// The accepting state.
const END: usize = 0;

/// A state during construction, with epsilon transitions.
enum BuildState {
    End,
    Take(Label, usize),
    Either(Vec<usize>),
}

/// Builds from the end of a pattern to its beginning: each part gets the state that follows it.
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

    /// Any number of characters of a label, then `then`.
    fn many(&mut self, label: Label, then: usize) -> usize {
        let start = self.add(BuildState::Either(Vec::new()));
        let again = self.add(BuildState::Take(label, start));
        self.states[start] = BuildState::Either(vec![again, then]);
        start
    }

    /// A slash and these segments; the accepting state if there are none.
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
            // `**` at the end matches everything below. The code that produces a text ensures that it is not empty and
            // ends in a name.
            [Segment::Deep] => self.many(Label::Any, END),
            // `**` before other segments matches no segment, or some segments with a slash after them.
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

    /// Eliminates the epsilon transitions.
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
