//! The binary from outside: real processes, real repositories, real stores, on both engines.

// Tests read the world, stop at the first surprise and print what they saw.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]

mod access;
mod backup_files;
mod backups;
mod bad_export;
mod bad_files;
mod bad_input;
mod commits;
mod commits_setup;
mod dead_session;
mod demo;
mod doctor;
mod doors;
mod exporting;
mod fencing;
mod guards;
mod guards_fail;
mod home;
mod hooks;
mod identity;
mod landlock;
mod lock;
mod lock_waiting;
mod mail;
mod mcp;
mod mcp_client;
mod memory;
mod off;
mod paths;
mod pinning;
mod places;
mod projects;
mod race;
mod races;
mod reference;
mod remote;
mod resume;
mod sandbox;
mod server;
mod server_door;
mod server_moved;
mod serving;
mod session;
mod sessions;
mod setup;
mod setup_check;
mod setup_real;
mod shapes;
mod shortened;
mod silent;
mod snapshots;
mod streams;
mod waiting;
mod worktrees;
