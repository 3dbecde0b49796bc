//! Fuzzing: functions that must not panic for any bytes, and a small driver that generates the bytes.
//!
//! A target is a `fn(&[u8])` that panics when a stated property does not hold. Its seeds, and every input that ever
//! failed, are files in `fuzz-corpus/<target>/`. `./test` replays all of them and then some mutations, the same in
//! every run. `tenure-soak fuzz` continues with other seeds.
//!
//! To add a target: a function in one of these files, its line in [`TARGETS`] and in `CHECKS`, and a directory with
//! seeds.

mod drive;
mod mutate;
mod patterns;
mod requests;
mod shell;
mod words;

pub(crate) use self::requests::{example, parse as request, populate};
use crate::evidence::{Check, Soak};

/// A function that accepts any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of the target and of its corpus directory.
    pub name: &'static str,
    /// The function. It panics to fail.
    pub run: fn(&[u8]),
    /// The number of mutated inputs per round of a soak test; `./test` tries a tenth of that, once.
    pub tries: usize,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "ids", run: words::ids, tries: 16_000 },
    Target { name: "times", run: words::times, tries: 30_000 },
    Target { name: "names", run: words::names, tries: 30_000 },
    Target { name: "texts", run: words::texts, tries: 8_000 },
    Target { name: "urls", run: words::urls, tries: 16_000 },
    Target { name: "patterns", run: patterns::patterns, tries: 16_000 },
    Target { name: "shell", run: shell::shell, tries: 8_000 },
    Target { name: "requests", run: requests::requests, tries: 2_000 },
    Target { name: "batches", run: requests::batches, tries: 1_000 },
    Target { name: "imports", run: requests::imports, tries: 1_000 },
    Target { name: "cursors", run: requests::cursors, tries: 2_000 },
];

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "fuzz_ids_resolve_or_are_refused", run: || drive::check("ids") },
    Check { name: "fuzz_times_and_durations_are_read_as_they_are_written", run: || drive::check("times") },
    Check { name: "fuzz_names_fit_the_grammar", run: || drive::check("names") },
    Check { name: "fuzz_texts_keep_their_limits", run: || drive::check("texts") },
    Check { name: "fuzz_store_urls_never_tell_a_password", run: || drive::check("urls") },
    Check { name: "fuzz_patterns_meet_in_a_path_of_both", run: || drive::check("patterns") },
    Check { name: "fuzz_command_lines_are_read_to_their_end", run: || drive::check("shell") },
    Check { name: "fuzz_requests_of_every_op_leave_a_sound_project", run: || drive::check("requests") },
    Check { name: "fuzz_batches_are_added_or_refused", run: || drive::check("batches") },
    Check { name: "fuzz_imports_go_there_and_back_or_are_refused", run: || drive::check("imports") },
    Check { name: "fuzz_cursors_lead_to_pages_or_are_refused", run: || drive::check("cursors") },
    Check { name: "fuzz_the_driver_finds_a_planted_defect", run: drive::finds_a_planted_defect },
    Check { name: "fuzz_every_op_has_a_seed", run: requests::every_op_has_a_seed },
];

pub(crate) const SOAKS: &[Soak] = &[Soak { name: "fuzz", share: 2, run: drive::soak }];
