//! `tenure lessons`

use clap::Args as _;
use tenure_kernel::op::lessons::Lessons;

use super::{Group, Run, Spec, read};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "lessons",
    aliases: &[],
    group: Group::Hidden,
    about: "Derive lessons from the log, as at the end of a session",
    examples: &["tenure lessons"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let _: Args = read(matches)?;
        let reply = session.run(Lessons {}, RunOptions::default())?;
        let said = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
            return Ok(0);
        }
        if said.items.is_empty() {
            session.out.text("No new lessons.");
        }
        for item in said.items {
            session.out.text(&format!("Lesson {}  {}", item.id, item.key));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {}
