//! Shrinks a failing plan to a minimal one: no step can be removed or simplified.

use super::plan::{Acting, Call, Edit, Lock, Memory, Plan, Request, Reserve, Step};

/// Shrinks a plan while `fails` reports the same failure.
pub fn shrink(plan: &Plan, fails: &dyn Fn(&Plan) -> bool) -> Plan {
    let mut best = plan.clone();
    loop {
        let before = best.clone();
        leave_out(&mut best, fails);
        simplify(&mut best, fails);
        if best == before {
            return best;
        }
    }
}

/// Removes ever smaller runs of steps, from the end, because late steps depend on early ones.
fn leave_out(best: &mut Plan, fails: &dyn Fn(&Plan) -> bool) {
    let mut size = (best.steps.len() / 2).max(1);
    loop {
        let mut end = best.steps.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            let mut without = best.clone();
            without.steps.drain(start..end);
            if fails(&without) {
                *best = without;
            }
            end = start;
        }
        if size == 1 {
            return;
        }
        size /= 2;
    }
}

fn simplify(best: &mut Plan, fails: &dyn Fn(&Plan) -> bool) {
    for at in 0..best.steps.len() {
        for simpler in simpler(&best.steps[at]) {
            let mut tried = best.clone();
            tried.steps[at] = simpler;
            if tried.steps[at] != best.steps[at] && fails(&tried) {
                *best = tried;
            }
        }
    }
}

/// Simpler forms of a step, each with one detail removed.
fn simpler(step: &Step) -> Vec<Step> {
    match step {
        Step::Call(call) => {
            let mut calls = vec![
                Call { fault: None, ..call.clone() },
                Call { proven_dead: Vec::new(), ..call.clone() },
                Call { given: false, ..call.clone() },
            ];
            calls.extend(simpler_requests(&call.op).into_iter().map(|op| Call { op, ..call.clone() }));
            calls.into_iter().map(Step::Call).collect()
        }
        Step::Clock { by_us } => {
            let rounded = [3_600_000_000, 60_000_000, 1_000_000].map(|unit| by_us / unit * unit);
            rounded.into_iter().filter(|by_us| *by_us != 0).map(|by_us| Step::Clock { by_us }).collect()
        }
        Step::Dies { .. } => Vec::new(),
    }
}

/// Every list with one element removed.
fn fewer<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    (0..all.len())
        .map(|at| all.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, one)| one.clone()).collect())
        .collect()
}

fn simpler_acting(on: &Acting) -> Vec<Acting> {
    vec![Acting { fence: None, ..on.clone() }, Acting { force: false, ..on.clone() }]
}

/// Fewer memories, and simpler ones.
fn simpler_items(items: &[Memory]) -> Vec<Vec<Memory>> {
    let mut all = fewer(items);
    for (at, item) in items.iter().enumerate() {
        let plain = Memory { kind: tenure_core::memory::MemoryKind::Fact, ..item.clone() };
        for simpler in [plain, Memory { ttl_s: None, ..item.clone() }, Memory { task: None, ..item.clone() }] {
            let mut items = items.to_vec();
            items[at] = simpler;
            all.push(items);
        }
    }
    all
}

fn simpler_requests(request: &Request) -> Vec<Request> {
    let each = |on: &Acting, make: &dyn Fn(Acting) -> Request| simpler_acting(on).into_iter().map(make).collect();
    match request {
        Request::Add { draft, assignee } => {
            let plain = [(Vec::new(), draft.after.clone()), (draft.labels.clone(), Vec::new())];
            let mut all: Vec<Request> = plain
                .into_iter()
                .chain(fewer(&draft.after).into_iter().map(|after| (draft.labels.clone(), after)))
                .map(|(labels, after)| {
                    let draft = super::plan::Draft { labels, after, ..draft.clone() };
                    Request::Add { draft, assignee: assignee.clone() }
                })
                .collect();
            all.push(Request::Add { draft: draft.clone(), assignee: None });
            all
        }
        Request::AddMany { items } => fewer(items).into_iter().map(|items| Request::AddMany { items }).collect(),
        Request::Claim { task, ttl_s, labels } => vec![
            Request::Claim { task: *task, ttl_s: None, labels: labels.clone() },
            Request::Claim { task: *task, ttl_s: *ttl_s, labels: Vec::new() },
        ],
        Request::Resume { labels, ttl_s, budget, limit } => {
            let (labels, ttl_s, budget, limit) = (labels.clone(), *ttl_s, *budget, *limit);
            vec![
                Request::Resume { labels: Vec::new(), ttl_s, budget, limit },
                Request::Resume { labels: labels.clone(), ttl_s: None, budget, limit },
                Request::Resume { labels: labels.clone(), ttl_s, budget: None, limit },
                Request::Resume { labels, ttl_s, budget, limit: None },
            ]
        }
        Request::Note { on, memories, artifacts } => {
            let note = |on: &Acting, memories: Vec<Memory>, artifacts: Vec<u32>| Request::Note {
                on: on.clone(),
                memories,
                artifacts,
            };
            let mut all: Vec<Request> = each(on, &|on| note(&on, memories.clone(), artifacts.clone()));
            all.push(note(on, memories.clone(), Vec::new()));
            all.extend(simpler_items(memories).into_iter().map(|items| note(on, items, artifacts.clone())));
            all
        }
        Request::Remember { items } => {
            simpler_items(items).into_iter().map(|items| Request::Remember { items }).collect()
        }
        Request::Reserve(reserve) => {
            let patterns = fewer(&reserve.patterns).into_iter().filter(|patterns| !patterns.is_empty());
            let mut all: Vec<Reserve> = patterns.map(|patterns| Reserve { patterns, ..reserve.clone() }).collect();
            all.push(Reserve { shared: false, ..reserve.clone() });
            all.push(Reserve { ttl_s: None, ..reserve.clone() });
            all.push(Reserve { reason: String::new(), ..reserve.clone() });
            all.push(Reserve { all_checkouts: false, ..reserve.clone() });
            all.push(Reserve { wait: false, ..reserve.clone() });
            all.into_iter().map(Request::Reserve).collect()
        }
        Request::ReleasePaths { patterns, fence, force } => {
            let with = |patterns: Vec<u32>, fence, force| Request::ReleasePaths { patterns, fence, force };
            let fewer = fewer(patterns).into_iter().filter(|patterns| !patterns.is_empty());
            let mut all: Vec<Request> = fewer.map(|patterns| with(patterns, *fence, *force)).collect();
            all.extend([with(patterns.clone(), None, *force), with(patterns.clone(), *fence, false)]);
            all
        }
        Request::Lock(lock) => {
            let all = [
                Lock { ttl_s: None, ..lock.clone() },
                Lock { reason: String::new(), ..lock.clone() },
                Lock { fence: None, ..lock.clone() },
                Lock { runner: false, ..lock.clone() },
                Lock { wait: false, ..lock.clone() },
            ];
            all.into_iter().map(Request::Lock).collect()
        }
        Request::ReleaseLock { name, fence, force } => vec![
            Request::ReleaseLock { name: *name, fence: None, force: *force },
            Request::ReleaseLock { name: *name, fence: *fence, force: false },
        ],
        Request::ReleaseHold { hold, fence, force } => vec![
            Request::ReleaseHold { hold: hold.clone(), fence: None, force: *force },
            Request::ReleaseHold { hold: hold.clone(), fence: *fence, force: false },
        ],
        Request::Send { to, about, request, urgent, reply } => {
            let with = |to: Vec<String>, request, urgent| {
                let about = about.clone();
                Request::Send { to, about, request, urgent, reply: *reply }
            };
            let mut all: Vec<Request> = fewer(to).into_iter().map(|to| with(to, *request, *urgent)).collect();
            all.extend([with(to.clone(), false, *urgent), with(to.clone(), *request, false)]);
            all
        }
        Request::Inbox { limit, ack } => {
            vec![Request::Inbox { limit: None, ack: ack.clone() }, Request::Inbox { limit: *limit, ack: Vec::new() }]
        }
        Request::ConfirmMail { .. } | Request::SessionEnd => Vec::new(),
        Request::Confirm { .. } | Request::MemoryPin { .. } | Request::MemoryForget { .. } => Vec::new(),
        Request::Done { on } => each(on, &|on| Request::Done { on }),
        Request::Block { on, blocker } => {
            let mut all: Vec<Request> = each(on, &|on| Request::Block { on, blocker: *blocker });
            all.push(Request::Block { on: on.clone(), blocker: None });
            all
        }
        Request::Release { on } => each(on, &|on| Request::Release { on }),
        Request::Cancel { on } => each(on, &|on| Request::Cancel { on }),
        Request::Transfer { on, to } => each(on, &|on| Request::Transfer { on, to: to.clone() }),
        Request::Move { what, to, fence, force } => {
            let with = |fence, force| Request::Move { what: what.clone(), to: to.clone(), fence, force };
            vec![with(None, *force), with(*fence, false)]
        }
        Request::Unblock { .. } | Request::Reopen { .. } | Request::Snooze { .. } => Vec::new(),
        Request::Edit(edit) => vec![
            Request::Edit(Edit { priority: None, ..edit.clone() }),
            Request::Edit(Edit { add_labels: Vec::new(), ..edit.clone() }),
            Request::Edit(Edit { remove_labels: Vec::new(), ..edit.clone() }),
            Request::Edit(Edit { assignee: None, ..edit.clone() }),
            Request::Edit(Edit { after: None, ..edit.clone() }),
            Request::Edit(Edit { version: None, ..edit.clone() }),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Line;
    use super::super::locks::Locks;
    use super::super::paths::Paths;
    use super::super::sessions::Sessions;
    use super::super::workload::{Tasks, plan};
    use super::*;

    #[test]
    fn a_plan_shrinks_to_the_steps_that_matter() {
        let whole = plan(3, 120, &Tasks);
        let claims = |plan: &Plan| {
            let is_claim = |step: &&Step| matches!(step, Step::Call(Call { op: Request::Claim { .. }, .. }));
            plan.steps.iter().filter(is_claim).count()
        };
        assert!(claims(&whole) > 4);
        let least = shrink(&whole, &|plan| claims(plan) >= 2);
        assert_eq!((least.steps.len(), claims(&least)), (2, 2));
        let Step::Call(call) = &least.steps[0] else { panic!("a call is left") };
        assert_eq!((call.fault, call.given), (None, false));
    }

    #[test]
    fn a_plan_survives_its_text() {
        for seed in 1..20 {
            for plan in [
                plan(seed, 120, &Tasks),
                plan(seed, 130, &Sessions),
                plan(seed, 130, &Paths),
                plan(seed, 130, &Line),
                plan(seed, 130, &Locks),
            ] {
                let text = serde_json::to_string(&plan).unwrap();
                assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
            }
        }
    }
}
