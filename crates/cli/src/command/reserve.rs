//! `tenure reserve`

use std::ffi::OsString;

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::error::detail::FreePaths;
use tenure_core::pattern::{Case, Pattern};
use tenure_core::{Error, Span, hold, text};
use tenure_kernel::Op;
use tenure_kernel::answer::Reserved;
use tenure_kernel::op::reserve::Reserve;

use super::{Group, Run, Spec, read};
use crate::output::path::reserved;
use crate::session::{RunOptions, Session, StoreUse};
use crate::wait;
use crate::workspace::path_args;

pub(super) const SPEC: Spec = Spec {
    name: "reserve",
    aliases: &["hold"],
    group: Group::Everyday,
    about: "Reserve paths, all or none, before you edit them",
    examples: &[
        "tenure reserve src/lib.rs src/store/ --reason \"new index\"",
        "tenure reserve 'src/**/*.sql' --shared",
        "tenure reserve Cargo.lock --ttl 10m",
        "tenure reserve src/lib.rs --wait",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let ttl = args.ttl.as_deref().map(Span::parse).transpose()?.map(hold::ttl).transpose()?;
        let (workspace, typed) = path_args::locate(settings, &args.paths)?;
        let session = &Session::at(workspace, settings, out, StoreUse::Write);
        let times = session.workspace.config.wait;
        let (fold_case, paths) = (typed.fold_case, typed.with_targets());
        let spelled = paths.clone();
        let request = Reserve {
            paths,
            shared: args.shared,
            ttl_s: ttl.map(Span::as_seconds),
            reason: args.reason.unwrap_or_default(),
            all_checkouts: args.all_checkouts,
            fold_case,
            force: args.force,
            wait: args.wait.is_some(),
            place_ttl_s: times.place.map(Span::as_seconds),
            offer_ttl_s: times.offer.map(Span::as_seconds),
        };
        let op = Op::new(request);
        let reply = match &args.wait {
            None => session.run_any(&op, RunOptions::default()),
            Some(given) => wait::until_held(session, &op, wait::limit(given, times.call)?),
        }
        .map_err(|error| {
            let flags = (args.shared, args.all_checkouts, ttl);
            as_typed(error, (&args.paths, &spelled), flags)
        })?;
        if session.out.is_json() {
            session.out.body(&reply.body);
        } else {
            session.out.text(&reserved(session.out, &reply.read::<Reserved>()?));
        }
        Ok(0)
    }),
};

/// The refusal of paths with the commands that wait for them, or take those that are free, as they were typed: relative to
/// where that was.
fn as_typed(
    error: Error,
    (paths, spelled): (&[OsString], &[String]),
    (shared, all_checkouts, ttl): (bool, bool, Option<Span>),
) -> Error {
    let free = error.read::<FreePaths>().map_or_else(Vec::new, |free| free.0);
    let is_free = |text: &String| {
        Pattern::parse(text, Case::Kept).is_ok_and(|pattern| free.iter().any(|free| free == pattern.text()))
    };
    // None where they cannot be typed again.
    let typed = |wanted: &dyn Fn(&String) -> bool| {
        let wanted = paths.iter().zip(spelled).filter(|(_, text)| wanted(text));
        let typed: Option<Vec<String>> = wanted.map(|(path, _)| path.to_str().map(str::to_owned)).collect();
        typed.filter(|typed| text::shell_words(typed).is_some())
    };
    let (all, free) = (typed(&|_| true), typed(&is_free));
    error.map_actions(|action| match action {
        Action::Reserve { wait, .. } => match if wait { &all } else { &free } {
            Some(typed) => {
                let ttl_s = ttl.map(Span::as_seconds);
                Action::Reserve { paths: typed.clone(), wait, shared, all_checkouts, ttl_s }
            }
            None => action,
        },
        other => other,
    })
}

#[derive(clap::Args)]
struct Args {
    /// A path, a directory (everything below it), or a glob (with `*` or `?`)
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,
    /// Share the paths with other shared reservations
    #[arg(long)]
    shared: bool,
    /// How long the holds live without a call: 1s to 24h; default: as your task, else 1h
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    ttl: Option<String>,
    /// The purpose
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Apply to every checkout of the project, not only this one
    #[arg(long)]
    all_checkouts: bool,
    /// Wait in line for conflicting holds, at most 90s per call; repeat the command to continue waiting
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    wait: Option<String>,
    /// Take them from their holder (people; agents only from a holder that is gone; recorded)
    #[arg(long)]
    force: bool,
}
