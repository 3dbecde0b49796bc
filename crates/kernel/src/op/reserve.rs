//! Reserves paths, all or nothing: patterns of one checkout, exclusive or shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::error::detail::FreePaths;
use tenure_core::event::Event;
use tenure_core::event::hold::{PathChanged, PathReserved};
use tenure_core::event::place::OfferTaken;
use tenure_core::hold::{self as rule, Mode};
use tenure_core::id::{CheckoutId, HoldId, TaskId, or_empty};
use tenure_core::pattern::Pattern;
use tenure_core::reserve::{PatternDecision, PatternRequest, decide};
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, Span, Time, text};
use tenure_store::table::{hold, path};

use super::operation::{Access, Door, Input, Operation, Role};
use crate::access::overrides;
use crate::answer;
use crate::checkouts::Checkouts;
use crate::limit;
use crate::paths::other_checkouts::OwnHold;
use crate::paths::{self, ANOTHER_TASK, Granting, PathGrant};
use crate::takeover;
use crate::unit_of_work::{About, UnitOfWork};
use crate::waiting::{self, Obstacles, WaitRequest, Want};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reserve {
    /// Patterns relative to the top of the checkout, at most 256: a path as it is, a directory with a trailing `/`, or a
    /// glob after `glob:`.
    pub paths: Vec<String>,
    /// Whether to share the paths with other shared reservations.
    #[serde(default)]
    pub shared: bool,
    /// How long the holds live after the holder's last op, 1 second to 24 hours; without it as the task in focus, else
    /// one hour.
    #[serde(default)]
    pub ttl_s: Option<i64>,
    /// The purpose.
    #[serde(default)]
    pub reason: String,
    /// Whether the paths apply to every checkout of the project.
    #[serde(default)]
    pub all_checkouts: bool,
    /// Whether the checkout's file system ignores case.
    #[serde(default)]
    pub fold_case: bool,
    /// Whether to get a place in the waiting line where others stand in the way. The same request again renews the place,
    /// or takes what is offered to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// How long the place is kept after the last such request; by default two minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place_ttl_s: Option<i64>,
    /// How long an offer is kept; by default one minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_ttl_s: Option<i64>,
    /// Whether to take them from their holders: a person from any, an agent from holders that are gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl Reserve {
    fn mode(&self) -> Mode {
        if self.shared { Mode::Shared } else { Mode::Exclusive }
    }
}

/// How paths are reserved.
pub(super) struct Taking<'a> {
    pub(super) mode: Mode,
    /// The checkout; `None` for all of them.
    pub(super) here: Option<CheckoutId>,
    /// The TTL that the request gives.
    pub(super) ttl: Option<Span>,
    /// The TTL of holds without a task.
    pub(super) alone: Span,
    pub(super) reason: &'a str,
    /// Whether any op of the holder renews them. Otherwise, without a task, only reserving them again does.
    pub(super) by_session: bool,
    /// Whether blocking holds are taken over, subject to the rules for that.
    pub(super) force: bool,
    /// What the events say besides the holds.
    pub(super) said: PathReserved,
}

impl Taking<'_> {
    fn wanted<'b>(&'b self, agent: &'b str, patterns: &'b [Pattern]) -> PatternRequest<'b> {
        PatternRequest { agent, checkout: self.here.as_ref(), mode: self.mode, patterns }
    }
}

/// The task that new holds belong to.
#[derive(Default)]
struct Bound {
    task: Option<TaskId>,
    title: String,
    until: Option<(Time, Span)>,
}

impl Operation for Reserve {
    const NAME: &'static str = "reserve";
    const ABOUT: &'static str = "Reserve paths, all or none";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    // With `force` any worker may take over from a dead holder. Taking over from a live one needs an operator, which
    // `apply` checks.
    const ACCESS: Access = Access::project(Role::Worker);
    const INPUTS: &'static [Input] = &[Input::DeadAgents];
    type Answer = answer::Reserved;

    fn check(&self) -> Result<()> {
        for seconds in [self.ttl_s, self.place_ttl_s, self.offer_ttl_s].into_iter().flatten() {
            rule::ttl(Span::seconds(seconds))?;
        }
        text::body(&self.reason, "reason")?;
        paths::read(&self.paths, self.fold_case).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Reserved> {
        let patterns = paths::read(&self.paths, self.fold_case)?;
        let reason = text::body(&self.reason, "reason")?;
        let taking = Taking {
            mode: self.mode(),
            here: place(work, self.all_checkouts)?,
            ttl: self.ttl_s.map(Span::seconds),
            alone: rule::PATH_TTL,
            reason: &reason,
            by_session: true,
            force: self.force,
            said: PathReserved::default(),
        };
        let taken = match take(work, &patterns, &taking)? {
            Ok(taken) => taken,
            Err(in_the_way) if self.wait => {
                limit::patterns(work, &patterns, &vec![PatternDecision::Grant; patterns.len()])?;
                let asking = WaitRequest::of(&reason, self.place_ttl_s, self.offer_ttl_s);
                let site = paths::site(work, taking.here.as_ref())?;
                let want = Want::Paths(taking.wanted(work.me(), &patterns), &site);
                let waiting = waiting::wait(work, &want, &asking, &in_the_way)?;
                return Ok(answer::Reserved { globs: paths::globs(&patterns), ..waiting });
            }
            Err(in_the_way) => return Err(refusal(work, &patterns, &taking, &in_the_way)?),
        };
        let holds = taken.iter().map(|row| paths::shown(work, row)).collect::<Result<_>>()?;
        let mut elsewhere = elsewhere(work, &patterns, &taking, &taken)?;
        let total = elsewhere.len();
        elsewhere.truncate(paths::BLOCKERS_MAX);
        let elsewhere_total = (total > elsewhere.len()).then_some(total);
        let globs = paths::globs(&patterns);
        Ok(answer::Reserved { holds, elsewhere, elsewhere_total, globs, ..answer::Reserved::default() })
    }
}

/// The holds of others on the same files in other checkouts.
fn elsewhere(
    work: &mut UnitOfWork<'_>,
    patterns: &[Pattern],
    taking: &Taking<'_>,
    taken: &[hold::Row],
) -> Result<Vec<answer::Elsewhere>> {
    if taking.here.is_none() {
        return Ok(Vec::new());
    }
    let (checkouts, me) = (Checkouts::of(work)?, work.me());
    let own = |pattern: &Pattern| OwnHold {
        pattern: pattern.clone(),
        mode: taking.mode,
        checkout: taking.here.clone(),
        since: paths::other_checkouts::since(pattern, taken).unwrap_or(work.now),
    };
    let own: Vec<OwnHold> = patterns.iter().map(own).collect();
    let sight = paths::other_checkouts::CheckoutView {
        project: &work.project.id,
        now: work.now,
        dead: &work.dead,
        checkouts: &checkouts,
    };
    paths::other_checkouts::of(work.tx, &sight, me, &own)
}

/// How many of the free paths of a refused request its message names.
const FREE_NAMED: usize = 10;

/// The refusal for a blocked request.
pub(super) fn refusal(
    work: &mut UnitOfWork<'_>,
    patterns: &[Pattern],
    taking: &Taking<'_>,
    in_the_way: &Obstacles,
) -> Result<Error> {
    // The advice repeats the flags of the request: without them it would reserve something else.
    let again = |paths: Vec<String>, wait: bool| Action::Reserve {
        paths,
        wait,
        shared: taking.mode == Mode::Shared,
        all_checkouts: taking.here.is_none(),
        ttl_s: taking.ttl.map(Span::as_seconds),
    };
    let mut refusal = paths::held_by(work.tx, &work.project.id, (patterns, in_the_way), work.now)?;
    let free = &in_the_way.free;
    if patterns.len() > 1 {
        refusal = refusal.with(&FreePaths(free.clone()));
    }
    if !free.is_empty() {
        let named: Vec<String> = free.iter().take(FREE_NAMED).map(|path| cut(path, 120)).collect();
        let more = free.len() - named.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        refusal = refusal.hint(format!("Free of these: {}{more}.", named.join(", ")));
        if text::shell_words(free).is_some() {
            refusal = refusal.map_actions(|other| match other == ANOTHER_TASK {
                true => again(free.clone(), false),
                false => other,
            });
        }
    }
    // Relative to the root of the checkout. The door knows how they were typed.
    let typed: Vec<String> = patterns.iter().map(|pattern| pattern.text().to_owned()).collect();
    Ok(match text::shell_words(&typed) {
        Some(_) => refusal.attempt(again(typed, true)),
        None => refusal.hint("The same request with --wait joins the waiting line."),
    })
}

/// Reserves patterns, all or nothing, for `reserve` and for the edit guard. Returns the hold that answers each pattern,
/// or the obstacles.
pub(super) fn take(
    work: &mut UnitOfWork<'_>,
    patterns: &[Pattern],
    taking: &Taking<'_>,
) -> Result<Result<Vec<hold::Row>, Obstacles>> {
    let bound = bound(work)?;
    let wanted = taking.wanted(work.me(), patterns);
    let (live, steps) = match may_have(work, taking, &wanted)? {
        Ok(decided) => decided,
        Err(in_the_way) => return Ok(Err(in_the_way)),
    };
    limit::patterns(work, patterns, &steps)?;
    let fresh = paths::fresh_ids(work, steps.iter().filter(|step| **step == PatternDecision::Grant).count())?;
    let mut taken = carry_out(work, taking, &bound, (patterns, &steps, &live), fresh)?;
    // A longer TTL does not let a hold outlive its task.
    for row in taken.iter_mut().filter(|row| row.task.is_some() && row.task == bound.task) {
        row.expires_at = rule::ends(row.expires_at, bound.until.map(|(until, _)| until));
    }
    let site = paths::site(work, taking.here.as_ref())?;
    waiting::take(work, &Want::Paths(wanted, &site))?;
    Ok(Ok(taken))
}

/// The live holds around the request and the decision for each pattern, or the obstacles. This is the only place that
/// knows. `force` takes over the holds of other agents. Only a person gets them before the waiting agents.
fn may_have(
    work: &mut UnitOfWork<'_>,
    taking: &Taking<'_>,
    wanted: &PatternRequest<'_>,
) -> Result<Result<Decided, Obstacles>> {
    let around = paths::around(work, wanted.checkout, wanted.patterns)?;
    let (tx, sight) = work.look();
    let in_the_way = match waiting::decide(tx, &sight, wanted, &around)? {
        Ok(steps) => return Ok(Ok((around.live, steps))),
        Err(in_the_way) => in_the_way,
    };
    // A hold of another project can be ended only in that project.
    let is_ours = in_the_way.nested.iter().all(|one| one.owner.is_none());
    if !taking.force || !is_ours || !(in_the_way.places.is_empty() || overrides(work)) {
        return Ok(Err(in_the_way));
    }
    let rows: Vec<hold::Row> =
        in_the_way.holds.iter().chain(in_the_way.nested.iter().map(|one| &one.row)).cloned().collect();
    takeover::end(work, &rows, taking.reason)?;
    let ended = |row: &hold::Row| rows.iter().any(|ended| ended.id == row.id);
    let live: Vec<hold::Row> = around.live.into_iter().filter(|row| !ended(row)).collect();
    let steps = decide(wanted, &live.iter().map(paths::held).collect::<Result<Vec<_>>>()?)
        .map_err(|_| Error::bug("what stood in the way was ended"))?;
    Ok(Ok((live, steps)))
}

/// The live holds around a request, and the decision for each of its patterns.
type Decided = (Vec<hold::Row>, Vec<PatternDecision>);

/// The checkout of a request; `None` for all of them.
pub(super) fn place(work: &UnitOfWork<'_>, all_checkouts: bool) -> Result<Option<CheckoutId>> {
    if all_checkouts {
        return Ok(None);
    }
    if work.checkout.is_none() {
        return Err(Error::new(
            Code::NoCheckout,
            "the request names no checkout, and paths are relative to a checkout",
        )
        .hint("Call from inside a checkout, or request the path in all checkouts."));
    }
    Ok(work.checkout.clone())
}

/// The task in focus, if the actor holds it: new holds end with it.
fn bound(work: &mut UnitOfWork<'_>) -> Result<Bound> {
    let Some(focus) = work.focus().cloned() else { return Ok(Bound::default()) };
    let loaded = work.load(&focus)?;
    let title = loaded.full.task.title;
    let own = loaded.full.held.filter(|held| held.holder == work.me());
    Ok(own.map_or_else(Bound::default, |held| Bound {
        task: Some(focus),
        title,
        until: Some((held.expires_at, held.ttl)),
    }))
}

/// Carries out the decisions, one pattern after the other: each finds the holds as the previous one left them. Returns
/// the holds that answer the request, each once and in its final state.
fn carry_out(
    work: &mut UnitOfWork<'_>,
    taking: &Taking<'_>,
    bound: &Bound,
    (patterns, steps, live): (&[Pattern], &[PatternDecision], &[hold::Row]),
    fresh: Vec<HoldId>,
) -> Result<Vec<hold::Row>> {
    let given = taking.ttl.map(|ttl| (work.now + ttl, ttl));
    // The holds of a guard have the holder's task as their reason.
    let reason = if taking.by_session { taking.reason } else { &bound.title };
    let mut fresh = fresh.into_iter();
    let mut live = live.to_vec();
    let mut rows: Vec<hold::Row> = Vec::with_capacity(steps.len());
    let me = work.me();
    for (pattern, step) in patterns.iter().zip(steps) {
        let row = match step {
            // The hold that contains it is already among the answers.
            PatternDecision::Within(_) => continue,
            PatternDecision::Keep(at) => {
                let same = live[*at].subject == pattern.text();
                live[*at] = renew(work, &live[*at], live[*at].mode, (taking, given), (bound, same))?;
                live[*at].clone()
            }
            PatternDecision::Change(at) => {
                let mode = taking.mode;
                let changed = PathChanged { holder: me.to_string(), mode: Some(mode), fence: live[*at].fence.0 };
                work.freed |= mode < live[*at].mode;
                let about = About::of(&live[*at].subject).hold(&live[*at].id);
                work.append(about, Event::PathChanged(changed))?;
                live[*at] = renew(work, &live[*at], mode, (taking, given), (bound, true))?;
                live[*at].clone()
            }
            PatternDecision::Grant => {
                let granting = Granting {
                    pattern,
                    mode: taking.mode,
                    checkout: taking.here.as_ref(),
                    holder: me,
                    task: bound.task.as_ref(),
                    reason,
                    until: given.or(bound.until).unwrap_or((work.now + taking.alone, taking.alone)),
                    place: None,
                };
                let id = fresh.next().ok_or_else(|| Error::bug("fewer ids than grants"))?;
                let row = paths::grant(work, id, &granting, PathGrant::Reserve(taking.said.clone()))?;
                if !taking.by_session && row.task.is_none() {
                    path::renewed_by_edits(work.tx, &work.project.id, &row.id)?;
                }
                row
            }
        };
        match rows.iter().position(|known| known.id == row.id) {
            Some(at) => rows[at] = row,
            None => rows.push(row),
        }
    }
    Ok(rows)
}

/// Renews an own hold that answers a request: the same hold and the same fence. If it was requested by its own pattern,
/// it moves to the task in focus.
fn renew(
    work: &mut UnitOfWork<'_>,
    row: &hold::Row,
    mode: Mode,
    (taking, given): (&Taking<'_>, Option<(Time, Span)>),
    (bound, same): (&Bound, bool),
) -> Result<hold::Row> {
    let mut row = row.clone();
    let same = same || row.place.is_some();
    if same && bound.task.is_some() {
        row.task.clone_from(&bound.task);
    }
    let with_task = bound.until.filter(|_| row.task == bound.task && row.task.is_some());
    let ttl = if row.place.is_none() { row.ttl } else { taking.alone };
    (row.expires_at, row.ttl) = given.or(with_task).unwrap_or((work.now + ttl, ttl));
    row.mode = mode;
    if !taking.reason.is_empty() {
        taking.reason.clone_into(&mut row.reason);
    }
    let change = path::HoldChange {
        mode,
        expires_at: row.expires_at,
        ttl: row.ttl,
        reason: &row.reason,
        task: row.task.as_ref(),
        by_session: taking.by_session || row.task.is_some(),
    };
    path::change(work.tx, &work.project.id, &row.id, &change)?;
    if let Some(place) = row.place.take() {
        // The offer is taken: the fence stays, and the TTL starts.
        let taken = OfferTaken {
            kind: Some(row.kind.as_str().to_owned()),
            holder: row.holder.to_string(),
            fence: row.fence.0,
            place: place.into(),
            ttl_s: row.ttl.as_seconds(),
            expires_at: row.expires_at,
            task: Some(or_empty(row.task.as_ref()).to_owned()),
            checkout: Some(or_empty(row.checkout.as_ref()).to_owned()),
        };
        work.append(About::of(&row.subject).hold(&row.id), Event::OfferTaken(taken))?;
        work.freed = true;
    }
    Ok(row)
}
