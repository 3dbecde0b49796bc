//! `tenure agent list`

use clap::{Args as _, Subcommand};
use tenure_kernel::query::agents::Agents;

use super::{Group, Run, Spec, Verbs, read};
use crate::output::table::print_page;
use crate::output::time::span;
use crate::session::StoreUse;

pub(super) const SPEC: Spec = Spec {
    name: "agent",
    aliases: &["agents"],
    group: Group::People,
    about: "List the agents of this project and whether they are alive",
    examples: &["tenure agent list", "tenure agent list --json"],
    args: Verbs::<AgentVerb>::augment_args,
    run: Run::InProject(StoreUse::Read, |session, matches| {
        let Verbs { verb: AgentVerb::List(page) } = read(matches)?;
        let limit = page.limit()?;
        let page = session.ask_who_holds(&Agents { within_us: None, limit, cursor: page.cursor })?;
        print_page(session.out, &page, "No agents.", &["AGENT", "IS", "SEEN", "FOCUS", "TOOL"], |agent| {
            vec![
                agent.name.to_string(),
                agent.liveness.as_str().to_owned(),
                format!("{} ago", span(agent.last_seen_s)),
                agent.focus.clone().unwrap_or_default().into(),
                agent.tool.clone().unwrap_or_default(),
            ]
        });
        Ok(0)
    }),
};

#[derive(Subcommand)]
enum AgentVerb {
    /// List agents by name
    List(super::list::Paging),
}
