//! Percent-encoding for URLs and stream positions.

/// Encodes every byte that is not plain as `%XX`, so that the text can stand in a header or a query.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Decodes a text. `None` if a `%` is not followed by two hexadecimal digits, or if the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => u8::try_from(digit(rest.next()?)? * 16 + digit(rest.next()?)?).ok()?,
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Decodes a part of a query, where `+` is a space.
pub(crate) fn decode_query(text: &str) -> Option<String> {
    decode(&text.replace('+', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in ["", "a b", "name:a~b%", "ä\u{1F600}\n\0", "+"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text));
            assert_eq!(decode_query(&encode(text)).as_deref(), Some(text));
        }
        assert_eq!((decode("a+b").as_deref(), decode_query("a+b").as_deref()), (Some("a+b"), Some("a b")));
    }

    #[test]
    fn what_is_no_text_is_none() {
        for text in ["%", "%4", "%zz", "%+f", "%-1", "%ff", "%c3%28"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
