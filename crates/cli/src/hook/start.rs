//! A session begins: it is registered and shown what it may need. It takes nothing, unless it is a worker.

use tenure_core::Result;
use tenure_core::session::Start;

use super::brief;
use super::door::Door;
use super::input::Payload;

pub(super) fn act(door: &Door<'_>, payload: &Payload<'_>) -> Result<Option<String>> {
    let Some(standing) = door.standing(&door.presence())? else { return Ok(None) };
    // A sub-agent works for its session: it is told nothing of tasks, and takes none.
    if door.sub_agent.is_some() {
        door.say_after(&standing, &door.presence())?;
        return Ok(None);
    }
    let source = Start::of(payload.source.as_deref().unwrap_or_default());
    let started = door.start(&standing, source)?;
    let brief = brief::text(door, &started.agent)?;
    let Some(first) = &started.second_of else { return Ok(brief) };
    let told = format!(
        "Tenure: this session id also runs in another process as {first}. Here you are {}, an agent of your own.",
        started.agent
    );
    Ok(Some(match brief {
        Some(brief) => brief::cut(format!("{told}\n\n{brief}")),
        None => told,
    }))
}
