//! `tenure why`

use clap::Args as _;

use super::{Group, Spec, read};
use crate::output::Ink;
use crate::output::time::short;

pub(super) const SPEC: Spec = Spec {
    name: "why",
    aliases: &["blame", "story"],
    group: Group::Everyday,
    about: "Tell the story of a task or a hold in plain sentences",
    examples: &["tenure why t-7k3fq"],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        let id = context.ask(|kernel, call| kernel.any_id(call, &args.id))?;
        let story = context.ask(|kernel, call| kernel.why(call, &id))?;
        if context.out.is_json() {
            context.out.data(&story);
            return Ok(0);
        }
        if story.more {
            context.out.text("(what happened before is in `tenure log`)");
        }
        if story.forgotten {
            context.out.text("(what happened before is no longer kept)");
        }
        for sentence in &story.story {
            let at = context.out.ink(Ink::Dim, &short(&sentence.at));
            context.out.text(&format!("{at}  {}", sentence.text));
        }
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    /// A task or a hold: any unique beginning of its id
    #[arg(value_name = "ID")]
    id: String,
}
