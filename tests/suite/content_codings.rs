//! The codings of responses, as servers write them.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

const BODY: &[u8] = b"{\"a\":1}";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The result of a request whose response has these headers and this body.
fn call(method: &str, codings: &[&str], body: Vec<u8>) -> Value {
    let mut head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    codings.iter().for_each(|coding| head.push_str(&format!("Content-Encoding: {coding}\r\n")));
    let reply = [format!("{head}Connection: close\r\n\r\n").into_bytes(), body].concat();
    let api = Upstream::start(move |_, _| Reply::raw(reply.clone()));
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: codings }}\ntools:\n  t: {{ description: T, run: {{ http: {{ method: {method}, url: \"{}\" }} }} }}\n",
        api.url()
    ));
    let server = folder.stdio();
    let result = server.client(SESSION_VERSIONS[3]).call("t", json!({}));
    let accepted = api.requests()[0].header("accept-encoding").map(str::to_owned);
    assert_eq!(accepted.as_deref(), Some("gzip, br, zstd, deflate"));
    result
}

#[test]
fn codings_are_undone_however_they_are_written() {
    let two_members = [gzip(&BODY[..3]), gzip(&BODY[3..])].concat();
    for (codings, body) in [
        (&["gzip"][..], gzip(BODY)),
        (&["GZIP"], gzip(BODY)),
        (&["X-Gzip"], two_members),
        (&["identity"], BODY.to_vec()),
        (&["identity, gzip"], gzip(BODY)),
        (&["gzip,deflate"], zlib(&gzip(BODY))),
        (&["deflate", "gzip"], gzip(&deflate(BODY))),
        (&["deflate"], zlib(BODY)),
        (&["deflate"], deflate(BODY)),
    ] {
        let result = call("GET", codings, body);
        assert_eq!(result["structuredContent"], json!({ "a": 1 }), "{codings:?}: {result}");
    }
    let empty = call("GET", &["gzip"], Vec::new());
    assert_eq!(text_of(&empty["content"][0]), "HTTP status 200 OK");
}

#[test]
fn what_cannot_be_decoded_names_the_coding() {
    for (codings, body, words) in [
        (&["gzip"][..], BODY.to_vec(), "its body is not `gzip`, as its header says"),
        (&["deflate, br"], gzip(BODY), "its body is not `deflate, br`, as its header says"),
        (&["gzip"], gzip(BODY)[..15].to_vec(), "its body is not `gzip`, as its header says"),
        (&["compress"], BODY.to_vec(), "unknown content coding `compress`"),
        (&["gzip,gzip,gzip,gzip,gzip"], gzip(BODY), "5 content codings, one in the other, and the limit is 4"),
    ] {
        let result = call("GET", codings, body.clone());
        let text = text_of(&result["content"][0]);
        let all = format!("cannot decode the response from `127.0.0.1` with HTTP status 200: {words}");
        assert!(result["isError"] == true && text.ends_with(&all), "{codings:?}: {text}");
        let text = text_of(&call("POST", codings, body)["content"][0]);
        assert!(text.ends_with("The request may have been processed: check before you retry."), "{codings:?}: {text}");
    }
}
