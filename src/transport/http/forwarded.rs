//! Finds the address of a client behind proxies.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue};

use crate::world::Network;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of the client of a request that `peer` sends: where that is a trusted proxy, the last one in
/// `X-Forwarded-For` that is not. What stands before it, anybody may have written.
pub(super) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(*address));
    if !is_trusted(&peer) {
        return peer;
    }
    let lines: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::as_bytes).collect();
    let mut client = peer;
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b',')) {
        let Some(address) = std::str::from_utf8(entry).ok().and_then(|entry| parse_entry(entry.trim())) else { break };
        client = address;
        if !is_trusted(&client) {
            break;
        }
    }
    client
}

/// An address, which some proxies write with a port.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    let with_port = || entry.parse().ok().map(|address: SocketAddr| address.ip());
    let bracketed = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let address: IpAddr = entry.parse().ok().or_else(with_port).or_else(bracketed)?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, lines: &[&str]) -> String {
        let trusted = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].map(|text| Network::parse(text).unwrap());
        let line = |line: &&str| HeaderValue::from_bytes(line.as_bytes()).unwrap();
        let lines = lines.iter().map(|text| (FORWARDED_FOR.parse().unwrap(), line(text)));
        client_address(peer.parse().unwrap(), &lines.collect(), &trusted).to_string()
    }

    #[test]
    fn client_is_the_last_address_that_no_proxy_has() {
        for (peer, lines, found) in [
            ("198.51.100.1", &["203.0.113.9"][..], "198.51.100.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("127.0.0.1", &["192.0.2.66, 203.0.113.9"], "203.0.113.9"),
            ("127.0.0.1", &["192.0.2.66, 203.0.113.9, 10.1.2.3"], "203.0.113.9"),
            ("127.0.0.1", &["192.0.2.66", "203.0.113.9, 10.1.2.3", "10.9.9.9"], "203.0.113.9"),
            ("127.0.0.1", &["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            ("127.0.0.1", &["203.0.113.9, unknown, 10.0.0.2"], "10.0.0.2"),
            ("127.0.0.1", &["unknown"], "127.0.0.1"),
            ("127.0.0.1", &["\u{e9}, 203.0.113.9"], "203.0.113.9"),
            ("127.0.0.1", &[""], "127.0.0.1"),
            ("::ffff:127.0.0.1", &["203.0.113.9:4711"], "203.0.113.9"),
            ("fd00::1", &["[2001:db8::7]:443"], "2001:db8::7"),
            ("fd00::1", &["[2001:db8::7]"], "2001:db8::7"),
            ("fd00::1", &["::ffff:203.0.113.9"], "203.0.113.9"),
        ] {
            assert_eq!(client(peer, lines), found, "{peer} {lines:?}");
        }
    }
}
