//! `folio init --openapi`: what is written from a description, and what `--update` leaves alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/openapi")
}

fn fixture(name: &str) -> String {
    fixtures().join(name).to_str().unwrap().to_owned()
}

/// Imports into `out` of a folder, with more arguments.
pub fn import(folder: &TestFolder, from: &str, more: &[&str]) -> CommandOutput {
    run_folio(folder.path(), &[&["init", "out", "--openapi", from], more].concat())
}

/// Imports a description, which must go well.
fn imported(from: &str, more: &[&str]) -> TestFolder {
    let folder = TestFolder::new(&[]);
    let ran = import(&folder, from, more);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    folder
}

pub fn read(folder: &TestFolder, path: &str) -> String {
    fs::read_to_string(folder.join("out").join(path)).unwrap()
}

/// All files of the server, by their paths.
fn files(folder: &TestFolder) -> BTreeMap<String, String> {
    files_below(&folder.join("out"))
}

fn files_below(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(inner) = folders.pop() {
        for path in fs::read_dir(inner).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
    }
    found
}

/// What `check --strict` says, but for notes.
fn complaints(folder: &TestFolder) -> Vec<String> {
    let ran = run_folio(folder.path(), &["check", "out", "--strict", "--format", "lines"]);
    ran.out.lines().filter(|line| !line.contains(": note[")).map(str::to_owned).collect()
}

#[test]
fn golden_output_of_openapi_3_1() {
    let folder = imported(&fixture("library.yaml"), &[]);
    let golden = fixtures().join("library.out");
    let mut written = files(&folder);
    written.remove("folio.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        _ = fs::remove_dir_all(&golden);
        for (path, text) in &written {
            let path = golden.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let wanted = files_below(&golden);
    let (names, wanted_names): (Vec<_>, Vec<_>) = (written.keys().collect(), wanted.keys().collect());
    assert_eq!(names, wanted_names, "(UPDATE=1 writes them again)");
    for (path, text) in &written {
        assert_eq!(*text, wanted[path], "{path} (UPDATE=1 writes it again)");
    }
    assert_eq!(complaints(&folder), Vec::<String>::new());
}

#[test]
fn warnings_point_into_the_description() {
    let folder = TestFolder::new(&[("api/library.yaml", &fs::read_to_string(fixture("library.yaml")).unwrap())]);
    let ran = import(&folder, "api/library.yaml", &[]);
    assert_eq!(ran.code, Some(0));
    for wanted in [
        "folio does not get tokens of the security scheme `login`",
        "= help: set `LIBRARY_LOGIN_TOKEN` to an access token, from https://login.library.example",
        "--> api/library.yaml:112:5",
        "unsupported file in a form: it is sent as a text",
        "2 warnings",
    ] {
        assert!(ran.err.contains(wanted), "{wanted}:\n{}", ran.err);
    }
}

#[test]
fn every_version_passes_check_and_serves() {
    for (name, tools) in [
        (
            "library.yaml",
            vec![
                "add-book", "delete-book", "get-book", "list-books", "list-events", "replace-book", "search",
                "upload-cover",
            ],
        ),
        ("desk.json", vec!["issues-get", "issues-update"]),
        ("store.yaml", vec!["add-photo", "get-orders", "place-order"]),
        ("split/main.yaml", vec!["make-thing"]),
    ] {
        let folder = imported(&fixture(name), &[]);
        assert_eq!(complaints(&folder), Vec::<String>::new(), "{name}");
        let ran = run_folio(folder.path(), &["list", "out", "--json"]);
        // Variables of credentials are required, and not set here.
        let ran = if ran.code == Some(0) { ran } else { list_with_credentials(&folder) };
        let listed: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{name}: {ran:?}"));
        let mut names: Vec<&str> =
            listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, tools, "{name}");
    }
}

/// The same with every required variable given a default.
fn list_with_credentials(folder: &TestFolder) -> CommandOutput {
    let manifest = read(folder, "folio.yaml").replace("required: true, secret: true", "default: x");
    folder.write("out/folio.yaml", manifest);
    run_folio(folder.path(), &["list", "out", "--json"])
}

/// The tools of a fragment, as they are written.
pub fn tools(folder: &TestFolder, fragment: &str) -> Value {
    let text = read(folder, fragment);
    let mut report = folio::Report::default();
    let file = folio::decode(text.as_bytes(), fragment, &mut report).unwrap();
    let document = folio::parse(file, &mut report).unwrap();
    assert!(!report.has_errors());
    document.json(document.root())["tools"].clone()
}

#[test]
fn openapi_3_0_schemas_and_places_are_translated() {
    let folder = imported(&fixture("desk.json"), &[]);
    let tools = tools(&folder, "tools/issues.yaml");
    let get = &tools["issues-get"];
    assert_eq!(get["arguments"]["number"], json!({ "type": "integer", "exclusiveMinimum": 0, "required": true }));
    assert_eq!(get["arguments"]["since"], json!({ "type": ["string", "null"], "format": "date-time" }));
    let http = &get["run"]["http"];
    assert_eq!(http["url"], "/{{team}}/issues/{{number}}");
    assert_eq!(http["headers"]["Cookie"], "{{#if session}}session={{urlencode session}}{{/if}}");
    assert_eq!(http["paginate"], json!({ "next": "link", "maxPages": 3 }));
    let update = &tools["issues-update"];
    assert_eq!(
        update["run"]["http"]["json"],
        json!({ "number": "{{body_number}}", "state": "{{state}}", "owner": "{{owner}}" })
    );
    assert_eq!(update["run"]["http"]["headers"]["Content-Type"], "application/merge-patch+json");
    // What nothing satisfies is left out; choices that YAML or JSON reads as numbers are texts.
    assert_eq!(update["arguments"]["state"], json!({ "type": "string", "enum": ["1", "2"] }));
    assert_eq!(update["arguments"]["body_number"], json!({ "type": "integer", "maximum": 3 }));
    let owner = json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] });
    assert_eq!(update["arguments"]["owner"], owner);
}

#[test]
fn swagger_2_forms_bodies_and_collections_are_translated() {
    let folder = imported(&fixture("store.yaml"), &[]);
    let tools = tools(&folder, "tools/orders.yaml");
    let query = &tools["get-orders"]["run"]["http"]["query"];
    assert_eq!(*query, json!({ "status": "{{status}}", "ids": "{{default (join ids \",\") null}}" }));
    assert_eq!(tools["get-orders"]["outputSchema"], Value::Null);
    assert_eq!(tools["place-order"]["arguments"]["article"], json!({ "required": true }));
    assert_eq!(tools["place-order"]["run"]["http"]["json"]["count"], "{{count}}");
    let photo = &tools["add-photo"]["run"]["http"];
    assert_eq!((&photo["form"]["caption"], &photo["use"]), (&json!("{{caption}}"), &json!("store-site")));
    let manifest = read(&folder, "folio.yaml");
    for line in [
        "default: https://store.example/api",
        "STORE_API_KEY: { description: The key that the API asks for, secret: true }",
        "auth: { header: { name: X-Key, value: \"{{env.STORE_API_KEY}}\" } }",
    ] {
        assert!(manifest.contains(line), "{line}\n{manifest}");
    }
}

#[test]
fn server_urls_are_found_or_asked_for() {
    let paths = "paths: { /a: { get: { responses: {} } } }\n";
    for (head, wanted) in [
        ("swagger: \"2.0\"\nhost: a.example\n", "default: https://a.example"),
        ("swagger: \"2.0\"\nhost: a.example\nbasePath: v1/\nschemes: [http]\n", "default: http://a.example/v1"),
        (
            "openapi: 3.0.0\nservers: [{ url: \"https://{x}.example/\", variables: { x: { default: b } } }]\n",
            "default: https://b.example",
        ),
        (
            "openapi: 3.0.0\nservers: [{ url: /v2 }]\n",
            "API_URL: { description: The base of the API's URLs, required: true }",
        ),
        ("openapi: 3.0.0\nservers: [{ url: \"https://{x}.example\" }]\n", "required: true }"),
        ("openapi: 3.0.0\nservers: [{ url: \"file:///etc\" }]\n", "required: true }"),
    ] {
        let folder = TestFolder::new(&[("api.yaml", &format!("{head}{paths}"))]);
        let ran = import(&folder, "api.yaml", &[]);
        let manifest = read(&folder, "folio.yaml");
        assert!(manifest.contains(wanted), "{head}{wanted}:\n{manifest}");
        assert_eq!(
            ran.err.contains("missing server URL: the variable `API_URL` has to name it"),
            wanted.contains("required")
        );
    }
}

#[test]
fn references_stay_within_the_folder() {
    let folder = TestFolder::new(&[]);
    let ran = import(&folder, &fixture("split/main.yaml"), &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("remote `$ref` `https://elsewhere.example/far.yaml` is not fetched"), "{}", ran.err);
    assert!(ran.err.contains("unresolved `$ref` `../library.yaml#/paths/~1search`"), "{}", ran.err);
    let tool = &tools(&folder, "tools/default.yaml")["make-thing"];
    assert_eq!(tool["arguments"]["parts"], json!({ "type": "array", "items": { "type": "string" } }));
}

#[test]
fn only_selects_by_tag_name_and_glob() {
    for (only, wanted) in [
        (&["--only", "Search & more"][..], &["search"][..]),
        (&["--only", "getBook", "delete-book"], &["get-book", "delete-book"]),
        (&["--only", "/books/**"], &["get-book", "replace-book", "delete-book"]),
        (&["--only", "*Event*", "--only", "oldThing"], &["old-thing", "list-events"]),
    ] {
        let folder = imported(&fixture("library.yaml"), only);
        let text: String =
            files(&folder).into_iter().filter(|(path, _)| path.starts_with("tools/")).map(|(_, text)| text).collect();
        let mut names: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':'))
            .collect();
        names.sort_unstable();
        let mut wanted: Vec<String> = wanted.iter().map(|name| format!("  {name}:")).collect();
        wanted.sort_unstable();
        assert_eq!(names, wanted, "{only:?}");
    }
    let folder = TestFolder::new(&[]);
    let ran = import(&folder, &fixture("library.yaml"), &["--only", "getBok"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(1), "error: nothing matches `getBok`\nhelp: did you mean `getBook`?\n")
    );
    assert!(!folder.join("out").exists());
}

#[test]
fn nothing_is_overwritten_without_update() {
    for existing in ["folio.yaml", "folio.yml", "tools/books.yaml", "folio.schema.json", ".folio-openapi.json"] {
        let folder = TestFolder::new(&[(&format!("out/{existing}"), "mine")]);
        let ran = import(&folder, &fixture("library.yaml"), &[]);
        assert_eq!(ran.code, Some(1), "{existing}: {ran:?}");
        assert_eq!(files(&folder), BTreeMap::from([(existing.to_owned(), "mine".to_owned())]));
    }
    let folder = imported(&fixture("library.yaml"), &[]);
    let before = files(&folder);
    let again = import(&folder, &fixture("library.yaml"), &[]);
    assert!(again.err.contains("help: write it again with `--update`"), "{again:?}");
    assert_eq!(files(&folder), before);
}

#[test]
fn update_without_a_change_writes_nothing() {
    let folder = imported(&fixture("library.yaml"), &[]);
    let before = files(&folder);
    let ran = import(&folder, &fixture("library.yaml"), &["--update"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.out.contains("wrote ") && !ran.out.contains("refreshed"), "{}", ran.out);
    assert_eq!(files(&folder), before);
}

#[test]
fn update_keeps_edits_and_takes_what_is_new() {
    let description = fs::read_to_string(fixture("library.yaml")).unwrap();
    let folder = TestFolder::new(&[("api.yaml", &description)]);
    assert_eq!(import(&folder, "api.yaml", &[]).code, Some(0));
    // An edit, a comment, an entry of the author's own, one deleted, and one that the description will lose.
    let books = read(&folder, "tools/books.yaml")
        .replace("description: Delete a book", "description: Delete a book, after asking")
        .replace("  replace-book:\n", "  # Only for librarians.\n  replace-book:\n");
    let get_book = books.find("  get-book:\n").unwrap();
    let behind = books.find("  # Only for librarians.").unwrap();
    let books = format!(
        "{}{}\n  mine: {{ description: Mine, result: {{ text: hello }} }}\n",
        &books[..get_book],
        &books[behind..]
    );
    folder.write("out/tools/books.yaml", &books);
    let newer = description
        .replace("summary: List books", "summary: List all books")
        .replace("summary: Add a book", "summary: Add one book")
        .replace("summary: Replace a book", "summary: Replace one book")
        .replace("summary: Delete a book", "summary: Delete one book")
        .replace("  /events:\n    get:\n      operationId: listEvents", "  /occasions:\n    get:\n      operationId: listOccasions")
        .replace("  /old:\n", "  /fines:\n    get: { operationId: listFines, tags: [books], summary: List fines, responses: {} }\n  /old:\n");
    folder.write("api.yaml", newer);
    let ran = import(&folder, "api.yaml", &["--update"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for said in [
        "refreshed tools/list-books",
        "refreshed tools/add-book",
        "kept, as it was changed by hand: tools/delete-book",
        "kept, as it was changed by hand: tools/replace-book",
        "left out, as it was deleted by hand: tools/get-book",
        "kept, but no longer in the description: tools/list-events",
        "added tools/list-fines",
        "added tools/list-occasions",
    ] {
        assert!(ran.out.contains(said), "{said}:\n{}", ran.out);
    }
    let books = read(&folder, "tools/books.yaml");
    for kept in [
        "Delete a book, after asking",
        "  # Only for librarians.\n  replace-book:\n    description: Replace a book\n",
        "  mine: {",
    ] {
        assert!(books.contains(kept), "{kept}:\n{books}");
    }
    for (there, text) in [(true, "List all books"), (true, "List fines"), (false, "get-book:"), (false, "Replace one")]
    {
        assert_eq!(books.contains(text), there, "{text}:\n{books}");
    }
    assert_eq!(complaints(&folder), Vec::<String>::new());
    // Once more, and nothing is forgotten.
    let before = files(&folder);
    let again = import(&folder, "api.yaml", &["--update"]);
    assert!(again.out.contains("left out, as it was deleted by hand: tools/get-book"), "{}", again.out);
    assert_eq!(files(&folder), before);
}

#[test]
fn update_takes_the_version_that_nobody_changed() {
    let api = |version: &str| {
        let info = format!("info: {{ title: Desk, version: \"{version}\", description: At {version} }}");
        format!(
            "openapi: 3.1.0\n{info}\nservers: [{{ url: \"https://a.example\" }}]\npaths: {{ /a: {{ get: {{}} }} }}\n"
        )
    };
    let folder = TestFolder::new(&[("api.yaml", &api("1.0"))]);
    assert_eq!(import(&folder, "api.yaml", &[]).code, Some(0));
    let mine = read(&folder, "folio.yaml").replace("description: At 1.0", "description: Mine\n  toolSearch: auto");
    folder.write("out/folio.yaml", mine);
    folder.write("api.yaml", api("2.0"));
    let ran = import(&folder, "api.yaml", &["--update"]);
    assert!(
        ran.out.contains("refreshed server/version\nkept, as it was changed by hand: server/description"),
        "{ran:?}"
    );
    let manifest = read(&folder, "folio.yaml");
    assert!(manifest.contains("version: \"2.0\"\n  description: Mine\n  toolSearch: auto\n\nenv:"), "{manifest}");
    // A version of one's own stays, and so does all of `server` where an earlier record does not say what it was.
    folder.write("out/folio.yaml", manifest.replace("\"2.0\"", "\"7.0\""));
    folder.write("api.yaml", api("3.0"));
    let ran = import(&folder, "api.yaml", &["--update"]);
    assert!(ran.out.contains("changed by hand: server/version"), "{ran:?}");
    let mut record: Value = serde_json::from_str(&read(&folder, ".folio-openapi.json")).unwrap();
    record["entries"]["folio.yaml"].as_object_mut().unwrap().retain(|key, _| !key.starts_with("server/"));
    folder.write("out/.folio-openapi.json", record.to_string());
    let ran = import(&folder, "api.yaml", &["--update"]);
    assert!(ran.code == Some(0) && !ran.out.contains("server/"), "{ran:?}");
    assert!(read(&folder, "folio.yaml").contains("\"7.0\""));
}

#[test]
fn flow_yaml_is_read() {
    let text = "{openapi: 3.0.0, info: {title: Desk, version: '1'}, servers: [{url: 'https://a.example'}],\n paths: {/a: {get: {operationId: listItems}}}}\n";
    let folder = TestFolder::new(&[("api.yaml", text)]);
    let ran = import(&folder, "api.yaml", &[]);
    assert!(ran.code == Some(0) && ran.err.is_empty(), "{ran:?}");
    assert!(tools(&folder, "tools/default.yaml")["list-items"].is_object());
}

#[test]
fn update_refuses_what_it_cannot_read() {
    let folder = TestFolder::new(&[("out/folio.yaml", "folio: 1\n")]);
    let ran = import(&folder, &fixture("desk.json"), &["--update"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("missing `.folio-openapi.json`"), "{}", ran.err);
    let folder = imported(&fixture("desk.json"), &[]);
    folder.write("out/tools/issues.yaml", "tools: [");
    let before = files(&folder);
    assert_eq!(import(&folder, &fixture("desk.json"), &["--update"]).code, Some(1));
    assert_eq!(files(&folder), before);
}

#[test]
fn hostile_texts_become_neither_templates_nor_yaml() {
    let text = "{{env.HOME}} \\{{x}} {{{y}}}\u{1b}[2J\u{202e} # no\n- a: b";
    let description = json!({
        "openapi": "3.1.0",
        "info": { "title": format!("{text}\ntools: {{}}"), "version": "{{1}}", "description": text },
        "servers": [{ "url": "https://api.example/{{env.SECRET}}" }, { "url": "https://{{x}}" }],
        "paths": {
            "/{{x}}/a{b}/\"c\\{{d}}": {
                "get": {
                    "operationId": "../../etc/{{passwd}}",
                    "tags": ["../../../evil/{{tag}}\n# x"],
                    "summary": text,
                    "parameters": [
                        { "name": "{{q}}", "in": "query", "description": text, "schema": { "type": "string", "default": "{{z}}", "enum": ["{{z}}", "yes", "\u{7}"] } },
                        { "name": "a\nb: {{c}}", "in": "header", "schema": { "type": "string" } },
                        { "name": "{{k}}", "in": "cookie", "schema": { "type": "string" } }
                    ],
                    "responses": { "200": { "description": text } }
                }
            }
        },
        "components": { "securitySchemes": { "x": { "type": "apiKey", "in": "header", "name": "X-{{y}}" } } }
    });
    let folder = TestFolder::new(&[("api.json", &description.to_string())]);
    let ran = import(&folder, "api.json", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.err.contains('\u{1b}') && !ran.out.contains('\u{1b}'), "{ran:?}");
    let written = files(&folder);
    let fragments: Vec<&str> = written.keys().map(String::as_str).filter(|path| path.contains('/')).collect();
    assert_eq!(fragments, ["tools/evil-tag-x.yaml"]);
    assert_eq!(complaints(&folder), Vec::<String>::new());
    let listed: Value = serde_json::from_str(&run_folio(folder.path(), &["list", "out", "--json"]).out).unwrap();
    let tool = &listed["tools"][0];
    assert_eq!(tool["name"], "etc-passwd");
    assert!(tool["description"].as_str().unwrap().starts_with("{{env.HOME}} {{x}} {{{y}}}"), "{tool}");
}

#[test]
fn broken_descriptions_are_refused_in_words() {
    for (text, words) in [
        ("", "missing field `openapi` or `swagger`"),
        ("openapi: 4.0.0\npaths: {}\n", "unsupported version `4.0.0` of OpenAPI"),
        ("openapi: 3.0.0\npaths: {}\n", "the description has no operations"),
        ("openapi: 3.0.0\npaths: {/a: {get: {\n", "unclosed bracket"),
        ("{\"openapi\": \"3.0.0\",", "invalid JSON"),
        ("{openapi: 3.0.0, paths: {", "unclosed bracket"),
        ("\u{0}\u{1}", "invalid YAML"),
    ] {
        let folder = TestFolder::new(&[("api.yaml", text)]);
        let ran = import(&folder, "api.yaml", &[]);
        assert_eq!(ran.code, Some(1), "{text:?}: {ran:?}");
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{text:?}: {ran:?}");
        assert!(!folder.join("out").exists());
    }
    let folder = TestFolder::new(&[]);
    let ran = import(&folder, "nowhere.yaml", &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.starts_with("error: could not read `nowhere.yaml`"), "{}", ran.err);
    let ran = import(&folder, "http://api.example/x.json", &[]);
    assert!(ran.code == Some(2) && ran.err.contains("begins with `https://`"), "{ran:?}");
}

/// A description of so many operations, all of one name.
fn many_operations(count: usize) -> String {
    let operation = json!({ "get": { "operationId": "same", "responses": {} } });
    let paths: serde_json::Map<String, Value> = (0..count).map(|n| (format!("/é{n}"), operation.clone())).collect();
    json!({ "openapi": "3.0.0", "info": { "title": "Many", "version": "1" }, "servers": [{ "url": "https://many.example" }], "paths": paths }).to_string()
}

#[test]
fn recursive_and_huge_documents_are_imported_in_time() {
    let began = Instant::now();
    let circle = "openapi: 3.0.0\ninfo: { title: Circle, version: \"1\" }\nservers: [{ url: \"https://circle.example\" }]\npaths:\n  /a:\n    post:\n      requestBody: { content: { application/json: { schema: { $ref: \"#/components/schemas/A\" } } } }\n      responses: {}\n  /b: { $ref: \"#/paths/~1b\" }\ncomponents:\n  schemas:\n    A: { allOf: [{ $ref: \"#/components/schemas/B\" }, { $ref: \"#/components/schemas/A\" }] }\n    B: { type: object, properties: { a: { $ref: \"#/components/schemas/A\" }, b: { type: array, items: { $ref: \"#/components/schemas/B\" } } } }\n";
    let folder = TestFolder::new(&[("circle.yaml", circle), ("many.json", &many_operations(50_000))]);
    let ran = import(&folder, "circle.yaml", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("circular `$ref`"), "{}", ran.err);
    assert_eq!(complaints(&folder), Vec::<String>::new());
    let folder_of_many = TestFolder::new(&[("many.json", &many_operations(50_000))]);
    let ran = import(&folder_of_many, "many.json", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.out.len());
    assert!(ran.err.contains("too many operations (50000)"), "{}", ran.err);
    let ran = import(&folder_of_many, "many.json", &["--only", "/é1000*"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("11 of 50000 operations became tools"), "{}", ran.out);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn description_is_fetched_from_this_machine() {
    let text = fs::read_to_string(fixture("desk.json")).unwrap().replace("https://desk.example", "/base");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut socket, _) = listener.accept().unwrap();
        _ = socket.read(&mut [0; 4096]).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
        socket.write_all((head + &text).as_bytes()).unwrap();
    });
    let folder = imported(&format!("http://{address}/openapi.json?key=hidden"), &[]);
    serving.join().unwrap();
    let manifest = read(&folder, "folio.yaml");
    assert!(manifest.contains(&format!("default: http://{address}/base")), "{manifest}");
    assert!(!manifest.contains("hidden"), "{manifest}");
}

/// The head of a description with operations, each with what is said of it.
#[test]
fn description_is_fetched_through_the_proxy_of_the_environment() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = TestFolder::new(&[]);
    let ran = std::process::Command::new(FOLIO_BIN)
        .args(["init", "--openapi", "https://api.invalid/spec.json", "out"])
        .env("HTTPS_PROXY", format!("http://{closed}"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(!ran.status.success() && said.contains("could not connect to the proxy `127.0.0.1`"), "{said}");
}

fn with_paths(head: &str, paths: &str) -> TestFolder {
    let servers = "servers: [{ url: \"https://api.example\" }]";
    let text = format!("openapi: 3.0.3\ninfo: {{ title: Desk, version: \"1\" }}\n{servers}\n{head}\npaths:\n{paths}");
    let folder = TestFolder::new(&[("api.yaml", &text)]);
    let ran = import(&folder, "api.yaml", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(complaints(&folder), Vec::<String>::new());
    folder
}

const SCHEMES: &str = "components: { securitySchemes: { login: { type: http, scheme: basic }, app: { type: oauth2, \
                       flows: { clientCredentials: { tokenUrl: \"https://login.example\", scopes: {} } } } } }";

#[test]
fn names_of_users_and_clients_are_not_secret() {
    let paths = "  /a: { get: { security: [{ login: [] }], responses: {} }, put: { security: [{ app: [] }], responses: {} } }\n";
    let manifest = read(&with_paths(SCHEMES, paths), "folio.yaml");
    for (variable, secret) in
        [("DESK_USERNAME", false), ("DESK_PASSWORD", true), ("DESK_CLIENT_ID", false), ("DESK_CLIENT_SECRET", true)]
    {
        let line = manifest.lines().find(|line| line.contains(&format!("{variable}: {{"))).unwrap();
        assert_eq!(line.contains("secret: true"), secret, "{line}");
    }
}

#[test]
fn credentials_are_required_where_all_tools_need_them() {
    let public = "  /b: { get: { operationId: listPublic, security: [], responses: {} } }\n";
    for (paths, required) in [("", true), (public, false)] {
        let paths = format!("  /a: {{ get: {{ security: [{{ login: [] }}], responses: {{}} }} }}\n{paths}");
        let folder = with_paths(SCHEMES, &paths);
        let manifest = read(&folder, "folio.yaml");
        assert_eq!(manifest.contains("required: true"), required, "{manifest}");
        let checked = run_folio(folder.path(), &["check", "out", "--format", "lines"]).out;
        assert_eq!(checked.contains("required variable `DESK_USERNAME` is not set"), required, "{checked}");
    }
}

#[test]
fn unknown_minor_versions_are_warned_of() {
    for (version, warned) in [("3.0.4", false), ("3.1.1", false), ("3.2.0", false), ("3.9.0", true), ("3.10.0", true)] {
        let text = format!(
            "openapi: {version}\nservers: [{{ url: \"https://a.example\" }}]\npaths: {{ /a: {{ get: {{ responses: {{}} }} }} }}\n"
        );
        let folder = TestFolder::new(&[("api.yaml", &text)]);
        let ran = import(&folder, "api.yaml", &[]);
        let words = format!("unsupported version `{version}` of OpenAPI: it is read as 3.1");
        assert_eq!((ran.code, ran.err.contains(&words)), (Some(0), warned), "{ran:?}");
    }
}

#[test]
fn binary_fields_are_described_and_lists_are_parts() {
    let schema = "{ type: object, properties: { title: { type: string }, photo: { type: string, format: binary }, scans: { type: array, items: { type: string, format: binary } }, tags: { type: array, items: { type: string } }, meta: { type: object, properties: { a: { type: string } } } } }";
    let paths = format!(
        "  /a:\n    post:\n      operationId: add\n      tags: [x]\n      summary: Add a book\n      requestBody: {{ content: {{ multipart/form-data: {{ schema: {schema} }} }} }}\n      responses: {{}}\n  \
         /b:\n    put:\n      operationId: put\n      tags: [x]\n      requestBody: {{ content: {{ application/octet-stream: {{}} }} }}\n      responses: {{}}\n"
    );
    let folder = with_paths("", &paths);
    let tools = tools(&folder, "tools/x.yaml");
    let multipart = &tools["add"]["run"]["http"]["multipart"];
    let expected = json!({ "title": "{{title}}", "photo": "{{photo}}", "scans": "{{scans}}", "tags": "{{tags}}", "meta": "{{json meta}}" });
    assert_eq!(*multipart, expected);
    let said = tools["add"]["description"].as_str().unwrap();
    assert_eq!(said, "Add a book. `photo` is sent as text, not as a file. `scans` is sent as text, not as a file.");
    let put = tools["put"]["description"].as_str().unwrap();
    assert!(put.ends_with("The body is sent as text, not as a file."), "{put}");
}

/// An operation that lists, with these query parameters.
fn listing(parameters: &str) -> TestFolder {
    with_paths("", &list_of(parameters))
}

fn list_of(parameters: &str) -> String {
    format!(
        "  /a:\n    get:\n      operationId: list\n      tags: [x]\n      parameters: [{parameters}]\n      responses: {{ \"200\": {{ content: {{ application/json: {{ schema: {{ type: array, items: {{}} }} }} }} }} }}\n"
    )
}

#[test]
fn page_that_paginate_counts_is_an_argument() {
    let size = "{ name: per_page, in: query, schema: { type: integer } }";
    let tool = tools(
        &listing(&format!("{{ name: page, in: query, schema: {{ type: integer, default: 1 }} }}, {size}")),
        "tools/x.yaml",
    );
    let arguments = json!({ "page": { "type": "integer", "default": 1 }, "per_page": { "type": "integer" } });
    assert_eq!(tool["list"]["arguments"], arguments);
    let http = &tool["list"]["run"]["http"];
    assert_eq!(
        (&http["query"], &http["paginate"]),
        (&json!({ "page": "{{page}}", "per_page": "{{per_page}}" }), &json!({ "page": "page", "maxPages": 3 }))
    );
}

#[test]
fn pages_from_zero_and_offsets_are_counted() {
    let size = "{ name: limit, in: query, schema: { type: integer, enum: [50] } }";
    for (parameters, wanted) in [
        (
            "{ name: page, in: query, schema: { type: integer, minimum: 0 } }",
            json!({ "page": "page", "maxPages": 3, "start": 0 }),
        ),
        (
            "{ name: page, in: query, required: true, schema: { type: integer, default: 0 } }",
            json!({ "page": "page", "maxPages": 3, "start": 0 }),
        ),
        (
            "{ name: page, in: query, schema: { type: integer, minimum: 0, default: 1 } }",
            json!({ "page": "page", "maxPages": 3 }),
        ),
        (
            "{ name: offset, in: query, schema: { type: integer } }",
            json!({ "page": "offset", "maxPages": 3, "start": 0, "step": 50 }),
        ),
    ] {
        let text = format!(
            "openapi: 3.0.3\nservers: [{{ url: \"https://a.example\" }}]\npaths:\n{}",
            list_of(&format!("{parameters}, {size}"))
        );
        let folder = TestFolder::new(&[("api.yaml", &text)]);
        assert_eq!(import(&folder, "api.yaml", &[]).code, Some(0));
        let tool = &tools(&folder, "tools/x.yaml")["list"];
        assert_eq!(tool["run"]["http"]["paginate"], wanted, "{parameters}");
        let counted = wanted["page"].as_str().unwrap();
        assert_eq!(tool["arguments"].as_object().unwrap().keys().collect::<Vec<_>>(), [counted, "limit"]);
        assert!(tool["arguments"][counted]["required"].is_null(), "{parameters}");
    }
    let named =
        "{ name: page, in: query, schema: { type: string } }, { name: limit, in: query, schema: { type: integer } }";
    let tool = &tools(&listing(named), "tools/x.yaml")["list"];
    assert!(tool["run"]["http"]["paginate"].is_null() && tool["arguments"]["page"].is_object(), "{tool}");
    // Whoever chooses the length of a page chooses the step, too.
    let free = "{ name: offset, in: query, schema: { type: integer } }, { name: limit, in: query, schema: { type: integer, default: 20 } }";
    let tool = &tools(&listing(free), "tools/x.yaml")["list"];
    assert!(tool["run"]["http"]["paginate"].is_null() && tool["arguments"]["offset"].is_object(), "{tool}");
}

#[test]
fn answers_reach_the_model_whole() {
    let (list, object) = (json!({ "type": "array", "items": {} }), json!({ "type": "object" }));
    let api = Upstream::start(|request, _| {
        let first = !request.target.contains("cursor=");
        let answer = match request.target.split('?').next().unwrap() {
            "/described" if first => json!({ "items": ["one"], "meta": { "next_cursor": "x" } }),
            "/described" => json!({ "items": ["two"], "meta": { "next_cursor": "" } }),
            "/empty" => json!({ "items": [] }),
            "/more" => json!({ "items": ["three"], "repository": { "name": "four" } }),
            _ => json!({ "things": ["three"], "state": "four" }),
        };
        Reply::json(200, &answer)
    });
    let operation = |id: &str, more: &str| {
        let meta = json!({ "type": "object", "properties": { "next_cursor": { "type": "string" } } });
        let schema = json!({ "type": "object", "properties": { "items": list, "meta": meta, more: object } });
        let parameters = json!([{ "name": "cursor", "in": "query", "schema": { "type": "string" } }]);
        let responses = json!({ "200": { "content": { "application/json": { "schema": schema } } } });
        json!({ "get": { "operationId": id, "parameters": parameters, "responses": responses } })
    };
    let mut whole = description(json!({
        "/described": operation("described", "links"), "/empty": operation("empty", "links"),
        "/other": operation("other", "links"), "/more": operation("more", "repository")
    }));
    whole["servers"] = json!([{ "url": api.url() }]);
    let folder = TestFolder::new(&[("api.json", &whole.to_string())]);
    assert_eq!(import(&folder, "api.json", &[]).code, Some(0));
    for (tool, wanted) in [
        ("described", r#"["one","two"]"#),
        ("empty", "[]"),
        ("other", r#"[{"things":["three"],"state":"four"}]"#),
        ("more", r#"{"items":["three"],"repository":{"name":"four"}}"#),
    ] {
        let ran = run_folio(folder.path(), &["call", tool, "-f", "out"]);
        let shown: String = ran.out.split_whitespace().collect();
        assert!(ran.code == Some(0) && shown.contains(wanted), "{tool}: {ran:?}");
    }
}

/// A description with a string wherever one may stand that becomes part of a request.
fn rich_description() -> Value {
    let text = json!({ "type": "string", "description": "A text", "default": "x", "enum": ["x"], "pattern": "^x" });
    let content = |media_type: &str| json!({ "required": true, "content": { media_type: { "schema": { "type": "object", "properties": { "field": text, "deep": { "type": "object", "properties": { "inner": text } } } }, "encoding": { "deep": { "style": "deepObject" } } } } });
    let operation = |id: &str, media_type: &str| {
        json!({ "operationId": id, "summary": "Does it", "tags": ["things"], "security": [{ "tokens": ["read"] }, { "cookie": [] }],
            "requestBody": content(media_type), "responses": { "200": { "description": "x" } } })
    };
    let parameter = |name: &str, place: &str| json!({ "name": name, "in": place, "description": "It", "required": true, "schema": text });
    let scheme = |place: &str| json!({ "type": "apiKey", "in": place, "name": "key", "description": "A key" });
    json!({
        "openapi": "3.0.3",
        "info": { "title": "Pets", "version": "1", "description": "Pets" },
        "servers": [{ "url": "https://{host}/v1", "variables": { "host": { "default": "pets.example" } } }],
        "components": { "securitySchemes": {
            "tokens": { "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": "https://pets.example/token", "scopes": {} } } },
            "cookie": scheme("cookie"), "header": scheme("header"), "query": scheme("query")
        } },
        "paths": {
            "/json": { "post": operation("json", "application/json") },
            "/patch": { "post": operation("patch", "application/merge-patch+json") },
            "/form": { "post": operation("form", "application/x-www-form-urlencoded") },
            "/multipart": { "post": operation("multipart", "multipart/form-data") },
            "/text": { "post": operation("text", "text/x-note") },
            "/cookie": { "get": { "operationId": "cookie", "security": [{ "cookie": [] }], "responses": {} } },
            "/query": { "get": { "operationId": "query", "security": [{ "query": [], "header": [] }], "responses": {} } },
            "/places/{id}": { "get": { "operationId": "places", "responses": {}, "parameters": [
                parameter("id", "path"), parameter("q", "query"), parameter("X-H", "header"), parameter("c", "cookie"), parameter("d", "cookie"),
                { "name": "deep", "in": "query", "style": "deepObject", "schema": { "type": "object", "properties": { "inner": text } } },
                { "name": "list", "in": "query", "style": "pipeDelimited", "schema": { "type": "array", "items": text } }
            ] } }
        }
    })
}

/// All values that come of a value by a change of one string or one key in it.
fn changed_once(value: &Value, change: &dyn Fn(&str) -> String) -> Vec<Value> {
    match value {
        Value::String(text) => vec![change(text).into()],
        Value::Array(items) => {
            let inner = items
                .iter()
                .enumerate()
                .flat_map(|(at, item)| changed_once(item, change).into_iter().map(move |changed| (at, changed)));
            let whole = |(at, changed): (usize, Value)| {
                let mut items = items.clone();
                items[at] = changed;
                Value::Array(items)
            };
            inner.map(whole).collect()
        }
        Value::Object(map) => {
            let mut found = Vec::new();
            for (key, inner) in map {
                let with = |name: String, value: Value| {
                    let rest = map.iter().filter(|(other, _)| *other != key);
                    let rest = rest.map(|(other, value)| (other.clone(), value.clone()));
                    Value::Object(rest.chain([(name, value)]).collect())
                };
                found.push(with(change(key), inner.clone()));
                found.extend(changed_once(inner, change).into_iter().map(|changed| with(key.clone(), changed)));
            }
            found
        }
        _ => Vec::new(),
    }
}

/// The strings of a manifest that are templates: none of schemas, and no keys.
fn template_slots(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| template_slots(item, found)),
        Value::Object(map) => {
            let schemas = ["arguments", "inputSchema", "outputSchema"];
            let slots = map.iter().filter(|(key, _)| !schemas.contains(&key.as_str()));
            slots.for_each(|(_, inner)| template_slots(inner, found));
        }
        _ => {}
    }
}

#[test]
fn no_string_of_a_description_is_a_live_template() {
    let leak = "{{env.LEAK}}";
    let (mut imports, mut tried) = (0, 0);
    let changes: [&dyn Fn(&str) -> String; 4] =
        [&|_| leak.to_owned(), &|text| format!("{text}{leak}"), &|text| format!("{text}\\{leak}"), &|text| {
            format!("{text}-{{{{lookup env (upper \"leak\")}}}}")
        }];
    let all: Vec<Vec<Value>> = changes.iter().map(|change| changed_once(&rich_description(), change)).collect();
    // Each string with one of the changes; all with each would take minutes.
    for (at, _) in all[0].iter().enumerate() {
        let changed = &all[at % all.len()][at];
        tried += 1;
        let bytes = changed.to_string().into_bytes();
        let source =
            folio::Source { name: "api.json".into(), bytes, folder: None, fetched: Default::default(), url: None };
        let Ok(import) = folio::import(&source, &Default::default()) else { continue };
        imports += 1;
        for file in import.plan_new().files.iter().filter(|file| file.path.ends_with(".yaml")) {
            let mut report = folio::Report::default();
            let id = folio::decode(file.text.as_bytes(), &file.path, &mut report).unwrap();
            let document = folio::parse(id, &mut report).unwrap();
            let mut slots = Vec::new();
            template_slots(&document.json(document.root()), &mut slots);
            slots.iter_mut().for_each(|slot| *slot = slot.replace("\\\\", "").replace("\\{{", ""));
            let live = slots.iter().find(|slot| slot.contains(leak) || slot.contains("{{lookup env"));
            assert_eq!(live, None, "{changed}\n{}", file.text);
        }
    }
    assert!(tried > 200 && imports * 2 > tried, "{imports} of {tried}");
}

/// A description with these paths, on a public server.
pub fn description(paths: Value) -> Value {
    json!({ "openapi": "3.1.0", "info": { "title": "Pets", "version": "1" }, "servers": [{ "url": "https://pets.example" }], "paths": paths })
}

/// Imports a description that is written into the folder first.
pub fn import_value(folder: &TestFolder, description: &Value, more: &[&str]) -> CommandOutput {
    folder.write("api.json", description.to_string());
    import(folder, "api.json", more)
}

#[test]
fn server_variables_are_filled_in_once() {
    let mut bomb = description(json!({ "/a": { "get": { "operationId": "a" } } }));
    let variable = |n: usize| (format!("v{n}"), json!({ "default": format!("{{v{}}}{{v{}}}", n + 1, n + 1) }));
    let mut variables: serde_json::Map<String, Value> = (0..20).map(variable).collect();
    variables.insert("v20".into(), json!({ "default": "y" }));
    bomb["servers"] = json!([{ "url": "https://x.example/{v0}", "variables": variables }]);
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &bomb, &[]);
    assert!(ran.err.contains("missing server URL") && read(&folder, "folio.yaml").len() < 10_000, "{}", ran.err);
    let nested = json!({ "v": { "default": "{w}" }, "w": { "default": "y" } });
    bomb["servers"] = json!([{ "url": "https://x.example/{v}", "variables": nested }]);
    let ran = import_value(&TestFolder::new(&[]), &bomb, &[]);
    assert!(ran.err.contains("missing server URL"), "{}", ran.err);
    bomb["servers"] =
        json!([{ "url": "https://x.example/{v}", "variables": { "v": { "default": "y".repeat(70_000) } } }]);
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &bomb, &[]);
    assert!(ran.err.contains("missing server URL"), "{}", ran.err);
}

#[test]
fn cookie_value_is_encoded_whatever_its_schema() {
    for schema in [
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": ["string", "null"] }),
        json!({ "type": "string", "pattern": "^en" }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        json!({ "$ref": "#/components/schemas/S" }),
    ] {
        let parameter = json!({ "name": "lang", "in": "cookie", "required": true, "schema": schema });
        let mut api = description(json!({ "/a": { "get": { "operationId": "a", "parameters": [parameter] } } }));
        api["components"] = json!({ "schemas": { "S": { "type": "string" } } });
        let folder = TestFolder::new(&[]);
        assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
        let tool = &tools(&folder, "tools/default.yaml")["a"];
        assert_eq!(tool["run"]["http"]["headers"]["Cookie"], "lang={{urlencode lang}}", "{schema}");
        assert_eq!(complaints(&folder), Vec::<String>::new());
    }
}

#[test]
fn cookies_are_separated_whichever_are_absent() {
    let api = Upstream::start(|_, _| Reply::json(200, &json!({})));
    let cookie = |name: &str, required: bool| json!({ "name": name, "in": "cookie", "required": required, "schema": { "type": "string" } });
    let operation = |id: &str, parameters: Value| json!({ "get": { "operationId": id, "parameters": parameters } });
    let mut described = description(json!({
        "/optional": operation("optional", json!([cookie("a", false), cookie("b", false), cookie("c", false)])),
        "/required": operation("required", json!([cookie("a", false), cookie("b", true), cookie("c", false)])),
    }));
    described["servers"] = json!([{ "url": api.url() }]);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &described, &[]).code, Some(0));
    assert_eq!(complaints(&folder), Vec::<String>::new());
    let server = ServeCommand::new(&folder.join("out")).stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (tool, arguments, header) in [
        ("optional", json!({}), None),
        ("optional", json!({ "a": "1" }), Some("a=1")),
        ("optional", json!({ "c": "3" }), Some("c=3")),
        ("optional", json!({ "a": "1", "c": "3" }), Some("a=1; c=3")),
        ("optional", json!({ "a": "1", "b": "2", "c": "3" }), Some("a=1; b=2; c=3")),
        ("required", json!({ "b": "2" }), Some("b=2")),
        ("required", json!({ "b": "2", "a": "1", "c": "3" }), Some("b=2; a=1; c=3")),
    ] {
        assert_eq!(client.call(tool, arguments.clone())["isError"], false, "{arguments}");
        assert_eq!(api.requests().last().unwrap().header("cookie"), header, "{tool} {arguments}");
    }
}

#[test]
fn import_writes_through_no_link_out_of_the_folder() {
    let api = description(json!({ "/a": { "get": { "operationId": "a" } } }));
    let folder = TestFolder::new(&[("elsewhere/mine.txt", "mine"), ("out/note.txt", "x")]);
    std::os::unix::fs::symlink(folder.join("elsewhere"), folder.join("out/tools")).unwrap();
    let ran = import_value(&folder, &api, &[]);
    assert!(ran.code != Some(0) && ran.err.contains("tools`"), "{ran:?}");
    assert_eq!(fs::read_dir(folder.join("elsewhere")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(folder.join("out")).unwrap().count(), 2, "nothing is begun");
}

#[test]
fn update_that_cannot_write_all_writes_nothing() {
    let mut api = description(json!({ "/a": { "get": { "operationId": "a" } } }));
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
    fs::remove_dir_all(folder.join("out/tools")).unwrap();
    folder.write("out/tools", "mine");
    let before = files(&folder);
    api["info"]["version"] = json!("2");
    api["paths"]["/b"] = json!({ "get": { "operationId": "b", "tags": ["new"] } });
    let ran = import_value(&folder, &api, &["--update"]);
    assert!(ran.code != Some(0) && ran.err.contains("`tools` is not a folder"), "{ran:?}");
    assert_eq!(files(&folder), before);
}

#[test]
fn update_reads_only_regular_files_of_the_folder() {
    let api = description(json!({ "/a": { "get": { "operationId": "a" } } }));
    for device in ["pipe", "/dev/zero", "/etc/passwd"] {
        let folder = TestFolder::new(&[]);
        assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
        fs::remove_file(folder.join("out/folio.yaml")).unwrap();
        match device {
            "pipe" => {
                let made = std::process::Command::new("mkfifo").arg(folder.join("out/folio.yaml")).status().unwrap();
                assert!(made.success());
            }
            target => std::os::unix::fs::symlink(target, folder.join("out/folio.yaml")).unwrap(),
        }
        let ran = import_value(&folder, &api, &["--update"]);
        assert!(ran.code != Some(0) && ran.err.contains("could not read `folio.yaml`"), "{device}: {ran:?}");
    }
}

#[test]
fn unusual_names_are_written_so_that_they_load() {
    let property = |name: &str| json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": { "application/json": { "schema": { "type": "object", "properties": { name: { "type": "string" }, "plain": { "type": "string" } } } } } } } } });
    let parameter = |name: &str, place: &str| json!({ "/a": { "get": { "operationId": "a", "parameters": [{ "name": name, "in": place, "schema": { "type": "string" } }] } } });
    let long = "f".repeat(1100);
    for paths in [
        property("<<"),
        property(&long),
        property(&"é".repeat(600)),
        parameter("<<", "query"),
        parameter(&long, "query"),
        parameter("f\u{1b}x", "cookie"),
        parameter("a b", "cookie"),
    ] {
        let folder = TestFolder::new(&[]);
        let ran = import_value(&folder, &description(paths), &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(complaints(&folder), Vec::<String>::new());
    }
}

#[test]
fn errors_of_an_updated_folder_are_reported() {
    let api = description(json!({ "/a": { "get": { "operationId": "a" } } }));
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
    folder.write("out/tools/mine.yaml", "tools:\n  mine: { run: { nonsense: 1 } }\n");
    let ran = import_value(&folder, &api, &["--update"]);
    assert!(ran.code == Some(1) && ran.err.contains("would not load with the result"), "{ran:?}");
}

#[test]
fn what_does_not_load_leaves_nothing_behind() {
    let api = |id: &str| description(json!({ "/a": { "get": { "operationId": id } } }));
    let folder = TestFolder::new(&[("out/tools/mine.yaml", "tools:\n  mine: { run: { nonsense: 1 } }\n")]);
    let before = files(&folder);
    let ran = import_value(&folder, &api("a"), &[]);
    assert!(ran.code == Some(1) && ran.err.contains("nothing was written"), "{ran:?}");
    assert_eq!(files(&folder), before);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api("a"), &[]).code, Some(0));
    folder.write("out/tools/mine.yaml", "tools:\n  mine: { run: { nonsense: 1 } }\n");
    let before = files(&folder);
    let ran = import_value(&folder, &api("b"), &["--update"]);
    assert!(ran.code == Some(1) && ran.err.contains("nothing is changed"), "{ran:?}");
    assert_eq!(files(&folder), before);
}

/// The `http` of a GET with these parameters.
fn request_with(head: Value, path: &str, parameters: Value) -> Value {
    let mut api = description(json!({ path: { "get": { "operationId": "a", "parameters": parameters } } }));
    if let Some(swagger) = head.as_object().filter(|head| !head.is_empty()) {
        api.as_object_mut().unwrap().remove("openapi");
        api.as_object_mut().unwrap().extend(swagger.clone());
    }
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &api, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(complaints(&folder), Vec::<String>::new());
    tools(&folder, "tools/default.yaml")["a"]["run"]["http"].clone()
}

#[test]
fn collection_formats_of_swagger_2_load() {
    let swagger = json!({ "swagger": "2.0", "host": "pets.example" });
    for (format, separator) in [("csv", ","), ("ssv", " "), ("tsv", "\\t"), ("pipes", "|")] {
        let list = |name: &str, place: &str| json!({ "name": name, "in": place, "required": place == "path", "type": "array", "items": { "type": "string" }, "collectionFormat": format });
        let http = request_with(
            swagger.clone(),
            "/a/{p}",
            json!([list("p", "path"), list("q", "query"), list("H", "header")]),
        );
        let joined = |name: &str| json!(format!("{{{{default (join {name} \"{separator}\") null}}}}"));
        assert_eq!((&http["query"]["q"], &http["headers"]["H"]), (&joined("q"), &joined("H")), "{format}");
    }
}

#[test]
fn values_in_paths_are_written_in_their_style() {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let map = json!({ "type": "object", "properties": { "k": { "type": "string" } } });
    let text = json!({ "type": "string" });
    let between = "{{#unless @first}},{{/unless}}";
    for (style, explode, schema, wanted) in [
        ("simple", false, &text, "{{x}}".to_owned()),
        ("label", false, &text, ".{{x}}".to_owned()),
        ("matrix", true, &text, ";x={{x}}".to_owned()),
        ("simple", true, &list, format!("{{{{#each x}}}}{between}{{{{this}}}}{{{{/each}}}}")),
        ("label", false, &list, format!(".{{{{#each x}}}}{between}{{{{this}}}}{{{{/each}}}}")),
        ("label", true, &list, "{{#each x}}.{{this}}{{/each}}".to_owned()),
        ("matrix", false, &list, format!(";x={{{{#each x}}}}{between}{{{{this}}}}{{{{/each}}}}")),
        ("matrix", true, &list, "{{#each x}};x={{this}}{{/each}}".to_owned()),
        ("simple", false, &map, format!("{{{{#each x}}}}{between}{{{{@key}}}},{{{{this}}}}{{{{/each}}}}")),
        ("simple", true, &map, format!("{{{{#each x}}}}{between}{{{{@key}}}}={{{{this}}}}{{{{/each}}}}")),
        ("label", true, &map, "{{#each x}}.{{@key}}={{this}}{{/each}}".to_owned()),
        ("matrix", false, &map, format!(";x={{{{#each x}}}}{between}{{{{@key}}}},{{{{this}}}}{{{{/each}}}}")),
        ("matrix", true, &map, "{{#each x}};{{@key}}={{this}}{{/each}}".to_owned()),
    ] {
        let parameter = json!({ "name": "x", "in": "path", "required": true, "style": style, "explode": explode, "schema": schema });
        let http = request_with(json!({}), "/a/{x}/b", json!([parameter]));
        assert_eq!(http["url"], format!("/a/{wanted}/b"), "{style} {explode}");
    }
}

/// The answer of a server that echoes the request to the tool `a` with these arguments.
fn echoed(api: &mut Value, arguments: &[&str]) -> (String, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    api["servers"] = json!([{ "url": format!("http://{}", listener.local_addr().unwrap()) }]);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, api, &[]).code, Some(0));
    let serving = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = vec![0; 8192];
        let size = socket.read(&mut request).unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").unwrap();
        String::from_utf8_lossy(&request[..size]).into_owned()
    });
    let ran = run_folio(folder.path(), &[&["call", "-f", "out", "a"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = serving.join().unwrap();
    (request.split(' ').nth(1).unwrap().to_owned(), request.to_ascii_lowercase())
}

#[test]
fn elements_are_encoded_and_empty_lists_left_out() {
    let list = |name: &str, place: &str| json!({ "name": name, "in": place, "required": place == "path", "explode": false, "schema": { "type": "array", "items": { "type": "string" } } });
    let parameters = json!([list("p", "path"), list("q", "query"), list("x-h", "header")]);
    let mut api = description(json!({ "/a/{p}": { "get": { "operationId": "a", "parameters": parameters } } }));
    let (target, head) = echoed(&mut api, &[r#"p=["a,1","b"]"#, "q=[]", "x_h=[]"]);
    assert_eq!(target, "/a/a%2C1,b");
    assert!(!head.contains("x-h"), "{head}");
    let (target, _) = echoed(&mut api, &[r#"p=["a"]"#, r#"q=["b","c"]"#]);
    assert_eq!(target, "/a/a?q=b,c");
}

#[test]
fn lists_in_forms_are_joined_as_they_say() {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let schema = json!({ "type": "object", "properties": { "one": list, "each": list, "piped": list } });
    let encoding = json!({ "one": { "explode": false }, "piped": { "style": "pipeDelimited", "explode": false } });
    let content = json!({ "application/x-www-form-urlencoded": { "schema": schema, "encoding": encoding } });
    let api = description(json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": content } } } }));
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
    let form = json!({ "one": "{{default (join one \",\") null}}", "each": "{{each}}", "piped": "{{default (join piped \"|\") null}}" });
    let tool = &tools(&folder, "tools/default.yaml")["a"];
    assert_eq!(tool["run"]["http"]["form"], form);
}

#[test]
fn files_are_known_by_their_media_types() {
    let properties = json!({
        "photo": { "type": "string", "contentMediaType": "image/png" },
        "scans": { "type": "array", "items": { "type": "string", "contentMediaType": "application/pdf" } },
        "any": {},
        "letters": { "type": "string", "contentMediaType": "image/png", "contentEncoding": "base64" },
        "meta": { "type": "object", "properties": { "a": { "type": "string" } } }
    });
    let encoding =
        json!({ "any": { "contentType": "image/png, image/jpeg" }, "meta": { "contentType": "application/json" } });
    let content = json!({ "multipart/form-data": { "schema": { "type": "object", "properties": properties }, "encoding": encoding } });
    let api = description(json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": content } } } }));
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &api, &[]);
    let said = tools(&folder, "tools/default.yaml")["a"]["description"].to_string();
    for (name, is_file) in [("photo", true), ("scans", true), ("any", true), ("letters", false), ("meta", false)] {
        assert_eq!(said.contains(&format!("`{name}` is sent as text, not as a file.")), is_file, "{name}: {said}");
    }
    assert!(ran.err.contains("unsupported `contentType` of a part: `application/json` is left out"), "{}", ran.err);
}

/// The schema of the body of the only tool.
fn body_schema(api: &Value) -> Value {
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, api, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(complaints(&folder), Vec::<String>::new());
    tools(&folder, "tools/default.yaml")["a"]["arguments"]["body"].clone()
}

#[test]
fn schemas_built_on_a_base_are_its_alternatives() {
    let definitions = json!({
        "Animal": { "type": "object", "discriminator": "kind", "required": ["kind"], "properties": { "kind": { "type": "string" } } },
        "Dog": { "allOf": [{ "$ref": "#/definitions/Animal" }, { "type": "object", "properties": { "bark": { "type": "integer" } } }] },
        "Puppy": { "allOf": [{ "$ref": "#/definitions/Dog" }, { "type": "object", "properties": { "friend": { "$ref": "#/definitions/Animal" } } }] }
    });
    let parameter = json!({ "name": "payload", "in": "body", "schema": { "$ref": "#/definitions/Animal" } });
    let api = json!({ "swagger": "2.0", "host": "pets.example", "definitions": definitions, "paths": { "/a": { "post": { "operationId": "a", "parameters": [parameter] } } } });
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
    assert_eq!(complaints(&folder), Vec::<String>::new());
    let tool = &tools(&folder, "tools/default.yaml")["a"];
    let schema = &tool["arguments"]["body"]["anyOf"];
    let kinds: Vec<&Value> = schema.as_array().unwrap().iter().map(|one| &one["properties"]["kind"]["const"]).collect();
    assert_eq!(kinds, ["Dog", "Puppy", "Animal"], "{tool}");
    assert_eq!(schema[0]["properties"]["bark"]["type"], "integer", "{tool}");
    assert_eq!(schema[1]["required"], json!(["kind"]), "{tool}");
}

#[test]
fn mapping_of_a_discriminator_is_a_const_of_each_branch() {
    let pet = |field: &str| json!({ "type": "object", "properties": { "petType": { "type": "string" }, field: { "type": "string" } } });
    let mut api = description(
        json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } } } }),
    );
    let discriminator =
        json!({ "propertyName": "petType", "mapping": { "kitty": "#/components/schemas/Cat", "cat": "Cat" } });
    let alternatives = json!([{ "$ref": "#/components/schemas/Cat" }, { "$ref": "#/components/schemas/Dog" }]);
    api["components"] = json!({ "schemas": { "Pet": { "oneOf": alternatives, "discriminator": discriminator }, "Cat": pet("meow"), "Dog": pet("bark") } });
    let schema = body_schema(&api);
    let types: Vec<&Value> =
        schema["anyOf"].as_array().unwrap().iter().map(|one| &one["properties"]["petType"]).collect();
    let wanted = json!([{ "type": "string", "enum": ["kitty", "cat"] }, { "type": "string", "const": "Dog" }]);
    assert_eq!(json!(types), wanted);
    assert_eq!(schema["anyOf"][1]["required"], json!(["petType"]));
}

#[test]
fn only_without_match_suggests_names() {
    let folder = TestFolder::new(&[]);
    for (only, words) in [
        ("zzzzzz", "error: nothing matches `zzzzzz`\nhelp: there are the tags `Search & more`, `books`"),
        ("event", "help: did you mean one of `listEvents`?"),
    ] {
        let ran = import(&folder, &fixture("library.yaml"), &["--only", only]);
        assert!(ran.code == Some(1) && ran.err.contains(words), "{ran:?}");
    }
}

#[test]
fn missing_security_schemes_are_reported() {
    let mut api = description(json!({
        "/a": { "get": { "operationId": "a", "security": [{ "gone": [] }] } },
        "/b": { "get": { "operationId": "b", "security": [{ "certificate": [] }] } }
    }));
    api["components"] = json!({ "securitySchemes": { "certificate": { "type": "mutualTLS" } } });
    let ran = import_value(&TestFolder::new(&[]), &api, &[]);
    for words in ["unknown security scheme `gone`", "`tls: { clientCert: FILE, clientKey: FILE }`"] {
        assert!(ran.err.contains(words), "{words}:\n{}", ran.err);
    }
}

#[test]
fn update_refreshes_a_tool_that_was_moved() {
    let operation = |id: &str, summary: &str| json!({ "get": { "operationId": id, "tags": [id], "summary": summary } });
    let api =
        |summary: &str| description(json!({ "/a": operation("first", summary), "/b": operation("second", "Second") }));
    for target in ["out/tools/second.yaml", "out/tools/mine.yaml"] {
        let folder = TestFolder::new(&[]);
        assert_eq!(import_value(&folder, &api("Old"), &[]).code, Some(0));
        let entry = read(&folder, "tools/first.yaml").split_once("tools:\n").unwrap().1.to_owned();
        let before = fs::read_to_string(folder.join(target)).unwrap_or_else(|_| "tools:\n".to_owned());
        folder.write(target, format!("{before}{entry}"));
        fs::remove_file(folder.join("out/tools/first.yaml")).unwrap();
        let ran = import_value(&folder, &api("New"), &["--update"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains("refreshed tools/first") && !ran.out.contains("deleted"), "{}", ran.out);
        assert!(fs::read_to_string(folder.join(target)).unwrap().contains("description: New"), "{ran:?}");
        assert!(!folder.join("out/tools/first.yaml").exists());
        let again = import_value(&folder, &api("New"), &["--update"]);
        assert!(!again.out.contains("tools/first") && !again.out.contains("wrote"), "{}", again.out);
    }
}

#[test]
fn deleted_tools_are_not_counted_by_update() {
    let api = description(
        json!({ "/a": { "get": { "operationId": "first" } }, "/b": { "get": { "operationId": "second" } } }),
    );
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
    let text = read(&folder, "tools/default.yaml");
    folder.write("out/tools/default.yaml", &text[..text.find("\n  second:").unwrap()]);
    let ran = import_value(&folder, &api, &["--update"]);
    assert!(ran.out.contains("deleted by hand: tools/second") && ran.out.contains("1 of 2 operations"), "{}", ran.out);
}

#[test]
fn places_of_a_warning_are_counted_once() {
    let shared = json!({ "$ref": "#/components/parameters/P" });
    let operation = |id: &str| json!({ "get": { "operationId": id, "parameters": [shared] } });
    let mut api = description(json!({ "/a": operation("a"), "/b": operation("b"), "/c": operation("c") }));
    api["components"] = json!({ "parameters": { "P": { "name": "p", "in": "nowhere" } } });
    let ran = import_value(&TestFolder::new(&[]), &api, &[]);
    assert!(ran.err.contains("unsupported parameter location") && !ran.err.contains("more place"), "{}", ran.err);
}

#[test]
fn files_beside_a_fetched_description_are_fetched() {
    let main = json!({ "openapi": "3.1.0", "servers": [{ "url": "https://pets.example" }], "paths": { "/a": { "post": { "operationId": "a", "requestBody": { "content": { "application/json": { "schema": { "$ref": "parts/shared.json#/Thing" } } } } } } } });
    let shared = json!({ "Thing": { "type": "object", "properties": { "size": { "$ref": "../more.json#/Size" } } } });
    let more = json!({ "Size": { "type": "integer" }, "Other": { "$ref": "../../etc/secret.json" } });
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut asked = Vec::new();
        for answer in [main, shared, more] {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = vec![0; 4096];
            let size = socket.read(&mut request).unwrap();
            asked.push(String::from_utf8_lossy(&request[..size]).split(' ').nth(1).unwrap().to_owned());
            let text = answer.to_string();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
            socket.write_all((head + &text).as_bytes()).unwrap();
        }
        asked
    });
    let folder = imported(&format!("http://{address}/v1/api.json"), &[]);
    assert_eq!(serving.join().unwrap(), ["/v1/api.json", "/v1/parts/shared.json", "/v1/more.json"]);
    assert_eq!(tools(&folder, "tools/default.yaml")["a"]["arguments"]["size"], json!({ "type": "integer" }));
}

#[test]
fn private_server_address_is_a_warning() {
    let mut api = description(json!({ "/a": { "get": { "operationId": "a" } } }));
    for (url, is_warned) in [
        ("http://169.254.169.254/latest", true),
        ("http://10.0.0.1/", true),
        ("http://[fd00::1]/", true),
        ("http://metadata.google.internal/", true),
        ("http://127.0.0.1:8000", false),
        ("https://pets.example", false),
    ] {
        api["servers"] = json!([{ "url": url }]);
        let folder = TestFolder::new(&[]);
        let ran = import_value(&folder, &api, &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.err.contains("private server address"), is_warned, "{url}: {}", ran.err);
        assert!(!is_warned || ran.err.contains("--> api.json:1:"), "{}", ran.err);
    }
}

#[test]
fn import_that_writes_too_much_is_refused() {
    let properties: serde_json::Map<String, Value> =
        (0..700).map(|n| (format!("p{n}"), json!({ "type": "string", "description": "x".repeat(60) }))).collect();
    let shared = json!({ "schema": { "$ref": "#/components/schemas/S" } });
    let operation = |n: usize| json!({ "post": { "operationId": format!("o{n}"), "requestBody": { "content": { "application/json": shared } } } });
    let paths: serde_json::Map<String, Value> = (0..600).map(|n| (format!("/p{n}"), operation(n))).collect();
    let mut api = description(paths.into());
    api["components"] = json!({ "schemas": { "S": { "type": "object", "properties": properties } } });
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &api, &[]);
    assert!(ran.code == Some(1) && ran.err.contains("--only"), "{:?} {:.400}", ran.code, ran.err);
    assert!(!folder.join("out").exists());
}

#[test]
fn credentials_of_servers_are_left_out() {
    let description = json!({
        "openapi": "3.0.3",
        "info": { "title": "Desk", "version": "1" },
        "servers": [{ "url": "https://admin:Tr0ub4dor@api.example/v1" }],
        "paths": { "/items": { "get": { "operationId": "items", "responses": { "200": { "description": "ok" } } } } },
        "components": { "securitySchemes": { "o": { "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": "https://me:Tr0ub4dor@auth.example/token", "scopes": {} } } } } },
        "security": [{ "o": [] }],
    });
    let folder = TestFolder::new(&[("api.json", &description.to_string())]);
    let ran = import(&folder, "api.json", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for what in ["server URL", "token URL"] {
        assert!(ran.err.contains(&format!("user name and password of the {what} left out")), "{}", ran.err);
    }
    let written = files(&folder);
    assert!(written.values().all(|text| !text.contains("Tr0ub4dor")), "{written:?}");
    let manifest = read(&folder, "folio.yaml");
    assert!(
        manifest.contains("default: https://api.example/v1") && manifest.contains("https://auth.example/token"),
        "{manifest}"
    );
}
