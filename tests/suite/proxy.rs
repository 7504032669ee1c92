//! `proxy` of a connection: what goes through it, and what the guard of addresses still refuses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use serde_json::json;

use crate::harness::*;
use crate::tls::{Authority, presented, start_server};
use crate::upstream_server::{Reply, Upstream};

const PASSWORD: &str = "open-sesame-4711";

/// A proxy that answers requests itself.
fn echoing_proxy() -> Upstream {
    Upstream::start(|request, _| {
        let location = |to: &str| Reply::with_headers(302, &[("Location", to)], "");
        match request.target.as_str() {
            "http://api.example/to-metadata" => location("http://169.254.169.254/latest"),
            "http://api.example/to-localhost" => location("http://localhost/"),
            "http://api.example/to-other" => location("http://other.example/"),
            "http://api.example/page" => Reply::json(200, &json!({ "items": [1], "next": "http://10.0.0.1/" })),
            target => {
                let password = request.header("proxy-authorization").map(|_| PASSWORD);
                Reply::json(
                    200,
                    &json!({ "target": target, "password": password, "echo": format!("{:?}", request.headers) }),
                )
            }
        }
    })
}

fn manifest(proxy: &str, keys: &str, http: &str) -> String {
    format!(
        "folio: 1\nserver: {{ name: proxied }}\nenv: {{ PROXY: {{ secret: true, required: false }} }}\nconnections:\n  c:\n    \
         url: http://api.example\n    proxy: \"{proxy}\"\n{keys}tools:\n  t:\n    description: T\n    \
         arguments: {{ path: {{}} }}\n    run: {{ http: {{ use: c, url: \"/{{{{path}}}}\"{http} }} }}\n"
    )
}

fn with_password(proxy: &Upstream) -> String {
    proxy.url().replace("http://", &format!("http://user:{PASSWORD}@"))
}

fn call(folder: &TestFolder, path: &str, env: &[(&str, &str)]) -> String {
    let command = env.iter().fold(folder.serve_command(), |command, (name, value)| command.env(name, value));
    let server = command.stdio();
    let result = server.client(SESSION_VERSIONS[3]).call("t", json!({ "path": path }));
    assert!(!format!("{result}{}", server.log.text()).contains(PASSWORD), "{result}\n{}", server.log.text());
    text_of(&result["content"][0])
}

#[test]
fn requests_go_through_the_proxy() {
    let proxy = echoing_proxy();
    let literal = TestFolder::with_manifest(&manifest(&with_password(&proxy), "", ""));
    let variable = TestFolder::with_manifest(&manifest("{{env.PROXY}}", "", ""));
    for (folder, env) in [(literal, vec![]), (variable, vec![("PROXY", with_password(&proxy))])] {
        let env: Vec<_> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let text = call(&folder, "a b", &env);
        assert!(text.contains("http://api.example/a%20b") && text.contains("[secret]"), "{text}");
    }
    assert_eq!(proxy.requests().len(), 2);
    for request in proxy.requests() {
        assert_eq!(request.header("proxy-authorization"), Some("Basic dXNlcjpvcGVuLXNlc2FtZS00NzEx"));
    }
}

#[test]
fn proxies_of_the_environment_are_ignored() {
    let (proxy, api) = (echoing_proxy(), Upstream::start(|_, _| Reply::json(200, &json!({ "direct": true }))));
    let text = manifest("{{env.PROXY}}", "", "").replace("http://api.example", &api.url());
    let folder = TestFolder::with_manifest(&text);
    let url = proxy.url();
    let env: Vec<_> =
        ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].into_iter().map(|name| (name, url.as_str())).collect();
    assert_eq!(call(&folder, "x", &env), r#"{"direct":true}"#);
    assert!(proxy.requests().is_empty());
}

#[test]
fn private_addresses_are_refused_behind_a_proxy() {
    let proxy = echoing_proxy();
    let folder = TestFolder::with_manifest(&manifest(&proxy.url(), "", ""));
    for (path, host) in [("to-metadata", "169.254.169.254"), ("to-localhost", "localhost")] {
        let message = format!("after a redirect: host `{host}` has a private address and is not listed in `allow`");
        let refused = call(&folder, path, &[]);
        assert!(refused.ends_with(&message), "{refused}");
    }
    assert!(call(&folder, "to-other", &[]).contains("http://other.example/"), "the proxy resolves names");
    let paged = ", paginate: { next: next, items: items }";
    let folder = TestFolder::with_manifest(&manifest(&proxy.url(), "", paged));
    let refused = call(&folder, "page", &[]);
    assert!(refused.contains("host `10.0.0.1` has a private address"), "{refused}");
    // The proxy may be private; its host is not thereby one that responses lead to.
    let (own, to) = (proxy.url(), proxy.url());
    let leading = Upstream::start(move |_, _| Reply::with_headers(302, &[("Location", &to)], ""));
    let folder = TestFolder::with_manifest(&manifest(&leading.url(), "", ""));
    let refused = call(&folder, "x", &[]);
    assert!(refused.contains("host `127.0.0.1` has a private address"), "{refused}: {own}");
    let folder = TestFolder::with_manifest(&manifest(&proxy.url(), "    allow: [169.254.169.254]\n", ""));
    assert!(call(&folder, "to-metadata", &[]).contains("http://169.254.169.254/latest"));
}

#[test]
fn proxy_of_a_pack_has_the_right_of_any_host() {
    let proxy = echoing_proxy();
    let outer = "folio: 1\nserver: { name: outer }\nenv: { OURS: {} }\npacks:\n  inner:\n    path: inner\n    \
                 prefix: \"\"\n    allow: [http]\n    env: { PROXY: \"{{env.OURS}}\" }\n";
    let folder = TestFolder::with_manifest(outer);
    folder.write("inner/folio.yaml", manifest("{{env.PROXY}}", "", ""));
    let url = proxy.url();
    let refused = call(&folder, "x", &[("OURS", &url)]);
    assert!(refused.contains("has a private address and is not listed in `allow`"), "{refused}");
    folder.write("inner/folio.yaml", manifest("{{env.PROXY}}", "    allow: [127.0.0.1]\n", ""));
    assert!(call(&folder, "x", &[("OURS", &url)]).contains("http://api.example/x"));
    assert_eq!(proxy.requests().len(), 1);
}

/// A proxy that opens a tunnel to one server, whatever it is asked for.
pub(super) struct Tunnel {
    pub(super) address: SocketAddr,
    /// The heads of the requests.
    pub(super) requests: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    /// A tunnel to `server`, whose proxy answers `response` to each request.
    pub(super) fn open(server: SocketAddr, response: &'static str) -> Tunnel {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tunnel = Tunnel { address: listener.local_addr().unwrap(), requests: Arc::default() };
        let requests = tunnel.requests.clone();
        thread::spawn(move || {
            for mut near in listener.incoming().flatten() {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    near.read_exact(&mut byte).unwrap();
                    head.push(byte[0]);
                }
                requests.lock().push(String::from_utf8(head).unwrap());
                near.write_all(response.as_bytes()).unwrap();
                let mut far = TcpStream::connect(server).unwrap();
                let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut from, &mut to));
                thread::spawn(move || std::io::copy(&mut far, &mut near));
            }
        });
        tunnel
    }
}

/// The response of a proxy that opens the tunnel.
pub(super) const TUNNEL_OPEN: &str = "HTTP/1.1 200 OK\r\n\r\n";

#[test]
fn https_goes_through_a_tunnel() {
    let authority = Authority::new();
    let server = start_server(authority.issue("api.example").server_config(None), presented());
    let folder = |tunnel: &Tunnel, keys: &str| {
        let proxy = format!("http://user:{PASSWORD}@{}", tunnel.address);
        let text = manifest(&proxy, keys, "").replace("url: http://", "url: https://");
        let folder = TestFolder::with_manifest(&text);
        folder.write("ca.pem", &authority.pem);
        folder
    };
    let tunnel = Tunnel::open(server, TUNNEL_OPEN);
    assert_eq!(call(&folder(&tunnel, "    tls: { ca: ca.pem }\n"), "x", &[]), "0");
    let untrusted = call(&folder(&tunnel, ""), "x", &[]);
    let requests = tunnel.requests.lock();
    assert!(requests.iter().all(|head| head.starts_with("CONNECT api.example:443 ")), "{requests:?}");
    assert_eq!(requests.len(), 2);
    assert!(untrusted.contains(" failed: TLS connection to `api.example` failed: its certificate"), "{untrusted}");
    for response in ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "HTTP/1.1 403 Forbidden\r\n\r\n"] {
        let refused = call(&folder(&Tunnel::open(server, response), ""), "x", &[]);
        let expected = "proxy `127.0.0.1` refused to connect to `api.example`; check its address and credentials";
        assert!(refused.ends_with(expected), "{refused}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = TestFolder::with_manifest(&manifest(&format!("http://{closed}"), "", ""));
    let refused = call(&folder, "x", &[]);
    assert!(refused.contains(" failed: could not connect to the proxy `127.0.0.1`: connection refused"), "{refused}");
}

#[test]
fn empty_proxy_is_none() {
    let api = Upstream::start(|_, _| Reply::json(200, &json!({ "direct": true })));
    let manifest = manifest("{{env.PROXY}}", "", "").replace("http://api.example", &api.url());
    let manifest = manifest.replace("{ secret: true, required: false }", "{ default: \"\" }");
    let folder = TestFolder::with_manifest(&manifest);
    assert_eq!(call(&folder, "x", &[]), r#"{"direct":true}"#);
}

#[test]
fn invalid_proxy_is_an_error_at_load() {
    for proxy in ["ftp://proxy.example", "proxy.example:3128", "http://"] {
        let folder = TestFolder::with_manifest(&manifest(proxy, "", ""));
        let checked = run_folio(folder.path(), &["check"]);
        assert!(checked.code == Some(1) && (checked.out + &checked.err).contains("URL"), "{proxy}");
    }
    let folder = TestFolder::with_manifest(&manifest("{{env.PROXY}}", "", ""));
    let server = folder.serve_command().env("PROXY", &format!("ftp://user:{PASSWORD}@proxy.example")).stdio();
    assert!(server.wait_for_exit(TEST_TIMEOUT).is_some_and(|status| !status.success()));
    let log = server.log.text();
    assert!(log.contains("invalid URL of a proxy") && !log.contains(PASSWORD), "{log}");
}
