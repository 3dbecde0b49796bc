//! Validation of requests, independent of the stored state.

use tenure_kernel::Op;
use tenure_kernel::op::add_many;

use super::rules::CYCLE;
use super::{Refusal, memory};
use crate::known::Known;

/// Refuses an invalid request before the store is touched.
pub(super) fn check(op: &Op) -> Result<(), Refusal> {
    let priority = |value: i64| if (0..=4).contains(&value) { Ok(()) } else { Err(("usage", "bad_priority")) };
    let ttl = |seconds: Option<i64>| match seconds {
        Some(seconds) if !(1..=86_400).contains(&seconds) => Err(("usage", "bad_ttl")),
        _ => Ok(()),
    };
    match Known::of(op) {
        Known::Add(request) => priority(request.priority),
        Known::AddMany(request) => {
            if request.items.is_empty() {
                return Err(("usage", "nothing_to_add"));
            }
            request.items.iter().try_for_each(|item| priority(item.priority))?;
            let on = |from: &add_many::NewTask| -> Vec<usize> {
                let of = |after: &String| request.items.iter().position(|item| item.key.as_ref() == Some(after));
                from.after.iter().filter_map(of).collect()
            };
            let circular = (0..request.items.len()).any(|start| {
                let mut reached = vec![start];
                let mut at = 0;
                while at < reached.len() {
                    for next in on(&request.items[reached[at]]) {
                        if next == start {
                            return true;
                        }
                        if !reached.contains(&next) {
                            reached.push(next);
                        }
                    }
                    at += 1;
                }
                false
            });
            if circular { Err(CYCLE) } else { Ok(()) }
        }
        Known::Claim(request) => ttl(request.ttl_s),
        Known::Reserve(request) => {
            ttl(request.ttl_s)?;
            if request.paths.is_empty() { Err(("usage", "no_path")) } else { Ok(()) }
        }
        Known::Lock(request) => ttl(request.ttl_s),
        Known::Send(request) if request.to.is_empty() && request.about.is_none() && request.reply.is_none() => {
            Err(("usage", "no_recipient"))
        }
        Known::Inbox(request) if request.limit.is_some_and(|limit| !(1..=100).contains(&limit)) => {
            Err(("usage", "bad_limit"))
        }
        Known::Resume(request) => {
            ttl(request.ttl_s)?;
            if request.budget.is_some_and(|tokens| !(150..=50_000).contains(&tokens)) {
                return Err(("usage", "bad_budget"));
            }
            let limit = request.limit.is_some_and(|limit| !(1..=1_000).contains(&limit));
            if limit { Err(("usage", "bad_limit")) } else { Ok(()) }
        }
        Known::Remember(request) if request.items.is_empty() => Err(("usage", "nothing_to_remember")),
        Known::Remember(request) => memory::check(&request.items),
        Known::Note(request) => {
            memory::check(&request.memories)?;
            let bad = request.artifacts.iter().any(|file| file.size < 0);
            if bad { Err(("usage", "bad_artifact")) } else { Ok(()) }
        }
        Known::Edit(request) => {
            let empty = request.priority.is_none()
                && request.add_labels.is_empty()
                && request.remove_labels.is_empty()
                && request.assignee.is_none()
                && request.after.is_none();
            if empty {
                return Err(("usage", "nothing_to_change"));
            }
            request.priority.map_or(Ok(()), priority)
        }
        _ => Ok(()),
    }
}
