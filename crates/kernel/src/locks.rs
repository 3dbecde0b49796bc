//! Named locks: the live lock of a name, and the refusals it causes.

use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::hold::HoldTransferred;
use tenure_core::hold::{Ending, Renewal, lapsed};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, Span};
use tenure_store::table::{agent, hold, lock};

use crate::answer::{self, Blocker, Blockers};
use crate::paths;
use crate::unit_of_work::{About, UnitOfWork};
use crate::waiting::Obstacles;

/// Whether a hold outlives its holder. A runner's lock lives as long as its command, whatever happens to the session
/// that started it. Releasing it earlier would let two commands run at once.
pub(crate) fn outlives_holder(row: &hold::Row) -> bool {
    row.is_name() && row.renewal == Renewal::Explicit && row.place.is_none()
}

/// The live lock of a name. A lapsed one is ended first.
pub(crate) fn live(work: &mut UnitOfWork<'_>, name: &str) -> Result<Option<hold::Row>> {
    let project = work.project.id.clone();
    let Some(row) = work.tx.fetch(lock::live(&project, name))? else { return Ok(None) };
    let died = work.dead.contains(&row.holder) && !outlives_holder(&row);
    if died || lapsed(work.now, row.expires_at) {
        paths::expire(work, &row)?;
        return Ok(None);
    }
    Ok(Some(row))
}

/// Transfers a lock: the remaining time stays, the fence is new.
pub(crate) fn hand_over(work: &mut UnitOfWork<'_>, row: &hold::Row, to: &AgentName) -> Result<answer::Hold> {
    let overrode = (row.holder != work.me()).then(|| row.holder.to_string());
    let how = if overrode.is_some() { Ending::Forced } else { Ending::Transferred };
    hold::end(work.tx, &work.project.id, &row.id, work.now, how)?;
    // It may change who waits for whom.
    work.freed = true;
    let fresh = paths::fresh_ids(work, 1)?.remove(0);
    let said = HoldTransferred {
        from: row.holder.to_string(),
        ended_hold: row.id.to_string(),
        overrode,
        holder: to.to_string(),
        ttl_s: row.ttl.as_seconds(),
        expires_at: row.expires_at,
        reason: Some(row.reason.clone()),
        kind: Some(row.kind.as_str().to_owned()),
        ..HoldTransferred::default()
    };
    let number = work.append(About::of(&row.subject).hold(&fresh), Event::HoldTransferred(said))?;
    let granted = hold::Row {
        id: fresh,
        holder: to.clone(),
        fence: Fence::from(number),
        granted_at: work.now,
        asked: 0,
        ..row.clone()
    };
    hold::insert(work.tx, &work.project.id, &granted)?;
    work.project.holds_issued += 1;
    work.ended(&row.id, row.asked, how, number);
    paths::shown(work, &granted)
}

/// The four-part refusal of a free lock that others wait for.
pub(crate) fn waited_for(work: &mut UnitOfWork<'_>, name: &str, in_the_way: &Obstacles) -> Result<Error> {
    if let Some(row) = in_the_way.holds.first() {
        return held_by(work, row);
    }
    let (project, now) = (work.project.id.clone(), work.now);
    let blockers = paths::blockers(work.tx, &project, in_the_way, now)?;
    let Some(first) = blockers.first() else { return Err(Error::bug("a refusal without a blocker")) };
    let shown = cut(name, 120);
    Ok(Error::new(Code::LockHeld, format!("the lock {shown} is free, and {} waits for it", first.holder))
        .entity(shown)
        .who(format!(
            "{} is {} (last seen {} ago) and has waited for {}",
            first.holder,
            first.liveness.as_str(),
            Span::seconds(first.last_seen_s),
            Span::seconds(first.age_s),
        ))
        .attempt(Action::holds_of("name"))
        .person("A person can take it over: `lock` with --force.")
        .detail("total", blockers.len())
        .with(&Blockers(blockers)))
}

/// The four-part refusal of a held lock.
pub(crate) fn held_by(work: &mut UnitOfWork<'_>, row: &hold::Row) -> Result<Error> {
    let holder = work.tx.fetch(agent::get(&work.project.id, &row.holder))?;
    let blocker = Blocker::of_path(row, holder.as_ref(), work.now);
    let shown = cut(&row.subject, 120);
    let span = |seconds: i64| Span::seconds(seconds);
    let why = if row.reason.is_empty() { String::new() } else { format!(", for “{}”", cut(&row.reason, 60)) };
    let own = row.holder == work.me();
    let error = Error::new(Code::LockHeld, format!("the lock {shown} is held by {}", row.holder))
        .entity(shown)
        .who(format!(
            "{} is {} (last seen {} ago), has held it for {} and keeps it for {} unless renewed{why}",
            row.holder,
            blocker.liveness.as_str(),
            span(blocker.last_seen_s),
            span(blocker.age_s),
            span(blocker.expires_in_s),
        ))
        .attempt(Action::why(&row.id))
        .attempt(Action::holds_of("name"))
        .person("A person can take it over: `lock` with --force, or `release` with the id and --force.")
        .with(&Blockers(vec![blocker]))
        .detail("total", 1);
    Ok(if own {
        error.hint(
            "You hold it yourself. A lock also excludes other runs of the same agent; the run that has the fence \
             renews it with --fence.",
        )
    } else {
        error
    })
}
