//! Parsing requests from JSON, with errors that name the field.

use serde::de::DeserializeOwned;
use tenure_core::{Code, Error, Result, text};

/// Parses a request. A mismatch is a usage error that names the field, if there is one.
pub(crate) fn request<T: DeserializeOwned>(json: &str) -> Result<T> {
    // Only an object has field names to report. A unit struct would also deserialise from `null`.
    if !json.trim_start().starts_with('{') {
        return Err(Error::usage(Code::BadArguments, "the request is not a JSON object"));
    }
    serde_json::from_str(json).map_err(|error| {
        let told = error.to_string();
        let field = ["unknown field `", "missing field `", "duplicate field `"]
            .iter()
            .find_map(|before| told.strip_prefix(before)?.split('`').next());
        let refusal = Error::usage(Code::BadArguments, text::cut(&told, 500));
        match field {
            Some(field) => refusal.entity(text::excerpt(field)),
            None => refusal,
        }
    })
}
