//! Redacts whole JSON-RPC messages, field by field.

use std::collections::HashSet;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::{InputEnd, Redactor};

/// The minimum length of a text that is decoded as base64; the forms of base64 are found in shorter ones.
const MIN_BASE64_BYTES: usize = 16;

/// Keys whose values the peer sent, or must send back unchanged.
const ECHOED_KEYS: &[&str] =
    &["progressToken", "requestId", "requestState", "taskId", "io.modelcontextprotocol/subscriptionId"];

/// Keys of values outside of the protocol.
const USER_DATA_KEYS: &[&str] = &["structuredContent", "data"];

/// Keys of base64 in the protocol.
const BASE64_KEYS: &[&str] = &["blob", "data"];

/// Keys of numbers in the protocol.
const NUMBER_KEYS: &[&str] = &["code", "priority", "progress", "size", "total", "ttl", "ttlMs", "pollInterval"];

/// The words of the protocol, which are never redacted.
static PROTOCOL_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("protocol_words.txt").split_whitespace().collect());

impl Redactor {
    /// Redacts a JSON-RPC message, or a list of them.
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

    /// Redacts a value that one entry gets from another.
    pub fn redact_value(&self, value: &mut Value) {
        if !self.is_empty() {
            ValueRedactor { redactor: self, key: "", is_user_data: true }.redact(value);
        }
    }

    /// Redacts a message, except its id, which the caller chose.
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

    /// The redacted text, if it is base64 of bytes with a secret.
    fn redacted_base64(&self, text: &str) -> Option<String> {
        let mut bytes = decode_base64(text.as_bytes()).filter(|bytes| self.has_secret(bytes))?;
        self.redact_bytes(&mut bytes, InputEnd::Complete);
        Some(base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

/// Redacts a value in a message.
#[derive(Clone, Copy)]
struct ValueRedactor<'a> {
    redactor: &'a Redactor,
    /// The key of the value, or of its list.
    key: &'a str,
    /// Whether it is outside of the protocol.
    is_user_data: bool,
}

impl ValueRedactor<'_> {
    fn redact(self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let bytes = if BASE64_KEYS.contains(&self.key) { self.redactor.redacted_base64(text) } else { None };
                if let Some(hidden) = bytes.or_else(|| self.redact_name(text)) {
                    *text = hidden;
                }
            }
            Value::Number(number) if self.is_user_data || !NUMBER_KEYS.contains(&self.key) => {
                if let Some(hidden) = self.redactor.redacted_text(&number.to_string()) {
                    *value = hidden.into();
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|item| self.redact(item)),
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

    fn redact_name(self, text: &str) -> Option<String> {
        if !self.is_user_data && (PROTOCOL_WORDS.contains(text) || self.redactor.public_names.contains(text)) {
            return None;
        }
        self.redactor.redacted_text(text)
    }
}

fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    // The first characters of most texts are not base64.
    let fine = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    if !text.get(..MIN_BASE64_BYTES)?.iter().all(fine) {
        return None;
    }
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}
