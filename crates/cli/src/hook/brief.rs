//! What a session is shown when it begins: the task it holds, or what is ready. The one place that says so.

use tenure_core::Result;
use tenure_core::task::State;
use tenure_core::text;
use tenure_kernel::Op;
use tenure_kernel::op::claim;
use tenure_kernel::query::list;
use tenure_kernel::shape::{Shown, Task};

use super::door::Door;

/// Most bytes that are shown when a session begins.
const MOST: usize = 8 * 1024;
/// How many ready tasks are named.
const READY: usize = 3;

/// The brief of the task this agent holds, else the tasks that are ready; nothing where there is neither.
pub(super) fn text(door: &Door<'_>, agent: &str) -> Result<Option<String>> {
    let mut held = held(door, agent)?;
    if held.is_none() && door.context.env.says_yes("TENURE_WORKER") {
        let request =
            claim::Request { labels: door.context.place()?.config.labels.clone(), ..claim::Request::default() };
        door.run::<serde_json::Value>(agent, &Op::Claim(request), Vec::new())?;
        held = self::held(door, agent)?;
    }
    let text = match held {
        Some(task) => Some(of_task(&door.ask(agent, |kernel, call| kernel.show(call, &task))?)),
        None => of_ready(&ready(door, agent)?),
    };
    Ok(text.map(cut))
}

/// The task in focus, if it is held.
fn held(door: &Door<'_>, agent: &str) -> Result<Option<String>> {
    let standing = door.standing(&door.presence())?;
    let Some(focus) = standing.and_then(|standing| standing.mine).map(|mine| mine.focus) else { return Ok(None) };
    if focus.is_empty() {
        return Ok(None);
    }
    let shown = door.ask(agent, |kernel, call| kernel.show(call, &focus))?;
    let mine = shown.task.holder.as_ref().is_some_and(|holder| holder.agent == agent);
    Ok(mine.then_some(focus))
}

fn ready(door: &Door<'_>, agent: &str) -> Result<Vec<Task>> {
    let labels = door.context.place()?.config.labels.clone();
    let filter = list::Filter { states: vec![State::Ready], labels, limit: READY * 4, ..list::Filter::default() };
    let page = door.ask(agent, |kernel, call| kernel.list(call, &filter))?;
    let may = |task: &Task| task.assignee.as_ref().is_none_or(|assignee| assignee == agent);
    Ok(page.items.into_iter().filter(may).take(READY).collect())
}

fn of_task(shown: &Shown) -> String {
    let task = &shown.task;
    let mut lines =
        vec![format!("Tenure: you hold {}: “{}” (attempt {}).", task.id, text::cut(&task.title, 200), task.attempt)];
    if !task.description.is_empty() {
        lines.push(format!("What: {}", text::cut(&task.description, 2_000)));
    }
    if !task.acceptance.is_empty() {
        lines.push(format!("Done when: {}", text::cut(&task.acceptance, 2_000)));
    }
    if let Some(note) = shown.notes.last() {
        lines.push(format!("Where it stopped, as {} noted: “{}”", note.agent, text::cut(&note.text, 1_500)));
    }
    lines.push("Next: `tenure note \"…\"` as you get on, `tenure done` when it is finished, `tenure block --reason \"…\"` if it cannot go on.".to_owned());
    lines.join("\n")
}

fn of_ready(tasks: &[Task]) -> Option<String> {
    if tasks.is_empty() {
        return None;
    }
    let mut lines = vec!["Tenure coordinates the work in this repository. You hold no task. Ready:".to_owned()];
    lines.extend(
        tasks
            .iter()
            .map(|task| format!("- {} “{}” (priority {})", task.id, text::cut(&task.title, 200), task.priority)),
    );
    lines.push(
        "`tenure resume` takes the first and tells you all about it; do that before you change files for one."
            .to_owned(),
    );
    Some(lines.join("\n"))
}

/// Cut to what a tool shows.
pub(super) fn cut(mut text: String) -> String {
    if text.len() > MOST {
        let mut end = MOST - '…'.len_utf8();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}
