//! Fault injection: the store calls `strike` at each moment of a write, and the planned fault fires at its moment.

use std::sync::Mutex;

use tenure_core::{Code, Error, Result, Stage};
use tenure_store::{Faults, Moment};

use super::plan::Fault;

/// The fault planned for the current call, and whether it fired.
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

    /// The moment at which the fault fired.
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

/// The error that the caller receives.
fn error(at: Moment) -> Error {
    match at {
        Moment::Lock => Error::new(Code::StoreBusy, "a planned fault: no turn").at(Stage::Lock),
        Moment::Statement => Error::new(Code::IoFailure, "a planned fault: a statement").at(Stage::Write),
        Moment::Commit => Error::new(Code::IoFailure, "a planned fault: the commit").at(Stage::Commit),
        Moment::Committed => Error::new(Code::ConnectionLost, "a planned fault: the acknowledgement").at(Stage::Commit),
    }
}
