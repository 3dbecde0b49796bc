//! A prompt was sent. The prompt itself is never looked at; the session is told in one sentence if it lost its task.

use tenure_core::{Result, Span, Time};
use tenure_kernel::op::tool_used;
use tenure_kernel::query::session::{Depth, Lost};

use super::door::Door;

/// A session is told something between two prompts at most this often.
const EVERY: Span = Span::minutes(2);
/// Most characters that it is told.
const MOST: usize = 300;

pub(super) fn act(door: &Door<'_>) -> Result<Option<String>> {
    let Some(standing) = door.standing(&door.presence(), Depth::Loss)? else { return Ok(None) };
    let due = |told_at: Time| told_at.0 == 0 || told_at.age(standing.now) >= EVERY || told_at > standing.now;
    let mine = standing.mine.as_ref().filter(|mine| due(mine.told_at) && door.sub_agent.is_none());
    let told = mine.and_then(|mine| mine.lost.as_ref()).map(|lost| sentence(lost, standing.now));
    door.say_after(&standing, &tool_used::Request { told: told.is_some(), ..door.presence() })?;
    Ok(told)
}

fn sentence(lost: &Lost, now: Time) -> String {
    let ago = lost.since.age(now);
    let what = if lost.closed { "closed" } else { "took" };
    let told = format!(
        "Tenure: your hold on {} is over; {} {what} it {ago} ago. Leave it alone, keep nothing of it uncommitted that you \
         still want, and run `tenure resume` for your next task.",
        lost.task, lost.by
    );
    told.chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_says_who_when_and_what_to_do() {
        let lost = Lost { task: "t-1".into(), by: "x".repeat(64), since: Time(0), closed: false };
        let told = sentence(&lost, Time(180_000_000));
        assert!(
            told.contains("took it 3m ago") && told.contains("tenure resume") && told.chars().count() <= MOST,
            "{told}"
        );
    }
}
