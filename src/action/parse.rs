//! `parse`: output as a value.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::outcome::{ActionError, OutcomeBody, trimmed};
use super::csv::{CsvFault, CsvFields};
use crate::budget::{self, Budget, BudgetExceeded, MAX_MEMORY, json_memory_size};
use crate::files::{is_mime_type, known_media_type, mime_of};
use crate::world::CapturedBytes;
use crate::yaml::Spanned;

/// How many items an output may have.
const MAX_ITEMS: usize = 1_000_000;
/// How many columns a CSV may have.
const MAX_COLUMNS: usize = 16_384;
/// How many bytes the names of columns may take in all rows of a CSV together.
const MAX_COLUMN_NAME_BYTES: usize = 32 << 20;

/// How output is parsed. What is not of this form is an error, which names the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParseFormat {
    /// One JSON value.
    Json,
    /// A JSON value in each line. Empty lines are left out.
    Jsonl,
    /// Comma-separated values (RFC 4180): the first line has the names of the columns, each other line is an object of texts.
    Csv,
    /// The lines, as texts.
    Lines,
}

/// How an action parses its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputFormat {
    /// As JSON if it looks like it.
    Detect,
    /// Not at all: it would take too much memory, and no one has asked for its value.
    Unparsed,
    /// As JSON where it is, for a value that is checked later.
    JsonIfValid,
    /// As written.
    Fixed(ParseFormat),
}

/// What the output of an action is.
#[derive(Debug)]
pub(super) enum ParsedOutput {
    /// JSON, as it is written.
    Json(Value),
    /// An item for each line or record.
    List(Value),
    Text,
    /// Bytes of a media type.
    Bytes(String),
}

impl ParsedOutput {
    /// The output as a value, where it is JSON.
    pub(super) fn to_json(&self, output: &CapturedBytes) -> Option<Value> {
        match self {
            ParsedOutput::Json(value) | ParsedOutput::List(value) => Some(value.clone()),
            // A scalar is JSON, but shown as the text that it is.
            ParsedOutput::Text if !output.is_truncated() => {
                let text = output.text()?.trim();
                if text.starts_with(['{', '[']) { None } else { serde_json::from_str(text).ok() }
            }
            ParsedOutput::Text | ParsedOutput::Bytes(_) => None,
        }
    }

    /// The body of the outcome, which the output becomes.
    pub(super) fn into_body(self, output: CapturedBytes) -> OutcomeBody {
        match self {
            ParsedOutput::Json(value) => OutcomeBody::Json(value, trimmed(output.into_text())),
            ParsedOutput::List(list) => {
                let text = list.to_string();
                OutcomeBody::Json(list, text)
            }
            ParsedOutput::Text => OutcomeBody::Text(output.into_display_text()),
            ParsedOutput::Bytes(mime_type) => OutcomeBody::Bytes(output.bytes, mime_type),
        }
    }
}

impl OutputFormat {
    /// The format that is written, else JSON if a value is wanted.
    pub(super) fn new(written: Option<&Spanned<ParseFormat>>, wants_json: bool) -> OutputFormat {
        match written {
            Some(format) => OutputFormat::Fixed(format.value),
            None if wants_json => OutputFormat::JsonIfValid,
            None => OutputFormat::Detect,
        }
    }

    /// Holds memory for the value of output before it is parsed. What only looks like JSON stays text where there is no room
    /// for its value. `effect` says in errors what was done.
    ///
    /// # Errors
    /// As those of [`Budget::hold_when_free`], and a value that is needed and has no room.
    pub(super) async fn hold_value(
        self,
        output: &[u8],
        budget: &Budget,
        effect: &str,
    ) -> Result<OutputFormat, ActionError> {
        let has_value = match self {
            OutputFormat::Detect => matches!(output.trim_ascii_start().first(), Some(b'{' | b'[')),
            OutputFormat::Fixed(_) | OutputFormat::JsonIfValid => true,
            OutputFormat::Unparsed => false,
        };
        if !has_value {
            return Ok(self);
        }
        // In the outcome and in its body.
        match budget.hold_when_free(json_memory_size(output).saturating_mul(2)).await {
            Ok(()) => Ok(self),
            Err(BudgetExceeded::Memory) if self == OutputFormat::Detect => Ok(OutputFormat::Unparsed),
            Err(BudgetExceeded::Memory) => {
                let found = format!("output too large to parse: its {} bytes", output.len());
                let words =
                    format!("{found} take more memory as values than the {} MiB of a call\n{effect}", MAX_MEMORY >> 20);
                Err(ActionError::message(words))
            }
            Err(why) => Err(ActionError::limit_error_after(why, effect)),
        }
    }

    /// Parses output of which at most `limit` bytes are kept.
    ///
    /// # Errors
    /// It is not of this format, or truncated, or the call ends.
    pub(super) fn parse(
        self,
        bytes: &CapturedBytes,
        mime_type: Option<&str>,
        limit: u64,
    ) -> Result<ParsedOutput, ActionError> {
        let parse_items = match self {
            OutputFormat::Detect => return parse_output(bytes, mime_type, false, limit),
            OutputFormat::Unparsed => return Ok(ParsedOutput::Text),
            OutputFormat::JsonIfValid => {
                let parsed = parse_output(bytes, mime_type, true, limit);
                return parsed.or_else(|_| parse_output(bytes, mime_type, false, limit));
            }
            OutputFormat::Fixed(ParseFormat::Json) => return parse_output(bytes, mime_type, true, limit),
            OutputFormat::Fixed(ParseFormat::Jsonl) => parse_json_lines,
            OutputFormat::Fixed(ParseFormat::Csv) => parse_csv,
            OutputFormat::Fixed(ParseFormat::Lines) => parse_lines,
        };
        if bytes.is_truncated() {
            return Err(ActionError::truncated("output", bytes, limit));
        }
        let text = bytes.text().ok_or_else(|| ActionError::message("invalid output: not UTF-8".to_owned()))?;
        parse_items(text).map(|items| ParsedOutput::List(Value::Array(items)))
    }
}

/// Parses output as JSON where it should be, says so or looks like it.
///
/// # Errors
/// Truncated JSON, and output that is not JSON as it should be.
fn parse_output(
    bytes: &CapturedBytes,
    mime_type: Option<&str>,
    wants_json: bool,
    limit: u64,
) -> Result<ParsedOutput, ActionError> {
    let mime_type = mime_type.filter(|mime_type| is_mime_type(mime_type));
    if let Some(mime_type) = mime_type.filter(|mime_type| !wants_json && is_media(mime_type)) {
        return Ok(binary_output(bytes, Some(mime_type)));
    }
    let Some(text) = bytes.text() else {
        if wants_json {
            return Err(ActionError::invalid_json("not UTF-8"));
        }
        return Ok(binary_output(bytes, mime_type));
    };
    let trimmed = text.trim();
    let says_json = mime_type.is_some_and(|mime| mime.contains("json"));
    let looks_json = wants_json || says_json || trimmed.starts_with(['{', '[']);
    if !looks_json || trimmed.is_empty() && !wants_json {
        return Ok(ParsedOutput::Text);
    }
    match serde_json::from_str(trimmed) {
        Ok(value) => Ok(ParsedOutput::Json(value)),
        // Truncated output that begins as JSON was JSON.
        Err(error) if bytes.is_truncated() && (wants_json || says_json || error.is_eof()) => {
            Err(ActionError::truncated("JSON", bytes, limit))
        }
        Err(error) if wants_json => Err(ActionError::invalid_json(&invalid_json_message(trimmed, &error))),
        Err(_) => Ok(ParsedOutput::Text),
    }
}

/// What is wrong with JSON; lines of JSON are another format.
fn invalid_json_message(text: &str, error: &serde_json::Error) -> String {
    let is_lines =
        error.line() > 1 && text.lines().next().is_some_and(|line| serde_json::from_str::<Value>(line).is_ok());
    if is_lines { format!("{error}; if each line is JSON, write `parse: jsonl`") } else { error.to_string() }
}

/// Output that is not UTF-8: bytes with a media type, or marked text if truncated.
fn binary_output(bytes: &CapturedBytes, mime_type: Option<&str>) -> ParsedOutput {
    if bytes.is_truncated() {
        return ParsedOutput::Text;
    }
    ParsedOutput::Bytes(match mime_type.filter(|mime| !mime.starts_with("text/")) {
        Some(said) => known_media_type(&bytes.bytes, said).unwrap_or(said).to_owned(),
        None => mime_of("", &bytes.bytes).to_owned(),
    })
}

/// Whether a type is never text, even where its bytes happen to be UTF-8. SVG is text.
fn is_media(mime_type: &str) -> bool {
    let is_text = mime_type.ends_with("+xml");
    !is_text && ["image/", "audio/", "video/"].iter().any(|kind| mime_type.starts_with(kind))
}

fn parse_lines(text: &str) -> Result<Vec<Value>, ActionError> {
    let mut items = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        budget::tick()?;
        push_item(&mut items, Value::from(line), number)?;
    }
    Ok(items)
}

fn parse_json_lines(text: &str) -> Result<Vec<Value>, ActionError> {
    let mut items = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        budget::tick()?;
        let value = serde_json::from_str(line).map_err(|error| {
            // The position is within the line.
            let reason = error.to_string().replace(" at line 1 column ", " at column ");
            invalid("JSON", number, &reason)
        })?;
        push_item(&mut items, value, number)?;
    }
    Ok(items)
}

fn parse_csv(text: &str) -> Result<Vec<Value>, ActionError> {
    let mut csv = CsvFields::new(text);
    let Some((names, _)) = next_record(&mut csv)? else { return Ok(Vec::new()) };
    check_columns(&names)?;
    let name_bytes: usize = names.iter().map(|name| name.len() + size_of::<Value>()).sum();
    let mut items = Vec::new();
    while let Some((fields, line)) = next_record(&mut csv)? {
        if fields.len() != names.len() {
            let reason = format!("expected {} fields, found {}", names.len(), fields.len());
            return Err(invalid("CSV", line, &reason));
        }
        if name_bytes.saturating_mul(items.len()) > MAX_COLUMN_NAME_BYTES {
            return Err(invalid("CSV", line, "the names of the columns take too much, in all rows together"));
        }
        let row: Map<String, Value> = names.iter().cloned().zip(fields.into_iter().map(Value::from)).collect();
        push_item(&mut items, Value::Object(row), line)?;
    }
    Ok(items)
}

fn check_columns(names: &[String]) -> Result<(), ActionError> {
    if names.len() > MAX_COLUMNS {
        let reason = format!("too many columns: {}, and the limit is {MAX_COLUMNS}", names.len());
        return Err(invalid("CSV", 1, &reason));
    }
    let mut seen = HashSet::with_capacity(names.len());
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(invalid("CSV", 1, &format!("duplicate column `{name}`"))),
        None => Ok(()),
    }
}

fn push_item(items: &mut Vec<Value>, item: Value, line: usize) -> Result<(), ActionError> {
    if items.len() == MAX_ITEMS {
        let words = format!("invalid output: line {line} is over the limit of {MAX_ITEMS} items");
        return Err(ActionError::message(words));
    }
    items.push(item);
    Ok(())
}

fn invalid(format: &str, line: usize, reason: &str) -> ActionError {
    ActionError::message(format!("invalid {format} in line {line} of the output: {reason}"))
}

/// The next record of a CSV, with the line that it begins in.
fn next_record(csv: &mut CsvFields<'_>) -> Result<Option<(Vec<String>, usize)>, ActionError> {
    let (mut fields, mut first_line) = (Vec::new(), None);
    for field in csv {
        budget::tick()?;
        let quoted_lines = field.text.matches('\n').count();
        match field.fault {
            Some(CsvFault::UnclosedQuote) => return Err(invalid("CSV", field.line, "unclosed quote")),
            Some(CsvFault::TextAfterQuotes) => {
                let reason = "expected `,` or the end of the line after a quoted field";
                return Err(invalid("CSV", field.line + quoted_lines, reason));
            }
            None => fields.push(field.text),
        }
        let line = *first_line.get_or_insert(field.line);
        if field.ends_record {
            return Ok(Some((fields, line)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn csv(text: &str) -> Result<Value, String> {
        parse_csv(text).map(Value::Array).map_err(|error| error.to_string())
    }

    #[test]
    fn csv_follows_rfc_4180() {
        for (text, rows) in [
            ("", json!([])),
            ("a,b\n", json!([])),
            ("a,b\n1,2\n3,4", json!([{ "a": "1", "b": "2" }, { "a": "3", "b": "4" }])),
            ("a,b\r\n1,\r\n\r\n,2\r\n", json!([{ "a": "1", "b": "" }, { "a": "", "b": "2" }])),
            ("a,b\n\"x, y\",\"say \"\"hi\"\"\"\n", json!([{ "a": "x, y", "b": "say \"hi\"" }])),
            ("a\n\"two\nlines\"\n", json!([{ "a": "two\nlines" }])),
            ("a,b\n1,\"\"", json!([{ "a": "1", "b": "" }])),
        ] {
            assert_eq!(csv(text), Ok(rows), "{text:?}");
        }
    }

    #[test]
    fn bad_line_is_named() {
        for (text, reason) in [
            ("a,b\n1,2\n3\n", "invalid CSV in line 3 of the output: expected 2 fields, found 1"),
            ("a\n\"x\ny\"\n\"z", "invalid CSV in line 4 of the output: unclosed quote"),
            (
                "a\n\"x\"y\n",
                "invalid CSV in line 2 of the output: expected `,` or the end of the line after a quoted field",
            ),
            ("a,a\n", "invalid CSV in line 1 of the output: duplicate column `a`"),
        ] {
            assert_eq!(csv(text), Err(reason.to_owned()), "{text:?}");
        }
        let error = parse_json_lines("1\n\n{\n").unwrap_err().to_string();
        assert!(error.starts_with("invalid JSON in line 3 of the output: EOF while parsing"), "{error}");
        let wide = format!("{}\n{}", "n".repeat(1 << 20), "x\n".repeat(40));
        assert!(csv(&wide).unwrap_err().contains("line 34"), "the names of columns are bounded");
        let columns = (0..20_000).map(|name| name.to_string()).collect::<Vec<_>>().join(",");
        assert!(csv(&columns).unwrap_err().ends_with("too many columns: 20000, and the limit is 16384"));
    }

    proptest! {
        #[test]
        fn quoted_fields_arrive_exactly(fields in prop::collection::vec(any::<String>(), 1..4), rows in 1_usize..4) {
            let quoted = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
            let names: Vec<String> = (0..fields.len()).map(|at| format!("c{at}")).collect();
            let line = fields.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = format!("{}\n{}", names.join(","), format!("{line}\n").repeat(rows));
            let row: Map<String, Value> = names.into_iter().zip(fields.into_iter().map(Value::from)).collect();
            prop_assert_eq!(csv(&text), Ok(Value::Array(vec![Value::Object(row); rows])));
        }

        #[test]
        fn no_text_is_read_without_end(text in "[a,\"\r\n]{0,40}") {
            let _ = csv(&text);
        }
    }
}
