//! `tenure check`

use std::ffi::OsString;

use clap::Args as _;
use tenure_kernel::query::check::Check;

use super::{Group, Run, Spec, read};
use crate::output::path::checked;
use crate::session::{Session, StoreUse};
use crate::workspace::path_args;

pub(super) const SPEC: Spec = Spec {
    name: "check",
    aliases: &[],
    group: Group::Everyday,
    about: "Check whether paths are free for you; exit 1 if not",
    examples: &["tenure check src/lib.rs", "tenure check src/ --json"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (workspace, typed) = path_args::locate(settings, &args.paths)?;
        let session = Session::at(workspace, settings, out, StoreUse::Read);
        let (fold_case, paths) = (typed.fold_case, typed.with_targets());
        let question = Check { paths, shared: args.shared, all_checkouts: args.all_checkouts, fold_case };
        let answer = session.ask_who_holds(&question)?;
        if session.out.is_json() {
            session.out.data(&answer);
        } else {
            session.out.text(&checked(session.out, &answer));
        }
        Ok(u8::from(!answer.free))
    }),
};

#[derive(clap::Args)]
struct Args {
    /// A path, a directory (everything below it), or a glob (with `*` or `?`)
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,
    /// Check for a shared reservation
    #[arg(long)]
    shared: bool,
    /// Apply to every checkout of the project, not only this one
    #[arg(long)]
    all_checkouts: bool,
}
