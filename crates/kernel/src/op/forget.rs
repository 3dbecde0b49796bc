//! Forgets a project: deletes everything that belongs to it, as if it had never used the store.
//!
//! Its row stays, with the last number. If the project is used again, numbers continue from there: an earlier cursor or
//! fence is then stale and never taken for a new one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::action::Action;
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::text::excerpt;
use tenure_core::{Code, Error, Result};
use tenure_store::table::{hold, project};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::{UnitOfWork, people_only};

/// How many blockers are named.
const BLOCKERS_MAX: usize = 50;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// The project's key, as a confirmation.
    pub key: ProjectKey,
    /// Whether to delete it although tasks are held.
    #[serde(default)]
    pub force: bool,
}

impl Operation for Forget {
    const NAME: &'static str = "forget";
    const ABOUT: &'static str = "Delete a project and everything in it";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Admin);
    type Answer = answer::Forgotten;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Forgotten> {
        if !work.call.actor.is_person() {
            return Err(people_only("forgetting a project"));
        }
        if self.key != work.project.key {
            return Err(Error::new(
                Code::OtherProject,
                format!("the request is to forget `{}`, but this project is {}", excerpt(&self.key), work.project.key),
            )
            .entity(excerpt(&self.key)));
        }
        let (held, _) = hold::summary(work.tx, &work.project.id, work.now, &[])?;
        let holders = work.tx.fetch(hold::page(&work.project.id, None, (work.now, ""), BLOCKERS_MAX))?;
        if held > 0 && !self.force {
            let blockers: Vec<answer::Hold> =
                holders.iter().map(|hold| answer::Hold::of(hold, None, work.now)).collect();
            let named: Vec<&str> = holders.iter().take(3).map(|hold| hold.holder.as_str()).collect();
            return Err(Error::new(
                Code::ProjectInUse,
                format!("agents are working in {}: live holds: {held}", work.project.label),
            )
            .entity(&self.key)
            .who(format!("{} {}", named.join(", "), if held > 3 { "and others" } else { "at work" }))
            .attempt(Action::ListProjects)
            .person("A person may pass --force: the holds are then deleted with the project.")
            .detail("blockers", json!(blockers))
            .detail("total", held));
        }
        let overrode: Vec<AgentName> = holders.iter().map(|hold| hold.holder.clone()).collect();
        let row = &mut work.project;
        let forgotten = answer::Forgotten {
            events: row.events,
            key: row.key.clone(),
            label: row.label.clone(),
            overrode,
            tasks: row.counts.iter().sum(),
        };
        row.counts = [0; 7];
        row.events = 0;
        row.off_until = None;
        row.off_by = None;
        row.waiting = 0;
        // One number is skipped, so that a reader at the end of the log notices too.
        row.last_event = row.last_event.next();
        row.first_event = row.last_event.next();
        project::empty(work.tx, &row.id)?;
        Ok(forgotten)
    }
}
