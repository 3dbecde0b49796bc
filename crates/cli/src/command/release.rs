//! `tenure release`

use std::ffi::OsString;

use clap::Args as _;
use tenure_core::text::cut;
use tenure_core::{Kind, Result, id};
use tenure_kernel::Op;
use tenure_kernel::op::release::Request;
use tenure_kernel::shape::Released;

use super::{Group, Spec, print_task, read};
use crate::context::Context;
use crate::place::typed;

pub(super) const SPEC: Spec = Spec {
    name: "release",
    aliases: &["unlock", "unclaim"],
    group: Group::Everyday,
    about: "Give your task back, or paths",
    examples: &[
        "tenure release",
        "tenure release t-7k3fq --reason \"not my area\"",
        "tenure release src/lib.rs",
        "tenure release h-7k3fq",
    ],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        context.will_write();
        let named = named(context, &args.what)?;
        let request =
            Request { reason: args.reason.unwrap_or_default(), fence: args.fence, force: args.force, ..named };
        let (answer, reply) = context.answer::<Released>(&Op::Release(request))?;
        match answer {
            Released::Task(task) => print_task(context, "Released", &task, &reply.body),
            Released::Paths(_) if context.out.is_json() => context.out.body(&reply.body),
            Released::Paths(ended) => {
                for hold in ended.holds {
                    context.out.text(&format!("Released {}", cut(&hold.subject, 120)));
                }
                for place in ended.left {
                    context.out.text(&format!("Left the line: {place}"));
                }
            }
        }
        Ok(0)
    },
};

/// What the words name: an id, or paths. A word that could be both is an id if there is such a one; `./` makes it a path.
fn named(context: &Context<'_>, what: &[OsString]) -> Result<Request> {
    match what {
        [] => return Ok(Request::default()),
        [only] => match only.to_str() {
            Some(typed) if typed.starts_with("w-") && id::check(typed, id::Sort::Place).is_ok() => {
                return Ok(Request { hold: Some(typed.to_owned()), ..Request::default() });
            }
            Some(typed) if typed.starts_with("h-") && id::is_prefix(typed) => {
                let hold = context.ask(|kernel, call| kernel.any_id(call, typed))?;
                return Ok(Request { hold: Some(hold), ..Request::default() });
            }
            Some(typed) if !typed.is_empty() && id::is_prefix(typed) => match context.task_id(typed) {
                Ok(task) => return Ok(Request { task: Some(task), ..Request::default() }),
                Err(error) if error.kind() == Kind::NotFound && !typed.starts_with("t-") => {}
                Err(error) => return Err(error),
            },
            _ => {}
        },
        _ => {}
    }
    let typed = typed::read(context, what)?;
    Ok(Request { paths: typed.paths, fold_case: typed.fold_case, ..Request::default() })
}

#[derive(clap::Args)]
struct Args {
    /// A task or hold (any unique beginning of its id), or paths; without any, your focus
    #[arg(value_name = "ID|PATH")]
    what: Vec<OsString>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// The fence to act under, in place of the one last shown to you
    #[arg(long, value_name = "N")]
    fence: Option<i64>,
    /// Override the holder (people only; recorded)
    #[arg(long)]
    force: bool,
}
