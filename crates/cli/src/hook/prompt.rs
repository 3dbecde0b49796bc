//! A prompt was sent. The prompt itself is never looked at; the session is told in one sentence if it lost its task, and
//! shown its task again if its context was made shorter since.

use tenure_core::session::Context;
use tenure_core::{Result, Time};
use tenure_kernel::op::tool_used;
use tenure_kernel::query::standing::{Depth, LostTask};

use super::other_checkouts::is_due;
use super::session::HookSession;
use super::{brief, other_checkouts};

/// Says what there is to say. A brief is shown by `show` and counts as shown once it was written out; `due_remark`
/// gives out what else is to be told, once.
pub(super) fn act(
    hook_session: &HookSession<'_>,
    due_remark: impl FnOnce() -> Option<String>,
    show: impl FnOnce(&str) -> bool,
) -> Result<Option<String>> {
    let Some(standing) = hook_session.standing(&hook_session.presence(), Depth::Loss)? else { return Ok(None) };
    let mine = standing.mine.as_ref().filter(|_| hook_session.sub_agent.is_none());
    let lost = mine.filter(|mine| is_due(mine.told_at, standing.now)).and_then(|mine| {
        let elsewhere = || other_checkouts::sentence(&mine.elsewhere, mine.told_at, standing.now);
        let also = || other_checkouts::also(&mine.elsewhere, mine.told_at, standing.now).unwrap_or_default();
        mine.lost.as_ref().map(|lost| sentence(lost, &also(), standing.now)).or_else(elsewhere)
    });
    let remark = |told: Option<String>| match (due_remark(), told) {
        (Some(remark), Some(told)) => Some(format!("{remark}\n\n{told}")),
        (remark, told) => remark.or(told),
    };
    if let Some(mine) = mine.filter(|mine| mine.is_shortened && lost.is_none()) {
        let brief = match mine.is_cleared {
            true => brief::again(hook_session, &mine.agent, &hook_session.dead(&mine.agent)?)?,
            false => brief::short(hook_session, &mine.agent)?,
        };
        if remark(brief).is_none_or(|text| show(&text)) {
            hook_session
                .say_after(&standing, &tool_used::ToolUsed { context: Context::Shown, ..hook_session.presence() })?;
        }
        return Ok(None);
    }
    let told_as_of = lost.is_some().then(|| standing.now.to_string());
    hook_session
        .say_after(&standing, &tool_used::ToolUsed { told: lost.is_some(), told_as_of, ..hook_session.presence() })?;
    Ok(remark(lost))
}

/// `also` is what else there is to say; it is said too, whatever of the rest has to go for it.
fn sentence(lost: &LostTask, also: &str, now: Time) -> String {
    let ago = lost.since.age(now);
    let what = if lost.closed { "closed" } else { "took" };
    let told = format!("Tenure: your hold on {} is over; {} {what} it {ago} ago. Do not change it", lost.task, lost.by);
    let keep = ", save uncommitted work that you still need,";
    let end = " and run `tenure resume` for your next task.";
    let whole = format!("{told}{keep}{end}{also}");
    let fits = other_checkouts::cut(&whole) == whole;
    other_checkouts::cut(&if fits { whole } else { format!("{told}{end}{also}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_says_who_when_and_what_to_do() {
        let lost = LostTask { task: "t-1".into(), by: "x".repeat(64).into(), since: Time(0), closed: false };
        let told = sentence(&lost, "", Time(180_000_000));
        assert!(
            told.contains("took it 3m ago") && told.contains("tenure resume") && told.chars().count() <= 300,
            "{told}"
        );
        let also = " Also held in another checkout: 100 of your paths (`tenure holds`).";
        let both = sentence(&lost, also, Time(180_000_000));
        assert!(both.contains("took it") && both.ends_with(also) && both.chars().count() <= 300, "{both}");
    }
}
