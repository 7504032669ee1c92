//! No secret leaves, in any known form, cut or field.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::example_api::MockApi;
use crate::harness::{FOLIO_BIN, SESSION_VERSIONS, SESSIONLESS_VERSION, TestClient, TestFolder, run_folio};

const SECRET: &str = "Zk/7~ä\"&qW hunter22-9d41+x";
const NUMBER: &str = "8675309123";

/// Whether six characters of a secret are in a text, in either case.
fn leaks(secret: &str, text: &str) -> bool {
    let (letters, text): (Vec<char>, String) = (secret.to_lowercase().chars().collect(), text.to_lowercase());
    letters.windows(6).any(|six| text.contains(&six.iter().collect::<String>()))
}

/// Every way in which a text is looked through.
fn all_decodings(text: &str) -> Vec<String> {
    let inner = decodings(text);
    let innermost: Vec<String> = inner.iter().flat_map(|text| decodings(text)).collect();
    let mut all: Vec<String> = inner.iter().chain(&innermost).flat_map(|text| unescape(text)).collect();
    all.extend(unescape(text));
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    all.push(String::from_utf8_lossy(&digits.chunks_exact(2).map(byte).collect::<Vec<u8>>()).into_owned());
    all
}

/// A text, and what it may be an escaped form of.
fn unescape(text: &str) -> Vec<String> {
    let form = text.replace('+', " ");
    let percent = |text: &str| {
        url::form_urlencoded::parse(format!("k={}", text.replace('&', "%26")).as_bytes())
            .map(|(_, value)| value.into_owned())
            .collect::<String>()
    };
    let html = text.replace("&quot;", "\"").replace("&amp;", "&");
    let json =
        |text: &str| text.replace("\\/", "/").replace("\\\"", "\"").replace("\\u00e4", "ä").replace("\\\\", "\\");
    vec![text.to_owned(), percent(text), percent(&form), html, json(text), json(&json(text))]
}

/// What the runs of base64 in a text may be of, at each alignment.
fn decodings(text: &str) -> Vec<String> {
    let is_base64 = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '=');
    let mut all = Vec::new();
    for run in text.split(|letter| !is_base64(letter)).filter(|run| run.len() >= 8) {
        let bare = run.trim_end_matches('=');
        let length = bare.len();
        for (from, to) in (0..4).flat_map(|from| (0..4).map(move |cut| (from, length - cut))) {
            let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
            all.extend(
                bare.get(from..to)
                    .and_then(|run| engine.decode(run).ok())
                    .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            );
        }
    }
    all
}

#[track_caller]
fn assert_hidden(text: &str) {
    for reading in all_decodings(text) {
        assert!(!leaks(SECRET, &reading) && !leaks(NUMBER, &reading), "{text}\nread as\n{reading}");
    }
}

fn manifest(api: &str) -> String {
    const TOOLS: &str = r##"
folio: 1
server: { name: s }
env: { T: { secret: true }, N: { secret: true }, HOOK: { secret: true } }
tools:
  cut: { arguments: { n: { type: integer } }, maxOutput: 64B, run: { exec: [sh, -c, 'printf "%*s%s and more than that" "$P" "" "$T"'], env: { T: "{{env.T}}", P: "{{n}}" } } }
  tail: { arguments: { n: { type: integer } }, run: { exec: [sh, -c, 'printf %s "$T" >&2; head -c "$P" /dev/zero | tr "\\0" x >&2; exit 3'], env: { T: "{{env.T}}", P: "{{n}}" } } }
  late: { arguments: { n: { type: integer } }, timeout: 400ms, run: { exec: [sh, -c, 'printf %s "$T" >&2; head -c "$P" /dev/zero | tr "\\0" x >&2; sleep 20'], env: { T: "{{env.T}}", P: "{{n}}" } } }
  broken: { timeout: 400ms, run: { exec: [sh, -c, 'printf "%.20s" "$T" >&2; sleep 20'], env: { T: "{{env.T}}" } } }
  helpers: { arguments: { n: { type: integer } }, run: { exec: [sh, -c, 'printf %s "$T"'], env: { T: "{{env.T}}" } }, result: { text: "{{truncate result.stdout n}}|{{first (split result.stdout \"~\")}}|{{first (lines result.stdout)}}|{{lower result.stdout}}|{{upper result.stdout}}|{{replace result.stdout \"t\" \"-\"}}|{{join (split result.stdout \"e\") \"_\"}}" } }
  forms: { run: { exec: [sh, -c, 'printf "%s" "$T" | sed "s,/,%2f,g;s/ /%20/g;s/&/%26/g;s/\"/%22/g;s/ä/%c3%a4/g;s/+/%2b/g"; echo; printf %s "$T" | sed "s,/,\\\\/,g;s/ä/\\\\u00e4/g;s/\"/\\\\\"/g"; echo; printf %s "$T" | sed "s/&/\&amp;/g;s/\"/\&quot;/g"; echo; printf %s "$T" | od -An -tx1 | tr -d " \n"; echo; for p in "" a ab; do printf %s%s "$p" "$T" | base64; done'], env: { T: "{{env.T}}" } } }
  basic: { run: { http: { url: "API/echo/200", auth: { basic: { username: user, password: "{{env.T}}" } } } } }
  echo: { run: { http: { method: POST, url: "API/echo/200", query: { a: "{{env.T}}" }, headers: { x-hex: "{{env.N}}" }, form: { b: "{{env.T}}" } } } }
  echo-json: { run: { http: { method: POST, url: "API/echo/200", json: { b: "{{json env.T}}" } } } }
  echo-path: { run: { http: { url: "API/echo/200/{{path env.T}}" } } }
  refused: { run: { http: { url: "API/echo/500", auth: { basic: { username: user, password: "{{env.T}}" } } } } }
  hook: { run: { http: { url: "{{env.HOOK}}/echo/500" } } }
  image: { run: { exec: [sh, -c, 'printf "\211PNG\r\n\032\n%s\000\377" "$T"'], env: { T: "{{env.T}}" } } }
  file-image: { result: { content: [{ image: secret.png }, { audio: { file: secret.png, mimeType: audio/wav } }] } }
  inline: { run: { exec: [sh, -c, 'printf "{\"data\":\"%s\"}" "$(printf "abc%sdef" "$T" | base64 -w0)"'], env: { T: "{{env.T}}" } }, result: { content: [{ image: { base64: "{{result.json.data}}", mimeType: image/png } }] } }
  number: { run: { exec: [sh, -c, 'printf "{\"n\":%s,\"list\":[%s.5],\"%s\":true}" "$N" "$N" "$N"'], env: { N: "{{env.N}}" } } }
  embedded: { run: { exec: [sh, -c, 'printf %s "$T"'], env: { T: "{{env.T}}" } }, result: { content: [{ resource: { uri: "x://{{result.stdout}}", text: t } }, { resourceLink: { uri: "x://{{result.stdout}}", name: "{{result.stdout}}" } }] } }
  notify: { run: [{ id: a, exec: [sh, -c, 'printf %s "$T"'], env: { T: "{{env.T}}" } }, { notify: { updated: "doc://{{steps.a.stdout}}" } }] }
  reads: { arguments: { n: { type: integer } }, run: [{ id: a, read: "doc://file" }], result: { text: "{{truncate steps.a.text n}}" } }
  encoded: { arguments: { how: {} }, run: { exec: [sh, ./encoded.sh, "{{how}}"], env: { T: "{{env.T}}" } } }
  encoded-cut: { arguments: { how: {} }, maxOutput: 64B, run: { exec: [sh, ./encoded.sh, "{{how}}"], env: { T: "{{env.T}}" } } }
  encoded-said: { arguments: { how: {} }, run: [{ id: a, exec: [sh, ./encoded.sh, "{{how}}"], env: { T: "{{env.T}}" } }, { log: "{{steps.a.stdout}}" }, { log: { data: { k: "{{steps.a.stdout}}" } } }, { fail: "it said {{steps.a.stdout}}" }] }
resources:
  file: { uri: "doc://file", file: secret.txt }
  blob: { uri: "doc://blob", file: secret.png }
  doc: { uri: "doc://{+x}", text: "{{x}}" }
"##;
    let described = TOOLS.replace("API", api);
    let lines = described.lines().map(|line| match line.split_once(": {") {
        Some((name, rest)) if line.starts_with("  ") && !line.contains("uri:  ") && !rest.starts_with(" uri") => {
            format!("{name}: {{ description: d,{rest}\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Says the secret encoded in this way, and fails where it is told to.
const ENCODED: &str = r#"
inner=$(printf 'user:%s and more' "$T" | base64 -w0)
case $1 in
  header) printf 'Authorization: Basic %s' "$inner" ;;
  path) printf 'https://host/v1/%s/more' "$inner" ;;
  lines) printf 'data: |\n'; printf %s "$inner" | fold -w 30 | sed 's/^/  /' ;;
  groups) printf %s "$T" | od -An -w64 -tx1 ;;
  fails) printf 'refused: Basic %s' "$inner" >&2; exit 3 ;;
esac
"#;

struct LeakyApi {
    folder: TestFolder,
    api: MockApi,
}

impl LeakyApi {
    fn new() -> LeakyApi {
        let api = MockApi::start();
        let folder = TestFolder::with_manifest(&manifest(&api.url()));
        folder.write("encoded.sh", ENCODED);
        folder.write("secret.txt", format!("a line\n{SECRET}\n"));
        folder.write(
            "secret.png",
            [b"\x89PNG\r\n\x1a\n\xff\0".to_vec(), SECRET.as_bytes().to_vec(), vec![0, 255]].concat(),
        );
        LeakyApi { folder, api }
    }

    /// Goes through `part` on each wire, in a session and without one.
    fn for_each_wire(&self, part: impl Fn(&TestClient)) {
        let hook = self.api.url().replace("127.0.0.1", "localhost");
        let serve = || self.folder.serve_command().env("T", SECRET).env("N", NUMBER).env("HOOK", &hook);
        let (pipes, web) = (serve().stdio(), serve().http());
        for version in [SESSION_VERSIONS[3], SESSIONLESS_VERSION] {
            part(&pipes.client(version));
            part(&web.client(version));
        }
        for server in [pipes, web] {
            assert_hidden(&server.log.text());
        }
    }

    /// Calls a tool everywhere with each of these numbers.
    fn calls(&self, tool: &str, numbers: impl IntoIterator<Item = i64> + Clone) {
        self.for_each_wire(|client| {
            for n in numbers.clone() {
                let answer = client.call(tool, json!({ "n": n }));
                assert_hidden(&answer.to_string());
                assert!(answer["content"][0]["text"].is_string(), "{answer}");
            }
        });
    }

    fn call(&self, tool: &str, check: impl Fn(&Value)) {
        self.for_each_wire(|client| {
            let answer = client.call(tool, json!({}));
            assert_hidden(&answer.to_string());
            check(&answer);
        });
    }
}

fn says_secret(answer: &Value) {
    assert!(answer.to_string().contains("[secret]"), "{answer}");
}

#[test]
fn max_output_never_cuts_inside_a_secret() {
    LeakyApi::new().calls("cut", (38..66).step_by(3));
}

/// What is redacted twice is cut elsewhere.
#[test]
fn who_watches_a_call_does_not_change_its_output() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: cut }\nenv: { SEC: { secret: true, default: s3cr3t-Value-123456 } }\ntools:\n\
         \x20 cut:\n    arguments: { n: { type: integer } }\n    maxOutput: 64B\n\
         \x20   run: { exec: [sh, -c, 'printf \"%*s%s tail\" \"$0\" \"\" \"$S\"', \"{{n}}\"], env: { S: \"{{env.SEC}}\" } }\n",
    );
    let quiet = folder.stdio();
    let watched = folder.serve_command().flag("--log-level=debug").stdio();
    let (quiet, watched) = (quiet.client("2025-06-18"), watched.client("2025-06-18"));
    for n in [40, 44, 50, 57, 64] {
        let number = format!("n={n}");
        let (plain, verbose) = (
            run_folio(folder.path(), &["call", "cut", &number]),
            run_folio(folder.path(), &["call", "cut", &number, "-v"]),
        );
        assert_eq!(plain.out, verbose.out, "{n}");
        assert_eq!(quiet.call("cut", json!({ "n": n })), watched.call("cut", json!({ "n": n })), "{n}");
    }
}

#[test]
fn error_tail_never_cuts_inside_a_secret() {
    let leaky = LeakyApi::new();
    leaky.calls("tail", [1975, 1980, 1985, 1990, 1995]);
    leaky.calls("late", [1975, 1985, 1995, 2025, 2035]);
    leaky.call("broken", says_secret);
}

#[test]
fn template_helpers_cannot_split_a_secret() {
    let leaky = LeakyApi::new();
    leaky.calls("helpers", [7, 12, 20, 25]);
    leaky.calls("reads", [13, 20, 30]);
}

#[test]
fn secret_is_redacted_in_foreign_encodings() {
    LeakyApi::new().call("forms", |answer| {
        says_secret(answer);
        assert_eq!(answer.to_string().matches("[secret]").count(), 7, "{answer}");
    });
}

#[test]
fn secret_encoded_by_folio_is_redacted_when_echoed() {
    let leaky = LeakyApi::new();
    for tool in ["basic", "echo", "echo-json", "echo-path", "refused"] {
        leaky.call(tool, says_secret);
    }
}

#[test]
fn what_is_encoded_is_hidden_wherever_it_leaves() {
    let leaky = LeakyApi::new();
    leaky.for_each_wire(|client| {
        for how in ["header", "path", "lines", "groups", "fails"] {
            for tool in ["encoded", "encoded-said"] {
                let answer = client.call(tool, json!({ "how": how }));
                assert_hidden(&answer.to_string());
                says_secret(&answer);
            }
            assert_hidden(&client.call("encoded-cut", json!({ "how": how })).to_string());
        }
    });
    let serve = leaky.folder.serve_command().env("T", SECRET).env("N", NUMBER).env("HOOK", "http://localhost");
    let server = serve.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    client.call("encoded-said", json!({ "how": "lines" }));
    client.round_trip();
    let told = client.notified_params("notifications/message");
    assert_hidden(&format!("{told:?}"));
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn host_of_secret_url_is_redacted() {
    LeakyApi::new().call("hook", |answer| {
        says_secret(answer);
        assert!(!answer.to_string().contains("localhost"), "{answer}");
    });
}

#[test]
fn secret_is_redacted_in_binary_content() {
    let leaky = LeakyApi::new();
    for tool in ["image", "file-image"] {
        leaky.call(tool, |answer| {
            let data = STANDARD.decode(answer["content"][0]["data"].as_str().unwrap()).unwrap();
            assert!(data.starts_with(b"\x89PNG") && data.ends_with(&[0, 255]), "{answer}");
            assert!(data.windows(4).any(|bytes| bytes == b"****"), "{answer}");
        });
    }
    leaky.call("inline", |_| {});
    leaky.for_each_wire(|client| {
        let read = client.result("resources/read", json!({ "uri": "doc://blob" }));
        assert_hidden(&read.to_string());
        assert!(STANDARD.decode(read["contents"][0]["blob"].as_str().unwrap()).is_ok(), "{read}");
        assert_hidden(&client.result("resources/read", json!({ "uri": "doc://file" })).to_string());
    });
}

#[test]
fn numeric_secret_is_redacted_in_keys_and_values() {
    LeakyApi::new().call("number", |answer| {
        let expected = json!({ "n": "[secret]", "list": ["[secret]"], "[secret]": true });
        assert_eq!(answer["structuredContent"], expected, "{answer}");
    });
}

#[test]
fn secret_is_redacted_in_uris() {
    let leaky = LeakyApi::new();
    leaky.call("embedded", |answer| {
        assert!(answer["content"][0]["resource"]["uri"].is_string(), "{answer}");
    });
    let serve = leaky.folder.serve_command().env("T", SECRET).env("N", NUMBER).env("HOOK", "http://localhost");
    let server = serve.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    client.call("notify", json!({}));
    client.round_trip();
    let told = client.notified_params("notifications/resources/updated");
    assert_hidden(&format!("{told:?}"));
}

#[test]
fn the_command_line_prints_no_secret() {
    let leaky = LeakyApi::new();
    for arguments in [
        &["call", "tail", "n=1990"][..],
        &["call", "number", "--json"],
        &["call", "image", "--json"],
        &["read", "doc://file"],
        &["read", "doc://blob"],
    ] {
        let mut command = std::process::Command::new(FOLIO_BIN);
        command
            .args(arguments)
            .current_dir(leaky.folder.path())
            .env("T", SECRET)
            .env("N", NUMBER)
            .env("HOOK", "http://x");
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(!said.concat().trim().is_empty(), "{arguments:?}");
        said.iter().for_each(|text| assert_hidden(text));
    }
}

#[test]
fn secret_is_redacted_in_report_and_log() {
    let manifest = "folio: 1\nserver: { name: s }\nenv: { T: { secret: true, default: hunter22-9d41 } }\n\
                    tools:\n  a: { description: hunter22-9d41, run: { exec: [echo] }, exec: [] }\n";
    let folder = TestFolder::with_manifest(manifest);
    for arguments in [&["check"][..], &["check", "--format", "json"], &["serve"], &["list"]] {
        let ran = run_folio(folder.path(), arguments);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!said.is_empty() && !said.contains("hunter22"), "{arguments:?}: {said}");
    }
    let folder = TestFolder::with_manifest(&manifest.replace(", exec: []", ""));
    let server = folder.stdio();
    let client = server.sessionless();
    assert_eq!(client.list("tools")[0]["description"], "[secret]");
    assert!(!server.log.text().contains("hunter22"), "{}", server.log.text());
}

#[test]
fn too_short_secret_is_reported() {
    let manifest = "folio: 1\nserver: { name: s }\n# folio: allow unused\nenv: { T: { secret: true } }\nprompts: { p: { text: t } }\n";
    let folder = TestFolder::with_manifest(manifest);
    let checked = |value: &str| {
        let mut command = std::process::Command::new(FOLIO_BIN);
        let output = command.arg("check").current_dir(folder.path()).env("T", value).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = checked("12345678");
    assert!(code == Some(0) && !said.contains("[secret]"), "{said}");
    let (code, said) = checked("1234567");
    assert!(
        code == Some(0) && said.contains("warning[secret]") && said.contains("`T` is too short: 7 characters"),
        "{said}"
    );
    let (code, said) = checked("abc");
    assert!(code == Some(1) && said.contains("error[secret]") && !said.contains("abc"), "{said}");
    let (code, _) = checked("");
    assert_eq!(code, Some(0), "one that is not set is not short");
}

#[test]
fn old_secret_is_redacted_until_its_calls_end() {
    let manifest = |key: &str| {
        format!(
            "folio: 1\nserver: {{ name: s }}\nenv: {{ T: {{ secret: true, default: {key} }} }}\ntools:\n  \
         a: {{ description: d, run: {{ exec: [sh, -c, 'until [ -e go ]; do sleep 0.01; done; echo \"$K {key}\"'], env: {{ K: \"{{{{env.T}}}}\" }} }} }}\n"
        )
    };
    let folder = TestFolder::with_manifest(&manifest("hunter22-first"));
    let server = folder.stdio();
    let client = server.sessionless();
    let id = client.start_call("a", json!({}));
    client.round_trip();
    for next in ["hunter22-second", "hunter22-third"] {
        let mark = server.log.line_count();
        folder.write("folio.yaml", manifest(next));
        server.log.wait_for_reload(mark);
    }
    folder.write("go", "");
    let answer = client.wait_for_answer(id).to_string();
    assert!(answer.contains("[secret] [secret]"), "{answer}");
}

/// A caller who could see whether a guess begins like a secret would find it out, a character at a time.
#[test]
fn echo_does_not_confirm_the_beginning_of_a_secret() {
    let secret = "sk-Live_9fQzT4mB7xKd2WcR";
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nenv: { TOKEN: { secret: true } }\ntools:\n\
         \x20 use: { description: U, run: { exec: [\"true\"], env: { TOKEN: \"{{env.TOKEN}}\" } } }\n\
         \x20 cat: { description: C, maxOutput: 1KiB, arguments: { t: { required: true } }, run: { exec: [cat], stdin: \"{{t}}\" } }\n",
    );
    let server = folder.serve_command().env("TOKEN", secret).stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let echo = |text: &str| client.call_text("cat", json!({ "t": text }));
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    for guess in [&secret[..8], &secret[..1], &hex[..10], &hex[..1]] {
        let wrong = guess.chars().rev().collect::<String>().replace(|letter: char| letter.is_ascii_alphanumeric(), "z");
        let shown = |guess: &str| {
            let at_limit = echo(&format!("{}{guess}!!!!", ".".repeat(1024 - guess.len())));
            let padded = echo(&format!("{guess}{}", "\u{1b}!".repeat(400)));
            (at_limit.replacen(guess, "GUESS", 1), padded.replacen(guess, "GUESS", 1))
        };
        assert_eq!(shown(guess), shown(&wrong), "{guess}");
    }
    let across = echo(&format!("{}{secret}", ".".repeat(1020)));
    assert!(across.starts_with(&(".".repeat(1020) + "[secret]")), "{across}");
}

/// The faults in a manifest with a secret `S` of which each tool uses one expression, by expression.
fn checked_expressions(tool: &str, expressions: &[&str]) -> Vec<String> {
    let tools = expressions.iter().enumerate().map(|(number, expression)| {
        format!("  t{number}: {}\n", tool.replace("EXPR", &expression.replace('"', "\\\"")))
    });
    let manifest = format!(
        "folio: 1\nserver: {{ name: s }}\nenv: {{ S: {{ secret: true }}, P: {{}} }}\ntools:\n{}",
        tools.collect::<String>()
    );
    let folder = TestFolder::with_manifest(&manifest);
    let said = run_folio(folder.path(), &["check", "--format", "lines"]).out;
    let of_line = |line: usize| said.lines().filter(|fault| fault.contains(&format!("folio.yaml:{line}:"))).collect();
    (0..expressions.len()).map(|number| of_line(number + 5)).collect()
}

const WHEN: &str = "{ description: D, arguments: { q: {} }, run: [{ id: a, when: \"{{EXPR}}\", set: { v: 1 } }] }";

#[test]
fn no_helper_confirms_a_guess_of_a_secret() {
    let oracles = [
        "startsWith env.S q",
        "startsWith q env.S",
        "endsWith env.S q",
        "contains env.S q",
        "contains q env.S",
        "matches env.S q",
        "matches q env.S",
        "eq env.S q",
        "eq (json env.S) (json q)",
        "eq (path env.S) q",
        "eq (lookup env \"S\") q",
        "startsWith (lookup env \"S\") q",
        "lookup env q",
        "lookup arguments env.S",
        "gt (len env.S) (len q)",
        "and (gt (len env.S) (len q)) true",
        "eq (first (sort (concat (split q \",\") env.S))) q",
        "eq (len (unique (concat (split q \",\") env.S))) 1",
        "lt (concat env.S \"\") q",
        "replace q env.S \"x\"",
        "split q env.S",
        "basename q env.S",
        "truncate q 80 end=env.S",
        "slice q 0 (len env.S)",
        "truncate (join (values env)) 4",
    ];
    for (fault, expression) in checked_expressions(WHEN, &oracles).iter().zip(oracles) {
        assert!(fault.contains("error[secret]: "), "{expression}: {fault:?}");
    }
    let fine = [
        "env.S",
        "not env.S",
        "and env.S q",
        "eq env.S \"\"",
        "startsWith env.S \"ghp_\"",
        "gt (len env.S) 20",
        "eq env.P q",
        "startsWith q env.P",
        "contains (keys env) q",
    ];
    for (fault, expression) in checked_expressions(WHEN, &fine).iter().zip(fine) {
        assert!(!fault.contains("[secret]"), "{expression}: {fault}");
    }
}

#[test]
fn items_of_a_list_of_secrets_are_secret() {
    let step = "{ description: D, arguments: { q: {} }, run: [{ id: a, each: \"{{EXPR}}\", set: { v: \"{{slice this 0 5}}\" } }] }";
    let condition = "{ description: D, arguments: { q: {} }, run: [{ id: a, each: \"{{EXPR}}\", when: \"{{startsWith this q}}\", set: { v: 1 } }] }";
    let argv = "{ description: D, arguments: { q: {} }, run: { exec: [echo, { each: \"{{EXPR}}\", then: [\"{{slice this 0 5}}\"] }] } }";
    let block = "{ description: D, arguments: { q: {} }, run: { http: { url: \"https://e.example\", headers: { X: \"{{#each (EXPR)}}{{slice this 0 5}}{{/each}}\" } } } }";
    let lists = ["values env", "concat (split \"a\" \",\") env.S", "reverse (values env)"];
    for tool in [step, condition, argv, block] {
        for (fault, list) in checked_expressions(tool, &lists).iter().zip(lists) {
            assert!(fault.contains("error[secret]: "), "{list} in {tool}: {fault:?}");
        }
        let fine = ["keys env", "split q \",\"", "concat (split \"a\" \",\") env.P"];
        for (fault, list) in checked_expressions(tool, &fine).iter().zip(fine) {
            assert!(!fault.contains("[secret]"), "{list} in {tool}: {fault}");
        }
    }
}

#[test]
fn credentials_must_be_secret_variables() {
    let checked = |env: &str, keys: &str| {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\nenv: {{ K: {{ {env} }} }}\n{keys}\n\
             tools: {{ t: {{ description: D, run: {{ http: {{ use: c, url: /x }} }} }} }}\n"
        );
        let folder = TestFolder::with_manifest(&manifest);
        run_folio(folder.path(), &["check", "--format", "lines"]).out
    };
    let connection = |keys: &str| format!("connections: {{ c: {{ url: \"https://a.example\", {keys} }} }}");
    let token = format!("http: {{ token: \"{{{{env.K}}}}\" }}\n{}", connection(""));
    let credentials = [
        connection("auth: { bearer: \"{{env.K}}\" }"),
        connection("auth: { basic: { username: me, password: \"{{env.K}}\" } }"),
        connection("auth: { header: { name: X-Key, value: \"Key {{env.K}}\" } }"),
        connection("auth: { query: { name: key, value: \"{{env.K}}\" } }"),
        connection(
            "auth: { oauth2: { tokenUrl: \"https://a.example/t\", clientId: me, clientSecret: \"{{env.K}}\" } }",
        ),
        token,
    ];
    for keys in credentials {
        let said = checked("default: \"0123456789abcdef\"", &keys);
        assert!(said.contains("warning[secret]: `K` is a credential, and not a secret variable"), "{keys}: {said}");
        assert!(!checked("secret: true", &keys).contains("[secret]"), "{keys}");
    }
    let proxied = connection("proxy: \"{{env.K}}\"");
    assert!(checked("default: \"http://me:hunter22@a.example:1\"", &proxied).contains("`K` is a credential"));
    for fine in [
        proxied,
        connection("auth: { basic: { username: \"{{env.K}}\", password: \"\" } }"),
        connection(
            "auth: { oauth2: { tokenUrl: \"https://a.example/t\", clientId: \"{{env.K}}\", clientSecret: \"\" } }",
        ),
    ] {
        let said = checked("default: \"http://a.example:1\"", &fine);
        assert!(!said.contains("[secret]"), "{fine}: {said}");
    }
}

const FILE_NAMES: &str = r#"
folio: 1
server: { name: s }
env: { TOKEN: { secret: true } }
resources:
  docs: { uri: "docs://{+path}", root: docs }
  page: { uri: "page://{name}", file: "docs/{{name}}.md" }
skills: { dir: skills }
prompts:
  p:
    arguments:
      glob: { complete: { glob: "docs/*" } }
      prefix: { complete: { glob: "docs/*", match: prefix } }
      path: { complete: { resource: docs, variable: path } }
      uri: { complete: { resource: page, uri: true } }
    text: "{{glob}} {{prefix}} {{path}} {{uri}}"
"#;

/// What a list or an order says of a file whose name is a secret, a caller can find out piece by piece.
#[test]
fn file_names_that_hold_a_secret_are_left_out() {
    const TOKEN: &str = "Zq7hunter2Kx9Lm4";
    let folder = TestFolder::with_manifest(FILE_NAMES);
    for name in ["Zq6.md", "Zq8.md", &format!("{TOKEN}.md"), &format!("a{TOKEN}b/c.md")] {
        folder.write(&format!("docs/{name}"), "x");
    }
    let skill = |name: &str| format!("---\nname: {name}\ndescription: D\n---\nx");
    folder.write("skills/open/SKILL.md", skill("open"));
    folder.write(&format!("skills/open/{TOKEN}.txt"), "x");
    let server = folder.serve_command().env("TOKEN", TOKEN).stdio();
    let client = server.sessionless();
    let listed = |names: &[&str]| {
        assert_eq!(client.names("resources"), names);
        let count = names.iter().filter(|name| name.starts_with("Zq")).count();
        for (reference, argument) in [
            (json!({ "type": "ref/prompt", "name": "p" }), "glob"),
            (json!({ "type": "ref/prompt", "name": "p" }), "prefix"),
            (json!({ "type": "ref/prompt", "name": "p" }), "path"),
            (json!({ "type": "ref/prompt", "name": "p" }), "uri"),
            (json!({ "type": "ref/resource", "uri": "docs://{+path}" }), "path"),
            (json!({ "type": "ref/resource", "uri": "page://{name}" }), "name"),
        ] {
            let complete = |typed: &str| {
                let argument = json!({ "name": argument, "value": typed });
                client.result("completion/complete", json!({ "ref": reference, "argument": argument }))["completion"]
                    .clone()
            };
            for typed in ["", "docs/Zq", "Zq", "page://Zq"] {
                let found = complete(typed);
                assert!(!found.to_string().contains("secret"), "{argument} {typed}: {found}");
                assert!(found["total"].as_u64().unwrap() <= count as u64, "{argument} {typed}: {found}");
            }
            for typed in ["Zq7", "Zq7h", "docs/Zq7h", "hunter", TOKEN] {
                assert_eq!(complete(typed)["total"], 0, "{argument} {typed}");
            }
        }
    };
    listed(&["Zq6.md", "Zq8.md", "open"]);
    for uri in [format!("docs://{TOKEN}.md"), format!("page://{TOKEN}"), format!("skill://open/{TOKEN}.txt")] {
        let code = |uri: &str| client.error_code("resources/read", json!({ "uri": uri }));
        assert_eq!(code(&uri), code(&uri.replace(TOKEN, "absent")), "{uri}");
    }
    let said = server.log.text();
    assert!(said.contains("files left out, as their paths hold a secret: 2") && !said.contains("hunter2"), "{said}");
    let mark = server.log.line_count();
    folder.write(&format!("docs/late-{TOKEN}.md"), "x");
    server.log.wait_for_line(mark, |line| line.contains("hold a secret: 3"));
    listed(&["Zq6.md", "Zq8.md", "open"]);
}

#[test]
fn credentials_in_plain_text_are_warnings() {
    let checked = |keys: &str| {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\nenv: {{ K: {{ secret: true }} }}\nconnections:\n  c:\n    url: \"https://a.example\"\n    {keys}\n\
             tools: {{ t: {{ description: D, run: {{ http: {{ use: c, url: /x }} }} }} }}\n"
        );
        let folder = TestFolder::with_manifest(&manifest);
        run_folio(folder.path(), &["check", "--format", "lines"]).out
    };
    for keys in [
        "auth: { bearer: abc }",
        "auth: { bearer: sk-0123456789abcdef0123456789abcdef }",
        "auth: { basic: { username: me, password: hunter22 } }",
        "auth: { header: { name: X-Key, value: abc } }",
        "auth: { query: { name: key, value: abc } }",
        "auth: { oauth2: { tokenUrl: \"https://a.example/t\", clientId: me, clientSecret: s } }",
        "headers: { Authorization: \"Bearer abc\" }",
        "headers: { X-Api-Key: 0123456789 }",
        "headers: { X-Session-Id: 0123456789 }",
    ] {
        let said = checked(keys);
        assert!(said.contains("folio.yaml:7:") && said.matches("warning[secret]").count() == 1, "{keys}: {said}");
    }
    for keys in [
        "auth: { bearer: \"{{env.K}}\" }",
        "auth: { bearer: \"\" }",
        "auth: { basic: { username: me, password: \"\" } }",
        "headers: { Authorization: \"Token {{env.K}}\", X-Api-Key: \"{{env.K}}\" }",
        "headers: { X-Atlassian-Token: no-check, Accept: application/json, Surrogate-Key: 0123456789 }",
    ] {
        let said = checked(keys);
        assert!(!said.contains("[secret]"), "{keys}: {said}");
    }
}
