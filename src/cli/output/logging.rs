//! Logs on stderr: one line for each event.

use std::fmt;
use std::io::{self, IsTerminal};
use std::str::FromStr;

use clap::ValueEnum;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

use super::log_file::{LogFile, StderrAndFile};
use super::{GlobalArgs, stream_style};
use crate::diagnostic::{nearest, sanitize};
use crate::redact::Redactors;

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// Which events are logged; `None` if that is left to the command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogFilter(Option<Targets>);

/// How events are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object per line, for programs
    Json,
}

impl LogFilter {
    /// The targets. By default a server logs the calls that fail, and a command none: it prints how its call ended.
    fn targets(&self, logs_calls: bool) -> Targets {
        let calls = if logs_calls { LevelFilter::WARN } else { LevelFilter::OFF };
        let default = || default_targets(LevelFilter::INFO).with_target("folio::call", calls);
        self.0.clone().unwrap_or_else(default)
    }
}

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<LogFilter, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(LogFilter::default());
        }
        if !text.contains([',', '=']) {
            return parse_level(text).map(|level| LogFilter(Some(default_targets(level))));
        }
        let malformed = || {
            format!("invalid log filter `{text}`, expected TARGET=LEVEL, separated by commas (here, or in FOLIO_LOG)")
        };
        let mut filter = Targets::new();
        for directive in text.split(',').map(str::trim) {
            filter = match directive.rsplit_once('=') {
                Some((target, word)) if is_target(target) => filter.with_target(target, parse_level(word)?),
                Some(_) => return Err(malformed()),
                None => filter.with_default(parse_level(directive)?),
            };
        }
        Ok(LogFilter(Some(filter)))
    }
}

fn parse_level(word: &str) -> Result<LevelFilter, String> {
    let level = LEVELS.iter().find(|level| level.eq_ignore_ascii_case(word)).and_then(|level| level.parse().ok());
    level.ok_or_else(|| {
        let hint = nearest(word, LEVELS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!(
            "invalid log level `{word}`, expected error, warn, info, debug, trace or off (here, or in FOLIO_LOG){hint}"
        )
    })
}

/// Whether this can be a target: a crate, or a module in one.
fn is_target(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | ':' | '-'))
}

/// A level applies to folio; its libraries log warnings at most.
fn default_targets(level: LevelFilter) -> Targets {
    let libraries = Targets::new().with_default(level.min(LevelFilter::WARN));
    match level {
        LevelFilter::ERROR | LevelFilter::OFF => libraries,
        _ => libraries.with_target("folio", level),
    }
}

/// Logs to stderr from now on, with the secrets of `redactors` removed. A second call does nothing.
pub(crate) fn start_logging(global: &GlobalArgs, logs_calls: bool, redactors: Redactors, file: Option<LogFile>) {
    let color = stream_style(global.color, &io::stderr()).color;
    let line = LineFormat { format: global.log_format, color, timestamp: !io::stderr().is_terminal(), redactors };
    let filter = global.log_level.targets(logs_calls);
    let _ = tracing::subscriber::set_global_default(subscriber(filter, line, move || StderrAndFile(file.clone())));
}

fn subscriber<W>(filter: Targets, line: LineFormat, to: W) -> impl Subscriber
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().event_format(line).with_writer(to);
    Registry::default().with(lines.with_filter(filter))
}

/// The format of a line: `INFO reload: reloaded in 4 ms`, with a timestamp if stderr is not a terminal.
struct LineFormat {
    format: LogFormat,
    color: bool,
    timestamp: bool,
    redactors: Redactors,
}

impl<S, N> FormatEvent<S, N> for LineFormat
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if self.format == LogFormat::Json {
            return to.write_str(&json_line(event, &self.redactors));
        }
        if self.timestamp {
            SystemTime.format_time(&mut to)?;
            to.write_char(' ')?;
        }
        write_level(&mut to, *event.metadata().level(), self.color)?;
        let mut text = format!("{}: ", short_target(event.metadata().target()));
        match event.metadata().target() {
            // Its message says what its fields say.
            "folio::call" => text.push_str(&JsonFields::from_event(event).message),
            _ => context.format_fields(Writer::new(&mut text), event)?,
        }
        // Line breaks and control characters are escaped, so that no value can forge a line.
        let line = sanitize(&text.replace('\r', "\\r").replace('\n', "\\n")).into_owned();
        writeln!(to, "{}", self.redactors.redact_text(line))
    }
}

fn write_level(to: &mut Writer<'_>, level: Level, color: bool) -> fmt::Result {
    let code = match level {
        Level::ERROR => "31",
        Level::WARN => "33",
        Level::INFO => "32",
        _ => "2",
    };
    if color { write!(to, "\u{1b}[{code}m{level}\u{1b}[0m ") } else { write!(to, "{level} ") }
}

fn json_line(event: &Event<'_>, redactors: &Redactors) -> String {
    let JsonFields { message, fields } = JsonFields::from_event(event);
    let level = event.metadata().level().as_str().to_ascii_lowercase();
    let mut line = log_object(&level, event.metadata().target(), redactors.redact_text(message));
    for (name, mut value) in fields {
        if let Value::String(text) = &mut value {
            *text = redactors.redact_text(std::mem::take(text));
        }
        line.entry(name).or_insert(value);
    }
    format!("{}\n", Value::Object(line))
}

/// The keys that every line of JSON has.
pub(super) fn log_object(level: &str, target: &str, message: String) -> Map<String, Value> {
    let mut time = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    let keys = [("time", time), ("level", level.to_owned()), ("target", target.to_owned()), ("message", message)];
    keys.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))).collect()
}

/// The message and the fields of an event.
#[derive(Default)]
struct JsonFields {
    message: String,
    fields: Map<String, Value>,
}

impl JsonFields {
    fn from_event(event: &Event<'_>) -> JsonFields {
        let mut fields = JsonFields::default();
        event.record(&mut fields);
        fields
    }

    fn record(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => drop(self.fields.insert(name.to_owned(), value)),
        }
    }
}

impl Visit for JsonFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field, Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.record(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.record(field, value.into());
    }
}

/// The room of folio, or the crate.
fn short_target(target: &str) -> &str {
    let mut parts = target.split("::");
    match (parts.next(), parts.next()) {
        (Some("folio"), Some(room)) => room,
        (Some(first), _) => first,
        _ => target,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::redact::Redactor;

    /// What was written.
    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(filter: &str, line: LineFormat, speak: impl FnOnce()) -> String {
        let written = SharedBuffer::default();
        let writer = written.clone();
        let filter = filter.parse::<LogFilter>().unwrap().targets(false);
        tracing::subscriber::with_default(subscriber(filter, line, move || writer.clone()), speak);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn bare() -> LineFormat {
        let redactors = Redactors::new(Arc::new(Redactor::new(["hunter22"])));
        LineFormat { format: LogFormat::Text, color: false, timestamp: false, redactors }
    }

    #[test]
    fn json_line_has_message_and_redacted_fields() {
        let text = logged("info", LineFormat { format: LogFormat::Json, ..bare() }, || {
            tracing::warn!(target: "folio::load", key = "hunter22", count = 3, at = ?"a\nb", level = 7, "x {}", "hunter22\n");
        });
        let Value::Object(mut line) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert!(line.remove("time").unwrap().as_str().unwrap().ends_with('Z'), "{text}");
        let rest = serde_json::json!({
            "level": "warn", "target": "folio::load", "message": "x [secret]\n", "key": "[secret]", "count": 3, "at": "\"a\\nb\"",
        });
        assert_eq!(Value::Object(line), rest);
        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn event_is_always_one_line() {
        let text = logged("info", bare(), || {
            tracing::info!(target: "folio::reload::watch", path = %"x\nERROR fake: y\r\u{1b}[31m", "reloaded");
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("INFO reload: reloaded path=x\\nERROR fake"), "{text}");
        assert!(!text.contains(['\r', '\u{1b}']), "{text:?}");
    }

    #[test]
    fn log_line_holds_no_secret() {
        let text = logged("info", bare(), || tracing::warn!(target: "folio::load", key = "hunter22", "x hunter22 y"));
        assert_eq!(text, "WARN load: x [secret] y key=\"[secret]\"\n");
    }

    #[test]
    fn message_cannot_forge_a_line() {
        let text = logged("info", bare(), || tracing::warn!(target: "folio::load", "{}", "a\nb"));
        assert_eq!(text, "WARN load: a\\nb\n");
    }

    #[test]
    fn level_applies_to_folio_not_to_libraries() {
        let speak = || {
            tracing::info!(target: "rmcp::transport", "chatter");
            tracing::warn!(target: "rmcp::transport", "trouble");
            tracing::debug!(target: "folio::load", "detail");
        };
        assert_eq!(logged("info", bare(), speak), "WARN rmcp: trouble\n");
        assert_eq!(logged("debug", bare(), speak), "WARN rmcp: trouble\nDEBUG load: detail\n");
        assert_eq!(logged("off", bare(), speak), "");
        assert_eq!(logged("error,rmcp::transport=info", bare(), speak), "INFO rmcp: chatter\nWARN rmcp: trouble\n");
    }

    #[test]
    fn timestamp_comes_first_without_a_terminal() {
        let text = logged(
            "",
            LineFormat { color: true, timestamp: true, redactors: Redactors::default(), ..bare() },
            || tracing::info!(target: "folio::load", "x"),
        );
        assert!(text.starts_with("20") && text.ends_with("Z \u{1b}[32mINFO\u{1b}[0m load: x\n"), "{text:?}");
    }

    #[test]
    fn unknown_level_is_refused_with_a_suggestion() {
        let error = "debgu".parse::<LogFilter>().unwrap_err().to_string();
        assert!(error.contains("invalid log level `debgu`") && error.ends_with("did you mean `debug`?"), "{error}");
        for text in ["rmcp", "rmcp=loud", "info,,", "a b=info,c", "[=info"] {
            assert!(text.parse::<LogFilter>().is_err(), "{text}");
        }
    }
}
