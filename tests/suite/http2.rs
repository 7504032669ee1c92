//! HTTP/2 servers that break off: the request fails in time, and the next one works.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use h2::Reason;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::harness::*;
use crate::tls::Authority;

/// A server that speaks HTTP/2, and gives each connection to `serve`.
fn accept_each<F>(
    authority: &Authority,
    mut serve: impl FnMut(TlsAcceptor, TcpStream) -> F + Send + 'static,
) -> SocketAddr
where
    F: Future<Output = Option<()>> + Send + 'static,
{
    let mut config = authority.issue("127.0.0.1").server_config(None);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream));
            }
        });
    });
    address
}

/// Answers requests, and breaks off as their path says.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream) -> Option<()> {
    let mut connection = h2::server::handshake(acceptor.accept(stream).await.ok()?).await.ok()?;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let path = request.uri().path().to_owned();
        if path == "/refused" {
            respond.send_reset(Reason::INTERNAL_ERROR);
            continue;
        }
        let mut head = http::Response::new(());
        if path == "/cut" {
            head.headers_mut().insert("content-length", 1000.into());
        }
        let mut body = respond.send_response(head, false).ok()?;
        body.send_data("fine".into(), path == "/good").ok()?;
        match path.as_str() {
            "/reset" => body.send_reset(Reason::INTERNAL_ERROR),
            // What was sent before this one counts as whole, but for its length.
            "/cut" => body.send_reset(Reason::CANCEL),
            "/goaway" => connection.abrupt_shutdown(Reason::INTERNAL_ERROR),
            "/closed" => return None,
            _ => {}
        }
    }
    Some(())
}

#[test]
fn response_that_breaks_off_is_an_error_once() {
    let authority = Authority::new();
    let server = accept_each(&authority, serve);
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: two }}\nconnections: {{ c: {{ url: \"https://{server}\", tls: {{ ca: ca.pem }} }} }}\n\
         tools:\n  t:\n    description: T\n    arguments: {{ path: {{}} }}\n    run: {{ http: {{ use: c, url: \"/{{{{path}}}}\" }} }}\n"
    ));
    folder.write("ca.pem", &authority.pem);
    let served = folder.stdio();
    let client = served.client(SESSION_VERSIONS[3]);
    for path in ["reset", "goaway", "closed", "refused", "cut"] {
        assert_eq!(client.call_text("t", json!({ "path": "good" })), "fine", "before {path}");
        let result = client.call("t", json!({ "path": path }));
        let said = text_of(&result["content"][0]);
        let expected = format!("GET https://{server}/{path} failed: invalid or incomplete response from `127.0.0.1`\n");
        assert!(said.starts_with(&expected), "{path}: {said}");
        assert_eq!(client.call_text("t", json!({ "path": "good" })), "fine", "after {path}");
    }
}

/// A server of which the first connection answers one request, and from then on no other; it counts those that are open.
fn start_silent_server(authority: &Authority) -> (SocketAddr, Arc<AtomicUsize>) {
    let open = Arc::<AtomicUsize>::default();
    let counted = open.clone();
    let mut answers = 1;
    let address = accept_each(authority, move |acceptor, stream| {
        let (counted, answers) = (counted.clone(), std::mem::replace(&mut answers, usize::MAX));
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let ended = serve_at_first(acceptor, stream, answers).await;
            counted.fetch_sub(1, Ordering::SeqCst);
            ended
        }
    });
    (address, open)
}

async fn serve_at_first(acceptor: TlsAcceptor, stream: TcpStream, answers: usize) -> Option<()> {
    let mut connection = h2::server::handshake(acceptor.accept(stream).await.ok()?).await.ok()?;
    let mut unanswered = Vec::new();
    let mut answered = 0;
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        if answered == answers {
            unanswered.push(respond);
            continue;
        }
        answered += 1;
        respond.send_response(http::Response::new(()), false).ok()?.send_data("fine".into(), true).ok()?;
    }
    Some(())
}

#[test]
fn connection_that_fell_silent_is_not_used_again() {
    let authority = Authority::new();
    for retry in ["", ", retry: { attempts: 2, backoff: 1ms }"] {
        let (server, open) = start_silent_server(&authority);
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: two }}\nconnections: {{ c: {{ url: \"https://{server}\", tls: {{ ca: ca.pem }}{retry} }} }}\n\
             tools: {{ t: {{ description: T, timeout: 20s, run: {{ http: {{ use: c, url: /, timeout: 4s }} }} }} }}\n"
        ));
        folder.write("ca.pem", &authority.pem);
        let served = folder.stdio();
        let client = served.client(SESSION_VERSIONS[3]);
        assert_eq!(client.call_text("t", json!({})), "fine");
        if retry.is_empty() {
            assert!(text_of(&client.call("t", json!({}))["content"][0]).contains("timed out after 4s"));
        }
        assert_eq!(client.call_text("t", json!({})), "fine", "{retry}");
        wait_until("the silent connection to be closed", || open.load(Ordering::SeqCst) == 1);
    }
}

/// A server of which the first connection reads nothing more once it has answered a request.
fn start_unresponsive_server(authority: &Authority) -> SocketAddr {
    let mut is_first = true;
    accept_each(authority, move |acceptor, stream| serve_unresponsive(acceptor, stream, std::mem::take(&mut is_first)))
}

async fn serve_unresponsive(acceptor: TlsAcceptor, stream: TcpStream, falls_silent: bool) -> Option<()> {
    let mut connection = h2::server::handshake(acceptor.accept(stream).await.ok()?).await.ok()?;
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        respond.send_response(http::Response::new(()), false).ok()?.send_data("fine".into(), true).ok()?;
        if falls_silent {
            // What is sent is written while the connection waits for the next request.
            let _unanswered = tokio::time::timeout(Duration::from_secs(1), connection.accept()).await;
            std::future::pending::<()>().await;
        }
    }
    Some(())
}

#[test]
fn silence_of_a_connection_costs_no_whole_timeout() {
    let authority = Authority::new();
    for (method, expected) in [("GET", "fine"), ("POST", "no response from `127.0.0.1`: its connection fell silent")] {
        let server = start_unresponsive_server(&authority);
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: two }}\nconnections: {{ c: {{ url: \"https://{server}\", tls: {{ ca: ca.pem }} }} }}\n\
             tools: {{ t: {{ description: T, timeout: 10m, run: {{ http: {{ use: c, url: /, method: {method} }} }} }} }}\n"
        ));
        folder.write("ca.pem", &authority.pem);
        let served = folder.stdio();
        let client = served.client(SESSION_VERSIONS[3]);
        assert_eq!(client.call_text("t", json!({})), "fine");
        let second = text_of(&client.call("t", json!({}))["content"][0]);
        assert!(second.contains(expected), "{method}: {second}");
        assert_eq!(client.call_text("t", json!({})), "fine", "{method}");
    }
}
