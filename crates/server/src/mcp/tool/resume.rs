//! `resume`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::ChoiceRule;
use tenure_core::{Error, Result, Stage, brief, text};
use tenure_kernel::Op;
use tenure_kernel::answer::{Blocker, Claimed, Resumed};
use tenure_kernel::op::{claim, resume};

use super::{Nature, Tool, ToolCall, read};
use crate::delivery::offered_in_brief;
use crate::mcp::answer::ToolAnswer;
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "resume",
    about: "Call this first, and again after `done` or a break: continue your task or claim the best one, with its \
            context and recent events",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<ResumeAnswer>],
    nature: Nature::Settles,
    ops: &["claim", "resume"],
    call: |tool_call, arguments| resume(tool_call, read(arguments)?),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Take this task instead of the best one.
    #[serde(default)]
    task: Option<String>,
    /// Only tasks with all of these labels.
    #[serde(default)]
    labels: Vec<String>,
    /// Size of the brief in tokens; default 1500.
    #[serde(default)]
    budget: Option<i64>,
}

/// What a model reads of it. Some clients give it this alone, others the text of the brief alone: neither is more than its
/// budget.
#[derive(Debug, Serialize, JsonSchema)]
struct ResumeAnswer {
    /// The new task in focus.
    focus: Option<String>,
    /// The rule that chose it.
    rule: ChoiceRule,
    brief: ToolBrief,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ToolBrief {
    /// Markdown.
    text: String,
}

fn resume(tool_call: &ToolCall<'_>, request: Request) -> Result<ToolAnswer> {
    let defaults = tool_call.defaults()?;
    let ttl_s = defaults.task_ttl_s;
    let mut labels = if request.labels.is_empty() { defaults.labels } else { request.labels };
    let mut taken = String::new();
    if let Some(typed) = request.task.as_deref() {
        // A named task is claimed whatever its labels. It is then the focus, which `resume` returns.
        labels = Vec::new();
        let task = Some(tool_call.task_id(typed)?);
        let answer = tool_call.run(&Op::new(claim::Claim { task, ttl_s, labels: Vec::new() }))?;
        // Only the claim knows what a take-over did to the task's paths.
        taken = not_again(&parsed::<Claimed>(&answer)?.lost_paths);
    }
    let tokens = |bytes: usize| i64::try_from(bytes.div_ceil(brief::TOKEN)).unwrap_or(i64::MAX);
    let budget = match taken.len() {
        0 => request.budget,
        bytes => Some(
            (request.budget.unwrap_or(tokens(brief::DEFAULT * brief::TOKEN)) - tokens(bytes))
                .max(tokens(brief::LEAST * brief::TOKEN)),
        ),
    };
    let answer = tool_call.run(&Op::new(resume::Resume { labels, ttl_s, budget, limit: None }))?;
    let resumed: Resumed = parsed(&answer)?;
    let offered = offered_in_brief(&resumed);
    let text = resumed.brief.text + &taken;
    let told = ResumeAnswer {
        focus: resumed.focus.map(String::from),
        rule: resumed.rule,
        brief: ToolBrief { text: text.clone() },
    };
    let value = serde_json::to_value(told)
        .map_err(|error| Error::bug(format!("the answer to resume has no JSON: {error}")).at(Stage::Reply))?;
    Ok(ToolAnswer { value, text: Some(text), offered })
}

fn parsed<T: serde::de::DeserializeOwned>(answer: &ToolAnswer) -> Result<T> {
    serde_json::from_str(answer.text.as_deref().unwrap_or_default())
        .map_err(|error| Error::bug(format!("the answer to resume cannot be read: {error}")).at(Stage::Reply))
}

/// How many of the lost paths are named.
const NAMED: usize = 5;

/// A section that names the paths that were held for a task and that another agent holds by now.
fn not_again(lost: &[Blocker]) -> String {
    let mut lines: Vec<String> = lost
        .iter()
        .take(NAMED)
        .map(|blocker| {
            let path = text::quote(blocker.pattern.as_deref().unwrap_or_default(), 120);
            format!("- {} now holds the path {path}", blocker.holder)
        })
        .collect();
    match lost.len() {
        0 => return String::new(),
        all if all > NAMED => lines.push(format!("- and {} more", all - NAMED)),
        _ => {}
    }
    format!("\n\n## Paths you did not get back\n{}", lines.join("\n"))
}
