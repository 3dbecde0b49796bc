//! The machine's record of restores: where the numbers of a store continued when it was last restored, or when its file
//! turned out to be a copy.
//!
//! When a restored store is lost and its backup restored again, the clock puts the numbers above those of the lost store,
//! unless it was set back in between. This record is for that case, so it is kept outside every store, with the user's own
//! state: one small file for each id of a store.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_core::number::Point;
use tenure_core::{Code, Error, Kind, Result, Stage, Time};
use tenure_store::Continued;

use super::pin;
use crate::env::Env;

#[derive(Serialize, Deserialize)]
struct RestoreRecord {
    number: i64,
    /// The clock in microseconds.
    at: i64,
}

/// The records of the user, for a store that continues by itself: nobody is there to be told of a record that cannot be used.
pub(crate) struct Records(Option<PathBuf>);

impl Records {
    pub(crate) fn of(env: &Env) -> Records {
        Records(env.state_home())
    }
}

impl Continued for Records {
    fn earlier(&self, store: &str) -> Option<Point> {
        read(file_of(self.0.as_deref(), store)).ok().flatten()
    }

    fn record(&self, store: &str, point: Point) {
        let _ = write(file_of(self.0.as_deref(), store), point);
    }
}

/// What is recorded of the last restore of a store.
pub(crate) fn earlier(env: &Env, store: &str) -> Result<Option<Point>> {
    read(file_of(env.state_home().as_deref(), store))
}

/// Records a restore of a store.
pub(crate) fn record(env: &Env, store: &str, point: Point) -> Result<()> {
    write(file_of(env.state_home().as_deref(), store), point)
}

fn read(file: Option<PathBuf>) -> Result<Option<Point>> {
    let Some(file) = file else { return Ok(None) };
    let Some(text) = pin::read(&file)? else { return Ok(None) };
    let record: RestoreRecord = serde_json::from_str(&text).map_err(|error| {
        failed(Code::ProjectFileCorrupt, format!("{} is not a record of a restore", file.display())).cause(error)
    })?;
    Ok(Some(Point { number: record.number, at: Time(record.at) }))
}

fn write(file: Option<PathBuf>, point: Point) -> Result<()> {
    let Some(file) = file else {
        return Err(failed(Code::NoHome, "HOME is not set and the user has no home directory".to_owned()));
    };
    let text = serde_json::to_string(&RestoreRecord { number: point.number, at: point.at.0 })
        .map_err(|error| Error::bug("the record of a restore cannot be written").cause(error))?;
    if let Some(dir) = file.parent().and_then(Path::parent) {
        std::fs::create_dir_all(dir).map_err(|error| {
            failed(Code::ProjectFileUnwritable, format!("{} cannot be made: {error}", dir.display())).cause(error)
        })?;
    }
    pin::replace_file(&file, (text + "\n").as_bytes())
}

fn file_of(state_home: Option<&Path>, store: &str) -> Option<PathBuf> {
    Some(state_home?.join("tenure/restores").join(format!("{store}.json")))
}

fn failed(code: Code, message: String) -> Error {
    Error::new(code, message).with_kind(Kind::Storage).at(Stage::Resolve)
}
