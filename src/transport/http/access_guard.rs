//! Checks `Host`, `Origin` and the bearer token of each request.
//!
//! A web page anywhere can send requests to a server on its visitor's machine. It cannot forge its `Origin`, and a host
//! name that it points at this machine shows in `Host`.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::Request,
    http::{HeaderValue, Method, Version, header, uri::Authority},
};

use crate::catalog::{HttpAccess, normalize_origin};

/// Why a request is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessDenial {
    /// `Host` is missing, or cannot be read.
    InvalidHost,
    /// The server is not known by that name.
    Host,
    /// A web page from elsewhere.
    Origin,
}

/// Access rules that follow from the listen address. Those of the manifest are passed to each check, since a reload may
/// change them.
pub(super) struct AccessGuard {
    hosts: Vec<String>,
    /// Whether any IP address is accepted as host name.
    allows_any_ip_host: bool,
    origins: Vec<String>,
    /// Whether requests need a token even if the manifest has none.
    needs_token: bool,
    /// Whether a link from anywhere may lead to `/`, which is a page that holds nothing.
    allows_links: bool,
}

impl AccessGuard {
    pub(super) fn new(address: SocketAddr, needs_token: bool) -> AccessGuard {
        let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        if !address.ip().is_unspecified() {
            hosts.push(match address.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        let own = hosts.iter().map(|host| normalize_origin(&format!("http://{host}:{}", address.port())));
        AccessGuard {
            origins: own.collect(),
            allows_any_ip_host: address.ip().is_unspecified(),
            hosts,
            needs_token,
            allows_links: false,
        }
    }

    /// Lets links from anywhere lead to the page at `/`.
    pub(super) fn with_links(self, allows_links: bool) -> AccessGuard {
        AccessGuard { allows_links, ..self }
    }

    /// Checks `Host` and `Origin`, which a web page cannot forge. Returns the origin, if any.
    pub(super) fn check_host_and_origin(
        &self,
        request: &Request,
        access: &HttpAccess,
    ) -> Result<Option<HeaderValue>, AccessDenial> {
        let headers = request.headers();
        // Where the target names a host, that is the one asked for.
        let host = request.uri().authority().cloned().or(parse_host(request)?);
        let host = host.filter(is_host_and_port).ok_or(AccessDenial::Host)?;
        if !self.is_known_host(&host, access) {
            return Err(AccessDenial::Host);
        }
        let Some(origin) = headers.get(header::ORIGIN) else {
            let follows_link = self.allows_links && request.uri().path() == "/" && is_navigation(request);
            // A browser says so of the page of another origin. Where that must be able to read the answer it says `Origin`
            // too; for an image, a link or a form of an old browser it does not.
            let mut sites = headers.get_all("sec-fetch-site").iter();
            let is_cross_site = sites.any(|site| site != "same-origin" && site != "none");
            return if is_cross_site && !follows_link { Err(AccessDenial::Origin) } else { Ok(None) };
        };
        let text = origin.to_str().map_err(|_| AccessDenial::Origin)?;
        // A second one is someone's trick, too.
        let is_only = headers.get_all(header::ORIGIN).iter().count() == 1;
        if is_only && self.is_trusted_origin(&normalize_origin(text), access) {
            Ok(Some(origin.clone()))
        } else {
            Err(AccessDenial::Origin)
        }
    }

    /// Whether an `Authorization` header has the token, which is compared in constant time, or none is needed.
    pub(super) fn accepts_token(&self, presented: Option<&HeaderValue>, access: &HttpAccess) -> bool {
        let Some(token) = &access.token else { return !self.needs_token };
        let presented = presented.and_then(|header| header.as_bytes().split_at_checked(7));
        presented
            .is_some_and(|(scheme, rest)| scheme.eq_ignore_ascii_case(b"bearer ") && token.matches(rest.trim_ascii()))
    }

    fn is_known_host(&self, host: &Authority, access: &HttpAccess) -> bool {
        let name = host.host().strip_suffix('.').unwrap_or(host.host());
        if self.allows_any_ip_host && name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok() {
            return true;
        }
        let is_port = |text: &str| text.parse().is_ok_and(|port: u16| host.port_u16() == Some(port));
        let mut allowed = self.hosts.iter().chain(&access.hosts);
        allowed.any(|allowed| match allowed.split_at_checked(name.len()) {
            Some((start, rest)) if start.eq_ignore_ascii_case(name) => {
                rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)
            }
            _ => allowed == "*",
        })
    }

    fn is_trusted_origin(&self, origin: &str, access: &HttpAccess) -> bool {
        self.origins.iter().chain(&access.origins).any(|trusted| match trusted.strip_suffix(":*") {
            Some(any_port) => match origin.strip_prefix(any_port) {
                Some(port) => port.is_empty() || port.strip_prefix(':').is_some_and(is_number),
                None => false,
            },
            None => trusted == origin || trusted == "*",
        })
    }
}

/// The `Host` header, which only requests of HTTP/1.0 may lack (RFC 9112, 3.2). A second one is someone's trick.
fn parse_host(request: &Request) -> Result<Option<Authority>, AccessDenial> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        let is_missing = !request.headers().contains_key(header::HOST);
        let may_lack = is_missing && request.version() < Version::HTTP_11;
        return if may_lack { Ok(None) } else { Err(AccessDenial::InvalidHost) };
    };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    host.filter(|host| !host.as_str().contains('@')).map(Some).ok_or(AccessDenial::InvalidHost)
}

/// Whether it is no more than a host and a port: the type takes `[::1].example` and `localhost:x`, too.
fn is_host_and_port(authority: &Authority) -> bool {
    let after = authority.as_str().strip_prefix(authority.host());
    after.is_some_and(|after| match after.strip_prefix(':') {
        Some(port) => port.is_empty() || is_number(port) && authority.port_u16().is_some(),
        None => after.is_empty(),
    })
}

/// Whether a browser asks for it to show it in a tab of its own.
fn is_navigation(request: &Request) -> bool {
    let says = |name: &str, wanted: &str| request.headers().get(name).is_some_and(|value| value == wanted);
    request.method() == Method::GET && says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;
    use crate::catalog::TokenDigest;
    use axum::body::Body;

    fn guard(address: &str) -> AccessGuard {
        AccessGuard::new(address.parse().unwrap(), true)
    }

    fn access() -> HttpAccess {
        HttpAccess {
            origins: vec!["https://desk.example".into(), "http://near.example:*".into()],
            hosts: vec!["desk.example".into(), "port.example:81".into()],
            token: Some(TokenDigest::new("secret")),
        }
    }

    fn check(guard: &AccessGuard, host: &str, origin: Option<&str>) -> Result<bool, AccessDenial> {
        let mut request = Request::builder().uri("/mcp").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        guard.check_host_and_origin(&request.body(Body::empty()).unwrap(), &access()).map(|origin| origin.is_some())
    }

    #[test]
    fn only_known_hosts_are_accepted() {
        let guard = guard("127.0.0.1:8080");
        for host in [
            "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST", "desk.example", "desk.example:1",
            "port.example:81", "localhost.", "localhost:",
        ] {
            assert_eq!(check(&guard, host, None), Ok(false), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "port.example:82",
            "10.0.0.1:8080",
            "[::1].evil.example",
            "[::1]x",
            "localhost:evil.example",
            "127.0.0.1:8080.evil.example",
            "localhost..",
            "localhost:99999",
            "localhost:+80",
        ] {
            assert_eq!(check(&guard, host, None), Err(AccessDenial::Host), "{host}");
        }
        for host in ["evil.example@127.0.0.1", "a b", ""] {
            assert_eq!(check(&guard, host, None), Err(AccessDenial::InvalidHost), "{host}");
        }
    }

    #[test]
    fn any_ip_host_is_accepted_on_unspecified_address() {
        let guard = guard("0.0.0.0:8080");
        assert_eq!(check(&guard, "10.0.0.1:8080", None), Ok(false));
        assert_eq!(check(&guard, "[fe80::1]", None), Ok(false));
        assert_eq!(check(&guard, "evil.example", None), Err(AccessDenial::Host));
    }

    #[test]
    fn only_known_origins_are_accepted() {
        let guard = guard("127.0.0.1:8080");
        for origin in [
            "http://localhost:8080", "http://127.0.0.1:8080", "https://desk.example", "https://desk.example:443",
            "http://near.example", "http://near.example:99",
        ] {
            assert_eq!(check(&guard, "localhost:8080", Some(origin)), Ok(true), "{origin}");
        }
        for origin in [
            "http://localhost:3000",
            "https://localhost:8080",
            "http://desk.example",
            "https://desk.example.evil.example",
            "http://near.example.evil.example",
            "null",
            "",
        ] {
            assert_eq!(check(&guard, "localhost:8080", Some(origin)), Err(AccessDenial::Origin), "{origin}");
        }
    }

    #[test]
    fn cross_site_fetch_is_refused_without_trusted_origin() {
        let guard = guard("127.0.0.1:8080");
        let check = |site: &str, origin: Option<&str>| {
            let request = Request::builder().uri("/sse").header("host", "localhost").header("sec-fetch-site", site);
            let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
            guard.check_host_and_origin(&request.body(Body::empty()).unwrap(), &access()).map(|_| ())
        };
        for site in ["cross-site", "same-site", "nonsense"] {
            assert_eq!(check(site, None), Err(AccessDenial::Origin), "{site}");
            assert_eq!(check(site, Some("https://desk.example")), Ok(()), "{site}");
        }
        assert_eq!((check("same-origin", None), check("none", None)), (Ok(()), Ok(())));
    }

    #[test]
    fn token_must_match_exactly() {
        let guard = guard("127.0.0.1:8080");
        let identify = |presented: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, presented.parse().unwrap());
            guard.accepts_token(headers.get(header::AUTHORIZATION), &access())
        };
        assert!(identify("Bearer secret") && identify("bearer secret"));
        for presented in
            ["Bearer secre", "Bearer secrets", "Bearer Secret", "Bearer ", "Bearer", "Basic secret", "secret"]
        {
            assert!(!identify(presented), "{presented}");
        }
        assert!(!guard.accepts_token(None, &access()));
        assert!(!guard.accepts_token(None, &HttpAccess::default()), "nobody, where one is needed");
    }

    #[test]
    fn duplicate_host_is_refused_and_target_host_wins() {
        let guard = guard("127.0.0.1:8080");
        let two = Request::builder().uri("/mcp").header("host", "127.0.0.1").header("host", "evil.example");
        assert_eq!(
            guard.check_host_and_origin(&two.body(Body::empty()).unwrap(), &access()).err(),
            Some(AccessDenial::InvalidHost)
        );
        let none = |version| Request::builder().uri("/mcp").version(version).body(Body::empty()).unwrap();
        let refused = |version| guard.check_host_and_origin(&none(version), &access()).err();
        assert_eq!(refused(Version::HTTP_11), Some(AccessDenial::InvalidHost));
        assert_eq!(refused(Version::HTTP_10), Some(AccessDenial::Host));
        let whole = Request::builder().uri("http://evil.example/mcp").header("host", "127.0.0.1");
        assert_eq!(
            guard.check_host_and_origin(&whole.body(Body::empty()).unwrap(), &access()).err(),
            Some(AccessDenial::Host)
        );
    }
}
