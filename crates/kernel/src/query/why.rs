//! `why`: the story of a task or a hold, in plain sentences.

use tenure_core::event::kind;
use tenure_core::{Result, id};
use tenure_store::table::{event, hold, task};

use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::{Event, Sentence, Story};

/// How many sentences a story has at the most.
const LONGEST: usize = 200;

/// What the story of a task begins with, as long as all of it is kept.
const OF_TASK: [&str; 1] = [kind::TASK_ADDED];
/// The same of a hold.
const OF_HOLD: [&str; 4] = [kind::TASK_CLAIMED, kind::HOLD_TRANSFERRED, kind::PATH_RESERVED, kind::PATH_OFFERED];

impl Kernel {
    /// The story of a task or a hold.
    pub fn why(&self, call: &Call, subject: &str) -> Result<Story> {
        id::named(subject, id::Sort::Task)?;
        self.ask(call, |tx, scene| {
            let project = scene.project_id();
            let filter = if subject.starts_with("h-") {
                hold::get(tx, project, subject)?.ok_or_else(|| id::unknown(subject, id::Sort::Hold))?;
                event::Filter { hold: subject.to_owned(), ..event::Filter::default() }
            } else {
                task::get(tx, project, subject)?.ok_or_else(|| id::unknown(subject, id::Sort::Task))?;
                event::Filter { subject: subject.to_owned(), ..event::Filter::default() }
            };
            let mut events = event::page(tx, project, &filter, (0, i64::MAX), true, LONGEST + 1)?;
            let more = events.len() > LONGEST;
            events.truncate(LONGEST);
            events.reverse();
            let beginnings: &[&str] = if subject.starts_with("h-") { &OF_HOLD } else { &OF_TASK };
            let began = matches!(events.first(), Some(row) if beginnings.contains(&row.kind.as_str()));
            let forgotten = !more && !began && scene.project.is_some_and(|row| row.first_event > 1);
            let story = events
                .into_iter()
                .map(|row| {
                    let event = Event::read_by(&scene.call.actor.name, row)?;
                    Ok(Sentence { number: event.number, text: event.sentence(), at: event.at })
                })
                .collect::<Result<_>>()?;
            Ok(Story { subject: subject.to_owned(), story, more, forgotten })
        })
    }
}
