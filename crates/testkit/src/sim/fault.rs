//! Faults as inputs: the store asks at each moment of a write, and one of them strikes.

use std::sync::Mutex;

use tenure_core::{Error, Kind, Result, Stage};
use tenure_store::{Faults, Moment};

use super::plan::Fault;

/// The fault that is planned for the call under way, and whether it came.
#[derive(Debug, Default)]
pub struct Strikes(Mutex<Next>);

#[derive(Debug, Default)]
struct Next {
    planned: Option<Fault>,
    statements: u32,
    struck: Option<Moment>,
}

impl Strikes {
    /// Plans the fault of the next call.
    pub fn plan(&self, fault: Option<Fault>) {
        *self.0.lock().unwrap() = Next { planned: fault, ..Next::default() };
    }

    /// The moment at which it struck.
    pub fn struck(&self) -> Option<Moment> {
        self.0.lock().unwrap().struck
    }
}

impl Faults for Strikes {
    fn strike(&self, at: Moment) -> Result<()> {
        let mut next = self.0.lock().unwrap();
        if at == Moment::Statement {
            next.statements += 1;
        }
        let strikes = match (next.planned, at) {
            (Some(Fault::Busy), Moment::Lock)
            | (Some(Fault::Commit), Moment::Commit)
            | (Some(Fault::Acknowledgement), Moment::Committed) => true,
            (Some(Fault::Statement(number)), Moment::Statement) => next.statements == number,
            _ => false,
        };
        if !strikes {
            return Ok(());
        }
        next.struck = Some(at);
        Err(error(at))
    }
}

/// What the caller is told.
fn error(at: Moment) -> Error {
    match at {
        Moment::Lock => Error::new(Kind::Busy, "store_busy", Stage::Lock, "a planned fault: no turn"),
        Moment::Statement => Error::new(Kind::Storage, "io_failure", Stage::Write, "a planned fault: a statement"),
        Moment::Commit => Error::new(Kind::Storage, "io_failure", Stage::Commit, "a planned fault: the commit"),
        Moment::Committed => {
            Error::new(Kind::Busy, "connection_lost", Stage::Commit, "a planned fault: the acknowledgement")
        }
    }
}
