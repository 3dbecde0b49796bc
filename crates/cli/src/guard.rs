//! What all guards share: whether they are off here, and how they treat people. The edit guard, the shell guard and the
//! commit guard ask the same two questions, so that no setting means two things.

use tenure_core::Result;
use tenure_core::guard::{Treatment, treatment};
use tenure_kernel::answer::GuardState;
use tenure_kernel::query::guards;

use crate::env::Env;
use crate::output::time::{short, span};
use crate::session::Session;
use crate::workspace::config::{Config, People};

/// The variable that silences every guard of a process.
const VARIABLE: &str = "TENURE_OFF";

/// Whether the guards are off by the environment alone: nothing needs to be looked at then.
pub(crate) fn off_by_variable(env: &Env) -> bool {
    env.says_yes(VARIABLE)
}

/// What the store says about the guards, as it counts for this process.
pub(crate) fn here(env: &Env, stored: GuardState) -> GuardState {
    if off_by_variable(env) {
        return GuardState { off: true, until: None, until_s: None, by: Some(VARIABLE.into()) };
    }
    stored
}

/// Whether the guards are off here and now.
pub(crate) fn state(session: &Session<'_>) -> Result<GuardState> {
    if off_by_variable(session.settings.env) {
        return Ok(here(session.settings.env, GuardState::default()));
    }
    session.ask(&guards::Guards {})
}

/// That they are off, in one sentence; nothing where they are on.
pub(crate) fn sentence(guards: &GuardState) -> Option<String> {
    if !guards.off {
        return None;
    }
    let by = guards.by.as_deref().unwrap_or("somebody");
    Some(match (&guards.until, guards.until_s) {
        (Some(until), Some(left)) => format!(
            "Guards are off until {} (for {}), switched off by {by}: no edit, command or commit is checked.",
            short(until),
            span(left)
        ),
        _ => format!("Guards are off here because {by} is set: no edit, command or commit is checked."),
    })
}

/// What a guard does with this person or agent where another stands in the way.
pub(crate) fn treats(config: &Config, is_person: bool) -> Treatment {
    treatment(is_person, config.guard_people == People::Refuse)
}
