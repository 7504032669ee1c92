use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::world::{
    BodyPart, HostPolicy, HttpHeader, HttpRequest, HttpResponse, PartContent, RealWorld, RequestBody, World, WorldError,
};

/// A server that gives fixed answers, one for each connection, and keeps what it was asked.
struct FixedServer {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FixedServer {
    async fn new<A: Into<Vec<u8>>>(answers: impl IntoIterator<Item = A>) -> FixedServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut answers: VecDeque<Vec<u8>> = answers.into_iter().map(Into::into).collect();
        let kept = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read_request(&mut stream).await;
                kept.lock().unwrap().push(request);
                let _ = stream.write_all(&answers.pop_front().unwrap_or_default()).await;
            }
        });
        FixedServer { port, requests }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap()
    }

    fn request(&self, path: &str) -> HttpRequest {
        HttpRequest { host_policy: HostPolicy::new(["127.0.0.1"]).unwrap(), ..HttpRequest::new("GET", self.url(path)) }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    loop {
        let read = stream.read_buf(&mut text).await.unwrap_or(0);
        let display_path = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = display_path.split_once("\r\n\r\n") {
            let length =
                head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) || read == 0 {
                return display_path;
            }
        }
        if read == 0 {
            return display_path;
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn redirect(status: &str, location: impl std::fmt::Display) -> Vec<u8> {
    answer(status, &format!("location: {location}\r\n"), "")
}

async fn send(request: HttpRequest) -> Result<HttpResponse, WorldError> {
    RealWorld::new().send_request(request).await
}

#[tokio::test]
async fn request_and_response_round_trip() {
    let server = FixedServer::new([answer("404 Not Found", "X-One: a\r\nX-One: b\r\n", "gone")]).await;
    let request = HttpRequest {
        method: "PATCH".into(),
        headers: vec![HttpHeader::new("X-A", "1"), HttpHeader::new_secret("Authorization", "Bearer t")],
        body: Some(RequestBody::Bytes(b"{\"a\":1}".to_vec())),
        ..server.request("/p?q=a%20b")
    };
    let response = send(request).await.unwrap();
    assert_eq!((response.status, response.body.text()), (404, Some("gone")));
    assert_eq!(response.header("X-ONE").as_deref(), Some("a, b"));
    assert!(response.headers.iter().all(|(name, _)| *name == name.to_lowercase()));
    let asked = server.requests().remove(0);
    assert!(asked.starts_with("PATCH /p?q=a%20b HTTP/1.1\r\n") && asked.ends_with("\r\n\r\n{\"a\":1}"), "{asked}");
    assert!(asked.contains("x-a: 1\r\n") && asked.contains("authorization: Bearer t\r\n"), "{asked}");
}

#[tokio::test]
async fn a_private_host_is_refused_unless_it_is_allowed() {
    let server = FixedServer::new([answer("200 OK", "", "internal"), answer("200 OK", "", "internal")]).await;
    for host in [
        "127.0.0.1", "localhost", "localhost.", "LOCALHOST", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]",
        "0.0.0.0", "[::]",
    ] {
        let url = Url::parse(&format!("http://{host}:{}/?token=s3cret", server.port)).unwrap();
        let refused = send(HttpRequest::new("GET", url)).await.unwrap_err();
        // Not every resolver knows `localhost` with a dot.
        let unknown = host.ends_with('.') && matches!(refused, WorldError::Dns { .. });
        assert!(unknown || matches!(refused, WorldError::PrivateAddress { .. }), "{host}: {refused}");
        assert!(!refused.to_string().contains("s3cret") && refused.is_unsent());
    }
    assert!(server.requests().is_empty());
    for (host, entry) in [("127.0.0.1", format!("127.0.0.1:{}", server.port)), ("localhost", "localhost".to_owned())] {
        let url = Url::parse(&format!("http://{host}:{}/", server.port)).unwrap();
        let request = HttpRequest { host_policy: HostPolicy::new([entry]).unwrap(), ..HttpRequest::new("GET", url) };
        assert_eq!(send(request).await.unwrap().body.text(), Some("internal"));
    }
}

#[tokio::test]
async fn pooled_connection_does_not_bypass_the_policy() {
    let keep = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec();
    let server = FixedServer::new([keep]).await;
    let world = RealWorld::new();
    let url = Url::parse(&format!("http://localhost:{}/", server.port)).unwrap();
    let allowed =
        HttpRequest { host_policy: HostPolicy::new(["localhost"]).unwrap(), ..HttpRequest::new("GET", url.clone()) };
    assert_eq!(world.send_request(allowed).await.unwrap().status, 200);
    assert!(matches!(world.send_request(HttpRequest::new("GET", url)).await, Err(WorldError::PrivateAddress { .. })));
}

#[tokio::test]
async fn a_redirect_to_a_private_host_is_refused() {
    for target in
        ["http://127.0.0.2/", "http://[::1]/", "http://localhost/", "//0x7f.2/x", "http://169.254.169.254/latest/"]
    {
        let server = FixedServer::new([redirect("302 Found", target)]).await;
        let refused = send(server.request("/")).await.unwrap_err();
        let WorldError::AfterRedirect(refused) = refused else { panic!("{target}: {refused}") };
        assert!(matches!(*refused, WorldError::PrivateAddress { .. }), "{target}: {refused}");
    }
}

#[tokio::test]
async fn redirect_status_decides_the_method() {
    for (status, method, sent) in [
        ("301 Moved", "POST", "GET"),
        ("302 Found", "POST", "GET"),
        ("303 See Other", "PUT", "GET"),
        ("303 See Other", "HEAD", "HEAD"),
        ("302 Found", "DELETE", "DELETE"),
        ("307 Temporary", "POST", "POST"),
        ("308 Permanent", "PUT", "PUT"),
    ] {
        let server = FixedServer::new([redirect(status, "../two"), answer("200 OK", "", "")]).await;
        let body = (method != "HEAD").then(|| RequestBody::Bytes(b"body".to_vec()));
        let headers = vec![HttpHeader::new("content-type", "text/plain"), HttpHeader::new_secret("x-key", "k")];
        let request = HttpRequest { method: method.into(), headers, body, ..server.request("/a/one") };
        let response = send(request).await.unwrap();
        assert_eq!(response.url, server.url("/two"));
        let second = &server.requests()[1];
        assert!(second.starts_with(&format!("{sent} /two ")), "{status}: {second}");
        let kept = sent == method && sent != "HEAD";
        assert_eq!(
            (second.ends_with("body"), sent == "HEAD" || second.contains("content-type")),
            (kept, sent == method),
            "{second}"
        );
        assert!(second.contains("x-key: k"), "{second}");
    }
}

#[tokio::test]
async fn credentials_are_not_sent_to_another_origin() {
    let other = FixedServer::new([answer("200 OK", "", "")]).await;
    let target = format!("http://made:up@127.0.0.1:{}/", other.port);
    let first = FixedServer::new([redirect("307 Temporary", target)]).await;
    let headers = vec![
        HttpHeader::new("authorization", "Bearer t"),
        HttpHeader::new("Cookie", "c=1"),
        HttpHeader::new_secret("x-key", "k"),
        HttpHeader::new("x-plain", "p"),
    ];
    let request = HttpRequest {
        method: "POST".into(),
        headers,
        body: Some(RequestBody::Bytes(b"body".to_vec())),
        ..first.request("/")
    };
    send(request.clone()).await.unwrap();
    let asked = other.requests().remove(0);
    assert!(asked.contains("x-plain: p") && asked.ends_with("body"), "{asked}");
    for secret in ["authorization", "cookie", "x-key"] {
        assert!(!asked.contains(secret), "{asked}");
    }
    let again = FixedServer::new([redirect("307 Temporary", other.url("/"))]).await;
    let sealed = HttpRequest { secret_body: true, url: again.url("/"), ..request };
    assert!(matches!(send(sealed).await, Err(WorldError::CrossOriginCredentials { .. })));
    assert_eq!(other.requests().len(), 1);
}

#[tokio::test]
async fn redirects_are_limited() {
    let server = FixedServer::new((0..20).map(|_| redirect("302 Found", "/again"))).await;
    assert!(matches!(send(server.request("/")).await, Err(WorldError::TooManyRedirects { limit: 10 })));
    assert_eq!(server.requests().len(), 11);
    let server = FixedServer::new([redirect("302 Found", "file:///etc/passwd")]).await;
    assert!(matches!(send(server.request("/")).await, Err(WorldError::InvalidUrl { .. })));
}

#[tokio::test]
async fn body_is_truncated_at_its_limit() {
    let long = "é".repeat(50_000);
    let server = FixedServer::new([answer("200 OK", "", &long)]).await;
    let response = send(HttpRequest { max_output: 101, ..server.request("/") }).await.unwrap();
    assert_eq!((response.body.bytes.len(), response.body.missing_bytes), (100, 99_900));
    let endless = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{long}");
    let server = FixedServer::new([endless]).await;
    let response = send(HttpRequest { max_output: 10, ..server.request("/") }).await.unwrap();
    assert_eq!((response.body.bytes.len(), response.body.missing_bytes), (10, 99_990));
}

#[tokio::test]
async fn compressed_body_is_limited_by_decoded_size() {
    let zeros = RealWorld::new()
        .run_program(crate::world::ProgramCommand {
            args: vec!["-c".into(), "head -c 1000000 /dev/zero | gzip -9".into()],
            ..crate::world::ProgramCommand::new("sh", "/")
        })
        .await
        .unwrap();
    let mut packed = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        zeros.stdout.bytes.len()
    )
    .into_bytes();
    packed.extend(&zeros.stdout.bytes);
    let server = FixedServer::new([packed]).await;
    let response = send(HttpRequest { max_output: 1000, ..server.request("/") }).await.unwrap();
    assert_eq!((response.body.bytes.len(), response.body.missing_bytes), (1000, 999_000));
}

#[tokio::test]
async fn timeout_and_cancellation_end_a_request() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let begun = FixedServer::new([b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec()]).await;
    let hang = tokio::spawn(async move {
        let mut connections = Vec::new();
        while let Ok(stream) = silent.accept().await {
            connections.push(stream);
        }
    });
    let url = Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    let request = HttpRequest { url, timeout: Duration::from_millis(100), ..begun.request("/") };
    assert!(matches!(send(request.clone()).await, Err(WorldError::TimedOut { after, .. }) if after == request.timeout));
    let cancel = CancellationToken::new();
    let late = HttpRequest { timeout: Duration::from_secs(600), cancel: cancel.clone(), ..request };
    let started = Instant::now();
    let (ended, ()) = tokio::join!(send(late), async { cancel.cancel() });
    assert!(matches!(ended, Err(WorldError::Cancelled)) && started.elapsed() < Duration::from_secs(60));
    hang.abort();
    assert!(matches!(send(begun.request("/")).await, Err(WorldError::InvalidResponse { .. })));
}

#[tokio::test]
async fn errors_are_distinct_and_hold_no_secret() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = plain.local_addr().unwrap().port();
    tokio::spawn(async move { plain.accept().await.unwrap().0.write_all(b"this is no TLS").await });
    let allow = HostPolicy::new(["127.0.0.1", "nowhere.invalid"]).unwrap();
    let error = async |url: String| {
        let request = HttpRequest { host_policy: allow.clone(), ..HttpRequest::new("GET", Url::parse(&url).unwrap()) };
        let error = send(request).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        error
    };
    let refused = error(format!("http://u:s3cret@127.0.0.1:{closed}/s3cret?s3cret")).await;
    assert_eq!(refused.to_string(), "could not connect to `127.0.0.1`: connection refused");
    let unknown = error("http://nowhere.invalid/?s3cret".into()).await;
    assert!(matches!(unknown, WorldError::Dns { .. }), "{unknown}");
    let guarded = send(HttpRequest::new("GET", Url::parse("http://nowhere.invalid/").unwrap())).await.unwrap_err();
    assert!(matches!(guarded, WorldError::Dns { .. }), "{guarded}");
    let tls = error(format!("https://127.0.0.1:{port}/?s3cret")).await;
    assert!(matches!(tls, WorldError::Tls { .. }), "{tls:?}");
    let odd = FixedServer::new(["odd\r\n\r\n"]).await;
    let odd = error(odd.url("/s3cret").to_string()).await;
    assert!(matches!(odd, WorldError::InvalidResponse { .. }), "{odd:?}");
    assert!(matches!(error("ftp://127.0.0.1/s3cret".into()).await, WorldError::InvalidUrl { .. }));
}

#[tokio::test]
async fn malformed_header_and_method_are_refused() {
    let server = FixedServer::new(["never"]).await;
    let split = HttpRequest { headers: vec![HttpHeader::new_secret("x-a", "s3cret\r\nx-b: 2")], ..server.request("/") };
    assert_eq!(send(split).await.unwrap_err().to_string(), "invalid header `x-a`");
    let method = HttpRequest { method: "GET /x".into(), ..server.request("/") };
    assert!(matches!(send(method).await, Err(WorldError::InvalidMethod)));
    assert!(server.requests().is_empty());
    assert_eq!(format!("{:?}", HttpHeader::new("a", "s3cret")), "a: …");
}

#[tokio::test]
async fn failure_is_not_shared_by_those_that_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    // The last seven requests are answered when all of them are there: none waits for another.
    tokio::spawn(async move {
        for count in [1, 7] {
            let mut streams = Vec::new();
            for _ in 0..count {
                let (mut stream, _) = listener.accept().await.unwrap();
                read_request(&mut stream).await;
                streams.push(stream);
            }
            for stream in &mut streams {
                stream.write_all(&answer("503 Busy", "", "")).await.unwrap();
            }
        }
    });
    let world = RealWorld::new();
    let host_policy = HostPolicy::new(["127.0.0.1"]).unwrap();
    let cache = Some(Duration::from_secs(3600));
    let request = HttpRequest { host_policy, cache, ..HttpRequest::new("GET", url) };
    let responses = futures_util::future::join_all((0..8).map(|_| world.send_request(request.clone()))).await;
    assert!(responses.iter().all(|response| response.as_ref().is_ok_and(|response| response.status == 503)));
}

#[tokio::test]
async fn file_that_becomes_shorter_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = vec![0; 1024];
        stream.read_exact(&mut head).await.unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1).unwrap();
        let mut rest = vec![0; 1 << 20];
        while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
    });
    let content = PartContent::File { folder: crate::files::Folder::open(folder.path()).unwrap(), path: "f".into() };
    let part = BodyPart { name: "f".into(), filename: None, mime_type: None, content };
    let request = HttpRequest {
        host_policy: HostPolicy::new(["127.0.0.1"]).unwrap(),
        body: Some(RequestBody::Multipart(vec![part])),
        ..HttpRequest::new("POST", url)
    };
    let failed = send(request).await.unwrap_err();
    assert_eq!(failed.to_string(), "cannot send the request: file `f` became shorter while it was sent");
}
