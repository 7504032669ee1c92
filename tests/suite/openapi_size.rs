//! How large the tools are that `folio init --openapi` writes, and what is read of a large description.

use serde_json::{Map, Value, json};

use crate::harness::*;
use crate::openapi::{description, import, import_value, read, tools};

/// Operations of two tags, each with a body of so many fields.
fn tagged(fields: usize) -> Value {
    let properties: Map<String, Value> =
        (0..fields).map(|n| (format!("f{n}"), json!({ "type": "string", "description": "x ".repeat(50) }))).collect();
    let schema = json!({ "type": "object", "properties": properties });
    let content = json!({ "application/json": { "schema": schema } });
    let operation = |id: &str, tag: &str| json!({ "post": { "operationId": id, "tags": [tag], "requestBody": { "content": content } } });
    description(json!({ "/a": operation("a", "pets"), "/b": operation("b", "pets"), "/c": operation("c", "vets") }))
}

#[test]
fn list_shows_tags_and_writes_nothing() {
    let folder = TestFolder::new(&[("api.json", &tagged(10).to_string())]);
    let ran = run_folio(folder.path(), &["init", "out", "--openapi", "api.json", "--list"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let heads: Vec<&[&str]> = rows.iter().map(|row| &row[..3]).collect();
    assert_eq!(heads, [["tag", "operations", "tools"], ["pets", "2", "2"], ["vets", "1", "1"], ["(all)", "3", "3"]]);
    let tokens = |row: usize| rows[row][3].replace(',', "").parse::<usize>().unwrap();
    assert!(tokens(1) > 500 && tokens(3).abs_diff(tokens(1) + tokens(2)) <= 1, "{}", ran.out);
    assert!(!folder.join("out").exists());
    let ran = run_folio(folder.path(), &["init", "--openapi", "api.json", "--list", "--only", "vets"]);
    assert!(ran.out.contains("pets            2      0       0\n"), "{}", ran.out);
}

#[test]
fn import_says_how_large_the_list_is_and_what_only_cuts() {
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &tagged(10), &[]);
    let said = ran.out.lines().find(|line| line.starts_with("tools/list is about ")).unwrap();
    assert!(!ran.out.contains("--only"), "{}", ran.out);
    // It is what a client gets.
    let listed: Value = serde_json::from_str(&run_folio(folder.path(), &["list", "out", "--json"]).out).unwrap();
    let exact = listed["tools"].to_string().len() / 4;
    let told: usize = said.split(' ').nth(3).unwrap().replace(',', "").parse().unwrap();
    assert!(told.abs_diff(exact) * 20 < exact, "{told} {exact}");
    let ran = import_value(&TestFolder::new(&[]), &tagged(400), &[]);
    assert!(
        ran.out.contains("  --only pets  2 tools, about ") && ran.out.contains("  --only vets  1 tool, about "),
        "{}",
        ran.out
    );
}

#[test]
fn check_warns_of_tools_and_lists_by_tokens() {
    for (fields, words) in [(10, &[][..]), (300, &["`a` is about ", "`tools/list` is about "])] {
        let folder = TestFolder::new(&[]);
        assert_eq!(import_value(&folder, &tagged(fields), &[]).code, Some(0));
        let ran = run_folio(folder.path(), &["check", "out", "--clients", "all", "--format", "lines"]);
        for word in words {
            assert!(ran.out.contains(word), "{word}: {}", ran.out);
        }
        assert_eq!(ran.out.contains("tokens"), !words.is_empty(), "{}", ran.out);
    }
}

/// A schema of objects in objects, wide enough that it is too large to be written whole.
fn wide(depth: usize) -> Value {
    match depth {
        0 => json!({ "type": "string", "description": "A text of which much is said" }),
        _ => {
            let properties: Map<String, Value> = (0..6).map(|n| (format!("p{n}"), wide(depth - 1))).collect();
            json!({ "type": "object", "properties": properties })
        }
    }
}

#[test]
fn what_is_cut_is_the_same_for_each_tool() {
    let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Wide" } } });
    let paths: Map<String, Value> = (0..40)
        .map(|n| {
            (
                format!("/p{n}"),
                json!({ "post": { "operationId": format!("o{n}"), "requestBody": { "content": content } } }),
            )
        })
        .collect();
    let mut api = description(paths.into());
    api["components"] = json!({ "schemas": { "Wide": wide(5) } });
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &api, &[]);
    assert!(ran.err.contains("a schema nests too deeply or is too large"), "{}", ran.err);
    let tools = tools(&folder, "tools/default.yaml");
    let first = &tools["o0"]["arguments"];
    assert!(tools.as_object().unwrap().values().all(|tool| tool["arguments"] == *first));
    assert_eq!(first["p0"]["properties"]["p0"]["type"], "object", "{first}");
    assert!(first.to_string().len() <= 20_000);
}

/// A description larger than any that is read whole, as JSON or as YAML.
fn large(is_json: bool) -> String {
    let operation = |n: usize| json!({ "get": { "operationId": format!("get{n}"), "tags": [format!("t{n}")], "parameters": [{ "$ref": format!("#/components/parameters/P{n}") }] } });
    let schema = |n: usize| json!({ "type": "string", "description": format!("{n} ") + &"x".repeat(180_000) });
    let count = 100;
    let paths: Map<String, Value> = (0..count).map(|n| (format!("/a/{n}"), operation(n))).collect();
    let schemas: Map<String, Value> = (0..count).map(|n| (format!("S{n}"), schema(n))).collect();
    let parameter = |n: usize| json!({ "name": format!("p{n}"), "in": "query", "schema": { "$ref": format!("#/components/schemas/S{n}") } });
    let parameters: Map<String, Value> = (0..count).map(|n| (format!("P{n}"), parameter(n))).collect();
    if is_json {
        let mut api = description(paths.into());
        api["components"] = json!({ "parameters": parameters, "schemas": schemas });
        return api.to_string();
    }
    // A value of a map may be JSON in YAML.
    let lines = |map: Map<String, Value>, indent: &str| -> String {
        map.iter()
            .map(|(key, value)| {
                format!("{indent}'{key}':\n{indent}  {{\n{indent}  {}\n", value.to_string().split_at(1).1)
            })
            .collect()
    };
    format!(
        "openapi: 3.1.0\ninfo:\n  title: Pets\n  version: '1'\nservers:\n- url: https://pets.example\npaths:\n{}components:\n  parameters:\n{}  schemas:\n{}",
        lines(paths, "  "),
        lines(parameters, "    "),
        lines(schemas, "    ")
    )
}

#[test]
fn part_of_a_large_description_is_read() {
    for is_json in [true, false] {
        let folder = TestFolder::new(&[("api.txt", &large(is_json))]);
        let ran = import(&folder, "api.txt", &[]);
        assert!(ran.code == Some(2) && ran.err.contains("choose a part with `--only`"), "{ran:?}");
        let ran = import(&folder, "api.txt", &["--only", "t7", "get50", "/a/99"]);
        assert_eq!(ran.code, Some(0), "{is_json}: {:.2000}", ran.err);
        assert!(ran.out.contains("3 of 3 operations became tools"), "{}", ran.out);
        for (tag, tool, argument) in [("t7", "get7", "p7"), ("t50", "get50", "p50"), ("t99", "get99", "p99")] {
            let tool = &tools(&folder, &format!("tools/{tag}.yaml"))[tool];
            assert!(tool["arguments"][argument]["description"].is_string(), "{tool}");
        }
        assert!(read(&folder, "folio.yaml").contains("https://pets.example"));
    }
}
