//! Records a commit: the holds on the committed files have served their purpose, and agents that hold these files in
//! other checkouts are notified.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::hold::{PathCommitted, PathReleased};
use tenure_core::event::message::MessageSent;
use tenure_core::hold::Ending;
use tenure_core::id::{HoldId, MessageId, or_empty};
use tenure_core::message::{Urgency, about_commit, is_notice};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::pattern::{Pattern, PatternForm};
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result};
use tenure_store::table::{delivery, hold, mail, message};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::paths::{self, FileSet};
use crate::unit_of_work::{About, UnitOfWork};

/// The maximum number of files of one commit that are examined.
pub const PATHS_MAX: usize = 10_000;
/// The maximum number of files that the event names.
const NAMED_MAX: usize = 200;
/// The maximum number of agents that one commit notifies.
const TOLD_MAX: usize = 100;
/// The maximum number of commits in one unread notice.
const LINES_MAX: usize = 5;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    /// The id of the commit.
    pub commit: String,
    /// Its files, relative to the top of the checkout, at most 10,000.
    pub paths: Vec<String>,
    /// The number of further files.
    #[serde(default)]
    pub more: i64,
    /// The files that still have the committed content.
    #[serde(default)]
    pub clean: Vec<String>,
    /// Whether the checkout's file system ignores case.
    #[serde(default)]
    pub fold_case: bool,
}

impl Operation for Committed {
    const NAME: &'static str = "committed";
    const ABOUT: &'static str = "Record a commit, which ends the holds on its files";
    const DOORS: &'static [Door] = &[Door::Hook];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::CommitRecorded;

    fn check(&self) -> Result<()> {
        if !(4..=64).contains(&self.commit.len()) || !self.commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let shown = tenure_core::text::excerpt(&self.commit);
            return Err(Error::usage(Code::BadCommit, format!("`{shown}` is not the id of a commit")));
        }
        for paths in [&self.paths, &self.clean] {
            if paths.len() > PATHS_MAX {
                let message = format!("there are {} files; the limit is {PATHS_MAX}", paths.len());
                return Err(Error::usage(Code::TooManyPaths, message));
            }
            paths.iter().try_for_each(|path| super::tool_used::check_path(path))?;
        }
        Ok(())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::CommitRecorded> {
        let (me, project) = (work.me(), work.project.id.clone());
        super::tool_used::fired(work, "git", "post-commit")?;
        let named: Vec<String> = self.paths.iter().take(NAMED_MAX).cloned().collect();
        let more = self.more.max(0) + i64::try_from(self.paths.len() - named.len()).unwrap_or(0);
        let committed = PathCommitted {
            commit: self.commit.clone(),
            paths: named,
            more,
            task: or_empty(work.focus()).to_owned(),
            checkout: or_empty(work.checkout.as_ref()).to_owned(),
        };
        let number = work.append(About::of(&self.commit), Event::PathCommitted(committed))?;
        let files = FileSet::of(&self.paths, self.fold_case);
        let everywhere = paths::scope(work.tx, &project, None)?;
        let mut held = files.held(work.tx, &project, &everywhere)?;
        held.retain(|(row, _)| paths::counts(row, work.now, &work.dead));
        let (own, others): (Vec<_>, Vec<_>) = held.into_iter().partition(|(row, _)| row.holder == me);
        let released = release(work, self, number, own)?;
        let mut told: BTreeMap<AgentName, Vec<(hold::Row, Pattern)>> = BTreeMap::new();
        for (row, pattern) in others {
            if told.len() < TOLD_MAX || told.contains_key(&row.holder) {
                told.entry(row.holder.clone()).or_default().push((row, pattern));
            }
        }
        for holds in told.values() {
            tell(work, self, number, (&files, holds))?;
        }
        Ok(answer::CommitRecorded { commit: self.commit.clone(), number, released, told: told.into_keys().collect() })
    }
}

/// Ends the actor's own holds on single files that are committed and unchanged since. A hold on more than one file, or
/// on all checkouts, is meant to last longer. A hold of a task that is not in focus stays for that task.
fn release(
    work: &mut UnitOfWork<'_>,
    request: &Committed,
    number: EventNumber,
    own: Vec<(hold::Row, Pattern)>,
) -> Result<Vec<HoldId>> {
    let clean: BTreeSet<&str> = request.clean.iter().map(String::as_str).collect();
    let files = FileSet::of(request.paths.iter().filter(|path| clean.contains(path.as_str())), request.fold_case);
    let focus = work.focus().cloned();
    let mut released = Vec::new();
    for (row, pattern) in own {
        let here = row.checkout.is_some() && row.checkout == work.checkout;
        let is_done = here && pattern.form() == PatternForm::Path && (row.task.is_none() || row.task == focus);
        if is_done && files.within(&pattern).next().is_some() {
            let said = PathReleased {
                commit: Some(request.commit.clone()),
                task: Some(or_empty(row.task.as_ref()).to_owned()),
                ..PathReleased::default()
            };
            paths::end(work, &row, Ending::Released, Some(number), said)?;
            if released.len() < NAMED_MAX {
                released.push(row.id);
            }
        }
    }
    Ok(released)
}

/// Notifies an agent of a commit to files it holds: one message, which replaces an unread one about the same hold.
fn tell(
    work: &mut UnitOfWork<'_>,
    request: &Committed,
    cause: EventNumber,
    (files, holds): (&FileSet, &[(hold::Row, Pattern)]),
) -> Result<()> {
    let Some((row, _)) = holds.first() else { return Ok(()) };
    let project = work.project.id.clone();
    let line = line(work, request, (files, holds));
    let unread = unread(work, row)?;
    let id = match &unread {
        Some(old) => old.id.clone(),
        None => fresh(work)?,
    };
    let about = about_commit(&request.commit);
    let sent =
        MessageSent { to: vec![row.holder.to_string()], about: about.clone(), notice: true, ..MessageSent::default() };
    let number = work.append(About::of(&id).hold(&row.id).cause(cause), Event::MessageSent(sent))?;
    let lines = std::iter::once(line.as_str());
    let before = unread.as_ref().map_or("", |old| old.text.as_str());
    let text: Vec<&str> = lines.chain(before.lines()).take(LINES_MAX).collect();
    let notice = message::Row {
        id,
        number,
        author: work.me().clone(),
        recipients: vec![row.holder.clone()],
        about: Some(about),
        hold: Some(row.id.clone()),
        urgency: Urgency::Normal,
        request: false,
        text: text.join("\n"),
        at: work.now,
        ended: None,
        reply_to: None,
        thread: None,
    };
    if unread.is_some() {
        message::renew(work.tx, &project, &notice)?;
        return mail::renew(work.tx, &project, &row.holder, &notice.id, number);
    }
    message::insert(work.tx, &project, &notice)?;
    mail::insert(work.tx, &project, &row.holder, number, &notice.id, mail::What::Message)?;
    hold::ask(work.tx, &project, &row.id)
}

/// The notice about a hold that its recipient has not yet confirmed.
fn unread(work: &mut UnitOfWork<'_>, row: &hold::Row) -> Result<Option<message::Row>> {
    if row.asked == 0 {
        return Ok(None);
    }
    let project = work.project.id.clone();
    let about = message::about_hold(work.tx, &project, &row.id)?;
    let Some(notice) = about.into_iter().rfind(|message| message.about.as_deref().is_some_and(is_notice)) else {
        return Ok(None);
    };
    let confirmed = work
        .tx
        .fetch(delivery::get(&project, &row.holder))?
        .map_or(EventNumber::START, |cursors| cursors.mail_confirmed);
    Ok(Some(notice).filter(|notice| notice.number > confirmed))
}

fn fresh(work: &mut UnitOfWork<'_>) -> Result<MessageId> {
    let drawn = work.draw_next();
    let taken = work.tx.fetch(message::exists(&work.project.id, &drawn))?;
    if taken { work.redraw() } else { Ok(drawn) }
}

/// The line of a notice about one commit, on one line whatever the file names contain.
fn line(work: &UnitOfWork<'_>, request: &Committed, (files, holds): (&FileSet, &[(hold::Row, Pattern)])) -> String {
    let mut met: BTreeSet<&str> = BTreeSet::new();
    for (_, pattern) in holds {
        met.extend(files.within(pattern));
    }
    let first = met.first().map_or(String::new(), |path| cut(path, 120));
    let more = if met.len() > 1 { format!(" and {} more", met.len() - 1) } else { String::new() };
    let place = work.call.checkout.as_ref().map_or(String::new(), |here| format!(" in {}", cut(&here.path, 120)));
    let held = match holds {
        [(row, _)] => format!("your hold {} on {}", row.id, cut(&row.subject, 120)),
        several => format!("{} of your holds", several.len()),
    };
    let is_here = |row: &hold::Row| row.checkout.is_none() || row.checkout == work.checkout;
    let apart = if holds.iter().any(|(row, _)| is_here(row)) { "" } else { ", in another checkout" };
    format!("{} committed {first}{more} as {}{place}: {held}{apart}.", work.me(), cut(&request.commit, 12))
}
