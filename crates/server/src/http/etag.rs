//! ETags: computing them for tasks and evaluating `If-Match`. A tag is `"VERSION-MARK"`. An edit is checked against the
//! version; the mark covers what the version does not, such as notes.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;
use tenure_core::name::fnv1a;
use tenure_core::{Code, Error, Result};

use super::authentication::Credentials;
use super::{empty, json};

/// The op that accepts a version.
pub(super) const TAKES_VERSION: &str = "edit";

/// The tag of a document, if it is a task.
fn tag(body: &str) -> Option<String> {
    Some(format!("\"{}-{:016x}\"", version(body)?, fnv1a(body.as_bytes())))
}

/// The version of a document, if it is a task.
fn version(body: &str) -> Option<i64> {
    #[derive(serde::Deserialize)]
    struct Task {
        id: String,
        version: i64,
    }
    let found = serde_json::from_str::<Task>(body).ok();
    found.filter(|task| task.id.starts_with("t-")).map(|task| task.version)
}

/// A document as a response, with an ETag if it is a task.
pub(super) fn tagged(body: String) -> Response<Body> {
    let tag = tag(&body);
    let mut response = json(body);
    let tag = tag.and_then(|tag| HeaderValue::from_str(&tag).ok());
    response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
    response
}

/// The same, but answers 304 without a body if `If-None-Match` has the current tag.
pub(super) fn unless_seen(asked: &Credentials<'_>, body: String) -> Result<Response<Body>> {
    let seen = asked.header(header::IF_NONE_MATCH.as_str())?;
    let mut response = tagged(body);
    let tag = response.headers().get(header::ETAG).cloned();
    let Some((tag, seen)) = tag.zip(seen) else { return Ok(response) };
    let same = |one: &str| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == tag.as_bytes();
    if seen.split(',').map(str::trim).any(same) {
        response = empty(StatusCode::NOT_MODIFIED);
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// Sets the version from `If-Match` in the request of the op that accepts one.
pub(super) fn if_match(asked: &Credentials<'_>, name: &str, content: String) -> Result<String> {
    let Some(said) = asked.header(header::IF_MATCH.as_str())? else { return Ok(content) };
    if name != TAKES_VERSION {
        return Err(refused("this op does not support If-Match")
            .hint(format!("Omit the header: only `{TAKES_VERSION}` supports If-Match.")));
    }
    // `*` matches any existing task, which every edit requires anyway.
    if said.trim() == "*" {
        return Ok(content);
    }
    let version = told(said).ok_or_else(|| {
        refused("If-Match does not name a version").hint("Give one ETag, the one that the task was read with.")
    })?;
    let mut content: Value = serde_json::from_str(&content)
        .map_err(|error| Error::usage(Code::BadArguments, format!("the request is not JSON: {error}")))?;
    if let Some(fields) = content.as_object_mut() {
        let said = fields.entry("expect_version").or_insert(version.into());
        if said.as_i64() != Some(version) {
            return Err(refused("If-Match and `expect_version` name different versions")
                .hint("Give one of them, or the same version in both."));
        }
    }
    Ok(content.to_string())
}

/// The version in a tag: `"7"` or `"7-MARK"`.
fn told(tag: &str) -> Option<i64> {
    let tag = tag.trim();
    let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag);
    let (version, mark) = inner.split_once('-').unwrap_or((inner, "0"));
    let is_mark = !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    version.parse().ok().filter(|_| is_mark)
}

fn refused(message: &str) -> Error {
    Error::usage(Code::BadHeader, message).entity(header::IF_MATCH.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_a_version() {
        let read = tag(r#"{"id":"t-1","version":7,"notes":[]}"#).unwrap();
        assert_eq!(told(&read), Some(7));
        assert_ne!(tag(r#"{"id":"t-1","version":7,"notes":[1]}"#), Some(read));
        assert_eq!(["\"7\"", "7", " \"7-0a\" "].map(told), [Some(7); 3]);
        for bad in ["", "\"\"", "W/\"7\"", "\"7\", \"8\"", "\"x\"", "\"7-\"", "\"7-x\"", "\"99999999999999999999\""] {
            assert_eq!(told(bad), None, "{bad}");
        }
    }
}
