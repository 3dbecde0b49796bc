//! The conformance suite: behaviour that must be the same on every engine. Each case runs on each of its engines; none
//! is skipped.

mod access;
mod access_logins;
mod access_own;
mod access_roles;
mod access_sessions;
mod agents;
mod asking;
mod atomicity;
mod backups;
mod bulk;
mod choice;
mod clock;
mod clock_ahead;
mod commits;
mod copied_files;
mod cursors;
mod damage;
mod delivery;
mod dependencies;
mod editing;
mod elsewhere;
mod errors;
mod events;
mod export;
mod faults;
mod fencing;
mod focus;
mod growth;
mod guards;
mod holds;
mod hooks;
mod idempotency;
mod import;
mod keeping;
mod limits;
mod listing;
mod locks;
mod logs_at_rest;
mod long_rows;
mod lost;
mod mail;
mod memory;
mod messages;
mod nested;
mod opening;
mod paths;
mod paths_bound;
mod paths_over;
mod places;
mod plans;
mod purity;
mod random;
mod refusals;
mod restoring;
mod resume;
mod searching;
mod sessions;
mod shorthand;
mod silent;
mod stories;
mod switching;
mod threads;
mod together;
mod transfer;
mod transfer_holds;
mod transitions;
mod turns;
mod waiting;
mod waiting_locks;
mod walk;
mod written_before;

pub use self::purity::die_if_asked;
use crate::fixture::{Engine, World};

/// One case.
pub struct Case {
    /// Its name. A case that proves an invariant starts with it (`inv_l4_…`).
    pub name: &'static str,
    /// The engines it runs on.
    pub engines: &'static [Engine],
    /// The case. It panics to fail.
    pub run: fn(&World),
}

impl Case {
    /// A case for all engines.
    pub const fn everywhere(name: &'static str, run: fn(&World)) -> Case {
        Case { name, engines: &Engine::ALL, run }
    }

    /// A case that needs several kernels on one store, or files: runs on SQLite files and PostgreSQL.
    pub const fn shared(name: &'static str, run: fn(&World)) -> Case {
        Case { name, engines: &Engine::SHARED, run }
    }

    /// A case for particular engines.
    pub const fn only(engines: &'static [Engine], name: &'static str, run: fn(&World)) -> Case {
        Case { name, engines, run }
    }
}

/// All cases.
pub fn cases() -> Vec<&'static Case> {
    [
        fencing::CASES,
        access::CASES,
        access_logins::CASES,
        access_own::CASES,
        access_roles::CASES,
        access_sessions::CASES,
        agents::CASES,
        asking::CASES,
        bulk::CASES,
        choice::CASES,
        delivery::CASES,
        dependencies::CASES,
        editing::CASES,
        focus::CASES,
        holds::CASES,
        listing::CASES,
        searching::CASES,
        locks::CASES,
        logs_at_rest::CASES,
        long_rows::CASES,
        random::CASES,
        together::CASES,
        threads::CASES,
        transfer::CASES,
        transfer_holds::CASES,
        transitions::CASES,
        atomicity::CASES,
        clock::CASES,
        clock_ahead::CASES,
        commits::CASES,
        copied_files::CASES,
        cursors::CASES,
        damage::CASES,
        errors::CASES,
        events::CASES,
        export::CASES,
        faults::CASES,
        growth::CASES,
        guards::CASES,
        idempotency::CASES,
        import::CASES,
        keeping::CASES,
        limits::CASES,
        lost::CASES,
        mail::CASES,
        memory::CASES,
        messages::CASES,
        opening::CASES,
        elsewhere::CASES,
        nested::CASES,
        refusals::CASES,
        paths::CASES,
        paths_bound::CASES,
        paths_over::CASES,
        places::CASES,
        plans::CASES,
        purity::CASES,
        backups::CASES,
        restoring::CASES,
        resume::CASES,
        sessions::CASES,
        silent::CASES,
        stories::CASES,
        hooks::CASES,
        switching::CASES,
        turns::CASES,
        waiting::CASES,
        waiting_locks::CASES,
        written_before::CASES,
    ]
    .into_iter()
    .flatten()
    .collect()
}
