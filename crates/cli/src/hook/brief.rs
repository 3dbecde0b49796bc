//! The text that a session is shown when it begins: the brief of the task it holds, or the tasks that are ready.

use tenure_core::Result;
use tenure_core::opening::Opening;
use tenure_kernel::answer::Resumed;
use tenure_kernel::query::beginning::{Beginning, SessionOpening};
use tenure_kernel::{Call, Evidence, Op, WorkingTree, op};

use super::session::HookSession;
use crate::workspace::head;

/// Most bytes that are shown when a session begins.
const MOST: usize = 8 * 1024;
/// The brief's part of them, in tokens; the rest is for a line before it.
const BUDGET: i64 = 1_900;
/// The budget of a brief for a session that lost what it knew of its task: 2,000 bytes.
const SHORT: i64 = 500;
/// How many ready tasks are named.
const READY: usize = 1;

/// What is shown, and up to where that tells events and mail.
pub(super) struct SessionBrief {
    pub(super) text: Option<String>,
    /// Whether a task was taken for it.
    pub(super) is_taken: bool,
    pub(super) offered: op::confirm::Confirm,
}

/// The brief of the task this agent holds, else the tasks that are ready; nothing where there is neither. A session of a
/// worker takes what it is going to do.
pub(super) fn of(hook_session: &HookSession<'_>, agent: &str, dead: &[Evidence]) -> Result<SessionBrief> {
    if hook_session.context.settings.env.says_yes("TENURE_WORKER") {
        let answer: Resumed = hook_session.run_seeing(
            agent,
            &Op::new(request(hook_session, BUDGET)?),
            dead.to_vec(),
            seen(hook_session),
        )?;
        let offered = op::confirm::Confirm { events: answer.brief.events, mail: answer.brief.mail };
        return Ok(SessionBrief { text: Some(cut(answer.brief.text)), is_taken: answer.focus.is_some(), offered });
    }
    Ok(SessionBrief {
        text: again(hook_session, agent, dead)?,
        is_taken: false,
        offered: op::confirm::Confirm::default(),
    })
}

/// The same for a session that has begun, and of which nothing is left: it takes nothing.
pub(super) fn again(hook_session: &HookSession<'_>, agent: &str, dead: &[Evidence]) -> Result<Option<String>> {
    let text = match beginning(hook_session, agent, &request(hook_session, BUDGET)?, (dead, READY))? {
        SessionOpening::Brief(text) => Some(text),
        SessionOpening::Free { lost, ready, unread, .. } if ready.is_empty() && unread == 0 => lost,
        SessionOpening::Free { lost, ready, ready_total, unread, others } => {
            let first = ready.first().map(|task| (task.id.as_str(), task.title.as_str()));
            let opening = Opening { lost: lost.as_deref(), ready: ready_total, first, unread, others: &others };
            Some(opening.text(CALLS))
        }
    };
    Ok(text.map(cut))
}

/// The short brief of the task this agent holds; nothing where it holds none.
pub(super) fn short(hook_session: &HookSession<'_>, agent: &str) -> Result<Option<String>> {
    match beginning(hook_session, agent, &request(hook_session, SHORT)?, (&[], 0))? {
        SessionOpening::Brief(text) => Ok(Some(text)),
        SessionOpening::Free { .. } => Ok(None),
    }
}

fn request(hook_session: &HookSession<'_>, budget: i64) -> Result<op::resume::Resume> {
    let labels = hook_session.context.workspace.config.labels.clone();
    Ok(op::resume::Resume { labels, budget: Some(budget), ..op::resume::Resume::default() })
}

fn beginning(
    hook_session: &HookSession<'_>,
    agent: &str,
    request: &op::resume::Resume,
    (dead, ready): (&[Evidence], usize),
) -> Result<SessionOpening> {
    let tree = seen(hook_session);
    let query = Beginning { request: request.clone(), ready };
    hook_session.ask(agent, |client, call| {
        let mut call = Call { proven_dead: dead.to_vec(), ..call.clone() };
        if let Some(here) = &mut call.checkout {
            here.tree = tree.clone();
        }
        client.ask(&call, &query)
    })
}

/// The commit that the working tree is at. What differs from it is not asked for: that would start a process.
fn seen(hook_session: &HookSession<'_>) -> WorkingTree {
    WorkingTree { head: head::of(&hook_session.context.workspace), ..WorkingTree::default() }
}

/// The calls, in the words of a shell.
const CALLS: &str = "`tenure resume` takes a task and gives you its context: call it before you change files for one. \
                     `tenure note \"…\"` records progress for the next agent, `tenure done -m \"…\"` finishes the task, \
                     `tenure block --reason \"…\"` if you cannot go on.";

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
