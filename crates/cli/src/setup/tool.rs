//! The agent tools: which files they read, which events they have, and in which unit they count time.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::entries::{Hook, Part, Shape};
use super::githook::{self, Hooks};

/// An agent tool that can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Opencode,
    /// Not an agent tool: the hooks of the repository.
    Git,
    /// Any tool without hooks, which reads AGENTS.md.
    Agents,
}

/// Whose files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    User,
    Project,
}

impl Scope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// Tools without hooks, by the names that people know them by.
const READERS: [&str; 10] =
    ["agents", "aider", "amp", "cline", "copilot", "goose", "jules", "other", "windsurf", "zed"];

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) home: Option<PathBuf>,
    pub(crate) config_home: Option<PathBuf>,
    /// Where Claude Code keeps its files, if not below the home directory.
    pub(crate) claude: Option<PathBuf>,
    pub(crate) codex: Option<PathBuf>,
    /// The top of the checkout, if this is one.
    pub(crate) checkout: Option<PathBuf>,
    /// The directory that AGENTS.md stands in.
    pub(crate) dir: PathBuf,
    /// The hooks of the repository, once git was asked where they are.
    pub(crate) git: Option<Hooks>,
    /// This program, as files of the user name it.
    pub(crate) program: String,
    /// The directory of an embedded store.
    pub(crate) store: Option<PathBuf>,
    /// Directories that programs are looked for in.
    pub(crate) path: Vec<PathBuf>,
}

/// A file to be changed.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) tool: Tool,
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// What goes into a file.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Json(Vec<Part>),
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
    Hook(githook::Hook),
    /// Git's configuration, with hooks in it or without.
    Hooks {
        wanted: bool,
        program: Option<String>,
    },
}

impl Tool {
    /// Those that have hooks.
    pub(crate) const ALL: [Tool; 5] = [Tool::Claude, Tool::Codex, Tool::Gemini, Tool::Cursor, Tool::Opencode];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Tool::Claude => "claude",
            Tool::Codex => "codex",
            Tool::Gemini => "gemini",
            Tool::Cursor => "cursor",
            Tool::Opencode => "opencode",
            Tool::Git => "git",
            Tool::Agents => "agents",
        }
    }

    /// The tool of a name; those without hooks are one.
    pub(crate) fn called(name: &str) -> Option<Tool> {
        let reader = READERS.contains(&name).then_some(Tool::Agents);
        Tool::ALL.into_iter().chain([Tool::Git]).find(|tool| tool.name() == name).or(reader)
    }

    /// All names there are, for a refusal.
    pub(crate) fn names() -> String {
        let own = Tool::ALL.map(Tool::name);
        format!("{}, git; without hooks: {}", own.join(", "), READERS.join(", "))
    }

    const fn programs(self) -> &'static [&'static str] {
        match self {
            Tool::Claude => &["claude"],
            Tool::Codex => &["codex"],
            Tool::Gemini => &["gemini"],
            Tool::Cursor => &["cursor", "cursor-agent"],
            Tool::Opencode => &["opencode", "opencode2"],
            Tool::Git => &["git"],
            Tool::Agents => &[],
        }
    }

    const fn directory(self) -> &'static str {
        match self {
            Tool::Claude => ".claude",
            Tool::Codex => ".codex",
            Tool::Gemini => ".gemini",
            Tool::Cursor => ".cursor",
            Tool::Opencode => ".opencode",
            Tool::Git | Tool::Agents => "",
        }
    }

    /// Whether the tool is used here: it has a directory, or its program can be found. Nothing is started.
    pub(crate) fn is_found(self, ground: &Ground) -> bool {
        let in_use = [self.home(ground), ground.checkout.as_ref().map(|top| top.join(self.directory()))];
        let program = |dir: &PathBuf| self.programs().iter().any(|name| dir.join(name).is_file());
        if self == Tool::Git {
            return ground.checkout.is_some() && ground.path.iter().any(program);
        }
        self != Tool::Agents
            && (in_use.into_iter().flatten().any(|dir| dir.is_dir()) || ground.path.iter().any(program))
    }

    /// Where the user's own configuration of the tool is.
    fn home(self, ground: &Ground) -> Option<PathBuf> {
        match self {
            Tool::Claude if ground.claude.is_some() => ground.claude.clone(),
            Tool::Codex if ground.codex.is_some() => ground.codex.clone(),
            Tool::Opencode => ground.config_home.as_ref().map(|dir| dir.join("opencode")),
            Tool::Git | Tool::Agents => None,
            _ => ground.home.as_ref().map(|home| home.join(self.directory())),
        }
    }

    /// The files of a tool and what goes into each.
    pub(crate) fn files(self, scope: Scope, ground: &Ground) -> Vec<File> {
        let dir = match scope {
            Scope::User => self.home(ground),
            Scope::Project => ground.checkout.as_ref().map(|top| top.join(self.directory())),
        };
        let file = |path: PathBuf, content: Content| File { tool: self, scope, path, content };
        if self == Tool::Agents {
            return vec![file(ground.dir.join("AGENTS.md"), Content::Section)];
        }
        if self == Tool::Git {
            // Neither the user's nor for commit: they are this clone's, whatever the scope is.
            let Some(git) = &ground.git else { return Vec::new() };
            let config = || Content::Hooks { wanted: git.by_config(), program: git.program().map(str::to_owned) };
            let content = |hook: Option<githook::Hook>| hook.map_or_else(config, Content::Hook);
            let files = git.files().into_iter();
            return files
                .map(|(path, hook)| File { tool: self, scope: Scope::Project, path, content: content(hook) })
                .collect();
        }
        let Some(dir) = dir else { return Vec::new() };
        let top = ground.checkout.clone().unwrap_or_default();
        let hooks =
            || Part::Hooks { shape: self.shape(), hooks: self.hooks(scope, ground), program: ground.program.clone() };
        let store = ground.store.as_ref().filter(|_| scope == Scope::User).and_then(|dir| dir.to_str());
        let server = |at| Part::Mcp { at, value: server(self, scope, ground) };
        match self {
            Tool::Claude => {
                let grant =
                    store.map(|dir| Part::Grant { at: &["sandbox", "filesystem", "allowWrite"], dir: dir.into() });
                let settings = std::iter::once(hooks()).chain(grant).collect();
                let servers = match (scope, &ground.claude, &ground.home) {
                    (Scope::Project, _, _) => top.join(".mcp.json"),
                    (Scope::User, Some(dir), _) => dir.join(".claude.json"),
                    (Scope::User, None, Some(home)) => home.join(".claude.json"),
                    (Scope::User, None, None) => return Vec::new(),
                };
                vec![
                    file(dir.join("settings.json"), Content::Json(settings)),
                    file(servers, Content::Json(vec![server("mcpServers")])),
                ]
            }
            Tool::Codex => {
                let roots =
                    Content::Roots { program: program(scope, ground).to_owned(), dir: store.map(str::to_owned) };
                vec![file(dir.join("hooks.json"), Content::Json(vec![hooks()])), file(dir.join("config.toml"), roots)]
            }
            Tool::Gemini => {
                vec![file(dir.join("settings.json"), Content::Json(vec![hooks(), server("mcpServers")]))]
            }
            Tool::Cursor => vec![
                file(dir.join("hooks.json"), Content::Json(vec![hooks(), Part::Version])),
                file(dir.join("mcp.json"), Content::Json(vec![server("mcpServers")])),
            ],
            Tool::Opencode => {
                let base = if scope == Scope::User { dir.clone() } else { top };
                let plain = base.join("opencode.json");
                let commented = base.join("opencode.jsonc");
                let config = if !plain.exists() && commented.exists() { commented } else { plain };
                vec![
                    file(dir.join("plugins/tenure.js"), Content::Plugin(plugin(program(scope, ground)))),
                    file(config, Content::Json(vec![server("mcp")])),
                ]
            }
            Tool::Git | Tool::Agents => Vec::new(),
        }
    }

    const fn shape(self) -> Shape {
        match self {
            Tool::Cursor => Shape::Flat,
            _ => Shape::Grouped,
        }
    }

    /// The tool's events that matter, with the tools of each that are looked at.
    pub(crate) const fn events(self) -> &'static [(&'static str, &'static str)] {
        const CLAUDE: &str = "Edit|MultiEdit|Write|NotebookEdit|Bash";
        const CODEX: &str = "apply_patch|Bash";
        const GEMINI: &str = "write_file|replace|run_shell_command";
        const CURSOR: &str = "Write|Delete|Shell";
        match self {
            Tool::Claude => &[
                ("SessionStart", ""),
                ("UserPromptSubmit", ""),
                ("PreToolUse", CLAUDE),
                ("PostToolUse", CLAUDE),
                ("PostToolUseFailure", CLAUDE),
                ("PreCompact", ""),
                ("SessionEnd", ""),
            ],
            Tool::Codex => &[
                ("SessionStart", ""),
                ("UserPromptSubmit", ""),
                ("PreToolUse", CODEX),
                ("PostToolUse", CODEX),
                ("PreCompact", ""),
                ("SessionEnd", ""),
            ],
            Tool::Gemini => &[
                ("SessionStart", ""),
                ("BeforeAgent", ""),
                ("BeforeTool", GEMINI),
                ("AfterTool", GEMINI),
                ("PreCompress", ""),
                ("SessionEnd", ""),
            ],
            Tool::Cursor => &[
                ("sessionStart", ""),
                ("beforeSubmitPrompt", ""),
                ("preToolUse", CURSOR),
                ("postToolUse", CURSOR),
                ("preCompact", ""),
                ("sessionEnd", ""),
            ],
            Tool::Opencode => &[
                ("session.created", ""),
                ("chat.message", ""),
                ("tool.execute.before", ""),
                ("tool.execute.after", ""),
                ("session.compacting", ""),
                ("session.deleted", ""),
            ],
            Tool::Git => &[
                ("pre-commit", ""),
                ("post-commit", ""),
                ("pre-merge-commit", ""),
                ("post-merge", ""),
                ("pre-push", ""),
            ],
            Tool::Agents => &[],
        }
    }

    fn hooks(self, scope: Scope, ground: &Ground) -> Vec<Hook> {
        // A hook answers in milliseconds; what waits for a lock gives up long before this. At the end of a session
        // tools wait for a second or so.
        let seconds = |event: &str| if event.eq_ignore_ascii_case("SessionEnd") { 1 } else { 5 };
        let unit = if self == Tool::Gemini { 1_000 } else { 1 };
        let hook = |(event, matcher): &(&str, &str)| Hook {
            event: (*event).to_owned(),
            matcher: (*matcher).to_owned(),
            command: command(self, event, scope, ground),
            timeout: seconds(event) * unit,
        };
        self.events().iter().map(hook).collect()
    }

    /// What a person has to know or do.
    pub(crate) const fn note(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            (Tool::Codex, _) => Some(
                "Codex runs a hook only after you trusted it: open /hooks in Codex, now and after every change of them.",
            ),
            (Tool::Gemini, Scope::Project) => {
                Some("Gemini CLI knows the hooks of a project by a fingerprint and asks you about new ones.")
            }
            _ => None,
        }
    }
}

/// How a program is called in a file: files meant for commit name no place on this machine.
fn program(scope: Scope, ground: &Ground) -> &str {
    match scope {
        Scope::User => &ground.program,
        Scope::Project => "tenure",
    }
}

/// The command line of a hook. Whatever happens, a missing program or one that does not know the command, it ends with 0:
/// anything that ends with 2 would block the tool.
fn command(tool: Tool, event: &str, scope: Scope, ground: &Ground) -> String {
    let name = tool.name();
    match scope {
        Scope::Project => format!("command -v tenure >/dev/null 2>&1 && tenure hook {name} {event} || exit 0"),
        Scope::User => {
            let program = quoted(&ground.program);
            let there = if program.contains('/') { "[ -x" } else { "command -v" };
            let end = if program.contains('/') { " ]" } else { " >/dev/null 2>&1" };
            format!("{there} {program}{end} && {program} hook {name} {event} || exit 0")
        }
    }
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:=".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn server(tool: Tool, scope: Scope, ground: &Ground) -> Value {
    let program = program(scope, ground);
    match tool {
        Tool::Opencode => json!({ "type": "local", "command": [program, "mcp"], "enabled": true }),
        _ => json!({ "command": program, "args": ["mcp"] }),
    }
}

/// OpenCode has no command hooks: a plugin calls the program.
fn plugin(program: &str) -> String {
    include_str!("plugin.js").replace("\"@PROGRAM@\"", &json!(program).to_string())
}

/// Whether a file is a plugin of this program, of whatever version.
pub(crate) fn is_plugin(text: &str) -> bool {
    text.starts_with("// Written by `tenure setup`")
}

/// The program as the user's files name it: by its name on PATH if that is this program, so that an upgrade in place
/// keeps working, else by the file it was started from.
pub(crate) fn named(path: &[PathBuf], running: &Path) -> String {
    let own = std::fs::canonicalize(running).ok();
    let same = |file: &PathBuf| own.is_some() && std::fs::canonicalize(file).ok() == own;
    let found = path.iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join("tenure")).find(same);
    // A name that is no text cannot stand in a file; the program is then found by its name.
    found.as_deref().unwrap_or(running).to_str().unwrap_or("tenure").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_knows_the_tools_of_the_server_by_name() {
        let named: Vec<String> = tenure_server::mcp::names().iter().map(|name| format!("\"{name}\"")).collect();
        let line = format!("[{}]", named.join(", "));
        assert!(plugin("tenure").contains(&line), "{line}");
    }
}
