//! Takes the files that an edit is about to change. Reserving is the check, so of two racing guards one is refused. The
//! same transaction also records the sign of life that every hook gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::error::detail::UsesTools;
use tenure_core::event::hold::PathReserved;
use tenure_core::hold::{GUARD_TTL, Mode};
use tenure_core::pattern::GLOB;
use tenure_core::{Code, Error, Result};

use super::operation::{Access, Door, Operation, Role};
use super::reserve::{self, Taking};
use super::tool_used;
use crate::answer::Guarded;
use crate::checkouts::Checkouts;
use crate::paths::{self, other_checkouts};
use crate::unit_of_work::UnitOfWork;

/// The maximum number of files in one call. A patch may be large, and a file that is not taken is not guarded.
pub const FILES_MAX: usize = 2_048;
/// The maximum number of holds in other checkouts in the answer: as many as a door may count.
pub(crate) const ELSEWHERE_MAX: usize = 100;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The files, relative to the top of the checkout, at most 2,048: literal paths, no globs.
    pub paths: Vec<String>,
    /// Whether the checkout's file system ignores case.
    #[serde(default)]
    pub fold_case: bool,
    /// Further information from the hook.
    pub says: tool_used::ToolUsed,
}

impl Operation for Guard {
    const NAME: &'static str = "guard";
    const ABOUT: &'static str = "Reserve the files of an edit; called by the edit guard";
    const DOORS: &'static [Door] = &[Door::Hook];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = Guarded;

    fn check(&self) -> Result<()> {
        self.says.check()?;
        if let Some(glob) = self.paths.iter().find(|path| path.starts_with(GLOB)) {
            let shown = tenure_core::text::excerpt(glob);
            return Err(Error::usage(Code::BadToolPath, format!("`{shown}` is not a path inside the checkout")));
        }
        paths::read_up_to(&self.paths, self.fold_case, FILES_MAX).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<Guarded> {
        let patterns = paths::read_up_to(&self.paths, self.fold_case, FILES_MAX)?;
        self.says.apply(work)?;
        let taking = Taking {
            mode: Mode::Exclusive,
            here: reserve::place(work, false)?,
            ttl: None,
            alone: GUARD_TTL,
            reason: "",
            by_session: false,
            force: false,
            said: PathReserved {
                by: Some("guard".to_owned()),
                sub_agent: Some(self.says.sub_agent.clone()),
                ..PathReserved::default()
            },
        };
        let first = work.project.last_event;
        let taken = match reserve::take(work, &patterns, &taking)? {
            Ok(taken) => taken,
            Err(in_the_way) => {
                let refusal = reserve::refusal(work, &patterns, &taking, &in_the_way)?;
                return Err(refusal.with(&UsesTools(work.uses_tools())));
            }
        };
        let granted = taken.into_iter().filter(|row| row.fence.event() > first).map(|row| row.id).collect();
        let me = work.me();
        let checkouts = Checkouts::of(work)?;
        let sight = other_checkouts::CheckoutView {
            project: &work.project.id,
            now: work.now,
            dead: &work.dead,
            checkouts: &checkouts,
        };
        let mut elsewhere = other_checkouts::of_agent(work.tx, &sight, me)?;
        elsewhere.truncate(ELSEWHERE_MAX);
        Ok(Guarded { agent: me.clone(), granted, elsewhere, at: work.now.to_string() })
    }
}
