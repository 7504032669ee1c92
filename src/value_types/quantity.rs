//! Durations (`250ms 10s 5m 1h`) and sizes (`64KiB 1MiB`).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A duration: a number with `ms`, `s`, `m` or `h`, such as `10s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename = "$Duration")]
pub struct Duration(u64);

impl Duration {
    /// As the standard library's type.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(ms|s|m|h)$",
            "errorMessage": "expected a number with `ms`, `s`, `m` or `h`, such as `10s`",
            "examples": ["10s"],
        })
    }
}

/// A size: a number with `B`, `KiB`, `MiB` or `GiB`, such as `64KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename = "$Size")]
pub struct Size(u64);

impl Size {
    /// The number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(B|KiB|MiB|GiB)$",
            "errorMessage": "expected a number with `B`, `KiB`, `MiB` or `GiB`, such as `64KiB`",
            "examples": ["64KiB"],
        })
    }
}
