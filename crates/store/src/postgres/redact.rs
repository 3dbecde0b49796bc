//! Redacts a store's URL for display.

/// The URL with every password hidden.
///
/// It accepts any text, even one that is not a URL. Where it is unclear what the password is, it hides more than
/// necessary.
pub fn redact(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    // Everything before the last @ may belong to an unencoded password, including a / or ?.
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) => (Some(credentials), rest),
        None => (None, rest),
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let mut shown = scheme;
    if let Some(credentials) = credentials {
        match credentials.find([':', '/', '?', '&', '=', '@', '#']) {
            Some(end) => shown.push_str(&format!("{}:***@", &credentials[..end])),
            None => shown.push_str(&format!("{credentials}@")),
        }
    }
    shown.push_str(&redact_place(place));
    if let Some(query) = query {
        let pairs: Vec<String> = query.split('&').map(redact_pair).collect();
        shown.push('?');
        shown.push_str(&pairs.join("&"));
    }
    shown
}

/// Hides a port that is not a number (`user:password` without a host looks like that), and everything after the first
/// password in a text of `key=value` settings, because its end is unknown.
fn redact_place(place: &str) -> String {
    let (hosts, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let host = |host: &str| match host.rsplit_once(':') {
        Some((name, port)) if !port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(']') => {
            format!("{}:***", name.split(':').next().unwrap_or_default())
        }
        _ => host.to_owned(),
    };
    let text = hosts.split(',').map(host).collect::<Vec<_>>().join(",") + path;
    let lower = text.to_ascii_lowercase();
    match lower.find("pass").and_then(|start| lower[start..].find('=').map(|sign| start + sign + 1)) {
        Some(end) => format!("{}***", &text[..end]),
        None => text,
    }
}

fn redact_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((key, _)) if decode(key).is_none_or(|key| key.to_ascii_lowercase().contains("pass")) => {
            format!("{key}=***")
        }
        Some(_) => pair.to_owned(),
        None if pair.is_empty() => String::new(),
        None => "***".to_owned(),
    }
}

/// Percent-decodes; `None` if the result is not UTF-8. A `%` that begins no escape stands for itself, as in the client.
pub(super) fn decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).ok()
}
