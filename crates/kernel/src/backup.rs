//! `backup`: the whole store as one file, and the checks of such a file.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tenure_core::id::StoreId;
use tenure_core::{Error, Result, Time};
use tenure_store::copy::{self, Backup, BackupFile, Copied, CopyProgress, Existing};
use tenure_store::table::{event, project};
use tenure_store::{Entered, Tx};

use crate::call::Call;
use crate::kernel::{Kernel, check_store};

/// An upper bound for event numbers. The increment of a restore still fits above it.
const NUMBER_MAX: i64 = 1 << 62;

/// The result of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupTaken {
    /// The id of the store.
    pub store: StoreId,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// The number of projects in it.
    pub projects: i64,
    /// The number of events in it.
    pub events: i64,
    /// The time of the snapshot.
    pub taken_at: Time,
    /// Defects of the store itself, and so of its backup.
    pub remarks: Vec<String>,
}

impl Kernel {
    /// Copies one snapshot of the store to a file, checks the copy and renames it into place. Writers are not blocked.
    pub fn backup(
        &self,
        call: &Call,
        to: &Path,
        existing: Existing,
        progress: CopyProgress<'_>,
    ) -> Result<BackupTaken> {
        let draft = BackupFile::beside(to)?;
        let version = self.store().schema_version()?;
        if version > tenure_store::migrate::VERSION {
            return Err(tenure_store::error::newer_schema(version, tenure_store::migrate::VERSION));
        }
        let (copied, at) = self.store().read("", |tx, entered| {
            check_store(call, &entered)?;
            Ok((copy::write(tx, &entered, &draft, progress)?, entered.clock))
        })?;
        publish(draft, &copied, at, existing)
    }
}

/// Takes a backup inside a transaction that excludes all other writers.
pub(crate) fn take(
    tx: &mut dyn Tx,
    entered: &Entered,
    to: &Path,
    existing: Existing,
    progress: CopyProgress<'_>,
) -> Result<BackupTaken> {
    let draft = BackupFile::beside(to)?;
    let copied = copy::write(tx, entered, &draft, progress)?;
    publish(draft, &copied, entered.clock, existing)
}

/// Checks a copy by reading it as a restore would, then publishes it.
fn publish(draft: BackupFile, copied: &Copied, taken_at: Time, existing: Existing) -> Result<BackupTaken> {
    let (projects, remarks) = {
        let backup = Backup::open(draft.path())?;
        if backup.identity() != &copied.identity || backup.counts() != copied.rows {
            return Err(Error::bug("the copy differs from the store"));
        }
        backup.read(|tx| {
            let (mut projects, mut remarks) = (0, Vec::new());
            for project in copy::projects(tx)? {
                check_events(tx, &project)?;
                projects += i64::from(project.is_switched_on());
                if project::recount(tx, &project.id)? != project.counts {
                    remarks.push(format!("counters of {} differ from what they count", project.key));
                }
            }
            Ok((projects, remarks))
        })?
    };
    let mut hasher = Sha256::new();
    let size = draft.read(&mut |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    draft.publish(existing)?;
    Ok(BackupTaken {
        store: copied.identity.id.clone(),
        size,
        sha256: hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        projects,
        events: copied.count("event"),
        taken_at,
        remarks,
    })
}

/// Checks that the counters on a project's row match its events: everything continues from these numbers.
pub(crate) fn check_events(tx: &mut dyn Tx, project: &project::Row) -> Result<()> {
    let (count, oldest, newest) = event::extent(tx, &project.id)?;
    let numbers = [project.last_event.get(), project.last_task, project.holds_issued, project.last_time.0];
    let fits = (1..=NUMBER_MAX).contains(&project.first_event.get())
        && numbers.iter().all(|number| (0..=NUMBER_MAX).contains(number))
        && !project.key.is_empty();
    let sound = count == project.events
        && match count {
            0 => true,
            _ => oldest >= project.first_event && newest == project.last_event,
        };
    if fits && sound {
        return Ok(());
    }
    Err(copy::bad(format!("the events of {} do not match its row", project.key)).entity(&*project.key))
}
