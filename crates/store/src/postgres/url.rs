//! The parser of `postgres://` URLs.
//!
//! The grammar is libpq's, slightly stricter: an `@` in an unexpected position is refused rather than guessed at,
//! because a wrong guess would put half a password into an error message. Parameters that are Tenure's own (`schema`)
//! or unknown to the client (`sslrootcert`, two values of `sslmode`) are removed; the client's own parser reads the
//! rest.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::redact::{decode, redact};
use tenure_core::{Code, Error, Result};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation, TargetSessionAttrs};

/// The default schema of the tables.
const SCHEMA: &str = "tenure";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent data may stay unacknowledged before the connection counts as lost.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(10);
/// An idle connection to a host that vanished is detected after about 30 + 3 × 5 s, not after the system's 2 h.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// The parameters that the client's own parser accepts.
const KNOWN: [&str; 18] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Defaults for a URL without these parts.
#[derive(Clone, Default)]
pub(crate) struct UrlDefaults {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

/// The protection of the connection, as libpq defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    /// No TLS.
    Disable,
    /// TLS if the server offers it; the certificate is not verified.
    Prefer,
    /// Always TLS; the certificate is verified like `VerifyCa` if `sslrootcert` is given, otherwise not.
    Require,
    /// A trusted authority signed the certificate, whatever name it has.
    VerifyCa,
    /// Like `VerifyCa`, and the certificate has the host's name.
    VerifyFull,
}

/// The location of a PostgreSQL store and how to connect to it.
#[derive(Clone)]
pub(crate) struct PostgresTarget {
    /// The complete client configuration: hosts, user, password, timeouts, whether TLS is used.
    pub(crate) config: Config,
    /// The schema of the tables, safe to embed in SQL.
    pub(crate) schema: String,
    pub(crate) tls: Tls,
    /// The file of trusted authorities; `None` for the system's.
    pub(crate) root_certificates: Option<PathBuf>,
    /// The URL without its password, for messages.
    pub(crate) display: String,
}

impl fmt::Debug for PostgresTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.display).finish()
    }
}

impl fmt::Debug for UrlDefaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Defaults").field("user", &self.user).finish_non_exhaustive()
    }
}

impl PostgresTarget {
    /// Parses a store URL. It does not connect and reads no file.
    pub(crate) fn parse(url: &str, defaults: &UrlDefaults) -> Result<PostgresTarget> {
        let parts = UrlParts::split(url)?;
        let mut settings = UrlSettings::default();
        let mut client = Vec::new();
        for pair in parts.query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(bad(url, "a parameter has no value").hint("Write parameters as ?name=value&name=value."));
            };
            let key = decode(key).ok_or_else(|| bad(url, "a parameter name is not UTF-8"))?;
            if !settings.take(url, &key, value)? {
                if !KNOWN.contains(&key.as_str()) {
                    return Err(unknown_parameter(url, &key));
                }
                // The name is rewritten, so that an encoded one means the same to both parsers.
                client.push((key, value));
            }
        }
        let query: Vec<String> = client.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let plain = format!("postgresql://{}?{}", parts.before_query, query.join("&"));
        let mut config = Config::from_str(&plain).map_err(|error| rejected(url, &error))?;
        let given = |name: &str| client.iter().any(|(key, _)| key == name);

        fill_user(url, &mut config, defaults)?;
        fill_hosts(url, &mut config, given("target_session_attrs"))?;
        let tls = settings.tls(url, &config)?;
        config.ssl_mode(match tls {
            Tls::Disable => SslMode::Disable,
            Tls::Prefer => SslMode::Prefer,
            Tls::Require | Tls::VerifyCa | Tls::VerifyFull => SslMode::Require,
        });
        if !given("connect_timeout") {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if !given("tcp_user_timeout") {
            config.tcp_user_timeout(TCP_USER_TIMEOUT);
        }
        if !given("keepalives_idle") {
            config.keepalives_idle(KEEPALIVE_IDLE);
        }
        if !given("keepalives_interval") {
            config.keepalives_interval(KEEPALIVE_INTERVAL);
        }
        if !given("keepalives_retries") {
            config.keepalives_retries(KEEPALIVE_RETRIES);
        }
        if !given("application_name") {
            config.application_name("tenure");
        }
        refuse_nul(url, &config)?;
        Ok(PostgresTarget {
            config,
            schema: settings.schema.unwrap_or_else(|| SCHEMA.to_owned()),
            tls,
            root_certificates: settings.root_certificates.filter(|path| path.as_os_str() != "system"),
            display: redact(url),
        })
    }
}

/// The target of a URL, for a person who confirms it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Hosts with their ports, or socket directories.
    pub hosts: String,
    /// The database's name.
    pub database: String,
    /// Whether the connection is encrypted, and how the server is authenticated.
    pub tls: &'static str,
}

/// Parses the target of a URL. It does not connect.
pub fn reached(url: &str) -> Result<Reached> {
    let nobody = UrlDefaults { user: Some("nobody".to_owned()), password: None };
    let target = PostgresTarget::parse(url, &nobody)?;
    let ports = target.config.get_ports();
    let port = |nth: usize| ports.get(nth).or(ports.first()).copied().unwrap_or(5432);
    let hosts = target.config.get_hosts().iter().enumerate().map(|(nth, host)| match host {
        Host::Tcp(name) => format!("{name}:{}", port(nth)),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts = hosts.chain(target.config.get_hostaddrs().iter().map(|address| format!("at {address}")));
    Ok(Reached {
        hosts: hosts.collect::<Vec<_>>().join(", "),
        database: target.config.get_dbname().unwrap_or("that of the user").to_owned(),
        tls: match target.tls {
            Tls::Disable => "no: everything is sent unencrypted",
            Tls::Prefer => "only if the server offers it, without checking the server's identity",
            Tls::Require if target.root_certificates.is_none() => "yes, but without checking the server's identity",
            Tls::Require | Tls::VerifyCa => "yes, with a certificate of a trusted authority for any host",
            Tls::VerifyFull => "yes, with a certificate for the host",
        },
    })
}

/// The parameters that are not passed to the client's parser.
#[derive(Default)]
struct UrlSettings {
    schema: Option<String>,
    tls: Option<Tls>,
    root_certificates: Option<PathBuf>,
}

impl UrlSettings {
    /// Consumes a parameter; returns whether it was one of these.
    fn take(&mut self, url: &str, key: &str, value: &str) -> Result<bool> {
        let value = || decode(value).ok_or_else(|| bad(url, format!("the value of {key} is not UTF-8")));
        match key {
            "schema" => {
                let schema = value()?;
                if !is_schema(&schema) {
                    return Err(bad(url, "the schema name is not valid").hint(
                        "A schema name is 1 to 63 characters: lower-case letters, digits and _, not starting with a \
                         digit.",
                    ));
                }
                self.schema = Some(schema);
            }
            "sslmode" => {
                self.tls = Some(match value()?.as_str() {
                    "disable" => Tls::Disable,
                    "prefer" => Tls::Prefer,
                    "require" => Tls::Require,
                    "verify-ca" => Tls::VerifyCa,
                    "verify-full" => Tls::VerifyFull,
                    _ => {
                        return Err(bad(url, "the sslmode is unknown")
                            .hint("Set sslmode to disable, prefer, require, verify-ca or verify-full."));
                    }
                });
            }
            "sslrootcert" => {
                let path = value()?;
                if path.is_empty() {
                    return Err(bad(url, "sslrootcert is empty"));
                }
                self.root_certificates = Some(path.into());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tls(&self, url: &str, config: &Config) -> Result<Tls> {
        let system = self.root_certificates.as_ref().is_some_and(|path| path.as_os_str() == "system");
        // As in libpq: a URL that names the system's authorities asks for full verification.
        let tls = self.tls.unwrap_or(if system { Tls::VerifyFull } else { Tls::Prefer });
        if system && tls != Tls::VerifyFull {
            return Err(bad(url, "sslrootcert=system needs sslmode=verify-full"));
        }
        // A certificate file that is never used would suggest a protection that does not exist.
        if self.root_certificates.is_some() && matches!(tls, Tls::Disable | Tls::Prefer) {
            return Err(bad(url, "sslrootcert needs sslmode=require, verify-ca or verify-full"));
        }
        if config.get_ssl_negotiation() == SslNegotiation::Direct && matches!(tls, Tls::Disable | Tls::Prefer) {
            return Err(bad(url, "sslnegotiation=direct needs sslmode=require, verify-ca or verify-full"));
        }
        // A Unix socket never uses TLS, and libpq does not request it there, whatever the mode.
        let local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        Ok(if local { Tls::Disable } else { tls })
    }
}

/// The URL without its scheme, split once, where the client's parser would split it too.
struct UrlParts<'a> {
    before_query: &'a str,
    query: &'a str,
}

impl<'a> UrlParts<'a> {
    fn split(url: &'a str) -> Result<UrlParts<'a>> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(bad(url, "it has no scheme").hint(FORM));
        };
        if scheme != "postgres" && scheme != "postgresql" {
            return Err(Error::usage(Code::UnknownStoreScheme, format!("{}: the scheme is unknown", shown(url)))
                .hint("Give a file path or a postgres:// URL."));
        }
        if rest.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(bad(url, "it contains white space or control characters").hint(ENCODE));
        }
        let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let signs = |text: &str| text.bytes().filter(|byte| *byte == b'@').count();
        // The client splits at the first `@` of the whole URL, so a later one would move the host.
        if signs(&rest[..authority_end]) > 1 || signs(&rest[authority_end..]) > 0 {
            return Err(bad(url, "an @ is ambiguous").hint(ENCODE));
        }
        let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
        Ok(UrlParts { before_query, query })
    }
}

const FORM: &str = "Write postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full&schema=tenure.";
const ENCODE: &str = "Percent-encode special characters in user, password and parameters: @ is %40, / is %2F, ? is \
                      %3F, & is %26, a space is %20.";

fn fill_user(url: &str, config: &mut Config, defaults: &UrlDefaults) -> Result<()> {
    if config.get_user().is_none_or(str::is_empty) {
        let Some(user) = defaults.user.as_deref().filter(|user| !user.is_empty()) else {
            return Err(bad(url, "it names no user").hint("Write postgres://USER@HOST/DATABASE, or set PGUSER."));
        };
        config.user(user);
    }
    if config.get_password().is_none()
        && let Some(password) = &defaults.password
    {
        config.password(password);
    }
    Ok(())
}

fn fill_hosts(url: &str, config: &mut Config, session_given: bool) -> Result<()> {
    let addresses = config.get_hostaddrs().to_vec();
    // TLS needs a name even if an address says where to connect.
    if config.get_hosts().is_empty() {
        for address in &addresses {
            config.host(address.to_string());
        }
    }
    let hosts = config.get_hosts().len();
    let nameless = |host: &Host| matches!(host, Host::Tcp(name) if name.is_empty());
    if hosts == 0 || config.get_hosts().iter().any(nameless) {
        return Err(bad(url, "it names no host")
            .hint("Write postgres://USER@HOST/DATABASE; for a local socket add ?host=/directory/of/the/socket."));
    }
    if !addresses.is_empty() && addresses.len() != hosts {
        return Err(bad(url, "the numbers of hosts and hostaddrs differ"));
    }
    if config.get_ports().len() > 1 && config.get_ports().len() != hosts {
        return Err(bad(url, "the numbers of ports and hosts differ"));
    }
    // Of several hosts, all but one are normally standbys, which accept no writes.
    if hosts > 1 && !session_given {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    Ok(())
}

/// The protocol terminates texts with a NUL, so one inside would cut or break the first message to the server.
fn refuse_nul(url: &str, config: &Config) -> Result<()> {
    let texts = [config.get_user(), config.get_dbname(), config.get_options(), config.get_application_name()];
    let password = config.get_password().is_some_and(|password| password.contains(&0));
    if password || texts.into_iter().flatten().any(|text| text.contains('\0')) {
        return Err(bad(url, "it contains a NUL character"));
    }
    Ok(())
}

fn is_schema(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    first && name.len() <= 63 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn bad(url: &str, what: impl fmt::Display) -> Error {
    Error::usage(Code::BadStoreUrl, format!("{}: {what}", shown(url))).entity(shown(url))
}

/// The URL for messages: without its password, truncated, and without terminal control characters.
fn shown(url: &str) -> String {
    tenure_core::text::cut(&redact(url), 300)
}

fn unknown_parameter(url: &str, key: &str) -> Error {
    let plain = key.len() <= 40 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let error = if plain { bad(url, format!("unknown parameter {key}")) } else { bad(url, "unknown parameter") };
    error.hint(format!("Known parameters: {}, schema, sslmode, sslrootcert.", KNOWN.join(", ")))
}

/// The client's parser names the parameter and never its value.
fn rejected(url: &str, error: &tokio_postgres::Error) -> Error {
    let reason = std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string());
    bad(url, reason).hint(FORM)
}

#[cfg(test)]
mod tests;
