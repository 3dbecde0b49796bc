//! Searches for one order that explains a history: the algorithm of Wing and Gong with Lowe's memoization of visited
//! states.
//!
//! A call takes effect at one instant between its invocation and its return, so a call that returned before another was
//! invoked comes first. An unanswered call may take effect once, at any instant after its invocation. Each process
//! makes one call at a time, so a search state is a position in each process's list, and only the calls at these
//! positions can come next. Fences and versions in the answers rule out almost all candidates, but they do not define
//! the order.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use tenure_core::number::EventNumber;

use super::model::{Moment, Project};
use super::record::{Answer, Ask, Got, Nanos, Record};

/// The maximum number of states before the search gives up. An explainable history needs about one per call.
const AT_MOST: usize = 3_000_000;

/// The log's evidence for unanswered calls: the event number and the task.
pub(super) type Evidence = HashMap<String, (EventNumber, usize)>;

/// The history of one project.
pub(super) struct History<'a> {
    /// The answered calls of each process, in its order.
    answered: Vec<Vec<&'a Record>>,
    /// The unanswered calls.
    unanswered: Vec<&'a Record>,
    evidence: &'a Evidence,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    positions: Vec<usize>,
    /// Which unanswered calls have taken effect.
    used: Vec<bool>,
    project: Project,
}

#[derive(Clone, Copy)]
enum Next {
    Answered(usize),
    Unanswered(usize),
}

impl<'a> History<'a> {
    pub(super) fn new(records: &[&'a Record], evidence: &'a Evidence) -> History<'a> {
        let processes = records.iter().map(|record| record.process + 1).max().unwrap_or(0);
        let mut answered = vec![Vec::new(); processes];
        let mut unanswered = Vec::new();
        for record in records {
            match &record.got {
                Got::Answer(_) => answered[record.process].push(*record),
                // A call without an event can only have been a repeated claim by the holder.
                Got::Unknown
                    if evidence.contains_key(&record.request)
                        || matches!(record.ask, Ask::Claim { task: Some(_), .. }) =>
                {
                    unanswered.push(*record);
                }
                Got::Unknown | Got::Undone | Got::Odd(_) => {}
            }
        }
        for calls in &mut answered {
            calls.sort_by_key(|record| record.invoked);
        }
        History { answered, unanswered, evidence }
    }

    /// Searches for an order. Returns the number of states tried, or where the search got stuck.
    pub(super) fn explain(&self, start: Project) -> Result<usize, String> {
        let first =
            Place { positions: vec![0; self.answered.len()], used: vec![false; self.unanswered.len()], project: start };
        let mut seen: HashSet<u64> = HashSet::new();
        let mut deepest = (0, first.clone());
        let mut stack = vec![(first, None::<Vec<Place>>)];
        while let Some((place, ways)) = stack.last_mut() {
            if ways.is_none() {
                let depth: usize = place.positions.iter().sum();
                if depth > deepest.0 {
                    deepest = (depth, place.clone());
                }
                if self.is_end(place) {
                    return Ok(seen.len());
                }
                let fresh = seen.insert(fingerprint(place));
                *ways = Some(if fresh { self.ways(place) } else { Vec::new() });
                if seen.len() > AT_MOST {
                    return Err(format!("no order was found among {AT_MOST} tried\n{}", self.describe(&deepest.1)));
                }
            }
            match ways.as_mut().and_then(Vec::pop) {
                Some(way) => stack.push((way, None)),
                None => {
                    stack.pop();
                }
            }
        }
        Err(format!("no order explains this history\n{}", self.describe(&deepest.1)))
    }

    fn is_end(&self, place: &Place) -> bool {
        let all_placed = self.answered.iter().zip(&place.positions).all(|(calls, at)| *at == calls.len());
        let all_told = self
            .unanswered
            .iter()
            .zip(&place.used)
            .all(|(call, used)| *used || !self.evidence.contains_key(&call.request));
        all_placed && all_told
    }

    /// No call may be placed after the return of a call that is still to be placed.
    fn latest(&self, place: &Place) -> Nanos {
        let next = self.answered.iter().zip(&place.positions).filter_map(|(calls, at)| calls.get(*at));
        next.map(|record| record.returned).min().unwrap_or(Nanos::MAX / 2)
    }

    fn candidates(&self, place: &Place, latest: Nanos) -> Vec<Next> {
        let mut answered: Vec<usize> = (0..self.answered.len())
            .filter(|process| {
                self.answered[*process].get(place.positions[*process]).is_some_and(|record| record.invoked <= latest)
            })
            .collect();
        answered.sort_by_key(|process| self.answered[*process][place.positions[*process]].returned);
        // Unanswered calls are tried last, only if nothing else fits.
        let unanswered = (0..self.unanswered.len())
            .filter(|call| !place.used[*call] && self.unanswered[*call].invoked <= latest)
            .map(Next::Unanswered);
        answered.into_iter().map(Next::Answered).chain(unanswered).collect()
    }

    /// The possible next states, the likeliest last.
    fn ways(&self, place: &Place) -> Vec<Place> {
        let latest = self.latest(place);
        let mut ways = Vec::new();
        for next in self.candidates(place, latest) {
            let Some(way) = self.take(place, next, latest) else { continue };
            // A call that changes nothing can be placed immediately: if the rest is explainable with it later, it is
            // explainable without it there.
            if way.project == place.project {
                return vec![way];
            }
            ways.push(way);
        }
        ways.reverse();
        ways
    }

    fn take(&self, place: &Place, next: Next, latest: Nanos) -> Option<Place> {
        match next {
            Next::Answered(process) => {
                let record = self.answered[process][place.positions[process]];
                let Got::Answer(answer) = &record.got else { return None };
                let project = place.project.after(moment(record, answer, latest), &record.ask, answer)?;
                let mut positions = place.positions.clone();
                positions[process] += 1;
                Some(Place { positions, used: place.used.clone(), project })
            }
            Next::Unanswered(call) => {
                let record = self.unanswered[call];
                let at = Moment { agent: record.agent, earliest: record.invoked, latest, grant: None };
                let project = match self.evidence.get(&record.request) {
                    Some((number, on)) => {
                        place.project.after_unseen(Moment { grant: Some(number.get()), ..at }, &record.ask, *on)?
                    }
                    None => {
                        place.project.after_unseen_renewal(at, &record.ask).filter(|after| *after != place.project)?
                    }
                };
                let mut used = place.used.clone();
                used[call] = true;
                Some(Place { positions: place.positions.clone(), used, project })
            }
        }
    }

    fn describe(&self, place: &Place) -> String {
        let latest = self.latest(place);
        let mut text = format!("after {} calls\n{}\n", place.positions.iter().sum::<usize>(), place.project.describe());
        for (calls, at) in self.answered.iter().zip(&place.positions) {
            let Some(record) = calls.get(*at) else { continue };
            let Got::Answer(answer) = &record.got else { continue };
            let possible = place.project.possible(moment(record, answer, latest), &record.ask);
            text.push_str(&format!(
                "  process {}: a{} asked {:?} in [{}, {}]{}\n    and was told {answer:?}\n    possible is {possible:?}\n",
                record.process,
                record.agent,
                record.ask,
                record.invoked,
                record.returned,
                if record.invoked <= latest { "" } else { ", not yet" },
            ));
        }
        for (call, used) in self.unanswered.iter().zip(&place.used) {
            if let (false, Some(told)) = (used, self.evidence.get(&call.request)) {
                text.push_str(&format!(
                    "  unanswered: a{} asked {:?} from {}, event {told:?}\n",
                    call.agent, call.ask, call.invoked
                ));
            }
        }
        text
    }
}

/// An answer that names a hold of its own agent, or of the recipient, contains the number of its grant.
fn moment(record: &Record, answer: &Answer, latest: Nanos) -> Moment {
    let grant = match answer {
        Answer::Task { view, .. } => view.holder.map(|(_, fence)| fence),
        Answer::Transferred { fence, .. } => Some(*fence),
        _ => None,
    };
    Moment { agent: record.agent, earliest: record.invoked, latest, grant }
}

fn fingerprint(place: &Place) -> u64 {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    hasher.finish()
}
