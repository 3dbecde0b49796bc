//! Resuming a client that was initialised by another server process.

use std::pin::Pin;

use axum::http::HeaderMap;
use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};

use super::VERSION;

tokio::task_local! {
    /// The protocol version of the request being answered.
    pub(super) static SPOKEN: ProtocolVersion;
}

/// The initialisation of a client that this process has not seen. The session id identifies it, and each request names
/// its protocol version. Only validated session ids get here.
pub(super) struct ResumedClient;

type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl SessionStore for ResumedClient {
    fn load<'a, 'b, 'c>(&'a self, _id: &'b str) -> StoreFuture<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        let client = Implementation::new("client", "");
        let state = SPOKEN.try_with(|spoken| {
            let said = InitializeRequestParams::new(ClientCapabilities::default(), client);
            SessionState::new(said.with_protocol_version(spoken.clone()))
        });
        Box::pin(async move { Ok(state.ok()) })
    }

    fn store<'a, 'b, 'c, 'd>(&'a self, _id: &'b str, _state: &'c SessionState) -> StoreFuture<'d, ()>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        Box::pin(async { Ok(()) })
    }

    fn delete<'a, 'b, 'c>(&'a self, _id: &'b str) -> StoreFuture<'c, ()>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async { Ok(()) })
    }
}

/// The protocol version of a request. Without the header it is the version that did not have it.
pub(super) fn spoken(headers: &HeaderMap) -> ProtocolVersion {
    let said = headers.get(VERSION).and_then(|version| version.to_str().ok());
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|version| Some(version.as_str()) == said);
    known.cloned().unwrap_or(ProtocolVersion::V_2025_03_26)
}
