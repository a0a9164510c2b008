//! Checks of `Host` and `Origin` against lists of allowed hosts and web origins.
//!
//! They protect against DNS rebinding: a web page that reaches this server through a browser sends its own host name. They are no
//! authentication. `http::uri::Authority` doesn't fit: it accepts user information, drops a port that isn't a number, and compares
//! addresses as text. Invariants: a value that can't be parsed is rejected; a header given twice is rejected; names compare without
//! case, addresses by value.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};

use super::refusal::RefusalReason;
use codeyard_base::seeded_faults;

/// The accepted hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHosts(Vec<HostPort>);

/// The accepted web origins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigins {
    loopback: bool,
    others: Vec<String>,
}

/// A host with an optional port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostPort {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Name(String),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl Default for AllowedHosts {
    /// The loopback names, `localhost`, `127.0.0.1` and `[::1]`, with any port.
    fn default() -> Self {
        let any_port = |host| HostPort { host, port: None };
        Self(vec![
            any_port(Host::Name("localhost".to_owned())),
            any_port(Host::V4(Ipv4Addr::LOCALHOST)),
            any_port(Host::V6(Ipv6Addr::LOCALHOST)),
        ])
    }
}

impl AllowedHosts {
    /// Accepts one more host, `name` or `name:port`. Without a port, every port is accepted. `false` if `text` can't be parsed.
    #[must_use]
    pub fn allow(&mut self, text: &str) -> bool {
        let authority = HostPort::parse(text);
        let is_valid = authority.is_some();
        self.0.extend(authority);
        is_valid
    }

    /// Checks the `Host` header, and the authority of an absolute request target.
    ///
    /// # Errors
    /// [`RefusalReason::Host`].
    pub fn check(&self, parts: &Parts) -> Result<(), RefusalReason> {
        let host = only(&parts.headers, header::HOST).ok_or(RefusalReason::Host)?;
        let target = parts.uri.authority().map(|authority| authority.as_str());
        let allowed =
            |text| HostPort::parse(text).is_some_and(|requested| self.0.iter().any(|known| known.covers(&requested)));
        if seeded_faults::is_on("host_unchecked") || allowed(host) && target.is_none_or(allowed) {
            Ok(())
        } else {
            Err(RefusalReason::Host)
        }
    }
}

impl Default for AllowedOrigins {
    /// `http` and `https` on a loopback name, any port.
    fn default() -> Self {
        Self { loopback: true, others: Vec::new() }
    }
}

impl AllowedOrigins {
    /// No origin at all: web pages are rejected.
    pub fn none() -> Self {
        Self { loopback: false, others: Vec::new() }
    }

    /// Accepts one more origin, written as browsers send it: `https://app.example.com`.
    pub fn allow(&mut self, origin: &str) {
        self.others.push(origin.to_ascii_lowercase());
    }

    /// Checks the `Origin` header, if there is one.
    ///
    /// # Errors
    /// [`RefusalReason::Origin`].
    pub fn check(&self, headers: &HeaderMap) -> Result<(), RefusalReason> {
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, header::ORIGIN).ok_or(RefusalReason::Origin)?.to_ascii_lowercase();
        let loopback = self.loopback && is_loopback(&origin);
        if origin != "null" && (loopback || self.others.contains(&origin)) {
            Ok(())
        } else {
            Err(RefusalReason::Origin)
        }
    }
}

impl HostPort {
    fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest.split_once(']')?;
            return Some(Self { host: Host::V6(address.parse().ok()?), port: port_of(rest)? });
        }
        let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        let port = port_of(rest)?;
        if let Ok(address) = name.parse() {
            return Some(Self { host: Host::V4(address), port });
        }
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let is_valid = !name.is_empty() && !name.starts_with('.') && !name.ends_with('.') && name.bytes().all(is_plain);
        is_valid.then_some(Self { host: Host::Name(name), port })
    }

    /// Whether this entry accepts `requested`.
    fn covers(&self, requested: &Self) -> bool {
        self.host == requested.host && (self.port.is_none() || self.port == requested.port)
    }
}

/// Whether the `Host` header is an address and not a name. A web page behind DNS rebinding sends a name.
pub(super) fn is_address(headers: &HeaderMap) -> bool {
    let host = only(headers, header::HOST).and_then(HostPort::parse);
    host.is_some_and(|host| matches!(host.host, Host::V4(_) | Host::V6(_)))
}

/// The value of a header that must occur once; `None` if it is missing, given twice, or not visible ASCII.
pub(crate) fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(HeaderValue::to_str)?.ok()?;
    values.next().is_none().then_some(first)
}

/// Parses the optional port behind a host: `Some(None)` without one, `None` if it is malformed.
fn port_of(rest: &str) -> Option<Option<u16>> {
    if rest.is_empty() {
        return Some(None);
    }
    let digits = rest.strip_prefix(':')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok().map(Some) } else { None }
}

fn is_loopback(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let authority = rest.and_then(HostPort::parse);
    authority.is_some_and(|requested| AllowedHosts::default().0.iter().any(|known| known.covers(&requested)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(allowed: &AllowedOrigins, values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ORIGIN, HeaderValue::from_str(value).unwrap());
        }
        allowed.check(&headers).is_ok()
    }

    fn host(allowed: &AllowedHosts, target: &str, values: &[&str]) -> bool {
        let mut request = axum::http::Request::post(target);
        for value in values {
            request = request.header(header::HOST, *value);
        }
        allowed.check(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn loopback_hosts_are_accepted_and_others_rejected() {
        let allowed = AllowedHosts::default();
        for good in [
            "localhost", "LocalHost:3939", "localhost.", "localhost.:1", "127.0.0.1", "127.0.0.1:80", "[::1]",
            "[::1]:9", "[0:0::1]",
        ] {
            assert!(host(&allowed, "/mcp", &[good]), "{good}");
        }
        for bad in [
            "", "evil.example", "localhost.evil.example", "evil-localhost", "127.0.0.1.evil.example", "127.0.0.2",
            "127.1", "2130706433", "0x7f.0.0.1", "0.0.0.0", "::1", "[::1", "[::ffff:127.0.0.1]", "localhost:",
            "localhost:x", "localhost:99999", "localhost:+1", "user@localhost", "localhost/", "localhost..",
            ".localhost", "local host",
        ] {
            assert!(!host(&allowed, "/mcp", &[bad]), "{bad}");
        }
        assert!(!host(&allowed, "/mcp", &[]));
        assert!(!host(&allowed, "/mcp", &["localhost", "localhost"]));
        assert!(host(&allowed, "http://localhost:1/mcp", &["localhost:1"]));
        assert!(!host(&allowed, "http://evil.example/mcp", &["localhost"]));
        assert!(!host(&allowed, "http://localhost/mcp", &["evil.example"]));
    }

    #[test]
    fn configured_hosts_are_accepted() {
        let mut allowed = AllowedHosts::default();
        assert!(allowed.allow("Code.Example") && allowed.allow("code.example.org:8443") && !allowed.allow("a b"));
        assert!(host(&allowed, "/mcp", &["code.example:7"]));
        assert!(host(&allowed, "/mcp", &["code.example.org:8443"]));
        assert!(!host(&allowed, "/mcp", &["code.example.org"]));
    }

    #[test]
    fn loopback_and_configured_origins_are_accepted() {
        let mut allowed = AllowedOrigins::default();
        assert!(origin(&allowed, &[]));
        for good in ["http://localhost", "http://LOCALHOST:5173", "https://127.0.0.1:8443", "http://[::1]:1"] {
            assert!(origin(&allowed, &[good]), "{good}");
            assert!(!origin(&AllowedOrigins::none(), &[good]), "{good}");
        }
        for bad in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "http://localhost/",
            "localhost",
            "file://",
            "ws://localhost",
            "http://user@localhost",
            "http://localhost http://evil.example",
        ] {
            assert!(!origin(&allowed, &[bad]), "{bad}");
        }
        assert!(!origin(&allowed, &["http://localhost", "http://localhost"]));
        allowed.allow("https://App.Example");
        assert!(origin(&allowed, &["https://app.example"]) && !origin(&allowed, &["http://app.example"]));
        allowed.allow("null");
        assert!(!origin(&allowed, &["null"]), "never, whatever is configured");
    }
}
