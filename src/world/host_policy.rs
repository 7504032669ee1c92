//! Decides which hosts and addresses may be connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

use super::error::WorldError;

/// The hosts that may have private addresses: those that are written in the manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPolicy {
    allowed: Vec<(Host, Option<u16>)>,
    networks: Vec<IpNet>,
    allows_all: bool,
}

/// The addresses that a host may have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum AllowedAddresses {
    All,
    /// Public ones, and those of these networks.
    PublicOr(Vec<IpNet>),
}

impl AllowedAddresses {
    pub(super) fn includes(&self, address: IpAddr) -> bool {
        match self {
            AllowedAddresses::All => true,
            AllowedAddresses::PublicOr(networks) => {
                is_public(address) || networks.iter().any(|network| network.contains(&address.to_canonical()))
            }
        }
    }
}

/// Reads a network in CIDR notation. Its address has no bits outside of it: `10.1.2.3/8` is more likely a mistake than
/// `10.0.0.0/8`.
pub(super) fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().filter(|network: &IpNet| network.addr() == network.network())
}

/// A network of addresses, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// Reads an address, or a network in CIDR notation without bits outside of it.
    pub fn parse(text: &str) -> Option<Network> {
        let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
        parse_network(text).or_else(alone).map(Network)
    }

    /// Whether an address is in it. One of IPv4 that is written as one of IPv6 is of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl HostPolicy {
    /// Allows `entries`: each a host, or `host:port` for that port alone; a network, such as `10.0.0.0/8`; or `*` for all
    /// private addresses. No port means all ports.
    pub fn new<E: AsRef<str>>(entries: impl IntoIterator<Item = E>) -> Result<HostPolicy, WorldError> {
        let mut policy = HostPolicy::default();
        for entry in entries {
            policy.allow(entry.as_ref())?;
        }
        Ok(policy)
    }

    /// Allows one more entry, as in [`HostPolicy::new`].
    pub fn allow(&mut self, entry: &str) -> Result<(), WorldError> {
        let invalid = || WorldError::InvalidHost { entry: entry.to_owned() };
        if entry == "*" {
            self.allows_all = true;
            return Ok(());
        }
        if entry.contains('/') {
            self.networks.push(parse_network(entry).ok_or_else(invalid)?);
            return Ok(());
        }
        // `Url` drops the default port of its scheme, so both schemes are parsed.
        let plain = Url::parse(&format!("http://{entry}")).map_err(|_| invalid())?;
        let secure = Url::parse(&format!("https://{entry}")).map_err(|_| invalid())?;
        let alone = entry.find(['/', '\\', '?', '#', '@', '*']).is_none();
        let host = normalized_host(&plain).filter(|_| alone).ok_or_else(invalid)?;
        self.allowed.push((host, plain.port().or(secure.port())));
        Ok(())
    }

    /// Allows the host and port of a URL that is written in the manifest.
    pub fn allow_url(&mut self, url: &Url) {
        if let Some(host) = normalized_host(url) {
            self.allowed.push((host, url.port_or_known_default()));
        }
    }

    /// The addresses that the host of `url` may have.
    pub(super) fn allowed_addresses(&self, url: &Url) -> AllowedAddresses {
        match self.allows(url) {
            true => AllowedAddresses::All,
            false => AllowedAddresses::PublicOr(self.networks.clone()),
        }
    }

    /// Whether the host of `url` may have any address.
    fn allows(&self, url: &Url) -> bool {
        if self.allows_all {
            return true;
        }
        let port = url.port_or_known_default();
        normalized_host(url).is_some_and(|host| {
            self.allowed.iter().any(|(allowed, at)| *allowed == host && at.is_none_or(|at| port == Some(at)))
        })
    }

    /// Refuses a URL whose host is a private address. Host names are checked when they are resolved.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), WorldError> {
        let address = match normalized_host(url) {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(WorldError::InvalidUrl { reason: "missing host" }),
        };
        if self.allowed_addresses(url).includes(address) {
            return Ok(());
        }
        Err(WorldError::PrivateAddress { host: address.to_string() })
    }
}

impl HostPolicy {
    /// The addresses of a host name, of those that it may have; none for a host that is an address itself. Refuses what
    /// has no such address.
    pub async fn resolve(&self, url: &Url) -> Result<Vec<IpAddr>, WorldError> {
        self.check_url(url)?;
        let Some(Host::Domain(name)) = normalized_host(url) else { return Ok(Vec::new()) };
        let no_address = || WorldError::Dns { host: name.clone() };
        let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| no_address())?;
        let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        let allowed = self.allowed_addresses(url);
        let reachable: Vec<IpAddr> = found.iter().copied().filter(|address| allowed.includes(*address)).collect();
        match (found.is_empty(), reachable.is_empty()) {
            (true, _) => Err(no_address()),
            (false, true) => Err(WorldError::PrivateAddress { host: name }),
            (false, false) => Ok(reachable),
        }
    }

    /// The same check for a URL that is requested by a proxy, which resolves the name. Of names, only those of the machine
    /// itself are refused.
    pub fn check_proxied_url(&self, url: &Url) -> Result<(), WorldError> {
        if let Some(Host::Domain(name)) = normalized_host(url)
            && (name == "localhost" || name.ends_with(".localhost"))
            && !self.allows(url)
        {
            return Err(WorldError::PrivateAddress { host: name });
        }
        self.check_url(url)
    }
}

/// The host without the final dot of a fully qualified name.
fn normalized_host(url: &Url) -> Option<Host> {
    Some(match url.host()? {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
    })
}

/// Whether the host of a URL is this machine: `localhost`, or an address of the loopback interface.
pub fn is_loopback_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether `address` is public: not private, loopback, link-local, shared, reserved,
/// multicast or for documentation, and not an IPv6 form of an IPv4 address that is.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        [0 | 10 | 127, ..] => true,
        [100, 64..=127, ..] => true,
        [169, 254, ..] => true,
        [172, 16..=31, ..] => true,
        // IETF assignments, documentation, the relays of 6to4.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] => true,
        [192, 168, ..] => true,
        [198, 18 | 19, ..] => true,
        [198, 51, 100, _] | [203, 0, 113, _] => true,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => true,
        _ => false,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        // IPv4-mapped, and the well-known prefix of NAT64: as public as the embedded address.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // Teredo, benchmarking and other assignments; documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [0x2002, high, low, ..] => embedded(high, low),
        // Only 2000::/3 is global unicast.
        [first, ..] => first >> 13 == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{HostPolicy, is_public};
    use crate::world::WorldError;
    use proptest::prelude::{any, proptest};
    use std::net::{IpAddr, Ipv4Addr};
    use url::Url;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn special_purpose_addresses_are_not_public() {
        for text in [
            "0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9",
            "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1",
            "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1",
            "255.255.255.255", "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
            "64:ff9b::a00:1", "64:ff9b:1::808:808", "100::1", "2001::1", "2001:2::1", "2001:10::1", "2001:db8::1",
            "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1",
            "fd00:ec2::254",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_public_in_every_form() {
        for text in [
            "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.1.2.3",
            "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:4860::8888",
            "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_embedded_address_is_as_public_as_itself(bits in any::<u32>()) {
            let v4 = Ipv4Addr::from_bits(bits);
            assert_eq!(is_public(IpAddr::V6(v4.to_ipv6_mapped())), is_public(IpAddr::V4(v4)));
        }
    }

    #[test]
    fn every_spelling_of_a_private_address_is_refused() {
        for text in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "http://0/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://１２７.0.0.1/",
            "http://127.0.0.1./",
            "http://user:secret@10.0.0.1:8080/?token=x",
        ] {
            let refused = HostPolicy::default().check_url(&url(text)).unwrap_err();
            assert!(matches!(refused, WorldError::PrivateAddress { .. }), "{text}: {refused}");
            assert!(!refused.to_string().contains("secret") && !refused.to_string().contains("token"));
        }
    }

    #[test]
    fn allowed_host_allows_no_other_host() {
        let policy =
            HostPolicy::new(["localhost:8080", "127.0.0.1", "[::1]:443", "Internal.Example.", "plain:80"]).unwrap();
        for text in [
            "http://localhost:8080/x",
            "http://LOCALHOST.:8080",
            "http://127.0.0.1:1/",
            "http://0x7f.1/",
            "https://[::1]/",
            "https://internal.example/",
            "http://plain/",
        ] {
            assert!(policy.allows(&url(text)), "{text}");
        }
        for text in [
            "http://localhost/",
            "http://127.0.0.2/",
            "http://[::1]/",
            "https://sub.internal.example/",
            "https://plain/",
            "http://localhost.evil.example:8080/",
            "http://localhost:8080@10.0.0.1/",
        ] {
            assert!(!policy.allows(&url(text)), "{text}");
        }
    }

    #[test]
    fn invalid_host_entry_is_refused() {
        for entry in [
            "", "*.example.com", "http://x", "a/b", "user@host", "host:port", "a b", "10.1.2.3/8", "10.0.0.0/33",
            "10.0.0.0/+8", "10.0.0.0/", "10.0.0/8", "[fd00::]/8", "fd00::1/8", "localhost/8",
        ] {
            assert!(matches!(HostPolicy::new([entry]), Err(WorldError::InvalidHost { .. })), "{entry}");
        }
    }

    #[test]
    fn network_allows_its_addresses_only() {
        let policy = HostPolicy::new(["10.0.0.0/8", "192.168.7.0/24", "127.0.0.1/32", "fd00::/8"]).unwrap();
        for text in [
            "http://10.0.0.0/",
            "http://10.255.255.255:8080/",
            "http://[::ffff:10.1.2.3]/",
            "http://192.168.7.9/",
            "http://127.1/",
            "http://[fdff::1]/",
            "http://8.8.8.8/",
        ] {
            assert!(policy.check_url(&url(text)).is_ok(), "{text}");
        }
        for text in ["http://11.0.0.1.nip/", "http://localhost/"] {
            assert!(policy.check_url(&url(text)).is_ok() && !policy.allows(&url(text)), "{text}: it is resolved first");
        }
        for text in ["http://192.168.8.1/", "http://127.0.0.2/", "http://[fc00::1]/", "http://[::1]/", "http://0/"] {
            assert!(policy.check_url(&url(text)).is_err(), "{text}");
        }
        let resolved = policy.allowed_addresses(&url("http://internal.example/"));
        assert!(resolved.includes("10.1.2.3".parse().unwrap()) && !resolved.includes("172.16.0.1".parse().unwrap()));
        assert!(HostPolicy::new(["0.0.0.0/0"]).unwrap().check_url(&url("http://172.16.0.1/")).is_ok());
        assert!(HostPolicy::new(["*"]).unwrap().check_url(&url("http://[fe80::1]/")).is_ok());
    }

    #[test]
    fn allow_url_allows_its_own_port_only() {
        let mut policy = HostPolicy::default();
        policy.allow_url(&url("https://10.0.0.1/base"));
        assert!(policy.allows(&url("https://10.0.0.1/else")) && !policy.allows(&url("http://10.0.0.1/")));
    }
}
