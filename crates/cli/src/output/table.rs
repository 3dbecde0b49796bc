//! Tables: columns aligned by their widest cell, the last one cut to the terminal.

use serde::Serialize;
use tenure_core::text::{self, cut};
use tenure_kernel::answer::Page;

use super::Printer;

/// Lays rows out. `heads` name the columns; columns that are empty in every row are left out.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let used: Vec<usize> = (0..heads.len())
        .filter(|&column| rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty())))
        .collect();
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let widths: Vec<usize> = used
        .iter()
        .map(|&column| {
            let widest = rows.iter().map(|row| visible(&cell(row, column))).max().unwrap_or(0);
            widest.max(visible(heads[column]))
        })
        .collect();
    let mut out = String::new();
    let head: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (index, &column) in used.iter().enumerate() {
            let last = index + 1 == used.len();
            let text = cell(row, column);
            if last {
                let room = width.saturating_sub(visible(&line)).max(12);
                line.push_str(&if text.contains('\u{1b}') { text } else { cut(&text, room) });
            } else {
                let pad = widths[index].saturating_sub(visible(&text));
                line.push_str(&text);
                line.push_str(&" ".repeat(pad + 2));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// How many columns a text takes on a terminal: escape sequences take none, wide characters two.
pub(crate) fn visible(text: &str) -> usize {
    let mut count = 0;
    let mut escape = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => escape = true,
            'm' if escape => escape = false,
            _ if escape => {}
            '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => {}
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{1f300}'..='\u{1faff}' => count += 2,
            _ => count += 1,
        }
    }
    count
}

/// A page of a list as a table, one row for each item; `none` where there is none.
pub(crate) fn print_page<T: Serialize>(
    out: &Printer,
    page: &Page<T>,
    none: &str,
    heads: &[&str],
    row: impl Fn(&T) -> Vec<String>,
) {
    if out.is_json() {
        return out.data(page);
    }
    if page.items.is_empty() {
        return out.text(none);
    }
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    out.text(&table(heads, &rows, out.width()));
    if let Some(next) = &page.next {
        out.text(&format!("more: --cursor {}", text::shell_word(next).as_ref().unwrap_or(next)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_empty_ones_go() {
        let rows = vec![
            vec!["t-1".to_owned(), String::new(), "short".to_owned()],
            vec!["t-22".to_owned(), String::new(), "a title that is too long for the line".to_owned()],
        ];
        assert_eq!(
            table(&["ID", "HOLDER", "TITLE"], &rows, 24),
            "ID    TITLE\nt-1   short\nt-22  a title that is t…\n"
        );
    }

    #[test]
    fn wide_characters_count_twice_and_colours_not_at_all() {
        assert_eq!(visible("日本"), 4);
        assert_eq!(visible("\u{1b}[31mred\u{1b}[0m"), 3);
    }
}
