//! `tenure completions`

use clap::Args as _;
use clap_complete::Shell;

use super::{ALL, Group, Run, Spec, read};
use crate::args::{build, root};

pub(super) const SPEC: Spec = Spec {
    name: "completions",
    aliases: &[],
    group: Group::Hidden,
    about: "Print the completion script of a shell",
    examples: &["tenure completions bash > /etc/bash_completion.d/tenure"],
    args: Args::augment_args,
    run: Run::Plain(|_, out, matches| {
        let args: Args = read(matches)?;
        let mut command = ALL.iter().map(build).fold(root(), clap::Command::subcommand);
        let mut script = Vec::new();
        clap_complete::generate(args.shell, &mut command, "tenure", &mut script);
        out.text(&String::from_utf8_lossy(&script));
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}
