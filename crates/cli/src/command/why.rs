//! `tenure why`

use std::ffi::OsString;

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::text::cut;
use tenure_core::{Code, Error};
use tenure_kernel::query::why::Why;
use tenure_kernel::query::why_lock::WhyLock;
use tenure_kernel::query::why_path::WhyPath;

use super::subject::{Subject, find};
use super::{Group, Run, Spec, read};
use crate::output::Ink;
use crate::output::time::short;
use crate::session::StoreUse;

pub(super) const SPEC: Spec = Spec {
    name: "why",
    aliases: &["blame", "story"],
    group: Group::Everyday,
    about: "Tell the story of a task, hold, lock, memory or path",
    examples: &["tenure why t-7k3fq", "tenure why src/lib.rs", "tenure why deploy"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (session, subject) = find(settings, out, StoreUse::Read, &args.what)?;
        let story = match subject {
            Subject::Id(id) | Subject::Memory(id) => session.ask_who_holds(&Why { id })?,
            Subject::Lock(name) => session.ask(&WhyLock { name })?,
            Subject::Path(typed, unknown) => {
                let question = WhyPath { paths: typed.paths, fold_case: typed.fold_case, ..WhyPath::default() };
                let story = session.ask_who_holds(&question)?;
                if story.story.is_empty() {
                    let shown = cut(&story.subject, 120);
                    let nothing = || Error::new(Code::NothingKnown, format!("the log has nothing about {shown}"));
                    return Err(unknown.unwrap_or_else(|| {
                        nothing()
                            .entity(shown.clone())
                            .hint("No agent has held it, or changed it with a tool that reports changes.")
                            .attempt(Action::holds())
                    }));
                }
                story
            }
        };
        if session.out.is_json() {
            session.out.data(&story);
            return Ok(0);
        }
        if story.more {
            session.out.text("(earlier events are in `tenure log`)");
        }
        if story.forgotten {
            session.out.text("(earlier events were removed by the retention setting)");
        }
        for sentence in &story.story {
            let at = session.out.ink(Ink::Dim, &short(&sentence.at));
            session.out.text(&format!("{at}  {}", sentence.text));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// An id (a unique beginning is enough), a lock, or a path (with `./` if a lock has the same name)
    #[arg(value_name = "ID|LOCK|PATH")]
    what: OsString,
}
