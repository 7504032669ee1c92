//! Compiles JSON Schemas, with the files of the pack that they refer to.

use std::cell::RefCell;
use std::path::Path;

use serde_json::Value;

use super::{Compiler, MAX_FILE_BYTES, ShellVariableContext};
use crate::diagnostic::{Code, Severity, bytes_without_byte_order_mark};
use crate::digest::sha256;
use crate::files::normalize;
use crate::schema::{Schema, SchemaError};
use crate::template::Shape;
use crate::value_types::Json;
use crate::yaml::{Location, Spanned, parse, parse_json, pointer};

/// A JSON value, the location of its root, and the folder of its relative references.
#[derive(Debug, Clone)]
pub struct LocatedJson {
    pub value: Value,
    /// The location of its root.
    pub location: Location,
    /// The folder of its file, relative to the pack's.
    pub folder: std::path::PathBuf,
}

impl Compiler<'_> {
    /// A JSON value that is written in place, or the content of the file that it names.
    pub fn json_value(&mut self, json: &Spanned<Json>) -> Option<LocatedJson> {
        let Some(path) = json.file() else {
            return Some(LocatedJson { value: json.0.clone(), location: json.location, folder: self.base.to_owned() });
        };
        let path = path.to_owned();
        let at = self.load_context.documents.value_at(json.location, "/file");
        let text = self.read_text_file(&Spanned::new(path.clone(), at))?;
        let is_json = Path::new(&path).extension().is_some_and(|extension| extension == "json");
        let parser = if is_json { parse_json } else { parse };
        let document = parser(text.location.file(), &mut self.load_context.report)?;
        let value = document.json(document.root());
        let folder = self.base.join(&path).parent().map(Path::to_owned).unwrap_or_default();
        Some(LocatedJson { value, location: self.load_context.documents.add(document), folder })
    }

    /// Compiles a schema and reports its errors.
    pub fn schema(&mut self, located: LocatedJson) -> Option<Schema> {
        match self.try_schema(located.value, &located.folder) {
            Ok(schema) => Some(schema),
            Err(errors) => {
                for error in errors {
                    self.report_schema_error(error, located.location, Severity::Error);
                }
                None
            }
        }
    }

    /// Compiles a schema with the files of the pack that it refers to, relative to `base`.
    ///
    /// # Errors
    /// All errors of the schema.
    pub fn try_schema(&mut self, schema: Value, base: &Path) -> Result<Schema, Vec<SchemaError>> {
        let read_paths = RefCell::new(Vec::new());
        let digests = RefCell::new(Vec::new());
        let folder = &self.pack.folder;
        let refs = |uri: &str| -> Option<Value> {
            let path = normalize(&base.join(uri).to_string_lossy()).ok()?;
            read_paths.borrow_mut().push(folder.path().join(&path));
            let bytes = folder.read(&path, MAX_FILE_BYTES).ok()?;
            digests.borrow_mut().push(sha256(&bytes));
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("yaml" | "yml") => yaml_value(&bytes),
                _ => serde_json::from_slice(bytes_without_byte_order_mark(&bytes)).ok(),
            }
        };
        let compiled = Schema::compile(schema, &refs);
        self.load_context.dependencies.files.extend(read_paths.into_inner());
        self.load_context.content_digests.extend(digests.into_inner());
        compiled
    }

    /// Warns of what looks like a template in the texts of a schema at `at`, which are listed as they are written.
    pub fn warn_unexpanded_schema(&mut self, schema: &Value, at: Location) {
        let Some(keywords) = schema.as_object().filter(|_| may_have_variables(schema)) else { return };
        for (key, value) in keywords {
            let below = self.load_context.documents.value_at(at, &pointer::join("", key));
            match key.as_str() {
                "title" | "description" | "default" | "const" | "enum" | "examples" | "enumNames" | "complete" => {
                    self.warn_unexpanded_texts(value, below);
                }
                "properties" | "patternProperties" | "$defs" | "definitions" | "allOf" | "anyOf" | "oneOf" => {
                    for (key, schema) in children(value) {
                        let at = self.load_context.documents.value_at(below, &pointer::join("", &key));
                        self.warn_unexpanded_schema(schema, at);
                    }
                }
                "items" | "additionalProperties" | "not" | "if" | "then" | "else" => {
                    self.warn_unexpanded_schema(value, below);
                }
                _ => {}
            }
        }
    }

    fn warn_unexpanded_texts(&mut self, value: &Value, at: Location) {
        match value {
            Value::String(text) => {
                self.warn_shell_variables(&Spanned::new(text.clone(), at), ShellVariableContext::NoTemplate)
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.warn_unexpanded_texts(item, self.load_context.documents.value_at(at, &format!("/{index}")));
                }
            }
            _ => {}
        }
    }

    /// Reports an error of a schema at `location`.
    pub fn report_schema_error(&mut self, error: SchemaError, location: Location, severity: Severity) {
        let span = self.load_context.documents.value_at(location, &error.at).span();
        self.load_context.report.add_located(severity, Code::Schema, span, error);
    }
}

/// Whether any text in a value may have what another program expands. Most have none.
fn may_have_variables(value: &Value) -> bool {
    match value {
        Value::String(text) => ShellVariableContext::NoTemplate.may_find(text),
        Value::Array(items) => items.iter().any(may_have_variables),
        Value::Object(fields) => fields.values().any(may_have_variables),
        _ => false,
    }
}

/// The values in a map or list, with their keys.
fn children(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        _ => Vec::new(),
    }
}

fn yaml_value(bytes: &[u8]) -> Option<Value> {
    let mut report = crate::diagnostic::Report::default();
    let file = crate::yaml::decode(bytes, "", &mut report)?;
    let document = parse(file, &mut report)?;
    (!report.has_errors()).then(|| document.json(document.root()))
}

/// The shape of the values that a schema allows, for templates.
pub fn shape_of(schema: &Value) -> Shape {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => Shape::Text,
        Some("integer" | "number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        Some("array") => Shape::list(schema.get("items").map_or(Shape::Any, shape_of)),
        Some("object") => object_shape(schema),
        _ => Shape::Any,
    }
}

fn object_shape(schema: &Value) -> Shape {
    let properties = schema.get("properties").and_then(Value::as_object);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    match properties {
        Some(properties) if closed => {
            Shape::object(properties.iter().map(|(name, schema)| (name.clone(), shape_of(schema))))
        }
        _ => Shape::Map(Box::new(Shape::Any)),
    }
}
