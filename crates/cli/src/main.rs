//! The binary `tenure`: arguments, settings, output. Domain rules live in the kernel.

mod args;
mod command;
mod context;
mod env;
mod failure;
mod globals;
mod identity;
mod output;
mod place;
mod setup;

use std::process::ExitCode;

fn main() -> ExitCode {
    let env = env::Env::capture();
    let words = env::arguments();
    args::run(&words, &env)
}
