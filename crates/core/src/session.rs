//! Sessions of agent tools: which agent a session is, across `/clear`, compaction, a second terminal and a restart.

use crate::agent::{Judgement, Liveness, Process, Sign, liveness};
use crate::error::{Code, Error, Result};
use crate::hold::TASK_TTL;
use crate::name::{AgentName, NAME_MAX};
use crate::time::Time;

/// The longest session id, in bytes.
pub const SESSION_MAX: usize = 200;

/// The way in which a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// A new session.
    Startup,
    /// Where an earlier one stopped.
    Resume,
    /// It replaces a cleared session.
    Clear,
    /// The same one, its context made shorter.
    Compact,
}

impl Start {
    /// Parses a tool's word for the start; an unknown word is a plain start.
    pub fn of(word: &str) -> Start {
        match word {
            "resume" => Start::Resume,
            "clear" => Start::Clear,
            "compact" => Start::Compact,
            _ => Start::Startup,
        }
    }
}

/// A change of a session's context, which has everything that its agent knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// The context is unchanged.
    #[default]
    Kept,
    /// The context is compacted.
    Shortened,
    /// The context was cleared.
    Cleared,
    /// The lost context is shown to the session again.
    Shown,
}

/// A session as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Seen")]
pub struct StoredSession {
    /// The tool's process, with an empty host where unknown.
    pub process: Process,
    /// The session's id.
    pub session: String,
    /// The agent it is.
    pub agent: AgentName,
    /// When it began.
    pub began_at: Time,
    /// Whether it said good-bye.
    pub ended: bool,
    /// When its agent last did something.
    pub last_seen: Time,
}

/// A session whose agent is not yet known.
#[derive(Clone, Copy, Debug)]
pub struct UnknownSession<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The session's id.
    pub session: &'a str,
    /// The way in which the session began.
    pub start: Start,
    /// The tool's process; the host is empty if unknown.
    pub process: &'a Process,
}

/// The agent that a session was identified as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionIdentity {
    /// The agent's name.
    pub agent: AgentName,
    /// The agent that has the same session id in another live process.
    pub second_of: Option<AgentName>,
}

/// Checks a session id. Tools supply it, and it is stored unchanged.
pub fn id(session: &str) -> Result<&str> {
    if (1..=SESSION_MAX).contains(&session.len()) && !session.chars().any(char::is_control) {
        return Ok(session);
    }
    let shown = crate::text::excerpt(session);
    Err(Error::usage(
        Code::BadSession,
        format!("`{shown}` is not the id of a session: 1 to {SESSION_MAX} bytes, one line"),
    ))
}

/// Whether one process of a tool hosts many sessions at once. Then another id is another session, never the same one
/// continued.
fn hosts_many(tool: &str) -> bool {
    matches!(tool, "cursor" | "opencode")
}

/// Identifies the agent of a session, from the sessions of its process and those of its id, in any order. `dead` says
/// whether a session's process is proven dead.
///
/// Two live processes never share an agent. The result is the agent of the process itself, an agent of this id that no
/// live process is any more, or a new one. A process that cannot be checked counts as live as long as its agent does.
pub fn decide(
    asking: &UnknownSession<'_>,
    known: &[StoredSession],
    now: Time,
    dead: impl Fn(&StoredSession) -> bool,
) -> SessionIdentity {
    let here = |seen: &&StoredSession| !asking.process.host.is_empty() && seen.process == *asking.process;
    let alone = |agent: &str| SessionIdentity { agent: agent.into(), second_of: None };
    // The same id in the same process, or in an unknown process: nothing distinguishes them.
    let same = known.iter().filter(|seen| seen.session == asking.session && seen.process == *asking.process);
    if let Some(seen) = same.max_by_key(|seen| seen.began_at) {
        return alone(&seen.agent);
    }
    // The session was cleared, or another one was resumed in its place. A plain start beside a live session is a new
    // session.
    let went_on = asking.start != Start::Startup && !hosts_many(asking.tool);
    let before = known.iter().filter(here).max_by_key(|seen| (seen.began_at, &seen.agent));
    if let Some(seen) = before.filter(|_| went_on) {
        return alone(&seen.agent);
    }
    let lives = |seen: &StoredSession| {
        let quiet = liveness(
            now,
            &Sign { last_seen: seen.last_seen, ended: seen.ended, proven_dead: dead(seen), ttl: TASK_TTL },
        );
        match seen.process.judged_by(asking.process) {
            _ if seen.ended || dead(seen) => false,
            Judgement::Look => true,
            Judgement::Dead => false,
            Judgement::Unknown => quiet != Liveness::Gone,
        }
    };
    let of_id: Vec<&StoredSession> = known.iter().filter(|seen| seen.session == asking.session).collect();
    let mut agents: Vec<&str> = of_id.iter().map(|seen| seen.agent.as_str()).collect();
    agents.sort_unstable();
    agents.dedup();
    let base = agent_name(asking.tool, asking.session);
    let taken = |agent: &str| of_id.iter().any(|seen| seen.agent == agent && lives(seen));
    // The plain name first, then the numbered ones. Alphabetical order equals numeric order up to nine, which is
    // enough.
    if let Some(free) = agents.iter().find(|agent| !taken(agent)) {
        return alone(free);
    }
    if agents.is_empty() {
        return alone(&base);
    }
    let first = of_id.iter().min_by_key(|seen| seen.began_at).map(|seen| seen.agent.clone());
    let number = (2..).find(|number| !agents.contains(&numbered(&base, *number).as_str())).unwrap_or(2);
    SessionIdentity { agent: numbered(&base, number).into(), second_of: first }
}

/// A session that a hook registered for an ancestor process of a command.
#[derive(Clone, Debug)]
pub struct Above<'a> {
    /// The distance to the ancestor: the parent is 0.
    pub distance: usize,
    /// The tool's name.
    pub tool: &'a str,
    /// The stored session.
    pub seen: &'a StoredSession,
}

/// Identifies the agent of a command that runs below registered processes: the agent of the nearest process, if it has
/// only one. If the process has several agents, the session id decides, provided the tool passes it to its commands.
pub fn nearest<'a>(above: &[Above<'a>], session: Option<&str>) -> Option<&'a str> {
    let live = || above.iter().filter(|above| !above.seen.ended);
    let distance = live().map(|above| above.distance).min()?;
    let here: Vec<&Above<'_>> = live().filter(|above| above.distance == distance).collect();
    if let Some(same) = here.iter().find(|above| Some(above.seen.session.as_str()) == session) {
        return Some(&same.seen.agent);
    }
    let first = &here.first()?.seen.agent;
    here.iter().all(|above| above.seen.agent == *first).then_some(first)
}

/// Whose a command is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Whose")]
pub enum CommandOwner {
    /// Nothing tells.
    Unknown,
    /// An agent's.
    Agent(AgentName),
    /// That of one of several agents, or of one that is elsewhere: acting as any of them may be acting as another.
    Several,
}

/// Identifies the owner of a command without a live registered session above it, from all sessions of its id. `above`
/// are its ancestor processes: a session that ended in a process that is still alive keeps its agent. If no hook
/// registered the id, the id alone names the agent.
pub fn by_id(tool: &str, session: &str, of_id: &[StoredSession], here: &Process, above: &[(i64, i64)]) -> CommandOwner {
    let place = |seen: &&StoredSession| {
        let process = &seen.process;
        let same = (&process.host, &process.boot, &process.pidns) == (&here.host, &here.boot, &here.pidns);
        above.iter().position(|above| same && *above == (process.pid, process.started))
    };
    if let Some(seen) = of_id.iter().filter(|seen| place(seen).is_some()).min_by_key(place) {
        return CommandOwner::Agent(seen.agent.clone());
    }
    let Some(first) = of_id.first() else { return CommandOwner::Agent(agent_name(tool, session).into()) };
    let elsewhere =
        |seen: &StoredSession| !here.host.is_empty() && !seen.process.host.is_empty() && seen.process.host != here.host;
    if of_id.iter().all(elsewhere) || of_id.iter().any(|seen| seen.agent != first.agent) {
        return CommandOwner::Several;
    }
    CommandOwner::Agent(first.agent.clone())
}

/// The most names of one session id: only a caller that floods a project with names on purpose needs more.
const NAMES: usize = 100;

/// The names that a session's agent can have, in the order of assignment.
pub fn names(tool: &str, session: &str) -> impl Iterator<Item = String> {
    let base = agent_name(tool, session);
    (1..=NAMES).map(move |number| if number == 1 { base.clone() } else { numbered(&base, number) })
}

fn numbered(base: &str, number: usize) -> String {
    let end = format!(".{number}");
    let room = NAME_MAX - end.len();
    format!("{}{end}", &base[..base.len().min(room)])
}

/// The agent name of a session that no registered process overrides. Hooks, MCP and the command line all use this
/// function, so that one session is one agent through every door.
///
/// The id becomes lowercase, with `-` for other characters. An id that looks like a generated name gets a hash of the
/// id as its end.
pub fn agent_name(tool: &str, session: &str) -> String {
    let prefix = format!("{tool}-");
    let plain = crate::name::fit_after(&prefix, session);
    // An overlong id already ends in a hash.
    let fits = session.chars().count() <= NAME_MAX - prefix.len();
    if fits && is_made(session) {
        let end = format!("-{:08x}", crate::name::fnv1a(session.as_bytes()) >> 32);
        let room = NAME_MAX - end.len();
        return format!("{}{end}", &plain[..plain.len().min(room)]);
    }
    plain
}

/// Whether an id ends like a numbered or hashed name.
fn is_made(session: &str) -> bool {
    let hash = session.rsplit_once('-').is_some_and(|(_, end)| {
        [8, 16].contains(&end.len()) && end.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    });
    let number =
        session.rsplit_once('.').is_some_and(|(_, end)| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit()));
    hash || number
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(10_000_000_000);

    fn process(pid: i64) -> Process {
        Process { host: "h".into(), boot: "b".into(), pidns: "n".into(), pid, started: 100 + pid }
    }

    fn seen(pid: i64, session: &str, agent: &str, began: i64) -> StoredSession {
        StoredSession {
            process: process(pid),
            session: session.into(),
            agent: agent.into(),
            began_at: Time(began),
            ended: false,
            last_seen: NOW,
        }
    }

    fn who(pid: i64, session: &str, start: Start, known: &[StoredSession], dead: &[i64]) -> (String, Option<String>) {
        let process = process(pid);
        let asking = UnknownSession { tool: "claude", session, start, process: &process };
        let answer = decide(&asking, known, NOW, |seen| dead.contains(&seen.process.pid));
        (answer.agent.into(), answer.second_of.map(String::from))
    }

    fn is(agent: &str) -> (String, Option<String>) {
        (agent.into(), None)
    }

    #[test]
    fn inv_i1_a_new_session_in_a_new_process_is_a_new_agent() {
        assert_eq!(who(1, "a", Start::Startup, &[], &[]), is("claude-a"));
        assert_eq!(who(2, "b", Start::Startup, &[seen(1, "a", "claude-a", 1)], &[]), is("claude-b"));
    }

    #[test]
    fn inv_i1_cleared_compacted_or_resumed_in_its_process_a_session_stays_itself() {
        let known = [seen(1, "a", "claude-a", 1)];
        for start in [Start::Clear, Start::Resume, Start::Compact] {
            assert_eq!(who(1, "b", start, &known, &[]), is("claude-a"), "{start:?}");
        }
        assert_eq!(who(1, "a", Start::Compact, &known, &[]), is("claude-a"));
        assert_eq!(who(1, "a", Start::Startup, &known, &[]), is("claude-a"));
        // The agent of a process is that of the session that began last in it.
        let cleared = [seen(1, "a", "claude-a", 1), seen(1, "b", "claude-b", 2)];
        assert_eq!(who(1, "c", Start::Clear, &cleared, &[]), is("claude-b"));
        // A plain start beside a live session of the same process is another session.
        assert_eq!(who(1, "b", Start::Startup, &known, &[]), is("claude-b"));
    }

    #[test]
    fn inv_i1_another_id_that_starts_anew_after_the_end_of_one_in_its_process_is_another_agent() {
        let over = [StoredSession { ended: true, ..seen(1, "a", "claude-a", 1) }];
        assert_eq!(who(1, "b", Start::Startup, &over, &[]), is("claude-b"));
        // A cleared or resumed session continues even if its end was reported; so does the same id.
        for start in [Start::Clear, Start::Resume, Start::Compact] {
            assert_eq!(who(1, "b", start, &over, &[]), is("claude-a"), "{start:?}");
        }
        assert_eq!(who(1, "a", Start::Startup, &over, &[]), is("claude-a"));
        // The next session that is cleared continues as the one that began last.
        let both = [over[0].clone(), seen(1, "b", "claude-b", 2)];
        assert_eq!(who(1, "c", Start::Clear, &both, &[]), is("claude-b"));
        assert_eq!(who(1, "c", Start::Startup, &both, &[]), is("claude-c"));
    }

    #[test]
    fn inv_i1_one_id_in_two_live_processes_is_two_agents() {
        let first = seen(1, "a", "claude-a", 1);
        let told = |agent: &str| (agent.to_owned(), Some("claude-a".to_owned()));
        assert_eq!(who(2, "a", Start::Resume, std::slice::from_ref(&first), &[]), told("claude-a.2"));
        let two = [first.clone(), seen(2, "a", "claude-a.2", 2)];
        assert_eq!(who(3, "a", Start::Resume, &two, &[]), told("claude-a.3"));
        // The second process keeps its agent, and the first one's agent is free once that process is dead.
        assert_eq!(who(2, "a", Start::Compact, &two, &[]), is("claude-a.2"));
        assert_eq!(who(3, "a", Start::Resume, &two, &[1]), is("claude-a"));
        assert_eq!(who(3, "a", Start::Resume, &two, &[2]), is("claude-a.2"));
        // The process continued under another id: its agent is still alive.
        let cleared = [first, seen(1, "b", "claude-a", 2)];
        assert_eq!(who(2, "a", Start::Resume, &cleared, &[]), told("claude-a.2"));
        assert_eq!(who(2, "b", Start::Resume, &cleared, &[]), (String::from("claude-b.2"), Some("claude-a".into())));
    }

    #[test]
    fn inv_i1_a_session_goes_on_in_another_process_once_the_first_is_over() {
        let first = seen(1, "a", "claude-a", 1);
        assert_eq!(who(2, "a", Start::Resume, std::slice::from_ref(&first), &[1]), is("claude-a"));
        let ended = StoredSession { ended: true, ..first.clone() };
        assert_eq!(who(2, "a", Start::Resume, &[ended], &[]), is("claude-a"));
        let rebooted = StoredSession { process: Process { boot: "earlier".into(), ..process(1) }, ..first.clone() };
        assert_eq!(who(2, "a", Start::Resume, &[rebooted], &[]), is("claude-a"));
        // A process that cannot be checked is live while its agent is, and not forever.
        let elsewhere = StoredSession { process: Process { host: "other".into(), ..process(1) }, ..first };
        assert_eq!(who(2, "a", Start::Resume, std::slice::from_ref(&elsewhere), &[]).0, "claude-a.2");
        let quiet = StoredSession { last_seen: NOW - TASK_TTL, ..elsewhere };
        assert_eq!(who(2, "a", Start::Resume, &[quiet], &[]), is("claude-a"));
        // A process that was checked and is alive counts as live however quiet it is.
        let idle = StoredSession { last_seen: Time(0), ..seen(1, "a", "claude-a", 1) };
        assert_eq!(who(2, "a", Start::Resume, &[idle], &[]).0, "claude-a.2");
    }

    #[test]
    fn inv_i1_a_command_is_the_agent_of_the_nearest_registered_process() {
        let (outer, inner) = (seen(1, "a", "claude-a", 1), seen(2, "b", "codex-b.2", 2));
        let above = |distance, tool, seen| Above { distance, tool, seen };
        let both = [above(3, "claude", &outer), above(1, "codex", &inner)];
        assert_eq!(nearest(&both, None), Some("codex-b.2"));
        assert_eq!(nearest(&both, Some("a")), Some("codex-b.2"), "the id of an outer tool is not ours");
        assert_eq!(nearest(&[], Some("a")), None);
        // Cleared: two ids, one agent. Two sessions of one process: the id decides, otherwise there is no answer.
        let cleared = seen(1, "b", "claude-a", 2);
        assert_eq!(nearest(&[above(0, "claude", &outer), above(0, "claude", &cleared)], Some("c")), Some("claude-a"));
        let other = seen(1, "c", "claude-c", 3);
        let two = [above(0, "claude", &outer), above(0, "claude", &other)];
        assert_eq!(nearest(&two, Some("c")), Some("claude-c"));
        assert_eq!(nearest(&two, None), None);
        let over = StoredSession { ended: true, ..inner.clone() };
        assert_eq!(nearest(&[above(3, "claude", &outer), above(1, "codex", &over)], None), Some("claude-a"));
    }

    #[test]
    fn inv_i1_a_command_that_no_process_names_is_never_another_agent() {
        let (one, two) = (seen(1, "a", "claude-a", 1), seen(2, "a", "claude-a.2", 2));
        let here = process(0);
        let who =
            |of_id: &[StoredSession], here: &Process, above: &[(i64, i64)]| by_id("claude", "a", of_id, here, above);
        let is = |name: &str| CommandOwner::Agent(name.into());
        assert_eq!(who(&[], &here, &[]), is("claude-a"), "no hooks");
        assert_eq!(who(&[one.clone(), seen(3, "a", "claude-a", 2)], &here, &[]), is("claude-a"));
        assert_eq!(who(&[one.clone(), two.clone()], &here, &[(9, 109)]), CommandOwner::Several);
        // The session ended in a process that is still alive: it keeps its agent. Without that process, it is not the
        // other agent either.
        let over = StoredSession { ended: true, ..two };
        assert_eq!(who(&[one.clone(), over.clone()], &here, &[(9, 109), (2, 102)]), is("claude-a.2"));
        assert_eq!(who(&[one.clone(), over], &here, &[]), CommandOwner::Several);
        let inside = Process { pidns: "own".into(), ..here.clone() };
        assert_eq!(who(std::slice::from_ref(&one), &inside, &[(1, 101)]), is("claude-a"), "a sandbox of its own");
        let far = Process { host: "far".into(), ..here };
        assert_eq!(who(&[one], &far, &[(1, 101)]), CommandOwner::Several, "another machine is another session");
    }

    #[test]
    fn inv_i1_an_id_that_looks_like_a_numbered_name_is_another() {
        assert_eq!(agent_name("claude", "ABC/d"), "claude-abc-d");
        assert_ne!(agent_name("claude", "z9.2"), numbered(&agent_name("claude", "z9"), 2));
    }

    #[test]
    fn a_process_with_many_sessions_keeps_them_apart() {
        let process = process(1);
        let known = [seen(1, "a", "cursor-a", 1)];
        for start in [Start::Startup, Start::Resume, Start::Clear] {
            let asking = UnknownSession { tool: "cursor", session: "b", start, process: &process };
            assert_eq!(decide(&asking, &known, NOW, |_| false).agent, "cursor-b");
        }
    }

    #[test]
    fn an_unknown_process_is_told_apart_by_the_id_alone() {
        let process = Process::default();
        let known = [StoredSession { process: Process::default(), ..seen(0, "a", "claude-a", 1) }];
        let ask = |session| {
            let asking = UnknownSession { tool: "claude", session, start: Start::Clear, process: &process };
            decide(&asking, &known, NOW, |_| false).agent
        };
        assert_eq!((ask("a").as_str(), ask("b").as_str()), ("claude-a", "claude-b"));
    }

    #[test]
    fn numbered_names_fit() {
        let base = agent_name("claude", &"x".repeat(100));
        assert_eq!(base.len(), NAME_MAX);
        assert!(crate::name::check(&numbered(&base, 12)).is_ok());
        assert!(id("ok").is_ok());
        for bad in ["", "a\nb", "a\0", &"x".repeat(SESSION_MAX + 1)] {
            assert_eq!(id(bad).unwrap_err().code(), "bad_session");
        }
    }
}
