//! Errors over HTTP: problem details (RFC 9457) with the fields of the table.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use tenure_core::{Error, Kind};

/// The media type.
pub(crate) const TYPE: &str = "application/problem+json";

/// An error as a response. `request` is the id under which the log has the request.
pub(crate) fn response(error: &Error, request: &str) -> Response<Body> {
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

/// The status: the kind's, but for what HTTP has words of its own.
pub(crate) fn status(error: &Error) -> StatusCode {
    let plain = StatusCode::from_u16(error.kind().http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match (error.kind(), error.code()) {
        (Kind::Denied, "not_signed_in") => StatusCode::UNAUTHORIZED,
        (Kind::Busy, "too_many_requests") => StatusCode::TOO_MANY_REQUESTS,
        (Kind::Usage, "body_too_large") => StatusCode::PAYLOAD_TOO_LARGE,
        (Kind::Usage, "unknown_method") => StatusCode::METHOD_NOT_ALLOWED,
        (Kind::Usage, "unsupported_media_type") => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        _ => plain,
    }
}

fn document(error: &Error, status: StatusCode, request: &str) -> Value {
    let mut document = error.to_json();
    if let Value::Object(fields) = &mut document {
        let title = fields.get("message").cloned().unwrap_or_default();
        fields.insert("type".into(), json!(format!("urn:tenure:error:{}", error.code())));
        fields.insert("title".into(), title);
        fields.insert("status".into(), json!(status.as_u16()));
        fields.insert("detail".into(), fields.get("hint").cloned().unwrap_or_default());
        fields.insert("instance".into(), json!(format!("urn:tenure:request:{request}")));
    }
    // What broke inside is for the log; whoever asked learns where to look for it.
    if status == StatusCode::INTERNAL_SERVER_ERROR
        && let Some(details) = document.get_mut("details").and_then(Value::as_object_mut)
    {
        details.remove("cause");
    }
    document
}
