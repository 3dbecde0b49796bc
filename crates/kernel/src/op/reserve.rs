//! Takes paths, all or none: patterns of one checkout, exclusive or shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::hold::{self as rule, Mode};
use tenure_core::pattern::Pattern;
use tenure_core::reserve::{Step, UNANCHORED_AGENT, UNANCHORED_PROJECT, Wanted, decide};
use tenure_core::{Error, Kind, Result, Span, Time, event, text};
use tenure_store::table::{hold, path};

use crate::paths::{self, Granting};
use crate::shape;
use crate::steal;
use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Patterns relative to the top of the checkout, at most 256: a path as it is, a directory with a trailing `/`, or a
    /// glob after `glob:`.
    pub paths: Vec<String>,
    /// Whether others may have them too, if they share them.
    #[serde(default)]
    pub shared: bool,
    /// How long the holds live after the holder's last op, 1 second to 24 hours; without it as the task in focus, else
    /// one hour.
    #[serde(default)]
    pub ttl_s: Option<i64>,
    /// What they are for.
    #[serde(default)]
    pub reason: String,
    /// Whether the paths are meant in every checkout of the project.
    #[serde(default)]
    pub all_checkouts: bool,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default)]
    pub fold_case: bool,
    /// Whether they are taken from whoever has them: by a person, or by an agent from holders that are gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl Request {
    pub(crate) fn check(&self) -> Result<()> {
        self.ttl_s.map(|seconds| rule::ttl(Span::seconds(seconds))).transpose()?;
        text::body(&self.reason, "reason")?;
        paths::read(&self.paths, self.fold_case).map(|_| ())
    }

    fn mode(&self) -> Mode {
        if self.shared { Mode::Shared } else { Mode::Exclusive }
    }
}

/// The task that new holds go with.
#[derive(Default)]
struct Bound {
    task: String,
    until: Option<(Time, Span)>,
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Reserved> {
    let patterns = paths::read(&request.paths, request.fold_case)?;
    let here = place(unit, request.all_checkouts)?;
    let bound = bound(unit)?;
    let (live, steps) = may_have(unit, request, &here, &patterns)?;
    refuse_too_many_unanchored(unit, &patterns, &steps)?;
    let fresh = paths::fresh_ids(unit, steps.iter().filter(|step| **step == Step::Grant).count())?;
    let carried_out = carry_out(unit, request, &here, &bound, (&patterns, &steps, &live), fresh)?;
    let mut holds: Vec<shape::Hold> = Vec::with_capacity(carried_out.len());
    for row in carried_out {
        if !holds.iter().any(|hold| hold.id == row.id) {
            holds.push(paths::shown(unit, &row));
        }
    }
    Ok(shape::Reserved { holds })
}

/// The live holds around the request and what becomes of each pattern: the one place that knows who stands in its way.
fn may_have(
    unit: &mut Unit<'_>,
    request: &Request,
    here: &str,
    patterns: &[Pattern],
) -> Result<(Vec<hold::Row>, Vec<Step>)> {
    let live = paths::live(unit, here, patterns)?;
    let wanted = Wanted { agent: unit.me(), checkout: here, mode: request.mode(), patterns };
    let these = match decide(&wanted, &live.iter().map(paths::held).collect::<Result<Vec<_>>>()?) {
        Ok(steps) => return Ok((live, steps)),
        Err(these) => these,
    };
    let (stand, rest): (Vec<_>, Vec<_>) = live.into_iter().enumerate().partition(|(at, _)| these.contains(at));
    let in_the_way: Vec<hold::Row> = stand.into_iter().map(|(_, row)| row).collect();
    if !request.force {
        let rows: Vec<&hold::Row> = in_the_way.iter().collect();
        return Err(paths::held_by(unit.tx, &unit.project.id, (patterns, &rows), unit.now)?);
    }
    steal::end(unit, &in_the_way, &request.reason)?;
    let live: Vec<hold::Row> = rest.into_iter().map(|(_, row)| row).collect();
    let steps = decide(&wanted, &live.iter().map(paths::held).collect::<Result<Vec<_>>>()?)
        .map_err(|_| Error::bug("what stood in the way was ended"))?;
    Ok((live, steps))
}

/// The checkout that a request is about, empty for all of them.
fn place(unit: &Unit<'_>, all_checkouts: bool) -> Result<String> {
    if all_checkouts {
        return Ok(String::new());
    }
    if unit.checkout.is_empty() {
        return Err(Error::refused(
            Kind::Usage,
            "no_checkout",
            "the request comes from no checkout, and paths are relative to one",
        )
        .hint("Call from inside a checkout, or ask for all of them."));
    }
    Ok(unit.checkout.clone())
}

/// The task in focus, if the actor holds it: what is reserved now ends with it.
fn bound(unit: &mut Unit<'_>) -> Result<Bound> {
    let focus = unit.focus().to_owned();
    if focus.is_empty() {
        return Ok(Bound::default());
    }
    let loaded = unit.load(&focus)?;
    let own = loaded.full.held.filter(|held| held.holder == unit.me());
    Ok(own.map_or_else(Bound::default, |held| Bound { task: focus, until: Some((held.expires_at, held.ttl)) }))
}

fn refuse_too_many_unanchored(unit: &mut Unit<'_>, patterns: &[Pattern], steps: &[Step]) -> Result<()> {
    let new = patterns.iter().zip(steps).filter(|(pattern, step)| **step == Step::Grant && !pattern.is_anchored());
    let new = i64::try_from(new.count()).unwrap_or(i64::MAX);
    if new == 0 {
        return Ok(());
    }
    let me = unit.me();
    let (all, own) = path::unanchored(unit.tx, &unit.project.id, me, unit.now)?;
    if all + new <= UNANCHORED_PROJECT && own + new <= UNANCHORED_AGENT {
        return Ok(());
    }
    Err(Error::refused(
        Kind::Usage,
        "too_many_unanchored",
        format!(
            "patterns that begin with a wildcard may be anywhere, and there are many: {own} of yours (at most \
             {UNANCHORED_AGENT}), {all} in the project (at most {UNANCHORED_PROJECT})"
        ),
    )
    .hint("Begin the pattern with a directory, or release others first.")
    .attempt("tenure holds --mine"))
}

/// Writes what was decided. Returns the hold that answers each pattern.
fn carry_out(
    unit: &mut Unit<'_>,
    request: &Request,
    here: &str,
    bound: &Bound,
    (patterns, steps, live): (&[Pattern], &[Step], &[hold::Row]),
    fresh: Vec<String>,
) -> Result<Vec<hold::Row>> {
    let reason = text::body(&request.reason, "reason")?;
    let given = request.ttl_s.map(Span::seconds).map(|ttl| (unit.now + ttl, ttl));
    let mut fresh = fresh.into_iter();
    let mut rows: Vec<hold::Row> = Vec::with_capacity(steps.len());
    let me = unit.me();
    for (pattern, step) in patterns.iter().zip(steps) {
        let row = match step {
            Step::Within(earlier) => rows[*earlier].clone(),
            Step::Keep(at) => {
                let same = live[*at].subject == pattern.text();
                renew(unit, &live[*at], live[*at].mode, given, (&reason, bound, same))?
            }
            Step::Change(at) => {
                let mode = request.mode();
                let data = json!({ "holder": me, "mode": mode.as_str(), "fence": live[*at].fence });
                unit.append(event::kind::PATH_CHANGED, &live[*at].subject, &live[*at].id, None, &data)?;
                renew(unit, &live[*at], mode, given, (&reason, bound, true))?
            }
            Step::Grant => {
                let granting = Granting {
                    pattern,
                    mode: request.mode(),
                    checkout: here,
                    holder: me,
                    task: &bound.task,
                    reason: &reason,
                    until: given.or(bound.until).unwrap_or((unit.now + rule::PATH_TTL, rule::PATH_TTL)),
                };
                let id = fresh.next().ok_or_else(|| Error::bug("fewer ids than grants"))?;
                paths::grant(unit, id, &granting, (event::kind::PATH_RESERVED, json!({})))?
            }
        };
        rows.push(row);
    }
    Ok(rows)
}

/// An own hold that answers a request: the same one and the same fence, renewed. Asked for by its own pattern, it goes on
/// with the task that is in focus now.
fn renew(
    unit: &mut Unit<'_>,
    row: &hold::Row,
    mode: Mode,
    given: Option<(Time, Span)>,
    (reason, bound, same): (&str, &Bound, bool),
) -> Result<hold::Row> {
    let mut row = row.clone();
    if same && !bound.task.is_empty() {
        row.task.clone_from(&bound.task);
    }
    let with_task = bound.until.filter(|_| row.task == bound.task && !row.task.is_empty());
    (row.expires_at, row.ttl) = given.or(with_task).unwrap_or((unit.now + row.ttl, row.ttl));
    row.mode = mode;
    if !reason.is_empty() {
        reason.clone_into(&mut row.reason);
    }
    let change = path::Change { mode, expires_at: row.expires_at, ttl: row.ttl, reason: &row.reason, task: &row.task };
    path::change(unit.tx, &unit.project.id, &row.id, &change)?;
    Ok(row)
}
