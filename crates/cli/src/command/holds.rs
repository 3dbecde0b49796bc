//! `tenure holds`

use clap::Args as _;

use super::{Group, Spec, read};
use crate::output::task::holds;

pub(super) const SPEC: Spec = Spec {
    name: "holds",
    aliases: &["locks"],
    group: Group::Everyday,
    about: "List who holds what, the next to end first",
    examples: &["tenure holds", "tenure holds --mine --json"],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        let holder = args.holder.or_self(context)?;
        let limit = args.page.limit()?;
        let cursor = args.page.cursor.as_deref();
        let page = context.ask_who_holds(|kernel, call| kernel.holds(call, holder.as_deref(), limit, cursor))?;
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
    #[command(flatten)]
    holder: super::list::Holder,
    #[command(flatten)]
    page: super::list::Paging,
}
