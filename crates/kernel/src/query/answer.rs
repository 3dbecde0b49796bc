//! Answers as JSON.

use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::{Code, Error, Result, Stage};

use super::asked;
use super::export::Sink;
use super::question::Query;
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::export::End;

/// Most bytes of an export that is answered in one piece: it is in memory on both sides.
const EXPORT_MAX: usize = 64 * 1024 * 1024;

impl Kernel {
    /// Asks a query, and answers with the JSON of what the typed call returns.
    pub fn answer(&self, call: &Call, query: &Query) -> Result<String> {
        let kernel = self;
        match query {
            Query::List(r) => json(kernel.list(call, r)),
            Query::LookUp(r) => json(kernel.look_up(call, &r.typed)),
            Query::Show(r) => json(kernel.show(call, &r.id)),
            Query::ShowHold(r) => json(kernel.show_hold(call, &r.id)),
            Query::Graph(r) => json(kernel.graph(call, &r.id)),
            Query::Status(_) => json(kernel.status(call)),
            Query::Why(r) => json(kernel.why(call, &r.id)),
            Query::WhyLock(r) => json(kernel.why_lock(call, &r.name)),
            Query::WhyPath(r) => json(kernel.why_path(call, r)),
            Query::Holds(r) => json(kernel.holds_where(call, &r.filter, r.limit, r.cursor.as_deref())),
            Query::LockOf(r) => json(kernel.lock_of(call, &r.name)),
            Query::Check(r) => json(kernel.check(call, r)),
            Query::Turn(r) => json(kernel.turn(call, &r.place, r.before.as_ref())),
            Query::Log(r) => json(kernel.log(call, r)),
            Query::Mail(r) => json(kernel.mail(call, r.limit)),
            Query::Unread(r) => json(kernel.unread(call, r.limit)),
            Query::MessageId(r) => json(kernel.message_id(call, &r.typed)),
            Query::Recall(r) => json(kernel.recall(call, &r.question, &r.filter)),
            Query::Memories(r) => json(kernel.memories(call, r)),
            Query::MemoryId(r) => json(kernel.memory_id(call, &r.typed)),
            Query::Memory(r) => json(kernel.memory(call, &r.id)),
            Query::Next(r) => json(kernel.next(call, &r.labels)),
            Query::Peek(r) => json(kernel.peek(call, r)),
            Query::Agents(r) => json(kernel.agents(call, r.within_us, r.limit, r.cursor.as_deref())),
            Query::Projects(r) => json(kernel.projects(call, r.limit, r.cursor.as_deref())),
            Query::ProjectCalled(r) => json(kernel.project_called(call, &r.name, r.also_forgotten)),
            Query::TaskId(r) => json(kernel.task_id(call, &r.typed)),
            Query::AnyId(r) => json(kernel.any_id(call, &r.typed)),
            Query::Guards(_) => json(kernel.guards(call)),
            Query::SwitchedOn(_) => json(kernel.switched_on(call)),
            Query::LastTime(_) => json(kernel.last_time(call)),
            Query::Fired(_) => json(kernel.fired(call)),
            Query::Health(_) => json(kernel.health(call)),
            Query::ReadThrough(_) => json(kernel.read_through(call)),
            Query::ImportPlan(r) => json(kernel.import_plan(call, r)),
            Query::Export(r) => json(exported(kernel, call, r.with_log)),
            Query::OthersHere(_) => json(kernel.others_here(call)),
            Query::InTheWay(r) => json(kernel.in_the_way(call, &r.files, r.fold_case)),
            Query::MayCommit(r) => json(kernel.may_commit(call, r)),
            Query::MayPush(r) => json(kernel.may_push(call, &r.commits, r.fold_case)),
            Query::OwnFiles(r) => json(kernel.own_files(call, r)),
            Query::Outlook(r) => json(kernel.outlook(call, &r.look.look(), &r.files, r.fold_case)),
            Query::Standing(r) => json(kernel.standing(call, &r.look())),
            Query::Beginning(r) => json(kernel.beginning(call, &r.request, r.ready)),
            Query::SessionOf(r) => json(session_of(kernel, call, r)),
            Query::Suspects(r) => json(kernel.suspects(call, &r.host)),
            Query::Tokens(r) => json(kernel.tokens(call, r.principal.as_deref(), r.limit, r.cursor.as_deref())),
            Query::TokenId(r) => json(kernel.token_id(call, &r.typed)),
            Query::Members(r) => json(kernel.members(call, r.of(), r.limit, r.cursor.as_deref())),
            Query::Principals(r) => json(kernel.principals(call, r.limit, r.cursor.as_deref())),
        }
    }
}

fn json<T: Serialize>(answer: Result<T>) -> Result<String> {
    serde_json::to_string(&answer?)
        .map_err(|error| Error::bug(format!("an answer has no JSON: {error}")).at(Stage::Reply))
}

fn session_of(kernel: &Kernel, call: &Call, asked: &asked::SessionOf) -> Result<tenure_core::session::Whose> {
    let tools: Vec<(&str, Option<&str>)> =
        asked.tools.iter().map(|(tool, id)| (tool.as_str(), id.as_deref())).collect();
    kernel.session_of(call, &tools, &asked.here, &asked.above)
}

/// An export in one piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exported {
    /// The lines, each with its newline.
    pub lines: String,
    /// What the last of them says.
    pub end: End,
}

fn exported(kernel: &Kernel, call: &Call, with_log: bool) -> Result<Exported> {
    let mut lines = Lines { text: String::new(), most: EXPORT_MAX };
    let end = kernel.export(call, with_log, &mut lines)?;
    Ok(Exported { lines: lines.text, end })
}

struct Lines {
    text: String,
    most: usize,
}

impl Sink for Lines {
    fn begin(&mut self) -> Result<()> {
        self.text.clear();
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if self.text.len() + line.len() >= self.most {
            let most = self.most / (1024 * 1024);
            return Err(Error::usage(Code::ExportTooLarge, format!("the export has more than {most} MiB")).hint(
                Advice::from("Run ")
                    .action(Action::Export)
                    .text(" where the store is: on the server, or with TENURE_STORE."),
            ));
        }
        self.text.push_str(line);
        self.text.push('\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_in_one_piece_is_bounded() {
        let mut lines = Lines { text: String::new(), most: 8 };
        lines.line("abc").unwrap();
        assert_eq!(lines.line("defg").unwrap_err().code(), "export_too_large");
        lines.begin().unwrap();
        lines.line("defg").unwrap();
        assert_eq!(lines.text, "defg\n");
    }
}
