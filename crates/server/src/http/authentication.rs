//! Authentication and authorisation over HTTP: the caller, the project, and whether the caller may use it. Everything
//! that is not allowed here is denied.

use std::borrow::Cow;
use std::time::Instant;

use axum::http::{HeaderMap, Method, header, request};
use tenure_core::access::{self, Grants, Role};
use tenure_core::error::detail::Candidates;
use tenure_core::{Code, Error, Kind, Result, Stage, text};
use tenure_kernel::access as secret;
use tenure_kernel::op::access_denied;
use tenure_kernel::query::project_called::ProjectCalled;
use tenure_kernel::{Actor, Call, Checkout, Door, Op, RequestId, Trust, WorkingTree};
use tenure_store::OsEntropy;
use tenure_store::table::project;

use super::Server;
use super::client::ClientAddress;
use super::limits::RateClass;

/// The header that names the agent, among the agents of a person.
pub(crate) const AGENT: &str = "tenure-agent";
/// The header that names the project if the URL does not.
pub(crate) const PROJECT: &str = "tenure-project";
/// The header that names the working tree, as `HOST:PATH`.
pub(crate) const CHECKOUT: &str = "tenure-checkout";
/// The header with the request id that every retry repeats.
pub(crate) const IDEMPOTENCY: &str = "idempotency-key";
/// The header in which a page repeats its CSRF token, so that no other site can make a browser send a request.
pub(crate) const CSRF: &str = "tenure-csrf";
/// The session cookie of a signed-in browser.
pub(crate) const COOKIE: &str = "__Host-tenure";

/// The cookie from which pages read their CSRF token.
pub(crate) const CSRF_COOKIE: &str = "__Host-tenure-csrf";

/// The cost of a request with an unknown secret: it slows down guessing but not typing errors.
const UNKNOWN: f64 = 20.0;

/// An authenticated caller.
#[derive(Clone)]
pub(crate) struct AuthenticatedCaller {
    pub(crate) grants: Grants,
    /// The name the caller acts under: its own, or that of one of its agents.
    pub(crate) name: String,
    /// The client address.
    pub(crate) from: String,
    /// The credential that it presented.
    pub(crate) proof: Proof,
}

/// A presented credential, by its hash. It is looked up again whenever it must still be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// An API token.
    Token(String),
    /// The session of a browser.
    Session(String),
}

impl AuthenticatedCaller {
    /// The same caller under the name that a call uses, so that a denial is recorded with the name that was tried.
    pub(super) fn acting_as(&self, name: &str) -> Cow<'_, AuthenticatedCaller> {
        match self.name == name {
            true => Cow::Borrowed(self),
            false => Cow::Owned(AuthenticatedCaller { name: name.to_owned(), ..self.clone() }),
        }
    }

    /// Whether the caller is a browser, which sends its cookie no matter which site causes the request.
    pub(crate) fn is_browser(&self) -> bool {
        matches!(self.proof, Proof::Session(_))
    }
}

/// The parts of a request that identify the caller.
pub(crate) struct Credentials<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) method: &'a Method,
    path: &'a str,
    pub(crate) from: String,
    /// The rate-limit key of the caller until it is authenticated.
    pub(crate) share: String,
}

impl<'a> Credentials<'a> {
    pub(crate) fn of(parts: &'a request::Parts) -> Credentials<'a> {
        let client = parts.extensions.get::<ClientAddress>().copied().unwrap_or_default();
        let (headers, method, path) = (&parts.headers, &parts.method, parts.uri.path());
        Credentials { headers, method, path, from: client.shown(), share: client.share() }
    }

    /// The request as recorded in the log, with possible secrets redacted.
    fn what(&self) -> String {
        format!("{} {}", self.method, tenure_core::redact::redact(self.path))
    }

    /// Whether the `Origin` header, if there is one, names this host.
    pub(super) fn is_from_here(&self) -> bool {
        let Some(origin) = self.headers.get(header::ORIGIN) else { return true };
        let from = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let host = self.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        from.is_some_and(|(_, from)| host.is_some_and(|host| from.eq_ignore_ascii_case(host)))
    }

    pub(crate) fn header(&self, name: &str) -> Result<Option<&'a str>> {
        let Some(value) = self.headers.get(name) else { return Ok(None) };
        value
            .to_str()
            .map(Some)
            .map_err(|_| Error::usage(Code::BadHeader, format!("the header `{name}` is not plain text")).entity(name))
    }
}

impl Server {
    /// Authenticates the caller. Every failure on the way is a denial, even if it is not the caller's fault.
    pub(crate) async fn caller(&self, credentials: &Credentials<'_>) -> Result<AuthenticatedCaller> {
        let found = self.shown(credentials).await?;
        let Some((grants, proof)) = found else {
            self.count_unknown(credentials)?;
            return Err(self.denied(access::not_known(), None, &credentials.what(), credentials).await);
        };
        self.count(&grants.principal, 1.0)?;
        let name = match credentials.header(AGENT)? {
            None => grants.principal.clone(),
            Some(name) => tenure_core::name::check(name)?.into(),
        };
        if matches!(proof, Proof::Session(_)) && name != grants.principal {
            let error = access::not_yours(&name);
            self.audit(&error, Some(&grants.principal), &name, "act as", "", &credentials.from).await;
            return Err(error);
        }
        Ok(AuthenticatedCaller { grants, name: name.into(), from: credentials.from.clone(), proof })
    }

    /// The current grants of a caller: its credential may have been revoked since.
    pub(crate) async fn still(&self, caller: &AuthenticatedCaller) -> Result<Option<Grants>> {
        let proof = caller.proof.clone();
        self.blocking(move |kernel| match proof {
            Proof::Token(hash) => kernel.who_is(&hash),
            Proof::Session(hash) => Ok(kernel.who_is_session(&hash)?.map(|session| session.grants)),
        })
        .await
    }

    /// Refuses cross-site requests of a browser. Other programs send no `Origin` header.
    pub(super) async fn refuse_other_sites(
        &self,
        caller: &AuthenticatedCaller,
        credentials: &Credentials<'_>,
    ) -> Result<()> {
        if credentials.is_from_here() {
            return Ok(());
        }
        let error = Error::new(Code::OtherOrigin, "the request comes from a page of another site")
            .at(Stage::Resolve)
            .hint("Omit the header `Origin`, or send the request from a page of this server.");
        self.audit(&error, Some(&caller.grants.principal), &caller.name, &credentials.what(), "", &credentials.from)
            .await;
        Err(error)
    }

    /// Whether the credential is valid, whatever else is wrong with the request.
    pub(super) async fn is_known(&self, credentials: &Credentials<'_>) -> Result<bool> {
        Ok(self.secret(credentials).await?.is_some())
    }

    /// The grants and the proof of the presented credential. `None` if there is no valid one.
    async fn shown(&self, credentials: &Credentials<'_>) -> Result<Option<(Grants, Proof)>> {
        let Some((grants, proof, csrf)) = self.secret(credentials).await? else { return Ok(None) };
        let Some(csrf) = csrf else { return Ok(Some((grants, proof))) };
        // A browser sends its cookie no matter which site causes the request. So a request that changes something must
        // also carry the CSRF token, which only our own pages were given.
        let reads = matches!(*credentials.method, Method::GET | Method::HEAD);
        let said = credentials.header(CSRF)?;
        if !reads && !said.is_some_and(|said| secret::is_secret_of(said, &csrf)) {
            let error = Error::new(Code::Csrf, "the request does not come from a page of this server")
                .at(Stage::Resolve)
                .hint(format!("Send the `{CSRF}` header with the value that the page received."));
            return Err(self.denied(error, Some(&grants.principal), "change something", credentials).await);
        }
        Ok(Some((grants, proof)))
    }

    /// Looks up the presented credential. A browser session also returns the hash of its CSRF token.
    async fn secret(&self, credentials: &Credentials<'_>) -> Result<Option<(Grants, Proof, Option<String>)>> {
        if let Some(value) = credentials.header(header::AUTHORIZATION.as_str())? {
            let secret = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let Some((_, secret)) = secret else { return Ok(None) };
            let hash = secret::hash(secret.trim());
            let proof = Proof::Token(hash.clone());
            return Ok(self.blocking(move |kernel| kernel.who_is(&hash)).await?.map(|grants| (grants, proof, None)));
        }
        let Some(secret) = credentials.header(header::COOKIE.as_str())?.and_then(cookie) else { return Ok(None) };
        let hash = secret::hash(secret);
        let proof = Proof::Session(hash.clone());
        let session = self.blocking(move |kernel| kernel.who_is_session(&hash)).await?;
        Ok(session.map(|session| (session.grants, proof, Some(session.csrf))))
    }

    /// Resolves a project by name or key for a caller that has a role in it. For other callers it does not exist.
    pub(crate) async fn project(
        &self,
        caller: &AuthenticatedCaller,
        named: &str,
        makes: bool,
    ) -> Result<project::NamedProject> {
        let found = self.find_project(caller, named, makes).await;
        self.noted(caller, "find a project", named, found).await
    }

    async fn find_project(
        &self,
        caller: &AuthenticatedCaller,
        named: &str,
        makes: bool,
    ) -> Result<project::NamedProject> {
        // No stored text contains NUL, and not every engine can search for it.
        if named.contains('\0') {
            return Err(access::unknown_project(named));
        }
        if named == access::WHOLE_STORE {
            return match caller.grants.role(named) {
                Some(_) => Ok(project::whole_store()),
                None => Err(access::unknown_project(named)),
            };
        }
        let (call, name) = (self.call(caller, project::whole_store(), None)?, named.to_owned());
        let found =
            self.blocking(move |kernel| kernel.ask(&call, &ProjectCalled { name, also_forgotten: false })).await;
        let found = match found {
            Ok(found) => found.into(),
            // An ambiguous name is reported only to a caller that has a role in all the candidates.
            Err(error) if error.code() == Code::AmbiguousProject => {
                let keys = error.read::<Candidates>().map_or_else(Vec::new, |candidates| candidates.0);
                return Err(if keys.iter().all(|key| caller.grants.role(key).is_some()) {
                    error
                } else {
                    access::unknown_project(named)
                });
            }
            Err(error) if error.kind() == Kind::NotFound && makes => project_to_make(named)?,
            Err(error) if error.kind() == Kind::NotFound => return Err(access::unknown_project(named)),
            Err(error) => return Err(error),
        };
        match caller.grants.role(&found.key) {
            Some(_) => Ok(found),
            None => Err(access::unknown_project(named)),
        }
    }

    /// Builds the call of a caller about a project.
    pub(crate) fn call(
        &self,
        caller: &AuthenticatedCaller,
        project: project::NamedProject,
        credentials: Option<&Credentials<'_>>,
    ) -> Result<Call> {
        let given = credentials.map(|credentials| credentials.header(IDEMPOTENCY)).transpose()?.flatten();
        let actor = Actor { door: Door::Http, principal: Some(caller.grants.clone()), ..Actor::named(&caller.name) };
        let mut call = Call::new(project, actor, &OsEntropy);
        call.checkout = credentials
            .map(|credentials| credentials.header(CHECKOUT))
            .transpose()?
            .flatten()
            .map(checkout)
            .transpose()?;
        if let Some(given) = given {
            call.request_id = RequestId::given(given)?;
        }
        Ok(call)
    }

    /// Allows what the role permits. A denial is recorded.
    pub(crate) async fn allow(
        &self,
        caller: &AuthenticatedCaller,
        project: &str,
        what: &str,
        needed: Option<Role>,
    ) -> Result<Role> {
        match caller.grants.check(project, what, needed) {
            Ok(role) => Ok(role),
            Err(error) => {
                self.audit(&error, Some(&caller.grants.principal), &caller.name, what, project, &caller.from).await;
                Err(error)
            }
        }
    }

    /// Records a denial, wherever it was decided.
    pub(crate) async fn noted<T>(
        &self,
        caller: &AuthenticatedCaller,
        what: &str,
        project: &str,
        outcome: Result<T>,
    ) -> Result<T> {
        if let Err(error) = &outcome
            && (error.kind() == Kind::Denied || error.code() == Code::UnknownProject)
        {
            self.audit(error, Some(&caller.grants.principal), &caller.name, what, project, &caller.from).await;
        }
        outcome
    }

    async fn denied(&self, error: Error, principal: Option<&str>, what: &str, credentials: &Credentials<'_>) -> Error {
        self.audit(&error, principal, "", what, "", &credentials.from).await;
        error
    }

    /// Records a denial, subject to the limits of [`super::denials`]. A denial that cannot be recorded is still a
    /// denial, and goes to the server's log.
    pub(crate) async fn audit(
        &self,
        error: &Error,
        principal: Option<&str>,
        agent: &str,
        what: &str,
        project: &str,
        from: &str,
    ) {
        let request = access_denied::AccessDenied {
            principal: principal.unwrap_or_default().into(),
            agent: agent.into(),
            what: text::excerpt(what),
            project: text::excerpt(project).into(),
            code: error.code().as_str().to_owned(),
            from: from.to_owned(),
            left_out: 0,
        };
        if let Some(request) = self.denials.admit(request, now()) {
            self.write_down(request).await;
        }
    }

    /// Records how many denials were left out if no other denial of their kind followed.
    pub(crate) async fn tell_left_out(&self) {
        for request in self.denials.due(now()) {
            self.write_down(request).await;
        }
    }

    async fn write_down(&self, request: access_denied::AccessDenied) {
        if let Err(failure) = self.run(ours(), Op::new(request)).await {
            self.log.line("error", &[("message", "a denial could not be recorded"), ("code", failure.code().as_str())]);
        }
    }

    pub(super) fn count(&self, principal: &str, cost: f64) -> Result<()> {
        self.doors.count(RateClass::Principals, principal, cost, now())
    }

    /// Counts a request with an unknown credential against its rate limit.
    pub(super) fn count_unknown(&self, credentials: &Credentials<'_>) -> Result<()> {
        self.doors.count(RateClass::Strangers, &credentials.share, UNKNOWN, now())
    }

    /// Counts a failed sign-in.
    pub(super) fn count_sign_in(&self, credentials: &Credentials<'_>) -> Result<()> {
        self.doors.count(RateClass::SignIns, &credentials.share, UNKNOWN * 5.0, now())
    }
}

#[expect(clippy::disallowed_methods, reason = "how often somebody asks is measured by this process's clock")]
fn now() -> Instant {
    Instant::now()
}

/// A call of the server itself about the whole store.
pub(super) fn ours() -> Call {
    let call = Call::of_store(access::OURS, &OsEntropy);
    Call { actor: Actor { door: Door::Http, ..call.actor }, ..call }
}

/// The value of the session cookie.
pub(super) fn cookie(header: &str) -> Option<&str> {
    named(header, COOKIE)
}

/// The value of the CSRF cookie.
pub(super) fn csrf_cookie(header: &str) -> Option<&str> {
    named(header, CSRF_COOKIE)
}

fn named<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.split(';').find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// The key of a project that is created by its first use. Its name follows the rules of `tenure.toml`.
fn project_to_make(named: &str) -> Result<project::NamedProject> {
    let name = named.strip_prefix("name:").unwrap_or(named);
    // Other keys are derived by a command from a repository, and arrive as they are.
    if named.contains(':') && !named.starts_with("name:") {
        access::project(named)?;
        return Ok(project::NamedProject { key: named.into(), label: text::excerpt(named) });
    }
    tenure_core::name::project(name)?;
    Ok(project::NamedProject { key: format!("name:{name}").into(), label: name.to_owned() })
}

/// Parses `HOST:PATH`.
fn checkout(typed: &str) -> Result<Checkout> {
    match typed.split_once(':') {
        Some((host, path)) if !host.is_empty() && path.starts_with('/') => Ok(Checkout {
            host: host.to_owned(),
            path: path.to_owned(),
            common: None,
            trust: Trust::Any,
            tree: WorkingTree::default(),
        }),
        _ => Err(Error::usage(Code::BadHeader, format!("`{}` is not a valid checkout", text::excerpt(typed)))
            .entity(CHECKOUT)
            .hint("Give HOST:PATH, with the absolute path of the working tree.")),
    }
}
