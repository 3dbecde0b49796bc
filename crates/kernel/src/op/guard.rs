//! Takes the files that an edit is about to change: reserving is the check, so of two guards one is refused. It is also
//! the sign of life that every hook gives, in the same transaction.

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
use crate::checkouts::Checkouts;
use crate::paths::{self, elsewhere};
use crate::shape::Guarded;
use crate::unit::Unit;

/// Most files of one call. A patch may be large, and what is not taken is not guarded.
pub const FILES_MAX: usize = 2_048;
/// Most holds in other checkouts that are told: as many as a door may count.
pub(crate) const ELSEWHERE_MAX: usize = 100;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The files, relative to the top of the checkout, at most 2,048: paths as they are, never globs.
    pub paths: Vec<String>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default)]
    pub fold_case: bool,
    /// What the hook has to say besides.
    pub says: tool_used::ToolUsed,
}

impl Operation for Guard {
    const NAME: &'static str = "guard";
    const ABOUT: &'static str = "Takes the files that an edit is about to change, all or none; the edit guard calls it";
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

    fn apply(&self, unit: &mut Unit<'_>) -> Result<Guarded> {
        let patterns = paths::read_up_to(&self.paths, self.fold_case, FILES_MAX)?;
        self.says.apply(unit)?;
        let taking = Taking {
            mode: Mode::Exclusive,
            here: reserve::place(unit, false)?,
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
        let first = unit.project.last_event;
        let taken = match reserve::take(unit, &patterns, &taking)? {
            Ok(taken) => taken,
            Err(in_the_way) => {
                let refusal = reserve::refusal(unit, &patterns, &taking, &in_the_way)?;
                return Err(refusal.with(&UsesTools(unit.uses_tools())));
            }
        };
        let granted = taken.into_iter().filter(|row| row.fence.0 > first).map(|row| row.id).collect();
        let me = unit.me();
        let checkouts = Checkouts::of(unit)?;
        let sight =
            elsewhere::Sight { project: &unit.project.id, now: unit.now, dead: &unit.dead, checkouts: &checkouts };
        let mut elsewhere = elsewhere::of_agent(unit.tx, &sight, me)?;
        elsewhere.truncate(ELSEWHERE_MAX);
        Ok(Guarded { agent: me.clone(), granted, elsewhere, at: unit.now.to_string() })
    }
}
