//! Checks `x-mcp-header`: clients drop a tool in which it is misplaced.

use serde_json::{Map, Value};

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::yaml::Location;
use crate::yaml::pointer::join as join_pointer;

const MCP_HEADER_KEYWORD: &str = "x-mcp-header";

/// An error at a place of the schema.
struct HeaderError {
    pointer: String,
    message: String,
    help: &'static str,
}

/// Reports errors of the headers in a tool's schema; `place` locates a pointer into it.
pub(in crate::catalog) fn check(
    schema: &Map<String, Value>,
    place: impl Fn(&str, &Compiler<'_>) -> Location,
    compiler: &mut Compiler<'_>,
) {
    if !has_mcp_headers(schema) {
        return;
    }
    let mut headers = HeaderChecker::default();
    headers.check_schema(schema, String::new(), SchemaPosition::Root);
    for error in headers.errors {
        let at = place(&error.pointer, compiler);
        compiler.error(Code::BadValue, at, error.message).help(error.help);
    }
}

/// Whether a schema has `x-mcp-header` anywhere.
pub(crate) fn has_mcp_headers(schema: &Map<String, Value>) -> bool {
    schema.iter().any(|(key, value)| key == MCP_HEADER_KEYWORD || value_has_mcp_headers(value))
}

fn value_has_mcp_headers(value: &Value) -> bool {
    match value {
        Value::Object(schema) => has_mcp_headers(schema),
        Value::Array(items) => items.iter().any(value_has_mcp_headers),
        _ => false,
    }
}

/// The position of a subschema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaPosition {
    Root,
    /// From the root through `properties` alone.
    Property,
    Nested,
}

#[derive(Default)]
struct HeaderChecker {
    /// The headers seen so far, in lower case.
    seen: Vec<String>,
    errors: Vec<HeaderError>,
}

impl HeaderChecker {
    fn check_schema(&mut self, schema: &Map<String, Value>, pointer: String, position: SchemaPosition) {
        if let Some(header) = schema.get(MCP_HEADER_KEYWORD) {
            self.check_header(header, schema, format!("{pointer}/{MCP_HEADER_KEYWORD}"), position);
        }
        for (key, value) in schema {
            let pointer = join_pointer(&pointer, key);
            match key.as_str() {
                "properties" => {
                    let inner = if position == SchemaPosition::Nested {
                        SchemaPosition::Nested
                    } else {
                        SchemaPosition::Property
                    };
                    self.check_each(value, &pointer, inner);
                }
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                    self.check_each(value, &pointer, SchemaPosition::Nested);
                }
                // Values, and no schemas.
                "default" | "const" | "enum" | "examples" => {}
                _ => self.check_value(value, pointer),
            }
        }
    }

    fn check_each(&mut self, schemas: &Value, pointer: &str, position: SchemaPosition) {
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            if let Value::Object(schema) = schema {
                self.check_schema(schema, join_pointer(pointer, name), position);
            }
        }
    }

    fn check_value(&mut self, value: &Value, pointer: String) {
        match value {
            Value::Object(schema) => self.check_schema(schema, pointer, SchemaPosition::Nested),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(nth, item)| self.check_value(item, format!("{pointer}/{nth}")));
            }
            _ => {}
        }
    }

    fn check_header(&mut self, header: &Value, schema: &Map<String, Value>, pointer: String, position: SchemaPosition) {
        let mut error = |message: String, help| {
            self.errors.push(HeaderError { pointer: pointer.clone(), message, help });
        };
        if position != SchemaPosition::Property {
            return error(
                "`x-mcp-header` is only allowed on an argument or a property of one".to_owned(),
                "put it on a property that is reached through `properties` only",
            );
        }
        let Some(name) = header.as_str().filter(|name| !name.is_empty() && name.chars().all(is_token)) else {
            let words = format!("invalid header name `{header}`");
            return error(words, "use letters, digits and `-`, such as `Region`: it is sent as `Mcp-Param-Region`");
        };
        if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return error(
                "invalid type for `x-mcp-header`, expected `string`, `integer` or `boolean`".to_owned(),
                "set the `type` of the argument to one of these",
            );
        }
        let folded = name.to_ascii_lowercase();
        if self.seen.contains(&folded) {
            let words = format!("duplicate header `{name}` (header names are case-insensitive)");
            return error(words, "give each argument its own header");
        }
        self.seen.push(folded);
    }
}

/// The characters of a header name (RFC 9110, 5.6.2).
fn is_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}
