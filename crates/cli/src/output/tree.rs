//! Who has what, as a tree of the repository.

use std::collections::BTreeMap;

use tenure_core::pattern::GLOB;
use tenure_core::text::cut;
use tenure_kernel::answer::{Hold, span};

use super::table::table;
use super::{Ink, Printer};

/// A directory or a pattern, by its name, with what is held of it.
#[derive(Default)]
struct Node<'a> {
    holds: Vec<&'a Hold>,
    below: BTreeMap<String, Node<'a>>,
}

/// Draws paths by checkout, this one first, and then locks.
pub(crate) fn tree(out: &Printer, holds: &[Hold], here: Option<&str>, more: bool) -> String {
    let mut places: BTreeMap<(u8, &str), Node<'_>> = BTreeMap::new();
    for hold in holds.iter().filter(|hold| hold.kind == "path") {
        let place = match hold.checkout.as_deref() {
            Some(path) if Some(path) == here => (0, path),
            None => (1, ""),
            Some(path) => (2, path),
        };
        let mut node = places.entry(place).or_default();
        for name in names(&hold.subject) {
            node = node.below.entry(name).or_default();
        }
        node.holds.push(hold);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for ((order, path), node) in &places {
        let title = match order {
            0 => format!("{path} (here)"),
            1 => "in every checkout".to_owned(),
            _ => format!("{path} (another checkout)"),
        };
        part(&mut rows, out, &title);
        held(&mut rows, out, "all of it", "", &node.holds);
        draw(&mut rows, out, node, "");
    }
    let locks: Vec<&Hold> = holds.iter().filter(|hold| hold.kind == "name").collect();
    if !locks.is_empty() {
        part(&mut rows, out, "locks");
        for (at, hold) in locks.iter().enumerate() {
            let line = if at + 1 == locks.len() { "└─ " } else { "├─ " };
            held(&mut rows, out, &format!("{line}{}", cut(&hold.subject, 60)), "", &[hold]);
        }
    }
    if rows.is_empty() {
        return "No path or lock is held.".to_owned();
    }
    let mut text = table(out, &["WHAT", "HOLDER", "MODE", "TASK", "ENDS IN", "FOR"], &rows);
    if more {
        text.push_str("The list is incomplete.\n");
    }
    text
}

/// The names from the top down to a pattern: directories with their slash, what has a wildcard in it as one.
fn names(pattern: &str) -> Vec<String> {
    let (body, wild) = match pattern.strip_prefix(GLOB) {
        Some(body) => (body, true),
        None => (pattern.strip_prefix("./").unwrap_or(pattern), false),
    };
    let mut names = Vec::new();
    let mut rest = body;
    while let Some((name, after)) = rest.split_once('/') {
        if wild && name.contains(['*', '?', '[', '{']) {
            break;
        }
        names.push(format!("{name}/"));
        rest = after;
    }
    if !rest.is_empty() {
        names.push(rest.to_owned());
    }
    names
}

/// A heading, apart from what stands above it.
fn part(rows: &mut Vec<Vec<String>>, out: &Printer, title: &str) {
    if !rows.is_empty() {
        rows.push(Vec::new());
    }
    rows.push(vec![out.ink(Ink::Strong, title)]);
}

fn draw(rows: &mut Vec<Vec<String>>, out: &Printer, node: &Node<'_>, indent: &str) {
    let count = node.below.len();
    for (at, (name, below)) in node.below.iter().enumerate() {
        let (line, under) = if at + 1 == count { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        // A directory in which there is one other and nothing else stands on one line with it.
        let (mut name, mut below) = (name.clone(), below);
        while below.holds.is_empty()
            && let [(only, deeper)] = below.below.iter().collect::<Vec<_>>()[..]
        {
            name.push_str(only);
            below = deeper;
        }
        let under = format!("{indent}{under}");
        let stem = if below.below.is_empty() { under.clone() } else { format!("{under}│") };
        held(rows, out, &format!("{indent}{line}{}", cut(&name, 80)), &stem, &below.holds);
        if below.holds.is_empty() {
            rows.push(vec![format!("{indent}{line}{}", cut(&name, 80))]);
        }
        draw(rows, out, below, &under);
    }
}

/// A line for each hold on one thing; the name stands once.
fn held(rows: &mut Vec<Vec<String>>, out: &Printer, name: &str, stem: &str, holds: &[&Hold]) {
    for (at, hold) in holds.iter().enumerate() {
        rows.push(vec![
            if at == 0 { name.to_owned() } else { stem.to_owned() },
            out.ink(Ink::of_liveness(hold.liveness), &out.brief(&hold.holder)),
            if hold.mode == "shared" { "shared".to_owned() } else { String::new() },
            hold.task.clone().unwrap_or_default().into(),
            span(hold.expires_in_s),
            hold.reason.clone(),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::agent::Liveness;

    use super::*;

    #[test]
    fn a_pattern_is_taken_apart_at_its_directories() {
        for (pattern, parts) in [
            ("src/lib.rs", vec!["src/", "lib.rs"]),
            ("src/store/", vec!["src/", "store/"]),
            ("./", vec![]),
            ("./glob:x", vec!["glob:x"]),
            ("glob:src/**/*.rs", vec!["src/", "**/*.rs"]),
            ("pages/[id].tsx", vec!["pages/", "[id].tsx"]),
        ] {
            assert_eq!(names(pattern), parts, "{pattern}");
        }
    }

    fn hold(kind: &str, subject: &str, holder: &str, checkout: Option<&str>) -> Hold {
        Hold {
            id: "h-1".into(),
            kind: kind.into(),
            subject: subject.into(),
            holder: holder.into(),
            fence: 1.into(),
            mode: if holder == "b" { "shared".into() } else { "exclusive".into() },
            reason: if holder == "a" { "the index".into() } else { String::new() },
            granted_at: String::new(),
            expires_at: String::new(),
            expires_in_s: 3_600,
            ttl_s: 3_600,
            state: "live".into(),
            liveness: Liveness::Alive,
            task: None,
            checkout: checkout.map(str::to_owned),
            checkout_id: None,
            checkout_name: None,
            project: None,
        }
    }

    #[test]
    fn a_tree_has_what_is_here_first_and_locks_last() {
        let (main, other) = (Some("/repo/main"), Some("/repo/other"));
        let holds = [
            hold("name", "deploy", "c", None),
            hold("path", "src/core/hold.rs", "a", main),
            hold("path", "src/core/event.rs", "c", main),
            hold("path", "glob:src/**/*.sql", "b", main),
            hold("path", "glob:src/**/*.sql", "d", main),
            hold("path", "docs/guide/", "c", main),
            hold("path", "docs/guide/deep/er/x.md", "c", main),
            hold("path", "Cargo.lock", "d", None),
            hold("path", "./", "e", other),
            hold("task", "t-1", "e", None),
        ];
        let out = Printer::of_width(100);
        let drawn = "\
WHAT                            HOLDER  MODE    ENDS IN  FOR
/repo/main (here)
├─ docs/guide/                  c               1h
│  └─ deep/er/x.md              c               1h
└─ src/
   ├─ **/*.sql                  b       shared  1h
   │                            d               1h
   └─ core/
      ├─ event.rs               c               1h
      └─ hold.rs                a               1h       the index

in every checkout
└─ Cargo.lock                   d               1h

/repo/other (another checkout)
all of it                       e               1h

locks
└─ deploy                       c               1h
";
        assert_eq!(tree(&out, &holds, main, false), drawn);
        assert_eq!(tree(&out, &holds[9..], main, false), "No path or lock is held.");
    }
}
