//! Pages for people: no scripts, no inline styles, and all user-supplied text goes through [`escaped`].

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use super::HandlerResult;

/// The style sheet of all pages. It is served as a file because the content security policy allows no inline styles.
const STYLE: &str = include_str!("style.css");

/// `GET /style.css`
pub(super) async fn style() -> HandlerResult {
    let mut response = Response::new(Body::from(STYLE));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// A complete page around its HTML content.
pub(super) fn page(status: StatusCode, says: &str) -> Response<Body> {
    let whole = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Tenure</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n<main>\n{says}\n</main>\n</body>\n</html>\n"
    );
    let mut response = Response::new(Body::from(whole));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // With `no-referrer` browsers do not send the origin of a form either, and our own forms could not be told from
    // others.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A text escaped for use in a page, including inside quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in tenure_core::text::visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_s5_what_others_wrote_is_text_in_a_page() {
        let hostile = "<script>alert('x')</script>\" onload=\"y\" & \0\u{1b}[2J\u{e0041}";
        let shown = escaped(hostile);
        assert!(!shown.contains(['<', '>', '"', '\'', '\0', '\u{1b}', '\u{e0041}']), "{shown}");
        assert!(shown.starts_with("&lt;script&gt;alert(&#39;x&#39;)") && shown.contains("&amp;"));
    }
}
