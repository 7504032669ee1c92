use super::*;
use base64::Engine as _;
use serde_json::json;

mod properties;

fn redacted(secret: &str, text: &str) -> String {
    Redactor::new([secret]).redact_text(text).into_owned()
}

#[test]
fn secret_is_redacted_in_every_form() {
    for said in [
        "pä\"ss/wo rd+",
        "PÄ\"SS/WO RD+",
        r#"{"a":"pä\"ss/wo rd+"}"#,
        r#"{"a":"p\u00e4\"ss/wo rd+"}"#,
        r#"{"a":"p\u00E4\"ss\/wo rd+"}"#,
        r#"{"a":"p\u00E4\u0022ss/wo rd\u002B"}"#,
        r#"{"a":"{\"b\":\"p\\u00e4\\\"ss\\/wo rd+\"}"}"#,
        r#"{"a":"{\"b\":\"{\\\"c\\\":\\\"pä\\\\\\\"ss/wo rd+\\\"}\"}"}"#,
        "k=p%C3%A4%22ss%2Fwo+rd%2B",
        "k=p%c3%a4%22ss%2fwo%20rd%2b",
        "/p%C3%A4%22ss/wo%20rd+",
        "<a b='pä&quot;ss/wo rd+'>",
        "p&#228;&#34;ss/wo rd&#43;",
        "pä&quot;ss&#x2F;wo rd+",
        "70c3a42273732f776f2072642b",
        "70 c3 a4 22 73 73 2f 77 6f 20 72 64 2b",
        "70:C3:A4:22:73:73:2F:77:6F:20:72:64:2B",
        "70c3 a422 7373 2f77\n6f20 7264 2b",
        "pä\\\"ss/wo\\ rd+",
        "\"pä\"\"ss/wo rd+\"",
        "70C3A42273732F776F2072642B",
        "cMOkInNzL3dvIHJkKw==",
        "eHDDpCJzcy93byByZCs=",
        "eHhww6Qic3Mvd28gcmQr",
        "cMOkInNzL3dv\nIHJkKw==",
        "cMOkInNzL3dv\\nIHJkKw==",
        "data: |\n    cMOkInNzL3dv\n    IHJkKw==",
        "cMOkInNzL3dvIHJkKw",
    ] {
        let text = redacted("pä\"ss/wo rd+", &format!("<{said}>"));
        assert!(text.contains("[secret]"), "{said} became {text}");
        let left = text.replace("[secret]", "");
        let rest = said.len().min(16);
        assert!(!left.contains("ss") && !left.contains(&said[said.len() - rest..]), "{said} became {text}");
    }
}

#[test]
fn equals_signs_that_json_escapes_hide_no_key() {
    assert_eq!(redacted("abc/DEF+ghi==", r#"{"a":"abc/DEF+ghi\u003d\u003d"}"#), r#"{"a":"[secret]"}"#);
}

/// So many letters and digits without a pattern.
fn random_alphanumeric(length: usize) -> String {
    let next = |number: &u32| Some(number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let numbers = std::iter::successors(Some(7), next).map(|number| number >> 16);
    numbers.filter_map(|number| char::from_digit(number % 36, 36)).take(length).collect()
}

#[test]
fn long_secret_that_contains_escapes_is_redacted() {
    let body = random_alphanumeric(420);
    let key = format!("-----BEGIN PRIVATE KEY-----\\n{}\\n{}", &body[..64], &body[64..]);
    let account = format!(r#"{{"type":"service_account","private_key":"{key}\n","client_email":"x@y"}}"#);
    for beginning in ["ab\\n", "ab%25", "ab\rcd", "ab&amp;", "a&b=c&d=", "DOMAIN\\user:", "\\\\\\\\", &account] {
        let secret = format!("{beginning}{body}");
        let redactor = Redactor::new([secret.as_str()]);
        let json = json!({ "a": secret }).to_string();
        let base64 = base64::engine::general_purpose::STANDARD.encode(&secret);
        for said in [secret.clone(), json.clone(), json!({ "b": json }).to_string(), base64] {
            let left = redactor.redact_text(&said);
            assert!(left.contains("[secret]") && left.len() < 40, "{beginning:?}: {said} became {left}");
        }
    }
}

#[test]
fn base64_is_redacted_at_each_alignment() {
    let secret = "hunter2-hunter2";
    for before in ["user:", "users:", "admin2:"] {
        let text = base64::engine::general_purpose::STANDARD.encode(format!("{before}{secret} and more"));
        let hidden = redacted(secret, &text);
        assert!(hidden.contains("[secret]"), "{hidden}");
        let inner = base64::engine::general_purpose::STANDARD.encode(secret);
        assert!(!hidden.contains(&inner[4..10]), "{hidden}");
    }
}

#[test]
fn base64_is_redacted_in_either_alphabet() {
    let secret = "~~~?>>>?\u{fb}\u{ff}~";
    for text in [
        base64::engine::general_purpose::STANDARD.encode(secret),
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(secret),
        base64::engine::general_purpose::STANDARD.encode(secret).replace('/', "\\/"),
    ] {
        assert_eq!(redacted(secret, &text).trim_end_matches('='), "[secret]", "{text}");
    }
}

#[test]
fn secret_is_redacted_in_long_base64_of_any_width() {
    let base64 = base64::engine::general_purpose::STANDARD.encode(format!("{}hunter2-hunter2and more", "x".repeat(73)));
    for width in 1..100 {
        let lines: Vec<&str> = base64.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let left = redacted("hunter2-hunter2", &lines.join("\r\n    "));
        assert!(left.contains("[secret]") && left.ends_with('l'), "{left}");
        let joined: String = left.split_whitespace().collect();
        assert_eq!(joined.len(), base64.len() - 21 + "[secret]".len(), "{left}");
    }
}

#[test]
fn a_quote_is_found_however_it_is_written_between_quotes() {
    for said in ["'it''s-a-secret'", "'it'\\''s-a-secret'", "'it'\"'\"'s-a-secret'", "it\\'s-a-secret"] {
        let left = redacted("it's-a-secret", said);
        assert!(left.contains("[secret]") && !left.contains("-a-"), "{said} became {left}");
    }
}

#[test]
fn text_without_secrets_is_unchanged() {
    let redactor = Redactor::new(["hunter2-hunter2", "s3cr"]);
    for text in ["", "hunter", "hunter2-hunter", "&amp; %2F \\u0073", "c2VjcmV0cw==", "100% \\\\ & +", "s 3 c r"] {
        assert_eq!(redactor.redact_text(text), text);
    }
}

#[test]
fn secret_with_final_quote_is_redacted_whole() {
    assert_eq!(redacted("hunter\"", r#"{"a":"hunter\"","b":1}"#), r#"{"a":"[secret]","b":1}"#);
    assert_eq!(redacted("hunter\\", r#"{"a":"hunter\\","b":1}"#), r#"{"a":"[secret]","b":1}"#);
}

#[test]
fn overlapping_secrets_are_redacted_whole() {
    let redactor = Redactor::new(["hunter2", "hunter2-longer", "2-longer-still"]);
    assert_eq!(redactor.redact_text("x hunter2-longer y hunter2hunter2"), "x [secret] y [secret][secret]");
    assert_eq!(redactor.redact_text("hunter2-longer-still"), "[secret]");
}

#[test]
fn each_line_of_a_pem_key_is_redacted_but_not_its_frame() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASC\nshort\n-----END PRIVATE KEY-----";
    let redactor = Redactor::new([key]);
    assert_eq!(redactor.redact_text(key), "[secret]");
    assert_eq!(redactor.redact_text(&key.replace('\n', "\r\n")), "[secret]");
    assert_eq!(
        redactor.redact_text("-----BEGIN PRIVATE KEY-----\n9w0BAQEFAASC\nshort"),
        "-----BEGIN PRIVATE KEY-----\n[secret]\nshort"
    );
}

#[test]
fn secret_of_short_lines_is_redacted_with_either_line_break() {
    for said in [
        "abcdefg\nhijklmn\nopqrstu",
        "abcdefg\r\nhijklmn\r\nopqrstu",
        r"abcdefg\nhijklmn\nopqrstu",
        r"abcdefg\\r\\nhijklmn\\r\\nopqrstu",
        "abcdefg%0D%0Ahijklmn%0D%0Aopqrstu",
    ] {
        assert_eq!(redacted("abcdefg\nhijklmn\nopqrstu", &format!("<{said}>")), "<[secret]>");
    }
}

#[test]
fn partial_secret_at_the_end_is_dropped_or_redacted() {
    use InputEnd::{Complete, Interrupted};
    let redactor = Redactor::new(["hunter2-hunter2"]);
    for (end, text, limit, left) in [
        (Complete, "a hunter2-hunter2 b", 19, "a [secret] b"),
        (Complete, "a hunter2-hunter2 b", 5, "a [secret]"),
        (Complete, "a hunter2-hunter2 b", 2, "a "),
        (Complete, "a 68756e746572322d68756e74657232", 3, "a [secret]"),
        (Complete, "a 68 75 6e 74 65 72 32 2d 68 75 6e 74 65 72 32", 10, "a [secret]"),
        (Complete, "a aHVudGVyMi1odW50ZXIy", 9, "a [secret]"),
        // What only resembles a secret is cut like any other text.
        (Complete, "a hunter2-huntex b", 16, "a hunter2-huntex"),
        (Complete, "a hunter2-hunter", 8, "a hunter"),
        (Interrupted, "a hunter2-hun", 100, "a [secret]"),
        (Interrupted, "a hun", 100, "a hun"),
        (Interrupted, "a 68756e74", 100, "a 68756e74"),
        (Interrupted, "a 68756e746572", 100, "a [secret]"),
        (Interrupted, "such as h", 100, "such as h"),
    ] {
        let mut bytes = text.as_bytes().to_vec();
        let dropped = redactor.redact_and_truncate(&mut bytes, limit, end);
        assert_eq!(String::from_utf8(bytes).unwrap(), left, "{text}");
        assert!(dropped <= text.len().saturating_sub(limit), "{text}");
    }
}

/// What a caller sends may be anything, so what becomes of it must not say whether it begins like a secret.
#[test]
fn beginning_of_a_secret_is_not_confirmed() {
    let redactor = Redactor::new(["hunter2-hunter2"]);
    for filling in [
        "\u{1b}!", "\u{1b}[0m", "\u{1b}", "\u{7f}", "\0", " ", ":", "\n", "%00", "\\u001b!", "&#27;", "\u{1b}]x\u{7}",
        "\\", "%25",
    ] {
        for beginning in ["h", "hunter2-hunt", "68", "68756e746572", "aHVudGVyMi1odW50"] {
            let text = format!("{beginning}{}.", filling.repeat(20_000));
            assert!(redactor.redact_text(&text) == text, "{beginning:?} {filling:?}");
        }
    }
}

#[test]
fn secret_number_becomes_a_json_string() {
    assert_eq!(redacted("12345678", r#"{"a": 12345678, "b":[9123456780]}"#), r#"{"a": "[secret]", "b":["[secret]"]}"#);
    assert_eq!(redacted("12345678", "12345678 and 9123456780"), "[secret] and 9[secret]0");
}

#[test]
fn binary_data_keeps_its_length() {
    let mut bytes = b"\x89PNG\xff\0tEXthunter22\0\xfe".to_vec();
    Redactor::new(["hunter22"]).redact_bytes(&mut bytes, InputEnd::Complete);
    assert_eq!(bytes, b"\x89PNG\xff\0tEXt********\0\xfe");
}

fn redact_json(redactor: &Redactor, value: &serde_json::Value) -> serde_json::Value {
    serde_json::from_slice(&redactor.redact_message(serde_json::to_vec(value).unwrap())).unwrap()
}

#[test]
fn every_field_of_a_message_is_redacted() {
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let redactor = Redactor::new(["hunter22", "12345678"]);
    let inner = base64(b"a text with hunter22 in it");
    let before = json!({"jsonrpc": "2.0", "id": "hunter22", "result": {
        "structuredContent": {"a": 12345678, "hunter22": [{"b": "x hunter22"}], "n": -1.12345678},
        "content": [
            {"type": "image", "mimeType": "image/png", "data": base64(b"\x89\xffhunter22\0\0\0")},
            {"type": "resource", "resource": {"uri": "x://hunter22/hunter22", "blob": inner}},
        ],
        "requestState": base64(b"hunter22"),
        "someNewField": {"deep": ["hunter22", base64(b"hunter22")]},
    }});
    let after = redact_json(&redactor, &before);
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
fn protocol_words_are_not_redacted() {
    let redactor = Redactor::new(["text", "root", "3000", "postgres"]).with_public_names(["postgres-query".to_owned()]);
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
    assert_eq!(redact_json(&redactor, &before), expected);
}

#[test]
fn invalid_json_is_redacted_as_text() {
    assert_eq!(Redactor::new(["hunter22"]).redact_message(b"no {hunter22".to_vec()), b"no {[secret]");
}

#[test]
fn ambiguous_match_is_redacted() {
    let secret = "\\".repeat(100) + "end-of-it";
    let left = redacted(&secret, &format!("<{}>", secret.replace('\\', "\\\\")));
    assert!(left.contains("[secret]") && !left.contains("end-of-it"), "{left}");
}

#[test]
fn values_of_one_call_are_added_to_those_of_the_load() {
    let served = Redactor::new(["hunter22"]).with_public_names(["hunter22-tool".to_owned()]);
    let of_call = served.with(["Bearer 0123456789", ""]);
    assert_eq!(of_call.redact_text("hunter22 bearer 0123456789 and"), "[secret] [secret] and");
    assert_eq!(served.redact_text("Bearer 0123456789"), "Bearer 0123456789");
    let tools = json!({"result": {"tools": [{"name": "hunter22-tool", "description": "Bearer 0123456789"}]}});
    let expected = json!({"result": {"tools": [{"name": "hunter22-tool", "description": "[secret]"}]}});
    assert_eq!(redact_json(&of_call, &tools), expected);
}
