//! Withhold a task until a given time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::task::TaskSnoozed;
use tenure_core::id::TaskId;
use tenure_core::{Code, Error, Result, Span, Time};

use super::claim::finished;
use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The longest time for which a task can be snoozed.
pub(crate) const LONGEST: Span = Span::days(366);

/// The request: a duration or a time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snooze {
    /// The task.
    pub task: TaskId,
    /// The duration in seconds, up to 366 days; 0 ends the snooze.
    #[serde(default)]
    pub for_s: Option<i64>,
    /// The end of the snooze; a past time ends it at once.
    #[serde(default)]
    pub until: Option<Time>,
}

impl Operation for Snooze {
    const NAME: &'static str = "snooze";
    const ABOUT: &'static str = "Withhold a task until a given time";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Task;

    fn check(&self) -> Result<()> {
        match (self.for_s, self.until) {
            (Some(seconds), None) if (0..=LONGEST.as_seconds()).contains(&seconds) => Ok(()),
            (Some(_), None) => Err(too_long()),
            (None, Some(_)) => Ok(()),
            _ => Err(Error::usage(Code::NothingToChange, "the request needs a duration or a time, and not both")
                .hint("Give exactly one of `for_s` and `until`.")),
        }
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Task> {
        let mut loaded = work.load(&self.task)?;
        let row = &mut loaded.full.task;
        if row.status.is_closed() {
            let error = Error::new(Code::IllegalTransition, format!("{} is already {}", row.id, row.status))
                .entity(&row.id)
                .detail("status", row.status.as_str())
                .attempt(Action::why(&row.id))
                .attempt(Action::Reopen { task: row.id.to_string() });
            return Err(finished(error, row));
        }
        let until = self.until.unwrap_or_else(|| work.now + Span::seconds(self.for_s.unwrap_or(0)));
        if until - work.now > LONGEST {
            return Err(too_long());
        }
        let until = Some(until).filter(|until| *until > work.now);
        let from = row.not_before;
        if until != from {
            let before = row.class();
            row.set_not_before(until);
            row.version += 1;
            row.updated_at = work.now;
            let told = TaskSnoozed { from, not_before: until, version: row.version };
            work.append(About::of(&self.task), Event::TaskSnoozed(told))?;
            work.store_task(before, &loaded.full.task)?;
        }
        Ok(work.view(&loaded.full, &loaded.edges))
    }
}

fn too_long() -> Error {
    Error::usage(Code::BadDuration, "the limit for a snooze is 366 days").hint("Give a shorter time, such as 2h.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_is_given_and_it_is_not_far() {
        let code =
            |for_s, until| Snooze { task: "t-00001".into(), for_s, until }.check().map_err(|error| error.code()).err();
        assert_eq!(code(Some(0), None), None);
        assert_eq!(code(None, Some(Time(0))), None);
        assert_eq!(code(Some(366 * 86_400 + 1), None), Some(Code::BadDuration));
        assert_eq!(code(Some(-1), None), Some(Code::BadDuration));
        assert_eq!([code(None, None), code(Some(1), Some(Time(0)))], [Some(Code::NothingToChange); 2]);
    }
}
