#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use base64::Engine as _;
use serde_json::json;

mod properties;

fn hidden(secret: &str, text: &str) -> String {
    Redactor::new([secret]).text(text).into_owned()
}

#[test]
fn a_secret_is_hidden_in_every_form() {
    for said in [
        "pä\"ss/wo rd+",
        "PÄ\"SS/WO RD+",
        r#"{"a":"pä\"ss/wo rd+"}"#,
        r#"{"a":"p\u00e4\"ss/wo rd+"}"#,
        r#"{"a":"p\u00E4\u0022ss\/wo\u0020rd\u002b"}"#,
        r#"{"a":"{\"b\":\"p\\u00e4\\\"ss\\/wo rd+\"}"}"#,
        "\"p\\u{e4}\\\"ss/wo rd+\"",
        r"b'p\xc3\xa4\x22ss/wo rd+'",
        "k=p%C3%A4%22ss%2Fwo+rd%2B",
        "k=p%c3%a4%22ss%2fwo%20rd%2b",
        "/p%C3%A4%22ss/wo%20rd+",
        "?next=p%25C3%25A4%2522ss%252Fwo%2520rd%252B",
        "<a b='pä&quot;ss/wo rd+'>",
        "p&#228;&#34;ss&#x2F;wo rd&#43;",
        "p&amp;#228;&amp;quot;ss/wo rd+",
        "70c3a42273732f776f2072642b",
        "70 c3 a4 22 73 73 2f 77 6f 20 72 64 2b",
        "70:C3:A4:22:73:73:2F:77:6F:20:72:64:2B",
        "70c3 a422 7373 2f77\n6f20 7264 2b",
        "p\\303\\244\\042ss/wo rd+",
        "p\\U000000e4\\\"ss/wo rd+",
        "pä\\\"ss/wo\\ rd+",
        "\"pä\"\"ss/wo rd+\"",
        "70C3A42273732F776F2072642B",
        "cMOkInNzL3dvIHJkKw==",
        "eHDDpCJzcy93byByZCs=",
        "eHhww6Qic3Mvd28gcmQr",
        "cMOkInNzL3dv\nIHJkKw==",
        "cMOkInNzL3dv\\nIHJkKw==",
        "cMOkInNzL3dvIHJkKw",
        "pä\u{1b}[1;31m\"ss/wo\u{1b}[0m rd+",
        "pä\\u001b[31m\"ss/wo\\u001b[0m rd+",
    ] {
        let text = hidden("pä\"ss/wo rd+", &format!("<{said}>"));
        assert!(text.contains("[secret]"), "{said} became {text}");
        let left = text.replace("[secret]", "");
        let rest = said.len().min(16);
        assert!(!left.contains("ss") && !left.contains(&said[said.len() - rest..]), "{said} became {text}");
    }
}

/// So many letters and digits without a pattern.
fn noise(length: usize) -> String {
    let next = |number: &u32| Some(number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let numbers = std::iter::successors(Some(7), next).map(|number| number >> 16);
    numbers.filter_map(|number| char::from_digit(number % 36, 36)).take(length).collect()
}

#[test]
fn a_long_secret_with_what_looks_like_escapes_is_hidden() {
    let body = noise(420);
    let key = format!("-----BEGIN PRIVATE KEY-----\\n{}\\n{}", &body[..64], &body[64..]);
    let account = format!(r#"{{"type":"service_account","private_key":"{key}\n","client_email":"x@y"}}"#);
    for beginning in ["ab\\n", "ab%25", "ab\rcd", "ab&amp;", "a&b=c&d=", "DOMAIN\\user:", "\\\\\\\\", &account] {
        let secret = format!("{beginning}{body}");
        let redactor = Redactor::new([secret.as_str()]);
        let json = json!({ "a": secret }).to_string();
        let base64 = base64::engine::general_purpose::STANDARD.encode(&secret);
        for said in [secret.clone(), json.clone(), json!({ "b": json }).to_string(), base64] {
            let left = redactor.text(&said);
            assert!(left.contains("[secret]") && left.len() < 40, "{beginning:?}: {said} became {left}");
        }
    }
}

#[test]
fn base64_of_what_holds_a_secret_is_hidden_at_each_alignment() {
    let secret = "hunter2-hunter2";
    for before in ["user:", "users:", "admin2:"] {
        let text = base64::engine::general_purpose::STANDARD.encode(format!("{before}{secret} and more"));
        let hidden = hidden(secret, &text);
        assert!(hidden.contains("[secret]"), "{hidden}");
        let inner = base64::engine::general_purpose::STANDARD.encode(secret);
        assert!(!hidden.contains(&inner[4..10]), "{hidden}");
    }
}

#[test]
fn what_base64_in_a_text_is_of_is_searched() {
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let secret = "p/a\"ss wo\\rd?~";
    let json = json!({ "password": secret }).to_string();
    let form =
        format!("user=x&password={}", url::form_urlencoded::byte_serialize(secret.as_bytes()).collect::<String>());
    let docker = json!({ "auths": { "host": { "auth": base64(&format!("user:{json}")) } } }).to_string();
    let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = base64::engine::general_purpose::STANDARD.encode(wide);
    let inner = [base64(&json), base64(&form), base64(&docker), wide, base64(&secret.to_uppercase())];
    for inner in &inner {
        let url_safe = inner.replace('+', "-").replace('/', "_").replace('=', "");
        let percent = inner.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        let lines: Vec<&str> = inner.as_bytes().chunks(10).map(|line| std::str::from_utf8(line).unwrap()).collect();
        for said in [
            format!("server said: Authorization: Basic {inner}"),
            format!("https://host/v1/{inner}"),
            format!("https://host/v1?a={percent}&b=1"),
            format!("k={url_safe};"),
            format!(r#"{{"a":"x {}"}}"#, inner.replace('/', "\\/")),
            format!("data: |\n    {}\n", lines.join("\n    ")),
            format!(r#"{{"a":"{}"}}"#, lines.join("\\r\\n")),
        ] {
            let left = hidden(secret, &said);
            assert!(left.contains("[secret]"), "{said} became {left}");
        }
    }
    let untouched = base64("{\"password\": \"something else\"} and more");
    assert_eq!(hidden(secret, &untouched), untouched);
}

#[test]
fn work_on_base64_grows_with_the_text_alone() {
    fn read(text: &[u8], deep: usize) -> usize {
        let inside = run::runs(text).flat_map(run::Run::decoded).map(|decoded| match deep {
            0 => decoded.bytes.len(),
            _ => decoded.bytes.len() + read(&decoded.bytes, deep - 1),
        });
        inside.sum()
    }
    // What is base64 in each alignment, in those that follow too; and what holds many runs.
    for unit in ["V", "VVVV VV", "FVUV", "\\/", "%2B", "A\n      ", "YWFh", "\\u0041"] {
        let text = unit.repeat((1 << 17) / unit.len());
        assert!(read(text.as_bytes(), 1) <= 12 * text.len(), "{unit}");
    }
}

#[test]
fn a_quote_is_found_however_it_is_written_between_quotes() {
    for said in ["'it''s-a-secret'", "'it'\\''s-a-secret'", "'it'\"'\"'s-a-secret'", "it\\'s-a-secret"] {
        let left = hidden("it's-a-secret", said);
        assert!(left.contains("[secret]") && !left.contains("-a-"), "{said} became {left}");
    }
}

#[test]
fn innocent_text_stays() {
    let redactor = Redactor::new(["hunter2-hunter2", "s3cr"]);
    for text in ["", "hunter", "hunter2-hunter", "&amp; %2F \\u0073", "c2VjcmV0cw==", "100% \\\\ & +", "s 3 c r"] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn a_secret_that_ends_with_a_quote_is_hidden_to_its_end() {
    assert_eq!(hidden("hunter\"", r#"{"a":"hunter\"","b":1}"#), r#"{"a":"[secret]","b":1}"#);
    assert_eq!(hidden("hunter\\", r#"{"a":"hunter\\","b":1}"#), r#"{"a":"[secret]","b":1}"#);
}

#[test]
fn a_secret_is_hidden_in_whole_even_where_another_begins_like_it() {
    let redactor = Redactor::new(["hunter2", "hunter2-longer", "2-longer-still"]);
    assert_eq!(redactor.text("x hunter2-longer y hunter2hunter2"), "x [secret] y [secret][secret]");
    assert_eq!(redactor.text("hunter2-longer-still"), "[secret]");
}

#[test]
fn each_line_of_a_secret_is_hidden_and_the_frame_of_a_key_is_not() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASC\nshort\n-----END PRIVATE KEY-----";
    let redactor = Redactor::new([key]);
    assert_eq!(redactor.text(key), "[secret]");
    assert_eq!(redactor.text(&key.replace('\n', "\r\n")), "[secret]");
    assert_eq!(
        redactor.text("-----BEGIN PRIVATE KEY-----\n9w0BAQEFAASC\nshort"),
        "-----BEGIN PRIVATE KEY-----\n[secret]\nshort"
    );
}

#[test]
fn what_was_cut_ends_before_the_beginning_of_a_secret() {
    let redactor = Redactor::new(["hunter2-hunter2"]);
    for (text, left) in [
        ("a hunter2-hunter2 b", "a [secret] b"),
        ("a hunter2-hunter", "a "),
        ("a h", "a "),
        ("a %68%75%6", "a "),
        ("a \\u0068\\u00", "a "),
        ("a hunter2-hunter2", "a [secret]"),
        ("a aHVudGVyMi1od", "a "),
    ] {
        let mut bytes = text.as_bytes().to_vec();
        redactor.hide(&mut bytes, End::Cut);
        assert_eq!(String::from_utf8(bytes).unwrap(), left, "{text}");
    }
}

#[test]
fn what_broke_off_in_a_secret_ends_with_it_hidden() {
    let redactor = Redactor::new(["hunter2-hunter2"]);
    for (text, left) in [("a hunter2-hun", "a [secret]"), ("a hun", "a hun"), ("such as h", "such as h")] {
        let mut bytes = text.as_bytes().to_vec();
        assert_eq!(redactor.hide(&mut bytes, End::Broken), 0);
        assert_eq!(String::from_utf8(bytes).unwrap(), left, "{text}");
    }
}

#[test]
fn numbers_become_texts_and_json_stays_json() {
    assert_eq!(hidden("12345678", r#"{"a": 12345678, "b":[9123456780]}"#), r#"{"a": "[secret]", "b":["[secret]"]}"#);
    assert_eq!(hidden("12345678", "12345678 and 9123456780"), "[secret] and 9[secret]0");
}

#[test]
fn bytes_keep_their_length() {
    let mut bytes = b"\x89PNG\xff\0tEXthunter22\0\xfe".to_vec();
    Redactor::new(["hunter22"]).hide(&mut bytes, End::Whole);
    assert_eq!(bytes, b"\x89PNG\xff\0tEXt********\0\xfe");
}

fn message(redactor: &Redactor, value: &serde_json::Value) -> serde_json::Value {
    serde_json::from_slice(&redactor.message(serde_json::to_vec(value).unwrap())).unwrap()
}

#[test]
fn nothing_in_a_message_escapes() {
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let redactor = Redactor::new(["hunter22", "12345678"]);
    let inner = base64(b"a text with hunt\\u0065r22 in it");
    let before = json!({"jsonrpc": "2.0", "id": "hunter22", "result": {
        "structuredContent": {"a": 12345678, "hunter22": [{"b": "x hunter22"}], "n": -1.12345678},
        "content": [
            {"type": "image", "mimeType": "image/png", "data": base64(b"\x89\xffhunter22\0\0\0")},
            {"type": "resource", "resource": {"uri": "x://hunter22/%68unter22", "blob": inner}},
        ],
        "requestState": base64(b"hunter22"),
        "someNewField": {"deep": ["hunter22", base64(b"hunter22")]},
    }});
    let after = message(&redactor, &before);
    let expected = json!({"jsonrpc": "2.0", "id": "hunter22", "result": {
        "structuredContent": {"a": "[secret]", "[secret]": [{"b": "x [secret]"}], "n": "-1.[secret]"},
        "content": [
            {"type": "image", "mimeType": "image/png", "data": base64(b"\x89\xff********\0\0\0")},
            {"type": "resource", "resource": {"uri": "x://[secret]/[secret]", "blob": base64(b"a text with [secret] in it")}},
        ],
        "requestState": base64(b"hunter22"),
        "someNewField": {"deep": ["[secret]", "[secret]="]},
    }});
    assert_eq!(after, expected);
}

#[test]
fn a_secret_that_is_a_word_of_the_protocol_breaks_no_message() {
    let redactor = Redactor::new(["text", "root", "3000", "postgres"]).sparing(["postgres-query".to_owned()]);
    let before = json!({"jsonrpc": "2.0", "id": 3000, "method": "roots/list", "result": {
        "ttlMs": 3000,
        "tools": [{"name": "postgres-query", "description": "asks postgres"}],
        "content": [{"type": "text", "text": "the text is text"}],
        "structuredContent": {"text": "text", "name": "postgres-query"},
    }});
    let expected = json!({"jsonrpc": "2.0", "id": 3000, "method": "roots/list", "result": {
        "ttlMs": 3000,
        "tools": [{"name": "postgres-query", "description": "asks [secret]"}],
        "content": [{"type": "text", "text": "the [secret] is [secret]"}],
        "structuredContent": {"[secret]": "[secret]", "name": "[secret]-query"},
    }});
    assert_eq!(message(&redactor, &before), expected);
}

#[test]
fn what_is_no_json_is_hidden_as_text() {
    assert_eq!(Redactor::new(["hunter22"]).message(b"no {hunter22".to_vec()), b"no {[secret]");
}

#[test]
fn what_is_too_ambiguous_is_hidden() {
    let secret = "\\".repeat(200) + "end-of-it";
    let left = hidden(&secret, &format!("<{}>", secret.replace('\\', "\\\\")));
    assert!(left.contains("[secret]") && !left.contains("end-of-it"), "{left}");
}
