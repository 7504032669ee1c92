//! Logs on stderr: one event, one line.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal};
use std::str::FromStr;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::{Common, Output};
use crate::diagnostic::{nearest, visible};

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// Which events are logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter(String);

/// Why a text says nothing about what to log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A word that is no level.
    #[error("`{word}` is no level: write error, warn, info, debug, trace or off (here, or in FOLIO_LOG){hint}")]
    Level {
        /// What stands there.
        word: String,
        /// What was probably meant.
        hint: String,
    },
    /// A filter that cannot be read.
    #[error("`{text}` is no filter: write TARGET=LEVEL, several of them with commas (here, or in FOLIO_LOG)")]
    Malformed {
        /// What stands there.
        text: String,
    },
}

impl Filter {
    /// What is logged when nobody says anything.
    pub(super) const DEFAULT: &str = "info";
}

impl Default for Filter {
    fn default() -> Filter {
        Filter(of_level(Filter::DEFAULT))
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Filter, FilterError> {
        let text = text.trim();
        let text = if text.is_empty() { Filter::DEFAULT } else { text };
        let lower = text.to_ascii_lowercase();
        if LEVELS.contains(&lower.as_str()) {
            return Ok(Filter(of_level(&lower)));
        }
        for directive in text.split(',').map(str::trim) {
            let level = directive.rsplit_once('=').map_or(directive, |(_, level)| level);
            if !LEVELS.contains(&level.to_ascii_lowercase().as_str()) {
                let hint = nearest(level, LEVELS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                return Err(FilterError::Level { word: level.to_owned(), hint });
            }
        }
        EnvFilter::builder().parse(text).map_err(|_| FilterError::Malformed { text: text.to_owned() })?;
        Ok(Filter(text.to_owned()))
    }
}

/// A level is folio's own; the libraries beneath it speak only when something is amiss. That a client asked for what
/// is not there, or went away before it was answered, is nothing amiss, so rmcp's word of each is not heard.
fn of_level(level: &str) -> String {
    match level {
        "error" | "off" => level.to_owned(),
        _ => format!("warn,rmcp::service=off,folio={level}"),
    }
}

/// Sends the events that `common` asks for to stderr from now on. A second call does nothing.
pub fn start(common: &Common) {
    let terminal = io::stderr().is_terminal();
    let line = Line { color: Output::new(common.color).error_style().color, clock: !terminal };
    // The text was parsed when the command line was read; should it fail now, what is amiss is logged all the same.
    let filter = EnvFilter::builder().parse(&common.log_level.0).unwrap_or_else(|_| EnvFilter::new("warn"));
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).event_format(line).try_init();
}

/// The form of a line: `INFO reload: reloaded in 4 ms`, with the time before it where no person is looking on.
struct Line {
    color: bool,
    clock: bool,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if self.clock {
            SystemTime.format_time(&mut writer)?;
            writer.write_char(' ')?;
        }
        self.write_level(&mut writer, *event.metadata().level())?;
        let mut text = format!("{}: ", brief(event.metadata().target()));
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            text.push_str(span.name());
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>().filter(|fields| !fields.is_empty()) {
                write!(text, "{{{fields}}}")?;
            }
            text.push_str(": ");
        }
        context.format_fields(Writer::new(&mut text), event)?;
        writeln!(writer, "{}", escaped(&text))
    }
}

impl Line {
    fn write_level(&self, writer: &mut Writer<'_>, level: Level) -> fmt::Result {
        let color = match level {
            Level::ERROR => "31",
            Level::WARN => "33",
            Level::INFO => "32",
            _ => "2",
        };
        match self.color {
            true => write!(writer, "\u{1b}[{color}m{level}\u{1b}[0m "),
            false => write!(writer, "{level} "),
        }
    }
}

/// The room within folio, or the crate.
fn brief(target: &str) -> &str {
    let mut parts = target.split("::");
    match (parts.next(), parts.next()) {
        (Some("folio"), Some(room)) => room,
        (Some(first), _) => first,
        _ => target,
    }
}

/// Makes one line of it, whatever it holds: nobody can write a line of the log but folio.
fn escaped(text: &str) -> String {
    visible(&text.replace('\r', "\\r").replace('\n', "\\n")).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(filter: &str, line: Line, speak: impl FnOnce()) -> String {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(filter.parse::<Filter>().unwrap().0))
            .with_writer(move || writer.clone())
            .event_format(line)
            .finish();
        tracing::subscriber::with_default(subscriber, speak);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    const BARE: Line = Line { color: false, clock: false };

    #[test]
    fn an_event_is_one_line_whatever_its_fields_hold() {
        let text = logged("info", BARE, || {
            let span = tracing::info_span!(target: "folio::server", "call", tool = "a\nb");
            let _inside = span.enter();
            tracing::info!(target: "folio::reload::watch", path = "x\nERROR fake: y\r\u{1b}[31m", "reloaded");
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("INFO reload: call{tool=\"a\\"), "{text}");
        assert!(text.contains("reloaded") && !text.contains(['\r', '\u{1b}']), "{text:?}");
    }

    #[test]
    fn a_message_cannot_begin_a_line() {
        let text = logged("info", BARE, || tracing::warn!(target: "folio::load", "{}", "a\nb"));
        assert_eq!(text, "WARN load: a\\nb\n");
    }

    #[test]
    fn a_level_is_of_folio_and_libraries_are_quiet() {
        let speak = || {
            tracing::info!(target: "rmcp::transport", "chatter");
            tracing::warn!(target: "rmcp::transport", "trouble");
            tracing::warn!(target: "rmcp::service", "response error");
            tracing::debug!(target: "folio::load", "detail");
        };
        assert_eq!(logged("info", BARE, speak), "WARN rmcp: trouble\n");
        assert_eq!(logged("debug", BARE, speak), "WARN rmcp: trouble\nDEBUG load: detail\n");
        assert_eq!(logged("off", BARE, speak), "");
        assert_eq!(logged("error,rmcp::transport=info", BARE, speak), "INFO rmcp: chatter\nWARN rmcp: trouble\n");
    }

    #[test]
    fn the_time_stands_first_where_nobody_looks_on() {
        let text = logged("", Line { color: true, clock: true }, || tracing::info!(target: "folio::load", "x"));
        assert!(text.starts_with("20") && text.ends_with("Z \u{1b}[32mINFO\u{1b}[0m load: x\n"), "{text:?}");
    }

    #[test]
    fn what_is_no_level_is_refused_in_plain_words() {
        let error = "debgu".parse::<Filter>().unwrap_err().to_string();
        assert!(error.contains("`debgu` is no level") && error.ends_with("did you mean `debug`?"), "{error}");
        for text in ["rmcp", "rmcp=loud", "info,,", "a b=info,c", "[=info"] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
    }
}
