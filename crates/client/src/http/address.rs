//! Parsing the address of a remote server.

use std::fmt;
use std::net::IpAddr;

use tenure_core::{Code, Error, Result, text};

/// The address of a server: scheme, host, an optional port and an optional path prefix before `/api`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: String,
    is_encrypted: bool,
    is_local: bool,
}

impl Address {
    /// Parses an address. Plain HTTP is accepted only for this machine, because it would send the token in the clear.
    /// `forced` means that the user vouches for the connection.
    pub fn parse(given: &str, forced: bool) -> Result<Address> {
        let given = given.trim();
        // The rest of the URL may contain a password, so the error does not show it.
        let refuse = |what: &str| {
            Error::usage(Code::BadServerUrl, format!("the address of the server {what}"))
                .hint("Write https://HOST, with :PORT and a path if needed.")
        };
        let (scheme, rest) = given.split_once("://").ok_or_else(|| refuse("is not an http:// or https:// URL"))?;
        let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(refuse("is not an http:// or https:// URL")),
        };
        let rest = rest.trim_end_matches('/');
        if rest.contains('@') {
            return Err(refuse("contains a user name or a password").hint("Put the token into TENURE_TOKEN."));
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%:/[]".contains(&byte);
        if rest.is_empty() || !rest.bytes().all(is_plain) {
            return Err(refuse("contains characters that are not allowed in an address"));
        }
        let authority = rest.split('/').next().unwrap_or_default();
        let (host, port) = split(authority).ok_or_else(|| refuse("has no host"))?;
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err(refuse("has an invalid port"));
        }
        let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if !is_encrypted && !is_local && !forced {
            let message =
                format!("the connection to {} is not encrypted and would expose the token", text::excerpt(host));
            return Err(Error::usage(Code::UnencryptedServer, message)
                .hint("Use https://, or set TENURE_FORCE_HTTP=1 on a network that you trust."));
        }
        let scheme = if is_encrypted { "https" } else { "http" };
        Ok(Address { base: format!("{scheme}://{rest}"), is_encrypted, is_local })
    }

    /// The URL of a path on the server.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Whether the server is on this machine. Such a request bypasses any proxy.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

/// Splits host and port. The host of an IPv6 address comes without its brackets.
fn split(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrasing::Commands;

    #[test]
    fn addresses_are_read_and_shown_alike() {
        for (given, shown) in [
            ("https://tenure.example", "https://tenure.example"),
            (" HTTPS://tenure.example:8443/team/ ", "https://tenure.example:8443/team"),
            ("http://127.0.0.1:7777", "http://127.0.0.1:7777"),
            ("http://localhost:7777/", "http://localhost:7777"),
            ("http://[::1]:80", "http://[::1]:80"),
        ] {
            assert_eq!(Address::parse(given, false).unwrap().to_string(), shown);
        }
        assert_eq!(Address::parse("https://a/b", false).unwrap().at("/api/v1/call"), "https://a/b/api/v1/call");
    }

    #[test]
    fn what_is_no_safe_address_is_refused() {
        for bad in [
            "",
            "x",
            "ftp://h",
            "https://",
            "https:///p",
            "https://h:x",
            "https://h:99999",
            "https://h h",
            "https://h?q",
        ] {
            assert_eq!(Address::parse(bad, true).unwrap_err().code(), "bad_server_url", "{bad}");
        }
        let error = Address::parse("https://ann:secret@h", true).unwrap_err();
        assert!(error.code() == "bad_server_url" && !error.to_json(&Commands).to_string().contains("secret"));
        assert_eq!(Address::parse("http://10.0.0.1", false).unwrap_err().code(), "unencrypted_server");
        assert_eq!(Address::parse("http://10.0.0.1", true).unwrap().to_string(), "http://10.0.0.1");
    }
}
