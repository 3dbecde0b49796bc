//! The machine's record of restores: where the numbers of a store continued when it was last restored, or when its file
//! turned out to be a copy.
//!
//! When a restored store is lost and its backup restored again, the clock puts the numbers above those of the lost store,
//! unless it was set back in between. This record is for that case, so it is kept outside every store, with the user's own
//! state: one small file for each id of a store. It also names the database file, so that an older file which is moved back
//! to the same place is noticed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_core::number::{EventNumber, Point};
use tenure_core::{Code, Error, Kind, Result, Stage, Time};
use tenure_store::Continued;

use super::pin;
use super::process::HostFacts;
use crate::env::Env;

#[derive(Serialize, Deserialize)]
struct RestoreRecord {
    number: EventNumber,
    /// The clock in microseconds.
    at: i64,
    /// The file in which the store continued; absent on PostgreSQL, and until a restore is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    /// The machine of that file. A home directory may be shared by machines that each have a copy at the same path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
}

/// The records of the user, for a store that continues by itself. A record that cannot be used is passed over: no caller is
/// there to read about it.
pub(crate) struct Records {
    state_home: Option<PathBuf>,
    host: String,
}

impl Records {
    pub(crate) fn of(env: &Env) -> Records {
        Records { state_home: env.state_home(), host: HostFacts::host(env) }
    }
}

impl Continued for Records {
    fn earlier(&self, store: &str) -> Option<Point> {
        read(file_of(self.state_home.as_deref(), store)).ok().flatten().map(|record| record.point())
    }

    fn continued_at(&self, store: &str, file: &Path) -> Option<EventNumber> {
        let record = read(file_of(self.state_home.as_deref(), store)).ok().flatten()?;
        if record.host.as_ref() != Some(&self.host) {
            return None;
        }
        (record.file? == file.canonicalize().ok()?).then_some(record.number)
    }

    fn record(&self, store: &str, point: Point, file: Option<&Path>) {
        let _ = write(file_of(self.state_home.as_deref(), store), point, file.map(|file| (file, self.host.clone())));
    }
}

impl RestoreRecord {
    fn point(&self) -> Point {
        Point { number: self.number, at: Time(self.at) }
    }
}

/// What is recorded of the last restore of a store.
pub(crate) fn earlier(env: &Env, store: &str) -> Result<Option<Point>> {
    Ok(read(file_of(env.state_home().as_deref(), store))?.map(|record| record.point()))
}

/// Records a restore of a store, and once it is committed the file that the store is in.
pub(crate) fn record(env: &Env, store: &str, point: Point, file: Option<&Path>) -> Result<()> {
    write(file_of(env.state_home().as_deref(), store), point, file.map(|file| (file, HostFacts::host(env))))
}

fn read(file: Option<PathBuf>) -> Result<Option<RestoreRecord>> {
    let Some(file) = file else { return Ok(None) };
    let Some(text) = pin::read(&file)? else { return Ok(None) };
    let record = serde_json::from_str(&text).map_err(|error| {
        failed(Code::ProjectFileCorrupt, format!("{} is not a record of a restore", file.display())).cause(error)
    })?;
    Ok(Some(record))
}

fn write(record: Option<PathBuf>, point: Point, place: Option<(&Path, String)>) -> Result<()> {
    let Some(record) = record else {
        return Err(failed(Code::NoHome, "HOME is not set and the user has no home directory".to_owned()));
    };
    // A path that is not text cannot be written; the number counts without it.
    let place =
        place.and_then(|(file, host)| Some((file.canonicalize().ok().filter(|file| file.to_str().is_some())?, host)));
    let (file, host) = place.unzip();
    let text = serde_json::to_string(&RestoreRecord { number: point.number, at: point.at.0, file, host })
        .map_err(|error| Error::bug("the record of a restore cannot be written").cause(error))?;
    if let Some(dir) = record.parent().and_then(Path::parent) {
        std::fs::create_dir_all(dir).map_err(|error| {
            failed(Code::ProjectFileUnwritable, format!("{} cannot be created: {error}", dir.display())).cause(error)
        })?;
    }
    pin::replace_file(&record, (text + "\n").as_bytes())
}

/// The file of a store; none for an id that no store has, which might be a path to another file.
fn file_of(state_home: Option<&Path>, store: &str) -> Option<PathBuf> {
    if !store.starts_with("s-") || !tenure_core::id::is_prefix(store) {
        return None;
    }
    Some(state_home?.join("tenure/restores").join(format!("{store}.json")))
}

fn failed(code: Code, message: String) -> Error {
    Error::new(code, message).with_kind(Kind::Storage).at(Stage::Resolve)
}
