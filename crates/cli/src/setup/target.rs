//! The targets of setup: the agent tools, the hooks of the git repository, and AGENTS.md for tools without hooks. Lists
//! for each target the files to change and their content. Nothing here writes.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::githook::{self, Hooks};
use super::json_entries::{HookEntry, JsonPart};
use crate::agent_tool::{self, AgentTool};

/// A target of setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetupTarget {
    Tool(&'static AgentTool),
    /// The hooks of the repository.
    Git,
    /// AGENTS.md, which tools without hooks read.
    Agents,
}

/// Whose files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SetupScope {
    User,
    Project,
}

impl SetupScope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            SetupScope::User => "user",
            SetupScope::Project => "project",
        }
    }
}

/// Tools without hooks, by their common names.
const READERS: [&str; 10] =
    ["agents", "aider", "amp", "cline", "copilot", "goose", "jules", "other", "windsurf", "zed"];

/// The locations of files and programs.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) home: Option<PathBuf>,
    pub(crate) config_home: Option<PathBuf>,
    /// The directory of Claude Code's files, if it is not in the home directory.
    pub(crate) claude: Option<PathBuf>,
    pub(crate) codex: Option<PathBuf>,
    /// The top of the checkout, if there is one.
    pub(crate) checkout: Option<PathBuf>,
    /// The directory of AGENTS.md.
    pub(crate) dir: PathBuf,
    /// The hooks of the repository, once git was asked for their location.
    pub(crate) git: Option<Hooks>,
    /// This program, as files of the user name it.
    pub(crate) program: String,
    /// The directory of an embedded store.
    pub(crate) store: Option<PathBuf>,
    /// The directories in which programs are searched.
    pub(crate) path: Vec<PathBuf>,
}

/// A file to be changed.
#[derive(Clone, Debug)]
pub(crate) struct TargetFile {
    pub(crate) target: SetupTarget,
    pub(crate) scope: SetupScope,
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Json(Vec<JsonPart>),
    /// Codex's `config.toml`.
    Roots {
        program: String,
        dir: Option<String>,
    },
    /// A section of AGENTS.md.
    Section,
    /// A file of its own.
    Plugin(String),
    /// A hook of git.
    Hook(githook::HookFile),
    /// Git's configuration, with or without hooks.
    Hooks {
        wanted: bool,
        program: Option<String>,
    },
}

impl SetupTarget {
    /// The agent tools and git, in the order in which they are shown.
    pub(crate) fn with_hooks() -> impl Iterator<Item = SetupTarget> {
        agent_tool::ALL.iter().copied().map(SetupTarget::Tool).chain([SetupTarget::Git])
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            SetupTarget::Tool(tool) => tool.name,
            SetupTarget::Git => "git",
            SetupTarget::Agents => "agents",
        }
    }

    pub(crate) const fn tool(self) -> Option<&'static AgentTool> {
        match self {
            SetupTarget::Tool(tool) => Some(tool),
            SetupTarget::Git | SetupTarget::Agents => None,
        }
    }

    /// The target with a name. All tools without hooks share one.
    pub(crate) fn called(name: &str) -> Option<SetupTarget> {
        let reader = READERS.contains(&name).then_some(SetupTarget::Agents);
        SetupTarget::with_hooks().find(|target| target.name() == name).or(reader)
    }

    /// All names, for a refusal.
    pub(crate) fn names() -> String {
        let own: Vec<&str> = SetupTarget::with_hooks().map(SetupTarget::name).collect();
        format!("{}; without hooks: {}", own.join(", "), READERS.join(", "))
    }

    /// Whether the tool is used here: it has a directory, or its program can be found. No program is started.
    pub(crate) fn is_found(self, ground: &Ground) -> bool {
        let has_program =
            |names: &[&str]| ground.path.iter().any(|dir| names.iter().any(|name| dir.join(name).is_file()));
        match self {
            SetupTarget::Tool(tool) => {
                let dirs = [SetupScope::User, SetupScope::Project].map(|scope| directory(tool, scope, ground));
                dirs.into_iter().flatten().any(|dir| dir.is_dir()) || has_program(tool.programs)
            }
            SetupTarget::Git => ground.checkout.is_some() && has_program(&["git"]),
            SetupTarget::Agents => false,
        }
    }

    /// The files and the content of each.
    pub(crate) fn files(self, scope: SetupScope, ground: &Ground) -> Vec<TargetFile> {
        // The hooks of git belong to this clone, and there is one AGENTS.md, whatever the scope.
        let (scope, files) = match self {
            SetupTarget::Tool(tool) => {
                let Some(dir) = directory(tool, scope, ground) else { return Vec::new() };
                (scope, (tool.files)(&Installation { tool, scope, ground, dir }))
            }
            SetupTarget::Git => (SetupScope::Project, ground.git.as_ref().map(git_files).unwrap_or_default()),
            SetupTarget::Agents => (scope, vec![(ground.dir.join("AGENTS.md"), Content::Section)]),
        };
        files.into_iter().map(|(path, content)| TargetFile { target: self, scope, path, content }).collect()
    }

    /// The events for which setup installs hooks.
    pub(crate) fn events(self) -> Vec<&'static str> {
        match self {
            SetupTarget::Tool(tool) => {
                tool.events.iter().filter(|event| event.matcher.is_some()).map(|event| event.name).collect()
            }
            SetupTarget::Git => githook::EVENTS.to_vec(),
            SetupTarget::Agents => Vec::new(),
        }
    }

    /// What a person has to know or do.
    pub(crate) fn note(self, scope: SetupScope) -> Option<&'static str> {
        self.tool().and_then(|tool| (tool.note)(scope))
    }
}

/// The directory with the configuration of a tool.
fn directory(tool: &AgentTool, scope: SetupScope, ground: &Ground) -> Option<PathBuf> {
    match scope {
        SetupScope::User => (tool.home)(ground),
        SetupScope::Project => ground.checkout.as_ref().map(|top| top.join(tool.directory)),
    }
}

fn git_files(git: &Hooks) -> Vec<(PathBuf, Content)> {
    let config = || Content::Hooks { wanted: git.by_config(), program: git.program().map(str::to_owned) };
    let content = |hook: Option<githook::HookFile>| hook.map_or_else(config, Content::Hook);
    git.files().into_iter().map(|(path, hook)| (path, content(hook))).collect()
}

/// A tool in one scope.
pub(crate) struct Installation<'a> {
    pub(crate) tool: &'static AgentTool,
    pub(crate) scope: SetupScope,
    pub(crate) ground: &'a Ground,
    /// The directory with the tool's configuration.
    pub(crate) dir: PathBuf,
}

impl Installation<'_> {
    /// How a file names this program. Files that are meant to be committed contain no path of this machine.
    pub(crate) fn program(&self) -> &str {
        match self.scope {
            SetupScope::User => &self.ground.program,
            SetupScope::Project => "tenure",
        }
    }

    /// The top of the checkout.
    pub(crate) fn top(&self) -> PathBuf {
        self.ground.checkout.clone().unwrap_or_default()
    }

    /// The directory of the store, if the files belong to the user. Files of a repository do not name it.
    pub(crate) fn store(&self) -> Option<String> {
        let own = self.ground.store.as_ref().filter(|_| self.scope == SetupScope::User);
        own.and_then(|dir| dir.to_str()).map(str::to_owned)
    }

    /// The MCP server, in the format of most tools.
    pub(crate) fn server(&self, at: &'static str) -> JsonPart {
        JsonPart::Mcp { at, value: json!({ "command": self.program(), "args": ["mcp"] }) }
    }

    /// The hooks for all events that Tenure handles.
    pub(crate) fn hooks(&self) -> JsonPart {
        // A hook answers in milliseconds, and one that waits for a lock gives up long before this. At the end of a
        // session tools wait about a second.
        let seconds = |event: &str| if event.eq_ignore_ascii_case("SessionEnd") { 1 } else { 5 };
        let hooks = self.tool.events.iter().filter_map(|event| {
            Some(HookEntry {
                event: event.name.to_owned(),
                matcher: event.matcher?.to_owned(),
                command: self.command(event.name),
                timeout: seconds(event.name) * self.tool.timeout_unit,
            })
        });
        JsonPart::Hooks { shape: self.tool.shape, hooks: hooks.collect(), program: self.ground.program.clone() }
    }

    /// The command line of a hook. It exits with 0 even if the program is missing or does not know the command: exit
    /// code 2 would block the tool.
    fn command(&self, event: &str) -> String {
        let name = self.tool.name;
        match self.scope {
            SetupScope::Project => format!("command -v tenure >/dev/null 2>&1 && tenure hook {name} {event} || exit 0"),
            SetupScope::User => {
                let program = quoted(&self.ground.program);
                let there = if program.contains('/') { "[ -x" } else { "command -v" };
                let end = if program.contains('/') { " ]" } else { " >/dev/null 2>&1" };
                format!("{there} {program}{end} && {program} hook {name} {event} || exit 0")
            }
        }
    }
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:=".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The program as the user's files name it: by its name if PATH leads to this program, so that an upgrade in place
/// keeps working, else by the file from which it was started.
pub(crate) fn named(path: &[PathBuf], running: &Path) -> String {
    let own = std::fs::canonicalize(running).ok();
    let same = |file: &PathBuf| own.is_some() && std::fs::canonicalize(file).ok() == own;
    let found = path.iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join("tenure")).find(same);
    // A path that is not UTF-8 cannot be written to a file; the program is then found by its name.
    found.as_deref().unwrap_or(running).to_str().unwrap_or("tenure").to_owned()
}
