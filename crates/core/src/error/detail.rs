//! Typed error details, which other code of the workspace reads back. The type keeps writer and reader consistent.
//! Untyped details are for external programs.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A typed detail of an error.
pub trait Detail: Serialize + DeserializeOwned {
    /// The detail's key in `details`.
    const KEY: &'static str;
}

/// The possible meanings of an ambiguous name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Candidates(pub Vec<String>);

impl Detail for Candidates {
    const KEY: &'static str = "candidates";
}

/// The id of the store that was found in place of the expected one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OtherStore(pub String);

impl Detail for OtherStore {
    const KEY: &'static str = "found";
}

/// The recorded locations of a project's checkouts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordedPlaces(pub Vec<RecordedPlace>);

/// The recorded location of a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPlace {
    /// The checkout's path.
    pub path: String,
    /// The device of the directory.
    pub device: i64,
    /// The inode of the directory.
    pub inode: i64,
}

impl Detail for RecordedPlaces {
    const KEY: &'static str = "places";
}

/// The paths of a refused request that no hold blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FreePaths(pub Vec<String>);

impl Detail for FreePaths {
    const KEY: &'static str = "free";
}

/// Whether the refused agent calls tools instead of typing commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UsesTools(pub bool);

impl Detail for UsesTools {
    const KEY: &'static str = "uses_tools";
}

/// The request id of a call whose answer did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SentAs(pub String);

impl Detail for SentAs {
    const KEY: &'static str = "request_id";
}

/// The directory that is not writable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Directory(pub String);

impl Detail for Directory {
    const KEY: &'static str = "directory";
}

/// Whether a failed guard saw no other agent at its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NobodySeen(pub bool);

impl Detail for NobodySeen {
    const KEY: &'static str = "nobody_seen";
}

/// The store file that git tracks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrackedFile(pub String);

impl Detail for TrackedFile {
    const KEY: &'static str = "file";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Code, Error};

    #[test]
    fn a_detail_is_read_as_it_was_added() {
        let place = RecordedPlace { path: "/a".into(), device: 1, inode: 2 };
        let error =
            Error::new(Code::PlaceDiffers, "m").with(&RecordedPlaces(vec![place.clone()])).with(&UsesTools(true));
        assert_eq!(error.get("places"), Some(&serde_json::json!([{ "path": "/a", "device": 1, "inode": 2 }])));
        assert_eq!(error.read::<RecordedPlaces>(), Some(RecordedPlaces(vec![place])));
        assert_eq!((error.read::<UsesTools>(), error.read::<OtherStore>()), (Some(UsesTools(true)), None));
        assert_eq!(error.detail("uses_tools", "yes").read::<UsesTools>(), None, "another type is none");
    }
}
