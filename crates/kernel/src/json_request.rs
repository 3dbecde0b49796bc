//! Parsing requests from JSON, with errors that name the field.

use serde::de::DeserializeOwned;
use tenure_core::{Code, Error, Result, text};

/// Reads a request that was sent. What does not fit is a usage error that names the field where there is one.
pub(crate) fn request<T: DeserializeOwned>(json: &str) -> Result<T> {
    // A field's name is given back only where somebody sent it: a unit struct would be read from `null`.
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
