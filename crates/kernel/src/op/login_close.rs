//! Closes browser sessions: one, by its owner, or all of a principal. They are invalid from the commit on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::access::LoginClosed;
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Result, access};
use tenure_store::table::{principal, web_session};

use super::operation::{Access, Domain, Door, Operation, Role};
use crate::access::{in_store, of_store, unknown_principal};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request: exactly one of the two.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginClose {
    /// The SHA-256 of the value of one session's cookie, which proves the right to close the session.
    #[serde(default)]
    pub session: Option<String>,
    /// The principal whose sessions are closed.
    #[serde(default)]
    pub principal: Option<AgentName>,
}

impl Operation for LoginClose {
    const NAME: &'static str = "login_close";
    const ABOUT: &'static str = "Close one browser session, or all sessions of a principal";
    const DOORS: &'static [Door] = &[];
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::LoginsClosed;

    fn check(&self) -> Result<()> {
        match (&self.session, &self.principal) {
            (Some(session), None) => access::hash(session).map(drop),
            (None, Some(principal)) => access::principal(principal).map(drop),
            _ => Err(Error::usage(Code::BadLoginClose, "name one session, or one principal")),
        }
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::LoginsClosed> {
        let (whose, closed) = match (&self.session, &self.principal) {
            (Some(session), _) => {
                in_store(work, "closing a session")?;
                let found = web_session::get(work.tx, session)?;
                let closed = web_session::close(work.tx, session, work.now)?;
                // A session that never existed counts as closed. The answer does not reveal whose a session was.
                (found.map(|row| row.principal).unwrap_or_default(), closed)
            }
            (None, Some(name)) => {
                // Every principal may close all of its own sessions. Closing those of others needs the right to disable
                // them.
                if work.me() != name {
                    of_store(work, "closing the sessions of others")?;
                }
                in_store(work, "closing sessions")?;
                principal::get(work.tx, name)?.ok_or_else(|| unknown_principal(name))?;
                (name.clone(), web_session::close_all(work.tx, name, work.now)?)
            }
            (None, None) => return Err(Error::bug("a request that was checked names nothing")),
        };
        if closed > 0 {
            work.append(About::of(&whose), Event::LoginClosed(LoginClosed { closed }))?;
        }
        Ok(answer::LoginsClosed { closed: i64::try_from(closed).unwrap_or(i64::MAX) })
    }
}
