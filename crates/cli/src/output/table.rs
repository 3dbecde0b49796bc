//! Tables: columns aligned by their widest cell. On a terminal a table fits the window; elsewhere nothing is cut.

use serde::Serialize;
use tenure_core::text::{self, visible};
use tenure_kernel::answer::Page;

use super::layout::{columns, fit, wrap};
use super::{Ink, Printer};

/// The columns that a narrow terminal goes without, the first to go first. `show` and `--json` have them.
const OPTIONAL: [&str; 3] = ["TOOL", "LABELS", "FENCE"];
/// The narrowest that a wide column is made: while there are columns to go without, and then.
const FAIR: usize = 18;
const CUT: usize = 12;
/// Between two columns.
const GAP: usize = 2;

/// Lays rows out. `heads` name the columns; columns that are empty in every row are left out, and the last one takes what
/// is left of the line.
pub(crate) fn table(out: &Printer, heads: &[&str], rows: &[Vec<String>]) -> String {
    lay_out(out, heads, rows, Overflow::Cut)
}

/// The same with a last column that is continued below where it is too long.
pub(crate) fn report(out: &Printer, heads: &[&str], rows: &[Vec<String>]) -> String {
    lay_out(out, heads, rows, Overflow::Wrap)
}

/// What becomes of a last cell that is too long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Cut,
    Wrap,
}

impl Overflow {
    /// What the last column gets before a row is broken into several lines.
    const fn least(self) -> usize {
        match self {
            Overflow::Cut => 20,
            Overflow::Wrap => 16,
        }
    }
}

fn lay_out(out: &Printer, heads: &[&str], rows: &[Vec<String>], overflow: Overflow) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let shape = Shape::of(heads, &rows, out.width(), overflow);
    let mut text = String::new();
    let head: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    // Where a row takes several lines, the heads of the first are enough. A list under a heading has none.
    let is_named = heads.iter().any(|head| !head.is_empty());
    let heads = if is_named { shape.draw(&head, out.width(), overflow) } else { Vec::new() };
    let shown = if matches!(shape, Shape::Flow { .. }) { 1 } else { heads.len() };
    for line in &heads[..shown.min(heads.len())] {
        text.push_str(&out.ink(Ink::Faint, line));
        text.push('\n');
    }
    for row in &rows {
        for line in shape.draw(row, out.width(), overflow) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// A cell without line breaks and hidden characters. One that is set off was made here.
fn one_line(cell: &str) -> String {
    if cell.contains('\u{1b}') { cell.to_owned() } else { visible(cell).into_owned() }
}

/// How a row is laid out.
enum Shape {
    /// On one line: the columns that are shown, with their widths.
    Line(Vec<(usize, usize)>),
    /// On as many lines as it takes, for windows that are too narrow: narrow columns are aligned, and the last cell begins
    /// a line.
    Flow { columns: Vec<usize>, natural: Vec<usize> },
}

impl Shape {
    fn of(heads: &[&str], rows: &[Vec<String>], width: usize, overflow: Overflow) -> Shape {
        let cell = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| columns(cell));
        let mut used: Vec<usize> =
            (0..heads.len()).filter(|&column| rows.iter().any(|row| cell(row, column) > 0)).collect();
        // A heading inside the table stands alone in its row and may be longer than its column.
        let widest = |column: usize, with_headings: bool| {
            let rows = rows.iter().filter(|row| with_headings || row.len() > 1);
            rows.map(|row| cell(row, column)).max().unwrap_or(0).max(columns(heads[column]))
        };
        let natural: Vec<usize> = (0..heads.len()).map(|column| widest(column, true)).collect();
        let one_line = |used: &[usize], width_of: &dyn Fn(usize) -> usize| {
            Shape::Line(used.iter().map(|&column| (column, width_of(column))).collect())
        };
        let Some(&last) = used.last() else { return Shape::Line(Vec::new()) };
        let total = |used: &[usize]| used.iter().map(|&column| natural[column] + GAP).sum::<usize>() - GAP;
        if total(&used) <= width {
            return one_line(&used, &|column| natural[column]);
        }
        let natural: Vec<usize> = (0..heads.len()).map(|column| widest(column, false)).collect();
        // The widest of the other columns are cut to one width, so that the last one gets its part.
        let cut = |used: &[usize], kept: usize, least: usize| {
            let kept = natural[last].min(kept);
            let gaps = GAP * (used.len() - 1);
            let sum = |most: usize| {
                used.iter().filter(|&&column| column != last).map(|&column| natural[column].min(most)).sum::<usize>()
            };
            let most = (least..=width).rev().find(|&most| sum(most) + gaps + kept <= width)?;
            let room = width - sum(most) - gaps;
            Some(one_line(used, &|column| if column == last { room } else { natural[column].min(most) }))
        };
        loop {
            if let Some(shape) = cut(&used, width / 2, FAIR) {
                return shape;
            }
            let optional = |name: &str| used.iter().position(|&column| heads[column] == name && column != last);
            match OPTIONAL.into_iter().find_map(optional) {
                Some(at) => drop(used.remove(at)),
                None => break,
            }
        }
        cut(&used, overflow.least(), CUT).unwrap_or(Shape::Flow { columns: used, natural })
    }

    /// A row as lines.
    fn draw(&self, row: &[String], width: usize, overflow: Overflow) -> Vec<String> {
        match (row, self) {
            ([], _) => vec![String::new()],
            // A heading inside the table.
            ([only], _) => vec![fit(only, width)],
            (_, Shape::Line(shown)) => vec![draw_line(row, shown, width, overflow).trim_end().to_owned()],
            (_, Shape::Flow { columns, natural }) => flow(row, columns, natural, width),
        }
    }
}

fn cell(row: &[String], column: usize) -> &str {
    row.get(column).map_or("", String::as_str)
}

fn padded(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(columns(text))))
}

fn draw_line(row: &[String], shown: &[(usize, usize)], width: usize, overflow: Overflow) -> String {
    let mut line = String::new();
    for (index, &(column, room)) in shown.iter().enumerate() {
        let cell = cell(row, column);
        match (index + 1 == shown.len(), overflow) {
            (true, Overflow::Wrap) => line = wrap_from(&line, columns(&line), cell, width),
            (true, Overflow::Cut) => line.push_str(&fit(cell, room)),
            (false, _) => line.push_str(&padded(&fit(cell, room), room + GAP)),
        }
    }
    line
}

fn flow(row: &[String], shown: &[usize], natural: &[usize], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for (index, &column) in shown.iter().enumerate() {
        let pad = if natural[column] <= CUT { natural[column] } else { 0 };
        let text = fit(cell(row, column), width - GAP);
        let is_last = index > 0 && index + 1 == shown.len();
        if text.is_empty() && (is_last || pad == 0) {
            continue;
        }
        if !line.trim().is_empty() && (is_last || columns(&line) + columns(&text) > width) {
            lines.push(std::mem::replace(&mut line, " ".repeat(GAP)));
        }
        line.push_str(&padded(&text, pad.max(columns(&text)) + GAP));
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// A cell after the others of its line, continued under its beginning.
fn wrap_from(before: &str, start: usize, cell: &str, width: usize) -> String {
    let room = width.saturating_sub(start);
    if columns(cell) <= room {
        return format!("{before}{cell}");
    }
    let lines = wrap(cell, room.max(CUT), 0).replace('\n', &format!("\n{}", " ".repeat(start)));
    format!("{before}{lines}")
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
    out.text(&table(out, heads, &rows));
    if let Some(next) = &page.next {
        out.text(&format!("more: --cursor {}", text::shell_word(next).as_ref().unwrap_or(next)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn columns_line_up_and_empty_ones_go() {
        let rows = rows(&[&["t-1", "", "short"], &["t-22", "", "a title that is too long for the line of this table"]]);
        let out = Printer::of_width(40);
        assert_eq!(
            table(&out, &["ID", "HOLDER", "TITLE"], &rows),
            "ID    TITLE\nt-1   short\nt-22  a title that is too long for the…\n"
        );
    }

    #[test]
    fn what_is_not_needed_goes_first_then_wide_columns_are_cut_then_lines_are_broken() {
        let title = "Rewrite the parser so that it reports every error it finds";
        let rows = rows(&[&["t-00001", "held", "claude-5f0c (idle), since yesterday", "backend,urgent", title]]);
        let heads = ["ID", "STATE", "WHO", "LABELS", "TITLE"];
        let at = |width| table(&Printer::of_width(width), &heads, &rows);
        assert!(at(200).contains("LABELS") && at(200).contains(title));
        assert_eq!(
            at(72),
            format!(
                "ID       STATE  {:18}  TITLE\nt-00001  held   claude-5f0c (idle…  Rewrite the parser so that it repor…\n",
                "WHO"
            )
        );
        assert_eq!(
            at(40),
            "ID       STATE  WHO\n\
             t-00001  held\n  claude-5f0c (idle), since yesterday\n  Rewrite the parser so that it reports…\n"
        );
    }

    #[test]
    fn a_report_is_continued_below_its_beginning() {
        let rows = rows(&[&["store", "ok", "a text that takes more than one line"]]);
        let out = Printer::of_width(32);
        assert_eq!(
            report(&out, &["CHECK", "", "FOUND"], &rows),
            "CHECK      FOUND\nstore  ok  a text that takes\n           more than one line\n"
        );
    }
}
