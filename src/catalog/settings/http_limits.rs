//! Checks `http.limits` and `http.trustedProxies`.

use std::time::Duration;

use crate::catalog::tool::call_limit::check_rate;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::manifest;
use crate::world::Network;
use crate::yaml::Spanned;

/// How much there may be at a time over HTTP, and how long each part of a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// How many connections there may be.
    pub connections: usize,
    /// How many requests may be answered at the same time.
    pub in_flight: Option<u32>,
    /// On how many streams clients may listen.
    pub streams: Option<u32>,
    /// How many requests each caller may send.
    pub per_caller: Option<CallerRate>,
    /// How long the head of a request may take to arrive.
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How long a client may stop reading a response.
    pub write_timeout: Duration,
}

/// How many requests a caller may send in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerRate {
    /// At least one.
    pub calls: u32,
    /// More than zero.
    pub per: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            connections: 1024,
            in_flight: None,
            streams: None,
            per_caller: None,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Checks `http.limits`. What is not written has its default.
pub(super) fn http_limits(http: &manifest::Http, compiler: &mut Compiler<'_>) -> HttpLimits {
    let mut limits = HttpLimits::default();
    let Some(declared) = &http.limits else { return limits };
    let mut count = |name: &str, declared: Option<&Spanned<u32>>| {
        let declared = declared?;
        if declared.value == 0 {
            compiler.error(Code::BadValue, declared.location, format!("invalid `{name}`, expected at least 1"));
        }
        Some(declared.value)
    };
    if let Some(connections) = count("connections", declared.connections.as_ref()) {
        limits.connections = connections as usize;
    }
    limits.in_flight = count("inFlight", declared.in_flight.as_ref());
    limits.streams = count("streams", declared.streams.as_ref());
    limits.per_caller = declared.per_caller.as_ref().and_then(|rate| {
        let (calls, per) = check_rate("perCaller", rate.location, (rate.calls.as_ref(), rate.per.as_ref()), compiler)?;
        Some(CallerRate { calls, per })
    });
    for (name, timeout, limit) in [
        ("headerTimeout", &declared.header_timeout, &mut limits.header_timeout),
        ("bodyTimeout", &declared.body_timeout, &mut limits.body_timeout),
        ("writeTimeout", &declared.write_timeout, &mut limits.write_timeout),
    ] {
        let Some(timeout) = timeout else { continue };
        if timeout.value.to_std().is_zero() {
            compiler.error(Code::BadValue, timeout.location, format!("invalid `{name}`, expected more than zero"));
        }
        *limit = timeout.value.to_std();
    }
    limits
}

/// The networks of proxies.
pub(super) fn check_trusted_proxies(http: &manifest::Http, compiler: &mut Compiler<'_>) -> Vec<Network> {
    let mut networks = Vec::new();
    for text in http.trusted_proxies.iter().flatten() {
        match Network::parse(text) {
            Some(network) => networks.push(network),
            None => drop(
                compiler
                    .error(Code::BadValue, text.location, format!("invalid network `{}`", text.value))
                    .help("write the address of a proxy, or a network such as `10.0.0.0/8`"),
            ),
        }
    }
    networks
}
