//! Limits of the whole server (`server.limits`). Limits of one tool are in `call_limit`.

use crate::budget::DEFAULT_POOL_BYTES;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::load::LoadedPack;

/// Room for a few of the longest messages; with less, one large answer could never be sent.
const MIN_BYTES_IN_FLIGHT: u64 = 64 << 20;

/// The limits of the whole server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// How many programs may run.
    pub programs: usize,
    /// How many bytes of requests and answers may be on their way.
    pub bytes_in_flight: u64,
    /// How many calls that act on the world one client may make in a second.
    pub calls_per_second: u32,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits { programs: 64, bytes_in_flight: DEFAULT_POOL_BYTES, calls_per_second: 200 }
    }
}

/// Checks `server.limits`. What is not written has its default.
pub(in crate::catalog) fn server_limits(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> ServerLimits {
    let mut limits = ServerLimits::default();
    let Some(declared) = pack.manifest.server.as_ref().and_then(|server| server.limits.as_ref()) else { return limits };
    for (name, limit) in [("programs", &declared.programs), ("callsPerSecond", &declared.calls_per_second)] {
        if let Some(limit) = limit.as_ref().filter(|limit| limit.value == 0) {
            compiler.error(Code::BadValue, limit.location, format!("invalid `{name}`, expected at least 1"));
        }
    }
    if let Some(bytes) = declared.bytes_in_flight.as_ref().filter(|bytes| bytes.value.bytes() < MIN_BYTES_IN_FLIGHT) {
        compiler.error(Code::BadValue, bytes.location, "invalid `bytesInFlight`, expected at least 64MiB");
    }
    if let Some(programs) = &declared.programs {
        limits.programs = programs.value as usize;
    }
    if let Some(bytes) = &declared.bytes_in_flight {
        limits.bytes_in_flight = bytes.value.bytes();
    }
    if let Some(calls) = &declared.calls_per_second {
        limits.calls_per_second = calls.value;
    }
    limits
}
