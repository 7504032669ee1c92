//! `schemas/REFERENCE.md` holds what the types say. `UPDATE=1 cargo test` writes it anew.

use std::fs;
use std::path::Path;

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Compares a file with what it should hold, or writes it.
fn holds(path: &str, expected: &str) {
    let file = Path::new(ROOT).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, expected).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    let different = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    let line = different.unwrap_or_else(|| found.lines().count().min(expected.lines().count())) + 1;
    assert!(found == expected, "{path} differs from the types at line {line}; run UPDATE=1 cargo test");
}

#[test]
fn reference_matches_the_types() {
    holds("schemas/REFERENCE.md", &folio::reference());
}

#[test]
fn the_reference_names_every_key_action_helper_and_code() {
    let reference = folio::reference();
    let schema: Value = serde_json::from_str(&folio::generate_schema()).unwrap();
    let mut keys = 0;
    for (name, table) in schema["$defs"].as_object().unwrap() {
        let Some(properties) = table["properties"].as_object() else { continue };
        let start = reference.find(&format!("\n### {name}\n")).unwrap_or_else(|| panic!("there is no {name}"));
        let section = &reference[start + 1..];
        let section = &section[..section.find("\n### ").unwrap_or(section.len())];
        for key in properties.keys() {
            assert!(section.contains(&format!("`{key}`")), "{name} has no `{key}`");
            keys += 1;
        }
    }
    assert!(keys > 200, "{keys}");
    for action in folio::ACTIONS {
        assert!(reference.contains(&format!("| `{}` | ", action.key)), "{}", action.key);
    }
    for helper in folio::helpers() {
        assert!(reference.contains(&format!("| `{}` | ", helper.name)), "{}", helper.name);
    }
    for code in folio::Code::ALL {
        assert!(reference.contains(&format!("| `{}` | ", code.as_str())), "{}", code.as_str());
    }
}

#[test]
fn every_reference_link_resolves() {
    let reference = folio::reference();
    let anchors: Vec<String> = reference
        .lines()
        .filter_map(|line| Some(line.trim_start_matches('#').trim().to_lowercase()).filter(|_| line.starts_with('#')))
        .collect();
    let links: Vec<&str> = reference.split("](#").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(links.len() > 20);
    for link in links {
        assert!(anchors.iter().any(|anchor| anchor == link), "#{link} leads nowhere");
    }
}

#[test]
fn fragment_takes_entries_only_manifest_needs_server() {
    let schema: Value = serde_json::from_str(&folio::generate_schema()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let valid = |text: &str| schema.is_valid(&serde_json::from_str::<Value>(text).unwrap());
    let fragment = Path::new(ROOT).join("examples/servers/team-pack/tools/words.yaml");
    assert!(schema.is_valid(&serde_yaml::from_str::<Value>(&fs::read_to_string(fragment).unwrap()).unwrap()));
    assert!(valid(r#"{ "tools": {} }"#));
    assert!(!valid(r#"{ "tools": {}, "env": {} }"#));
    assert!(!valid(r#"{ "folio": 1, "tools": {} }"#));
    assert!(valid(r#"{ "folio": 1, "server": { "name": "x" }, "tools": {} }"#));
    assert!(!valid("{}"));
}
