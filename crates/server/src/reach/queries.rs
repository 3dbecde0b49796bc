//! The queries, by the names and with the arguments that the kernel has.

use tenure_core::agent::Process;
use tenure_core::session::Whose;
use tenure_core::{Error, Result, Span, Time};
use tenure_kernel::op::{import, resume};
use tenure_kernel::query::access::Of;
use tenure_kernel::query::agents::Suspect;
use tenure_kernel::query::answer::Exported;
use tenure_kernel::query::commit::Made;
use tenure_kernel::query::export::Sink;
use tenure_kernel::query::guard::Outlook;
use tenure_kernel::query::health::Health;
use tenure_kernel::query::peek::Beginning;
use tenure_kernel::query::session::{Look, Standing};
use tenure_kernel::query::show::{Found, Graph};
use tenure_kernel::query::{asked, check, commit, holds, list, log, memory};
use tenure_kernel::shape::export::{End, Imported};
use tenure_kernel::shape::{
    Agent, Checked, Committing, Event, Fired, Guards, Hold, Inbox, Member, Memory, Message, Next, Overview, Page,
    Project, Pushing, Resumed, Shown, Story, Task, Token, Turn,
};
use tenure_kernel::{Call, Query};
use tenure_store::table::project;

use super::Reach;

const NOTHING: asked::Nothing = asked::Nothing {};

fn typed(typed: &str) -> asked::Typed {
    asked::Typed { typed: typed.to_owned() }
}

fn id(id: &str) -> asked::Id {
    asked::Id { id: id.to_owned() }
}

fn named(name: &str) -> asked::Named {
    asked::Named { name: name.to_owned() }
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

/// Tasks, and what was told about them.
impl Reach {
    /// A page of tasks in the order of choice.
    pub fn list(&self, call: &Call, filter: &list::Filter) -> Result<Page<Task>> {
        self.ask(call, |kernel| kernel.list(call, filter), || Query::List(filter.clone()))
    }

    /// The task or hold whose id begins with a text.
    pub fn look_up(&self, call: &Call, text: &str) -> Result<Found> {
        self.ask(call, |kernel| kernel.look_up(call, text), || Query::LookUp(typed(text)))
    }

    /// One task.
    pub fn show(&self, call: &Call, task: &str) -> Result<Shown> {
        self.ask(call, |kernel| kernel.show(call, task), || Query::Show(id(task)))
    }

    /// One hold, ended or not.
    pub fn show_hold(&self, call: &Call, hold: &str) -> Result<Hold> {
        self.ask(call, |kernel| kernel.show_hold(call, hold), || Query::ShowHold(id(hold)))
    }

    /// The graph around a task.
    pub fn graph(&self, call: &Call, task: &str) -> Result<Graph> {
        self.ask(call, |kernel| kernel.graph(call, task), || Query::Graph(id(task)))
    }

    /// The project at a glance.
    pub fn status(&self, call: &Call) -> Result<Overview> {
        self.ask(call, |kernel| kernel.status(call), || Query::Status(NOTHING))
    }

    /// The story of a task, a hold or a memory.
    pub fn why(&self, call: &Call, subject: &str) -> Result<Story> {
        self.ask(call, |kernel| kernel.why(call, subject), || Query::Why(id(subject)))
    }

    /// The story of a named lock.
    pub fn why_lock(&self, call: &Call, name: &str) -> Result<Story> {
        self.ask(call, |kernel| kernel.why_lock(call, name), || Query::WhyLock(named(name)))
    }

    /// The story of one path or pattern.
    pub fn why_path(&self, call: &Call, question: &check::Question) -> Result<Story> {
        self.ask(call, |kernel| kernel.why_path(call, question), || Query::WhyPath(question.clone()))
    }

    /// What `claim` without an id would choose.
    pub fn next(&self, call: &Call, labels: &[String]) -> Result<Next> {
        self.ask(call, |kernel| kernel.next(call, labels), || Query::Next(asked::Next { labels: labels.to_vec() }))
    }

    /// What `resume` would answer now.
    pub fn peek(&self, call: &Call, request: &resume::Resume) -> Result<Resumed> {
        self.ask(call, |kernel| kernel.peek(call, request), || Query::Peek(request.clone()))
    }

    /// The id of a task that begins with a text.
    pub fn task_id(&self, call: &Call, text: &str) -> Result<String> {
        self.ask(call, |kernel| kernel.task_id(call, text), || Query::TaskId(typed(text)))
    }

    /// The id of a task or a hold that begins with a text.
    pub fn any_id(&self, call: &Call, text: &str) -> Result<String> {
        self.ask(call, |kernel| kernel.any_id(call, text), || Query::AnyId(typed(text)))
    }

    /// A page of events.
    pub fn log(&self, call: &Call, filter: &log::Filter) -> Result<Page<Event>> {
        self.ask(call, |kernel| kernel.log(call, filter), || Query::Log(filter.clone()))
    }

    /// What an import would do.
    pub fn import_plan(&self, call: &Call, request: &import::Import) -> Result<Imported> {
        self.ask(call, |kernel| kernel.import_plan(call, request), || Query::ImportPlan(request.clone()))
    }
}

/// Holds, paths and locks.
impl Reach {
    /// A page of live holds that a filter lets through.
    pub fn holds_where(
        &self,
        call: &Call,
        filter: &holds::Filter,
        rows: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Hold>> {
        self.ask(
            call,
            |kernel| kernel.holds_where(call, filter, rows, cursor),
            || Query::Holds(asked::Holds { filter: filter.clone(), limit: rows, cursor: owned(cursor) }),
        )
    }

    /// The lock of a name as it is now.
    pub fn lock_of(&self, call: &Call, name: &str) -> Result<Option<Hold>> {
        self.ask(call, |kernel| kernel.lock_of(call, name), || Query::LockOf(named(name)))
    }

    /// Whether paths are free for the asker.
    pub fn check(&self, call: &Call, question: &check::Question) -> Result<Checked> {
        self.ask(call, |kernel| kernel.check(call, question), || Query::Check(question.clone()))
    }

    /// How a place in the waiting line stands.
    pub fn turn(&self, call: &Call, place: &str, before: Option<&Turn>) -> Result<Turn> {
        self.ask(
            call,
            |kernel| kernel.turn(call, place, before),
            || Query::Turn(asked::AtPlace { place: place.to_owned(), before: before.cloned() }),
        )
    }

    /// Whether files may be committed.
    pub fn may_commit(&self, call: &Call, question: &commit::Question) -> Result<Option<Committing>> {
        self.ask(call, |kernel| kernel.may_commit(call, question), || Query::MayCommit(question.clone()))
    }

    /// Whether commits may be pushed.
    pub fn may_push(&self, call: &Call, commits: &[Made], fold_case: bool) -> Result<Option<Pushing>> {
        self.ask(
            call,
            |kernel| kernel.may_push(call, commits, fold_case),
            || Query::MayPush(asked::Commits { commits: commits.to_vec(), fold_case }),
        )
    }

    /// The asker's live holds on single files of this checkout.
    pub fn own_files(&self, call: &Call, question: &commit::Question) -> Result<Vec<String>> {
        self.ask(call, |kernel| kernel.own_files(call, question), || Query::OwnFiles(question.clone()))
    }

    /// The refusal that an edit of files would meet.
    pub fn in_the_way(&self, call: &Call, files: &[String], fold_case: bool) -> Result<Option<Error>> {
        self.ask(
            call,
            |kernel| kernel.in_the_way(call, files, fold_case),
            || Query::InTheWay(asked::Files { files: files.to_vec(), fold_case }),
        )
    }

    /// Who but the asker holds anything in the checkout of the call.
    pub fn others_here(&self, call: &Call) -> Result<Checked> {
        self.ask(call, |kernel| kernel.others_here(call), || Query::OthersHere(NOTHING))
    }
}

/// Mail and memory.
impl Reach {
    /// New mail, without offering it.
    pub fn mail(&self, call: &Call, limit: Option<usize>) -> Result<Inbox> {
        self.ask(call, |kernel| kernel.mail(call, limit), || Query::Mail(asked::Mail { limit }))
    }

    /// How many messages are new to the asker, and the first of them.
    pub fn unread(&self, call: &Call, limit: usize) -> Result<(Vec<Message>, usize)> {
        self.ask(call, |kernel| kernel.unread(call, limit), || Query::Unread(asked::Unread { limit }))
    }

    /// The message in one's own mail whose id begins with a text.
    pub fn message_id(&self, call: &Call, text: &str) -> Result<String> {
        self.ask(call, |kernel| kernel.message_id(call, text), || Query::MessageId(typed(text)))
    }

    /// Memories by words.
    pub fn recall(&self, call: &Call, question: &str, filter: &memory::Filter) -> Result<Page<Memory>> {
        self.ask(
            call,
            |kernel| kernel.recall(call, question, filter),
            || Query::Recall(asked::Recall { question: question.to_owned(), filter: filter.clone() }),
        )
    }

    /// A page of memories.
    pub fn memories(&self, call: &Call, filter: &memory::Filter) -> Result<Page<Memory>> {
        self.ask(call, |kernel| kernel.memories(call, filter), || Query::Memories(filter.clone()))
    }

    /// The memory whose id begins with a text, and whether it belongs to the whole store.
    pub fn memory_id(&self, call: &Call, text: &str) -> Result<(bool, String)> {
        self.ask(call, |kernel| kernel.memory_id(call, text), || Query::MemoryId(typed(text)))
    }

    /// A memory by its whole id.
    pub fn memory(&self, call: &Call, memory: &str) -> Result<Memory> {
        self.ask(call, |kernel| kernel.memory(call, memory), || Query::Memory(id(memory)))
    }
}

/// Projects, agents and sessions.
impl Reach {
    /// A page of agents by name, or of those seen within a span.
    pub fn agents(&self, call: &Call, within: Option<Span>, rows: usize, cursor: Option<&str>) -> Result<Page<Agent>> {
        self.ask(
            call,
            |kernel| kernel.agents(call, within, rows, cursor),
            || Query::Agents(asked::Agents { within_us: within, limit: rows, cursor: owned(cursor) }),
        )
    }

    /// A page of tokens, of one principal where it is named.
    pub fn tokens(&self, call: &Call, of: Option<&str>, rows: usize, cursor: Option<&str>) -> Result<Page<Token>> {
        let query = || {
            let (principal, cursor) = (of.map(str::to_owned), cursor.map(str::to_owned));
            Query::Tokens(asked::Tokens { principal, limit: rows, cursor })
        };
        self.ask(&in_store(call), |kernel| kernel.tokens(call, of, rows, cursor), query)
    }

    /// The token whose id begins with a text.
    pub fn token_id(&self, call: &Call, text: &str) -> Result<String> {
        self.ask(&in_store(call), |kernel| kernel.token_id(call, text), || Query::TokenId(typed(text)))
    }

    /// A page of memberships.
    pub fn members(&self, call: &Call, of: Of<'_>, rows: usize, cursor: Option<&str>) -> Result<Page<Member>> {
        let query = || {
            let (principal, project) = match of {
                Of::All => (None, None),
                Of::Project(key) => (None, Some(key.to_owned())),
                Of::Principal(name) => (Some(name.to_owned()), None),
            };
            Query::Members(asked::Members { principal, project, limit: rows, cursor: cursor.map(str::to_owned) })
        };
        self.ask(&in_store(call), |kernel| kernel.members(call, of, rows, cursor), query)
    }

    /// The agents of one machine that hold something and whose process is known.
    pub fn suspects(&self, call: &Call, host: &str) -> Result<Vec<Suspect>> {
        self.ask(call, |kernel| kernel.suspects(call, host), || Query::Suspects(asked::Host { host: host.to_owned() }))
    }

    /// A page of the projects in the store.
    pub fn projects(&self, call: &Call, rows: usize, cursor: Option<&str>) -> Result<Page<Project>> {
        self.ask(
            call,
            |kernel| kernel.projects(call, rows, cursor),
            || Query::Projects(asked::Paged { limit: rows, cursor: owned(cursor) }),
        )
    }

    /// The one project that has a key or is called a name.
    pub fn project_called(&self, call: &Call, name: &str, also_forgotten: bool) -> Result<project::Name> {
        self.ask(
            call,
            |kernel| kernel.project_called(call, name, also_forgotten),
            || Query::ProjectCalled(asked::Called { name: name.to_owned(), also_forgotten }),
        )
    }

    /// Whether the project has any event.
    pub fn switched_on(&self, call: &Call) -> Result<bool> {
        self.ask(call, |kernel| kernel.switched_on(call), || Query::SwitchedOn(NOTHING))
    }

    /// The time of the project's last op.
    pub fn last_time(&self, call: &Call) -> Result<Time> {
        self.ask(call, |kernel| kernel.last_time(call), || Query::LastTime(NOTHING))
    }

    /// The health of the project's rows.
    pub fn health(&self, call: &Call) -> Result<Health> {
        self.ask(call, |kernel| kernel.health(call), || Query::Health(NOTHING))
    }

    /// Reads every row of the project.
    pub fn read_through(&self, call: &Call) -> Result<()> {
        self.ask(call, |kernel| kernel.read_through(call), || Query::ReadThrough(NOTHING))
    }

    /// When each hook last ran.
    pub fn fired(&self, call: &Call) -> Result<Vec<Fired>> {
        self.ask(call, |kernel| kernel.fired(call), || Query::Fired(NOTHING))
    }

    /// Whether the guards are off.
    pub fn guards(&self, call: &Call) -> Result<Guards> {
        self.ask(call, |kernel| kernel.guards(call), || Query::Guards(NOTHING))
    }

    /// What a hook must know before it does anything.
    pub fn standing(&self, call: &Call, look: &Look<'_>) -> Result<Option<Standing>> {
        self.ask(call, |kernel| kernel.standing(call, look), || Query::Standing(asked::Standing::of(look)))
    }

    /// What a session is shown when it begins.
    pub fn beginning(&self, call: &Call, request: &resume::Resume, ready: usize) -> Result<Beginning> {
        self.ask(
            call,
            |kernel| kernel.beginning(call, request, ready),
            || Query::Beginning(asked::Beginning { request: request.clone(), ready }),
        )
    }

    /// How an edit of some files stands.
    pub fn outlook(&self, call: &Call, look: &Look<'_>, files: &[String], fold_case: bool) -> Result<Option<Outlook>> {
        let query = || asked::Outlook { look: asked::Standing::of(look), files: files.to_vec(), fold_case };
        self.ask(call, |kernel| kernel.outlook(call, look, files, fold_case), || Query::Outlook(query()))
    }

    /// Who a command is that runs inside one of some tools.
    pub fn session_of(
        &self,
        call: &Call,
        tools: &[(&str, Option<&str>)],
        here: &Process,
        above: &[(i64, i64)],
    ) -> Result<Whose> {
        let query = || asked::SessionOf {
            tools: tools.iter().map(|(tool, id)| ((*tool).to_owned(), owned(*id))).collect(),
            here: here.clone(),
            above: above.to_vec(),
        };
        self.ask(call, |kernel| kernel.session_of(call, tools, here, above), || Query::SessionOf(query()))
    }

    /// Writes all tasks and notes of a project, and its log if that is wanted. From far away it comes in one piece.
    pub fn export(&self, call: &Call, with_log: bool, sink: &mut dyn Sink) -> Result<End> {
        if let Some(kernel) = self.local() {
            return kernel.export(call, with_log, sink);
        }
        let none = |_: &tenure_kernel::Kernel| Err(Error::bug("a kernel that is nowhere"));
        let exported: Exported = self.ask(call, none, || Query::Export(asked::Export { with_log }))?;
        sink.begin()?;
        exported.lines.split_terminator('\n').try_for_each(|line| sink.line(line))?;
        Ok(exported.end)
    }
}

/// The same call about what belongs to the whole store.
fn in_store(call: &Call) -> Call {
    Call { project: project::whole_store(), checkout: None, ..call.clone() }
}
