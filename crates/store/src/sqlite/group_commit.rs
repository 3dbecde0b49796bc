//! Group commit: several writes in one transaction, with one turn, one sync, and answers after the commit.
//!
//! Each write has its own savepoint: one that fails or panics rolls back its own rows only. If SQLite rolls the whole
//! transaction back (a full disk), the writes are repeated one by one, so that each gets its own outcome. A transaction
//! that has lasted long enough is committed with what it has, because writers in other processes wait for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tenure_core::{Error, Result, Stage};

use super::{Open, Sqlite, SqliteTx, user_version};
use crate::error;
use crate::migrate::VERSION;
use crate::store::{CommitDecision, GroupWrite};

/// Why the writes could not share a transaction.
enum NotGrouped {
    /// Nothing was begun, or the commit was not acknowledged: the error applies to all writes.
    All(Error),
    /// The engine rolled the transaction back: each write may have a different outcome.
    Each,
}

/// The writes of one transaction and their progress.
struct GroupCommit<'a, T> {
    parts: &'a [&'a dyn GroupWrite<T>],
    /// One per write; `None` if the write was not reached.
    answers: Vec<Option<Result<T>>>,
}

impl Sqlite {
    pub(crate) fn write_many<T>(&self, parts: &[&dyn GroupWrite<T>], longest: Duration) -> Vec<Result<T>> {
        let mut all = GroupCommit { parts, answers: parts.iter().map(|_| None).collect() };
        if let Err(apart) = self.together(&mut all, longest) {
            for (part, answer) in parts.iter().zip(&mut all.answers).filter(|(_, answer)| answer.is_none()) {
                match &apart {
                    NotGrouped::All(error) => *answer = Some(Err(error.repeated())),
                    // Run the remaining writes of this call one by one; the next call may share a transaction again.
                    NotGrouped::Each => {
                        *answer = Some(self.write(part.project(), &|tx, entered| part.write_wanted(tx, entered)));
                        break;
                    }
                }
            }
        }
        all.answers.into_iter().map_while(|answer| answer).collect()
    }

    fn together<T>(&self, all: &mut GroupCommit<'_, T>, longest: Duration) -> Result<(), NotGrouped> {
        let mut writer = self.writer().map_err(NotGrouped::All)?;
        self.at_place(&mut writer).map_err(NotGrouped::All)?;
        let connection = self.connected(&mut writer).map_err(NotGrouped::All)?;
        let turn = self.turn().map_err(NotGrouped::All)?;
        // A caller that leaves after its write and before the commit gets no answer, so its write must not be
        // committed: the transaction is rolled back and repeated without it, in the same turn. Each round has fewer
        // writes than the one before.
        let done = loop {
            match self.round(connection, all, longest) {
                Ok(false) => {}
                Ok(true) => break Ok(()),
                Err(apart) => break Err(apart),
            }
        };
        drop(turn);
        self.large.end(connection);
        done
    }

    /// Whether the round was committed; if not, a caller left and the round must be repeated.
    fn round<T>(
        &self,
        connection: &Connection,
        all: &mut GroupCommit<'_, T>,
        longest: Duration,
    ) -> Result<bool, NotGrouped> {
        #[expect(clippy::disallowed_methods, reason = "how long a transaction lasts is no time of the domain")]
        let begun = Instant::now();
        let begin = connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| error::sqlite(error, Stage::Lock));
        begin.map_err(|error| NotGrouped::All(self.placed(error)))?;
        let open = Open(connection);
        let version = user_version(connection).map_err(NotGrouped::All)?;
        if version > VERSION {
            return Err(NotGrouped::All(error::newer_schema(version, VERSION)));
        }
        let mut tx = self.tx(connection);
        let mut drafts = Vec::new();
        for (at, part) in all.parts.iter().enumerate() {
            if all.answers[at].is_some() {
                continue;
            }
            if !drafts.is_empty() && begun.elapsed() >= longest {
                break;
            }
            if part.is_wanted() {
                drafts.push((at, self.part(&mut tx, *part)?));
            } else {
                all.answers[at] = Some(Err(error::unwanted()));
            }
        }
        drop(tx);
        let deciding = self.decide();
        let mut left = false;
        for (at, _) in drafts.iter().filter(|(at, _)| !all.parts[*at].is_wanted()) {
            all.answers[*at] = Some(Err(error::unwanted()));
            left = true;
        }
        if left {
            return Ok(false);
        }
        self.check_place(Stage::Write).map_err(NotGrouped::All)?;
        let commit = connection.execute_batch("COMMIT").map_err(|error| error::sqlite(error, Stage::Commit));
        commit.map_err(|error| NotGrouped::All(self.placed(error)))?;
        std::mem::forget(open);
        drop(deciding);
        self.check_kept(connection).map_err(NotGrouped::All)?;
        for (at, answer) in drafts {
            all.answers[at] = Some(answer);
        }
        Ok(true)
    }

    /// Runs one write in its own savepoint.
    fn part<T>(&self, tx: &mut SqliteTx<'_>, part: &dyn GroupWrite<T>) -> Result<Result<T>, NotGrouped> {
        let engine = |_: rusqlite::Error| NotGrouped::Each;
        tx.connection.prepare_cached("SAVEPOINT part").and_then(|mut run| run.raw_execute()).map_err(engine)?;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let entered = self.enter_project(tx, part.project())?;
            part.write(tx, entered)
        }));
        let (keep, answer) = match outcome {
            Ok(Ok(CommitDecision::Commit(answer))) => (true, Ok(answer)),
            Ok(Ok(CommitDecision::Undo(answer))) => (false, Ok(answer)),
            Ok(Err(error)) => (false, Err(self.placed(error))),
            Err(_) => (false, Err(error::panicked())),
        };
        if tx.connection.is_autocommit() {
            return Err(NotGrouped::Each);
        }
        if !keep {
            tx.connection.prepare_cached("ROLLBACK TO part").and_then(|mut run| run.raw_execute()).map_err(engine)?;
        }
        tx.connection.prepare_cached("RELEASE part").and_then(|mut run| run.raw_execute()).map_err(engine)?;
        Ok(answer)
    }
}
