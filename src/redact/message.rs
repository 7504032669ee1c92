//! Redacts whole JSON-RPC messages, field by field.

use std::collections::HashSet;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::{InputEnd, Redactor};

/// Shorter texts are not read as base64: the forms of a secret in base64 are known without that.
const MIN_BASE64_BYTES: usize = 16;

/// What the other side has said, or has to say again as it was: it cannot tell anybody anything new.
const ECHOED_KEYS: &[&str] =
    &["progressToken", "requestId", "requestState", "taskId", "io.modelcontextprotocol/subscriptionId"];

/// Where values stand that are no part of the protocol.
const USER_DATA_KEYS: &[&str] = &["structuredContent", "data"];

/// Where the protocol has bytes.
const BASE64_KEYS: &[&str] = &["blob", "data"];

/// Where the protocol has numbers, which are folio's and the author's own.
const NUMBER_KEYS: &[&str] = &["code", "priority", "progress", "size", "total", "ttl", "ttlMs", "pollInterval"];

/// The words of the protocol: without them it would be none, and they tell nobody anything.
static PROTOCOL_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("protocol_words.txt").split_whitespace().collect());

impl Redactor {
    /// Hides the secrets in a message, or in a list of messages, in JSON.
    pub fn redact_message(&self, message: Vec<u8>) -> Vec<u8> {
        if self.is_empty() || !self.has_secret(&message) {
            return message;
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&message) else {
            let mut bytes = message;
            self.redact_bytes(&mut bytes, InputEnd::Complete);
            return bytes;
        };
        match &mut value {
            Value::Array(list) => list.iter_mut().for_each(|one| self.redact_envelope(one)),
            one => self.redact_envelope(one),
        }
        serde_json::to_vec(&value).unwrap_or_default()
    }

    /// Hides the secrets in a value that one entry takes from another.
    pub fn redact_value(&self, value: &mut Value) {
        if !self.is_empty() {
            ValueRedactor { redactor: self, key: "", is_user_data: true }.redact(value);
        }
    }

    /// The id is the caller's own word for what it asked.
    fn redact_envelope(&self, message: &mut Value) {
        let id = message.get_mut("id").map(Value::take);
        ValueRedactor { redactor: self, key: "", is_user_data: false }.redact(message);
        if let (Some(id), Some(place)) = (id, message.get_mut("id")) {
            *place = id;
        }
    }

    fn redacted_text(&self, text: &str) -> Option<String> {
        match self.redact_text(text) {
            std::borrow::Cow::Owned(hidden) => Some(hidden),
            std::borrow::Cow::Borrowed(_) => None,
        }
    }

    /// The text again, when it is base64 of bytes that hold a secret.
    fn redacted_base64(&self, text: &str) -> Option<String> {
        let mut bytes = decode_base64(text.as_bytes()).filter(|bytes| self.has_secret(bytes))?;
        self.redact_bytes(&mut bytes, InputEnd::Complete);
        Some(base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

/// Where a value stands in a message.
#[derive(Clone, Copy)]
struct ValueRedactor<'a> {
    redactor: &'a Redactor,
    /// The key of it, or of the list that it is in.
    key: &'a str,
    /// Whether nothing there is the protocol's.
    is_user_data: bool,
}

impl ValueRedactor<'_> {
    fn redact(self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(hidden) = self.redact_string(text) {
                    *text = hidden;
                }
            }
            Value::Number(number) if self.is_user_data || !NUMBER_KEYS.contains(&self.key) => {
                if let Some(hidden) = self.redactor.redacted_text(&number.to_string()) {
                    *value = hidden.into();
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|one| self.redact(one)),
            Value::Object(fields) => self.redact_fields(fields),
            _ => {}
        }
    }

    fn redact_fields(self, fields: &mut Map<String, Value>) {
        for (key, field) in &mut *fields {
            if !self.is_user_data && ECHOED_KEYS.contains(&key.as_str()) {
                continue;
            }
            let free = self.is_user_data || USER_DATA_KEYS.contains(&key.as_str());
            ValueRedactor { key, is_user_data: free, ..self }.redact(field);
        }
        if fields.keys().any(|key| self.redact_name(key).is_some()) {
            let renamed = std::mem::take(fields).into_iter();
            *fields = renamed.map(|(key, field)| (self.redact_name(&key).unwrap_or(key), field)).collect();
        }
    }

    fn redact_string(self, text: &str) -> Option<String> {
        if BASE64_KEYS.contains(&self.key) {
            return self.redactor.redacted_base64(text).or_else(|| self.redact_name(text));
        }
        self.redact_name(text)
    }

    fn redact_name(self, text: &str) -> Option<String> {
        if !self.is_user_data && (PROTOCOL_WORDS.contains(text) || self.redactor.public_names.contains(text)) {
            return None;
        }
        self.redactor.redacted_text(text)
    }
}

/// What a text is base64 of.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    // Most texts are told by their first letters to be something else.
    let fine = |byte: &u8| super::pattern::base64_sextet(*byte).is_some();
    if !text.get(..MIN_BASE64_BYTES)?.iter().all(fine) {
        return None;
    }
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}
