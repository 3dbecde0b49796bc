//! The sequential model of one project: status, holder, fence and version of a few tasks.
//!
//! It is written from the contract and does not use the kernel's functions, so that an error there is not repeated
//! here. The expiry of a hold is the only transition that no call causes. It may happen at any instant at which the
//! time to live can have passed, and not before.

use super::record::{Answer, Ask, Nanos, View};

/// The allowed drift between the monotonic clock and the store's clock over the life of a hold.
const SLACK: Nanos = 10_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Status {
    Open,
    Started,
    Blocked,
    Done,
}

impl Status {
    fn word(self) -> String {
        match self {
            Status::Open => "open",
            Status::Started => "started",
            Status::Blocked => "blocked",
            Status::Done => "done",
        }
        .to_owned()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    holder: usize,
    fence: i64,
    ttl: Nanos,
    /// The hold cannot expire before this instant.
    surely_until: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Task {
    status: Status,
    held: Option<Held>,
    last_fence: i64,
    last_holder: Option<usize>,
    lapsed: bool,
    /// Whether its last holder released it and it is unchanged since.
    given_up: bool,
    version: i64,
    attempt: i64,
    title: String,
    /// The last fence shown to each agent.
    shown: Vec<Option<i64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Project {
    tasks: Vec<Task>,
    newest: i64,
}

/// A call, placed at an instant between two bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) agent: usize,
    /// The earliest instant.
    pub(super) earliest: Nanos,
    /// The latest instant.
    pub(super) latest: Nanos,
    /// The number of the granting event, if this call grants a hold.
    pub(super) grant: Option<i64>,
}

/// The right by which an agent acts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Holder,
    Late,
    Free,
}

fn refusal(code: &str) -> Answer {
    Answer::Refused { code: code.to_owned(), holder: None, version: None, fence: None, status: None }
}

fn held_by(other: usize) -> Answer {
    Answer::Refused { code: "task_held".to_owned(), holder: Some(other), version: None, fence: None, status: None }
}

impl Task {
    fn view(&self) -> View {
        let closed = self.status == Status::Done;
        View {
            status: self.status.word(),
            version: self.version,
            attempt: self.attempt,
            title: self.title.clone(),
            holder: self.held.as_ref().map(|held| (held.holder, held.fence)),
            lapsed_from: self.last_holder.filter(|_| self.lapsed && !closed),
        }
    }

    /// Whether the hold can have expired at an instant.
    fn may_lapse(&self, latest: Nanos) -> bool {
        self.held.as_ref().is_some_and(|held| held.surely_until <= latest + SLACK)
    }

    fn lapse(&mut self) {
        self.held = None;
        self.status = Status::Open;
        self.lapsed = true;
    }

    fn right(&self, agent: usize, given: Option<i64>) -> Result<Right, Answer> {
        let shown = given.or(self.shown[agent]);
        let stale = Answer::Refused {
            code: "stale_fence".to_owned(),
            holder: None,
            version: None,
            fence: Some(self.last_fence),
            status: None,
        };
        match (&self.held, shown) {
            (Some(held), Some(fence)) if held.holder == agent && held.fence == fence => Ok(Right::Holder),
            (Some(held), None) if held.holder != agent => Err(held_by(held.holder)),
            (Some(_), _) => Err(stale),
            (None, None) => Ok(Right::Free),
            (None, Some(fence)) if fence == self.last_fence && self.last_holder == Some(agent) => {
                Ok(if self.lapsed { Right::Late } else { Right::Free })
            }
            (None, Some(_)) => Err(stale),
        }
    }

    fn go(&mut self, from: &[Status], to: Status) -> Result<(), Answer> {
        if !from.contains(&self.status) {
            let mut answer = refusal("illegal_transition");
            if let Answer::Refused { status, .. } = &mut answer {
                *status = Some(self.status.word());
            }
            return Err(answer);
        }
        self.status = to;
        self.version += 1;
        Ok(())
    }

    /// The holder, or an agent acting in its place, leaves the task.
    fn leave(&mut self, from: &[Status], to: Status) -> Result<(), Answer> {
        self.go(from, to)?;
        if self.held.take().is_some() {
            self.lapsed = false;
        }
        Ok(())
    }

    fn grant(&mut self, held: Held) {
        self.last_fence = held.fence;
        self.last_holder = Some(held.holder);
        self.held = Some(held);
        self.lapsed = false;
        self.given_up = false;
        self.version += 1;
        self.attempt += 1;
    }
}

impl Project {
    /// A project of open tasks.
    pub(super) fn new(titles: &[String], agents: usize) -> Project {
        let task = |title: &String| Task {
            status: Status::Open,
            held: None,
            last_fence: 0,
            last_holder: None,
            lapsed: false,
            given_up: false,
            version: 1,
            attempt: 0,
            title: title.clone(),
            shown: vec![None; agents],
        };
        Project { tasks: titles.iter().map(task).collect(), newest: 0 }
    }

    /// The project after a call with this answer, or `None` if the call cannot come now.
    ///
    /// If an answer is the same whether a hold has expired or not, the hold is taken as live: it can still expire
    /// later.
    pub(super) fn after(&self, at: Moment, ask: &Ask, got: &Answer) -> Option<Project> {
        self.outcomes(at, ask).into_iter().find(|(answer, _)| answer == got).map(|(_, project)| project)
    }

    /// The project after a call whose answer is unknown but whose effect is in the log. `on` is the task that the log
    /// names.
    pub(super) fn after_unseen(&self, at: Moment, ask: &Ask, on: usize) -> Option<Project> {
        let effective = |answer: &Answer| match answer {
            Answer::Refused { .. } | Answer::Nothing => false,
            Answer::Task { task, .. } => *task == on,
            Answer::Transferred { .. } | Answer::Noted { .. } => true,
        };
        self.outcomes(at, ask).into_iter().find(|(answer, _)| effective(answer)).map(|(_, project)| project)
    }

    /// The project after a call that left no event and may have shown an agent its own hold.
    pub(super) fn after_unseen_renewal(&self, at: Moment, ask: &Ask) -> Option<Project> {
        match ask {
            Ask::Claim { task: Some(task), .. }
                if self.tasks[*task].held.as_ref().is_some_and(|held| held.holder == at.agent) =>
            {
                self.outcomes(Moment { grant: None, ..at }, ask).into_iter().next().map(|(_, project)| project)
            }
            _ => None,
        }
    }

    /// The possible answers now, each with the resulting project: more than one if a hold may or may not have expired.
    fn outcomes(&self, at: Moment, ask: &Ask) -> Vec<(Answer, Project)> {
        match ask {
            Ask::Show { task } => {
                // A query changes nothing. It can see a hold as expired that a writer, whose transaction began before
                // the expiry, renews a moment later. So an expiry seen by a query does not constrain later calls.
                self.with_and_without_end(*task, at.latest)
                    .into_iter()
                    .map(|seen| {
                        (Answer::Task { task: *task, view: seen.tasks[*task].view(), late: false }, self.clone())
                    })
                    .collect()
            }
            Ask::Claim { task: None, ttl_s } => self.choose(at, *ttl_s),
            Ask::Claim { task: Some(task), .. }
            | Ask::Done { task, .. }
            | Ask::Release { task, .. }
            | Ask::Block { task, .. }
            | Ask::Unblock { task }
            | Ask::Reopen { task }
            | Ask::Transfer { task, .. }
            | Ask::Note { task, .. }
            | Ask::Edit { task, .. } => self
                .with_and_without_end(*task, at.latest)
                .into_iter()
                .filter_map(|mut found| {
                    found.be_present(at);
                    let before = found.clone();
                    match found.run(at, ask) {
                        Ok(answer) => Some((answer, found)),
                        Err(Some(refused)) => Some((refused, before)),
                        Err(None) => None,
                    }
                })
                .collect(),
        }
    }

    fn with_and_without_end(&self, task: usize, latest: Nanos) -> Vec<Project> {
        let mut all = vec![self.clone()];
        if self.tasks[task].may_lapse(latest) {
            let mut ended = self.clone();
            ended.tasks[task].lapse();
            all.push(ended);
        }
        all
    }

    /// Every op of a holder renews its live holds. A hold that may have expired is not renewed: an expired hold is
    /// never revived.
    fn be_present(&mut self, at: Moment) {
        for held in self.tasks.iter_mut().filter_map(|task| task.held.as_mut()) {
            if held.holder == at.agent && held.surely_until > at.latest + SLACK {
                held.surely_until = held.surely_until.max(at.earliest + held.ttl / 4 * 3);
            }
        }
    }

    /// A claim without a task takes the first free one, in the order in which they were added. Those that the agent gave
    /// up come last.
    fn choose(&self, at: Moment, ttl_s: i64) -> Vec<(Answer, Project)> {
        let mut all = Vec::new();
        let gave_up = |task: &usize| {
            let task = &self.tasks[*task];
            task.status == Status::Open && task.given_up && task.last_holder == Some(at.agent)
        };
        let (last, first): (Vec<usize>, Vec<usize>) = (0..self.tasks.len()).partition(gave_up);
        for task in first.into_iter().chain(last) {
            let free = self.tasks[task].status == Status::Open;
            if free || self.tasks[task].may_lapse(at.latest) {
                let mut found = self.clone();
                if !free {
                    found.tasks[task].lapse();
                }
                found.be_present(at);
                if let Ok(answer) = found.run(at, &Ask::Claim { task: Some(task), ttl_s }) {
                    all.push((answer, found));
                }
            }
            if free {
                return all;
            }
        }
        let mut found = self.clone();
        found.be_present(at);
        all.push((Answer::Nothing, found));
        all
    }

    /// Runs an op on a named task. A refusal is `Err(Some)`; `Err(None)` is a grant for which no event number can be
    /// the fence.
    fn run(&mut self, at: Moment, ask: &Ask) -> Result<Answer, Option<Answer>> {
        let fence = |newest: i64| at.grant.filter(|number| *number > newest).ok_or(None);
        let newest = self.newest;
        let mut late = false;
        let place = match ask {
            Ask::Claim { task: place, ttl_s } => {
                let place = place.ok_or(None)?;
                let task = &mut self.tasks[place];
                let ttl = ttl_s * 1_000_000_000;
                match &mut task.held {
                    Some(held) if held.holder == at.agent => {
                        held.ttl = ttl;
                        held.surely_until = at.earliest + ttl;
                    }
                    Some(held) => return Err(Some(held_by(held.holder))),
                    None => {
                        task.clone().go(&[Status::Open], Status::Started)?;
                        let fence = fence(newest)?;
                        task.grant(Held { holder: at.agent, fence, ttl, surely_until: at.earliest + ttl });
                        task.status = Status::Started;
                        self.newest = fence;
                    }
                }
                task.shown[at.agent] = Some(task.last_fence);
                place
            }
            Ask::Done { task: place, fence } => {
                let task = &mut self.tasks[*place];
                late = task.right(at.agent, *fence)? == Right::Late;
                task.leave(&[Status::Open, Status::Started, Status::Blocked], Status::Done)?;
                *place
            }
            Ask::Release { task: place, fence } => {
                let task = &mut self.tasks[*place];
                if task.right(at.agent, *fence)? == Right::Late {
                    return Err(Some(refusal("lapsed")));
                }
                if task.held.is_none() && task.status == Status::Open {
                    return Err(Some(refusal("not_held")));
                }
                task.leave(&[Status::Started], Status::Open)?;
                task.given_up = true;
                *place
            }
            Ask::Block { task: place, fence } => {
                let task = &mut self.tasks[*place];
                task.right(at.agent, *fence)?;
                task.leave(&[Status::Open, Status::Started], Status::Blocked)?;
                *place
            }
            Ask::Unblock { task: place } => {
                let task = &mut self.tasks[*place];
                task.go(&[Status::Blocked], Status::Open)?;
                task.given_up = false;
                *place
            }
            Ask::Reopen { task: place } => {
                let task = &mut self.tasks[*place];
                task.go(&[Status::Done], Status::Open)?;
                task.lapsed = false;
                task.given_up = false;
                *place
            }
            Ask::Edit { task: place, title, expect } => {
                let task = &mut self.tasks[*place];
                if expect.is_some_and(|expected| expected != task.version) {
                    return Err(Some(Answer::Refused {
                        code: "stale_version".to_owned(),
                        holder: None,
                        version: Some(task.version),
                        fence: None,
                        status: None,
                    }));
                }
                task.version += 1;
                task.given_up = false;
                task.title.clone_from(title);
                *place
            }
            Ask::Note { task: place, fence } => {
                let right = self.tasks[*place].right(at.agent, *fence);
                if let (Err(refused), Some(_)) = (&right, fence) {
                    return Err(Some(refused.clone()));
                }
                return Ok(Answer::Noted { late: right == Ok(Right::Late) });
            }
            Ask::Transfer { task: place, to, fence: given } => {
                let task = &mut self.tasks[*place];
                if task.right(at.agent, *given)? == Right::Late {
                    return Err(Some(refusal("lapsed")));
                }
                let Some(held) = task.held.clone() else { return Err(Some(refusal("nothing_to_transfer"))) };
                if held.holder == *to {
                    return Err(Some(refusal("same_holder")));
                }
                let fence = fence(newest)?;
                task.grant(Held { holder: *to, fence, ..held });
                self.newest = fence;
                return Ok(Answer::Transferred { to: *to, fence });
            }
            Ask::Show { .. } => return Err(None),
        };
        Ok(Answer::Task { task: place, view: self.tasks[place].view(), late })
    }

    /// The state, for the report of a history that no order explains.
    pub(super) fn describe(&self) -> String {
        let lines = self.tasks.iter().enumerate().map(|(place, task)| {
            format!("  task {place}: {:?}, last fence {} of {:?}", task.view(), task.last_fence, task.last_holder)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The possible answers now, for the same report.
    pub(super) fn possible(&self, at: Moment, ask: &Ask) -> Vec<Answer> {
        self.outcomes(at, ask).into_iter().map(|(answer, _)| answer).collect()
    }
}
