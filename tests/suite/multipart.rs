//! `multipart` of `http`: parts that are texts, and files that are read while they are sent.

use std::fs;

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

fn manifest(arguments: &str, http: &str) -> String {
    format!(
        "folio: 1\nserver: {{ name: upload }}\ntools:\n  t:\n    description: T\n    \
         arguments: {{ {arguments} }}\n    run: {{ http: {http} }}\n"
    )
}

fn ok() -> Reply {
    Reply::json(200, &json!({ "ok": true }))
}

/// The parts of a body: their heads, and their contents.
fn parts(request: &crate::upstream_server::RecordedRequest) -> Vec<(String, String)> {
    let boundary = request.header("content-type").unwrap().strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = format!("\r\n{}", request.body);
    let body = body.strip_suffix(&format!("\r\n--{boundary}--\r\n")).unwrap();
    let separator = format!("\r\n--{boundary}\r\n");
    body.split(&separator)
        .skip(1)
        .map(|part| part.split_once("\r\n\r\n").map(|(head, content)| (head.to_owned(), content.to_owned())).unwrap())
        .collect()
}

fn call(folder: &TestFolder, arguments: Value) -> Value {
    folder.stdio().client(SESSION_VERSIONS[3]).call("t", arguments)
}

#[test]
fn texts_and_files_are_parts() {
    let api = Upstream::start(|_, _| ok());
    let http = format!(
        r#"{{ url: "{}", headers: {{ Content-Type: text/plain }}, multipart: {{ title: "T {{{{title}}}}", gone: "{{{{no}}}}",
            table: {{ file: data/table.csv }}, raw: {{ file: data/raw, mimeType: image/png, filename: "{{{{title}}}}.png" }} }} }}"#,
        api.url()
    );
    let folder = TestFolder::with_manifest(&manifest("title: {}, no: {}", &http));
    folder.write("data/table.csv", "a,b\n1,2\n");
    folder.write("data/raw", "");
    call(&folder, json!({ "title": "ä" }));
    let request = &api.requests()[0];
    assert_eq!(request.header("content-length"), Some(&*request.body.len().to_string()));
    let disposition = "Content-Disposition: form-data";
    assert_eq!(
        parts(request),
        [
            (format!("{disposition}; name=\"title\""), "T ä".to_owned()),
            (
                format!("{disposition}; name=\"table\"; filename=\"table.csv\"\r\nContent-Type: text/csv"),
                "a,b\n1,2\n".to_owned()
            ),
            (format!("{disposition}; name=\"raw\"; filename=\"ä.png\"\r\nContent-Type: image/png"), String::new()),
        ]
    );
}

#[test]
fn list_is_a_part_for_each_item() {
    let api = Upstream::start(|_, _| ok());
    let http =
        format!(r#"{{ url: "{}", multipart: {{ tag: "{{{{tags}}}}", all: "{{{{join tags ','}}}}" }} }}"#, api.url());
    let folder = TestFolder::with_manifest(&manifest("tags: { type: array, items: { type: string } }", &http));
    call(&folder, json!({ "tags": ["a", "b"] }));
    let contents: Vec<String> = parts(&api.requests()[0]).into_iter().map(|(_, content)| content).collect();
    assert_eq!(contents, ["a", "b", "a,b"]);
}

#[test]
fn names_do_not_add_headers() {
    let api = Upstream::start(|_, _| ok());
    let http = format!(
        r#"{{ url: "{}", multipart: {{ "a\"\r\nX-A: 1": x, f: {{ file: f.txt, filename: "{{{{name}}}}" }} }} }}"#,
        api.url()
    );
    let folder = TestFolder::with_manifest(&manifest("name: {}", &http));
    folder.write("f.txt", "f");
    call(&folder, json!({ "name": "\"\r\nX-B: 2\r\n\r\nbody\u{0}" }));
    let heads: Vec<String> = parts(&api.requests()[0]).into_iter().map(|(head, _)| head).collect();
    let disposition = "Content-Disposition: form-data";
    let filename = "%22%0D%0AX-B: 2%0D%0A%0D%0Abody%00";
    assert_eq!(
        heads,
        [
            format!("{disposition}; name=\"a%22%0D%0AX-A: 1\""),
            format!("{disposition}; name=\"f\"; filename=\"{filename}\"\r\nContent-Type: text/plain"),
        ]
    );
}

#[test]
fn file_is_opened_for_each_attempt() {
    let api = Upstream::start(|_, number| match number {
        0 => Reply::with_headers(503, &[], ""),
        1 => Reply::with_headers(307, &[("Location", "/moved")], ""),
        _ => ok(),
    });
    let http = format!(
        "{{ url: \"{}\", method: PUT, retry: {{ backoff: 1ms }}, multipart: {{ f: {{ file: f.txt }} }} }}",
        api.url()
    );
    let folder = TestFolder::with_manifest(&manifest("", &http));
    folder.write("f.txt", "content");
    call(&folder, json!({}));
    assert_eq!(api.targets(), ["PUT /", "PUT /", "PUT /moved"]);
    assert!(api.requests().iter().all(|request| parts(request)[0].1 == "content"));
}

#[test]
fn deleted_file_is_an_error() {
    let api = Upstream::start(|_, _| ok());
    let http = format!("{{ url: \"{}\", multipart: {{ f: {{ file: data/f.txt }} }} }}", api.url());
    let folder = TestFolder::with_manifest(&manifest("", &http));
    folder.write("data/f.txt", "content");
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    client.call("t", json!({}));
    folder.remove("data/f.txt");
    let result = client.call("t", json!({}));
    let message = "failed: cannot send the request: no such file or folder: `data/f.txt`";
    assert!(result["isError"] == true && text_of(&result["content"][0]).ends_with(message), "{result}");
    assert_eq!(api.requests().len(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn large_file_is_not_held_in_memory() {
    const MIB: usize = 1 << 20;
    let api = Upstream::start(|_, _| ok());
    let http = format!("{{ url: \"{}\", multipart: {{ f: {{ file: big.bin }} }} }}", api.url());
    let folder = TestFolder::with_manifest(&manifest("", &http));
    folder.write("small.bin", "x");
    fs::File::create(folder.join("big.bin")).unwrap().set_len(200 * MIB as u64).unwrap();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("t", json!({})), r#"{"ok":true}"#);
    assert!(api.requests()[0].body.len() > 200 * MIB);
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 120 << 10, "{peak} KiB");
}

#[test]
fn values_are_sent_as_files() {
    let api = Upstream::start(|_, _| ok());
    let http = format!(
        r#"{{ url: "{}", multipart: {{ report: {{ text: "T {{{{title}}}}", filename: "{{{{title}}}}.md" }},
            image: {{ base64: "{{{{image}}}}", mimeType: image/png }}, gone: {{ base64: "{{{{no}}}}" }} }} }}"#,
        api.url()
    );
    let folder = TestFolder::with_manifest(&manifest("title: {}, image: {}, no: {}", &http));
    call(&folder, json!({ "title": "a", "image": "aGk=" }));
    let disposition = "Content-Disposition: form-data";
    assert_eq!(
        parts(&api.requests()[0]),
        [
            (
                format!("{disposition}; name=\"report\"; filename=\"a.md\"\r\nContent-Type: text/markdown"),
                "T a".to_owned()
            ),
            (format!("{disposition}; name=\"image\"; filename=\"image\"\r\nContent-Type: image/png"), "hi".to_owned()),
        ]
    );
    let refused = call(&folder, json!({ "title": "a", "image": "no base64" }));
    assert!(refused.to_string().contains("the part `image` of `multipart` is not base64"), "{refused}");
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn mistakes_in_parts_are_reported() {
    let http = "{ url: \"https://x.example/\", multipart: { a: { mimeType: text/csv }, b: { file: no.txt }, \
                c: { file: folio.yaml, mimeType: csv }, d: { file: ../x } } }";
    let folder = TestFolder::with_manifest(&manifest("", http));
    let output = run_folio(folder.path(), &["check"]);
    for message in [
        "expected exactly one of `file`, `text`, `base64` in `multipart`",
        "no such file or folder: `no.txt`",
        "invalid MIME type `csv`",
        "path `../x` escapes the pack folder",
    ] {
        assert!(output.err.contains(message) || output.out.contains(message), "{message}");
    }
}
