//! Which addresses are public: those that any machine of the internet can reach.
//!
//! It resolves no name. Source: the registries of special-purpose addresses (RFC 6890 and its successors).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is public. Addresses that carry another one, such as those of translators, are what the inner one is.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        // "This network", and what is reserved for the future, with the broadcast address.
        || first == 0
        || first >= 240
        // Between carriers and their customers.
        || (first == 100 && (64..128).contains(&second))
        // Assignments of the protocol, relays of 6to4, and measurements between networks.
        || (first == 192 && second == 0 && third == 0)
        || (first == 192 && second == 88 && third == 99)
        || (first == 198 && matches!(second, 18 | 19));
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Addresses of version 4: mapped, and behind a translator.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
        // Relays of 6to4 and Teredo, documentation, and other assignments of the protocol.
        [0x2002, ..] | [0x2001, 0..=0x01ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Only this part is assigned to the internet.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for public in [
            "1.1.1.1", "140.82.121.3", "100.63.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.1.2.3", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.9",
            "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
            "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1",
            "2001:db8::1", "2001::1", "2002:7f00:1::", "100::1", "3fff::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
