//! Who acts: the only resolver of identity for the command line.
//!
//! The sources in order are `--agent`, `TENURE_AGENT`, the session of an agent tool, and the person at the terminal. A
//! hook registers which agent a session is, together with the tool's process. The nearest such process above the
//! command counts, so that a session is one agent through every door, also after `/clear` and in a second terminal.
//! Without a registered process, the session variable alone names the agent. A tool that is recognised without either
//! has no name: its queries are answered and its ops refused, because two sessions under one name would not be fenced
//! from each other.

use tenure_core::action::Action;
use tenure_core::session::{CommandOwner, agent_name};
use tenure_core::{Code, Error, Result, Stage, name};
use tenure_server::mcp::Thread;

use crate::agent_tool;
use crate::env::Env;
use crate::settings::Globals;

/// Agent or person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActorKind {
    Agent,
    Person,
}

/// The source of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSource {
    /// `--agent`.
    Flag,
    /// `TENURE_AGENT`.
    Variable,
    /// The session variable of a tool.
    Session(&'static str),
    /// The session that a hook registered for a process above this one.
    Hook,
    /// The user of this process.
    User,
}

impl NameSource {
    /// The word shown by `whoami`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            NameSource::Flag => "--agent",
            NameSource::Variable => "TENURE_AGENT",
            NameSource::Session(variable) => variable,
            NameSource::Hook => "hook",
            NameSource::User => "user",
        }
    }
}

/// The caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) kind: ActorKind,
    pub(crate) source: NameSource,
    /// The tool in which the caller runs, if exactly one is recognised.
    pub(crate) tool: Option<&'static str>,
}

/// The result of the resolver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedCaller {
    Known(Identity),
    /// The name of a person, given inside an agent tool.
    Pretender(Identity),
    /// An agent tool without a session id; the recognised tools.
    Unnamed(Vec<&'static str>),
    /// A session whose id several agents have, without a process that identifies the agent.
    Several(&'static str),
}

impl ResolvedCaller {
    /// The caller of an op. It is refused without a name.
    pub(crate) fn for_op(self) -> Result<Identity> {
        let (tools, several) = match self {
            ResolvedCaller::Known(identity) => return Ok(identity),
            ResolvedCaller::Pretender(identity) => return Err(pretender(identity.name)),
            ResolvedCaller::Unnamed(tools) => (tools, false),
            ResolvedCaller::Several(tool) => (vec![tool], true),
        };
        let message = match tools.as_slice() {
            [tool] if several => {
                format!(
                    "several agents use this session of {tool}, and the process does not show which of them is \
                         calling"
                )
            }
            [tool] => format!("this runs inside {tool}, which does not announce its session"),
            several => {
                format!("this runs inside {}, and the environment does not name the session", { several.join(" and ") })
            }
        };
        Err(Error::new(Code::IdentityMissing, message)
            .at(Stage::Resolve)
            .hint("Pass `--agent NAME` or set TENURE_AGENT, with a name that no other session uses.")
            .attempt(Action::Whoami)
            .detail("tools", tools))
    }

    /// Whether this is a session of a tool, about which a hook may have registered more.
    pub(crate) fn is_of_a_session(&self) -> bool {
        match self {
            ResolvedCaller::Known(identity) => matches!(identity.source, NameSource::Session(_)),
            ResolvedCaller::Unnamed(_) | ResolvedCaller::Several(_) => true,
            ResolvedCaller::Pretender(_) => false,
        }
    }

    /// The same session under the name that a hook registered for it, if one did.
    pub(crate) fn registered_as(self, whose: &CommandOwner) -> ResolvedCaller {
        let (known, tool) = match &self {
            ResolvedCaller::Known(identity) => (identity.name.as_str(), identity.tool),
            ResolvedCaller::Unnamed(tools) => ("", if let [tool] = tools[..] { Some(tool) } else { None }),
            ResolvedCaller::Pretender(_) | ResolvedCaller::Several(_) => return self,
        };
        match (whose, tool) {
            (CommandOwner::Agent(name), _) if name != known => ResolvedCaller::Known(Identity {
                name: name.to_string(),
                kind: ActorKind::Agent,
                source: NameSource::Hook,
                tool,
            }),
            (CommandOwner::Several, Some(tool)) => ResolvedCaller::Several(tool),
            _ => self,
        }
    }

    /// The caller of a query. Every caller is answered.
    pub(crate) fn for_query(self) -> Option<Identity> {
        match self {
            ResolvedCaller::Known(identity) | ResolvedCaller::Pretender(identity) => Some(identity),
            ResolvedCaller::Unnamed(_) | ResolvedCaller::Several(_) => None,
        }
    }
}

/// The agent tools that the environment shows, each with its session.
pub(crate) fn tools(env: &Env) -> Result<Vec<(&'static str, Option<String>)>> {
    let mut found = Vec::new();
    for tool in agent_tool::ALL {
        let id = match tool.session_variable {
            Some(variable) => env.var(variable)?.map(str::to_owned),
            None => None,
        };
        if id.is_some() || tool.marker_variables.iter().any(|mark| env.says_yes(mark)) {
            found.push((tool.name, id));
        }
    }
    Ok(found)
}

/// The name given to a hook with `TENURE_AGENT` or the flag, if any.
pub(crate) fn given_name(globals: &Globals, env: &Env) -> Result<Option<String>> {
    let typed = match &globals.agent {
        Some(typed) => Some(typed.as_str()),
        None => env.var("TENURE_AGENT")?,
    };
    let Some(name) = typed.map(name::check).transpose()? else { return Ok(None) };
    // A hook is run by an agent tool, whatever its environment contains.
    if name::is_person(name) {
        return Err(pretender(name.to_owned()));
    }
    Ok(Some(name.to_owned()))
}

fn pretender(name: String) -> Error {
    let message = format!("an agent tool cannot act as {name}");
    Error::new(Code::PeopleOnly, message)
        .at(Stage::Resolve)
        .entity(name)
        .hint("A person runs this from their own terminal; an agent uses a name without `person:`.")
}

/// Finds the caller, as far as the environment tells.
pub(crate) fn resolve(globals: &Globals, env: &Env) -> Result<ResolvedCaller> {
    let found = tools(env)?;
    let tools: Vec<&'static str> = found.iter().map(|(tool, _)| *tool).collect();
    let session = match found.as_slice() {
        [(tool, Some(id))] => {
            let variable = agent_tool::find(tool).and_then(|known| known.session_variable);
            variable.map(|variable| (variable, agent_name(tool, id)))
        }
        _ => None,
    };
    let tool = if let [tool] = tools[..] { Some(tool) } else { None };

    if let Some(typed) = &globals.agent {
        return given(typed, NameSource::Flag, tool, !tools.is_empty());
    }
    if let Some(typed) = env.var("TENURE_AGENT")? {
        return given(typed, NameSource::Variable, tool, !tools.is_empty());
    }
    match (tool, session) {
        (Some(_), Some((variable, name))) => Ok(ResolvedCaller::Known(Identity {
            name,
            kind: ActorKind::Agent,
            source: NameSource::Session(variable),
            tool,
        })),
        // One tool started another, and the environment has the variables of both. It does not show which is the inner
        // one, and a guess would let two sessions act as one agent.
        _ if !tools.is_empty() => Ok(ResolvedCaller::Unnamed(tools)),
        _ => Ok(ResolvedCaller::Known(Identity {
            name: user(env),
            kind: ActorKind::Person,
            source: NameSource::User,
            tool: None,
        })),
    }
}

/// The caller through MCP. `caller` is the result of the command line's resolver, `thread` the conversation that each
/// call names, and `registered` the agent that a hook registered for one of some tools above this process. An MCP
/// client is an agent tool whatever its environment contains, so it is never the person at the terminal. `None` is a
/// client without a name.
pub(crate) fn through_mcp(
    caller: ResolvedCaller,
    thread: Option<&Thread>,
    registered: impl FnOnce(&[(&str, Option<&str>)]) -> CommandOwner,
) -> Result<Option<Identity>> {
    let caller = match caller {
        ResolvedCaller::Known(given) if matches!(given.source, NameSource::Flag | NameSource::Variable) => {
            match given.kind {
                ActorKind::Agent => return Ok(Some(given)),
                ActorKind::Person => ResolvedCaller::Pretender(given),
            }
        }
        other => other,
    };
    match (caller, thread) {
        (caller @ ResolvedCaller::Pretender(_), _) => caller.for_op().map(Some),
        (_, Some(thread)) => {
            let source = if thread.tool.is_some() { "tenure/session" } else { "threadId" };
            let tool = tool_of(thread)?;
            let name = match registered(&[(tool, Some(&thread.id))]) {
                CommandOwner::Agent(name) => name.into(),
                CommandOwner::Unknown => agent_name(tool, &thread.id),
                CommandOwner::Several => return ResolvedCaller::Several(tool).for_op().map(Some),
            };
            Ok(Some(Identity { name, kind: ActorKind::Agent, source: NameSource::Session(source), tool: Some(tool) }))
        }
        (ResolvedCaller::Known(identity), None) if identity.kind == ActorKind::Agent => Ok(Some(identity)),
        // A client does not identify itself in the environment of its servers, but its hooks may have registered it.
        (ResolvedCaller::Known(_), None) => {
            let all: Vec<(&str, Option<&str>)> = agent_tool::names().into_iter().map(|name| (name, None)).collect();
            let named = |name| Identity { name, kind: ActorKind::Agent, source: NameSource::Hook, tool: None };
            Ok(match registered(&all) {
                CommandOwner::Agent(name) => Some(named(name.into())),
                CommandOwner::Unknown | CommandOwner::Several => None,
            })
        }
        _ => Ok(None),
    }
}

/// The tool of a conversation: the one that the call names, else the one that sends thread ids.
fn tool_of(thread: &Thread) -> Result<&'static str> {
    let known = agent_tool::ALL.iter().find(|tool| match &thread.tool {
        Some(name) => tool.name == name,
        None => tool.sends_thread_id,
    });
    known.map(|tool| tool.name).ok_or_else(|| {
        let shown = tenure_core::text::excerpt(thread.tool.as_deref().unwrap_or_default());
        Error::usage(Code::BadArguments, format!("`{shown}` is not a known agent tool")).entity("tenure/session")
    })
}

fn given(typed: &str, source: NameSource, tool: Option<&'static str>, inside_tool: bool) -> Result<ResolvedCaller> {
    let name = name::check(typed).map_err(|error| error.entity(source.as_str()))?.to_owned();
    let kind = if name::is_person(&name) { ActorKind::Person } else { ActorKind::Agent };
    let identity = Identity { name, kind, source, tool };
    Ok(if kind == ActorKind::Person && inside_tool {
        ResolvedCaller::Pretender(identity)
    } else {
        ResolvedCaller::Known(identity)
    })
}

fn user(env: &Env) -> String {
    let variable = |name| env.os(name).map(|value| value.to_string_lossy().into_owned());
    // A name without readable characters would be the same for all users who have one.
    let readable = |name: &String| name.chars().any(|c| c.is_ascii_alphanumeric());
    let found = variable("USER")
        .filter(readable)
        .or_else(|| variable("LOGNAME").filter(readable))
        .or_else(|| env.user_name().filter(readable))
        .unwrap_or_else(|| format!("uid-{}", env.uid()));
    name::fit_after(name::PERSON, &found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use tenure_client::phrasing::Commands;
    use tenure_core::Kind;

    use super::*;

    fn env<const N: usize>(vars: [(&str, &str); N]) -> Env {
        Env::of(Path::new("/"), vars).with("USER", "ann")
    }

    fn who(agent: Option<&str>, env: &Env) -> Result<Identity> {
        resolve(&Globals { agent: agent.map(Into::into), ..Globals::default() }, env)?.for_op()
    }

    #[test]
    fn inv_i1_the_flag_wins_over_the_variable_over_the_session() {
        let session = ("CLAUDE_CODE_SESSION_ID", "3f2a-77");
        let both = env([session, ("TENURE_AGENT", "builder")]);
        let flag = who(Some("reviewer"), &both).unwrap();
        assert_eq!((flag.name.as_str(), flag.source, flag.tool), ("reviewer", NameSource::Flag, Some("claude")));
        let variable = who(None, &both).unwrap();
        assert_eq!((variable.name.as_str(), variable.source), ("builder", NameSource::Variable));
        let session = who(None, &env([session])).unwrap();
        assert_eq!((session.name.as_str(), session.kind), ("claude-3f2a-77", ActorKind::Agent));
        assert_eq!(session.source.as_str(), "CLAUDE_CODE_SESSION_ID");
        assert_eq!(who(None, &env([("CODEX_THREAD_ID", "01ab")])).unwrap().name, "codex-01ab");
        let opencode = [("OPENCODE", "1"), ("OPENCODE_SESSION_ID", "ses_1")];
        assert_eq!(who(None, &env(opencode)).unwrap().name, "opencode-ses_1");
        assert_eq!(who(None, &env([("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "a")])).unwrap().name, "claude-a");
    }

    #[test]
    fn inv_i1_a_tool_is_not_a_person() {
        for vars in [[("CLAUDE_CODE_SESSION_ID", "a")], [("GEMINI_CLI", "1")]] {
            let error = who(Some("person:ann"), &env(vars)).unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Denied, "people_only"));
        }
        assert_eq!(who(Some("person:ann"), &env([])).unwrap().kind, ActorKind::Person);
    }

    #[test]
    fn inv_i1_given_names_are_refused_rather_than_bent() {
        for bad in ["", "Ann", "a b", "person:", "-a", "a/b", &"x".repeat(65)] {
            assert_eq!(who(Some(bad), &env([])).unwrap_err().kind(), Kind::Usage, "{bad:?}");
        }
        let error = who(None, &env([("TENURE_AGENT", "Bad Name")])).unwrap_err();
        assert_eq!(error.about(), Some("TENURE_AGENT"));
        let person = who(Some("person:ann"), &env([])).unwrap();
        assert_eq!((person.name.as_str(), person.kind), ("person:ann", ActorKind::Person));
    }

    #[test]
    fn inv_i2_a_tool_without_a_session_may_ask_but_not_act() {
        for (variable, tool) in [
            ("CLAUDECODE", "claude"),
            ("CODEX_SANDBOX", "codex"),
            ("GEMINI_CLI", "gemini"),
            ("OPENCODE", "opencode"),
            ("CURSOR_AGENT", "cursor"),
        ] {
            let env = env([(variable, "1"), ("CLAUDE_CODE_SESSION_ID", "")]);
            let error = who(None, &env).unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Denied, "identity_missing"), "{variable}");
            assert!(error.message().contains(tool) && error.advice().unwrap().say(&Commands).contains("--agent NAME"));
            assert_eq!(resolve(&Globals::default(), &env).unwrap().for_query(), None);
            assert_eq!(who(Some("named"), &env).unwrap().tool, Some(tool));
        }
        assert_eq!(who(None, &env([("GEMINI_CLI", "0")])).unwrap().kind, ActorKind::Person);
    }

    #[test]
    fn inv_i1_two_tools_at_once_are_nobody() {
        let nested = env([("CLAUDE_CODE_SESSION_ID", "a"), ("CODEX_THREAD_ID", "b")]);
        let error = who(None, &nested).unwrap_err();
        assert!(error.message().contains("claude and codex"), "{error}");
        assert!(who(None, &env([("CLAUDE_CODE_SESSION_ID", "a"), ("GEMINI_CLI", "1")])).is_err());
        assert_eq!(who(Some("inner"), &nested).unwrap().tool, None);
    }

    #[test]
    fn inv_i1_through_mcp_a_name_wins_over_the_thread_over_the_session_and_a_person_is_nobody() {
        let through = |agent: Option<&str>, vars: &[(&str, &str)], thread: Option<&str>| {
            let env = vars.iter().fold(env([]), |env, (name, value)| env.with(name, value));
            let globals = Globals { agent: agent.map(Into::into), ..Globals::default() };
            let thread = thread.map(|id| match id.split_once(' ') {
                Some((tool, id)) => Thread { tool: Some(tool.into()), id: id.into() },
                None => Thread { tool: None, id: id.into() },
            });
            through_mcp(resolve(&globals, &env)?, thread.as_ref(), |_| CommandOwner::Unknown)
                .map(|found| found.map(|identity| identity.name))
        };
        let session = ("CLAUDE_CODE_SESSION_ID", "a1");
        assert_eq!(through(Some("flag"), &[session], Some("t")).unwrap().as_deref(), Some("flag"));
        assert_eq!(through(None, &[("TENURE_AGENT", "v")], Some("t")).unwrap().as_deref(), Some("v"));
        assert_eq!(through(None, &[session], Some("t1")).unwrap().as_deref(), Some("codex-t1"));
        assert_eq!(through(None, &[session], Some("opencode ses_1")).unwrap().as_deref(), Some("opencode-ses_1"));
        assert_eq!(through(Some("flag"), &[], Some("opencode ses_1")).unwrap().as_deref(), Some("flag"));
        assert_eq!(through(None, &[], Some("nothing ses_1")).unwrap_err().code(), "bad_arguments");
        assert_eq!(through(None, &[session], None).unwrap().as_deref(), Some("claude-a1"));
        assert_eq!(through(None, &[], None).unwrap(), None);
        assert_eq!(through(None, &[("GEMINI_CLI", "1")], None).unwrap(), None);
        assert_eq!(through(Some("person:ann"), &[], None).unwrap_err().code(), "people_only");
        assert_eq!(through(Some("Bad Name"), &[], None).unwrap_err().code(), "bad_name");
    }

    #[test]
    fn people_are_named_after_the_user() {
        let bare = |vars: &[(&str, &str)]| {
            let env = vars.iter().fold(Env::of(Path::new("/"), []), |env, (name, value)| env.with(name, value));
            who(None, &env).unwrap().name
        };
        assert_eq!(bare(&[("USER", "Ann.B"), ("LOGNAME", "x")]), "person:ann.b");
        assert_eq!(bare(&[("USER", ""), ("LOGNAME", "bob")]), "person:bob");
        assert_eq!(bare(&[("USER", r"CORP\ann")]), "person:corp-ann");
        assert_eq!(bare(&[("USER", "_apt")]), "person:_apt");
        assert_eq!(bare(&[("USER", "用户")]), "person:uid-54321");
        assert_eq!(bare(&[]), "person:uid-54321");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "carl:x:54321:1::/home/carl:/bin/sh\n").unwrap();
        let env = Env::of(Path::new("/"), []).with_passwd(file.path());
        assert_eq!(who(None, &env).unwrap().name, "person:carl");
    }

    #[test]
    fn inv_i1_found_names_always_fit_and_long_ones_stay_apart() {
        let long = |end: &str| agent_name("claude", &format!("{}{end}", "s".repeat(90)));
        assert_ne!(long("1"), long("2"));
        let exact = "e".repeat(57);
        assert_eq!(agent_name("claude", &exact), format!("claude-{exact}"));
        for found in ["x", "ÄÖÜ", "a\nb\0", "İ", &"é".repeat(100), &"y".repeat(58), "5f0e:12"] {
            let name = agent_name("claude", found);
            assert!(name::check(&name).is_ok(), "{name}");
        }
        let uuid = "0b5e1c9e-8f60-4b6e-9d43-2a9d4c1e77aa";
        assert_eq!(agent_name("claude", uuid), format!("claude-{uuid}"));
    }
}
