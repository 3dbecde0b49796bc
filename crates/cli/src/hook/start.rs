//! A session begins: it is registered and shown what it may need. It takes nothing, unless it is a worker.

use tenure_core::Result;
use tenure_core::session::Start;

use tenure_kernel::Op;
use tenure_kernel::query::session::Depth;

use super::brief;
use super::door::Door;
use super::input::Payload;
use crate::guard;

/// Shows what there is by `show`, which says whether it was written out: only then does it count as told.
pub(super) fn act(door: &Door<'_>, payload: &Payload<'_>, show: impl FnOnce(&str) -> bool) -> Result<Option<String>> {
    let depth = if door.sub_agent.is_some() { Depth::News } else { Depth::Who };
    let Some(standing) = door.standing(&door.presence(), depth)? else { return Ok(None) };
    // A sub-agent works for its session: it is told nothing of tasks, and takes none.
    if door.sub_agent.is_some() {
        door.say_after(&standing, &door.presence())?;
        return Ok(None);
    }
    let source = Start::of(payload.source.as_deref().unwrap_or_default());
    let started = door.start(&standing, source)?;
    let brief = brief::of(door, &started.agent)?;
    let told = started.second_of.as_ref().map(|first| {
        format!(
            "Tenure: this session id also runs in another process as {first}. Here you are {}, an agent of your own.",
            started.agent
        )
    });
    let off = guard::sentence(&guard::here(door.context.env, standing.guards));
    let off = off.map(|off| format!("Tenure: {off}"));
    let parts: Vec<String> = [told, off, brief.text].into_iter().flatten().collect();
    let text = (!parts.is_empty()).then(|| brief::cut(parts.join("\n\n")));
    if text.is_some_and(|text| show(&text)) && (brief.offered.events.is_some() || brief.offered.mail.is_some()) {
        door.run::<serde_json::Value>(&started.agent, &Op::Confirm(brief.offered), Vec::new())?;
    }
    Ok(None)
}
