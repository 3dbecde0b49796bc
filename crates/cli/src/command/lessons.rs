//! `tenure lessons`

use clap::Args as _;
use tenure_kernel::op::lessons::Lessons;

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
        let (said, reply) = context.answer(Lessons {})?;
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
