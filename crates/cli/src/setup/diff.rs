//! The difference of two texts as people know it from `diff -u`.

use crate::output::{Ink, Printer};

/// Lines shown around a change.
const AROUND: usize = 3;
/// A line longer than this is cut: a whole configuration may stand in one.
const LONGEST: usize = 400;
/// Beyond this many pairs of lines the middle is shown as replaced.
const PAIRS: usize = 4_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Keep,
    Out,
    In,
}

/// The difference; empty if there is none.
pub(crate) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let old: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = after.unwrap_or_default().split_inclusive('\n').collect();
    let side = |text: Option<&str>| if text.is_some() { name } else { "/dev/null" };
    let mut out = format!("--- {}\n+++ {}\n", side(before), side(after));
    let steps = steps(&old, &new);
    let mut at = 0;
    while let Some(first) = (at..steps.len()).find(|&index| steps[index] != Step::Keep) {
        let mut last = first;
        while let Some(next) = (last + 1..steps.len().min(last + 2 + 2 * AROUND)).find(|&i| steps[i] != Step::Keep) {
            last = next;
        }
        let (from, to) = (first.saturating_sub(AROUND).max(at), (last + 1 + AROUND).min(steps.len()));
        out.push_str(&hunk(&steps, from, to, &old, &new));
        at = to;
    }
    out
}

fn hunk(steps: &[Step], from: usize, to: usize, old: &[&str], new: &[&str]) -> String {
    let count = |range: &[Step], not: Step| range.iter().filter(|step| **step != not).count();
    let (mut a, mut b) = (count(&steps[..from], Step::In), count(&steps[..from], Step::Out));
    let (length_a, length_b) = (count(&steps[from..to], Step::In), count(&steps[from..to], Step::Out));
    let head = |at: usize, length: usize| format!("{},{length}", if length == 0 { at } else { at + 1 });
    let mut out = format!("@@ -{} +{} @@\n", head(a, length_a), head(b, length_b));
    for step in &steps[from..to] {
        let (sign, line) = match step {
            Step::Keep => (' ', old[a]),
            Step::Out => ('-', old[a]),
            Step::In => ('+', new[b]),
        };
        a += usize::from(*step != Step::In);
        b += usize::from(*step != Step::Out);
        out.push(sign);
        out.push_str(&shown(line));
    }
    out
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

/// The shortest way from one text to the other, line by line.
fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (&old[same..], &new[same..]);
    let tail = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&rest_old[..rest_old.len() - tail], &rest_new[..rest_new.len() - tail]);
    let mut steps = vec![Step::Keep; same];
    if a.len().saturating_mul(b.len()) > PAIRS {
        steps.extend(vec![Step::Out; a.len()]);
        steps.extend(vec![Step::In; b.len()]);
    } else {
        steps.extend(walk(a, b));
    }
    steps.extend(vec![Step::Keep; tail]);
    steps
}

fn walk(a: &[&str], b: &[&str]) -> Vec<Step> {
    let width = b.len() + 1;
    let mut common = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = if a[i] == b[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < a.len() || j < b.len() {
        let step = if i < a.len() && j < b.len() && a[i] == b[j] {
            Step::Keep
        } else if i < a.len() && (j == b.len() || common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            Step::Out
        } else {
            Step::In
        };
        i += usize::from(step != Step::In);
        j += usize::from(step != Step::Out);
        steps.push(step);
    }
    steps
}

/// The same in colour, on a terminal that can.
pub(crate) fn coloured(out: &Printer, diff: &str) -> String {
    let line = |line: &str| match line.as_bytes().first() {
        _ if line.starts_with("--- ") || line.starts_with("+++ ") => out.ink(Ink::Bold, line),
        Some(b'+') => out.ink(Ink::Green, line),
        Some(b'-') => out.ink(Ink::Red, line),
        Some(b'@') => out.ink(Ink::Dim, line),
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
}
