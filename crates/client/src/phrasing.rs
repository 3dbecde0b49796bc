//! Advice in the words of each door: commands for people and shells, tools for MCP.

use tenure_core::action::{Action, Phrasing, Tasks};
use tenure_core::text::{shell_word, shell_words};
use tenure_kernel::Door;

/// The phrasing of a door.
pub fn of(door: Door) -> &'static dyn Phrasing {
    match door {
        Door::Mcp => &Tools,
        Door::Cli | Door::Hook | Door::Http => &Commands,
    }
}

/// Commands of the binary, for the command line and HTTP.
#[derive(Clone, Copy, Debug)]
pub struct Commands;

impl Phrasing for Commands {
    fn say(&self, action: &Action) -> Option<String> {
        Some(command(action))
    }

    fn advise(&self, action: &Action) -> String {
        format!("`{}`", command(action))
    }

    fn instruct(&self, action: &Action) -> String {
        self.advise(action)
    }

    fn rest(&self, action: &Action) -> String {
        command(action)
    }
}

/// MCP tools. The agent that reads them may have no shell.
#[derive(Clone, Copy, Debug)]
pub struct Tools;

impl Phrasing for Tools {
    fn say(&self, action: &Action) -> Option<String> {
        let on = |name: &str, field: &str, subject: &Option<String>| match subject {
            Some(subject) => format!("the tool `{name}` with {field} {subject}"),
            None => format!("the tool `{name}`"),
        };
        Some(match action {
            Action::AddTask { .. } => "the tool `add`".to_owned(),
            Action::ListTasks { which: Tasks::Ready } => "the tool `list` with states ready".to_owned(),
            Action::ListTasks { .. } => "the tool `list`".to_owned(),
            Action::NextTask | Action::Resume => "the tool `resume`".to_owned(),
            Action::ClaimTask { task } => on("resume", "task", task),
            Action::Show { id, .. } => format!("the tool `list` with id {id}"),
            Action::Note { task, .. } => on("note", "task", task),
            Action::Done => "the tool `done`".to_owned(),
            Action::Block { .. } => "the tool `block`".to_owned(),
            // The paths are left out because a refusal already names them.
            Action::Reserve { wait: true, .. } => "the tool `reserve` with the same paths and wait true".to_owned(),
            Action::Reserve { .. } => "the tool `reserve` with paths".to_owned(),
            Action::Release { what } => match what.as_deref() {
                Some(id) if id.starts_with("h-") => on("release", "hold", what),
                Some(id) if !id.starts_with("t-") => on("release", "paths", what),
                _ => on("release", "task", what),
            },
            Action::ReleasePath => "the tool `release` with paths PATH".to_owned(),
            Action::SendTo { to } => format!("the tool `mail` with action send and to {to}"),
            Action::SendAbout { about } => format!("the tool `mail` with action send and about {about}"),
            Action::ReadMail { .. } => "the tool `mail` with action read".to_owned(),
            Action::ListMemories { .. } => "the tool `memory` with action list".to_owned(),
            Action::Said { text } => text.clone(),
            _ => return None,
        })
    }

    fn advise(&self, action: &Action) -> String {
        Commands.advise(action)
    }

    fn instruct(&self, action: &Action) -> String {
        let (tool, with) = match action {
            Action::AddTask { .. } => ("add", None),
            Action::ListTasks { .. } => ("list", None),
            Action::NextTask | Action::Resume => ("resume", None),
            Action::Note { text, .. } => ("note", text.as_deref()),
            Action::Done => ("done", None),
            Action::Block { .. } => ("block", Some("the reason")),
            Action::Reserve { .. } => ("reserve", None),
            Action::Release { .. } => ("release", None),
            other => return self.advise(other),
        };
        with.map_or_else(|| format!("tool `{tool}`"), |with| format!("tool `{tool}` with {with}"))
    }

    fn rest(&self, action: &Action) -> String {
        let tool = match action {
            Action::ListMemories { .. } | Action::Recall => "memory",
            Action::ReadMail { .. } => "mail",
            _ => "list",
        };
        format!("tool {tool}")
    }
}

/// The command for an action.
fn command(action: &Action) -> String {
    let arguments = match action {
        Action::Said { text } => return text.clone(),
        Action::AddTask { title } => format!("add \"{title}\""),
        Action::ListTasks { which: Tasks::Unfinished } => "list".to_owned(),
        Action::ListTasks { which: Tasks::Ready } => "list --state ready".to_owned(),
        Action::ListTasks { which: Tasks::All } => "list --all".to_owned(),
        Action::NextTask => "next".to_owned(),
        Action::ClaimTask { task } => with("claim", task),
        Action::Resume => "resume".to_owned(),
        Action::Show { id, graph: false } => format!("show {id}"),
        Action::Show { id, graph: true } => format!("show {id} --graph"),
        Action::Why { id } => format!("why {id}"),
        Action::Note { task, text } => with(&with("note", task), &text.as_ref().map(|text| format!("\"{text}\""))),
        Action::Done => "done".to_owned(),
        Action::Block { reason } => format!("block --reason \"{reason}\""),
        Action::Unblock { task } => format!("unblock {task}"),
        Action::Reopen { task } => format!("reopen {task}"),
        Action::ListHolds { mine, kind, around } => holds(*mine, kind.as_deref(), around.as_deref()),
        Action::Reserve { paths, wait, shared, all_checkouts, ttl_s } => {
            reserve(paths, [*wait, *all_checkouts, *shared], *ttl_s)
        }
        Action::Release { what } => with("release", &what.as_deref().map(path_word)),
        Action::ReleasePath => "release PATH".to_owned(),
        Action::ReleaseLock { name } => match shell_word(name) {
            Some(word) if word.starts_with('\'') => format!("release --lock {word}"),
            word => format!("release --lock={}", word.unwrap_or_else(|| name.clone())),
        },
        Action::SendTo { to } => format!("send --to {to} \"…\""),
        Action::SendAbout { about } => format!("send --about {about} \"…\" --request"),
        Action::ReadMail { peek } => flag("inbox", *peek, "--peek"),
        Action::ListMemories { pinned } => flag("memory list", *pinned, "--pinned"),
        Action::Recall => "recall \"…\"".to_owned(),
        Action::RememberOwn => "remember --scope agent".to_owned(),
        Action::ListAgents => "agent list".to_owned(),
        Action::Whoami => "whoami".to_owned(),
        Action::ListMembers => "member list".to_owned(),
        Action::AddToken => "token add".to_owned(),
        Action::ListProjects => "project list".to_owned(),
        Action::ShowProject => "project show".to_owned(),
        Action::PinProject => "project pin".to_owned(),
        Action::NewProject => "project new".to_owned(),
        Action::JoinProject => "project join".to_owned(),
        Action::Log => "log".to_owned(),
        Action::Export => "export".to_owned(),
        Action::Backup { named } => flag("backup", *named, "--store FILE"),
        Action::Restore { named } => flag("restore", *named, "FILE --store PLACE"),
        Action::Doctor => "doctor".to_owned(),
        Action::Setup { tool } => with("setup", tool),
        Action::Help { command } => {
            flag(command.as_deref().unwrap_or_default(), true, "--help").trim_start().to_owned()
        }
        Action::WriteReference => "reference --write".to_owned(),
    };
    format!("tenure {arguments}")
}

fn with(verb: &str, subject: &Option<String>) -> String {
    subject.as_ref().map_or_else(|| verb.to_owned(), |subject| format!("{verb} {subject}"))
}

fn flag(verb: &str, is_set: bool, flag: &str) -> String {
    if is_set { format!("{verb} {flag}") } else { verb.to_owned() }
}

fn holds(mine: bool, kind: Option<&str>, around: Option<&str>) -> String {
    let kind = kind.map_or_else(String::new, |kind| format!(" --kind {kind}"));
    let around = around.map_or_else(String::new, |pattern| {
        format!(" {}", shell_words(&[pattern.to_owned()]).unwrap_or_else(|| pattern.to_owned()))
    });
    format!("{}{kind}{around}", flag("holds", mine, "--mine"))
}

/// The command repeats the flags of the request: without them it would reserve something else.
fn reserve(paths: &[String], flags: [bool; 3], ttl_s: Option<i64>) -> String {
    let mut text = "reserve".to_owned();
    for (is_set, name) in flags.into_iter().zip(["--wait", "--all-checkouts", "--shared"]) {
        text = flag(&text, is_set, name);
    }
    text = with(&text, &ttl_s.map(|seconds| format!("--ttl {seconds}s")));
    with(&text, &shell_words(paths))
}

/// A path as one shell word. `./` stays in front of the quotes.
fn path_word(what: &str) -> String {
    match what.strip_prefix("./") {
        Some(path) => format!("./{}", shell_word(path).unwrap_or_else(|| path.to_owned())),
        None => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(paths: &[&str]) -> Action {
        Action::Reserve {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            wait: true,
            shared: true,
            all_checkouts: false,
            ttl_s: Some(60),
        }
    }

    #[test]
    fn an_action_is_a_command_or_a_tool() {
        for (action, command, tool) in [
            (Action::ClaimTask { task: None }, "tenure claim", Some("the tool `resume`")),
            (Action::claim("t-1"), "tenure claim t-1", Some("the tool `resume` with task t-1")),
            (Action::NextTask, "tenure next", Some("the tool `resume`")),
            (Action::show_graph("t-1"), "tenure show t-1 --graph", Some("the tool `list` with id t-1")),
            (
                Action::ListTasks { which: Tasks::Ready },
                "tenure list --state ready",
                Some("the tool `list` with states ready"),
            ),
            (Action::ListTasks { which: Tasks::All }, "tenure list --all", Some("the tool `list`")),
            (Action::note("t-1"), "tenure note t-1 \"…\"", Some("the tool `note` with task t-1")),
            (Action::ReadMail { peek: true }, "tenure inbox --peek", Some("the tool `mail` with action read")),
            (
                wait(&["a b"]),
                "tenure reserve --wait --shared --ttl 60s -- 'a b'",
                Some("the tool `reserve` with the same paths and wait true"),
            ),
            (
                Action::SendAbout { about: "h-1".into() },
                "tenure send --about h-1 \"…\" --request",
                Some("the tool `mail` with action send and about h-1"),
            ),
            (
                Action::SendTo { to: "b".into() },
                "tenure send --to b \"…\"",
                Some("the tool `mail` with action send and to b"),
            ),
            (Action::AddTask { title: "Fix the login".into() }, "tenure add \"Fix the login\"", Some("the tool `add`")),
            (Action::release("t-1"), "tenure release t-1", Some("the tool `release` with task t-1")),
            (Action::release("h-1"), "tenure release h-1", Some("the tool `release` with hold h-1")),
            (Action::release("./x"), "tenure release ./x", Some("the tool `release` with paths ./x")),
            (Action::release("./a b"), "tenure release ./'a b'", Some("the tool `release` with paths ./a b")),
            (
                Action::ListMemories { pinned: true },
                "tenure memory list --pinned",
                Some("the tool `memory` with action list"),
            ),
            (Action::Said { text: "claim t-1".into() }, "claim t-1", Some("claim t-1")),
            (Action::why("t-1"), "tenure why t-1", None),
            (Action::holds(), "tenure holds", None),
            (Action::own_holds(), "tenure holds --mine", None),
            (Action::holds_of("name"), "tenure holds --kind name", None),
            (Action::holds_around("-a"), "tenure holds -- -a", None),
            (Action::ReleaseLock { name: "x".into() }, "tenure release --lock=x", None),
            (Action::ReleaseLock { name: "a b".into() }, "tenure release --lock 'a b'", None),
            (Action::Reopen { task: "t-1".into() }, "tenure reopen t-1", None),
            (Action::Help { command: None }, "tenure --help", None),
            (Action::Help { command: Some("add".into()) }, "tenure add --help", None),
        ] {
            assert_eq!(Commands.say(&action).as_deref(), Some(command));
            assert_eq!(Tools.say(&action).as_deref(), tool, "{command}");
        }
    }

    #[test]
    fn a_sentence_names_a_command_in_errors_and_a_tool_in_briefs() {
        let claim = Action::claim("t-1");
        assert_eq!(
            (Commands.advise(&claim), Tools.advise(&claim)),
            ("`tenure claim t-1`".into(), "`tenure claim t-1`".into())
        );
        let note = Action::Note { task: None, text: Some("what you did".into()) };
        assert_eq!(Commands.instruct(&note), "`tenure note \"what you did\"`");
        assert_eq!(Tools.instruct(&note), "tool `note` with what you did");
        assert_eq!((Commands.rest(&Action::Log), Tools.rest(&Action::Log)), ("tenure log".into(), "tool list".into()));
    }
}
