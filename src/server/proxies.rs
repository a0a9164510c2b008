//! The proxies in front of a listener, and the clients behind them.
//!
//! Invariants: a header counts only if a proxy of the configured networks sent it; it is read from its end, so what a client wrote into it
//! itself, before the proxy's own part, is never reached; reading takes time in proportion to the header.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use ipnet::IpNet;
use parking_lot::Mutex;

use codeyard_base::clock::Instant;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// At most one warning about connections that don't come from a proxy in this time, in milliseconds.
const STRANGER_WARNING_MS: u64 = 60_000;

/// The networks of the proxies. Without networks, every connection comes from its client.
#[derive(Debug, Default)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    strangers: Mutex<Strangers>,
}

/// Connections that were closed since the last warning.
#[derive(Debug, Default)]
struct Strangers {
    closed: u64,
    warned: Option<Instant>,
}

impl TrustedProxies {
    /// Proxies in these networks.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self { networks, strangers: Mutex::default() }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Whether a connection from `peer` may be served: it comes from a proxy or this machine, or there are no proxies.
    pub(crate) fn admit(&self, peer: IpAddr) -> bool {
        let is_admitted = self.is_empty() || peer.to_canonical().is_loopback() || self.trust(peer);
        if !is_admitted {
            self.strangers.lock().warn(peer);
        }
        is_admitted
    }

    /// The address of the client of a request that `peer` sent: what the proxies say, or `peer`. `Forwarded` (RFC 7239) wins over
    /// `X-Forwarded-For`.
    pub(crate) fn client(&self, headers: &HeaderMap, peer: SocketAddr) -> IpAddr {
        let peer = peer.ip().to_canonical();
        if !self.trust(peer) {
            return peer;
        }
        let client = if headers.contains_key(header::FORWARDED) {
            self.first_client(elements(headers, &header::FORWARDED).map(|element| forwarded_for(element?)))
        } else {
            self.first_client(elements(headers, &X_FORWARDED_FOR).map(|element| address(element?)))
        };
        client.unwrap_or(peer)
    }

    /// The first address that isn't a proxy's, else the last one. `None` if there is none, or if one before it can't be read.
    fn first_client(&self, hops: impl Iterator<Item = Option<IpAddr>>) -> Option<IpAddr> {
        let mut last = None;
        for hop in hops {
            let hop = hop?;
            if !self.trust(hop) {
                return Some(hop);
            }
            last = Some(hop);
        }
        last
    }

    fn trust(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }
}

impl Strangers {
    fn warn(&mut self, peer: IpAddr) {
        self.closed += 1;
        let pause = Duration::from_millis(STRANGER_WARNING_MS);
        if self.warned.is_none_or(|warned| warned.elapsed() >= pause) {
            tracing::warn!(
                closed = self.closed, peer = %peer.to_canonical(),
                "closed connections that don't come from a proxy; add its network to server.behind_proxy if it is one"
            );
            *self = Self { closed: 0, warned: Some(Instant::now()) };
        }
    }
}

/// The elements of a list header, from its end; `None` for a value that isn't text. Several headers of one name are one list. A comma in
/// quotes ends an element too: no address has one, so such an element can't be read.
fn elements<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = Option<&'h str>> {
    let values: Vec<&HeaderValue> = headers.get_all(name).iter().collect();
    let texts = values.into_iter().rev().map(HeaderValue::to_str);
    let elements = texts.flat_map(|text| match text {
        Ok(text) => text.rsplit(',').map(str::trim).map(Some).collect(),
        Err(_) => vec![None],
    });
    elements.filter(|element| *element != Some(""))
}

/// The address of the parameter `for` of an element of `Forwarded`; `None` if it is missing, given twice, hidden or malformed.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut found = None;
    for parameter in element.split(';') {
        let (name, value) = parameter.trim().split_once('=')?;
        if name.eq_ignore_ascii_case("for") && found.replace(value).is_some() {
            return None;
        }
    }
    let value = found?;
    address(match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => value,
    })
}

/// An address with an optional port: `192.0.2.7:80`, `[2001:db8::1]:80`, `2001:db8::1`.
fn address(text: &str) -> Option<IpAddr> {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (address, rest) = match bracketed {
        Some((address, rest)) => (IpAddr::V6(address.parse().ok()?), rest),
        None => match IpAddr::from_str(text) {
            Ok(address) => (address, ""),
            Err(_) => {
                let (address, _) = text.split_once(':')?;
                (IpAddr::V4(address.parse().ok()?), &text[address.len()..])
            }
        },
    };
    let is_port = |port: &str| {
        let name = port.strip_prefix('_').unwrap_or(port);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    let is_whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    is_whole.then(|| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn proxies() -> TrustedProxies {
        TrustedProxies::new(["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().unwrap()).into())
    }

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn client(peer: &str, fields: &[(&'static str, &str)]) -> String {
        let peer = SocketAddr::new(peer.parse().unwrap(), 9);
        proxies().client(&headers(fields), peer).to_string()
    }

    #[test]
    fn the_first_address_from_the_end_that_is_no_proxy_is_the_client() {
        const XFF: &str = "x-forwarded-for";
        for (fields, expected) in [
            (vec![], "10.0.0.1"),
            (vec![(XFF, "192.0.2.7")], "192.0.2.7"),
            (vec![(XFF, "1.1.1.1, 192.0.2.7, 10.9.9.9")], "192.0.2.7"),
            (vec![(XFF, "1.1.1.1"), (XFF, "192.0.2.7"), (XFF, "10.9.9.9,,")], "192.0.2.7"),
            (vec![(XFF, "nonsense\", 192.0.2.7:4711")], "192.0.2.7"),
            (vec![(XFF, "10.2.2.2, 10.3.3.3")], "10.2.2.2"),
            (vec![(XFF, "192.0.2.7, unknown, 10.1.1.1")], "10.0.0.1"),
            (vec![(XFF, "2001:db8::1")], "2001:db8::1"),
            (vec![(XFF, "[2001:db8::1]:80")], "2001:db8::1"),
            (vec![(XFF, "::ffff:192.0.2.7")], "192.0.2.7"),
            (vec![("forwarded", "for=192.0.2.7")], "192.0.2.7"),
            (vec![("forwarded", "by=x;FOR=\"192.0.2.7:80\" ; proto=https")], "192.0.2.7"),
            (vec![("forwarded", "for=\"[2001:db8::1]:_web\"")], "2001:db8::1"),
            (vec![("forwarded", "for=\"[2001:db8::1]\", for=\"[fd00::1]:80\"")], "2001:db8::1"),
            (vec![("forwarded", "for=\"x, for=192.0.2.7")], "192.0.2.7"),
            (vec![("forwarded", "for=1.1.1.1"), ("forwarded", "for=192.0.2.7, for=10.1.1.1")], "192.0.2.7"),
            (vec![("forwarded", "for=_hidden")], "10.0.0.1"),
            (vec![("forwarded", "for=unknown, for=10.1.1.1")], "10.0.0.1"),
            (vec![("forwarded", "for=1.1.1.1;for=192.0.2.7")], "10.0.0.1"),
            (vec![("forwarded", "proto=https")], "10.0.0.1"),
            (vec![("forwarded", "for=\"192.0.2.7")], "10.0.0.1"),
            (vec![("forwarded", "for=192.0.2.7"), (XFF, "1.1.1.1")], "192.0.2.7"),
            (vec![("forwarded", "for=_hidden"), (XFF, "1.1.1.1")], "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", &fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn headers_of_others_have_no_effect() {
        for peer in ["127.0.0.1", "192.0.2.1", "::1"] {
            assert_eq!(client(peer, &[("forwarded", "for=9.9.9.9"), ("x-forwarded-for", "9.9.9.9")]), peer);
        }
        assert_eq!(client("::ffff:10.0.0.1", &[("x-forwarded-for", "9.9.9.9")]), "9.9.9.9");
    }

    #[test]
    fn connections_come_from_proxies_or_this_machine() {
        let admitted = |proxies: &TrustedProxies, peer: &str| proxies.admit(peer.parse().unwrap());
        for (peer, expected) in
            [("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("127.0.0.1", true), ("::1", true), ("192.0.2.7", false)]
        {
            assert_eq!(admitted(&proxies(), peer), expected, "{peer}");
            assert!(admitted(&TrustedProxies::default(), peer));
        }
    }

    proptest! {
        /// Whatever a client wrote, the client that the proxy names is found; other text never stops the server.
        #[test]
        fn what_a_client_writes_is_never_reached(written in "[ -~]{0,40}", hops in 0..4_usize, is_forwarded: bool) {
            let proxies: String = (0..hops).map(|hop| match is_forwarded {
                true => format!(", for=10.0.0.{hop}"),
                false => format!(", 10.0.0.{hop}"),
            }).collect();
            let (name, own) = if is_forwarded { ("forwarded", "for=192.0.2.7") } else { ("x-forwarded-for", "192.0.2.7") };
            prop_assert_eq!(client("10.0.0.1", &[(name, &format!("{written}, {own}{proxies}"))]), "192.0.2.7");
            prop_assert_eq!(client("10.0.0.1", &[(name, &written), (name, &format!("{own}{proxies}"))]), "192.0.2.7");
            client("10.0.0.1", &[(name, &written)]);
        }
    }
}
