//! Where a request comes from, as far as that is known.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};

use super::Server;

/// The address of a client: that of the peer, or what a trusted proxy says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientAddress(Option<IpAddr>);

impl ClientAddress {
    pub(super) fn of(server: &Server, request: &Request) -> ClientAddress {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        ClientAddress(peer.map(|peer| server.proxies().client(peer, request.headers())))
    }

    /// As it is written down: an address that was read, never the text that was sent.
    pub(crate) fn shown(self) -> String {
        self.0.map(|address| address.to_string()).unwrap_or_default()
    }

    /// What is counted as one client: an address, or of IPv6 the network that one client usually has to itself.
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
