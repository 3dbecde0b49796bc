//! What an agent reads when a guard refuses: what, who, what helps now, and how a person overrides it.

use tenure_core::Error;
use tenure_core::error::detail::UsesTools;
use tenure_core::text::{cut, shell_word};
use tenure_kernel::answer::{Blocker, Blockers};
use tenure_kernel::op::guard::FILES_MAX;

/// Most characters of a refusal.
const MOST: usize = 1_600;

/// The refusal of an edit, from that of the op. `asked` are the files of the call, as its session would type them.
pub(super) fn of_edit(error: &Error, asked: &[String]) -> String {
    let blockers = blockers(error);
    let mut helps: Vec<String> = Vec::new();
    let tools = error.read() == Some(UsesTools(true));
    if let Some(first) = blockers.first() {
        let all: Option<Vec<String>> = asked.iter().map(|path| shell_word(path)).collect();
        if tools {
            helps.push("tool `reserve` with these paths and `wait`".to_owned());
            // An id is known in its own project.
            helps.extend(first.project.is_none().then(|| format!("tool `mail` about {}", first.id)));
        } else {
            let paths = all.filter(|all| all.len() <= 8).map(|all| all.join(" ")).filter(|paths| paths.len() <= 300);
            helps.extend(paths.map(|paths| format!("tenure reserve --wait -- {paths}")));
            helps.extend(about(first));
        }
    }
    helps.push(if tools { "another task: tool `resume`".to_owned() } else { "tenure next".to_owned() });
    let who = error.blocker().unwrap_or_default();
    let place = if blockers.first().is_some_and(|first| first.project.is_some()) { " in that repository" } else { "" };
    let person = format!(
        "A person can end the hold{place} (`tenure release` with its id and --force) or switch the guards off for a while \
         (`tenure off`)."
    );
    whole(&format!("nothing was edited: {}", error.message()), who, &helps, &person)
}

/// The refusal of a call that changes more files than a guard takes.
pub(super) fn of_too_many(count: usize) -> String {
    format!(
        "Tenure: nothing was edited: the call changes {count} files, and at most {FILES_MAX} can be reserved in one call. \
         Try: several calls with fewer files each. A person can switch the guards off for a while \
         (`tenure off`)."
    )
}

/// The refusal of a command that would change files of others.
pub(super) fn of_command(what: &str, is_whole: bool, blockers: &[Blocker], total: usize) -> String {
    let holders: Vec<&str> = blockers.iter().fold(Vec::new(), |mut seen, blocker| {
        if !seen.contains(&blocker.holder.as_str()) {
            seen.push(&blocker.holder);
        }
        seen
    });
    let named = holders.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    let more = if holders.len() > 5 { " and others" } else { "" };
    let told: Vec<String> = blockers.iter().take(3).map(one).collect();
    let rest = if total > 3 { format!("; {} more", total - 3) } else { String::new() };
    let changes = if is_whole {
        "it changes files throughout this checkout, and other agents work there"
    } else {
        "it changes files that other agents hold"
    };
    let what = format!("`{what}` was not run: {changes}: {named}{more}");
    let mut helps = vec!["limit the command to your own files".to_owned()];
    helps.extend(blockers.first().and_then(about));
    helps.push("do it in a worktree of your own (git worktree add)".to_owned());
    let person = "A person can run it, end the holds (`tenure release` with an id and --force) or switch the guards off for a \
                  while (`tenure off`).";
    whole(&what, &format!("At risk: {}{rest}", told.join("; ")), &helps, person)
}

/// The question to a holder. An id is known in its own project.
fn about(blocker: &Blocker) -> Option<String> {
    blocker.project.is_none().then(|| format!("tenure send --about {} --request \"…\"", blocker.id))
}

fn one(blocker: &Blocker) -> String {
    let span = |seconds: i64| tenure_core::Span::seconds(seconds);
    let why = match blocker.reason.as_str() {
        "" => String::new(),
        reason => format!(", for {}", tenure_core::text::quote(reason, 60)),
    };
    format!(
        "{}{} of {} ({}, last seen {} ago, held for {}, until in {}{why})",
        tenure_core::text::quote(blocker.pattern.as_deref().unwrap_or_default(), 80),
        blocker.whereabouts(),
        blocker.holder,
        blocker.liveness.as_str(),
        span(blocker.last_seen_s),
        span(blocker.age_s),
        span(blocker.expires_in_s),
    )
}

fn blockers(error: &Error) -> Vec<Blocker> {
    error.read::<Blockers>().map_or_else(Vec::new, |blockers| blockers.0)
}

fn whole(what: &str, who: &str, helps: &[String], person: &str) -> String {
    let helps: Vec<String> = helps
        .iter()
        .take(3)
        .map(|help| if help.starts_with("tenure ") { format!("`{help}`") } else { help.clone() })
        .collect();
    let end = format!("Try: {}. {person}", helps.join("; "));
    let room = MOST.saturating_sub(end.chars().count()).max(200) / 2;
    format!("Tenure: {}. {}. {end}", cut(what, room), cut(who, room))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::Code;

    use super::*;

    fn error(message: &str) -> Error {
        let blocker = json!({
            "id": "h-1", "state": "held", "holder": "b", "pattern": "a", "mode": "exclusive", "reason": "x", "age_s": 60,
            "expires_in_s": 60, "last_seen_s": 5, "liveness": "alive", "place": null,
        });
        Error::new(Code::PathHeld, message).who("b is alive").detail("blockers", json!([blocker]))
    }

    #[test]
    fn inv_r10_a_refusal_has_four_parts_and_is_bounded() {
        let told = of_edit(&error("a is held by b"), &["./a".to_owned()]);
        for part in ["a is held by b", "b is alive", "`tenure reserve --wait -- a`", "--about h-1", "A person"] {
            assert!(told.contains(part), "{told}");
        }
        let long = of_edit(&error(&"x".repeat(9_000)).who("y".repeat(9_000)), &vec!["./z".repeat(400); 9]);
        assert!(long.chars().count() <= MOST + 50 && long.contains("--about h-1"), "{long}");
        let tools = of_edit(&error("a is held by b").with(&UsesTools(true)), &["./a".to_owned()]);
        assert!(tools.contains("tool `reserve`") && tools.contains("tool `mail`") && !tools.contains("tenure reserve"));
    }
}
