//! `tenure holds`

use std::ffi::OsString;

use clap::Args as _;
use serde_json::json;
use tenure_core::Result;
use tenure_kernel::answer::Hold;
use tenure_kernel::query::LIMIT_MAX;
use tenure_kernel::query::holds::{Filter, Holds};

use super::{Group, Run, Spec, read};
use crate::output::task::holds;
use crate::output::tree::tree;
use crate::session::{Session, StoreUse};
use crate::workspace::path_args;

pub(super) const SPEC: Spec = Spec {
    name: "holds",
    aliases: &["locks"],
    group: Group::Everyday,
    about: "List live holds, by the time they end",
    examples: &["tenure holds", "tenure holds --mine --json", "tenure holds src/ --kind path", "tenure holds --tree"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let limit = args.page.limit()?;
        let cursor = args.page.cursor.as_deref();
        let (workspace, typed) = path_args::locate(settings, &args.paths)?;
        let session = &Session::at(workspace, settings, out, StoreUse::Read);
        let holder = args.holder.or_flagged(session)?;
        let filter = Filter { holder, kind: args.kind, paths: typed.paths, fold_case: typed.fold_case };
        if args.tree {
            return picture(session, &filter);
        }
        let page = session.ask_who_holds(&Holds { filter, limit, cursor: cursor.map(str::to_owned) })?;
        if session.out.is_json() {
            session.out.data(&page);
        } else {
            let waiting = page.waiting.iter().map(|place| place.agent.as_str());
            session.know_agents(page.items.iter().map(|hold| hold.holder.as_str()).chain(waiting));
            session.out.text(&holds(session.out, &page, Some(&session.workspace.tree_path())));
        }
        Ok(0)
    }),
};

/// Most holds that a tree shows.
const TREE: usize = 5_000;

/// All holds as a tree of the repository.
fn picture(session: &Session<'_>, filter: &Filter) -> Result<u8> {
    let mut items: Vec<Hold> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let rows = LIMIT_MAX;
        let page = session.ask_who_holds(&Holds { filter: filter.clone(), limit: rows, cursor: cursor.clone() })?;
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() || items.len() >= TREE {
            break;
        }
    }
    session.know_agents(items.iter().map(|hold| hold.holder.as_str()));
    let drawn = tree(session.out, &items, Some(&session.workspace.tree_path()), cursor.is_some());
    if session.out.is_json() {
        session.out.data(&json!({ "items": items, "more": cursor.is_some(), "next": cursor, "tree": drawn }));
    } else {
        session.out.text(&drawn);
    }
    Ok(0)
}

#[derive(clap::Args)]
struct Args {
    /// Only holds that overlap one of these paths
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Draw the holds as a tree of the repository, followed by the locks
    #[arg(long, conflicts_with_all = ["cursor", "limit"])]
    tree: bool,
    /// Only holds of this kind: task, path or name
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    #[command(flatten)]
    holder: super::list::HolderArg,
    #[command(flatten)]
    page: super::list::Paging,
}
