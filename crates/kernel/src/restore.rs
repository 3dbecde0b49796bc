//! `restore`: replaces the content of a store with a backup, in one transaction.
//!
//! No client may continue as if nothing had happened. The store gets a new incarnation, so that old cursors are stale.
//! Numbers continue above every number that the store has ever issued ([`number::resumed`]), so that fences rise and
//! none is issued twice. All holds end, and no former holder may act late.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::hold::HoldExpired;
use tenure_core::event::project::{self as of_project, ClockStepped};
use tenure_core::hold::Ending;
use tenure_core::id::{ProjectId, StoreId, TaskId, TokenId};
use tenure_core::name::AgentName;
use tenure_core::number::{EventNumber, Fence, Point};
use tenure_core::task::TaskStatus;
use tenure_core::time::reading;
use tenure_core::{Code, Error, Kind, Result, Stage, Time, id, number};
use tenure_store::copy::{self, Backup, CopyProgress, Existing};
use tenure_store::table::{agent, hold, login, place, principal, project, task, token, web_session};
use tenure_store::{CommitDecision, Entered, Entropy, Present, Tx};

use crate::backup::{BackupTaken, check_events, take};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::mail::{self, EndedHold};
use crate::query::export::read_through;
use crate::settle;
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// What to do with a store that is not empty.
#[derive(Clone, Copy, Debug)]
pub enum Replace<'a> {
    /// Keep it and refuse the restore.
    Never,
    /// Replace it, after writing a backup of it to this path.
    After(&'a Path),
}

/// What this machine knows of earlier restores of this store. It is kept outside every store: if a restored store is
/// lost and the clock was set back since, the numbers of that restore are known nowhere else.
#[derive(Clone, Copy)]
pub struct Ledger<'a> {
    /// Where the numbers of the last restore began.
    pub earlier: Option<Point>,
    /// Records where the numbers of this restore begin. It is called before the commit: the record of a failed restore
    /// only makes the numbers of the next one higher.
    pub record: &'a dyn Fn(Point),
}

impl Ledger<'_> {
    /// For a machine that keeps no record.
    pub const NONE: Ledger<'static> = Ledger { earlier: None, record: &|_| {} };
}

/// Why a project continues from an earlier state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A backup was restored.
    Backup,
    /// The file of the store is a copy, or replaced another.
    Copy,
}

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The id of the store, which is that of the backup.
    pub store: StoreId,
    /// The new incarnation.
    pub incarnation: StoreId,
    /// The number of projects that are switched on.
    pub projects: i64,
    /// The number of events in the backup.
    pub events: i64,
    /// The number of holds that were live in the backup and have ended.
    pub ended_holds: i64,
    /// The backup of the previous content.
    pub safety: Option<BackupTaken>,
}

impl Kernel {
    /// Replaces everything in the store with a backup: all or nothing, visible to all readers at once. People only.
    pub fn restore(
        &self,
        call: &Call,
        backup: &Backup,
        replace: Replace<'_>,
        ledger: Ledger<'_>,
        progress: CopyProgress<'_>,
    ) -> Result<Restored> {
        if !call.actor.is_person() {
            return Err(people_only("restore"));
        }
        backup.read(|tx| {
            for project in copy::projects(tx)? {
                check_events(tx, &project)?;
                read_through(tx, &project.id).map_err(|error| copy::bad(error.message()).cause(error))?;
            }
            Ok(())
        })?;
        let incarnation = StoreId::draw(id::LONGEST, &mut |bytes| self.entropy().fill(bytes));
        self.store()
            .rewrite(|tx, present| {
                let safety = make_room(tx, &present, backup, replace)?;
                let taken_away = TakenAway::of(tx)?;
                copy::replace(tx, backup, progress).map_err(|error| match error.kind() {
                    // The schema's constraints refused the rows: the file is not a valid backup.
                    Kind::Internal => copy::bad("its rows are inconsistent").cause(error),
                    _ => error,
                })?;
                taken_away.again(tx)?;
                project::set_incarnation(tx, &incarnation, Time(0))?;
                let rows = copy::projects(tx)?;
                let start = resumed(&rows, &present, ledger.earlier)?;
                (ledger.record)(Point { number: start, at: present.clock });
                forget_newer(tx, &present, &rows, start)?;
                let all = copy::projects(tx)?;
                keep_start(tx, &all, (start, present.clock), self.entropy())?;
                let mut ended_holds = 0;
                let mut projects = 0;
                for row in rows {
                    let before = present.projects.iter().find(|before| before.key == row.key);
                    projects += i64::from(row.is_switched_on());
                    ended_holds += self.begin_again(tx, call, &present, (row, before), start, Cause::Backup)?;
                }
                Ok(CommitDecision::Commit(Restored {
                    store: backup.identity().id.clone(),
                    incarnation: incarnation.clone(),
                    projects,
                    events: backup.counts().iter().find(|(name, _)| *name == "event").map_or(0, |(_, rows)| *rows),
                    ended_holds,
                    safety,
                }))
            })
            .map_err(|error| match error.code() {
                Code::ConnectionLost if error.stage() == Stage::Commit => error.hint(
                    "It is unknown whether the restore was executed: if so, the log ends with project.restored. \
                     Check before you call again.",
                ),
                Code::ConnectionLost => error.hint("Nothing was changed. You may repeat the call."),
                _ => error,
            })
    }

    /// Continues a project from its backup, with numbers above `start`. `before` is the previous row with its key.
    /// Returns how many holds ended.
    pub(crate) fn begin_again(
        &self,
        tx: &mut dyn Tx,
        call: &Call,
        present: &Present,
        (mut row, before): (project::Row, Option<&project::Row>),
        start: EventNumber,
        cause: Cause,
    ) -> Result<i64> {
        let (last_event, last_time) = (row.last_event, row.last_time);
        row.last_event = start;
        row.counts = project::recount(tx, &row.id)?;
        if !row.is_switched_on() {
            row.first_event = row.last_event.next();
            project::save(tx, &row)?;
            return Ok(0);
        }
        // The backup may come from a machine whose clock was ahead. So, unlike the last time used here, its time is not
        // a lower bound. Otherwise nothing would lapse until the clock caught up.
        let (here, set_back) = reading(present.clock, before.and_then(project::Row::last_used));
        let (now, ahead) = reading(here, Some(last_time));
        let stepped = ahead.or(set_back);
        if stepped.is_some() {
            settle::cap(tx, &row, now)?;
        }
        let live = live(tx, &row.id)?;
        let ended = i64::try_from(live.len()).unwrap_or(i64::MAX);
        let project = row.id.clone();
        let mut work =
            UnitOfWork::new(tx, (self.entropy(), self.words()), call, "restore", (now, present.clock), row, None);
        let restored = Event::ProjectRestored(of_project::ProjectRestored {
            last_event,
            last_time,
            ended_holds: ended,
            copied: cause == Cause::Copy,
        });
        let number = work.append(About::of(&project), restored)?;
        if let Some(back) = stepped {
            let stepped = Event::ClockStepped(ClockStepped { seconds: back.as_seconds() });
            work.append(About::of("").cause(number), stepped)?;
        }
        for chunk in live.chunks(256) {
            end_all(&mut work, chunk, number)?;
        }
        place::end_all(work.tx, &project, now, "restored")?;
        work.project.waiting = 0;
        mail::end_with_holds(&mut work)?;
        let UnitOfWork { tx, project: row, .. } = work;
        task::fence_off_lapsed(tx, &project, Fence::from(number))?;
        agent::clear_all_focus(tx, &project)?;
        project::save(tx, &row)?;
        Ok(ended)
    }
}

/// The number after which the events of all projects continue.
fn resumed(rows: &[project::Row], present: &Present, earlier: Option<Point>) -> Result<EventNumber> {
    let issued = present.projects.iter().map(|before| before.last_event).max().unwrap_or_default();
    let backup = || rows.iter().map(|row| Point { number: row.last_event, at: row.last_time });
    number::resumed(issued, backup().chain(earlier), present.clock).ok_or_else(|| {
        let Some(earlier) = earlier.filter(|_| number::resumed(issued, backup(), present.clock).is_some()) else {
            return copy::bad("its numbers are out of range");
        };
        let text = "the record of an earlier restore of this store leaves no free numbers for another";
        Error::new(Code::NumbersUsedUp, text)
            .entity(&*present.identity.id)
            .hint("Nothing was changed. Numbers this high occur only in a backup that was changed by hand.")
            .person("If that backup is not in use, remove the record of this store in $XDG_STATE_HOME/tenure/restores.")
            .detail("number", earlier.number)
    })
}

/// Stores the number that a store without projects continues after, on the row reserved for the whole store. A project that
/// is created later begins there, because a project with its key may have been lost with the newer file.
pub(crate) fn keep_start(
    tx: &mut dyn Tx,
    projects: &[project::Row],
    (start, now): (EventNumber, Time),
    entropy: &dyn Entropy,
) -> Result<()> {
    if !projects.is_empty() {
        return Ok(());
    }
    let id = ProjectId::draw(8, &mut |bytes| entropy.fill(bytes));
    let row = project::Row::new(&project::whole_store(), id, now);
    project::insert(tx, &row)?;
    project::save(tx, &project::Row { first_event: start.next(), last_event: start, ..row })
}

/// Projects that began after the backup are treated as forgotten: their numbers are not issued again.
fn forget_newer(tx: &mut dyn Tx, present: &Present, kept: &[project::Row], start: EventNumber) -> Result<()> {
    let is_kept = |before: &&project::Row| kept.iter().any(|row| row.key == before.key);
    for before in present.projects.iter().filter(|before| before.last_event > EventNumber::START && !is_kept(before)) {
        let row = project::Row {
            last_event: start,
            first_event: start.next(),
            events: 0,
            counts: [0; 7],
            waiting: 0,
            ..before.clone()
        };
        project::insert(tx, &row)?;
        project::save(tx, &row)?;
    }
    Ok(())
}

/// Access that was revoked since the backup stays revoked: a restore recovers lost work and must not readmit anyone who
/// was shut out. All links and browser sessions end; people sign in again.
struct TakenAway {
    tokens: Vec<(TokenId, token::Revoked)>,
    principals: Vec<(AgentName, Time)>,
}

impl TakenAway {
    fn of(tx: &mut dyn Tx) -> Result<TakenAway> {
        Ok(TakenAway { tokens: token::revoked(tx)?, principals: principal::disabled(tx)? })
    }

    fn again(&self, tx: &mut dyn Tx) -> Result<()> {
        for (id, revoked) in &self.tokens {
            token::revoke(tx, id, revoked.at, &revoked.by)?;
        }
        for (name, at) in &self.principals {
            principal::set_disabled(tx, name, Some(*at))?;
        }
        login::clear(tx)?;
        web_session::clear(tx)
    }
}

/// Decides whether the existing content may be replaced, and saves it first.
fn make_room(tx: &mut dyn Tx, present: &Present, backup: &Backup, replace: Replace<'_>) -> Result<Option<BackupTaken>> {
    let used = present.projects.iter().filter(|project| project.is_switched_on()).count();
    if used == 0 {
        return Ok(None);
    }
    let refuse = |code, text: String| Error::new(code, text).entity(&*present.identity.id);
    if present.identity.id != backup.identity().id {
        return Err(refuse(Code::RestoreOtherStore, "the backup belongs to another store".to_owned())
            .hint("Nothing was changed. Name a new place for it with --store.")
            .detail("found", present.identity.id.clone())
            .detail("backup", backup.identity().id.clone()));
    }
    let Replace::After(path) = replace else {
        return Err(refuse(Code::StoreNotEmpty, format!("the store is not empty: projects in it: {used}"))
            .hint("Nothing was changed. To inspect the backup, name a new place for it with --store.")
            .person("A person replaces the content with --replace, after an automatic backup.")
            .detail("projects", used));
    };
    let entered = Entered { identity: present.identity.clone(), project: None, clock: present.clock };
    take(tx, &entered, path, Existing::Keep, &|_| {}).map(Some)
}

/// All holds that have not been ended.
fn live(tx: &mut dyn Tx, project: &str) -> Result<Vec<hold::Row>> {
    const PAGE: usize = 1_000;
    let mut all: Vec<hold::Row> = Vec::new();
    loop {
        let after = all.last().map_or((Time(i64::MIN), String::new()), |row| (row.expires_at, row.id.to_string()));
        let page = tx.fetch(hold::page(project, None, (after.0, &after.1), PAGE))?;
        let more = page.len() == PAGE;
        all.extend(page);
        if !more {
            return Ok(all);
        }
    }
}

/// Ends holds because of a restore. Unlike after a lapse, no former holder may still act late: the event of the restore
/// is a newer fence than theirs.
fn end_all(work: &mut UnitOfWork<'_>, holds: &[hold::Row], restored: EventNumber) -> Result<()> {
    let ids: Vec<TaskId> = holds.iter().filter_map(hold::Row::held_task).collect();
    let mut tasks = task::get_many(work.tx, &work.project.id, &ids)?;
    for held in holds {
        let ended_at = if tenure_core::hold::lapsed(work.now, held.expires_at) { held.expires_at } else { work.now };
        let expired = Event::HoldExpired(HoldExpired {
            kind: Some(held.kind.as_str().to_owned()),
            holder: held.holder.to_string(),
            fence: held.fence.0,
            granted_at: held.granted_at,
            expires_at: held.expires_at,
            ended_at,
            restored: true,
            ..HoldExpired::default()
        });
        let cause = work.append(About::of(&held.subject).hold(&held.id).cause(restored), expired)?;
        hold::end(work.tx, &work.project.id, &held.id, ended_at, Ending::Expired)?;
        if held.asked > 0 {
            work.over.push(EndedHold { hold: held.id.clone(), how: "restored", by: work.me().clone(), cause });
        }
        // A pattern may be spelled like the id of a task.
        let its = |full: &task::Full| held.is_task() && full.task.id == held.subject;
        let Some(at) = tasks.iter().position(its) else { continue };
        let mut full = tasks.swap_remove(at);
        let before = full.task.class();
        if full.task.status == TaskStatus::Started {
            full.task.set_status(TaskStatus::Open);
        }
        full.task.last_fence = Some(Fence::from(restored));
        full.task.last_holder = None;
        full.task.lapsed = false;
        work.store_task(before, &full.task)?;
    }
    Ok(())
}
