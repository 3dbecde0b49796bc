//! From the name of a tool that does not exist to the tool that was meant.

use tenure_core::name::nearest;

use super::tool;

/// What models call tools, by the words of the name, and the tool that does it with the arguments that matter.
const GUESSES: &[(&str, &str, &[&str])] = &[
    (
        "list",
        " with overview true",
        &[
            "status",
            "get_status",
            "overview",
            "summary",
            "dashboard",
            "stats",
            "who",
            "agents",
            "report",
            "standup",
            "project",
        ],
    ),
    ("list", " with states [\"ready\"]", &["ready", "next_tasks", "available", "backlog", "todo", "todos"]),
    ("list", " with id", &["show", "get", "view", "describe", "read", "details", "info", "fetch", "why", "history"]),
    ("list", "", &["tasks", "board", "search", "find", "query", "issues", "all", "log", "holds"]),
    ("mail", "", &["inbox", "send", "message", "messages", "notify", "chat", "reply", "ask_agent"]),
    ("memory", "", &["remember", "recall", "forget", "memories", "learn", "lesson", "lessons", "knowledge"]),
    ("add", "", &["create", "new", "insert", "open", "file", "write_todo", "todo_write", "import"]),
    ("done", "", &["finish", "complete", "close", "resolve", "end", "submit", "hand_in"]),
    ("block", "", &["fail", "stuck", "ask", "question", "escalate", "blocked"]),
    ("note", "", &["comment", "progress", "update", "edit", "record", "checkpoint", "heartbeat", "append"]),
    ("release", "", &["unclaim", "unlock", "unreserve", "drop", "return", "give", "abandon", "free"]),
    ("reserve", " with paths", &["lock", "hold", "check", "acquire", "edit_file", "guard"]),
    (
        "resume",
        "",
        &[
            "claim",
            "next",
            "next_task",
            "get_next_task",
            "start",
            "take",
            "begin",
            "pick",
            "work",
            "continue",
            "assign",
            "pull",
            "prime",
            "init",
        ],
    ),
];

/// The tool that a name means and what to call it with; none if nothing is near.
pub(super) fn meant(name: &str) -> Option<(&'static str, &'static str)> {
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // Clients put the name of the server first: `mcp__tenure__claim`.
    let words: Vec<&str> = words.into_iter().filter(|word| !["mcp", "tenure"].contains(word)).collect();
    if let Some(tool) = tool::ALL.iter().find(|tool| words.contains(&tool.name)) {
        return Some((tool.name, ""));
    }
    let known = |phrase: &str| {
        let found = GUESSES.iter().find(|(_, _, phrases)| phrases.contains(&phrase));
        found.map(|(tool, with, _)| (*tool, *with))
    };
    known(&words.join("_"))
        .or_else(|| words.iter().find_map(|word| known(word)))
        .or_else(|| Some((tool::named(nearest(&words.join("_"), tool::names())?)?.name, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_call_tools_leads_to_the_right_one() {
        for (typed, tool) in [
            ("claim", "resume"),
            ("claim_task", "resume"),
            ("get_next_task", "resume"),
            ("mcp__tenure__resume", "resume"),
            ("next", "resume"),
            ("get_task", "list"),
            ("show", "list"),
            ("status", "list"),
            ("get_status", "list"),
            ("ready", "list"),
            ("list_ready_tasks", "list"),
            ("who", "list"),
            ("create_task", "add"),
            ("new_issue", "add"),
            ("todo_write", "add"),
            ("complete_task", "done"),
            ("close", "done"),
            ("update_task", "note"),
            ("add_note", "note"),
            ("lock_file", "reserve"),
            ("unlock", "release"),
            ("send_message", "mail"),
            ("remember", "memory"),
            ("ask_question", "block"),
            ("relase", "release"),
        ] {
            assert_eq!(meant(typed).map(|(tool, _)| tool), Some(tool), "{typed}");
        }
        assert_eq!(meant("xyzzy"), None);
    }

    #[test]
    fn every_guess_names_a_tool_and_no_phrase_is_two_guesses() {
        let mut seen = std::collections::BTreeSet::new();
        for (tool, _, phrases) in GUESSES {
            assert!(tool::named(tool).is_some(), "{tool}");
            for phrase in *phrases {
                assert!(seen.insert(phrase) && tool::named(phrase).is_none(), "{phrase}");
            }
        }
    }
}
