//! Tokens that must not be accepted, by every way into the server; and those that must.

use serde_json::{Value, json};

use crate::harness::*;
use crate::issuer::{Issuer, SigningKey, base64url, now};

/// What a corpus is made of.
struct Forge {
    issuer: Issuer,
    rsa: SigningKey,
    p256: SigningKey,
    p384: SigningKey,
    ed25519: SigningKey,
    attacker: SigningKey,
    audience: String,
}

impl Forge {
    fn new() -> Forge {
        let rsa = SigningKey::rsa("rsa-1");
        let (p256, p384) = (SigningKey::p256("ec-1"), SigningKey::p384("ec-2"));
        let ed25519 = SigningKey::ed25519("ed-1");
        let attacker = SigningKey::other_rsa("rsa-1");
        let issuer = Issuer::start(&[&rsa, &p256, &p384, &ed25519]);
        Forge { issuer, rsa, p256, p384, ed25519, attacker, audience: "https://desk.example/mcp".to_owned() }
    }

    fn manifest(&self, touched: &str) -> String {
        format!(
            "folio: 1\nserver: {{ name: desk }}\nhttp:\n  publicUrl: {}\n  allowedHosts: ['127.0.0.1']\n  auth:\n    issuer: {}\n    \
             scopes: [desk.use]\ntools:\n  touch:\n    run: {{ exec: [touch, {touched}] }}\n",
            self.audience,
            self.issuer.url(),
        )
    }

    fn claims(&self) -> Value {
        self.issuer.claims("ann", &self.audience, "desk.use")
    }

    /// The claims with one that is different; null for one that is missing.
    fn claims_with(&self, name: &str, value: Value) -> Value {
        let mut claims = self.claims();
        let map = claims.as_object_mut().unwrap();
        match value {
            Value::Null => drop(map.remove(name)),
            value => drop(map.insert(name.to_owned(), value)),
        }
        claims
    }

    fn good_tokens(&self) -> Vec<(String, String)> {
        let claims = self.claims();
        let mut tokens: Vec<(String, String)> = Vec::new();
        for key in [&self.rsa, &self.p256, &self.p384, &self.ed25519] {
            tokens.push((key.algorithm().to_owned(), key.token(&json!({}), &claims)));
        }
        for typ in ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"] {
            tokens.push((format!("typ {typ}"), self.rsa.token(&json!({ "typ": typ }), &claims)));
        }
        let without_kid = json!({ "alg": "RS256" }).to_string();
        tokens.push(("no kid".to_owned(), self.rsa.raw_token(&without_kid, &claims.to_string())));
        tokens.push(("PS256".to_owned(), self.pss_token()));
        for (name, value) in [
            ("aud", json!(["https://other.example", self.audience])),
            ("aud", json!([self.audience])),
            ("exp", json!(now() - 30)),
            ("exp", json!(now() as f64 + 60.5)),
            ("exp", json!(9e18)),
            ("nbf", json!(now() + 30)),
            ("iat", json!(now() + 30)),
            ("iat", Value::Null),
            ("scope", json!("a desk.use b")),
            ("scope", json!(["desk.use"])),
        ] {
            let claims = self.claims_with(name, value.clone());
            tokens.push((format!("{name} {value}"), self.rsa.token(&json!({}), &claims)));
        }
        let mut scp = self.claims_with("scope", Value::Null);
        scp["scp"] = json!(["desk.use"]);
        tokens.push(("scp".to_owned(), self.rsa.token(&json!({}), &scp)));
        tokens
    }

    fn pss_token(&self) -> String {
        let header = json!({ "alg": "PS256", "kid": "rsa-1" }).to_string();
        let signed = format!("{}.{}", base64url(header.as_bytes()), base64url(self.claims().to_string().as_bytes()));
        format!("{signed}.{}", base64url(&self.rsa.sign_pss(signed.as_bytes())))
    }

    fn bad_tokens(&self) -> Vec<(String, String)> {
        let mut tokens = Vec::new();
        self.add_shapes(&mut tokens);
        self.add_headers(&mut tokens);
        self.add_foreign_keys(&mut tokens);
        self.add_signatures(&mut tokens);
        self.add_claims(&mut tokens);
        self.add_doubled(&mut tokens);
        tokens
    }

    fn add_shapes(&self, tokens: &mut Vec<(String, String)>) {
        let good = self.rsa.token(&json!({}), &self.claims());
        let parts: Vec<&str> = good.split('.').collect();
        let (header, claims, signature) = (parts[0], parts[1], parts[2]);
        let shapes = [
            ".".to_owned(),
            "..".to_owned(),
            "...".to_owned(),
            "a".to_owned(),
            "a.b".to_owned(),
            "a.b.c".to_owned(),
            "null".to_owned(),
            "undefined".to_owned(),
            "e30.e30.".to_owned(),
            "e30.e30.e30".to_owned(),
            header.to_owned(),
            format!("{header}."),
            format!("{header}.{claims}"),
            format!("{header}.{claims}."),
            format!("{header}..{signature}"),
            format!(".{claims}.{signature}"),
            format!("{good}."),
            format!("{good}.{signature}"),
            format!("{good}.a.b"),
            format!("{good}~"),
            format!("{good}="),
            format!("{header}=.{claims}.{signature}"),
            format!("{header}.{claims}=.{signature}"),
            format!("{header}.{claims}!.{signature}"),
            format!("{header}.{claims}.{signature}!"),
            format!("{header}.{claims}.{}", &signature[..signature.len() - 2]),
            format!("{header}.{claims}.{signature}AA"),
            format!("{claims}.{header}.{signature}"),
            "A".repeat(17 << 10),
            format!("{header}.{}.{signature}", "A".repeat(20 << 10)),
            format!("\"{good}\""),
            good.to_uppercase(),
            good.to_lowercase(),
        ];
        tokens.extend(shapes.into_iter().map(|token| (format!("shape {}", &token[..token.len().min(24)]), token)));
        for text in ["[]", "\"a\"", "1", "null", "true", "{", "{\"iss\":}", "{} {}"] {
            tokens.push((
                format!("claims {text}"),
                self.rsa.raw_token(&json!({ "alg": "RS256", "kid": "rsa-1" }).to_string(), text),
            ));
            tokens.push((format!("header {text}"), self.rsa.raw_token(text, &self.claims().to_string())));
        }
    }

    fn add_headers(&self, tokens: &mut Vec<(String, String)>) {
        let claims = self.claims();
        for header in [
            json!({ "alg": null }),
            json!({ "alg": 1 }),
            json!({ "alg": [] }),
            json!({ "alg": ["RS256"] }),
            json!({ "alg": "" }),
            json!({ "alg": "rs256" }),
            json!({ "alg": "RS256 " }),
            json!({ "alg": "RS1" }),
            json!({ "alg": "RSA-OAEP" }),
            json!({ "alg": "ES256" }),
            json!({ "alg": "ES384" }),
            json!({ "alg": "EdDSA" }),
            json!({ "alg": "PS256" }),
            json!({ "alg": "RS384" }),
            json!({ "alg": "RS512" }),
            json!({ "alg": "HS256" }),
            json!({ "alg": "none" }),
            json!({ "alg": "dir" }),
            json!({ "alg": "ES256K" }),
            json!({ "kid": "unknown" }),
            json!({ "kid": "" }),
            json!({ "kid": null }),
            json!({ "kid": 1 }),
            json!({ "kid": ["rsa-1"] }),
            json!({ "kid": { "a": 1 } }),
            json!({ "kid": "../../../dev/null" }),
            json!({ "kid": "' OR 1=1 --" }),
            json!({ "kid": "rsa-1\u{0}" }),
            json!({ "kid": "RSA-1" }),
            json!({ "kid": "ec-1" }),
            json!({ "kid": "x".repeat(8000) }),
            json!({ "crit": ["exp"], "exp": 1 }),
            json!({ "crit": [] }),
            json!({ "crit": null }),
            json!({ "crit": "exp" }),
            json!({ "crit": ["b64"], "b64": false }),
            json!({ "typ": "" }),
            json!({ "typ": null }),
            json!({ "typ": 1 }),
            json!({ "typ": ["JWT"] }),
            json!({ "typ": "JWE" }),
            json!({ "typ": "id_token+jwt" }),
            json!({ "typ": "logout+jwt" }),
            json!({ "typ": "dpop+jwt" }),
            json!({ "typ": "JWT " }),
            json!({ "typ": "secevent+jwt" }),
            json!({ "typ": "token-introspection+jwt" }),
            json!({ "typ": "oauth-authz-req+jwt" }),
        ] {
            tokens.push((format!("header {}", short(&header)), self.rsa.token(&header, &claims)));
        }
        for alg in ["none", "None", "NONE", "nOnE"] {
            let header = base64url(json!({ "alg": alg }).to_string().as_bytes());
            let body = base64url(claims.to_string().as_bytes());
            tokens.push((format!("unsigned {alg}"), format!("{header}.{body}.")));
            tokens.push((format!("signed {alg}"), format!("{header}.{body}.{}", base64url(b"signature"))));
        }
    }

    /// Tokens signed by keys of others, or by what everybody knows.
    fn add_foreign_keys(&self, tokens: &mut Vec<(String, String)>) {
        let claims = self.claims();
        let jwk = self.attacker.jwk();
        for header in [
            json!({}),
            json!({ "jwk": jwk }),
            json!({ "jwk": jwk, "kid": "evil" }),
            json!({ "jku": format!("{}/jwks", self.issuer.url()) }),
            json!({ "jku": "http://127.0.0.1:1/jwks" }),
            json!({ "x5u": "http://127.0.0.1:1/cert" }),
            json!({ "x5c": ["MIIB"] }),
            json!({ "x5t": "AAAA" }),
            json!({ "iss": self.issuer.url() }),
        ] {
            tokens.push((format!("attacker {}", short(&header)), self.attacker.token(&header, &claims)));
        }
        let without_kid = json!({ "alg": "RS256" }).to_string();
        tokens.push(("attacker without kid".to_owned(), self.attacker.raw_token(&without_kid, &claims.to_string())));
        let public = self.rsa.jwk();
        let secrets =
            [public.to_string(), public["n"].as_str().unwrap().to_owned(), String::new(), "secret".to_owned()];
        for (alg, algorithm) in
            [("HS256", ring::hmac::HMAC_SHA256), ("HS384", ring::hmac::HMAC_SHA384), ("HS512", ring::hmac::HMAC_SHA512)]
        {
            for (number, secret) in secrets.iter().enumerate() {
                let header = json!({ "alg": alg, "kid": "rsa-1" }).to_string();
                let signed = format!("{}.{}", base64url(header.as_bytes()), base64url(claims.to_string().as_bytes()));
                let tag = ring::hmac::sign(&ring::hmac::Key::new(algorithm, secret.as_bytes()), signed.as_bytes());
                tokens
                    .push((format!("{alg} by public text {number}"), format!("{signed}.{}", base64url(tag.as_ref()))));
            }
        }
    }

    fn add_signatures(&self, tokens: &mut Vec<(String, String)>) {
        let claims = self.claims();
        for key in [&self.rsa, &self.p256, &self.p384, &self.ed25519] {
            let good = key.token(&json!({}), &claims);
            let (signed, signature) = good.rsplit_once('.').unwrap();
            let length = key.sign(b"").len();
            let mut flipped = key.sign(signed.as_bytes());
            flipped[length / 2] ^= 1;
            let name = key.algorithm();
            for (what, bytes) in [
                ("flipped", flipped),
                ("zeros", vec![0; length]),
                ("ones", vec![1; length]),
                ("empty", Vec::new()),
                ("of another text", key.sign(b"another text")),
                ("of the claims alone", key.sign(signed.split_once('.').unwrap().1.as_bytes())),
                ("longer", [key.sign(signed.as_bytes()), vec![0]].concat()),
            ] {
                tokens.push((format!("{name} signature {what}"), format!("{signed}.{}", base64url(&bytes))));
            }
            // The claims of another, beneath the signature of this one.
            let other = base64url(self.issuer.claims("root", &self.audience, "desk.use admin").to_string().as_bytes());
            let header = signed.split_once('.').unwrap().0;
            tokens.push((format!("{name} other claims"), format!("{header}.{other}.{signature}")));
        }
    }

    fn add_claims(&self, tokens: &mut Vec<(String, String)>) {
        let (url, audience) = (self.issuer.url(), &self.audience);
        let cases: Vec<(&str, Vec<Value>)> = vec![
            (
                "iss",
                vec![
                    Value::Null,
                    json!(""),
                    json!(1),
                    json!([url]),
                    json!({}),
                    json!(format!("{url}/")),
                    json!(format!("{url}/x")),
                    json!("https://evil.example"),
                    json!(url.to_uppercase()),
                    json!(format!(" {url}")),
                    json!(true),
                ],
            ),
            (
                "aud",
                vec![
                    Value::Null,
                    json!(""),
                    json!(1),
                    json!([]),
                    json!({}),
                    json!([1]),
                    json!([audience, 1]),
                    json!([null]),
                    json!([[audience]]),
                    json!("https://desk.example"),
                    json!("https://desk.example/mcp/x"),
                    json!("https://desk.example/MCP"),
                    json!("http://desk.example/mcp"),
                    json!("https://desk.example.evil/mcp"),
                    json!("desk.example"),
                    json!(format!("{audience} https://other.example")),
                    json!(["https://other.example"]),
                    json!("my-client-id"),
                    json!("*"),
                    json!(true),
                ],
            ),
            (
                "exp",
                vec![
                    Value::Null,
                    json!(now() - 61),
                    json!(now() - 3600),
                    json!(0),
                    json!(-1),
                    json!("never"),
                    json!((now() + 600).to_string()),
                    json!([now() + 600]),
                    json!({}),
                    json!(true),
                    json!(false),
                    json!(-9e18),
                ],
            ),
            (
                "nbf",
                vec![
                    json!(now() + 75),
                    json!(now() + 3600),
                    json!("now"),
                    json!([]),
                    json!({}),
                    json!(true),
                    json!(9e18),
                ],
            ),
            (
                "iat",
                vec![
                    json!(now() + 75),
                    json!(now() + 3600),
                    json!("now"),
                    json!([]),
                    json!({}),
                    json!(false),
                    json!(9e18),
                ],
            ),
            ("sub", vec![Value::Null, json!(""), json!(1), json!(["ann"]), json!({}), json!(true)]),
        ];
        for (name, values) in cases {
            for value in values {
                let token = self.rsa.token(&json!({}), &self.claims_with(name, value.clone()));
                tokens.push((format!("claim {name} {}", short(&value)), token));
            }
        }
        for name in ["nbf", "iat", "exp"] {
            let mut claims = self.claims();
            claims[name] = Value::Null;
            tokens.push((format!("claim {name} null"), self.rsa.token(&json!({}), &claims)));
        }
        let id_token = json!({ "iss": url, "sub": "ann", "aud": "client-1", "azp": "client-1", "exp": now() + 600, "nonce": "n", "at_hash": "h" });
        tokens.push(("ID token".to_owned(), self.rsa.token(&json!({ "typ": "JWT" }), &id_token)));
    }

    /// Two equal keys: readers differ in which they take.
    fn add_doubled(&self, tokens: &mut Vec<(String, String)>) {
        let claims = self.claims().to_string();
        let header = json!({ "alg": "RS256", "kid": "rsa-1" }).to_string();
        for extra in [
            "\"iss\":\"x\"", "\"aud\":\"x\"", "\"exp\":1", "\"sub\":\"root\"", "\"scope\":\"admin\"",
            "\"exp\":9999999999",
        ] {
            tokens.push((
                format!("doubled first {extra}"),
                self.rsa.raw_token(&header, &format!("{{{extra},{}", &claims[1..])),
            ));
            let last = format!("{},{extra}}}", &claims[..claims.len() - 1]);
            tokens.push((format!("doubled last {extra}"), self.rsa.raw_token(&header, &last)));
        }
        for extra in ["\"alg\":\"none\"", "\"kid\":\"x\"", "\"alg\":\"RS256\""] {
            tokens.push((
                format!("doubled header {extra}"),
                self.rsa.raw_token(&format!("{{{extra},{}", &header[1..]), &claims),
            ));
        }
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

/// A way into the server.
struct Entrance {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    headers: Vec<(String, String)>,
    body: String,
}

impl Entrance {
    fn send(&self, server: &TestServer, authorization: &[(&str, &str)]) -> HttpResponse {
        let mut headers = vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        headers.extend(self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        headers.extend_from_slice(authorization);
        let client = HttpClient { path: self.path.to_owned(), ..server.http_client() };
        client.send(self.method, &headers, self.body.as_bytes())
    }
}

/// All ways into the server: each method, in sessions and without, in batches, and the streams.
fn entrances(session: &str) -> Vec<Entrance> {
    let call = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "touch" } });
    let in_session = || vec![("Mcp-Session-Id".to_owned(), session.to_owned())];
    let post =
        |name, headers, body: Value| Entrance { name, method: "POST", path: "/mcp", headers, body: body.to_string() };
    let mut entrances = vec![
        post("call in session", in_session(), call(1)),
        post("batch", in_session(), json!([call(2), call(3)])),
        post(
            "initialize",
            Vec::new(),
            json!({ "jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } } }),
        ),
        post("notification", in_session(), json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        Entrance { name: "stream", method: "GET", path: "/mcp", headers: in_session(), body: String::new() },
        Entrance { name: "end", method: "DELETE", path: "/mcp", headers: in_session(), body: String::new() },
        Entrance { name: "SSE", method: "GET", path: "/sse", headers: Vec::new(), body: String::new() },
        Entrance {
            name: "SSE message",
            method: "POST",
            path: "/messages?sessionId=1",
            headers: Vec::new(),
            body: call(5).to_string(),
        },
    ];
    for method in [
        "tools/call", "tools/list", "prompts/get", "resources/read", "server/discover", "subscriptions/listen",
        "tasks/get",
    ] {
        let params =
            json!({ "name": "touch", "uri": "a:b", "taskId": "1", "notifications": {}, "_meta": sessionless_meta() });
        let headers = vec![
            ("MCP-Protocol-Version".to_owned(), SESSIONLESS_VERSION.to_owned()),
            ("Mcp-Method".to_owned(), method.to_owned()),
            ("Mcp-Name".to_owned(), "touch".to_owned()),
        ];
        entrances.push(post(method, headers, json!({ "jsonrpc": "2.0", "id": 6, "method": method, "params": params })));
    }
    entrances
}

fn call_touch(server: &TestServer, authorization: &[(&str, &str)]) -> HttpResponse {
    let entrances = entrances("");
    entrances.iter().find(|entrance| entrance.name == "tools/call").unwrap().send(server, authorization)
}

#[test]
fn bad_tokens_are_refused_at_every_entrance() {
    let forge = Forge::new();
    let folder = TestFolder::new(&[]);
    let touched = folder.join("touched");
    folder.write("folio.yaml", forge.manifest(touched.to_str().unwrap()).replace("  auth:", "  sse: true\n  auth:"));
    let server = folder.http();
    let good = format!("Bearer {}", forge.rsa.token(&json!({}), &forge.claims()));
    let begin = entrances("").remove(2).send(&server, &[("Authorization", &good)]);
    assert_eq!(begin.status, 200);
    let session = begin.header("mcp-session-id").unwrap().to_owned();
    let entrances = entrances(&session);
    let bad = forge.bad_tokens();
    assert!(bad.len() >= 200, "{}", bad.len());
    // Each token at one entrance after the other, and all entrances with some of them.
    for (number, (name, token)) in bad.iter().enumerate() {
        for (place, entrance) in entrances.iter().enumerate() {
            if place != number % entrances.len() && number % 16 != 0 && place != 0 && entrance.name != "tools/call" {
                continue;
            }
            let response = entrance.send(&server, &[("Authorization", &format!("Bearer {token}"))]);
            assert_eq!(response.status, 401, "{name} at {}", entrance.name);
            let challenge = response.header("www-authenticate").unwrap();
            assert!(
                challenge.contains("error=\"invalid_token\"") && challenge.contains("resource_metadata=\""),
                "{challenge}"
            );
        }
    }
    assert!(!touched.exists(), "a call was done");
    let stderr = server.log.text();
    for (name, token) in bad.iter().filter(|(_, token)| token.len() > 40) {
        assert!(!stderr.contains(token.as_str()), "{name} is logged");
    }
    assert_eq!(call_touch(&server, &[("Authorization", &good)]).status, 200);
    assert!(touched.exists());
}

#[test]
fn requests_without_a_bearer_token_are_refused() {
    let forge = Forge::new();
    let folder = TestFolder::new(&[]);
    let touched = folder.join("touched");
    folder.write("folio.yaml", forge.manifest(touched.to_str().unwrap()));
    let server = folder.http();
    let token = forge.rsa.token(&json!({}), &forge.claims());
    let (good, basic) = (format!("Bearer {token}"), format!("Basic {token}"));
    let bare = call_touch(&server, &[]);
    assert_eq!(bare.status, 401);
    assert_eq!(
        bare.header("www-authenticate").unwrap(),
        "Bearer scope=\"desk.use\", resource_metadata=\"https://desk.example/.well-known/oauth-protected-resource/mcp\""
    );
    let doubled = [("Authorization", good.as_str()), ("Authorization", good.as_str())];
    for headers in [
        &doubled[..],
        &[("Authorization", &*basic)],
        &[("Authorization", "Bearer")],
        &[("Authorization", "Bearer ")],
        &[("Authorization", &*token)],
        &[("X-Authorization", &*good)],
        &[("Cookie", &*good)],
    ] {
        let response = call_touch(&server, headers);
        assert_eq!(response.status, 401, "{headers:?}");
    }
    for path in [format!("/mcp?access_token={token}"), format!("/mcp?token={token}")] {
        let client = HttpClient { path, ..server.http_client() };
        assert_eq!(client.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).status, 401);
    }
    assert!(!touched.exists());
}

#[test]
fn good_tokens_are_accepted() {
    let forge = Forge::new();
    let folder = TestFolder::new(&[]);
    folder.write("folio.yaml", forge.manifest(folder.join("touched").to_str().unwrap()));
    let server = folder.http();
    for (name, token) in forge.good_tokens() {
        let response = call_touch(&server, &[("Authorization", &format!("bearer {token}"))]);
        assert_eq!(response.status, 200, "{name}: {}", response.header("www-authenticate").unwrap_or_default());
    }
    assert_eq!(forge.issuer.count("/jwks"), 1);
}
