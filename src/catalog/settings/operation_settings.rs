//! Checks the keys `admin`, `audit`, `telemetry` and `store` of a manifest.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::catalog::settings::http_settings::{parse_address, secret_variable};
use crate::compile::Compiler;
use crate::diagnostic::{Code, Span};
use crate::files::expand_home;
use crate::load::LoadedPack;
use crate::manifest::{self, AuditLevel, Telemetry};
use crate::store::RedisUrl;
use crate::yaml::Spanned;

/// What an operator sees of a server.
#[derive(Debug, Clone, Default)]
pub struct OperationSettings {
    /// Where metrics and readiness are served.
    pub admin: Option<SocketAddr>,
    pub audit: Option<AuditSettings>,
    pub telemetry: Option<Telemetry>,
    pub store: Option<StoreSettings>,
    /// Locations of the keys, or of the map that should hold them.
    key_spans: Vec<(&'static str, Span)>,
}

/// Where requests are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    pub file: PathBuf,
    pub level: AuditLevel,
    /// Whether nothing is done that cannot be recorded.
    pub required: bool,
}

/// Where replicas share what they must.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The URL of Redis, which may have a password.
    pub url: String,
    pub prefix: String,
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl OperationSettings {
    /// The location of one of the keys.
    pub fn key_span(&self, key: &str) -> Option<Span> {
        self.key_spans.iter().find(|(known, _)| *known == key).map(|(_, span)| *span)
    }
}

/// Checks `admin`, `audit` and `store`. What is wrong is reported.
pub(in crate::catalog) fn operation_settings(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> OperationSettings {
    let manifest = &pack.manifest;
    let admin = manifest.admin.as_ref().and_then(|admin| {
        let Some(listen) = &admin.listen else {
            compiler.error(Code::MissingKey, admin.location, "missing `listen`").help("such as `127.0.0.1:9464`");
            return None;
        };
        let address = parse_address(listen, compiler)?;
        if !address.ip().is_loopback() {
            let message = format!("`{address}` is reachable from other machines, and needs no token");
            compiler
                .warning(Code::Unsafe, listen.location, message)
                .help("listen on `127.0.0.1`, or let a firewall keep others out");
        }
        Some(address)
    });
    let audit = manifest.audit.as_ref().and_then(|audit| {
        let settings = audit_settings(audit, pack);
        if settings.is_none() {
            compiler.error(Code::MissingKey, audit.location, "missing `file`").help("such as `audit.jsonl`");
        }
        settings
    });
    let store = manifest.store.as_ref().and_then(|store| store_settings(store, pack, compiler));
    let key_spans =
        ["admin", "audit", "telemetry", "store"].map(|key| (key, compiler.key_location(pack.at, key).span()));
    OperationSettings { admin, audit, telemetry: manifest.telemetry, store, key_spans: key_spans.into() }
}

fn store_settings(
    store: &Spanned<manifest::Store>,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<StoreSettings> {
    let Some(redis) = &store.redis else {
        compiler.error(Code::MissingKey, store.location, "missing `redis`").help("such as `\"{{env.REDIS_URL}}\"`");
        return None;
    };
    // What a variable holds is read when the server starts: tests have other values.
    let url = match redis.contains("{{") {
        true => secret_variable(redis, "redis", "replicas share nothing", pack, compiler)??.1,
        false => redis.value.clone(),
    };
    if let Some(error) = RedisUrl::parse(&url).err().filter(|_| url == redis.value) {
        compiler.error(Code::BadValue, redis.location, error.to_string());
        return None;
    }
    let name = pack.manifest.server.as_ref().and_then(|server| server.name.as_ref());
    let prefix = store.prefix.as_ref().or(name).map(|prefix| prefix.value.clone()).unwrap_or_default();
    Some(StoreSettings { url, prefix })
}

fn audit_settings(audit: &manifest::Audit, pack: &LoadedPack) -> Option<AuditSettings> {
    let file = audit.file.as_ref().filter(|file| !file.is_empty())?;
    let file = pack.pack.folder.path().join(expand_home(Path::new(file.as_str())));
    Some(AuditSettings { file, level: audit.level.unwrap_or_default(), required: audit.required })
}
