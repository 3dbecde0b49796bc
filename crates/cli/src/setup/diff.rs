//! The difference of two texts, in the format of `diff -u`.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use crate::output::{Ink, Printer};

/// The number of unchanged lines around a change.
const AROUND: usize = 3;
/// The maximum length of a shown line. A whole configuration may be one line.
const LONGEST: usize = 400;
/// The maximum number of lines, from the first change to the last, that are compared. Longer ranges are shown as
/// replaced: the time to find the shortest difference may grow with the square of their number, and a file of a
/// repository may be crafted for that.
const SEARCHED: usize = 20_000;

/// The difference; empty if the texts are equal.
pub(crate) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let side = |text: Option<&str>| if text.is_some() { name } else { "/dev/null" };
    let mut out = format!("--- {}\n+++ {}\n", side(before), side(after));
    let (old, new) = (lines(before), lines(after));
    for hunk in group_diff_ops(changes(&old, &new), AROUND) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let (from, to) = (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        out.push_str(&format!("@@ -{} +{} @@\n", head(from), head(to)));
        for change in hunk.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            out.push_str(&format!("{}{}", change.tag(), shown(change.value())));
        }
    }
    out
}

fn changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[front..], &new[front..]);
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_len, new_len) = (a.len() - back, b.len() - back);
    if old_len + new_len <= SEARCHED {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: front },
        DiffOp::Replace { old_index: front, old_len, new_index: front, new_len },
        DiffOp::Equal { old_index: front + old_len, new_index: front + new_len, len: back },
    ]
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

/// The range of lines of one side of a hunk. The count is always written.
fn head(lines: Range<usize>) -> String {
    format!("{},{}", lines.start + usize::from(!lines.is_empty()), lines.len())
}

fn shown(line: &str) -> String {
    let bare = line.trim_end_matches(['\r', '\n']);
    let mut text: String = bare.chars().take(LONGEST).collect();
    if text.len() < bare.len() {
        text.push('…');
    }
    let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file" };
    format!("{text}{end}\n")
}

/// Colours the difference if the output supports it.
pub(crate) fn coloured(out: &Printer, diff: &str) -> String {
    let line = |line: &str| match line.as_bytes().first() {
        _ if line.starts_with("--- ") || line.starts_with("+++ ") => out.ink(Ink::Strong, line),
        Some(b'+') => out.ink(Ink::Good, line),
        Some(b'-') => out.ink(Ink::Bad, line),
        Some(b'@') => out.ink(Ink::Faint, line),
        _ => line.to_owned(),
    };
    diff.lines().map(|text| format!("{}\n", line(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let after = "1\n2\n3\n4\n5\nnew\n6\n7\n8\n9\n10\n11\nend";
        let wanted = "--- f\n+++ f\n@@ -3,10 +3,11 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n 9\n 10\n 11\n-12\n+end\n\\ No newline at end of file\n";
        assert_eq!(unified("f", Some(before), Some(after)), wanted);
        assert_eq!(unified("f", Some("a"), Some("a")), "");
        assert_eq!(unified("f", None, Some("a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("f", Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
    }

    #[test]
    fn far_changes_have_a_hunk_each() {
        let before: String = (0..40).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n5\n", "\nfive\n").replace("\n30\n", "\nthirty\n");
        let diff = unified("f", Some(&before), Some(&after));
        assert_eq!(diff.matches("@@ -").count(), 2, "{diff}");
        assert!(diff.contains("@@ -28,7 +28,7 @@"), "{diff}");
    }

    #[test]
    fn a_file_made_to_take_long_is_shown_as_replaced() {
        let before: String = (0..100_000).map(|n| format!("old {}\n", n % 7)).collect();
        let after: String = (0..300).map(|n| format!("new {}\n", n % 5)).collect();
        let diff = unified("f", Some(&format!("same\n{before}end\n")), Some(&format!("same\n{after}end\n")));
        assert_eq!(diff.lines().filter(|line| line.starts_with("@@")).collect::<Vec<_>>().len(), 1);
        assert!(diff.starts_with("--- f\n+++ f\n@@ -1,100002 +1,302 @@\n"), "{}", &diff[..40]);
        let count = |sign: char| diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
        assert_eq!(count('-') + count(' '), 100_002);
        assert_eq!(count('+') + count(' '), 302);
    }
}
