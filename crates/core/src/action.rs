//! Next steps for a caller, as data. Each door renders them in its own words: as a command or as a tool call.

use serde::{Deserialize, Serialize};

/// A next step for the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Add a task.
    AddTask {
        /// An example title.
        title: String,
    },
    /// List tasks.
    ListTasks {
        /// Which tasks to list.
        #[serde(default)]
        which: Tasks,
    },
    /// Show the task that `claim` would choose.
    NextTask,
    /// Claim a task: the named one, or the next.
    ClaimTask {
        /// The task's id; `None` for the next task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
    },
    /// Claim the next task and read its brief.
    Resume,
    /// Show a record by its id.
    Show {
        /// The record's id.
        id: String,
        /// Whether to include all transitive dependencies.
        #[serde(default, skip_serializing_if = "is_false")]
        graph: bool,
    },
    /// Show the history of a task or a hold.
    Why {
        /// The id of the task or hold.
        id: String,
    },
    /// Add a note to a task.
    Note {
        /// The task; the caller's own where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// The text of the note.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Finish the caller's task.
    Done,
    /// Block the caller's task.
    Block {
        /// The reason to give.
        reason: String,
    },
    /// Unblock a task.
    Unblock {
        /// The task's id.
        task: String,
    },
    /// Reopen a task.
    Reopen {
        /// The task's id.
        task: String,
    },
    /// List holds and places in the waiting line.
    ListHolds {
        /// Only the caller's own.
        #[serde(default, skip_serializing_if = "is_false")]
        mine: bool,
        /// Only one kind: `task`, `path` or `name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// Only those that overlap this pattern.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        around: Option<String>,
    },
    /// Reserve paths.
    Reserve {
        /// The patterns; those of the failed request where empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// Whether to wait in line.
        #[serde(default, skip_serializing_if = "is_false")]
        wait: bool,
        /// Whether to share the paths with other agents.
        #[serde(default, skip_serializing_if = "is_false")]
        shared: bool,
        /// Whether to reserve them in every checkout.
        #[serde(default, skip_serializing_if = "is_false")]
        all_checkouts: bool,
        /// The time to live, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_s: Option<i64>,
    },
    /// Release the caller's task, or a named task, hold or path.
    Release {
        /// An id, or a path after `./`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        what: Option<String>,
    },
    /// Release a path that the caller holds.
    ReleasePath,
    /// Release a lock.
    ReleaseLock {
        /// The lock's name.
        name: String,
    },
    /// Send a message to an agent.
    SendTo {
        /// The recipient's name.
        to: String,
    },
    /// Ask the holder of a hold to release it.
    SendAbout {
        /// The hold's id.
        about: String,
    },
    /// Read mail.
    ReadMail {
        /// Whether to leave the messages unread.
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
    /// Store a memory in the caller's own scope.
    RememberOwn,
    /// List agents.
    ListAgents,
    /// Show the caller's identity, project and store.
    Whoami,
    /// List the members of a project.
    ListMembers,
    /// Create a token.
    AddToken,
    /// List projects.
    ListProjects,
    /// Show the project of the current directory.
    ShowProject,
    /// Pin project and store for this clone.
    PinProject,
    /// Turn a copied repository into a project of its own.
    NewProject,
    /// Turn a copied repository into another checkout of its project.
    JoinProject,
    /// Show events.
    Log,
    /// Export a project.
    Export,
    /// Take a backup.
    Backup {
        /// Whether to name the store explicitly.
        #[serde(default, skip_serializing_if = "is_false")]
        named: bool,
    },
    /// Restore a backup.
    Restore {
        /// Whether to name the target store explicitly.
        #[serde(default, skip_serializing_if = "is_false")]
        named: bool,
    },
    /// Check the store, the configuration and the hooks.
    Doctor,
    /// Install the hooks of agent tools.
    Setup {
        /// The tool; the detected ones where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// Show help.
    Help {
        /// The command; the overview where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// Write the reference pages.
    WriteReference,
    /// An action that this version does not know, in the words of the server that sent it.
    Said {
        /// The sender's words.
        text: String,
    },
}

/// Which tasks to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tasks {
    /// Tasks that are neither done nor cancelled.
    #[default]
    Unfinished,
    /// Tasks that can be claimed.
    Ready,
    /// Every task.
    All,
}

fn is_false(given: &bool) -> bool {
    !given
}

#[expect(clippy::needless_pass_by_value, reason = "texts and ids are passed alike, by value or by reference")]
impl Action {
    /// Claims this task.
    pub fn claim(task: impl ToString) -> Action {
        Action::ClaimTask { task: Some(task.to_string()) }
    }

    /// Shows the record with this id.
    pub fn show(id: impl ToString) -> Action {
        Action::Show { id: id.to_string(), graph: false }
    }

    /// Shows a task with all its transitive dependencies.
    pub fn show_graph(id: impl ToString) -> Action {
        Action::Show { id: id.to_string(), graph: true }
    }

    /// Shows the history of a task or a hold.
    pub fn why(id: impl ToString) -> Action {
        Action::Why { id: id.to_string() }
    }

    /// Lists every hold.
    pub fn holds() -> Action {
        Action::ListHolds { mine: false, kind: None, around: None }
    }

    /// Lists the caller's holds.
    pub fn own_holds() -> Action {
        Action::ListHolds { mine: true, kind: None, around: None }
    }

    /// Lists the holds of one kind.
    pub fn holds_of(kind: &str) -> Action {
        Action::ListHolds { mine: false, kind: Some(kind.to_owned()), around: None }
    }

    /// Lists the holds that overlap a pattern.
    pub fn holds_around(pattern: impl ToString) -> Action {
        Action::ListHolds { mine: false, kind: None, around: Some(pattern.to_string()) }
    }

    /// Releases the task, hold or path of this name.
    pub fn release(what: impl ToString) -> Action {
        Action::Release { what: Some(what.to_string()) }
    }

    /// Adds a note to this task.
    pub fn note(task: impl ToString) -> Action {
        Action::Note { task: Some(task.to_string()), text: Some("…".to_owned()) }
    }
}

/// How a door renders actions.
///
/// A door may render the same action differently by context: a list has room for more words than a sentence.
pub trait Phrasing: Sync {
    /// Renders the action as one item of a list of suggestions; `None` if the door has no way to perform it.
    fn say(&self, action: &Action) -> Option<String>;

    /// Renders the action inside a sentence of an error. A person may read it over the agent's shoulder, so every door
    /// has words for every action.
    fn advise(&self, action: &Action) -> String;

    /// Renders the action inside a sentence of a brief, which only its reader acts on.
    fn instruct(&self, action: &Action) -> String;

    /// Renders the pointer to the rest of a section that did not fit into a brief.
    fn rest(&self, action: &Action) -> String;
}

/// Renders actions as data, for code without a door such as unit tests.
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

/// A text that can contain actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Action(Action),
}

impl Advice {
    /// Appends a text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Advice {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Appends an action.
    #[must_use]
    pub fn action(mut self, action: Action) -> Advice {
        self.0.push(Part::Action(action));
        self
    }

    /// Renders the text in the words of a door.
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
