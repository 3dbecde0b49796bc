//! The settings of a process: the flags of every command and its environment. Parsed once, never changed.
//!
//! Nothing here reads a file or finds a project; `workspace` and `session` do that from these values.

use jiff::tz::TimeZone;
use tenure_client::Connections;

use crate::env::Env;
use crate::zone;

/// The global flags, as typed: nothing here is resolved or checked. They may stand before or after the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// `--project NAME`.
    pub(crate) project: Option<String>,
    /// `--store PATH|URL`.
    pub(crate) store: Option<String>,
    /// `--agent NAME`.
    pub(crate) agent: Option<String>,
    /// `--request-id ID`.
    pub(crate) request_id: Option<String>,
}

/// The flags and the environment of one request.
pub(crate) struct Settings<'a> {
    pub(crate) globals: Globals,
    pub(crate) env: &'a Env,
    /// Connections to servers, kept open from one session to the next.
    pub(crate) connections: Connections,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(globals: Globals, env: &'a Env) -> Settings<'a> {
        Settings { globals, env, connections: Connections::default() }
    }

    /// The time zone in which the person means times.
    pub(crate) fn zone(&self) -> TimeZone {
        zone::of(self.env.os("TZ")).unwrap_or(TimeZone::UTC)
    }
}
