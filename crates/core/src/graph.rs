//! The dependency graph. Cycles are found at any size, without recursion.

use std::collections::{HashMap, HashSet};

use crate::id::TaskId;

/// For each node, the nodes it depends on.
pub type Edges = Vec<Vec<usize>>;

/// Finds a cycle in a graph where `edges[i]` lists the dependencies of node `i`. Returns the nodes of one cycle in
/// order, or `None`.
pub fn cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Over,
    }
    let mut marks = vec![Mark::New; edges.len()];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..edges.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::OnPath;
        path.push((start, 0));
        while let Some((node, next)) = path.last_mut() {
            let Some(&child) = edges[*node].get(*next) else {
                marks[*node] = Mark::Over;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[child] {
                Mark::Over => {}
                Mark::New => {
                    marks[child] = Mark::OnPath;
                    path.push((child, 0));
                }
                Mark::OnPath => {
                    let from = path.iter().position(|&(node, _)| node == child).unwrap_or(0);
                    return Some(path[from..].iter().map(|&(node, _)| node).collect());
                }
            }
        }
    }
    None
}

/// Finds a path from one of `from` to `to` along the edges, including both ends, or `None`. The search is
/// breadth-first, so the path is a shortest one.
pub fn path(edges: &[(TaskId, TaskId)], from: &[TaskId], to: &TaskId) -> Option<Vec<TaskId>> {
    let to = to.as_str();
    let mut out: HashMap<&str, Vec<&str>> = HashMap::new();
    for (task, after) in edges {
        out.entry(task).or_default().push(after);
    }
    let mut came_from: HashMap<&str, &str> = HashMap::new();
    let mut seen: HashSet<&str> = from.iter().map(TaskId::as_str).collect();
    let mut ring: Vec<&str> = from.iter().map(TaskId::as_str).collect();
    while !ring.is_empty() {
        if ring.contains(&to) {
            let mut way = vec![TaskId::from(to)];
            let mut node = to;
            while let Some(&before) = came_from.get(node) {
                way.push(before.into());
                node = before;
            }
            way.reverse();
            return Some(way);
        }
        let mut wider = Vec::new();
        for node in ring {
            for &next in out.get(node).into_iter().flatten() {
                if seen.insert(next) {
                    came_from.insert(next, node);
                    wider.push(next);
                }
            }
        }
        ring = wider;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inv_l8_cycles_are_found_at_any_size() {
        assert_eq!(cycle(&[vec![1], vec![2], vec![]]), None);
        assert_eq!(cycle(&[vec![0]]), Some(vec![0]));
        assert_eq!(cycle(&[vec![], vec![2], vec![3], vec![1]]), Some(vec![1, 2, 3]));
        // A chain of 200,000 nodes would overflow the stack of a recursive search.
        let chain: Vec<Vec<usize>> = (0..200_000).map(|n| if n == 0 { vec![] } else { vec![n - 1] }).collect();
        assert_eq!(cycle(&chain), None);
        let mut ring = chain;
        ring[0] = vec![199_999];
        assert_eq!(cycle(&ring).map(|nodes| nodes.len()), Some(200_000));
    }

    #[test]
    fn a_way_is_named_from_end_to_end() {
        let edges = [("c", "b"), ("b", "a"), ("c", "x")].map(|(a, b)| (TaskId::from(a), TaskId::from(b)));
        assert_eq!(path(&edges, &["c".into()], &"a".into()).unwrap(), ["c", "b", "a"]);
        assert_eq!(path(&edges, &["a".into()], &"c".into()), None);
    }

    proptest! {
        #[test]
        fn inv_l8_a_graph_without_back_edges_has_no_cycle_and_a_found_cycle_is_one(
            raw in prop::collection::vec(prop::collection::vec(0usize..12, 0..4), 12)
        ) {
            let forward: Vec<Vec<usize>> =
                raw.iter().enumerate().map(|(i, out)| out.iter().copied().filter(|&o| o < i).collect()).collect();
            prop_assert_eq!(cycle(&forward), None);
            if let Some(nodes) = cycle(&raw) {
                for (i, &node) in nodes.iter().enumerate() {
                    prop_assert!(raw[node].contains(&nodes[(i + 1) % nodes.len()]));
                }
            }
        }
    }
}
