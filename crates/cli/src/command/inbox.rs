//! `tenure inbox`

use clap::Args as _;
use tenure_core::Result;
use tenure_core::id::MessageId;
use tenure_core::message::Urgency;
use tenure_kernel::answer::{InboxPage, Message};
use tenure_kernel::op::inbox;
use tenure_kernel::query::mail::Mail;
use tenure_kernel::query::message_id;

use super::{Group, Run, Spec, offered, read};
use crate::output::{Ink, Printer};
use crate::session::{RunOptions, Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "inbox",
    aliases: &["mail", "messages", "mailbox"],
    group: Group::Everyday,
    about: "Show your new messages, each of them once",
    examples: &["tenure inbox", "tenure inbox --peek", "tenure inbox --ack g-7k3fq"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        if args.peek {
            let session = &Session::open(settings, out, StoreUse::Read)?;
            let found = session.ask(&Mail { limit: args.limit })?;
            if session.out.is_json() {
                session.out.data(&found);
            } else {
                print(session, &found);
            }
            return Ok(0);
        }
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let ack = args
            .ack
            .iter()
            .map(|typed| session.ask(&message_id::ResolveMessage { typed: typed.into() }).map(MessageId::from));
        let request = inbox::Inbox { limit: args.limit, ack: ack.collect::<Result<_>>()? };
        let reply = session.run(request, RunOptions::default())?;
        let found = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
        } else {
            found.acked.iter().for_each(|id| session.out.text(&format!("Acknowledged {id}")));
            print(session, &found);
        }
        offered::confirm(session, None, found.offered);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// Acknowledge a message, by a unique beginning of its id; may be repeated
    #[arg(long, value_name = "ID", conflicts_with = "peek")]
    ack: Vec<String>,
    /// The maximum number of messages, 1 to 100; default: 20
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// Only show: new messages stay new
    #[arg(long)]
    peek: bool,
}

fn print(session: &Session<'_>, found: &InboxPage) {
    let out = session.out;
    session.know_agents(found.items.iter().map(|message| message.from.as_str()));
    if found.items.is_empty() {
        out.text("No new messages.");
    }
    found.items.iter().for_each(|message| print_one(out, message));
    if found.more {
        let left = found
            .total
            .and_then(|total| usize::try_from(total).ok())
            .map(|total| total.saturating_sub(found.items.len()));
        let left = left.map_or("many".to_owned(), |left| left.to_string());
        out.text(&format!("more: {left}; tenure inbox"));
    }
}

/// One message: its sender, then its text as a quotation.
pub(super) fn print_one(out: &Printer, message: &Message) {
    let mut said = Vec::new();
    if message.what == "ending" {
        said.push(format!("your message to {}", message.to.join(", ")));
    }
    said.extend(message.notice.then(|| "notice".to_owned()));
    said.extend(message.request.then(|| "request".to_owned()));
    said.extend((message.urgency == Urgency::Urgent).then(|| "urgent".to_owned()));
    said.extend(message.reply_to.as_ref().map(|reply| format!("re {reply}")));
    let is_longer = message.thread.as_ref().filter(|thread| message.reply_to.as_ref() != Some(*thread));
    said.extend(is_longer.map(|thread| format!("thread {thread}")));
    said.extend(message.about.as_ref().map(|about| format!("about {about}")));
    said.push(out.time(&message.sent_at));
    said.extend(message.again.then(|| "again".to_owned()));
    if let Some(ended) = &message.ended {
        said.push(format!("over: {} by {}", ended.how, ended.by));
    }
    let from = out.ink(Ink::Strong, &out.brief(&message.from));
    out.text(&format!("{}  {from}  {}", message.id, out.ink(Ink::Faint, &said.join(", "))));
    message.text.lines().for_each(|line| out.text(&out.prose(&format!("  > {line}"), 2)));
    if message.request && message.ended.is_none() && !message.acked {
        out.text(&out.ink(Ink::Faint, &format!("  tenure inbox --ack {}", message.id)));
    }
}
