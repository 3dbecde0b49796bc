//! One exchange with the kernel, and the refusals that only this machine can settle: whether the repository is pinned to
//! another store, was copied, or has moved.

use std::time::Duration;

use tenure_core::action::Action;
use tenure_core::error::detail::{OtherStore, RecordedPlace, RecordedPlaces};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::{Call, Condition, Trust};
use tenure_store::{Clock, SystemClock};

use super::Session;
use super::server_timeouts::ServerTimeout;
use crate::workspace::Workspace;

/// A hook that has less time left than this when its store fails has waited for it.
const SLOW: Duration = Duration::from_millis(750);

/// Makes a call, and repeats it once where the store says that the project was last seen in another repository: if that
/// one still exists this is a copy, else the repository has moved here.
pub(crate) fn exchange<T>(session: &Session<'_>, call: &mut Call, make: impl Fn(&Call) -> Result<T>) -> Result<T> {
    let answer = settled(session, call, make);
    if let (Err(error), Some(time)) = (&answer, session.store_use.hook()) {
        // A failure that comes at once delays no later hook.
        if ServerTimeout::is_meant(error) && time.deadline.remaining() < time.patience.max(SLOW) {
            let timeout = ServerTimeout::of(session.settings.env, &session.workspace.store);
            timeout.into_iter().for_each(|timeout| timeout.note(SystemClock.now()));
        }
    }
    answer
}

fn settled<T>(session: &Session<'_>, call: &mut Call, make: impl Fn(&Call) -> Result<T>) -> Result<T> {
    let workspace = &session.workspace;
    match make(call) {
        Err(error) if error.code() == Code::OtherStore => {
            let OtherStore(found) = error.read().unwrap_or_default();
            workspace.check_pin(&found)?;
            Err(error)
        }
        Err(error) if error.code() == Code::NoStore => {
            workspace.check_no_pin()?;
            Err(error)
        }
        // The first write from this clone may just have made the project, and the pin.
        Err(error) if error.code() == Code::UnconfirmedProject => {
            let is_stale = call.condition == Condition::NewProject && workspace.pin()?.is_some();
            if !is_stale {
                return Err(error);
            }
            call.condition = workspace.condition_of_name(session.settings.env)?;
            make(call)
        }
        Err(error) if error.code() == Code::UnconfirmedStore => Err(workspace.unconfirmed()),
        Err(error) if error.code() == Code::PlaceDiffers => {
            let mut gone = Vec::new();
            for recorded in error.read::<RecordedPlaces>().unwrap_or_default().0 {
                if workspace.is_copy_of(&recorded, &call.project.key)? {
                    return Err(copied(workspace, &recorded));
                }
                gone.push(recorded.path);
            }
            if let Some(here) = &mut call.checkout {
                here.trust = Trust::Moved(gone);
            }
            make(call)
        }
        other => other,
    }
}

fn copied(workspace: &Workspace, other: &RecordedPlace) -> Error {
    let here = workspace.checkout.as_ref().map_or(&workspace.dir, |checkout| &checkout.common).display().to_string();
    Error::new(
        Code::CopiedProject,
        format!("this repository ({here}) has the project id of {}, which still exists, so it is a copy", other.path),
    )
    .at(Stage::Resolve)
    .entity(here.clone())
    .hint("A person decides whether the copy is a separate project or another checkout of the first.")
    .attempt(Action::NewProject)
    .attempt(Action::JoinProject)
    .detail("here", here)
    .detail("other", other.path.clone())
}
