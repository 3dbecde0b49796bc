//! The text at the start of a session: what there is to do, for an agent that knows nothing of Tenure. It is short, because
//! every session pays for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::name::AgentName;
use crate::text;

/// The longest text, in characters.
pub const MOST: usize = 600;
/// How many other agents are named.
const NAMED: usize = 3;
/// The longest title and the longest report of a loss that are shown.
const TITLE: usize = 60;
const LOST: usize = 200;

/// An agent that holds something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coworker {
    /// Its name.
    pub name: AgentName,
    /// The task it holds, if it holds one.
    pub task: Option<TaskId>,
}

/// What a session that holds no task is told.
#[derive(Clone, Debug, Default)]
pub struct Opening<'a> {
    /// What the agent lost, in a sentence.
    pub lost: Option<&'a str>,
    /// How many tasks are ready.
    pub ready: i64,
    /// The first of them, and its title.
    pub first: Option<(&'a str, &'a str)>,
    /// How many messages are unread.
    pub unread: usize,
    /// The other agents that hold something.
    pub others: &'a [Coworker],
}

impl Opening<'_> {
    /// The text. `calls` explains the calls in the words of the door, in at most 330 characters. It is never cut.
    pub fn text(&self, calls: &str) -> String {
        // What is least needed is left out first.
        let shapes = (0..=NAMED).rev().map(|named| (named, TITLE)).chain([(0, 0)]);
        let shapes = [LOST, LOST / 2, 0].into_iter().flat_map(|lost| shapes.clone().map(move |(n, t)| (lost, n, t)));
        let fits = |text: &String| text.chars().count() <= MOST;
        shapes.map(|shape| self.shown(calls, shape)).find(fits).unwrap_or_else(|| text::cut(calls, MOST))
    }

    fn shown(&self, calls: &str, (lost, named, title): (usize, usize, usize)) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.lost.filter(|_| lost > 0).map(|words| text::cut(words, lost)));
        parts.push("Tenure coordinates the agents in this repository. You hold no task.".to_owned());
        let first = match self.first {
            Some((id, words)) if title > 0 => format!(", first {id} {}", text::quote(words, title)),
            _ => String::new(),
        };
        parts.push(match self.ready {
            0 => "No task is ready.".to_owned(),
            1 => format!("1 task is ready{first}."),
            ready => format!("{ready} tasks are ready{first}."),
        });
        match self.unread {
            0 => {}
            1 => parts.push("1 unread message.".to_owned()),
            unread => parts.push(format!("{unread} unread messages.")),
        }
        if !self.others.is_empty() {
            parts.push(self.coworkers(named));
        }
        format!("{}\n{calls}", parts.join(" "))
    }

    fn coworkers(&self, named: usize) -> String {
        let one = |other: &Coworker| match &other.task {
            Some(task) => format!("{} ({task})", other.name),
            None => other.name.to_string(),
        };
        let mut names: Vec<String> = self.others.iter().take(named).map(one).collect();
        let more = self.others.len() - names.len();
        match (names.len(), more) {
            (0, 1) => return "1 other agent is at work.".to_owned(),
            (0, more) => return format!("{more} other agents are at work."),
            (_, 0) => {}
            (_, more) => names.push(format!("{more} more")),
        }
        format!("At work: {}.", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(count: usize, name: &str) -> Vec<Coworker> {
        let name = |n: usize| AgentName::from(format!("{name}{n}"));
        (0..count).map(|n| Coworker { name: name(n), task: (n % 2 == 0).then(|| TaskId::from("t-7k3fq")) }).collect()
    }

    #[test]
    fn the_text_tells_what_there_is() {
        let others = others(5, "amber-");
        let opening =
            Opening { lost: None, ready: 12, first: Some(("t-9m2xq", "Fix the login")), unread: 2, others: &others };
        assert_eq!(
            opening.text("`resume` takes one."),
            "Tenure coordinates the agents in this repository. You hold no task. 12 tasks are ready, first t-9m2xq “Fix the \
             login”. 2 unread messages. At work: amber-0 (t-7k3fq), amber-1, amber-2 (t-7k3fq), 2 more.\n`resume` takes one."
        );
        assert_eq!(
            Opening { ready: 1, ..Opening::default() }.text("X"),
            "Tenure coordinates the agents in this repository. You hold no task. 1 task is ready.\nX"
        );
    }

    #[test]
    fn no_name_or_title_makes_it_longer_than_it_may_be() {
        let name = "n".repeat(63);
        let words = "“\n\u{202e}\t".repeat(200);
        for (count, lost) in [(0, None), (1, None), (3, Some(words.as_str())), (9, None), (50, Some(words.as_str()))] {
            let others = others(count, &name);
            let id = "t-".to_owned() + &"z".repeat(20);
            let opening = Opening { lost, ready: i64::MAX, first: Some((&id, &words)), unread: 1_001, others: &others };
            let calls = "c".repeat(330);
            let text = opening.text(&calls);
            assert!(text.chars().count() <= MOST, "{} of {count}: {text}", text.chars().count());
            assert!(text.ends_with(&calls), "{text}");
        }
    }
}
