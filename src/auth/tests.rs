//! The keys of an issuer through time, and what it says of itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::AuthError;
use super::issuer_keys::IssuerKeys;
use super::jwk::{Algorithm, VerificationKey};
use super::jwt::JwtHeader;
use crate::catalog::{Catalog, ServingMode, build};
use crate::files::Folder;
use crate::load::{ManifestLocation, load};
use crate::world::{
    CapturedBytes, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, ResponseSource, World, WorldError,
};

/// An issuer with a key of each of these ids. `None` is one that is away.
struct IssuerWorld {
    key_ids: Mutex<Option<Vec<&'static str>>>,
    metadata: Value,
    asked: Mutex<Vec<String>>,
}

impl IssuerWorld {
    fn new(key_ids: &[&'static str]) -> IssuerWorld {
        let metadata = json!({ "issuer": "https://id.example/t", "jwks_uri": "https://id.example/keys" });
        IssuerWorld { key_ids: Mutex::new(Some(key_ids.to_vec())), metadata, asked: Mutex::default() }
    }

    fn set(&self, key_ids: Option<&[&'static str]>) {
        *self.key_ids.lock() = key_ids.map(<[_]>::to_vec);
    }

    fn fetches(&self) -> usize {
        self.asked.lock().iter().filter(|path| *path == "/keys").count()
    }

    fn reply(&self, path: &str) -> (u16, Value) {
        let Some(key_ids) = &*self.key_ids.lock() else { return (503, json!({})) };
        match path {
            "/t/.well-known/openid-configuration" => (200, self.metadata.clone()),
            "/keys" => (200, json!({ "keys": key_ids.iter().map(|id| jwk(id)).collect::<Vec<_>>() })),
            _ => (404, json!({})),
        }
    }
}

impl World for IssuerWorld {
    fn run_program(&self, _: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        Box::pin(std::future::pending())
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        self.asked.lock().push(request.url.path().to_owned());
        Box::pin(async move {
            // Others come meanwhile.
            tokio::task::yield_now().await;
            let (status, body) = self.reply(request.url.path());
            let body = CapturedBytes::new(body.to_string().into_bytes(), 0);
            Ok(HttpResponse { status, headers: Vec::new(), body, url: request.url, source: ResponseSource::Server })
        })
    }
}

/// A key whose number is its id.
fn jwk(id: &str) -> Value {
    let x = super::jwk::tests::number(id);
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x })
}

fn catalog(auth: &str) -> Arc<Catalog> {
    let manifest =
        format!("folio: 1\nserver: {{ name: a }}\nhttp: {{ publicUrl: 'https://a.example/mcp', auth: {auth} }}\n");
    let files = BTreeMap::from([("folio.yaml".to_owned(), manifest.into_bytes())]);
    let variables = std::iter::empty::<(String, String)>().collect();
    let mut built = build(load(&ManifestLocation::in_memory(Folder::in_memory(files)), &variables));
    built.accept(&ServingMode::Local).unwrap_or_else(|_| panic!("{:#?}", built.report.diagnostics()))
}

const AUTH: &str = "{ issuer: 'https://id.example/t' }";

/// What a token signed by the key of this id meets at a time.
async fn find(keys: &Arc<IssuerKeys>, id: &str, world: &Arc<IssuerWorld>, now: Instant) -> Result<usize, AuthError> {
    let catalog = catalog(AUTH);
    let settings = catalog.http_settings().auth.clone().unwrap();
    let header = JwtHeader { algorithm: Algorithm::EdDsa, key_id: Some(id.to_owned()) };
    let world: Arc<dyn World> = world.clone();
    Ok(keys.find(&header, &settings.issuers[0], &world, now).await?.len())
}

const UNKNOWN: Result<usize, AuthError> = Err(AuthError::Invalid("token is signed by an unknown key"));

#[tokio::test]
async fn unknown_key_fetches_once_for_all_who_wait_and_then_not_for_a_while() {
    let (world, keys, start) = (Arc::new(IssuerWorld::new(&["a"])), Arc::<IssuerKeys>::default(), Instant::now());
    let found = join_all((0..20).map(|_| find(&keys, "a", &world, start))).await;
    assert!(found.iter().all(|found| *found == Ok(1)), "{found:?}");
    assert_eq!(world.fetches(), 1);
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    for id in ["x", "y", "z"] {
        assert_eq!(find(&keys, id, &world, after(5)).await, UNKNOWN);
    }
    world.set(Some(&["a", "b"]));
    assert_eq!(find(&keys, "b", &world, after(14)).await, UNKNOWN);
    assert_eq!(world.fetches(), 2, "the last fetch brought nothing new");
    assert_eq!(find(&keys, "b", &world, after(15)).await, Ok(1));
}

#[tokio::test]
async fn key_is_found_that_signs_a_moment_after_another_was_fetched() {
    let (world, keys, start) = (Arc::new(IssuerWorld::new(&["a"])), Arc::<IssuerKeys>::default(), Instant::now());
    assert_eq!(find(&keys, "a", &world, start).await, Ok(1));
    world.set(Some(&["a", "b"]));
    let later = |milliseconds: u64| start + Duration::from_millis(milliseconds);
    let found = join_all((1..20).map(|at| find(&keys, "b", &world, later(at)))).await;
    assert!(found.iter().all(|found| *found == Ok(1)), "{found:?}");
    assert_eq!(world.fetches(), 2);
    world.set(Some(&["b", "c"]));
    assert_eq!(find(&keys, "c", &world, later(30)).await, Ok(1));
    // Those that are fetched again as they are old are the same.
    assert_eq!(find(&keys, "c", &world, later(301_000)).await, Ok(1));
    world.set(Some(&["d"]));
    assert_eq!((world.fetches(), find(&keys, "d", &world, later(301_001)).await), (4, Ok(1)));
}

#[tokio::test]
async fn known_keys_serve_for_a_day_while_the_issuer_is_away() {
    let (world, keys, start) = (Arc::new(IssuerWorld::new(&["a"])), Arc::<IssuerKeys>::default(), Instant::now());
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    assert_eq!(find(&keys, "a", &world, start).await, Ok(1));
    world.set(None);
    assert_eq!(find(&keys, "b", &world, after(20)).await, Err(AuthError::Unavailable));
    assert_eq!(find(&keys, "b", &world, after(21)).await, Err(AuthError::Unavailable), "nor is it asked again at once");
    assert_eq!(find(&keys, "a", &world, after(400)).await, Ok(1));
    assert_eq!(find(&keys, "a", &world, after(86_300)).await, Ok(1));
    assert_eq!(find(&keys, "a", &world, after(86_500)).await, Err(AuthError::Unavailable));
    world.set(Some(&["a"]));
    assert_eq!(find(&keys, "a", &world, after(86_520)).await, Ok(1));
}

#[tokio::test]
async fn withdrawn_key_is_refused_within_minutes_and_so_are_its_tokens() {
    let (world, keys, start) = (Arc::new(IssuerWorld::new(&["a"])), Arc::<IssuerKeys>::default(), Instant::now());
    let id = VerificationKey::from_jwk(&jwk("a")).unwrap().id;
    assert_eq!(find(&keys, "a", &world, start).await, Ok(1));
    world.set(Some(&["b"]));
    let later = start + Duration::from_secs(299);
    assert!(keys.is_current(&id, later));
    let later = start + Duration::from_secs(301);
    assert!(!keys.is_current(&id, later), "it is looked again");
    assert_eq!(find(&keys, "a", &world, later).await, UNKNOWN);
    assert_eq!(find(&keys, "b", &world, later).await, Ok(1));
}

#[tokio::test]
async fn metadata_must_be_that_of_the_issuer_and_keys_are_never_fetched_in_clear() {
    for (name, value) in [
        ("issuer", json!("https://id.example")),
        ("issuer", json!("https://id.example/t/")),
        ("issuer", Value::Null),
        ("jwks_uri", json!("http://id.example/keys")),
        ("jwks_uri", json!("file:///keys")),
        ("jwks_uri", json!(1)),
    ] {
        let mut world = IssuerWorld::new(&["a"]);
        world.metadata[name] = value.clone();
        let world = Arc::new(world);
        let found = find(&Arc::default(), "a", &world, Instant::now()).await;
        assert_eq!((found, world.fetches()), (Err(AuthError::Unavailable), 0), "{name} {value}");
    }
    let world = Arc::new(IssuerWorld::new(&["a"]));
    assert_eq!(find(&Arc::default(), "a", &world, Instant::now()).await, Ok(1));
    let asked = world.asked.lock().clone();
    assert_eq!(asked, ["/.well-known/oauth-authorization-server/t", "/t/.well-known/openid-configuration", "/keys"]);
}

#[test]
fn scopes_include_what_they_imply_at_any_remove() {
    let catalog = catalog("{ issuer: 'https://id.example/t', implies: { a: [b], b: [c], c: [a] } }");
    let settings = catalog.http_settings().auth.clone().unwrap();
    let claims = json!({ "sub": "ann", "scope": "b x" }).as_object().unwrap().clone();
    let identity = settings.issuers[0].identity(claims, &settings).unwrap();
    assert_eq!(identity.scopes.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "b", "c", "x"]);
}
