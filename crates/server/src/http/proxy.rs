//! The client's address when a proxy stands in front of the server.
//!
//! Any client can write a forwarding header. It is trusted only from a peer that is a trusted proxy, and only as far as
//! trusted proxies wrote it. Each proxy appends the address it was called from, so the client is the first address from
//! the right that is not a trusted proxy. Everything further left is the client's own claim.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header};
use tenure_core::{Code, Error, Result, text};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The peers whose forwarding headers are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies(Vec<Network>);

/// A network: the addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Parses `ADDRESS` or `ADDRESS/BITS`.
    fn parse(typed: &str) -> Option<Network> {
        let (address, bits) = match typed.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (typed, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            // Digits only: `parse` would also accept a sign.
            Some(bits) => bits.bytes().all(|byte| byte.is_ascii_digit()).then(|| bits.parse().ok())??,
            None => all,
        };
        (bits <= all).then_some(Network { address: address.to_canonical(), bits: canonical(address, bits)? })
    }

    fn contains(&self, other: IpAddr) -> bool {
        let same = |one: u128, other: u128, all: u32| self.bits == 0 || (one ^ other) >> (all - self.bits) == 0;
        match (self.address, other) {
            (IpAddr::V4(one), IpAddr::V4(other)) => same(one.to_bits().into(), other.to_bits().into(), 32),
            (IpAddr::V6(one), IpAddr::V6(other)) => same(one.to_bits(), other.to_bits(), 128),
            _ => false,
        }
    }
}

/// The prefix length of an address in its canonical form: an IPv4 address may be written as a mapped IPv6 address.
fn canonical(address: IpAddr, bits: u32) -> Option<u32> {
    let is_mapped = address.is_ipv6() && address.to_canonical().is_ipv4();
    if is_mapped { bits.checked_sub(96) } else { Some(bits) }
}

impl Proxies {
    /// Parses addresses and networks.
    pub fn parse<'a>(typed: impl IntoIterator<Item = &'a str>) -> Result<Proxies> {
        let network = |typed: &str| {
            Network::parse(typed).ok_or_else(|| {
                Error::usage(Code::BadProxy, format!("`{}` is not an address or a network", text::excerpt(typed)))
                    .hint("Give an IP address, such as 127.0.0.1 or ::1, or a network, such as 10.0.0.0/8.")
            })
        };
        typed.into_iter().map(network).collect::<Result<_>>().map(Proxies)
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The client's address for a request from a peer.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let said = |name: HeaderName, read: fn(&str) -> Option<IpAddr>| {
            headers.contains_key(&name).then(|| self.first_untrusted(headers, &name, read))
        };
        match (said(X_FORWARDED_FOR, address), said(header::FORWARDED, forwarded_for)) {
            (Some(Some(client)), None) | (None, Some(Some(client))) => client,
            // The server cannot tell which of the two headers the proxy wrote. If they differ, one is the client's
            // claim.
            (Some(Some(one)), Some(Some(other))) if one == other => one,
            _ => peer,
        }
    }

    /// The first address from the right that is not a trusted proxy, or the leftmost if all are trusted. `None` if an
    /// entry that is not an address comes first: a trusted proxy wrote it or let it pass.
    fn first_untrusted(
        &self,
        headers: &HeaderMap,
        name: &HeaderName,
        read: fn(&str) -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        let mut client = None;
        let lines: Vec<_> = headers.get_all(name).iter().collect();
        // Several lines form one list, in their order.
        for line in lines.into_iter().rev() {
            for entry in line.to_str().ok()?.rsplit(',') {
                let address = read(entry.trim())?;
                client = Some(address);
                if !self.trusts(address) {
                    return client;
                }
            }
        }
        client
    }
}

/// An address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn address(typed: &str) -> Option<IpAddr> {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let plain = match typed.strip_prefix('[') {
        Some(rest) => {
            let (inside, port) = rest.split_once(']')?;
            let fits = inside.contains(':') && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
            fits.then_some(inside)?
        }
        None => match typed.split_once(':') {
            Some((host, port)) if !port.contains(':') => is_port(port).then_some(host)?,
            _ => typed,
        },
    };
    plain.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// The address in an element of `Forwarded` (RFC 7239): `for=192.0.2.1`, `for="[2001:db8::1]:80";proto=https`.
///
/// Every comma separates elements. An address never contains one inside its quotes, and a wrongly quoted element
/// further left cannot swallow what a proxy appended.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut named = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = named.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    match value.strip_prefix('"') {
        Some(quoted) => address(quoted.strip_suffix('"')?),
        None => address(value),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PEER: &str = "10.0.0.1";

    fn proxies() -> Proxies {
        Proxies::parse(["10.0.0.0/8", "2001:db8:1::/48", "::1"]).unwrap()
    }

    fn client(peer: &str, lines: &[(HeaderName, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        proxies().client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn inv_s1_only_a_trusted_proxy_is_believed_and_only_what_it_wrote() {
        let x = |value: &'static str| (X_FORWARDED_FOR, value);
        for (peer, lines, expected) in [
            ("192.0.2.1", vec![x("203.0.113.7")], "192.0.2.1"),
            (PEER, vec![], PEER),
            (PEER, vec![x("203.0.113.7")], "203.0.113.7"),
            ("::ffff:10.0.0.1", vec![x("203.0.113.7")], "203.0.113.7"),
            (PEER, vec![x("::ffff:203.0.113.7")], "203.0.113.7"),
            ("2001:db8:1::5", vec![x("203.0.113.7:4711")], "203.0.113.7"),
            (PEER, vec![x("[2001:db8:2::1]:80")], "2001:db8:2::1"),
            (PEER, vec![x("2001:db8:2::1")], "2001:db8:2::1"),
            // The client's claims stand to the left of the addresses that proxies saw.
            (PEER, vec![x("1.1.1.1, 203.0.113.7, 10.2.3.4")], "203.0.113.7"),
            (PEER, vec![x("1.1.1.1"), x("203.0.113.7"), x("10.2.3.4")], "203.0.113.7"),
            (PEER, vec![x("<script>, 203.0.113.7")], "203.0.113.7"),
            (PEER, vec![x("\u{e4}"), x("203.0.113.7")], "203.0.113.7"),
            (PEER, vec![x("10.9.9.9, 10.2.3.4")], "10.9.9.9"),
            // An entry that cannot be parsed is not an address.
            (PEER, vec![x("203.0.113.7, unknown")], PEER),
            (PEER, vec![x("203.0.113.7,")], PEER),
            (PEER, vec![x("203.0.113.7, \u{e4}")], PEER),
            (PEER, vec![x("203.0.113.7:port")], PEER),
            (PEER, vec![x("[203.0.113.7]")], PEER),
            (PEER, vec![x("")], PEER),
        ] {
            assert_eq!(client(peer, &lines), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn inv_s1_the_standard_header_says_the_same() {
        let f = |value: &'static str| (header::FORWARDED, value);
        for (lines, expected) in [
            (vec![f("for=203.0.113.7;proto=https;by=10.0.0.1")], "203.0.113.7"),
            (vec![f("proto=https; FOR=\"203.0.113.7:80\"")], "203.0.113.7"),
            (vec![f("for=1.1.1.1, for=\"[2001:db8:2::1]:80\", for=10.2.3.4")], "2001:db8:2::1"),
            (vec![f("for=\"1.1.1.1, for=203.0.113.7")], "203.0.113.7"),
            (vec![f("for=_hidden")], PEER),
            (vec![f("for=\"203.0.113.7")], PEER),
            (vec![f("proto=https")], PEER),
            // Both headers are present and differ: it is unknown which one the proxy wrote.
            (vec![f("for=203.0.113.7"), (X_FORWARDED_FOR, "203.0.113.7")], "203.0.113.7"),
            (vec![f("for=203.0.113.7"), (X_FORWARDED_FOR, "203.0.113.8")], PEER),
            (vec![f("nonsense"), (X_FORWARDED_FOR, "203.0.113.8")], PEER),
        ] {
            assert_eq!(client(PEER, &lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn networks_are_read_as_they_are_written() {
        let trusts = |typed: &str, address: &str| {
            Proxies::parse([typed]).unwrap().trusts(address.parse::<IpAddr>().unwrap().to_canonical())
        };
        assert!(trusts("0.0.0.0/0", "203.0.113.7") && !trusts("0.0.0.0/0", "::1") && trusts("::/0", "::1"));
        assert!(trusts("192.0.2.0/25", "192.0.2.127") && !trusts("192.0.2.0/25", "192.0.2.128"));
        assert!(trusts("192.0.2.77/24", "192.0.2.1"), "the bits beyond count for nothing");
        assert!(trusts("::ffff:10.0.0.0/104", "10.9.9.9") && trusts("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(trusts("2001:db8::/33", "2001:db8:7fff::1") && !trusts("2001:db8::/33", "2001:db8:8000::1"));
        for bad in
            ["", "everybody", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/", "::/129", "10.0.0", "a/8"]
        {
            assert_eq!(Proxies::parse([bad]).unwrap_err().code(), "bad_proxy", "{bad}");
        }
    }
}
