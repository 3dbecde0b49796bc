//! Paths as text. A path is bytes, but stored and displayed values are text. There are two encodings, and each is
//! injective: one text is one path.
//!
//! *Names* in patterns stay as readable as possible: only bytes that are not UTF-8 are written `%XX`. Such a byte is at
//! least `80`, so a percent sign of the name itself is written `%25` only if it could be read as such a byte, or as
//! `%25`. *Places* (the top of a checkout) have every percent sign and every control character escaped.

use std::fmt::Write as _;

/// Encodes a file name as patterns spell it: bytes that are not UTF-8 as `%XX`, everything else unchanged. A percent
/// sign that could be read as the beginning of an escape becomes `%25`.
pub fn name(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            text.push_str(if escaped(rest.as_bytes()).is_some() { "%25" } else { "%" });
        }
        text.push_str(rest);
        chunk.invalid().iter().for_each(|byte| _ = write!(text, "%{byte:02X}"));
    }
    text
}

/// Decodes a name that [`name`] encoded.
pub fn bytes_of_name(text: &str) -> Vec<u8> {
    unescaped(text, escaped)
}

/// Encodes a path that looks the same in every terminal and log: bytes that are not UTF-8, control characters and the
/// percent sign become `%XX`.
pub fn place(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let escape = |text: &mut String, byte: u8| _ = write!(text, "%{byte:02X}");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' || c.is_control() {
                c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escape(&mut text, byte));
            } else {
                text.push(c);
            }
        }
        chunk.invalid().iter().for_each(|&byte| escape(&mut text, byte));
    }
    text
}

/// Decodes a path that [`place`] encoded.
pub fn bytes_of_place(text: &str) -> Vec<u8> {
    unescaped(text, hex)
}

/// The byte that two digits after a percent sign encode in a name: a byte that is not valid UTF-8 alone, or the percent
/// sign.
fn escaped(after: &[u8]) -> Option<u8> {
    let is_digit = |digit: &u8| digit.is_ascii_digit() || (b'A'..=b'F').contains(digit);
    let byte = hex(after).filter(|_| after.iter().take(2).all(is_digit))?;
    (byte >= 0x80 || byte == b'%').then_some(byte)
}

fn hex(after: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

fn unescaped(text: &str, byte_of: impl Fn(&[u8]) -> Option<u8>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match byte_of(after).filter(|_| byte == b'%') {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inv_r1_a_name_is_one_text_and_a_text_one_name() {
        for (bytes, text) in [
            (b"\xff\xfe".as_slice(), "%FF%FE"),
            (b"%FF%FE", "%25FF%25FE"),
            (b"%ff", "%ff"),
            (b"foo%20bar.html", "foo%20bar.html"),
            (b"100%", "100%"),
            (b"%25", "%2525"),
            (b"%%\xff", "%%%FF"),
            (b"%F\xff", "%F%FF"),
            (b"a/%C3%A9", "a/%25C3%25A9"),
            ("é%2".as_bytes(), "é%2"),
        ] {
            assert_eq!(name(bytes), text);
            assert_eq!(bytes_of_name(text), bytes);
        }
    }

    fn tricky() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::sample::select(vec![b'%', b'2', b'5', b'F', b'8', b'f', b'a', b'/', 0xff, 0x80, 0xc3, 0xa9, b'\n']),
            any::<u8>(),
        ];
        prop::collection::vec(piece, 0..24)
    }

    proptest! {
        #[test]
        fn inv_r1_every_name_and_place_is_read_back(bytes in tricky()) {
            prop_assert_eq!(&bytes_of_name(&name(&bytes)), &bytes);
            prop_assert_eq!(&bytes_of_place(&place(&bytes)), &bytes);
        }
    }
}
