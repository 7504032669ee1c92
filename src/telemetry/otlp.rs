//! Sends spans to a collector by OTLP over HTTP, as the variables `OTEL_*` of OpenTelemetry say.

use std::env;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::{Key, Value};
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter};
use tokio::runtime::{Builder, Runtime};

use crate::world::collector_client;

/// How long the last spans may take when the server ends, and where the collector does not answer anyway.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const FAILING_END_TIMEOUT: Duration = Duration::from_millis(200);

/// How long an export may take, unless a variable says so.
const DEFAULT_EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why no spans are sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceExportError {
    /// Without its message, which may have a part of a variable.
    #[error("invalid value of a variable `OTEL_EXPORTER_OTLP_…`")]
    Variables,
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
}

/// What collects spans, and sends them from a thread of its own.
pub(super) struct SpanExport {
    pub(super) provider: SdkTracerProvider,
    is_failing: Arc<AtomicBool>,
}

impl SpanExport {
    /// Starts to send the spans of a server with this name, which `OTEL_SERVICE_NAME` overrides. `None` where
    /// `OTEL_SDK_DISABLED` says so.
    pub(super) fn start(server_name: &str) -> Result<Option<SpanExport>, TraceExportError> {
        if env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.trim().eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let client = collector_client(export_timeout()).ok_or_else(|| io::Error::other("no HTTP client"))?;
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .build()
            .map_err(|_| TraceExportError::Variables)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let is_failing = Arc::<AtomicBool>::default();
        let exporter = CollectorExporter { exporter, runtime, is_failing: is_failing.clone() };
        let provider = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(exporter).build())
            .with_resource(resource(server_name))
            .build();
        Ok(Some(SpanExport { provider, is_failing }))
    }

    /// Sends what is left, and ends. This blocks for a bounded time.
    pub(super) fn end(&self) {
        let is_failing = self.is_failing.load(Ordering::Relaxed);
        let _ = self.provider.shutdown_with_timeout(if is_failing { FAILING_END_TIMEOUT } else { END_TIMEOUT });
    }
}

/// The time in `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT` or the like, which the exporter leaves to its client.
fn export_timeout() -> Duration {
    let milliseconds = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"]
        .iter()
        .find_map(|name| env::var(name).ok()?.trim().parse().ok());
    milliseconds.map_or(DEFAULT_EXPORT_TIMEOUT, Duration::from_millis)
}

/// What the spans are about: as variables say, and else a service with the name of the server.
fn resource(server_name: &str) -> Resource {
    let resource = Resource::builder().build();
    match resource.get_ref(&Key::from_static_str("service.name")) {
        Some(Value::String(name)) if !name.as_str().starts_with("unknown_service") => resource,
        _ => Resource::builder().with_service_name(server_name.to_owned()).build(),
    }
}

/// Sends batches on the thread that collects them, by a runtime that no request waits for: the client is asynchronous, and
/// the thread is not.
#[derive(Debug)]
struct CollectorExporter {
    exporter: opentelemetry_otlp::SpanExporter,
    runtime: Runtime,
    /// Whether the last batch was lost, which the log says of the first.
    is_failing: Arc<AtomicBool>,
}

impl SpanExporter for CollectorExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.runtime.block_on(self.exporter.export(batch));
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        if let Some(error) = sent.as_ref().err().filter(|_| !was_failing) {
            // The error has no URL and no header.
            tracing::warn!(target: "folio::telemetry", "spans are lost: {error} (this is said once, until spans arrive)");
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
