//! Dependencies as pictures: a tree for terminals, Mermaid for pages.

use std::collections::{HashMap, HashSet};

use tenure_core::task::TaskState;
use tenure_core::text::{cut, visible};
use tenure_kernel::answer::Task;
use tenure_kernel::query::graph::TaskGraph;

use super::Printer;
use super::layout::fit;
use super::task::state;

/// The tree below a task: what it comes after, and what that comes after. A task that stands in several places is
/// unfolded once.
pub(crate) fn tree(out: &Printer, graph: &TaskGraph) -> String {
    let tasks: HashMap<&str, &Task> = graph.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let mut after: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut before: Vec<&str> = Vec::new();
    for (task, on) in &graph.edges {
        after.entry(task).or_default().push(on);
        if *on == graph.root {
            before.push(task);
        }
    }
    let label = |id: &str| match tasks.get(id) {
        Some(task) => {
            let room = if out.is_json() { 70 } else { out.width().saturating_sub(30).max(20) };
            format!("{id}  {}  {}", state(out, task), fit(&visible(&task.title), room))
        }
        None => id.to_owned(),
    };
    let mut text = format!("{}\n", label(&graph.root));
    let mut seen: HashSet<&str> = HashSet::from([graph.root.as_str()]);
    // A stack instead of recursion, for deep chains.
    let mut stack: Vec<Branch<'_>> = Vec::new();
    unfold(&mut stack, after.get(graph.root.as_str()), "");
    while let Some(Branch { task, indent, last }) = stack.pop() {
        let children = after.get(task);
        let again = !seen.insert(task);
        let more = if again && children.is_some() { "  (above)" } else { "" };
        text.push_str(&format!("{indent}{}after {}{more}\n", if last { "└─ " } else { "├─ " }, label(task)));
        if !again {
            unfold(&mut stack, children, &format!("{indent}{}", if last { "   " } else { "│  " }));
        }
    }
    if !before.is_empty() {
        text.push_str("\nBefore:\n");
        for id in before {
            text.push_str(&format!("  {}\n", label(id)));
        }
    }
    if graph.more {
        text.push_str("\nThe graph is incomplete: it has more tasks.\n");
    }
    text
}

/// A line of the tree that is still to be drawn.
struct Branch<'a> {
    task: &'a str,
    indent: String,
    last: bool,
}

fn unfold<'a>(stack: &mut Vec<Branch<'a>>, children: Option<&Vec<&'a str>>, indent: &str) {
    let children = children.map_or(&[][..], Vec::as_slice);
    // The first child is drawn first, so it is pushed last.
    for (index, task) in children.iter().enumerate().rev() {
        stack.push(Branch { task, indent: indent.to_owned(), last: index + 1 == children.len() });
    }
}

/// The graph as a Mermaid flow chart: an arrow leads from a task to what may start after it.
pub(crate) fn mermaid(graph: &TaskGraph) -> String {
    let mut text = String::from("flowchart LR\n");
    for task in &graph.tasks {
        text.push_str(&format!("  {}[\"{}<br/>{}\"]:::{}\n", node(&task.id), task.id, escape(&task.title), task.state));
    }
    for (task, after) in &graph.edges {
        text.push_str(&format!("  {} --> {}\n", node(after), node(task)));
    }
    for (class, style) in [
        (TaskState::Ready, "fill:#d8f5d8,stroke:#2e7d32"),
        (TaskState::Held, "fill:#d6e4ff,stroke:#1d4ed8"),
        (TaskState::Waiting, "fill:#fff4cc,stroke:#b7791f"),
        (TaskState::Stuck, "fill:#ffd9d9,stroke:#b91c1c"),
        (TaskState::Blocked, "fill:#ffd9d9,stroke:#b91c1c"),
        (TaskState::Done, "fill:#eeeeee,stroke:#777777"),
        (TaskState::Cancelled, "fill:#eeeeee,stroke:#777777,stroke-dasharray:4"),
    ] {
        if graph.tasks.iter().any(|task| task.state == class) {
            text.push_str(&format!("  classDef {class} {style}\n"));
        }
    }
    text
}

fn node(id: &str) -> String {
    id.replace('-', "_")
}

/// A title inside a Mermaid label: what has a meaning there is written as an entity.
fn escape(title: &str) -> String {
    let mut out = String::new();
    for c in cut(title, 60).chars() {
        match c {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            '\\' => out.push_str("#92;"),
            other => out.push(other),
        }
    }
    out
}
