//! `tenure holds`

use std::ffi::OsString;

use clap::Args as _;
use tenure_kernel::query::holds::Filter;

use super::{Group, Spec, read};
use crate::output::task::holds;
use crate::place::typed::{self, Typed};

pub(super) const SPEC: Spec = Spec {
    name: "holds",
    aliases: &["locks"],
    group: Group::Everyday,
    about: "List who holds what, the next to end first",
    examples: &["tenure holds", "tenure holds --mine --json", "tenure holds src/ --kind path"],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        let limit = args.page.limit()?;
        let cursor = args.page.cursor.as_deref();
        let typed = match args.paths.as_slice() {
            [] => Typed { paths: Vec::new(), fold_case: false },
            paths => typed::read(context, paths)?,
        };
        let holder = args.holder.or_self(context)?;
        let filter = Filter { holder, kind: args.kind, paths: typed.paths, fold_case: typed.fold_case };
        let page = context.ask_who_holds(|kernel, call| kernel.holds_where(call, &filter, limit, cursor))?;
        if context.out.is_json() {
            context.out.data(&page);
        } else {
            context.out.text(&holds(context.out, &page));
        }
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    /// Only holds that have a file in common with one of these paths
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Only holds of a kind: task or path
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    #[command(flatten)]
    holder: super::list::Holder,
    #[command(flatten)]
    page: super::list::Paging,
}
