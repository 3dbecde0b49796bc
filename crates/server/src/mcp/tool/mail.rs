//! `mail`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_core::id::MessageId;
use tenure_core::message::Urgency;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result};
use tenure_kernel::Op;
use tenure_kernel::answer::{InboxPage, Sent};
use tenure_kernel::op::{inbox, send};
use tenure_kernel::query::message_id;

use super::{Nature, Tool, ToolCall, read};
use crate::delivery::Offered;
use crate::mcp::answer::ToolAnswer;
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "mail",
    about: "Messages between agents. read: your new messages; send: to agents, or about a task to its holder",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<InboxPage>, schema::output::<Sent>],
    nature: Nature::Adds,
    ops: &["inbox", "send"],
    call: |tool_call, arguments| {
        let request: Request = read(arguments)?;
        match request.action {
            MailAction::Read => look(tool_call, &request),
            MailAction::Send => dispatch(tool_call, request),
        }
    },
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    action: MailAction,
    /// Read: messages to acknowledge, by id.
    #[serde(default)]
    ack: Vec<String>,
    /// Send: the recipients, or all; by default the holder of the subject.
    #[serde(default)]
    to: Vec<String>,
    /// The subject, a task or hold; a message to the holder ends with the hold.
    #[serde(default)]
    about: Option<String>,
    #[serde(default)]
    text: Option<String>,
    /// You cannot continue.
    #[serde(default)]
    urgent: bool,
    /// Ask for an action.
    #[serde(default)]
    request: bool,
    /// Send: the message it answers; goes to its author.
    #[serde(default)]
    reply: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MailAction {
    Read,
    Send,
}

fn look(tool_call: &ToolCall<'_>, request: &Request) -> Result<ToolAnswer> {
    let id = |typed: &String| tool_call.ask(&message_id::ResolveMessage { typed: typed.clone() }).map(MessageId::from);
    let ack = request.ack.iter().map(id).collect::<Result<_>>()?;
    let mut answer = tool_call.run(&Op::new(inbox::Inbox { limit: None, ack }))?;
    answer.offered = Offered { events: None, mail: answer.value["offered"].as_i64().map(EventNumber::new) };
    Ok(answer)
}

fn dispatch(tool_call: &ToolCall<'_>, request: Request) -> Result<ToolAnswer> {
    let text = request
        .text
        .ok_or_else(|| Error::usage(Code::BadArguments, "`text` is missing: `send` requires it").entity("text"))?;
    let about = request.about.map(|typed| tool_call.any_id(&typed).map(String::from)).transpose()?;
    let urgency = if request.urgent { Urgency::Urgent } else { Urgency::Normal };
    let reply = request.reply.map(|typed| tool_call.any_id(&typed).map(String::from)).transpose()?;
    tool_call.run(&Op::new(send::Send {
        to: request.to.into_iter().map(AgentName::from).collect(),
        about,
        text,
        urgency,
        request: request.request,
        reply: reply.map(MessageId::from),
    }))
}
