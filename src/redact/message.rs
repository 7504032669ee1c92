//! Whole messages: what no field can escape.

use std::collections::HashSet;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::{End, Redactor};

/// Shorter texts are not read as base64: the forms of a secret in base64 are known without that.
const SHORTEST_BASE64: usize = 16;

/// What the other side has said, or has to say again as it was: it cannot tell anybody anything new.
const ECHOED: &[&str] =
    &["progressToken", "requestId", "requestState", "taskId", "io.modelcontextprotocol/subscriptionId"];

/// Where values stand that are no part of the protocol.
const FREE: &[&str] = &["structuredContent", "data"];

/// Where the protocol has bytes.
const BYTES: &[&str] = &["blob", "data"];

/// Where the protocol has numbers, which are folio's and the author's own.
const NUMBERS: &[&str] = &["code", "priority", "progress", "size", "total", "ttl", "ttlMs", "pollInterval"];

/// The words of the protocol: without them it would be none, and they tell nobody anything.
static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("words.txt").split_whitespace().collect());

impl Redactor {
    /// Hides the secrets in a message, or in a list of messages, in JSON.
    pub fn message(&self, message: Vec<u8>) -> Vec<u8> {
        if self.is_empty() || !self.finds(&message) {
            return message;
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&message) else {
            let mut bytes = message;
            self.hide(&mut bytes, End::Whole);
            return bytes;
        };
        match &mut value {
            Value::Array(list) => list.iter_mut().for_each(|one| self.envelope(one)),
            one => self.envelope(one),
        }
        serde_json::to_vec(&value).unwrap_or_default()
    }

    /// Hides the secrets in a value that one entry takes from another.
    pub fn value(&self, value: &mut Value) {
        if !self.is_empty() {
            Place { redactor: self, key: "", free: true }.hide(value);
        }
    }

    /// The id is the caller's own word for what it asked.
    fn envelope(&self, message: &mut Value) {
        let id = message.get_mut("id").map(Value::take);
        Place { redactor: self, key: "", free: false }.hide(message);
        if let (Some(id), Some(place)) = (id, message.get_mut("id")) {
            *place = id;
        }
    }

    fn hidden(&self, text: &str) -> Option<String> {
        match self.text(text) {
            std::borrow::Cow::Owned(hidden) => Some(hidden),
            std::borrow::Cow::Borrowed(_) => None,
        }
    }

    /// The text again, when it is base64 of bytes that hold a secret.
    fn hidden_in_base64(&self, text: &str) -> Option<String> {
        let mut bytes = decoded(text.as_bytes()).filter(|bytes| self.finds(bytes))?;
        self.hide(&mut bytes, End::Whole);
        Some(base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

/// Where a value stands in a message.
#[derive(Clone, Copy)]
struct Place<'a> {
    redactor: &'a Redactor,
    /// The key of it, or of the list that it is in.
    key: &'a str,
    /// Whether nothing there is the protocol's.
    free: bool,
}

impl Place<'_> {
    fn hide(self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(hidden) = self.text(text) {
                    *text = hidden;
                }
            }
            Value::Number(number) if self.free || !NUMBERS.contains(&self.key) => {
                if let Some(hidden) = self.redactor.hidden(&number.to_string()) {
                    *value = hidden.into();
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|one| self.hide(one)),
            Value::Object(fields) => self.fields(fields),
            _ => {}
        }
    }

    fn fields(self, fields: &mut Map<String, Value>) {
        for (key, field) in &mut *fields {
            if !self.free && ECHOED.contains(&key.as_str()) {
                continue;
            }
            let free = self.free || FREE.contains(&key.as_str());
            Place { key, free, ..self }.hide(field);
        }
        if fields.keys().any(|key| self.name(key).is_some()) {
            let renamed = std::mem::take(fields).into_iter();
            *fields = renamed.map(|(key, field)| (self.name(&key).unwrap_or(key), field)).collect();
        }
    }

    fn text(self, text: &str) -> Option<String> {
        if BYTES.contains(&self.key) {
            return self.redactor.hidden_in_base64(text).or_else(|| self.name(text));
        }
        self.name(text)
    }

    fn name(self, text: &str) -> Option<String> {
        if !self.free && (WORDS.contains(text) || self.redactor.names.contains(text)) {
            return None;
        }
        self.redactor.hidden(text)
    }
}

/// What a text is base64 of.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    // Most texts are told by their first letters to be something else.
    let fine = |byte: &u8| super::form::sextet(*byte).is_some();
    if !text.get(..SHORTEST_BASE64)?.iter().all(fine) {
        return None;
    }
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}
