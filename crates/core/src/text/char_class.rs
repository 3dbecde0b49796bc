//! Characters that are invisible or make a text read as something it is not, and where they are legitimate.
//!
//! An invisible character carries content that a person does not see and a program does: a title that reads `fix the
//! tests` can contain a whole instruction in tag characters. So hidden characters are refused on input and made visible
//! where stored text is shown. Some of them belong to normal writing; those count as visible in the one context that
//! needs them:
//!
//! | character | legitimate |
//! |---|---|
//! | variation selectors 1 to 16 | one, after a character beyond ASCII; 15 and 16 after a digit, `#` and `*` (keycaps) |
//! | variation selectors 17 to 256 | one, after an ideograph |
//! | Mongolian variation selectors | one, after a Mongolian letter |
//! | zero-width joiner and non-joiner | one, after a visible character, with a character beyond ASCII on either side |
//! | soft hyphen | one, between two letters |
//! | left-to-right, right-to-left and Arabic letter mark | one, in a text with a letter of a right-to-left script |
//! | tag characters | only the exact flags of England, Scotland and Wales |

/// The flags that are written with tag characters: a black flag, and these letters as tags.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
const BLACK_FLAG: char = '\u{1f3f4}';
const TAG_END: char = '\u{e007f}';

/// Where a character is legitimate in a text.
#[derive(Clone, Copy)]
enum CharClass {
    /// Everywhere: it is visible, or a blank.
    Visible,
    /// Nowhere.
    Hidden,
    /// A zero-width joiner or non-joiner.
    Joiner,
    /// A variation selector, with the characters that it can follow.
    Selector(fn(char) -> bool),
    SoftHyphen,
    /// A mark of the writing direction.
    Direction,
    /// A tag character, which is legitimate only in a flag.
    Tag,
}

fn class(c: char) -> CharClass {
    match c {
        ' '..='~' => CharClass::Visible,
        _ if c.is_control() => CharClass::Hidden,
        '\u{ad}' => CharClass::SoftHyphen,
        '\u{200c}' | '\u{200d}' => CharClass::Joiner,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => CharClass::Direction,
        '\u{fe00}'..='\u{fe0d}' => CharClass::Selector(|base| !base.is_ascii()),
        '\u{fe0e}' | '\u{fe0f}' => {
            CharClass::Selector(|base| !base.is_ascii() || matches!(base, '0'..='9' | '#' | '*'))
        }
        '\u{180b}'..='\u{180d}' | '\u{180f}' => CharClass::Selector(|base| matches!(base, '\u{1820}'..='\u{18aa}')),
        '\u{e0100}'..='\u{e01ef}' => CharClass::Selector(is_ideograph),
        '\u{e0020}'..='\u{e007f}' => CharClass::Tag,
        // Line and paragraph separators; embeddings, overrides and isolates of the writing direction.
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => CharClass::Hidden,
        // Zero-width space, word joiner, invisible operators, deprecated controls, byte order mark, annotations.
        '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => {
            CharClass::Hidden
        }
        // Grapheme joiner, vowel signs and fillers without a glyph, controls of shorthand and music.
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}' => {
            CharClass::Hidden
        }
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => CharClass::Hidden,
        _ if is_noncharacter(c) => CharClass::Hidden,
        _ => CharClass::Visible,
    }
}

fn is_visible(c: char) -> bool {
    matches!(class(c), CharClass::Visible)
}

fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || (c as u32) & 0xfffe == 0xfffe
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
}

/// Whether a character is a letter of a right-to-left script.
fn is_right_to_left(c: char) -> bool {
    let in_block = matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
    in_block && c.is_alphabetic()
}

/// Whether a character is invisible in every context.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}' || !is_visible(c)
}

/// The hidden and control characters of a text, with their byte offsets.
pub fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut chars = text.char_indices().peekable();
    // The last visible character, and whether it directly precedes the current one.
    let mut base: Option<char> = None;
    let mut is_next_to_base = false;
    // The byte offset at which the current flag ends.
    let mut flag_end = 0;
    let right_to_left = std::cell::OnceCell::new();
    std::iter::from_fn(move || {
        while let Some((at, c)) = chars.next() {
            let kind = class(c);
            if matches!(kind, CharClass::Visible) {
                if c == BLACK_FLAG {
                    flag_end = at + flag(&text[at..]);
                }
                (base, is_next_to_base) = (Some(c).filter(|c| !c.is_whitespace()), true);
                continue;
            }
            let next = chars.peek().map(|(_, next)| *next).filter(|next| is_visible(*next));
            let is_last_of_its_kind = next.is_some() || chars.peek().is_none();
            let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
            let is_beyond_ascii = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !c.is_whitespace());
            let is_legitimate = match kind {
                CharClass::Visible => true,
                CharClass::Hidden => false,
                CharClass::Tag => at < flag_end,
                CharClass::Selector(fits) => {
                    let fits = is_next_to_base && base.is_some_and(fits);
                    is_next_to_base = false;
                    // A joiner can follow the selector, as in a heart on fire.
                    if fits {
                        continue;
                    }
                    false
                }
                CharClass::Joiner => {
                    is_last_of_its_kind && base.is_some() && (is_beyond_ascii(base) || is_beyond_ascii(next))
                }
                CharClass::SoftHyphen => is_next_to_base && letter(base) && letter(next),
                CharClass::Direction => {
                    is_last_of_its_kind && *right_to_left.get_or_init(|| text.chars().any(is_right_to_left))
                }
            };
            if !(matches!(kind, CharClass::Tag) && is_legitimate) {
                (base, is_next_to_base) = (None, false);
            }
            if !is_legitimate {
                return Some((at, c));
            }
        }
        None
    })
}

/// The length in bytes of a tag flag at the start of a text that begins with a black flag; 0 if there is none.
fn flag(text: &str) -> usize {
    let tag = |letter: u8| char::from_u32(0xe0000 + u32::from(letter)).unwrap_or(TAG_END);
    let written =
        |letters: &str| [BLACK_FLAG].into_iter().chain(letters.bytes().map(tag)).chain([TAG_END]).collect::<String>();
    FLAGS
        .iter()
        .map(|letters| written(letters))
        .find(|flag| text.starts_with(flag.as_str()))
        .map_or(0, |flag| flag.len())
}

/// Replaces the hidden characters of a text. A text without any is returned unchanged and not copied.
pub fn revealed(text: &str, shown: impl Fn(usize, char, &mut String)) -> std::borrow::Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, c) in hidden(text) {
        out.push_str(&text[done..at]);
        shown(at, c, &mut out);
        done = at + c.len_utf8();
    }
    if done == 0 {
        return text.into();
    }
    out.push_str(&text[done..]);
    out.into()
}

/// Makes the hidden characters of a text visible: control characters become blanks, the others code points
/// (`\u{e0041}`).
pub fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    revealed(text, |_, c, out| match c.is_control() {
        true => out.push(' '),
        false => out.extend(c.escape_unicode()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<(usize, char)> {
        hidden(text).next()
    }

    #[test]
    fn inv_s5_characters_that_hide_are_found_wherever_they_stand() {
        let tags: String = "ignore".bytes().filter_map(|b| char::from_u32(0xe0000 + u32::from(b))).collect();
        for (text, at, found) in [
            ("a\u{e0001}b".to_owned(), 1, '\u{e0001}'),
            (format!("fix{tags}"), 3, '\u{e0069}'),
            (format!("\u{1f3f4}{tags}\u{e007f}"), 4, '\u{e0069}'),
            ("\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}".to_owned(), 4, '\u{e0067}'),
            ("\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\u{e0061}".to_owned(), 28, '\u{e0061}'),
            ("a\u{200b}b".to_owned(), 1, '\u{200b}'),
            ("\u{feff}a".to_owned(), 0, '\u{feff}'),
            ("a\u{2060}b".to_owned(), 1, '\u{2060}'),
            ("a\u{180e}b".to_owned(), 1, '\u{180e}'),
            ("a\u{fff9}b".to_owned(), 1, '\u{fff9}'),
            ("a\u{fdd0}".to_owned(), 1, '\u{fdd0}'),
            ("a\u{1ffff}".to_owned(), 1, '\u{1ffff}'),
            ("a\u{3164}b".to_owned(), 1, '\u{3164}'),
            ("a\u{2067}b".to_owned(), 1, '\u{2067}'),
            ("a\u{202e}b".to_owned(), 1, '\u{202e}'),
            ("a\u{7}b".to_owned(), 1, '\u{7}'),
            // ASCII words contain no legitimate joiner, mark or selector, and no text two in a row.
            ("ad\u{200d}min".to_owned(), 2, '\u{200d}'),
            ("ad\u{200e}min".to_owned(), 2, '\u{200e}'),
            ("a\u{fe0f}".to_owned(), 1, '\u{fe0f}'),
            ("😀\u{fe0f}\u{fe0e}".to_owned(), 7, '\u{fe0e}'),
            ("😀\u{e0100}".to_owned(), 4, '\u{e0100}'),
            ("می\u{200c}\u{200c}خواهم".to_owned(), 4, '\u{200c}'),
            ("a\u{ad}\u{ad}b".to_owned(), 1, '\u{ad}'),
            (" \u{200d}é".to_owned(), 1, '\u{200d}'),
        ] {
            assert_eq!(first(&text), Some((at, found)), "{text:?}");
        }
    }

    #[test]
    fn what_people_write_is_left_alone() {
        for text in [
            "fix the tests",
            "família 👨‍👩‍👧‍👦, ❤️‍🔥, 🏳️‍🌈, 👩🏽‍💻",
            "1️⃣ #️⃣ ☺️ ☺︎",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}!",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "می\u{200c}خواهم, PDF\u{200c}ها",
            "ക്\u{200d} ന്\u{200d}",
            "श्री, क\u{94d}\u{200d}ष",
            "葛\u{e0100}飾区",
            "Donau\u{ad}dampf",
            "שלום (abc)\u{200f}!",
            "日本語 العربية ελληνικά",
            "\u{fffd} stands for bytes that are no text",
        ] {
            assert_eq!(first(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_revealed_hides_nothing() {
        for text in
            ["a\u{e0041}b\u{202e}", "😀\u{fe0f}\u{fe0e}\u{200d}x", "\u{1f3f4}\u{e0067}\u{e0062}", "é\u{200d}\u{200d}é"]
        {
            assert_eq!(first(&visible(text)), None, "{text:?}");
        }
        assert_eq!(visible("a\u{e0041}b\nc"), "a\\u{e0041}b c");
        assert!(matches!(visible("plain 👨‍👩‍👧"), std::borrow::Cow::Borrowed(_)));
    }
}
