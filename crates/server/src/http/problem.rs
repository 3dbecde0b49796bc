//! Errors over HTTP: problem details (RFC 9457) with the fields of the error table.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use tenure_core::{Code, Error, Kind};

use tenure_client::phrasing::Commands;

pub(crate) const TYPE: &str = "application/problem+json";

/// An error as a response. `request` is the id of the request in the log.
pub(crate) fn response(error: &Error, request: &str) -> Response<Body> {
    let error = &outward(error);
    let status = status(error);
    let mut response = Response::new(Body::from(document(error, status, request).to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tenure\""));
    }
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// An error as shown to a caller. The location of the store and the messages of its engine are only for the log.
pub(crate) fn outward(error: &Error) -> Error {
    let inside = matches!(error.kind(), Kind::Storage | Kind::Internal)
        || matches!(error.code(), Code::Unreachable | Code::ConnectionLost | Code::TlsRefused);
    if !inside {
        return error.repeated();
    }
    let later = "Retry later with the same request id; the operator finds the cause in the server's log.";
    let (message, hint) = match (error.kind(), error.code()) {
        (Kind::Internal, _) => ("the server had an internal error", later),
        // This is not a secret, and the caller can tell the operator what to do.
        (_, Code::DiskFull) => (
            "the disk of the server's store is full",
            "Nothing was changed, and queries still work. The operator must free some space; then repeat the call.",
        ),
        _ => ("the store of the server cannot be used now", later),
    };
    Error::new(error.code(), message).with_kind(error.kind()).at(error.stage()).hint(hint)
}

/// The status of the error's kind, except where HTTP has a more specific one.
pub(crate) fn status(error: &Error) -> StatusCode {
    let plain = StatusCode::from_u16(error.kind().http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match (error.kind(), error.code()) {
        (Kind::Denied, Code::NotSignedIn) => StatusCode::UNAUTHORIZED,
        (Kind::Busy, Code::TooManyRequests) => StatusCode::TOO_MANY_REQUESTS,
        (Kind::Usage, Code::BodyTooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
        (Kind::Usage, Code::UnknownMethod) => StatusCode::METHOD_NOT_ALLOWED,
        (Kind::Usage, Code::UnsupportedMediaType) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        _ => plain,
    }
}

pub(super) fn document(error: &Error, status: StatusCode, request: &str) -> Value {
    let mut document = error.to_json(&Commands);
    if let Value::Object(fields) = &mut document {
        let title = fields.get("message").cloned().unwrap_or_default();
        fields.insert("type".into(), json!(format!("urn:tenure:error:{}", error.code())));
        fields.insert("title".into(), title);
        fields.insert("status".into(), json!(status.as_u16()));
        fields.insert("detail".into(), fields.get("hint").cloned().unwrap_or_default());
        fields.insert("instance".into(), json!(format!("urn:tenure:request:{request}")));
    }
    document
}

#[cfg(test)]
mod tests {
    use tenure_core::Stage;

    use super::*;

    #[test]
    fn inv_s1_of_a_store_in_trouble_outsiders_are_told_no_places() {
        for (code, words) in
            [(Code::DiskFull, "is full"), (Code::NotWritable, "cannot be used"), (Code::StoreMoved, "cannot be used")]
        {
            let error = Error::new(code, "no space left in /srv/secret").at(Stage::Write).cause("at /srv/secret");
            let told = outward(&error.entity("/srv/secret").detail("path", "/srv/secret"));
            assert_eq!((told.code(), told.kind()), (code, Kind::Storage));
            assert!(
                told.message().contains(words) && !told.to_json(&Commands).to_string().contains("secret"),
                "{told:?}"
            );
        }
    }
}
