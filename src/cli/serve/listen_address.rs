//! Parses the address of `--http`.

use std::fmt;
use std::str::FromStr;

/// The default host, which no other machine can reach.
const LOOPBACK: &str = "127.0.0.1";

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// A name or an IP address; an IPv6 address without its brackets.
    pub host: String,
    /// The port; 0 lets the system pick one.
    pub port: u16,
}

impl ListenAddress {
    /// An address that only this machine can reach.
    pub fn loopback(port: u16) -> ListenAddress {
        ListenAddress { host: LOOPBACK.to_owned(), port }
    }
}

impl Default for ListenAddress {
    fn default() -> ListenAddress {
        ListenAddress::loopback(8080)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ListenAddress, String> {
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let fault =
            || format!("invalid port `{port}`, expected PORT, :PORT or HOST:PORT (put the folder before `--http`)");
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = if digits { port.parse().map_err(|_| fault())? } else { return Err(fault()) };
        match parse_host(host) {
            Some("") => Ok(ListenAddress::loopback(port)),
            Some(host) => Ok(ListenAddress { host: host.to_owned(), port }),
            None => {
                Err(format!("invalid host `{host}`, expected a name, an IPv4 address, or an IPv6 address in brackets"))
            }
        }
    }
}

fn parse_host(host: &str) -> Option<&str> {
    if let Some(bracketed) = host.strip_prefix('[') {
        let address = bracketed.strip_suffix(']')?;
        return address.parse::<std::net::Ipv6Addr>().is_ok().then_some(address);
    }
    host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_')).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_port_or_host_and_port() {
        assert_eq!(ListenAddress::default().to_string(), "127.0.0.1:8080");
        for (written, meant) in [
            ("9000", "127.0.0.1:9000"),
            (":9000", "127.0.0.1:9000"),
            ("0", "127.0.0.1:0"),
            ("localhost:80", "localhost:80"),
            ("0.0.0.0:8080", "0.0.0.0:8080"),
            ("[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(written.parse::<ListenAddress>().unwrap().to_string(), meant);
        }
    }

    #[test]
    fn invalid_address_is_refused() {
        for written in
            ["", ":", "host", "host:", "host:65536", "::1", "::1:80", "[::1]", "[x]:80", "a b:80", "./x", "+1"]
        {
            assert!(written.parse::<ListenAddress>().is_err(), "{written}");
        }
    }
}
