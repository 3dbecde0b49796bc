//! Limits on text that people and agents write.

mod char_class;

pub(crate) use char_class::is_invisible;
pub use char_class::{hidden, revealed, visible};

use crate::error::{Code, Error, Result};

/// The longest title, in characters.
pub const TITLE_MAX: usize = 500;
/// The longest other text, in bytes.
pub const TEXT_MAX: usize = 64 * 1024;
/// The most labels on one task.
pub const LABELS_MAX: usize = 20;
/// The longest label, in characters.
pub const LABEL_MAX: usize = 64;

/// Checks a title: one line of 1 to 500 characters without control characters, not only blanks. Returns it trimmed.
pub fn title(text: &str) -> Result<String> {
    let trimmed = text.trim();
    if trimmed.chars().all(is_invisible) {
        return Err(Error::usage(Code::TitleEmpty, "the title is empty").hint("Give one line of 1 to 500 characters."));
    }
    refuse_control(trimmed, "title", |_| false)?;
    let length = trimmed.chars().count();
    if length > TITLE_MAX {
        return Err(Error::usage(
            Code::TitleTooLong,
            format!("the title has {length} characters; the limit is {TITLE_MAX}"),
        )
        .hint("Put the rest into --description."));
    }
    Ok(trimmed.to_owned())
}

/// Checks a text of several lines: at most 64 KiB; newline and tab are the only control characters.
pub fn body(text: &str, what: &'static str) -> Result<String> {
    if text.len() > TEXT_MAX {
        return Err(Error::usage(
            Code::TextTooLong,
            format!("the {what} has {} bytes; the limit is {TEXT_MAX}", text.len()),
        )
        .hint("Keep long material in a file of the repository and name the file here."));
    }
    // Some editors write a newline as CRLF; it is stored as a newline.
    let text = text.replace("\r\n", "\n");
    refuse_control(&text, what, |c| c == '\n' || c == '\t')?;
    Ok(text)
}

/// Checks a text that must not be empty.
pub fn required(text: &str, what: &'static str) -> Result<String> {
    let text = body(text, what)?;
    if text.trim().is_empty() {
        return Err(Error::usage(Code::TextEmpty, format!("the {what} is empty")));
    }
    Ok(text)
}

/// Checks labels: at most 20 of 1 to 64 characters each. Returns them sorted and without duplicates.
pub fn labels(labels: &[String]) -> Result<Vec<String>> {
    let mut kept = labels.iter().map(|text| label(text)).collect::<Result<Vec<_>>>()?;
    kept.sort();
    kept.dedup();
    if kept.len() > LABELS_MAX {
        return Err(Error::usage(
            Code::TooManyLabels,
            format!("there are {} labels; the limit is {LABELS_MAX}", kept.len()),
        ));
    }
    Ok(kept)
}

/// Checks one label.
pub fn label(text: &str) -> Result<String> {
    let text = text.trim();
    let length = text.chars().count();
    if length == 0 || length > LABEL_MAX {
        return Err(Error::usage(Code::BadLabel, format!("the label `{}` has {length} characters", excerpt(text)))
            .hint("A label has 1 to 64 characters."));
    }
    refuse_control(text, "label", |_| false)?;
    Ok(text.to_owned())
}

/// Refuses a control or hidden character and names its code point and byte offset.
fn refuse_control(text: &str, what: &'static str, allowed: impl Fn(char) -> bool) -> Result<()> {
    let Some((at, c)) = hidden(text).find(|(_, c)| !allowed(*c)) else { return Ok(()) };
    let kind = if c.is_control() { "control" } else { "invisible" };
    let message = format!("the {what} contains the {kind} character U+{:04X} at byte {at}", c as u32);
    Err(Error::usage(Code::ControlCharacter, message)
        .hint("Remove it. Newline and tab are allowed in texts of several lines."))
}

/// The beginning of a text for use in a message: at most 40 characters, with control characters as blanks and hidden
/// ones as code points.
pub fn excerpt(text: &str) -> String {
    cut(text, 40)
}

/// At most `max` characters of a text on one line, with an ellipsis if something was cut.
pub fn cut(text: &str, max: usize) -> String {
    // One character more than fits shows whether something is cut, and is context for the character before it.
    let head = text.char_indices().nth(max + 1).map_or(text, |(end, _)| &text[..end]);
    let shown = visible(head);
    if shown.chars().nth(max).is_none() {
        return shown.into_owned();
    }
    let kept: String = shown.chars().take(max.saturating_sub(1)).chain(['…']).collect();
    // The cut may fall inside an emoji sequence and break it.
    revealed(&kept, |_, _, out| out.push(' ')).into_owned()
}

/// At most `max` characters of a quoted text on one line, in quotation marks that the text cannot close.
pub fn quote(words: &str, max: usize) -> String {
    let inside: String = cut(words, max).chars().map(|c| if matches!(c, '“' | '”') { '\'' } else { c }).collect();
    format!("“{inside}”")
}

/// A path as a shell word that no command takes for a flag; `None` if it cannot stand on one line or is too long to
/// read.
pub fn shell_word(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(path);
    if path.chars().count() > 300 || hidden(path).next().is_some() {
        return None;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@' | '%');
    if !path.is_empty() && path.chars().all(plain) {
        return Some(path.to_owned());
    }
    Some(format!("'{}'", path.replace('\'', "'\\''")))
}

/// Several shell words, after `--` if one could be taken for a flag; `None` if they are too many to retype.
pub fn shell_words(paths: &[String]) -> Option<String> {
    let words: Option<Vec<String>> = paths.iter().map(|path| shell_word(path)).collect();
    let words = words.filter(|words| (1..=8).contains(&words.len()))?;
    let flag = if words.iter().any(|word| word.starts_with(['-', '\''])) { "-- " } else { "" };
    Some(format!("{flag}{}", words.join(" "))).filter(|line| line.chars().count() <= 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_1_to_500_characters() {
        assert_eq!(title("  fix it ").unwrap(), "fix it");
        assert!(title(&"é".repeat(500)).is_ok());
        for (bad, code) in [
            ("", "title_empty"),
            (" \t ", "title_empty"),
            ("a\nb", "control_character"),
            ("a\0b", "control_character"),
            ("a\u{1b}[31m", "control_character"),
            ("a\u{2028}b", "control_character"),
            ("a\u{202e}b", "control_character"),
            ("a\u{e0041}b", "control_character"),
            ("\u{e0041}", "title_empty"),
            ("\u{200b}\u{feff}", "title_empty"),
            (&"x".repeat(501), "title_too_long"),
        ] {
            assert_eq!(title(bad).unwrap_err().code(), code, "{bad:?}");
        }
    }

    #[test]
    fn a_body_keeps_newlines_and_tabs_and_nothing_else() {
        assert_eq!(body("a\r\n\tb", "note").unwrap(), "a\n\tb");
        assert!(body(&"x".repeat(TEXT_MAX), "note").is_ok());
        assert_eq!(body(&"x".repeat(TEXT_MAX + 1), "note").unwrap_err().code(), "text_too_long");
        assert_eq!(body("👨\u{200d}👩 \n", "note").unwrap(), "👨\u{200d}👩 \n");
        let hidden = body("ab\u{e0041}", "note").unwrap_err();
        assert_eq!(hidden.message(), "the note contains the invisible character U+E0041 at byte 2");
        assert_eq!(body("a\u{7f}", "note").unwrap_err().code(), "control_character");
        assert_eq!(required(" \n", "reason").unwrap_err().code(), "text_empty");
    }

    #[test]
    fn labels_are_a_set() {
        let given = ["b".to_owned(), "a".to_owned(), "b ".to_owned()];
        assert_eq!(labels(&given).unwrap(), ["a", "b"]);
        let many: Vec<String> = (0..21).map(|n| n.to_string()).collect();
        assert_eq!(labels(&many).unwrap_err().code(), "too_many_labels");
        assert_eq!(labels(&[String::new()]).unwrap_err().code(), "bad_label");
    }

    #[test]
    fn inv_r10_names_in_commands_are_words_and_nothing_else() {
        for (path, expected) in [
            ("./a.rs", Some("a.rs")),
            ("./", Some("./")),
            ("./-x", Some("-x")),
            ("./a b", Some("'a b'")),
            ("glob:src/*.rs", Some("'glob:src/*.rs'")),
            ("./it's $(x) `y`", Some("'it'\\''s $(x) `y`'")),
            ("./a\nb", None),
            ("./a\u{2028}b", None),
        ] {
            assert_eq!(shell_word(path).as_deref(), expected, "{path:?}");
        }
        let words = |paths: &[&str]| shell_words(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["a", "b/c"]).as_deref(), Some("a b/c"));
        assert_eq!(words(&["a", "./-rf"]).as_deref(), Some("-- a -rf"));
        assert_eq!(words(&["a", "b\n"]), None);
        assert_eq!(words(&[]), None);
        assert_eq!(words(&["x"; 9]), None);
    }

    #[test]
    fn cuts_fall_on_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(cut("a\u{e0041}\n", 20), "a\\u{e0041} ");
        assert_eq!(cut("\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", 4), "\u{1f3f4}\\u…");
    }
}
