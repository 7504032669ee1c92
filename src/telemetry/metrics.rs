//! Metrics in the text format of Prometheus, by the names of OpenTelemetry's conventions for MCP where these have one.
//!
//! Labels come from the catalog and from short lists alone: no client makes a new one.

use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
    core::Collector,
};

use crate::spec_version::SpecVersion;

use super::health::ReloadState;
use super::observer::{HttpRefusal, Limit, OTHER, RequestObserver, RequestRecord};

/// The bounds of durations that the conventions ask for, in seconds.
const BUCKETS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The reasons for which a request is refused over HTTP that are about access.
const ACCESS_REASONS: [&str; 6] =
    ["missing_token", "invalid_token", "insufficient_scope", "issuer_unavailable", "unknown_host", "forbidden_origin"];

/// The metrics of a server.
pub struct Metrics {
    registry: Registry,
    operations: HistogramVec,
    sessions_ended: HistogramVec,
    sessions: IntGauge,
    streams: IntGauge,
    in_flight: IntGauge,
    auth_refusals: IntCounterVec,
    limits_hit: IntCounterVec,
    reloads: IntCounterVec,
    last_reload: IntGauge,
    programs_started: IntCounter,
    programs_running: IntGauge,
    store_up: IntGauge,
    audit_lost: IntCounter,
    /// One at a time compares what is counted elsewhere.
    advancing: Mutex<()>,
}

/// What is counted elsewhere, at the time at which it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct MetricsSnapshot {
    /// How many calls are running.
    pub in_flight: usize,
    pub reloads: ReloadState,
    pub programs_started: u64,
    pub programs_running: u64,
    /// Whether the store that replicas share can be reached; true without one.
    pub is_store_reachable: bool,
    /// How many lines of the audit file were lost.
    pub audit_lost: u64,
}

fn histogram(name: &str, help: &str, transport: &str) -> HistogramOpts {
    HistogramOpts::new(name, help).const_label("network_transport", transport).buckets(BUCKETS.to_vec())
}

impl Metrics {
    /// The metrics of a server that clients reach over HTTP, or over a pipe.
    ///
    /// # Errors
    /// A name is used twice, or is none.
    pub fn new(is_http: bool) -> Result<Metrics, prometheus::Error> {
        let transport = if is_http { "tcp" } else { "pipe" };
        let operation = histogram(
            "mcp_server_operation_duration_seconds",
            "How long requests of clients took, by method, tool or prompt, and error.",
            transport,
        );
        let labels =
            ["mcp_method_name", "gen_ai_tool_name", "gen_ai_prompt_name", "error_type", "mcp_protocol_version"];
        let session = histogram("mcp_server_session_duration_seconds", "How long sessions lasted.", transport);
        let metrics = Metrics {
            registry: Registry::new(),
            operations: HistogramVec::new(operation, &labels)?,
            sessions_ended: HistogramVec::new(session, &["mcp_protocol_version"])?,
            sessions: IntGauge::with_opts(Opts::new("folio_sessions", "Sessions that are open."))?,
            streams: IntGauge::with_opts(Opts::new(
                "folio_open_streams",
                "Streams of events that are open over HTTP.",
            ))?,
            in_flight: IntGauge::with_opts(Opts::new("folio_in_flight_calls", "Calls that are running."))?,
            auth_refusals: IntCounterVec::new(
                Opts::new("folio_auth_refusals_total", "Requests over HTTP that were refused to who sent them."),
                &["reason"],
            )?,
            limits_hit: IntCounterVec::new(
                Opts::new("folio_limits_hit_total", "How often a limit was reached."),
                &["limit"],
            )?,
            reloads: IntCounterVec::new(Opts::new("folio_reloads_total", "Reloads of the manifest."), &["outcome"])?,
            last_reload: IntGauge::with_opts(Opts::new(
                "folio_last_good_reload_timestamp_seconds",
                "When the manifest that is served was loaded.",
            ))?,
            programs_started: IntCounter::with_opts(Opts::new(
                "folio_programs_started_total",
                "Programs that were started.",
            ))?,
            programs_running: IntGauge::with_opts(Opts::new("folio_programs_running", "Programs that are running."))?,
            store_up: IntGauge::with_opts(Opts::new(
                "folio_store_up",
                "0 while the store that replicas share is away, else 1.",
            ))?,
            audit_lost: IntCounter::with_opts(Opts::new(
                "folio_audit_lost_total",
                "Lines that could not be written to the audit file.",
            ))?,
            advancing: Mutex::new(()),
        };
        metrics.register()?;
        metrics.begin();
        Ok(metrics)
    }

    fn register(&self) -> Result<(), prometheus::Error> {
        let build = IntGauge::with_opts(
            Opts::new("folio_build_info", "The version of folio; always 1.")
                .const_label("version", env!("CARGO_PKG_VERSION")),
        )?;
        build.set(1);
        let all: [Box<dyn Collector>; 15] = [
            Box::new(build),
            Box::new(self.operations.clone()),
            Box::new(self.sessions_ended.clone()),
            Box::new(self.sessions.clone()),
            Box::new(self.streams.clone()),
            Box::new(self.in_flight.clone()),
            Box::new(self.auth_refusals.clone()),
            Box::new(self.limits_hit.clone()),
            Box::new(self.reloads.clone()),
            Box::new(self.last_reload.clone()),
            Box::new(self.programs_started.clone()),
            Box::new(self.programs_running.clone()),
            Box::new(self.store_up.clone()),
            Box::new(self.audit_lost.clone()),
            Box::new(self.begun_at()?),
        ];
        all.into_iter().try_for_each(|metric| self.registry.register(metric))
    }

    /// When the process began to serve, under the name that Prometheus has for it.
    fn begun_at(&self) -> Result<IntGauge, prometheus::Error> {
        let begun = IntGauge::with_opts(Opts::new(
            "process_start_time_seconds",
            "When the server started, in seconds since 1970.",
        ))?;
        begun.set(seconds_since_1970(std::time::SystemTime::now()));
        Ok(begun)
    }

    /// Counters start at zero, so that their first step is seen as one.
    fn begin(&self) {
        ACCESS_REASONS.iter().for_each(|reason| drop(self.auth_refusals.with_label_values(&[reason])));
        Limit::ALL.iter().for_each(|limit| drop(self.limits_hit.with_label_values(&[limit.as_str()])));
    }

    /// All metrics as text.
    pub fn render(&self, snapshot: &MetricsSnapshot) -> String {
        let MetricsSnapshot { reloads, programs_started, audit_lost, .. } = snapshot;
        self.in_flight.set(i64::try_from(snapshot.in_flight).unwrap_or(i64::MAX));
        self.programs_running.set(i64::try_from(snapshot.programs_running).unwrap_or(i64::MAX));
        self.store_up.set(i64::from(snapshot.is_store_reachable));
        self.last_reload.set(seconds_since_1970(reloads.last_good));
        let advancing = self.advancing.lock();
        advance(&self.reloads.with_label_values(&["ok"]), reloads.succeeded);
        advance(&self.reloads.with_label_values(&["failed"]), reloads.failed);
        advance(&self.programs_started, *programs_started);
        advance(&self.audit_lost, *audit_lost);
        drop(advancing);
        let families = self.registry.gather();
        let text = TextEncoder::new().encode_to_string(&families);
        text.inspect_err(|error| tracing::error!(%error, "cannot write metrics")).unwrap_or_default()
    }

    fn operation(&self, record: &RequestRecord<'_>) -> Histogram {
        let named = |method: &str| match record.entry.filter(|_| record.method == Some(method)) {
            Some(name) if record.is_listed => name,
            Some(_) => OTHER,
            None => "",
        };
        let error = record.error_type().unwrap_or_default();
        let method = record.method.unwrap_or(OTHER);
        let (tool, prompt) = (named("tools/call"), named("prompts/get"));
        self.operations.with_label_values(&[method, tool, prompt, &error, record.version.as_str()])
    }
}

/// Raises a counter to what was counted elsewhere.
fn advance(counter: &IntCounter, to: u64) {
    counter.inc_by(to.saturating_sub(counter.get()));
}

fn seconds_since_1970(time: std::time::SystemTime) -> i64 {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(seconds).unwrap_or_default()
}

impl RequestObserver for Metrics {
    fn on_request_end(&self, record: &RequestRecord<'_>) {
        self.operation(record).observe(record.elapsed.as_secs_f64());
    }

    fn on_http_refusal(&self, refusal: &HttpRefusal<'_>) {
        let reason = refusal.reason;
        if let Some(limit) = reason.limit() {
            self.on_limit(limit);
        } else if reason.is_about_access() {
            self.auth_refusals.with_label_values(&[reason.as_str()]).inc();
        }
    }

    fn on_limit(&self, limit: Limit) {
        self.limits_hit.with_label_values(&[limit.as_str()]).inc();
    }

    fn on_session_start(&self) {
        self.sessions.inc();
    }

    fn on_session_end(&self, version: SpecVersion, elapsed: Duration) {
        self.sessions.dec();
        self.sessions_ended.with_label_values(&[version.as_str()]).observe(elapsed.as_secs_f64());
    }

    fn on_stream_open(&self) {
        self.streams.inc();
    }

    fn on_stream_close(&self) {
        self.streams.dec();
    }
}
