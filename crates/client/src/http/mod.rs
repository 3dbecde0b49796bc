//! The HTTP client of a remote server.
//!
//! A failed request is retried with the same bytes and the same request id until the client's patience runs out. If the
//! first attempt was executed and only its answer was lost, the retry is answered from the stored response.

mod address;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls_pki_types::CertificateDer;
use tenure_core::{Code, Error, Result, Stage, text};
use tenure_kernel::{Call, Reply};
use tenure_store::{Deadline, Entropy, OsEntropy};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

pub use self::address::Address;
use super::Remote;
use crate::wire::{self, HELLO_MAX, Hello, VERSION, WireRequest};

/// The first pause between two attempts. Each pause is twice as long as the one before, up to `LONGEST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The timeout of a request to a server that an earlier request has given up on.
const ONCE: Duration = Duration::from_secs(1);

/// How long an idle connection stays open.
const KEPT: Duration = Duration::from_secs(60);

/// Connections kept open between requests, for a process that makes many.
#[derive(Clone, Default)]
pub struct Connections(Arc<Mutex<Option<(Address, Agent)>>>);

impl Connections {
    /// The connections to a server. Only those to the most recent server are kept.
    fn to(&self, address: &Address) -> Result<Agent> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, agent)) = kept.as_ref().filter(|(of, _)| of == address) {
            return Ok(agent.clone());
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would send the token to its target.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_age(KEPT)
            .user_agent(format!("tenure/{VERSION}"));
        let config = if address.is_local() { config.proxy(None) } else { config };
        let config = if address.is_encrypted() { config.tls_config(trusted()?) } else { config };
        let agent: Agent = config.build().into();
        *kept = Some((address.clone(), agent.clone()));
        Ok(agent)
    }
}

/// The client of a remote server.
pub struct Http {
    address: Address,
    token: String,
    agent: Agent,
    patience: Duration,
    /// The caller's overall deadline, if it has one.
    deadline: Option<Deadline>,
    /// Whether the last request was given up. A command with several requests then waits for the server only once.
    gave_up: AtomicBool,
}

/// The outcome of one attempt.
enum Tried {
    /// The server answered with this status and body.
    Body(u16, Vec<u8>),
    /// A temporary failure: the request is retried.
    Again(Error),
    /// A permanent failure.
    Never(Error),
}

impl Http {
    /// Creates a client. It sends nothing yet.
    pub fn new(address: Address, token: &str, patience: Duration, connections: &Connections) -> Result<Http> {
        let agent = connections.to(&address)?;
        let gave_up = AtomicBool::new(false);
        Ok(Http { agent, address, token: token.to_owned(), patience, deadline: None, gave_up })
    }

    /// Sets the caller's overall deadline.
    pub fn ends(self, deadline: Option<Deadline>) -> Http {
        Http { deadline, ..self }
    }

    /// Retries until a body can be read or the patience runs out.
    #[expect(clippy::disallowed_methods, reason = "how long a client tries is a time of the process")]
    fn until<T>(&self, send: impl Fn(Duration) -> Tried, read: impl Fn(u16, &[u8]) -> Result<T, Tried>) -> Result<T> {
        let begun = Instant::now();
        let once = self.gave_up.load(Ordering::Relaxed);
        let patience = if once { self.patience.min(ONCE) } else { self.patience };
        let patience = self.deadline.map_or(patience, |deadline| patience.min(deadline.remaining()));
        let mut pause = FIRST_PAUSE;
        loop {
            let left = patience.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
            let tried = match send(left) {
                Tried::Body(status, body) => match read(status, &body) {
                    Ok(read) => {
                        self.gave_up.store(false, Ordering::Relaxed);
                        return Ok(read);
                    }
                    Err(tried) => tried,
                },
                tried => tried,
            };
            let error = match tried {
                Tried::Never(error) => return Err(error),
                Tried::Again(error) => error,
                Tried::Body(status, _) => self.strange(status),
            };
            let jittered = jitter(pause);
            if once || begun.elapsed() + jittered >= patience {
                self.gave_up.store(true, Ordering::Relaxed);
                return Err(error);
            }
            std::thread::sleep(jittered);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn post(&self, body: &str, left: Duration) -> Tried {
        let request = self.agent.post(self.address.at("/api/v1/call")).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let request = request.config().timeout_global(Some(left)).build();
        self.tried(request.send(body.as_bytes()), wire::ANSWER_MAX)
    }

    fn get(&self, path: &str, left: Duration) -> Tried {
        let request = self.agent.get(self.address.at(path));
        let request = request.header("authorization", format!("Bearer {}", self.token));
        self.tried(request.config().timeout_global(Some(left)).build().call(), HELLO_MAX)
    }

    fn tried(&self, answered: Result<ureq::http::Response<ureq::Body>, ureq::Error>, most: usize) -> Tried {
        let mut response = match answered {
            Ok(response) => response,
            Err(error) => return self.failed(error),
        };
        let status = response.status().as_u16();
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        match response.body_mut().with_config().limit(most).read_to_vec() {
            Ok(body) => Tried::Body(status, body),
            Err(error) => self.failed(error),
        }
    }

    /// Classifies an attempt that got no answer.
    fn failed(&self, error: ureq::Error) -> Tried {
        // A certificate that is not trusted now will not be trusted in a second.
        if let Some(why) = distrust(&error) {
            let message = format!("the server {} is not trusted: {why}", self.address);
            let error = Error::new(Code::TlsRefused, message).at(Stage::Open).entity(self.address.to_string());
            return Tried::Never(error.hint(
                "Nothing was sent. If you use your own certificate authority, name its file in \
                            SSL_CERT_FILE.",
            ));
        }
        match error {
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl => {
                let message = format!("the request to {} cannot be created", self.address);
                Tried::Never(Error::usage(Code::BadServerUrl, message).cause(error))
            }
            ureq::Error::BodyExceedsLimit(_) => Tried::Never(self.strange(200).cause(error)),
            _ => Tried::Again(self.unreachable().cause(error)),
        }
    }

    fn unreachable(&self) -> Error {
        let message = format!("the server {} cannot be reached", self.address);
        Error::new(Code::Unreachable, message).at(Stage::Open).entity(self.address.to_string()).hint(
            "Check the address, the network, and that the server runs. The request may have been executed: \
                   repeat it with the same request id to find out.",
        )
    }

    /// Classifies a status that comes without the answer of a call. The server's own error is used if the body contains
    /// one.
    fn refused(&self, status: u16, body: &[u8]) -> Tried {
        // For these statuses the client has the better advice: how to get a token, and what was too large.
        match wire::read_problem(body).filter(|_| !matches!(status, 401 | 413)) {
            Some(error) if matches!(status, 429 | 502..=504) => Tried::Again(error),
            Some(error) => Tried::Never(error),
            None => self.refused_by(status),
        }
    }

    /// Classifies a status without a readable body.
    fn refused_by(&self, status: u16) -> Tried {
        let at = &self.address;
        match status {
            401 => {
                let message = format!("the server {at} does not know this token");
                Tried::Never(asking_for_one(Error::new(Code::TokenUnknown, message).at(Stage::Resolve)))
            }
            403 => {
                let message = format!("the server {at} does not permit this token to do that");
                Tried::Never(asking_for_one(Error::new(Code::TokenRefused, message).at(Stage::Resolve)))
            }
            413 => {
                let message = format!("the request is larger than the server {at} accepts");
                Tried::Never(Error::usage(Code::RequestTooLarge, message))
            }
            300..=399 => {
                let message = format!("the server {at} redirects to another address");
                Tried::Never(Error::usage(Code::BadServerUrl, message).hint("Use the address that it redirects to."))
            }
            429 | 502..=504 => {
                let message = format!("the server {at} cannot answer now (HTTP {status})");
                let error = Error::new(Code::Unreachable, message).at(Stage::Reply);
                Tried::Again(error.entity(at.to_string()).hint("Try again in a moment."))
            }
            _ => Tried::Never(self.strange(status)),
        }
    }

    fn strange(&self, status: u16) -> Error {
        let message = format!("{} is not a Tenure server (HTTP {status})", self.address);
        Error::usage(Code::NotAServer, message)
            .entity(self.address.to_string())
            .hint("Check TENURE_URL: it must be the address of the server, without /api.")
    }
}

impl Remote for Http {
    fn hello(&self) -> Result<Hello> {
        self.until(
            |left| self.get("/api/v1/hello", left),
            |status, body| match (status, wire::read(body)) {
                (200, Ok(hello)) => Ok(hello),
                _ => match wire::read_answer(body) {
                    Ok(Err(error)) => Err(Tried::Never(error)),
                    _ => Err(self.refused(status, body)),
                },
            },
        )
    }

    fn send(&self, request: &WireRequest) -> Result<Result<Reply>> {
        let body = request.to_line()?;
        self.until(
            |left| self.post(&body, left),
            |status, body| match wire::read_answer(body) {
                // The server did not start the request, so it can be retried, perhaps on another server.
                Ok(Err(error)) if error.code() == wire::NOT_RUN => Err(Tried::Again(error)),
                Ok(answer) => Ok(answer),
                // A retry may return a truncated answer in full.
                Err(error) if status == 200 && !body.is_empty() => Err(Tried::Again(error)),
                Err(_) => Err(self.refused(status, body)),
            },
        )
    }

    fn principal(&self) -> Result<Option<String>> {
        self.until(
            |left| self.get("/api/v1/whoami", left),
            |status, body| match (status, wire::read::<TokenPrincipal>(body)) {
                (200, Ok(found)) => Ok(Some(found.principal)),
                // An older server, without this endpoint.
                (404, _) => Ok(None),
                _ => Err(self.refused(status, body)),
            },
        )
    }

    fn wait(&self, call: &Call, place: &str, most: Duration) -> bool {
        let path = format!("/api/v1/wait?project={}&place={}", encoded(&call.project.key), encoded(place));
        let request = self.agent.get(self.address.at(&path)).header("authorization", format!("Bearer {}", self.token));
        let is_person = tenure_core::name::is_person(&call.actor.name);
        let request = if is_person { request } else { request.header("tenure-agent", call.actor.name.as_str()) };
        match request.config().timeout_global(Some(most)).build().call() {
            Ok(answer) => answer.status().as_u16() == 200,
            Err(error) => matches!(error, ureq::Error::Timeout(_)),
        }
    }

    fn name(&self) -> String {
        self.address.to_string()
    }

    fn deadline_ms(&self) -> Option<u64> {
        u64::try_from(self.patience.as_millis()).ok()
    }
}

/// The principal that a token authenticates.
#[derive(serde::Deserialize)]
struct TokenPrincipal {
    principal: String,
}

/// Percent-encodes a text for use in a URL.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Why a TLS connection cannot be established, if that is the failure. During the handshake ureq reports it as an I/O
/// error.
fn distrust(error: &ureq::Error) -> Option<String> {
    match error {
        ureq::Error::Rustls(why) => Some(why.to_string()),
        ureq::Error::Tls(why) => Some((*why).to_owned()),
        ureq::Error::Io(failed) => failed.get_ref()?.downcast_ref::<rustls::Error>().map(ToString::to_string),
        _ => None,
    }
}

fn asking_for_one(error: Error) -> Error {
    error.hint(
        "Ask the operator of the server for a token, and put it into TENURE_TOKEN or into the file `token` of \
                your configuration.",
    )
}

/// Between half of a pause and all of it, so that clients that lost a server at the same moment do not all return at
/// once.
fn jitter(pause: Duration) -> Duration {
    let mut byte = [0];
    OsEntropy.fill(&mut byte);
    pause / 2 + pause / 2 * u32::from(byte[0]) / 255
}

/// The root certificates of the system, with the cryptography provider that the store uses too.
fn trusted() -> Result<TlsConfig> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let error = Error::usage(Code::BadRootCertificates, "the system has no trusted certificates")
            .hint("Install certificates, or name a PEM file in SSL_CERT_FILE.");
        return Err(match found.errors.into_iter().next() {
            Some(cause) => error.cause(cause),
            None => error,
        });
    }
    let certificates = found.certs.iter().map(|der: &CertificateDer<'_>| Certificate::from_der(der).to_owned());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

/// Validates a given token: it is sent in a header.
pub fn token(given: &str) -> Result<&str> {
    let given = given.trim();
    if (1..=512).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(given);
    }
    let message = format!("the given token ({} characters) is not a token", text::excerpt(&given.len().to_string()));
    Err(Error::usage(Code::BadToken, message).hint("Give the token exactly as `tenure token` printed it."))
}

#[cfg(test)]
mod tests;
