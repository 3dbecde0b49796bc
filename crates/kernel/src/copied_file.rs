//! Continuing an embedded store whose file is a copy, or replaced a newer file.
//!
//! This process cannot know what the store issued after the copy was taken. So the store continues as after a restore:
//! a new incarnation, numbers above all that were issued, no live hold. The first call that must write does this in its own
//! transaction and then runs like any other. Continuing is settling: the call may be refused afterwards. A replay changes
//! nothing, and neither does a call that is refused independently of any hold. Queries read the file as it is.

use std::time::Duration;

use tenure_core::number::{self, EventNumber, Point};
use tenure_core::{Code, Error, Kind, Result, id};
use tenure_store::table::{checkout, login, project, web_session};
use tenure_store::{CommitDecision, Entered, GroupWrite, Present, Tx};

use crate::call::{Actor, Call};
use crate::kernel::{Kernel, SETTLER, check_store};
use crate::restore::{Cause, keep_start};

/// Computes the answer to a call that changes nothing, from the existing rows; `None` if the call must run.
pub(crate) type Unchanged<'a, T> = &'a dyn Fn(&mut dyn Tx, Entered) -> Result<Option<T>>;

impl Kernel {
    /// Writes to the store. If the file is a copy, it is continued first.
    pub(crate) fn write<T>(
        &self,
        call: &Call,
        unchanged: Unchanged<'_, T>,
        body: impl Fn(&mut dyn Tx, Entered) -> Result<CommitDecision<T>>,
    ) -> Result<T> {
        match self.store().write(&call.project, &body) {
            Err(error) if error.code() == Code::CopiedFile => match self.continue_in_copy(call, unchanged)? {
                Some(answer) => Ok(answer),
                None => self.store().write(&call.project, body),
            },
            answer => answer,
        }
    }

    /// Writes several parts to the store. If the file is a copy, it is continued first. `calls` are the calls of the
    /// parts, in the same order.
    pub(crate) fn write_many<T>(
        &self,
        calls: &[(&Call, Unchanged<'_, T>)],
        parts: &[&dyn GroupWrite<T>],
        longest: Duration,
    ) -> Vec<Result<T>> {
        let answers = self.store().write_many(parts, longest);
        // The parts share the file, so nothing was written for any of them.
        let is_copied = matches!(answers.first(), Some(Err(error)) if error.code() == Code::CopiedFile);
        if !is_copied {
            return answers;
        }
        let mut settled = Vec::new();
        for (call, unchanged) in calls.iter().take(answers.len()) {
            match self.continue_in_copy(call, *unchanged) {
                Ok(Some(answer)) => settled.push(Ok(answer)),
                Ok(None) => {
                    settled.extend(self.store().write_many(&parts[settled.len()..], longest));
                    return settled;
                }
                // This call may not use the store, but another call of the group may.
                Err(error) if error.kind() == Kind::Conflict => settled.push(Err(error)),
                Err(error) => {
                    let left = answers.len() - settled.len();
                    settled.extend((0..left).map(|_| Err(error.repeated())));
                    return settled;
                }
            }
        }
        settled
    }

    /// Continues the store, unless the call has an answer that changes nothing.
    fn continue_in_copy<T>(&self, call: &Call, unchanged: Unchanged<'_, T>) -> Result<Option<T>> {
        let incarnation = id::draw(id::Sort::Store, id::LONGEST, &mut |bytes| self.entropy().fill(bytes));
        self.store().rewrite(|tx, present| {
            // A call for another store does not change this one.
            let project = present.projects.iter().find(|row| row.key == call.project.key).cloned();
            let entered = Entered { identity: present.identity.clone(), project, clock: present.clock };
            check_store(call, &entered)?;
            check_condition(tx, call, &present)?;
            if !present.is_copied {
                // Another process has already done it.
                return Ok(CommitDecision::Undo(None));
            }
            if let Some(answer) = unchanged(tx, entered)? {
                return Ok(CommitDecision::Undo(Some(answer)));
            }
            project::set_incarnation(tx, &incarnation, present.clock)?;
            login::clear(tx)?;
            web_session::clear(tx)?;
            let start = self.resumed_in_copy(&present)?;
            keep_start(tx, &present.projects, (start, present.clock), self.entropy())?;
            for row in present.projects.clone() {
                let name = project::NamedProject { key: row.key.clone(), label: row.label.clone() };
                let call = Call::new(name, Actor::named(SETTLER), self.entropy());
                self.begin_again(tx, &call, &present, (row, None), start, Cause::Copy)?;
            }
            Ok(CommitDecision::Commit(None))
        })
    }

    /// The number after which all projects continue, recorded on this machine.
    fn resumed_in_copy(&self, present: &Present) -> Result<EventNumber> {
        let store = &present.identity.id;
        let issued = present.projects.iter().map(|row| row.last_event).max().unwrap_or_default();
        let rows = present.projects.iter().map(|row| Point { number: row.last_event, at: row.last_time });
        let earlier = self.continued().and_then(|continued| continued.earlier(store));
        let start = number::resumed(issued, rows.chain(earlier), present.clock).ok_or_else(|| {
            let text = "this store has no free numbers left to continue with in another file";
            Error::new(Code::NumbersUsedUp, text).entity(store).hint(
                "Nothing was changed. Numbers this high occur only in a store that was changed by hand: restore a \
                 backup.",
            )
        })?;
        if let Some(continued) = self.continued() {
            continued.record(store, Point { number: start, at: present.clock }, self.store().file());
        }
        Ok(start)
    }
}

/// A call that is refused because only a repository names the store must not change the store either.
fn check_condition(tx: &mut dyn Tx, call: &Call, present: &Present) -> Result<()> {
    let project = present.projects.iter().find(|row| row.key == call.project.key);
    let places = match (project, &call.checkout) {
        (Some(project), Some(here)) => tx.fetch(checkout::of_host(&project.id, &here.host))?,
        _ => Vec::new(),
    };
    call.condition.check(tx, call, (project, present.clock), &places)
}
