//! Takes a named lock, or renews it for a caller that shows its fence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::hold::LockTaken;
use tenure_core::event::place::OfferTaken;
use tenure_core::id::or_empty;
use tenure_core::lock::{self, LiveLock, LockDecision, RUNNER_TTL, TTL, decide};
use tenure_core::number::Fence;
use tenure_core::text::{self, cut};
use tenure_core::{Code, Error, Result, Span, hold as rule};
use tenure_store::table::{hold, lock as table};

use super::operation::{Access, Door, Input, Operation, Role};
use super::release::held_paths::stale_fence;
use crate::access::overrides;
use crate::limit;
use crate::unit_of_work::{About, UnitOfWork};
use crate::waiting::{self, Obstacles, WaitRequest, Want};
use crate::{answer, locks, paths, takeover};

/// The way in which a lock is renewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Renewal")]
pub enum LockRenewal {
    /// Any op of its holder.
    #[default]
    Session,
    /// Only requests with its fence: those of the process that runs a command under it.
    Runner,
}

impl LockRenewal {
    const fn as_str(self) -> &'static str {
        match self {
            LockRenewal::Session => "session",
            LockRenewal::Runner => "runner",
        }
    }
}

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The name: 1 to 128 characters on one line.
    pub name: String,
    /// How long the lock lives without being renewed, 1 second to 24 hours; without it 10 minutes, or 60 seconds where a
    /// runner renews it.
    #[serde(default)]
    pub ttl_s: Option<i64>,
    /// The purpose.
    #[serde(default)]
    pub reason: String,
    /// The fence of the lock to renew.
    #[serde(default)]
    pub fence: Option<Fence>,
    /// The way in which it is renewed.
    #[serde(default)]
    pub renewal: LockRenewal,
    /// Whether to take it from its holder: a person from any, an agent from a holder that is gone.
    #[serde(default)]
    pub force: bool,
    /// Whether to get a place in the waiting line where somebody has it. The same request again renews the place, or takes
    /// what is offered to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// How long the place is kept after the last such request; by default two minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place_ttl_s: Option<i64>,
    /// How long an offer is kept; by default one minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_ttl_s: Option<i64>,
}

impl Lock {
    fn ttl(&self) -> Option<Span> {
        self.ttl_s.map(Span::seconds)
    }
}

impl Operation for Lock {
    const NAME: &'static str = "lock";
    const ABOUT: &'static str = "Take a named lock, or renew it with its fence";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    // With `force` any worker may take over from a dead holder. Taking over from a live one needs an operator, which
    // `apply` checks.
    const ACCESS: Access = Access::project(Role::Worker);
    const INPUTS: &'static [Input] = &[Input::DeadAgents];
    type Answer = answer::Locked;

    fn check(&self) -> Result<()> {
        lock::name(&self.name)?;
        for seconds in [self.ttl_s, self.place_ttl_s, self.offer_ttl_s].into_iter().flatten() {
            rule::ttl(Span::seconds(seconds))?;
        }
        text::body(&self.reason, "reason").map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Locked> {
        let reason = text::body(&self.reason, "reason")?;
        let live = locks::live(work, &self.name)?;
        let step = may_have(work, self, live.as_ref());
        match (step, live) {
            (LockDecision::Stale, live) => Err(stale(work, self, live.as_ref())?),
            // Whether or not the fence is shown: an offer is taken before it can be renewed.
            (_, Some(row)) if row.place.is_some() && row.holder == work.me() => {
                take(work, self, row, &reason).map(answer::Locked::Held)
            }
            (LockDecision::Renew, Some(row)) => renew(work, self, row, &reason).map(answer::Locked::Held),
            (_, live) => {
                let me = work.me();
                let (tx, sight) = work.look();
                if let Some(in_the_way) = waiting::decide_name(tx, &sight, (me, &self.name), live.as_ref())? {
                    // `force` takes the lock from its holder. Only a person gets it before the waiting agents.
                    let may_force = in_the_way.places.is_empty() || overrides(work);
                    if !self.force || !may_force {
                        return blocked(work, self, &reason, &in_the_way);
                    }
                }
                limit::locks(work)?;
                let overrode = live.as_ref().map(|row| row.holder.clone());
                takeover::end(work, live.as_slice(), &reason)?;
                let held = grant(work, self, &reason, overrode.as_deref())?;
                waiting::take(work, &Want::Name { agent: me, name: &self.name })?;
                Ok(answer::Locked::Held(held))
            }
        }
    }
}

/// The lock is held or waited for: the answer is a place in the waiting line, or the refusal.
fn blocked(work: &mut UnitOfWork<'_>, request: &Lock, reason: &str, in_the_way: &Obstacles) -> Result<answer::Locked> {
    if !request.wait {
        return Err(locks::waited_for(work, &request.name, in_the_way)?);
    }
    let asking = WaitRequest::of(reason, request.place_ttl_s, request.offer_ttl_s);
    let want = Want::Name { agent: work.me(), name: &request.name };
    waiting::wait(work, &want, &asking, in_the_way).map(answer::Locked::Waiting)
}

/// Takes an offer: the fence stays, and the TTL starts.
fn take(work: &mut UnitOfWork<'_>, request: &Lock, mut row: hold::Row, reason: &str) -> Result<answer::Hold> {
    (row.renewal, row.ttl) = how(request);
    row.expires_at = work.now + row.ttl;
    if !reason.is_empty() {
        reason.clone_into(&mut row.reason);
    }
    let taken = OfferTaken {
        kind: Some(row.kind.as_str().to_owned()),
        holder: row.holder.to_string(),
        fence: row.fence.0,
        place: or_empty(row.place.as_ref()).to_owned(),
        ttl_s: row.ttl.as_seconds(),
        expires_at: row.expires_at,
        ..OfferTaken::default()
    };
    work.append(About::of(&row.subject).hold(&row.id), Event::OfferTaken(taken))?;
    row.place = None;
    table::take(work.tx, &work.project.id, &row)?;
    work.freed = true;
    paths::shown(work, &row)
}

/// What renews a lock, and its TTL.
fn how(request: &Lock) -> (rule::Renewal, Span) {
    let (renewal, ttl) = match request.renewal {
        LockRenewal::Session => (rule::Renewal::Session, TTL),
        LockRenewal::Runner => (rule::Renewal::Explicit, RUNNER_TTL),
    };
    (renewal, request.ttl().unwrap_or(ttl))
}

/// Decides about the request. This is the only place that knows what blocks it.
fn may_have(work: &UnitOfWork<'_>, request: &Lock, live: Option<&hold::Row>) -> LockDecision {
    decide(work.me(), request.fence, live.map(|row| LiveLock { holder: &row.holder, fence: row.fence }))
}

fn grant(work: &mut UnitOfWork<'_>, request: &Lock, reason: &str, overrode: Option<&str>) -> Result<answer::Hold> {
    let (renewal, ttl) = how(request);
    let expires_at = work.now + ttl;
    let me = work.me();
    let fresh = paths::fresh_ids(work, 1)?.remove(0);
    let taken = LockTaken {
        holder: me.to_string(),
        reason: reason.to_owned(),
        renewal: request.renewal.as_str().to_owned(),
        ttl_s: ttl.as_seconds(),
        expires_at,
        overrode: overrode.map(str::to_owned),
    };
    let fence = Fence::from(work.append(About::of(&request.name).hold(&fresh), Event::LockTaken(taken))?);
    let row = hold::Row {
        granted_at: work.now,
        expires_at,
        ttl,
        reason: reason.to_owned(),
        renewal,
        ..hold::Row::new(fresh, (rule::HoldKind::Name, &request.name), me, fence)
    };
    hold::insert(work.tx, &work.project.id, &row)?;
    work.project.holds_issued += 1;
    paths::shown(work, &row)
}

/// Renews the lock: the same fence, a new expiry.
fn renew(work: &mut UnitOfWork<'_>, request: &Lock, mut row: hold::Row, reason: &str) -> Result<answer::Hold> {
    row.ttl = request.ttl().unwrap_or(row.ttl);
    row.expires_at = work.now + row.ttl;
    if !reason.is_empty() {
        reason.clone_into(&mut row.reason);
    }
    table::renew(work.tx, &work.project.id, &row.id, (row.expires_at, row.ttl), &row.reason)?;
    paths::shown(work, &row)
}

/// The refusal of a fence that the lock is no longer held under.
fn stale(work: &mut UnitOfWork<'_>, request: &Lock, live: Option<&hold::Row>) -> Result<Error> {
    if let Some(row) = live {
        return Ok(stale_fence(row, request.fence));
    }
    let shown = cut(&request.name, 120);
    let newest = table::newest(work.tx, &work.project.id, &request.name, 1)?;
    let error = Error::new(Code::Lapsed, format!("the hold on the lock {shown} with this fence has ended"))
        .entity(shown)
        .hint("An ended hold cannot be renewed. Take the lock again without a fence, and check what has changed.")
        .attempt(Action::holds_of("name"))
        .detail("fence", request.fence);
    Ok(match newest.first() {
        Some(row) => error.detail("current_fence", row.fence),
        None => error,
    })
}
