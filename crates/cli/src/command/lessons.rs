//! `tenure lessons`

use clap::Args as _;
use tenure_kernel::Op;
use tenure_kernel::op::lessons::Request;
use tenure_kernel::shape::Remembered;

use super::{Group, Spec, read};

pub(super) const SPEC: Spec = Spec {
    name: "lessons",
    aliases: &[],
    group: Group::Hidden,
    about: "Draw lessons from what happened, as the end of a session does",
    examples: &["tenure lessons"],
    args: Args::augment_args,
    run: |context, matches| {
        let _: Args = read(matches)?;
        let (said, reply) = context.answer::<Remembered>(&Op::Lessons(Request {}))?;
        if context.out.is_json() {
            context.out.body(&reply.body);
            return Ok(0);
        }
        if said.items.is_empty() {
            context.out.text("Nothing new was learnt.");
        }
        for item in said.items {
            context.out.text(&format!("Learnt {}  {}", item.id, item.key));
        }
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {}
