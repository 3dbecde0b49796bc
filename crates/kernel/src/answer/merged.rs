//! Reading answers whose fields are those of two types, and answers that are one of two types.
//!
//! `serde(flatten)` and `serde(untagged)` read by way of a tree of their own: slower than reading the text twice, and the
//! code of every type in the answer would be in the program once more, for that tree.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::from_str;
use serde_json::value::RawValue;

/// Reads an object as two types, each of which takes its own fields.
pub(crate) fn both<'de, D, A, B>(deserializer: D) -> Result<(A, B), D::Error>
where
    D: Deserializer<'de>,
    A: DeserializeOwned,
    B: DeserializeOwned,
{
    let text = Box::<RawValue>::deserialize(deserializer)?;
    let one = from_str(text.get()).map_err(Error::custom)?;
    Ok((one, from_str(text.get()).map_err(Error::custom)?))
}

/// Reads the first of two types that fits.
pub(crate) fn either<'de, D, A, B, T>(
    deserializer: D,
    one: impl FnOnce(A) -> T,
    other: impl FnOnce(B) -> T,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    A: DeserializeOwned,
    B: DeserializeOwned,
{
    let text = Box::<RawValue>::deserialize(deserializer)?;
    match from_str(text.get()) {
        Ok(read) => Ok(one(read)),
        Err(_) => from_str(text.get()).map(other).map_err(Error::custom),
    }
}
