//! `tenure recall`

use clap::Args as _;
use tenure_kernel::query::memories::Memories;
use tenure_kernel::query::recall::Recall;

use super::{Group, Run, Spec, memory, read};
use crate::session::{Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "recall",
    aliases: &[],
    group: Group::Everyday,
    about: "Search memories by words, best match first",
    examples: &["tenure recall importer locale", "tenure recall \"how to release\" --kind directive"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (words, limit) = (args.words.join(" "), super::list::limit(args.limit)?);
        let session = &Session::open(settings, out, StoreUse::Read)?;
        let filter = Memories { limit, cursor: args.cursor, ..args.which.filter(session)? };
        let page = session.ask(&Recall { question: words, filter })?;
        memory::print(session, &page, "No matching memories.");
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The words to search for
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    which: memory::MemoryRef,
    /// The maximum number of results, 1 to 1000
    #[arg(long, short = 'n', value_name = "N", default_value = "10", allow_negative_numbers = true)]
    limit: i64,
    /// The position of the page: `next` of the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}
