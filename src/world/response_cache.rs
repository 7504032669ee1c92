//! Keeps responses for a while, in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::error::WorldError;
use super::http::{HttpHeader, HttpRequest, HttpResponse, ResponseSource, send, within_limits};
use super::http_client::HttpClients;
use crate::digest::sha256;
use crate::redact::{InputEnd, Redactor};
use parking_lot::{Mutex, MutexGuard};

/// How many responses are kept.
const MAX_RESPONSES: usize = 1024;
/// How many bytes they may have together, with their headers.
const MAX_BYTES: usize = 32 << 20;
/// What a response takes beside its body and its headers.
const OVERHEAD_BYTES: usize = 512;

/// The digest of a request. Credentials are part of it, so that no response is seen with others.
type Key = [u8; 32];

/// The responses of a process. The least recently used ones are dropped when there are too many.
#[derive(Default)]
pub(super) struct ResponseCache {
    responses: Mutex<CachedResponses>,
    fetches: Mutex<HashMap<Key, Arc<Fetch>>>,
}

#[derive(Default)]
struct CachedResponses {
    by_key: HashMap<Key, CachedResponse>,
    bytes: usize,
    uses: u64,
}

struct CachedResponse {
    response: Arc<HttpResponse>,
    /// How much was read beyond the limit.
    lookahead: u64,
    received: Instant,
    last_use: u64,
}

/// A request that is under way; equal requests wait for it.
#[derive(Default)]
struct Fetch {
    lock: tokio::sync::Mutex<()>,
    finished: AtomicU64,
}

impl ResponseCache {
    /// A response to `request` that is not older than `max_age`: a kept one, or a new one.
    pub(super) async fn get(
        &self,
        clients: &HttpClients,
        request: HttpRequest,
        max_age: Duration,
    ) -> Result<HttpResponse, WorldError> {
        let Some(key) = cache_key(&request) else { return send(clients, request).await };
        let slot = CacheSlot { key, max_age, limit: request.read_limit(), lookahead: request.lookahead };
        if let Some(response) = self.find_fresh(&slot) {
            return Ok(response);
        }
        let (cancel, timeout) = (request.cancel.clone(), request.timeout);
        // Boxed: a response that is kept needs none of it.
        within_limits(&cancel, timeout, Box::pin(self.fetch_once(clients, request, slot))).await
    }

    /// Sends a request, unless another one that is equal is under way and its response is kept.
    async fn fetch_once(
        &self,
        clients: &HttpClients,
        request: HttpRequest,
        slot: CacheSlot,
    ) -> Result<HttpResponse, WorldError> {
        let fetch = self.fetches().entry(slot.key).or_default().clone();
        let waiting = WaitingFetch { cache: self, key: slot.key, fetch };
        let finished = waiting.fetch.finished.load(Ordering::Acquire);
        let lock = waiting.fetch.lock.lock().await;
        if let Some(response) = self.find_fresh(&slot) {
            return Ok(response);
        }
        if waiting.fetch.finished.load(Ordering::Acquire) != finished {
            // Its response was not one to keep: those that waited do not wait for each other too.
            drop(lock);
            return self.fetch(clients, request, slot).await;
        }
        let response = self.fetch(clients, request, slot).await;
        waiting.fetch.finished.fetch_add(1, Ordering::Release);
        response
    }

    /// Sends a request, on the condition that what is kept has changed.
    async fn fetch(
        &self,
        clients: &HttpClients,
        mut request: HttpRequest,
        slot: CacheSlot,
    ) -> Result<HttpResponse, WorldError> {
        let cached = self
            .responses()
            .find(&slot.key)
            .filter(|cached| cached.covers(&slot))
            .map(|cached| cached.response.clone());
        let cached = cached.filter(|cached| make_conditional(&mut request, cached));
        let response = send(clients, request).await?;
        if let Some(cached) = cached.filter(|_| response.status == 304) {
            // The response is as good as new.
            if let Some(cached) = self.responses().by_key.get_mut(&slot.key) {
                cached.received = Instant::now();
            }
            return Ok(slot.truncate(&cached, ResponseSource::Revalidated));
        }
        if is_storable(&response) {
            self.responses().insert(slot.key, Arc::new(response.clone()), slot.lookahead);
        }
        Ok(response)
    }

    fn find_fresh(&self, slot: &CacheSlot) -> Option<HttpResponse> {
        let fresh = |cached: &&CachedResponse| cached.received.elapsed() < slot.max_age && cached.covers(slot);
        let response = self.responses().find(&slot.key).filter(fresh)?.response.clone();
        Some(slot.truncate(&response, ResponseSource::Cache))
    }

    fn responses(&self) -> MutexGuard<'_, CachedResponses> {
        self.responses.lock()
    }

    fn fetches(&self) -> MutexGuard<'_, HashMap<Key, Arc<Fetch>>> {
        self.fetches.lock()
    }
}

/// Which response is wanted.
#[derive(Clone, Copy)]
struct CacheSlot {
    key: Key,
    max_age: Duration,
    /// How much of a body is read, the lookahead included.
    limit: u64,
    /// How much of it is beyond what the request may keep.
    lookahead: u64,
}

impl CacheSlot {
    /// A kept response, as it would be read now.
    fn truncate(&self, cached: &HttpResponse, source: ResponseSource) -> HttpResponse {
        let mut response = HttpResponse { source, ..cached.clone() };
        response.body.redact(&Redactor::default(), self.limit, InputEnd::Complete);
        response
    }
}

impl CachedResponse {
    /// Whether it has all that would be read now: the lookahead grows with the longest secret.
    fn covers(&self, slot: &CacheSlot) -> bool {
        self.lookahead >= slot.lookahead || !self.response.body.is_truncated()
    }
}

/// A fetch that is forgotten when the last one that waits for it ends, or is dropped.
struct WaitingFetch<'a> {
    cache: &'a ResponseCache,
    key: Key,
    fetch: Arc<Fetch>,
}

impl Drop for WaitingFetch<'_> {
    fn drop(&mut self) {
        let mut fetches = self.cache.fetches();
        // One in the table, and this one.
        if Arc::strong_count(&self.fetch) <= 2 {
            fetches.remove(&self.key);
        }
    }
}

impl CachedResponses {
    fn find(&mut self, key: &Key) -> Option<&CachedResponse> {
        self.uses += 1;
        let cached = self.by_key.get_mut(key)?;
        cached.last_use = self.uses;
        Some(cached)
    }

    fn insert(&mut self, key: Key, response: Arc<HttpResponse>, lookahead: u64) {
        self.remove(&key);
        let size = response_size(&response);
        if size > MAX_BYTES {
            return;
        }
        self.bytes += size;
        self.uses += 1;
        let last_use = self.uses;
        self.by_key.insert(key, CachedResponse { response, lookahead, received: Instant::now(), last_use });
        while self.by_key.len() > MAX_RESPONSES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.by_key.iter().min_by_key(|(_, cached)| cached.last_use).map(|(key, _)| *key) else {
                return;
            };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(removed) = self.by_key.remove(key) {
            self.bytes -= response_size(&removed.response);
        }
    }
}

fn response_size(response: &HttpResponse) -> usize {
    let headers: usize = response.headers.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
    OVERHEAD_BYTES + headers + response.url.as_str().len() + response.body.bytes.len()
}

/// The key of a request that may be answered from the cache: of a safe method, without a body.
fn cache_key(request: &HttpRequest) -> Option<Key> {
    if !matches!(request.method.as_str(), "GET" | "HEAD") || request.body.is_some() {
        return None;
    }
    let headers: Vec<(String, &str)> =
        request.headers.iter().map(|header| (header.name.to_ascii_lowercase(), header.value.as_str())).collect();
    let proxy = request.proxy.as_ref().map(|proxy| proxy.url().as_str());
    let limits = (request.max_output, request.follows_redirects, &request.host_policy, (request.tls.key(), proxy));
    let seen = (&request.method, request.url.as_str(), headers, limits, &request.cache_owner);
    Some(sha256(format!("{seen:?}").as_bytes()))
}

/// Asks for a response only if it is not `cached`, which needs a validator (RFC 9110, 13.1).
fn make_conditional(request: &mut HttpRequest, cached: &HttpResponse) -> bool {
    let conditional = |header: &HttpHeader| header.name.to_ascii_lowercase().starts_with("if-");
    if request.headers.iter().any(conditional) {
        return false;
    }
    let before = request.headers.len();
    for (validator, condition) in [("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")] {
        request.headers.extend(cached.header(validator).map(|value| HttpHeader::new(condition, value)));
    }
    request.headers.len() > before
}

fn is_storable(response: &HttpResponse) -> bool {
    let directives = response.header("cache-control").unwrap_or_default().to_ascii_lowercase();
    response.status == 200 && !directives.split(',').any(|directive| directive.trim() == "no-store")
}

#[cfg(test)]
mod tests {
    use super::{CachedResponses, MAX_BYTES, MAX_RESPONSES, cache_key};
    use crate::world::{CapturedBytes, HttpRequest, HttpResponse, ResponseSource};
    use std::sync::Arc;

    fn response(length: usize) -> Arc<HttpResponse> {
        let body = CapturedBytes::new(vec![b'x'; length], 0);
        let url = "https://api.example/".parse().unwrap();
        Arc::new(HttpResponse { status: 200, headers: Vec::new(), body, url, source: ResponseSource::Server })
    }

    fn key(number: usize) -> [u8; 32] {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn callers_do_not_share_what_depends_on_them() {
        let owned_by = |owner: Option<&str>| {
            let request = HttpRequest::new("GET", "https://api.example/".parse().unwrap());
            cache_key(&HttpRequest { cache_owner: owner.map(str::to_owned), ..request }).unwrap()
        };
        assert_eq!(owned_by(Some("ada")), owned_by(Some("ada")));
        assert_ne!(owned_by(Some("ada")), owned_by(Some("bob")));
        assert_ne!(owned_by(Some("ada")), owned_by(None));
    }

    #[test]
    fn least_recently_used_responses_are_dropped() {
        let mut cache = CachedResponses::default();
        for number in 0..MAX_RESPONSES {
            cache.insert(key(number), response(0), 0);
        }
        assert!(cache.find(&key(0)).is_some());
        cache.insert(key(MAX_RESPONSES), response(0), 0);
        assert_eq!(cache.by_key.len(), MAX_RESPONSES);
        assert!(cache.find(&key(0)).is_some() && cache.find(&key(1)).is_none());
    }

    #[test]
    fn responses_are_bounded_in_bytes() {
        let mut cache = CachedResponses::default();
        for number in 0..100 {
            cache.insert(key(number), response(1 << 20), 0);
            cache.insert(key(number), response(1 << 20), 0);
            assert!(cache.bytes <= MAX_BYTES);
        }
        assert_eq!(cache.by_key.len(), 31);
        cache.insert(key(99), response(MAX_BYTES), 0);
        assert!(cache.find(&key(99)).is_none());
        (0..100).for_each(|number| cache.remove(&key(number)));
        assert_eq!(cache.bytes, 0);
    }
}
