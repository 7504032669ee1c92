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
        assert!(manifest.contains(&format!("server:\n  name: {name}\n  title: Pets")), "{manifest}");
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
fn plural_of_capitals_is_one_word() {
    let folder = TestFolder::new(&[]);
    let ids = [("/0", "floatingIPs_list"), ("/1", "listVPCs"), ("/2", "getVPCsByTag"), ("/3", "getHTTPServer")];
    assert_eq!(import_value(&folder, &operations(&ids), &[]).code, Some(0));
    assert_eq!(names(&folder), ["floating-ips-list", "list-vpcs", "get-vpcs-by-tag", "get-http-server"]);
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

#[test]
fn update_gives_no_connection_or_variable_another_meaning() {
    let operation = |tag: &str, scheme: &str, servers: Value| json!({ "get": { "tags": [tag], "security": [{ scheme: [] }], "servers": servers, "responses": {} } });
    let (one, two) = (json!([{ "url": "https://one.example/api" }]), json!([{ "url": "https://two.example" }]));
    let bearer = json!({ "type": "http", "scheme": "bearer" });
    let paths = |order: &[(&str, Value)]| {
        let mut value = description(order.iter().map(|(path, item)| ((*path).to_owned(), item.clone())).collect());
        value["components"] = json!({ "securitySchemes": { "s1": bearer, "s2": bearer } });
        value
    };
    let a = ("/a", operation("x", "s1", one.clone()));
    let b = ("/b", operation("y", "s1", two));
    let c = ("/c", operation("y", "s2", one));
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &paths(&[a.clone(), b.clone()]), &[]).code, Some(0));
    let before = read(&folder, "folio.yaml");
    assert!(before.contains("default: https://one.example"), "{before}");
    // The other host comes first now, and so does another scheme.
    let ran = import_value(&folder, &paths(&[c, b, a]), &["--update", "--only", "y"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let after = read(&folder, "folio.yaml");
    for line in before.lines().filter(|line| line.contains("URL") || line.contains("auth:")) {
        assert!(after.contains(line), "{line}: {after}");
    }
    assert!(after.contains("PETS_S2_TOKEN:"), "{after}");
}

#[test]
fn update_takes_what_was_chosen_before() {
    let tagged = |tag: &str| json!({ "get": { "tags": [tag], "responses": {} } });
    let paths = json!({ "/a": tagged("x"), "/b": tagged("y"), "/c": tagged("z") });
    let value = description(paths);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &value, &["--only", "x"]).code, Some(0));
    let exists = |tag: &str| folder.join(&format!("out/tools/{tag}.yaml")).exists();
    assert_eq!(import_value(&folder, &value, &["--update"]).code, Some(0));
    assert_eq!(["x", "y", "z"].map(exists), [true, false, false]);
    assert_eq!(import_value(&folder, &value, &["--update", "--only", "y"]).code, Some(0));
    let ran = import_value(&folder, &value, &["--update"]);
    assert_eq!(["x", "y", "z"].map(exists), [true, true, false], "{ran:?}");
    // A tag that is gone chooses nothing.
    let ran = import_value(&folder, &description(json!({ "/b": tagged("y"), "/c": tagged("z") })), &["--update"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
