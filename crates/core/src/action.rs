//! What a caller can do next, as data. A door says it in its own words: a command, or a tool.

use serde::{Deserialize, Serialize};

/// Something that helps now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Add a task.
    AddTask {
        /// An example of a title.
        title: String,
    },
    /// List tasks.
    ListTasks {
        /// Which of them.
        #[serde(default)]
        which: Tasks,
    },
    /// Show the task that `claim` would take.
    NextTask,
    /// Take a task: this one, or the next.
    ClaimTask {
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
    },
    /// Take the next task and read its brief.
    Resume,
    /// Show what has an id.
    Show {
        /// The id.
        id: String,
        /// Whether with everything that it comes after.
        #[serde(default, skip_serializing_if = "is_false")]
        graph: bool,
    },
    /// Show the history of a task or a hold.
    Why {
        /// Its id.
        id: String,
    },
    /// Write a note on a task.
    Note {
        /// The task; that of the caller where it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// What to write.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Finish the caller's task.
    Done,
    /// Block the caller's task.
    Block {
        /// What to say about why.
        reason: String,
    },
    /// Unblock a task.
    Unblock {
        /// Its id.
        task: String,
    },
    /// Reopen a task.
    Reopen {
        /// Its id.
        task: String,
    },
    /// List holds and places in the waiting line.
    ListHolds {
        /// Only those of the caller.
        #[serde(default, skip_serializing_if = "is_false")]
        mine: bool,
        /// Only those of a kind: `task`, `path` or `name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// Only those that have a file in common with this pattern.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        around: Option<String>,
    },
    /// Take paths.
    Reserve {
        /// The patterns; those of the request where there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// Whether to wait in line.
        #[serde(default, skip_serializing_if = "is_false")]
        wait: bool,
        /// Whether others may have them too.
        #[serde(default, skip_serializing_if = "is_false")]
        shared: bool,
        /// Whether in every checkout.
        #[serde(default, skip_serializing_if = "is_false")]
        all_checkouts: bool,
        /// For how many seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_s: Option<i64>,
    },
    /// Release the caller's task, or a task, a hold or a path by its name.
    Release {
        /// The id, or a path after `./`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        what: Option<String>,
    },
    /// Release some path.
    ReleasePath,
    /// Release a lock.
    ReleaseLock {
        /// Its name.
        name: String,
    },
    /// Send a message to an agent.
    SendTo {
        /// Its name.
        to: String,
    },
    /// Ask the holder of a hold for it.
    SendAbout {
        /// The id of the hold.
        about: String,
    },
    /// Read mail.
    ReadMail {
        /// Without taking it for read.
        #[serde(default, skip_serializing_if = "is_false")]
        peek: bool,
    },
    /// List memories.
    ListMemories {
        /// Only pinned ones.
        #[serde(default, skip_serializing_if = "is_false")]
        pinned: bool,
    },
    /// Search the memories.
    Recall,
    /// Keep a memory for the caller itself.
    RememberOwn,
    /// List agents.
    ListAgents,
    /// Show who the caller is, and in which project and store.
    Whoami,
    /// List the members of a project.
    ListMembers,
    /// Make a token.
    AddToken,
    /// List projects.
    ListProjects,
    /// Show the project of this place.
    ShowProject,
    /// Confirm project and store for this clone.
    PinProject,
    /// Make a copy a project of its own.
    NewProject,
    /// Make a copy one more checkout of its project.
    JoinProject,
    /// Show events.
    Log,
    /// Export a project.
    Export,
    /// Take a backup.
    Backup {
        /// Of a store that is named.
        #[serde(default, skip_serializing_if = "is_false")]
        named: bool,
    },
    /// Restore a backup.
    Restore {
        /// Into a place that is named.
        #[serde(default, skip_serializing_if = "is_false")]
        named: bool,
    },
    /// Check the store, the configuration and the hooks.
    Doctor,
    /// Install the hooks of agent tools.
    Setup {
        /// Of this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// Show help.
    Help {
        /// On this command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// Write the reference pages.
    WriteReference,
    /// An action of another version, in the words of the server that sent it.
    Said {
        /// The words.
        text: String,
    },
}

/// Which tasks are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tasks {
    /// Those that are not finished.
    #[default]
    Unfinished,
    /// Those that can be taken.
    Ready,
    /// Every task.
    All,
}

fn is_false(given: &bool) -> bool {
    !given
}

#[expect(clippy::needless_pass_by_value, reason = "texts and ids are passed alike, by value or by reference")]
impl Action {
    /// Claim this task.
    pub fn claim(task: impl ToString) -> Action {
        Action::ClaimTask { task: Some(task.to_string()) }
    }

    /// Show what has this id.
    pub fn show(id: impl ToString) -> Action {
        Action::Show { id: id.to_string(), graph: false }
    }

    /// Show a task with everything that it comes after.
    pub fn show_graph(id: impl ToString) -> Action {
        Action::Show { id: id.to_string(), graph: true }
    }

    /// Show the history of a task or a hold.
    pub fn why(id: impl ToString) -> Action {
        Action::Why { id: id.to_string() }
    }

    /// List every hold.
    pub fn holds() -> Action {
        Action::ListHolds { mine: false, kind: None, around: None }
    }

    /// List the caller's holds.
    pub fn own_holds() -> Action {
        Action::ListHolds { mine: true, kind: None, around: None }
    }

    /// List the holds of a kind.
    pub fn holds_of(kind: &str) -> Action {
        Action::ListHolds { mine: false, kind: Some(kind.to_owned()), around: None }
    }

    /// List the holds on a pattern.
    pub fn holds_around(pattern: impl ToString) -> Action {
        Action::ListHolds { mine: false, kind: None, around: Some(pattern.to_string()) }
    }

    /// Release what has this name.
    pub fn release(what: impl ToString) -> Action {
        Action::Release { what: Some(what.to_string()) }
    }

    /// Write a note on this task.
    pub fn note(task: impl ToString) -> Action {
        Action::Note { task: Some(task.to_string()), text: Some("…".to_owned()) }
    }
}

/// The words of a door.
///
/// A door may render the same action differently by where it stands, since a list has room for more words than a sentence.
pub trait Phrasing: Sync {
    /// The action on its own, as one thing to try; `None` where the door has no way to do it.
    fn say(&self, action: &Action) -> Option<String>;

    /// The action within a sentence of an error. It may be for a person who reads over the caller's shoulder, so every door
    /// has words for every action.
    fn advise(&self, action: &Action) -> String;

    /// The action within a sentence of a brief, which its reader alone acts on.
    fn instruct(&self, action: &Action) -> String;

    /// Where a brief shows the rest of a section that did not fit.
    fn rest(&self, action: &Action) -> String;
}

/// Actions as data: the words where there is no door, as in unit tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Phrasing for Plain {
    fn say(&self, action: &Action) -> Option<String> {
        Some(self.advise(action))
    }

    fn advise(&self, action: &Action) -> String {
        serde_json::to_string(action).unwrap_or_default()
    }

    fn instruct(&self, action: &Action) -> String {
        self.advise(action)
    }

    fn rest(&self, action: &Action) -> String {
        self.advise(action)
    }
}

/// A text that may name actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Action(Action),
}

impl Advice {
    /// Goes on with a text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Advice {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Goes on with an action.
    #[must_use]
    pub fn action(mut self, action: Action) -> Advice {
        self.0.push(Part::Action(action));
        self
    }

    /// The text in the words of a door.
    pub fn say(&self, phrasing: &dyn Phrasing) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Action(action) => phrasing.advise(action),
        });
        parts.collect()
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Advice {
        Advice::default().text(text)
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Advice {
        Advice::default().text(text)
    }
}

impl From<Action> for Advice {
    fn from(action: Action) -> Advice {
        Advice::default().action(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_travels_as_data() {
        for (action, json) in [
            (Action::NextTask, r#"{"action":"next_task"}"#),
            (Action::show_graph("t-1"), r#"{"action":"show","id":"t-1","graph":true}"#),
            (Action::ListTasks { which: Tasks::Ready }, r#"{"action":"list_tasks","which":"ready"}"#),
            (Action::own_holds(), r#"{"action":"list_holds","mine":true}"#),
            (Action::Said { text: "x".into() }, r#"{"action":"said","text":"x"}"#),
        ] {
            assert_eq!(serde_json::to_string(&action).unwrap(), json);
            assert_eq!(serde_json::from_str::<Action>(json).unwrap(), action);
        }
    }

    #[test]
    fn advice_names_actions_in_the_words_of_a_door() {
        let advice = Advice::from("Run ").action(Action::Doctor).text(".");
        assert_eq!(advice.say(&Plain), r#"Run {"action":"doctor"}."#);
    }
}
