//! How much room a text takes on a terminal, and what is made of one that does not fit: it is cut with an ellipsis, or
//! continued on the next line between two words.

/// How many columns a text takes: escape sequences take none, wide characters two.
pub(crate) fn columns(text: &str) -> usize {
    pieces(text).map(|(_, columns)| columns).sum()
}

/// The characters of a text, each with its columns. Those of an escape sequence have none.
fn pieces(text: &str) -> impl Iterator<Item = (char, usize)> {
    let mut escape = false;
    text.chars().map(move |c| {
        let columns = match c {
            '\u{1b}' => {
                escape = true;
                0
            }
            c if escape => {
                escape = c != 'm';
                0
            }
            c => width(c),
        };
        (c, columns)
    })
}

fn width(c: char) -> usize {
    match c {
        ' '..='~' => 1,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{231a}'..='\u{231b}'
        | '\u{23e9}'..='\u{23ec}'
        | '\u{2705}'
        | '\u{2728}'
        | '\u{274c}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// A text in at most so many columns, with an ellipsis if something was cut. Escape sequences are kept and closed.
pub(crate) fn fit(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let (mut out, mut used, mut is_full) = (String::new(), 0, false);
    for (c, columns) in pieces(text) {
        is_full |= used + columns > room;
        if !is_full {
            used += columns;
            out.push(c);
        }
    }
    // A joiner would draw the ellipsis into the emoji before it.
    let kept = out.trim_end_matches(['\u{200d}', ' ']).len();
    out.truncate(kept);
    let end = if out.contains('\u{1b}') { "…\u{1b}[0m" } else { "…" };
    format!("{out}{end}")
}

/// A text continued between words where it is wider than `most`, each further line indented by `hang` blanks. Line breaks
/// stay, and so do the blanks at the beginning of a line. A word that is too long stands alone: cutting it would make a
/// path or a command useless.
pub(crate) fn wrap(text: &str, most: usize, hang: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| wrap_line(line, most, hang)).collect();
    lines.join("\n")
}

fn wrap_line(line: &str, most: usize, hang: usize) -> String {
    if columns(line) <= most {
        return line.to_owned();
    }
    let words = line.trim_start_matches(' ');
    let lead = line.len() - words.len();
    let (mut out, mut used) = (" ".repeat(lead), lead);
    let mut is_first = true;
    for word in words.split_inclusive(' ') {
        let bare = columns(word.trim_end_matches(' '));
        if !is_first && used + bare > most {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(lead + hang));
            used = lead + hang;
        }
        out.push_str(word);
        used += columns(word);
        is_first = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice_and_colours_not_at_all() {
        assert_eq!(columns("日本"), 4);
        assert_eq!(columns("\u{1b}[31mred\u{1b}[0m"), 3);
        assert_eq!(columns("e\u{301}"), 1);
    }

    #[test]
    fn what_is_cut_ends_on_a_character_and_in_an_ellipsis() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("a title that is long", 10), "a title t…");
        assert_eq!(fit("日本語です", 6), "日本…", "half a character has no place");
        assert_eq!(fit("a 👨\u{200d}👩 b", 5), "a 👨…");
        assert_eq!(fit("\u{1b}[31mblocked\u{1b}[0m", 4), "\u{1b}[31mblo…\u{1b}[0m");
        assert_eq!(fit("ab", 1), "…");
    }

    #[test]
    fn lines_are_continued_between_words() {
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("  one two three", 9, 0), "  one two\n  three");
        assert_eq!(wrap("a\nb c", 9, 2), "a\nb c");
        assert_eq!(wrap("x https://example.com/long y", 10, 0), "x\nhttps://example.com/long\ny");
    }
}
