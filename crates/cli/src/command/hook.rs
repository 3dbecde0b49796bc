//! `tenure hook`: listed here for help and completion. `main` runs it before any argument is parsed; see `crate::hook`.

use clap::Args as _;

use super::{Group, Run, Spec};
use crate::agent_tool;

pub(super) const SPEC: Spec = Spec {
    name: "hook",
    aliases: &[],
    group: Group::Hidden,
    about: "Handle a hook event of an agent tool",
    examples: &[
        "tenure hook claude SessionStart < event.json",
        "tenure hook codex pre-tool-use < event.json",
        "tenure hook git pre-commit",
    ],
    args: Args::augment_args,
    run: Run::Plain(|_, _, _| Ok(0)),
};

#[derive(clap::Args)]
struct Args {
    #[arg(value_name = "TOOL", help = tools_help())]
    _tool: String,
    /// The event, by the tool's name for it
    #[arg(value_name = "EVENT")]
    _event: String,
    /// The arguments of the git hook
    #[arg(value_name = "ARG")]
    _arguments: Vec<String>,
}

fn tools_help() -> String {
    let names = agent_tool::names();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}; git for its own hooks", others.join(", "))
}
