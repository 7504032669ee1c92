//! The JSON Schema of the manifest: generated, checked in, valid, and consistent with the program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::documented_mistakes::{cases, check};
use crate::harness::*;

fn checked_in() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/folio.schema.json")
}

fn schema() -> Value {
    serde_json::from_str(&folio::generate_schema()).unwrap()
}

fn validator() -> jsonschema::Validator {
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema()).unwrap()
}

/// A manifest as the schema sees it.
fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// Run with `UPDATE=1` to write it anew.
#[test]
fn checked_in_schema_is_generated_from_the_types() {
    let generated = folio::generate_schema();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(checked_in(), &generated).unwrap();
    }
    let written = fs::read_to_string(checked_in()).unwrap();
    assert!(written == generated, "schemas/folio.schema.json is not that of the types; run the tests with UPDATE=1");
}

#[test]
fn program_prints_the_checked_in_schema() {
    let printed = run_folio(Path::new("/"), &["schema"]);
    assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""));
    assert!(printed.out == fs::read_to_string(checked_in()).unwrap(), "the program has another schema than the tests");
}

#[test]
fn schema_is_valid_draft_2020_12() {
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(jsonschema::meta::is_valid(&schema));
    validator();
}

/// Every schema under `properties`, with its path.
fn keys<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    match schema {
        Value::Object(object) => {
            for (name, value) in object {
                let path = format!("{path}/{name}");
                if name == "properties"
                    && let Some(properties) = value.as_object()
                {
                    for (key, value) in properties {
                        found.push((format!("{path}/{key}"), value));
                        keys(value, &format!("{path}/{key}"), found);
                    }
                } else {
                    keys(value, &path, found);
                }
            }
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| keys(value, &format!("{path}/{at}"), found))
        }
        _ => {}
    }
}

/// What `folio init` writes beside each manifest.
#[test]
fn schema_is_as_small_as_its_texts_allow() {
    let text = folio::generate_schema();
    assert!(text.len() < 152_000, "{} bytes", text.len());
    assert!(text.lines().count() > 50, "a line for each definition, so that differences can be read");
}

#[test]
fn every_schema_key_has_a_description() {
    let schema = schema();
    let mut found = Vec::new();
    keys(&schema, "", &mut found);
    assert!(found.len() > 100, "{}", found.len());
    let silent: Vec<&String> = found
        .iter()
        .filter(|(_, value)| {
            let has_text = ["description", "markdownDescription"].iter().any(|key| value[*key].is_string());
            value.is_object() && !has_text && !value["$ref"].is_string()
        })
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "keys without a description: {silent:#?}");
}

#[test]
fn every_example_validates_against_schema() {
    let validator = validator();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/servers");
    let mut folders = vec![examples];
    let mut seen = 0;
    let mut faults = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "folio.yaml") {
                seen += 1;
                let text = fs::read_to_string(&path).unwrap();
                let manifest = yaml(&text);
                faults.extend(
                    validator
                        .iter_errors(&manifest)
                        .map(|error| format!("{}: {}: {error}", path.display(), error.instance_path())),
                );
                if !text.starts_with("# yaml-language-server: $schema=") {
                    faults.push(format!("{}: does not begin with the modeline", path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(seen >= 5, "{seen} examples");
}

#[test]
fn init_output_validates_against_schema() {
    let folder = TestFolder::new(&[]);
    assert_eq!(run_folio(folder.path(), &["init"]).code, Some(0));
    let manifest = yaml(&fs::read_to_string(folder.join("folio.yaml")).unwrap());
    let errors: Vec<String> = validator().iter_errors(&manifest).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn schema_refuses_shapes_that_check_refuses() {
    let validator = validator();
    let right = "folio: 1\nserver: { name: x }\nprompts:\n  p: { text: Hi }\n";
    assert!(validator.is_valid(&yaml(right)));
    for (what, wrong) in [
        ("no version", "server: { name: x }\n"),
        ("no server", "folio: 1\n"),
        ("an unknown key", "folio: 1\nserver: { name: x }\npromts: {}\n"),
        ("an unknown key of the server", "folio: 1\nserver: { name: x, nmae: y }\n"),
        ("an unknown key of a prompt", "folio: 1\nserver: { name: x }\nprompts: { p: { txt: Hi } }\n"),
        ("a number for a text", "folio: 1\nserver: { name: x }\nprompts: { p: { text: Hi, description: [1] } }\n"),
        ("a list for a map", "folio: 1\nserver: { name: x }\ntools: [a]\n"),
        ("an unknown action", "folio: 1\nserver: { name: x }\ntools: { t: { description: T, run: { exce: [a] } } }\n"),
        (
            "an unknown hint",
            "folio: 1\nserver: { name: x }\ntools: { t: { description: T, annotations: { readonly: true } } }\n",
        ),
        ("a text for a list", "folio: 1\nserver: { name: x }\ntools: { t: { description: T, run: { exec: ls } } }\n"),
        ("an unknown cache scope", "folio: 1\nserver: { name: x, cacheScope: everybody }\n"),
    ] {
        assert!(!validator.is_valid(&yaml(wrong)), "{what} is valid by the schema");
        let folder = TestFolder::with_manifest(wrong);
        assert_eq!(run_folio(folder.path(), &["check"]).code, Some(1), "{what} is valid by the program");
    }
}

#[test]
fn extension_keys_are_accepted_by_schema_and_check() {
    let text = "folio: 1\nserver: { name: x }\nx-mine: { a: 1 }\nprompts:\n  p: { text: Hi, x-owner: me }\n";
    let folder = TestFolder::with_manifest(text);
    let checked = run_folio(folder.path(), &["check", "--strict"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let errors: Vec<String> = validator().iter_errors(&yaml(text)).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(json!(errors), json!([]));
}

/// A manifest as the program reads it, merges and all.
fn parsed(text: &[u8]) -> Option<Value> {
    let mut report = folio::Report::default();
    let file = report.sources.add("folio.yaml", String::from_utf8(text.to_vec()).ok()?);
    let document = folio::parse(file, &mut report)?;
    Some(document.json(document.root()))
}

#[test]
fn schema_accepts_each_manifest_without_an_error() {
    let validator = validator();
    let mut seen = 0;
    let mut faults = Vec::new();
    for case in cases("right.txt").into_iter().chain(cases("mistakes.txt")) {
        if check(&case.files).report.has_errors() {
            continue;
        }
        let Some(manifest) = parsed(&case.files["folio.yaml"]) else { continue };
        seen += 1;
        let errors = validator.iter_errors(&manifest);
        faults.extend(errors.map(|error| format!("{}: {}: {error}", case.title(), error.instance_path())));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen >= 80, "{seen}");
}

/// Whether a schema allows a map or a list.
fn has_shape(schema: &Value, definitions: &Value) -> bool {
    if let Some(name) = schema["$ref"].as_str() {
        return has_shape(&definitions[name.rsplit('/').next().unwrap()], definitions);
    }
    let is_shape = |kind: &Value| kind == "object" || kind == "array";
    is_shape(&schema["type"])
        || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(is_shape))
        || schema["anyOf"].as_array().is_some_and(|choices| choices.iter().any(|choice| has_shape(choice, definitions)))
}

/// The values that a description shows of a key: alone, behind their key, or in a map with it.
fn examples(description: &str, key: &str) -> Vec<Value> {
    let snippets = description.split('`').skip(1).step_by(2);
    let values = snippets.map(|snippet| snippet.strip_prefix(&format!("{key}: ")).unwrap_or(snippet));
    let shapes = values.filter(|value| value.starts_with(['{', '[']) && !value.starts_with("{{"));
    let shapes = shapes.map(|value| yaml(&value.replace('\n', " ")));
    shapes.flat_map(|value| [value.get(key).cloned(), Some(value)]).flatten().collect()
}

#[test]
fn every_key_with_a_shape_has_a_right_example() {
    let schema = schema();
    let mut seen = 0;
    let mut faults = Vec::new();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            if !has_shape(property, &schema["$defs"]) {
                continue;
            }
            let pointer = format!("#/$defs/{name}/properties/{}", key.replace('$', "%24"));
            let validator = json!({ "$ref": pointer, "$defs": schema["$defs"] });
            let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&validator).unwrap();
            let examples = examples(property["markdownDescription"].as_str().unwrap_or_default(), key);
            seen += 1;
            if !examples.iter().any(|example| validator.is_valid(example)) {
                faults.push(format!("{name}.{key} has no right example: {examples:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen >= 150, "{seen}");
}

/// The pointers of all values below a value, but for those of JSON Schemas and `_meta`, which are the author's own.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let own = ["inputSchema", "outputSchema", "requestedSchema", "_meta", "json", "structuredContent", "set"];
    let mut below = |step: String, value: &Value| {
        let pointer = format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"));
        found.push(pointer.clone());
        if !own.contains(&step.as_str()) {
            pointers(value, &pointer, found);
        }
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| below(key.clone(), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| below(at.to_string(), value)),
        _ => {}
    }
}

#[test]
fn schema_accepts_each_null_that_check_accepts() {
    let validator = validator();
    let mut seen = 0;
    let mut faults = std::collections::BTreeSet::new();
    for case in cases("right.txt") {
        let Some(manifest) = parsed(&case.files["folio.yaml"]) else { continue };
        let mut all = Vec::new();
        pointers(&manifest, "", &mut all);
        for pointer in all {
            let mut changed = manifest.clone();
            *changed.pointer_mut(&pointer).unwrap() = Value::Null;
            let mut files = case.files.clone();
            files.insert("folio.yaml".to_owned(), changed.to_string().into_bytes());
            if check(&files).report.has_errors() {
                continue;
            }
            seen += 1;
            if !validator.is_valid(&changed) {
                faults.insert(format!("{}: {pointer}", case.title()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(seen >= 100, "{seen}");
}
