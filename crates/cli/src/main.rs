//! The binary `tenure`: arguments, settings, output. Domain rules live in the kernel.

mod args;
mod command;
mod context;
mod env;
mod failure;
mod file_size;
mod globals;
mod guard;
mod hook;
mod identity;
mod output;
mod place;
mod runner;
mod setup;
mod uncommitted;
mod wait;

use std::process::ExitCode;

fn main() -> ExitCode {
    file_size::report_as_error();
    let env = env::Env::capture();
    let words = env::arguments();
    // Before anything that can fail: whatever becomes of a hook, its tool must not take it for a refusal.
    if hook::is_meant(&words) {
        return hook::run(&words, &env);
    }
    args::run(&words, &env)
}
