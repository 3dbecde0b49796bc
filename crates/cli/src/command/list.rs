//! `tenure list`

use clap::{Args as _, ValueEnum};
use tenure_core::choice::ListOrder;
use tenure_core::name::AgentName;
use tenure_core::task::TaskState;
use tenure_core::{Code, Error, Result, name};
use tenure_kernel::query::list::List;

use super::{Group, Run, Spec, read};
use crate::output::task::{agents, list};
use crate::session::{Session, StoreUse, caller};

pub(super) const SPEC: Spec = Spec {
    name: "list",
    aliases: &["ls", "tasks"],
    group: Group::Everyday,
    about: "List tasks in the order of choice, or search them",
    examples: &[
        "tenure list",
        "tenure list login page --all",
        "tenure list --state ready --label backend",
        "tenure list --agent codex-2",
        "tenure list --all --sort updated --limit 200 --json",
    ],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Read, |session, matches| {
        let args: Args = read(matches)?;
        let labels = args.labels.or_default(session)?;
        let mut states: Vec<TaskState> = args.state.iter().flat_map(|wanted| wanted.states()).copied().collect();
        states.dedup();
        let filter = List {
            states,
            all: args.all,
            labels,
            assignee: args.assignee.as_deref().map(name::check).transpose()?.map(AgentName::from),
            agent: flagged(session).filter(|_| args.assignee.is_none() && !args.holder.is_given()),
            holder: args.holder.or_self(session)?,
            limit: args.page.limit()?,
            cursor: args.page.cursor,
            text: (!args.text.is_empty()).then(|| args.text.join(" ")),
            sort: args.sort.into(),
        };
        let page = session.ask_who_holds(&filter)?;
        if session.out.is_json() {
            session.out.data(&page);
        } else {
            session.know_agents(agents(&page.items));
            session.out.text(&list(session.out, &page));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// Only tasks with words that begin like these, in the title, description, acceptance or a note
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Only tasks in this state; may be repeated
    #[arg(long, visible_alias = "status", value_name = "STATE", value_delimiter = ',')]
    state: Vec<StateArg>,
    /// Include done and cancelled tasks
    #[arg(long, short)]
    all: bool,
    #[command(flatten)]
    labels: Labels,
    /// Only tasks assigned to this agent
    #[arg(long = "for", value_name = "AGENT")]
    assignee: Option<String>,
    #[command(flatten)]
    holder: HolderArg,
    /// The order; by default that in which tasks are chosen
    #[arg(long, value_name = "ORDER", default_value = "priority", hide_default_value = true)]
    sort: SortArg,
    #[command(flatten)]
    page: Paging,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SortArg {
    /// Priority, then creation
    #[value(aliases = ["prio", "rank"])]
    Priority,
    /// The newest task first
    #[value(aliases = ["new", "newest", "age", "number"])]
    Created,
    /// The last changed task first
    #[value(aliases = ["changed", "recent", "modified"])]
    Updated,
}

impl From<SortArg> for ListOrder {
    fn from(sort: SortArg) -> ListOrder {
        match sort {
            SortArg::Priority => ListOrder::Priority,
            SortArg::Created => ListOrder::Created,
            SortArg::Updated => ListOrder::Updated,
        }
    }
}

/// A state, or a stored status that stands for several.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum StateArg {
    Ready,
    Waiting,
    Stuck,
    #[value(aliases = ["in_progress", "in-progress", "claimed", "doing", "active", "wip"])]
    Held,
    Blocked,
    #[value(aliases = ["closed", "completed", "finished", "resolved"])]
    Done,
    #[value(alias = "canceled")]
    Cancelled,
    /// Ready, waiting or stuck
    #[value(aliases = ["todo", "pending"])]
    Open,
    /// Held
    Started,
}

impl StateArg {
    fn states(self) -> &'static [TaskState] {
        match self {
            StateArg::Ready => &[TaskState::Ready],
            StateArg::Waiting => &[TaskState::Waiting],
            StateArg::Stuck => &[TaskState::Stuck],
            StateArg::Held | StateArg::Started => &[TaskState::Held],
            StateArg::Blocked => &[TaskState::Blocked],
            StateArg::Done => &[TaskState::Done],
            StateArg::Cancelled => &[TaskState::Cancelled],
            StateArg::Open => &[TaskState::Ready, TaskState::Waiting, TaskState::Stuck],
        }
    }
}

// The label filter of `list`, `next` and `claim`.
#[derive(clap::Args)]
pub(super) struct Labels {
    /// Only tasks with this label; may be repeated: with all labels
    #[arg(long, short, value_name = "LABEL")]
    pub(super) label: Vec<String>,
}

impl Labels {
    /// What was typed, else what the configuration says.
    pub(super) fn or_default(self, session: &Session<'_>) -> Result<Vec<String>> {
        Ok(if self.label.is_empty() { session.workspace.config.labels.clone() } else { self.label })
    }
}

// The holder filter of `list` and `holds`.
#[derive(clap::Args)]
pub(super) struct HolderArg {
    /// Only tasks that this agent holds; without it, `--agent NAME` selects the tasks of that agent
    #[arg(long, value_name = "AGENT", conflicts_with = "mine")]
    holder: Option<String>,
    /// Only items that you hold
    #[arg(long)]
    mine: bool,
}

impl HolderArg {
    fn is_given(&self) -> bool {
        self.mine || self.holder.is_some()
    }

    /// The same where `--agent NAME` alone means `--holder NAME`.
    pub(super) fn or_flagged(self, session: &Session<'_>) -> Result<Option<AgentName>> {
        if self.is_given() { self.or_self(session) } else { Ok(flagged(session)) }
    }

    pub(super) fn or_self(self, session: &Session<'_>) -> Result<Option<AgentName>> {
        if self.mine {
            return caller::own_name(session).map(AgentName::from).map(Some);
        }
        self.holder.as_deref().map(name::check).transpose().map(|holder| holder.map(AgentName::from))
    }
}

/// The agent that `--agent NAME` names. The answer to a query about everyone does not depend on the caller, so there the
/// flag filters. `TENURE_AGENT` does not: it stands in the environment of every call of an agent.
pub(super) fn flagged(session: &Session<'_>) -> Option<AgentName> {
    session.settings.globals.agent.as_deref().map(AgentName::from)
}

// Paging.
#[derive(clap::Args)]
pub(super) struct Paging {
    /// The number of rows per page, 1 to 1000
    #[arg(long, short = 'n', value_name = "N", default_value = "50", allow_negative_numbers = true)]
    limit: i64,
    /// The position of the page: `next` of the previous page
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
}

impl Paging {
    pub(super) fn limit(&self) -> Result<usize> {
        limit(self.limit)
    }
}

/// Checks a page size.
pub(super) fn limit(rows: i64) -> Result<usize> {
    usize::try_from(rows)
        .map_err(|_| Error::usage(Code::BadLimit, format!("{rows} is not a page size")).hint("Give 1 to 1000."))
        .and_then(tenure_kernel::query::limit)
}
