use super::*;
use base64::Engine as _;
use serde_json::json;

mod backslash_runs;
mod properties;

fn redacted(secret: &str, text: &str) -> String {
    Redactor::new([secret]).redact_text(text).into_owned()
}

#[test]
fn secret_is_redacted_in_every_encoding() {
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
        "pä\"ss/wo\u{1b}]8;;http://x\u{1b}\\\u{1b}]8;;\u{7} rd+",
        "pä\\u001b[31m\"ss/wo\\u001b[0m rd+",
    ] {
        let text = redacted("pä\"ss/wo rd+", &format!("<{said}>"));
        assert!(text.contains("[secret]"), "{said} became {text}");
        let left = text.replace("[secret]", "");
        let rest = said.len().min(16);
        assert!(!left.contains("ss") && !left.contains(&said[said.len() - rest..]), "{said} became {text}");
    }
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
            let left = redacted(secret, &said);
            assert!(left.contains("[secret]"), "{said} became {left}");
        }
    }
    let untouched = base64("{\"password\": \"something else\"} and more");
    assert_eq!(redacted(secret, &untouched), untouched);
}

#[test]
fn base64_search_time_is_linear_in_the_text() {
    fn read(text: &[u8], deep: usize) -> usize {
        let escapes = escape::Escapes::new(text);
        let inside =
            base64_run::base64_runs(&escapes).flat_map(base64_run::Base64Run::decoded).map(|decoded| match deep {
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
fn short_lines_are_found_however_they_are_broken() {
    let said = [
        "k: |\n  abcdefg\n  hijklmn\n  opqrstu\n",
        "abcdefg\r\nhijklmn\r\nopqrstu",
        "<abcdefg\n\t\thijklmn  \n\n\t\topqrstu>",
        "abcdefg hijklmn opqrstu",
        r#"{"a":"  abcdefg\r\n  hijklmn\n\topqrstu"}"#,
        r#"{"a":"{\"b\":\"abcdefg\\n\\t\\thijklmn\\r\\nopqrstu"}"#,
        "a=abcdefg%0D%0A++hijklmn%0A%20%20opqrstu&b=1",
        "abcdefg&#10;  hijklmn&#x0A;  opqrstu",
        "YWJjZGVmZwogIGhpamtsbW4NCm9wcXJzdHU=",
    ];
    for secret in ["abcdefg\nhijklmn\nopqrstu", "abcdefg\r\nhijklmn\r\nopqrstu", "abcdefg\n  hijklmn\n\n opqrstu"] {
        for said in said {
            let left = redacted(secret, said);
            let is_left = ["bcdef", "ijklm", "pqrst"].into_iter().any(|piece| left.contains(piece));
            assert!(left.contains("[secret]") && !is_left, "{secret:?}: {said} became {left}");
        }
    }
    let far = format!("abcdefg\n{}hijklmn\nopqrstu", " ".repeat(20_000));
    assert_eq!(redacted("abcdefg\nhijklmn\nopqrstu", &far), far);
}

#[test]
fn secret_in_another_charset_is_found() {
    let redactor = Redactor::new(["pässwörtÜberall9€"]);
    for said in [
        &b"x p\xe4ssw\xf6rt\xdcberall9\x80 y"[..],
        b"x P\xc4SSW\xd6RT\xdcBERALL9\x80 y",
        b"x p%E4ssw%F6rt%DCberall9%80 y",
        b"x p\\xe4ssw\\xf6rt\\xdcberall9\\x80 y",
        b"x 70e4737377f67274dc626572616c6c3980 y",
        "x p\u{fffd}ssw\u{fffd}rt\u{fffd}berall9\u{fffd} y".as_bytes(),
        b"x cORzc3f2cnTcYmVyYWxsOYA= y",
    ] {
        let mut left = said.to_vec();
        redactor.redact_bytes(&mut left, InputEnd::Complete);
        assert!(left != said && !left.windows(4).any(|window| window == b"rall"), "{}", left.escape_ascii());
        assert!(left.starts_with(b"x ") && left.ends_with(b" y"), "{}", left.escape_ascii());
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
        (Complete, "a %68unter2-hunter2", 3, "a [secret]"),
        (Complete, "a \\u0068unter2-hunter2", 10, "a [secret]"),
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
fn hexadecimal_of_percent_encoded_secret_is_redacted() {
    let redactor = Redactor::new(["pass/word & more"]);
    let hex: String = "pass%2Fword%20%26%20more".bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(redactor.redact_text(&format!("<{hex}>")), "<[secret]>");
}
