//! Names of a server that `folio init --openapi` writes, and of its tools.

use std::fs;

use serde_json::{Value, json};

use crate::harness::*;
use crate::openapi::{description, import_value, read, tools};

/// A description of operations by path and id.
fn operations(ids: &[(&str, &str)]) -> Value {
    let item =
        |(path, id): &(&str, &str)| ((*path).to_owned(), json!({ "get": { "operationId": id, "responses": {} } }));
    description(Value::Object(ids.iter().map(item).collect()))
}

fn names(folder: &TestFolder) -> Vec<String> {
    tools(folder, "tools/default.yaml").as_object().unwrap().keys().cloned().collect()
}

const LONG: &[(&str, &str)] = &[
    ("/0", "stations/list-selected-stations-for-region"),
    ("/1", "stations/list-selected-stations-for-district"),
    ("/2", "stations/get-default-permissions-for-region"),
];

#[test]
fn server_is_named_after_its_folder() {
    let folder = TestFolder::new(&[]);
    folder.write("api.json", operations(&[("/a", "a")]).to_string());
    for (dir, name) in [("out", "out"), ("My Desk", "my-desk")] {
        let ran = run_folio(folder.path(), &["init", dir, "--openapi", "api.json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let manifest = fs::read_to_string(folder.join(dir).join("folio.yaml")).unwrap();
        assert!(manifest.contains(&format!("server: {{ name: {name}, title: Pets")), "{manifest}");
        assert!(manifest.contains("PETS_URL:"), "{manifest}");
    }
}

#[test]
fn words_that_all_names_share_go_first() {
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &operations(LONG), &[]).code, Some(0));
    let wanted = [
        "list-selected-stations-for-region",
        "list-selected-stations-for-district",
        "get-default-permissions-for-region",
    ];
    assert_eq!(names(&folder), wanted);
    let short = operations(&[("/0", "stations/list"), ("/1", "stations/get")]);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &short, &[]).code, Some(0));
    assert_eq!(names(&folder), ["stations-list", "stations-get"]);
}

#[test]
fn long_names_differ_in_their_ends() {
    let id = |end: &str| format!("actions/get-allowed-actions-and-reusable-workflows-of-the-{end}");
    let ends = ["repository", "organization", "enterprise"];
    let ids: Vec<String> = ends.iter().map(|end| id(end)).chain(["other/thing".to_owned()]).collect();
    let paths: Vec<String> = (0..ids.len()).map(|number| format!("/{number}")).collect();
    let pairs: Vec<(&str, &str)> = paths.iter().map(String::as_str).zip(ids.iter().map(String::as_str)).collect();
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &operations(&pairs), &[]).code, Some(0));
    let names = names(&folder);
    for (name, end) in names.iter().zip(ends) {
        assert!(name.len() <= 42 && name.starts_with("actions-") && name.ends_with(end), "{name}");
    }
}

#[test]
fn update_keeps_the_names_of_tools() {
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &operations(LONG), &[]).code, Some(0));
    let before = read(&folder, "tools/default.yaml");
    // A further operation shares no word with the others, so that all would be called otherwise.
    let more = operations(&[LONG, &[("/3", "weather")]].concat());
    let ran = import_value(&folder, &more, &["--update"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("added tools/weather") && !ran.out.contains("no longer"), "{}", ran.out);
    let after = read(&folder, "tools/default.yaml");
    assert!(after.starts_with(before.trim_end()), "{after}");
    // Another id for the same path is the same tool.
    let renamed = operations(&[&[("/0", "renamed")], &LONG[1..], &[("/3", "weather")]].concat());
    let ran = import_value(&folder, &renamed, &["--update"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(read(&folder, "tools/default.yaml"), after);
}
