//! `tenure reference`: the reference pages, made from the commands and ops themselves.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::{Code, Error, Kind, Result, Stage, shell};
use tenure_kernel::op::OPS;
use tenure_server::{http, mcp};

use super::{ALL, Group, Run, Spec, read};
use crate::args::{build, root};

pub(super) const SPEC: Spec = Spec {
    name: "reference",
    aliases: &[],
    group: Group::Hidden,
    about: "Write the reference pages, or check that they are up to date",
    examples: &["tenure reference --check", "tenure reference --write"],
    args: Args::augment_args,
    run: Run::Plain(|_, out, matches| {
        let args: Args = read(matches)?;
        let dir = args.dir.unwrap_or_else(|| PathBuf::from("docs/reference"));
        let mut stale = Vec::new();
        for (name, text) in pages() {
            let path = dir.join(name);
            if args.write {
                write(&path, &text)?;
            } else if current(&path) != Some(text) {
                stale.push(path.display().to_string());
            }
        }
        if stale.is_empty() {
            out.text(if args.write { "Written." } else { "Up to date." });
            return Ok(0);
        }
        Err(Error::new(Code::StaleReference, format!("not up to date: {}", stale.join(", ")))
            .at(Stage::Arguments)
            .attempt(Action::WriteReference))
    }),
};

#[derive(clap::Args)]
struct Args {
    /// Write the pages
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Compare the pages only (the default)
    #[arg(long)]
    check: bool,
    /// The directory of the pages
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::new(Code::NotWritable, format!("{} cannot be written", path.display())).at(Stage::Write).cause(error)
    };
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

#[expect(clippy::disallowed_methods, reason = "a page of documentation")]
fn current(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("cli.md", commands()),
        ("mcp.md", tools()),
        ("ops.md", ops()),
        ("../errors/README.md", errors()),
        ("environment.md", environment()),
        ("shell-guard.md", shell_guard()),
        ("openapi.json", openapi()),
    ]
}

const NOTICE: &str = "<!-- Made by `tenure reference --write`; do not edit. -->\n\n";

fn commands() -> String {
    let mut text =
        format!("{NOTICE}# Commands\n\nEvery command takes the global flags, before or after its name.\n\n```text\n");
    text.push_str(&root().render_long_help().to_string());
    text.push_str("```\n");
    for spec in ALL.iter().filter(|spec| spec.group != Group::Hidden) {
        let mut command = build(spec).bin_name(format!("tenure {}", spec.name));
        let _ = write!(text, "\n## tenure {}\n\n```text\n{}```\n", spec.name, command.render_long_help());
    }
    trimmed(&text)
}

/// The document that a server serves. A release changes the version and not the contract, so the page leaves it out.
fn openapi() -> String {
    let mut document = http::openapi::document();
    document["info"]["version"] = "VERSION".into();
    format!("{document:#}\n")
}

fn shell_guard() -> String {
    let mut text = format!(
        "{NOTICE}# What the shell guard knows\n\nThe tables that the [shell guard](../guards.md) decides by.\n\n\
         ## Subcommands of git that change files\n\n| subcommand | refused |\n|---|---|\n"
    );
    for known in shell::SUBCOMMANDS.iter().filter(|known| known.changes_files()) {
        let _ = writeln!(text, "| `{}` | {} |", known.name, known.why);
    }
    text.push_str("\n## Subcommands of git that leave files alone\n\n| subcommand | because |\n|---|---|\n");
    for known in shell::SUBCOMMANDS.iter().filter(|known| !known.changes_files()) {
        let _ = writeln!(text, "| `{}` | {} |", known.name, known.why);
    }
    let shells: Vec<String> = shell::SHELLS.iter().map(|name| format!("`{name}`")).collect();
    let _ = write!(
        text,
        "\n## Programs that run another\n\n| program | what is read as its command |\n|---|---|\n| {} | the value of `-c`, or \
         what it is fed, as a line |\n| `find` | the words behind `-exec`, `-execdir`, `-ok`, `-okdir` |\n| `parallel`, \
         `sem` | the words before `:::`, or each word behind it, as a line |\n",
        shells.join(", ")
    );
    for runner in shell::RUNNERS {
        let _ = writeln!(text, "| `{}` | {} |", runner.name, runner.reads());
    }
    trimmed(&text)
}

fn ops() -> String {
    let mut text = format!(
        "{NOTICE}# Ops\n\nAn op changes state; its request is one JSON object. Ids are complete: doors resolve prefixes before.\n"
    );
    for entry in OPS {
        let schema = serde_json::to_string_pretty(&(entry.request)()).unwrap_or_default();
        let doors: Vec<String> = entry.doors.iter().map(|door| format!("{door:?}").to_lowercase()).collect();
        let _ = write!(
            text,
            "\n## {}\n\n{}. Doors: {}.\n\n```json\n{schema}\n```\n",
            entry.name,
            entry.about,
            doors.join(", ")
        );
    }
    trimmed(&text)
}

fn tools() -> String {
    let mut text = format!(
        "{NOTICE}# MCP tools\n\n`tenure mcp` has these tools. Each may answer with an error instead, with `isError`: see \
         [errors](../errors/README.md).\n"
    );
    for tool in mcp::tools().as_array().into_iter().flatten() {
        let pretty = |key: &str| serde_json::to_string_pretty(&tool[key]).unwrap_or_default();
        let word = |key: &str| tool[key].as_str().unwrap_or_default();
        let hints: Vec<&str> = tool["annotations"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, is)| **is == true)
            .map(|(hint, _)| hint.trim_end_matches("Hint"))
            .collect();
        let hints = if hints.is_empty() { String::new() } else { format!(" Hints: {}.", hints.join(", ")) };
        let _ = write!(
            text,
            "\n## {}\n\n{}.{hints}\n\n```json\n{}\n```\n",
            word("name"),
            word("description"),
            pretty("inputSchema"),
        );
    }
    let _ = write!(
        text,
        "\n## The resource\n\n`{}`: what `resume` would say now, as Markdown; reading it takes nothing.\n\n## Instructions\n\n{}\n",
        mcp::BRIEF,
        mcp::instructions(None)
    );
    trimmed(&text)
}

/// What stands before the tables of the page on errors.
const ERRORS: &str = r#"# Errors

Every error has a stable **code** and a **kind**. With `--json` an error is one document on standard output:

```json
{"ok":false,"error":{"code":"…","kind":"…","message":"…","hint":"…","retryable":false,"details":{"stage":"…","entity":"…"}}}
```

- `message` is one sentence for people; it may change. Programs read `code`, `kind` and `details`.
- `hint` joins the advice, the commands that help now and how a person overrides. `details.try` has those commands,
  at most three, one by one; `details.who` says who stands in the way; `details.cause` is what the system said.
- `actions` has the same as data, such as `{"action":"show","id":"t-1"}`: what `details.try` says in words. It is left out
  where nothing helps now.
- `details.stage` says where it failed: `arguments`, `resolve`, `open`, `lock`, `idempotency`, `decide`, `read`,
  `write`, `commit`, `reply`. `details.entity` is what it is about.
- `retryable` is true for the kind `busy` alone: the same call, with the same request id, may succeed later.

## Kinds

The kind decides exit code, HTTP status and whether the same call may succeed later.

| kind | exit | HTTP | retryable |
|---|---|---|---|
"#;

fn errors() -> String {
    let mut text = format!("{NOTICE}{ERRORS}");
    for kind in Kind::ALL {
        let _ = writeln!(text, "| {} | {} | {} | {} |", kind.as_str(), kind.exit(), kind.http(), kind.retryable());
    }
    text.push_str("\n## Codes\n\n| code | kind | when | what to do |\n|---|---|---|---|\n");
    for code in Code::ALL {
        let _ = writeln!(text, "| `{code}` | {} | {} | {} |", code.kind().as_str(), code.when(), code.remedy());
    }
    text
}

/// Every variable that the program reads.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("TENURE_AGENT", "Who is calling; `--agent` wins"),
    ("TENURE_PROJECT", "The project by name; `--project` wins"),
    ("TENURE_STORE", "The store: a file or a `postgres://` URL; `--store` wins"),
    ("TENURE_URL", "The address of a server that has the store; see docs/remote.md"),
    ("TENURE_TOKEN", "The token for that server"),
    ("TENURE_FORCE_HTTP", "`1`: speak to a server on another machine without TLS"),
    ("TENURE_SOCKET", "`off`: never use the server beside an embedded store"),
    ("TENURE_FORMAT", "`json`: as `--json`"),
    ("TENURE_CGROUP", "`off`: no command under a lock gets a cgroup of its own; see docs/processes.md"),
    ("TENURE_OFF", "`1`: no guard of this process looks at anything; see docs/guards.md"),
    ("TENURE_WORKER", "`1`: a session that begins takes a task at once; see docs/hooks.md"),
    ("TENURE_LOG", "`1`: `tenure mcp` says on standard error what was called, by whom and how it ended"),
    ("TENURE_FORCE_FILE_SYSTEM", "`1`: accept a network file system for the embedded store"),
    (
        "CLAUDE_CODE_SESSION_ID, CODEX_THREAD_ID, OPENCODE_SESSION_ID",
        "The session of an agent tool: names the agent where nothing else does",
    ),
    (
        "CLAUDECODE, CODEX_SANDBOX, GEMINI_CLI, OPENCODE, CURSOR_AGENT",
        "An agent tool: without a session its writes need `--agent`",
    ),
    ("USER, LOGNAME", "A person's name where no agent is recognised"),
    ("HOME, XDG_DATA_HOME, XDG_CONFIG_HOME", "Where the user's store and configuration are"),
    ("XDG_RUNTIME_DIR", "Where the socket of a server is whose store has too long a path for one beside it"),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "The authorities that are trusted for a server, in place of the system's"),
    ("HTTPS_PROXY, ALL_PROXY, NO_PROXY", "The proxy on the way to a server on another machine"),
    (
        "XDG_STATE_HOME",
        "Where `setup` keeps its lock, its record and what was there before, hooks their log, `restore` its record, and `lock` its runs",
    ),
    ("CLAUDE_CONFIG_DIR, CODEX_HOME", "Where `setup` finds the files of these tools, if they are elsewhere"),
    ("PATH", "Where `setup` looks for agent tools, and for this program"),
    ("PGUSER, PGPASSWORD", "For a PostgreSQL store whose URL has none"),
    ("VISUAL, EDITOR", "The editor of `tenure edit ID`; `vi` without one"),
    ("NO_COLOR, CLICOLOR_FORCE, TERM", "Whether there are colours, where `--color` does not say it"),
    ("COLUMNS", "The width of the terminal, in place of what it says"),
    ("TZ", "The time zone of times that are typed, and of times on a terminal"),
    ("BROWSER, DISPLAY, WAYLAND_DISPLAY", "How `open` finds a browser"),
];

fn environment() -> String {
    let mut text = format!("{NOTICE}# Environment\n\n| variable | meaning |\n|---|---|\n");
    for (name, meaning) in VARIABLES {
        let names: Vec<String> = name.split(", ").map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "| {} | {meaning} |", names.join(", "));
    }
    text
}

/// Without spaces at the ends of lines, which help texts have.
fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
