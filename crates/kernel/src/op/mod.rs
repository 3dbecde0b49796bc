//! The ops: a trait and a list. One op is one file, named for the op; its description is its `impl Operation`.

pub mod access_denied;
pub mod add;
pub mod add_many;
pub mod block;
pub mod cancel;
pub mod claim;
pub mod committed;
pub mod confirm;
pub mod done;
pub mod edit;
pub mod forget;
pub mod guard;
pub mod import;
pub mod inbox;
pub mod join;
pub mod lessons;
pub mod lock;
pub mod login_close;
pub mod login_offer;
pub mod login_take;
pub mod member_set;
pub mod memory_forget;
pub mod memory_pin;
pub mod note;
pub mod off;
mod operation;
pub mod principal_set;
pub mod release;
pub mod remember;
pub mod reopen;
pub mod reserve;
pub mod resume;
pub mod send;
pub mod session_end;
pub mod session_start;
pub mod snooze;
pub mod switch_on;
pub mod token_add;
pub mod token_revoke;
pub mod tool_used;
pub mod transfer;
pub mod unblock;

use std::sync::Arc;

use tenure_core::access::Role;
use tenure_core::{Code, Error, Result, Stage, text};

pub use self::operation::{Access, Decision, Domain, Entry, Input, Offered, Operation};
pub(crate) use self::operation::{ErasedOp, answer};
pub use crate::call::Door;

/// Gives every op to a macro, in the order of the reference pages: its module and its request. It is the one list of ops;
/// whatever must have something for each of them is made from it.
#[macro_export]
macro_rules! for_each_op {
    ($make:ident) => {
        $make! {
            add::Add,
            add_many::AddMany,
            edit::Edit,
            snooze::Snooze,
            claim::Claim,
            resume::Resume,
            confirm::Confirm,
            note::Note,
            done::Done,
            block::Block,
            unblock::Unblock,
            release::Release,
            reserve::Reserve,
            lock::Lock,
            reopen::Reopen,
            cancel::Cancel,
            transfer::Transfer,
            import::Import,
            remember::Remember,
            memory_pin::MemoryPin,
            memory_forget::MemoryForget,
            send::Send,
            inbox::Inbox,
            session_start::SessionStart,
            session_end::SessionEnd,
            tool_used::ToolUsed,
            committed::Committed,
            lessons::Lessons,
            join::Join,
            forget::Forget,
            switch_on::SwitchOn,
            off::Off,
            guard::Guard,
            token_add::TokenAdd,
            token_revoke::TokenRevoke,
            member_set::MemberSet,
            principal_set::PrincipalSet,
            login_offer::LoginOffer,
            login_take::LoginTake,
            login_close::LoginClose,
            access_denied::AccessDenied,
        }
    };
}

macro_rules! entries {
    ($($module:ident::$request:ident,)+) => {
        &[$(Entry::of::<$module::$request>()),+]
    };
}

/// All ops.
pub const OPS: &[Entry] = for_each_op!(entries);

/// An op of any type, for code that carries ops without inspecting them: queues, the wire format, tests.
#[derive(Clone, Debug)]
pub struct Op(Arc<dyn ErasedOp>);

impl Op {
    /// Wraps a request.
    pub fn new<O: Operation>(request: O) -> Op {
        Op(Arc::new(request))
    }

    /// Parses the request of an op by name. Unknown fields are refused by name, so that no part of a request is
    /// ignored.
    pub fn read(name: &str, json: &str) -> Result<Op> {
        find(OPS.iter(), name).and_then(|entry| (entry.read)(json))
    }

    /// The same at a door. An op that the door does not accept is unknown there, with the same message.
    pub fn read_at(door: Door, name: &str, json: &str) -> Result<Op> {
        find(OPS.iter().filter(|entry| entry.doors.contains(&door)), name).and_then(|entry| (entry.read)(json))
    }

    /// The request, if the op is of this type.
    pub fn get<O: Operation>(&self) -> Option<&O> {
        self.0.as_any().downcast_ref()
    }

    pub fn entry(&self) -> &'static Entry {
        self.0.entry()
    }

    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// The role that it needs in a project. `None` if no principal may request it there.
    pub fn needs(&self, project: &str) -> Option<Role> {
        self.0.access().needed(project)
    }

    /// Checks everything that needs no store. [`crate::Kernel::run`] does this too. A door checks first if it would
    /// otherwise create something for a request that cannot succeed.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }

    /// How many rows a batch writes; one for any other op. The more rows, the longer the lock is held.
    pub fn items(&self) -> usize {
        self.0.lines().len().max(1)
    }

    /// See [`Operation::lines`].
    pub fn lines(&self) -> Vec<usize> {
        self.0.lines()
    }

    /// See [`Operation::set_lines`].
    pub fn set_lines(&mut self, lines: &[usize]) {
        match Arc::get_mut(&mut self.0) {
            Some(request) => request.set_lines(lines),
            None => self.0 = self.0.with_lines(lines),
        }
    }

    /// The request in its canonical form: what the fingerprint hashes and what [`Op::read`] parses.
    pub fn canonical(&self) -> Result<String> {
        self.0.canonical()
    }

    pub(crate) fn erased(&self) -> &dyn ErasedOp {
        self.0.as_ref()
    }
}

fn find<'a>(known: impl Iterator<Item = &'a Entry> + Clone, name: &str) -> Result<&'a Entry> {
    known.clone().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<&str> = known.map(|entry| entry.name).collect();
        let shown = text::excerpt(name);
        let error = Error::new(Code::UnknownOp, format!("there is no op `{shown}`")).at(Stage::Arguments);
        match tenure_core::name::nearest(name, known.iter().copied()) {
            Some(near) => error.entity(shown).hint(format!("The nearest is `{near}`.")),
            None => error.entity(shown).hint(format!("The ops are {}.", known.join(", "))),
        }
    })
}

#[cfg(test)]
mod tests;
