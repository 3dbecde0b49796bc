//! The binary `tenure`: arguments, settings, output. Domain rules live in the kernel.

mod agent_tool;
mod args;
mod command;
mod env;
mod failure;
mod file_size;
mod git_status;
mod guard;
mod hook;
mod identity;
mod intent;
mod output;
mod program_path;
mod runner;
mod session;
mod settings;
mod setup;
mod user_file;
mod wait;
mod workspace;
mod zone;

use std::process::ExitCode;

fn main() -> ExitCode {
    file_size::report_as_error();
    let words = env::arguments();
    // A process that a runner started for itself has nothing to do with settings.
    if let Some(exit) = tenure_engine::process::inner_role(&words) {
        return exit;
    }
    let env = env::Env::capture();
    // Before anything that can fail: whatever becomes of a hook, its tool must not take it for a refusal.
    if hook::is_meant(&words) {
        return hook::run(&words, &env);
    }
    args::run(&words, &env)
}
