//! One pass that brings Swagger 2.0 and OpenAPI 3.0 to OpenAPI 3.1, and their schemas to JSON Schema 2020-12.
//!
//! What a `$ref` may name stays where it is, so that references and the places of warnings hold.

use serde_json::{Map, Value};

use super::document::{DocumentFile, object, referenced_path};
use super::operation::METHODS;
use crate::uri::percent_decode_lossy;
use crate::yaml::pointer::join;

/// Keys whose values are data of the API, and no part of the description.
const DATA_KEYS: &[&str] = &["default", "enum", "const", "example", "examples"];
/// Keys of maps from names to schemas or other objects.
const NAMED_KEYS: &[&str] =
    &["properties", "patternProperties", "definitions", "schemas", "$defs", "paths", "parameters"];
/// Keys of a parameter of Swagger 2 that say where it goes; all others are its schema.
const PARAMETER_KEYS: &[&str] =
    &["name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema", "style", "explode"];

/// Brings all files of a description to the present dialect.
pub(super) fn modernize(files: &mut [DocumentFile], is_swagger_2: bool) {
    if is_swagger_2 {
        let bodies: Vec<Vec<(String, Value)>> = files.iter().map(|file| request_bodies(file, files)).collect();
        for (file, bodies) in files.iter_mut().zip(bodies) {
            for (pointer, body) in bodies {
                let operation = file.value.pointer_mut(&pointer).and_then(Value::as_object_mut);
                operation.map(|operation| operation.insert("requestBody".to_owned(), body));
            }
        }
        if let Some(root) = files.first_mut().and_then(|file| file.value.as_object_mut()) {
            modernize_root(root);
        }
    }
    files.iter_mut().for_each(|file| modernize_value(&mut file.value, is_swagger_2));
}

/// The `servers` and `securitySchemes` of Swagger 2.
fn modernize_root(root: &mut Map<String, Value>) {
    let text = |key: &str| root.get(key).and_then(Value::as_str);
    let schemes: Vec<&str> =
        root.get("schemes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let scheme = if schemes.is_empty() || schemes.contains(&"https") { "https" } else { "http" };
    let base_path = text("basePath").unwrap_or("/");
    let url = match text("host") {
        Some(host) => format!("{scheme}://{host}/{}", base_path.trim_start_matches('/')),
        None => base_path.to_owned(),
    };
    root.insert("servers".to_owned(), vec![object([("url", url.into())])].into());
    let schemes = root.get_mut("securityDefinitions").and_then(Value::as_object_mut);
    for scheme in schemes.into_iter().flat_map(|all| all.values_mut()).filter_map(Value::as_object_mut) {
        if scheme.get("type").is_some_and(|kind| kind == "basic") {
            scheme.insert("type".to_owned(), "http".into());
            scheme.insert("scheme".to_owned(), "basic".into());
        }
        if let Some(flow) = scheme.get("flow").and_then(Value::as_str) {
            let name = match flow {
                "accessCode" => "authorizationCode",
                "application" => "clientCredentials",
                name => name,
            };
            let flow =
                scheme.iter().filter(|(key, _)| key.ends_with("Url")).map(|(key, url)| (key.clone(), url.clone()));
            let flows = object([(name, Value::Object(flow.collect()))]);
            scheme.insert("flows".to_owned(), flows);
        }
    }
}

/// The bodies of the operations of a file, which are parameters in Swagger 2: each with the pointer of its operation.
fn request_bodies(file: &DocumentFile, files: &[DocumentFile]) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), &file.value)];
    while let Some((pointer, value)) = open.pop() {
        let Some(map) = value.as_object() else { continue };
        for (key, inner) in map {
            let at = join(&pointer, key);
            if METHODS.iter().any(|(method, _)| method == key) && inner.is_object() {
                let parameters = [map.get("parameters"), inner.get("parameters")].into_iter().flatten();
                let parameters: Vec<&Value> = parameters
                    .filter_map(Value::as_array)
                    .flatten()
                    .map(|parameter| target(parameter, file, files).unwrap_or(parameter))
                    .collect();
                let consumes =
                    inner.get("consumes").or_else(|| files.first().and_then(|root| root.value.get("consumes")));
                let consumes: Vec<&str> =
                    consumes.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
                found.extend(request_body(&parameters, &consumes).map(|body| (at, body)));
            } else if pointer.matches('/').count() < 3 {
                open.push((at, inner));
            }
        }
    }
    found
}

/// What a `$ref` names.
fn target<'f>(value: &Value, file: &'f DocumentFile, files: &'f [DocumentFile]) -> Option<&'f Value> {
    let (path, pointer) = value.get("$ref")?.as_str()?.split_once('#')?;
    let file = match path {
        "" => file,
        path => {
            let path = referenced_path(&file.path, path)?;
            files.iter().find(|known| known.path == path)?
        }
    };
    file.value.pointer(&percent_decode_lossy(pointer))
}

fn request_body(parameters: &[&Value], consumes: &[&str]) -> Option<Value> {
    let place = |parameter: &&&Value, place: &str| parameter.get("in").is_some_and(|written| written == place);
    if let Some(body) = parameters.iter().find(|parameter| place(parameter, "body")) {
        let media = object([("schema", body.get("schema").cloned().unwrap_or_default())]);
        let types = if consumes.is_empty() { &["application/json"] } else { consumes };
        let content = types.iter().map(|kind| ((*kind).to_owned(), media.clone())).collect();
        let mut body = body.as_object()?.clone();
        body.insert("content".to_owned(), Value::Object(content));
        return Some(Value::Object(body));
    }
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    let mut has_file = false;
    for field in
        parameters.iter().filter(|parameter| place(parameter, "formData")).filter_map(|field| field.as_object())
    {
        let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
        let mut field = field.clone();
        has_file |= field.get("type").is_some_and(|kind| kind == "file");
        modernize_parameter(&mut field);
        let mut schema = field.shift_remove("schema").unwrap_or_default();
        if let (Some(schema), Some(text)) = (schema.as_object_mut(), field.get("description")) {
            schema.insert("description".to_owned(), text.clone());
        }
        if field.get("required") == Some(&Value::Bool(true)) {
            required.push(Value::from(name));
        }
        properties.insert(name.to_owned(), schema);
        encoding.insert(name.to_owned(), Value::Object(field));
    }
    if properties.is_empty() {
        return None;
    }
    let is_multipart = has_file || consumes.iter().any(|kind| kind.starts_with("multipart/"));
    let media_type = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let is_required = !required.is_empty();
    let schema =
        object([("type", "object".into()), ("properties", Value::Object(properties)), ("required", required.into())]);
    let media = object([("schema", schema), ("encoding", Value::Object(encoding))]);
    Some(object([("required", is_required.into()), ("content", object([(media_type, media)]))]))
}

/// Moves what a parameter of Swagger 2 says of its values into a schema.
fn modernize_parameter(parameter: &mut Map<String, Value>) {
    let is_query = parameter.get("in").is_some_and(|place| place == "query" || place == "formData");
    let style = match parameter.get("collectionFormat").and_then(Value::as_str) {
        None | Some("csv") => None,
        Some("multi") => is_query.then_some(("form", true)),
        Some("ssv") => Some(("spaceDelimited", false)),
        Some("tsv") => Some(("tabDelimited", false)),
        Some("pipes") => Some(("pipeDelimited", false)),
        Some(other) => Some((other, false)),
    };
    let (style, explodes) = style.unwrap_or((if is_query { "form" } else { "simple" }, false));
    parameter.insert("style".to_owned(), style.to_owned().into());
    parameter.insert("explode".to_owned(), explodes.into());
    let keys: Vec<String> = parameter.keys().filter(|key| !PARAMETER_KEYS.contains(&key.as_str())).cloned().collect();
    let schema: Map<String, Value> =
        keys.into_iter().filter_map(|key| parameter.shift_remove(&key).map(|value| (key, value))).collect();
    parameter.insert("schema".to_owned(), Value::Object(schema));
}

fn modernize_value(value: &mut Value, is_swagger_2: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| modernize_value(item, is_swagger_2)),
        Value::Object(map) => {
            let is_parameter =
                map.get("name").is_some_and(Value::is_string) && map.get("in").is_some_and(Value::is_string);
            if is_swagger_2 && is_parameter && !map.contains_key("schema") && map.get("in") != Some(&"body".into()) {
                modernize_parameter(map);
            }
            if let Some(Value::Object(responses)) = map.get_mut("responses").filter(|_| is_swagger_2) {
                for response in responses.values_mut().filter_map(Value::as_object_mut) {
                    if let Some(schema) = response.shift_remove("schema") {
                        let media = object([("schema", schema)]);
                        response.insert("content".to_owned(), object([("application/json", media)]));
                    }
                }
            }
            modernize_schema(map);
            let is_read = |key: &str| !DATA_KEYS.contains(&key) && key != "securityDefinitions";
            for (key, inner) in map.iter_mut().filter(|(key, _)| is_read(key)) {
                match inner {
                    // A property may have any name, that of a keyword too.
                    Value::Object(named) if NAMED_KEYS.contains(&key.as_str()) => {
                        named.values_mut().for_each(|inner| modernize_value(inner, is_swagger_2));
                    }
                    inner => modernize_value(inner, is_swagger_2),
                }
            }
        }
        _ => {}
    }
}

/// The keywords that earlier dialects write otherwise. An object that is no schema has none of them.
fn modernize_schema(map: &mut Map<String, Value>) {
    for (limit, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(Value::Bool(is_exclusive)) = map.get(exclusive) {
            let is_exclusive = *is_exclusive;
            map.shift_remove(exclusive);
            let bound = if is_exclusive { map.shift_remove(limit) } else { None };
            map.extend(bound.map(|bound| (exclusive.to_owned(), bound)));
        }
    }
    if map.get("type").is_some_and(|kind| kind == "file") {
        map.insert("type".to_owned(), "string".into());
        map.insert("format".to_owned(), "binary".into());
    }
    if let Some(Value::String(property)) = map.get("discriminator") {
        let property = object([("propertyName", property.as_str().into())]);
        map.insert("discriminator".to_owned(), property);
    }
    if map.get("items").is_some_and(Value::is_array) {
        map.shift_remove("items");
    }
    let is_nullable = ["nullable", "x-nullable"].iter().any(|key| map.get(*key) == Some(&Value::Bool(true)));
    if is_nullable && !map.contains_key("in") {
        ["nullable", "x-nullable"].iter().for_each(|key| _ = map.shift_remove(*key));
        match map.get_mut("type") {
            Some(Value::String(kind)) => {
                let types: Vec<Value> = vec![kind.as_str().into(), "null".into()];
                map.insert("type".to_owned(), types.into());
            }
            Some(Value::Array(types)) if !types.contains(&"null".into()) => types.push("null".into()),
            Some(_) => {}
            None => make_nullable(map),
        }
    }
}

/// A schema without a type, or null.
fn make_nullable(map: &mut Map<String, Value>) {
    let null = object([("type", "null".into())]);
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(alternatives)) = map.get_mut(key) {
            return alternatives.push(null);
        }
    }
    let description = map.shift_remove("description");
    let schema = std::mem::take(map);
    if !schema.is_empty() {
        map.insert("anyOf".to_owned(), vec![Value::Object(schema), null].into());
    }
    map.extend(description.map(|text| ("description".to_owned(), text)));
}
