//! The conformance suite: what every engine must do alike. Each case runs on each of its engines, none is skipped.

mod fencing;

use crate::fixture::{Engine, World};

/// One case.
pub struct Case {
    /// Its name; one that proves an invariant begins with it (`inv_l4_…`).
    pub name: &'static str,
    /// Where it runs.
    pub engines: &'static [Engine],
    /// The case. It panics to fail.
    pub run: fn(&World),
}

impl Case {
    /// A case of behaviour: runs on all engines.
    pub const fn everywhere(name: &'static str, run: fn(&World)) -> Case {
        Case { name, engines: &Engine::ALL, run }
    }

    /// A case that needs several kernels on one store, or files: runs on SQLite files and PostgreSQL.
    pub const fn shared(name: &'static str, run: fn(&World)) -> Case {
        Case { name, engines: &Engine::SHARED, run }
    }

    /// A case about one engine alone.
    pub const fn only(engines: &'static [Engine], name: &'static str, run: fn(&World)) -> Case {
        Case { name, engines, run }
    }
}

/// All cases.
pub fn cases() -> Vec<&'static Case> {
    [fencing::CASES].into_iter().flatten().collect()
}
