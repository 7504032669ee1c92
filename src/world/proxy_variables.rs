//! The proxies that the environment names, for what a user downloads. Connections of a manifest name their own.

use std::ffi::OsString;
use std::net::IpAddr;
use std::sync::Arc;

use url::{Host, Url};

use super::error::WorldError;
use super::host_policy::{HostPolicy, parse_network};
use super::proxy::Proxy;

/// The variables that name a proxy to other programs.
const NAMES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// The variables that name a proxy which a connection could use, and are set.
pub(super) fn set_proxy_variables(variable: impl Fn(&str) -> Option<OsString>) -> Vec<&'static str> {
    let is_http = |value: &str| !value.is_empty() && (!value.contains("://") || value.starts_with("http"));
    let is_set = |name: &&str| variable(name).is_some_and(|value| is_http(&value.to_string_lossy()));
    NAMES.into_iter().filter(is_set).collect()
}

/// The variable of these that would be about a URL of this scheme, or else the first.
pub(super) fn proxy_variable_for(names: &[&'static str], scheme: &str) -> Option<&'static str> {
    let is_own = |name: &&&str| name.to_ascii_lowercase().strip_suffix("_proxy") == Some(scheme);
    names.iter().find(is_own).or(names.first()).copied()
}

/// The proxy of `https` URLs, and the hosts that are reached without it, as curl and git read them.
#[derive(Debug, Clone, Default)]
pub struct ProxyVariables {
    proxy: Option<String>,
    without: Vec<String>,
}

impl ProxyVariables {
    /// Reads `HTTPS_PROXY`, or else `ALL_PROXY`, and `NO_PROXY`. Lower-case names come first.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> ProxyVariables {
        let first =
            |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|value| !value.trim().is_empty()));
        let without = first(&["no_proxy", "NO_PROXY"]).unwrap_or_default();
        let entries = without.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
        ProxyVariables {
            proxy: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            without: entries.map(str::to_ascii_lowercase).collect(),
        }
    }

    /// The proxy for an `https` URL, if there is one.
    ///
    /// # Errors
    /// The proxy is not an `http` or `https` URL.
    pub fn proxy_for(&self, url: &Url) -> Result<Option<Arc<Proxy>>, WorldError> {
        let Some(address) = self.proxy.as_ref().filter(|_| !self.is_without(url)) else { return Ok(None) };
        let address = address.trim();
        let with_scheme = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let invalid = || WorldError::InvalidUrl { reason: "`HTTPS_PROXY` names no `http` or `https` proxy" };
        let parsed = Url::parse(&with_scheme).ok().filter(Url::has_host).ok_or_else(invalid)?;
        let mut policy = HostPolicy::default();
        policy.allow_url(&parsed);
        Proxy::new(parsed, policy).map(|proxy| Some(Arc::new(proxy))).map_err(|_| invalid())
    }

    fn is_without(&self, url: &Url) -> bool {
        let (Some(host), port) = (url.host(), url.port_or_known_default()) else { return true };
        self.without.iter().any(|entry| is_host_of(entry, &host, port))
    }
}

/// Whether an entry of `NO_PROXY` has a host: `*`, a name with the names below it, an address or a network, with a port or
/// without.
fn is_host_of(entry: &str, host: &Host<&str>, port: Option<u16>) -> bool {
    let (name, entry_port) = match entry.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => (name, digits.parse::<u16>().ok()),
        _ => (entry, None),
    };
    if entry_port.is_some() && entry_port != port {
        return false;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let address: IpAddr = match host {
        Host::Domain(domain) => {
            let suffix = name.trim_start_matches("*.").trim_start_matches('.').trim_end_matches('.');
            let domain = domain.trim_end_matches('.');
            let is_below = domain.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            return name == "*" || (!suffix.is_empty() && is_below);
        }
        Host::Ipv4(address) => (*address).into(),
        Host::Ipv6(address) => (*address).into(),
    };
    name == "*"
        || name.parse() == Ok(address)
        || parse_network(name).is_some_and(|network| network.contains(&address.to_canonical()))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::ProxyVariables;

    fn proxy(variables: &[(&str, &str)], url: &str) -> String {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let url = Url::parse(url).map_err(|error| error.to_string());
        match url.map(|url| ProxyVariables::read(value).proxy_for(&url)) {
            Ok(Ok(Some(proxy))) => proxy.host().to_owned(),
            Ok(Ok(None)) => "none".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error,
        }
    }

    #[test]
    fn proxy_is_that_of_the_first_variable() {
        let url = "https://example.com/x";
        for (variables, expected) in [
            (&[][..], "none"),
            (&[("HTTPS_PROXY", "")], "none"),
            (&[("HTTP_PROXY", "http://p")], "none"),
            (&[("HTTPS_PROXY", "http://p:3128")], "p"),
            (&[("HTTPS_PROXY", "http://upper"), ("https_proxy", "http://lower")], "lower"),
            (&[("ALL_PROXY", "http://all"), ("HTTPS_PROXY", "https://own")], "own"),
            (&[("ALL_PROXY", "http://all")], "all"),
            (&[("https_proxy", "p.example:3128")], "p.example"),
            (&[("https_proxy", "socks5://p")], "invalid URL: `HTTPS_PROXY` names no `http` or `https` proxy"),
            (&[("https_proxy", "http://")], "invalid URL: `HTTPS_PROXY` names no `http` or `https` proxy"),
        ] {
            assert_eq!(proxy(variables, url), expected, "{variables:?}");
        }
    }

    #[test]
    fn hosts_of_no_proxy_are_reached_directly() {
        for (without, url, is_direct) in [
            ("*", "https://example.com/", true),
            ("example.com", "https://example.com/", true),
            ("example.com", "https://EXAMPLE.com/", true),
            ("Example.COM", "https://a.example.com/", true),
            (".example.com", "https://example.com/", true),
            ("*.example.com", "https://a.example.com/", true),
            ("example.com", "https://notexample.com/", false),
            ("other, example.com", "https://example.com/", true),
            ("example.com:8443", "https://example.com:8443/", true),
            ("example.com:8443", "https://example.com/", false),
            ("example.com:443", "https://example.com/", true),
            ("10.0.0.0/8", "https://10.1.2.3/", true),
            ("10.0.0.0/8", "https://11.1.2.3/", false),
            ("127.0.0.1", "https://127.0.0.1:9/", true),
            ("::1", "https://[::1]/", true),
            ("[::1]:443", "https://[::1]/", true),
            ("", "https://example.com/", false),
            (".", "https://example.com/", false),
        ] {
            let expected = if is_direct { "none" } else { "p" };
            assert_eq!(proxy(&[("https_proxy", "http://p"), ("NO_PROXY", without)], url), expected, "{without} {url}");
        }
    }
}
