//! The guard of addresses with names that resolve as a test says.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

use crate::world::http_client::{HostLookup, HttpClients};
use crate::world::{HostPolicy, HttpRequest, HttpResponse, Proxy, RealWorld, TokenRequest, World, WorldError};

/// Resolves each name to one list of addresses after the other, and to the last one from then on.
#[derive(Default)]
struct ScriptedLookup {
    answers: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    lookups: Mutex<Vec<String>>,
}

impl HostLookup for ScriptedLookup {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut lookups = self.lookups.lock().unwrap();
        let times = lookups.iter().filter(|known| **known == name).count();
        let answers = self.answers.get(name.as_str()).cloned().unwrap_or_default();
        lookups.push(name);
        let answer = answers.get(times).or(answers.last()).cloned().unwrap_or_default();
        Box::pin(std::future::ready(Ok(answer)))
    }
}

struct Fixture {
    world: RealWorld,
    lookup: Arc<ScriptedLookup>,
    port: u16,
    /// The heads of the requests that 127.0.0.1 was sent.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Fixture {
    /// A world with a server at 127.0.0.1 that answers each request with `response`.
    async fn new(names: &[(&'static str, &[&[&str]])], response: impl Fn(u16) -> String) -> Fixture {
        let parse = |address: &&str| address.parse().unwrap();
        let answers = names
            .iter()
            .map(|(name, answers)| (*name, answers.iter().map(|list| list.iter().map(parse).collect()).collect()))
            .collect();
        let lookup = Arc::new(ScriptedLookup { answers, lookups: Mutex::default() });
        let clients = OnceLock::from(HttpClients::with_lookup(lookup.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heads, response) = (Arc::<Mutex<Vec<String>>>::default(), response(port));
        let kept = heads.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.windows(4).any(|end| end == b"\r\n\r\n") && stream.read_buf(&mut head).await.unwrap() > 0 {}
                kept.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
                let _ = stream.write_all(response.as_bytes()).await;
            }
        });
        Fixture { world: RealWorld { clients, ..RealWorld::new() }, lookup, port, heads }
    }

    fn url(&self, name: &str) -> Url {
        Url::parse(&format!("http://{name}:{}/", self.port)).unwrap()
    }

    fn request(&self, name: &str, allow: &[&str]) -> HttpRequest {
        let host_policy = HostPolicy::new(allow).unwrap();
        HttpRequest { host_policy, ..HttpRequest::new("GET", self.url(name)) }
    }

    async fn send(&self, name: &str, allow: &[&str]) -> Result<HttpResponse, WorldError> {
        self.world.send_request(self.request(name, allow)).await
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

fn fine(_: u16) -> String {
    "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nfine".to_owned()
}

const INSIDE: &[&str] = &["127.0.0.1/32"];

#[tokio::test]
async fn only_allowed_addresses_of_a_name_are_connected_to() {
    // The one that is refused comes first, and nothing listens there.
    let fixture = Fixture::new(&[("two.test", &[&["127.0.0.2", "127.0.0.1", "10.0.0.1"]])], fine).await;
    let trap = TcpListener::bind(("127.0.0.2", fixture.port)).await;
    assert_eq!(fixture.send("two.test", INSIDE).await.unwrap().body.text(), Some("fine"));
    if let Ok(trap) = trap {
        let silent = tokio::time::timeout(std::time::Duration::from_millis(100), trap.accept()).await;
        assert!(silent.is_err(), "127.0.0.2 was connected to");
    }
    let refused = fixture.send("two.test", &["10.1.0.0/16"]).await.unwrap_err();
    assert_eq!(refused.to_string(), "host `two.test` has a private address and is not listed in `allow`");
    assert!(matches!(fixture.send("none.test", &[]).await, Err(WorldError::Dns { .. })));
    assert_eq!(fixture.requests(), 1);
}

#[tokio::test]
async fn name_that_moves_to_a_private_address_is_refused() {
    let moving: &[&[&str]] = &[&["127.0.0.1"], &["127.0.0.2"], &["127.0.0.1"]];
    let fixture = Fixture::new(&[("moves.test", moving)], fine).await;
    assert!(fixture.send("moves.test", INSIDE).await.is_ok());
    assert!(matches!(fixture.send("moves.test", INSIDE).await, Err(WorldError::PrivateAddress { .. })));
    assert!(fixture.send("moves.test", INSIDE).await.is_ok());
    // What is checked is what is connected to: a name is resolved once for each connection.
    assert_eq!((fixture.lookup.lookups.lock().unwrap().len(), fixture.requests()), (3, 2));
}

#[tokio::test]
async fn redirects_and_next_pages_pass_the_same_guard() {
    let to_private = |port| {
        format!(
            "HTTP/1.1 302 -\r\nlocation: http://private.test:{port}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    };
    let names: &[(&str, &[&[&str]])] = &[("api.test", &[&["127.0.0.1"]]), ("private.test", &[&["127.0.0.2"]])];
    let fixture = Fixture::new(names, to_private).await;
    let refused = fixture.send("api.test", INSIDE).await.unwrap_err();
    assert!(matches!(refused, WorldError::AfterRedirect(error) if matches!(*error, WorldError::PrivateAddress { .. })));
    let mut next = fixture.request("api.test", &["api.test"]);
    next.move_to(fixture.url("private.test")).unwrap();
    assert!(matches!(fixture.world.send_request(next).await, Err(WorldError::PrivateAddress { .. })));
    assert_eq!(fixture.requests(), 1);
}

#[tokio::test]
async fn token_endpoint_passes_the_same_guard() {
    let fixture = Fixture::new(&[("issuer.test", &[&["127.0.0.1"]])], fine).await;
    let request = |allow: &[&str]| TokenRequest {
        client: [0; 32],
        url: fixture.url("issuer.test"),
        client_id: "c".to_owned(),
        client_secret: "s".to_owned(),
        credentials_in_form: false,
        subject: None,
        form: Vec::new(),
        limits: fixture.request("issuer.test", allow),
    };
    let refused = fixture.world.access_token(request(&[]), None).await.err().unwrap();
    let WorldError::TokenRequest(refused) = refused else { panic!("{refused}") };
    assert!(matches!(*refused, WorldError::PrivateAddress { .. }), "{refused}");
    assert_eq!(fixture.requests(), 0);
    let answered = fixture.world.access_token(request(&["issuer.test"]), None).await.err().unwrap();
    assert!(matches!(answered, WorldError::Token { .. }), "{answered}");
}

#[tokio::test]
async fn proxy_host_passes_its_own_guard() {
    let fixture = Fixture::new(&[("proxy.test", &[&["127.0.0.1"], &["127.0.0.2"]])], fine).await;
    let through = |allow: &[&str], own: &[&str]| {
        let proxy = Proxy::new(fixture.url("proxy.test"), HostPolicy::new(own).unwrap()).unwrap();
        let url = Url::parse("http://api.test/").unwrap();
        HttpRequest { url, proxy: Some(Arc::new(proxy)), ..fixture.request("api.test", allow) }
    };
    let send = |request| fixture.world.send_request(request);
    assert_eq!(send(through(&[], INSIDE)).await.unwrap().body.text(), Some("fine"));
    assert!(fixture.heads.lock().unwrap()[0].starts_with("GET http://api.test/ "));
    let refused = send(through(&["proxy.test", "api.test"], INSIDE)).await.unwrap_err();
    assert_eq!(refused.to_string(), "host `proxy.test` has a private address and is not listed in `allow`");
    assert!(fixture.lookup.lookups.lock().unwrap().iter().all(|name| name == "proxy.test"), "the proxy resolves names");
}
