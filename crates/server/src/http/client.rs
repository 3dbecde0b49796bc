//! The network address of a client, if known.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};

use super::Server;

/// The address of a client: that of the peer, or the one a trusted proxy reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientAddress(Option<IpAddr>);

impl ClientAddress {
    pub(super) fn of(server: &Server, request: &Request) -> ClientAddress {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        ClientAddress(peer.map(|peer| server.proxies().client(peer, request.headers())))
    }

    /// The address as recorded in logs: parsed and formatted, never the text that was sent.
    pub(crate) fn shown(self) -> String {
        self.0.map(|address| address.to_string()).unwrap_or_default()
    }

    /// The key under which a client is counted: its IPv4 address, or its IPv6 /64 network, which one client usually has
    /// to itself.
    pub(crate) fn share(self) -> String {
        match self.0 {
            Some(IpAddr::V6(address)) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
            _ => self.shown(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_of_ipv6_is_one_client() {
        let share = |address: &str| ClientAddress(Some(address.parse().unwrap())).share();
        assert_eq!(share("2001:db8::1"), share("2001:db8::ffff:1"));
        assert_ne!(share("2001:db8::1"), share("2001:db8:0:1::1"));
        assert_ne!(share("192.0.2.1"), share("192.0.2.2"));
    }
}
