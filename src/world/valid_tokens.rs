//! The access tokens that APIs may still accept, and what finds them in responses.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::access_token::AccessToken;
use super::http::HttpRequest;
use crate::budget::block_if_large_with_secrets;
use crate::redact::Redactor;
use parking_lot::RwLock;

/// How many tokens of one client are valid at once: a caller's value in `scopes` makes one for each.
pub(super) const MAX_CLIENT_TOKENS: usize = 256;
/// How many bytes they may have together.
const MAX_CLIENT_BYTES: usize = 512 << 10;
/// How many exchanged tokens of one caller are searched for.
const MAX_CALLER_TOKENS: usize = 8;
/// How many scopes have their redactor kept.
const MAX_REDACTORS: usize = 256;
/// From this length on, a token is searched for in all responses of its pack. A shorter one could be a word that an issuer
/// chose, such as `username`, and is searched for in responses to its own client only.
const MIN_SHARED_BYTES: usize = 16;

pub(super) type Sha256Digest = [u8; 32];

/// Whose tokens are searched for in a response. No pack chooses what is replaced in the responses of another one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct TokenScope {
    /// The folder of the pack.
    pub(super) pack: Arc<Path>,
    /// The client that the request is authorized by.
    pub(super) client: Option<Sha256Digest>,
    /// The caller whose token was exchanged.
    pub(super) caller: Option<Sha256Digest>,
}

impl TokenScope {
    pub(super) fn for_request(request: &HttpRequest) -> TokenScope {
        let sent = request.access_token.as_ref().map(|token| &token.scope);
        let (client, caller) = (sent.and_then(|scope| scope.client), sent.and_then(|scope| scope.caller));
        TokenScope { pack: request.pack.clone(), client, caller }
    }

    /// Whether `token` is searched for.
    fn includes(&self, token: &AccessToken) -> bool {
        // There are as many of these as callers.
        if token.scope.caller.is_some() {
            return token.scope == *self;
        }
        token.scope.pack == self.pack && (token.text().len() >= MIN_SHARED_BYTES || token.scope.client == self.client)
    }
}

/// The tokens that APIs may still accept.
#[derive(Default)]
pub(super) struct ValidTokens(RwLock<TokenList>);

#[derive(Default)]
struct TokenList {
    tokens: Vec<AccessToken>,
    /// Those that were needed since a token was added.
    redactors: HashMap<TokenScope, Arc<Redactor>>,
}

impl TokenList {
    /// Leaves room for one more token of a caller: of the exchanged ones, an API speaks of the last at most.
    fn drop_older_of(&mut self, scope: &TokenScope) {
        let mut newer = self.tokens.iter().filter(|token| token.scope == *scope).count();
        self.tokens.retain(|token| {
            let is_older = token.scope == *scope && newer >= MAX_CALLER_TOKENS;
            newer -= usize::from(is_older);
            !is_older
        });
    }
}

impl ValidTokens {
    /// Adds a token. Of those that it replaces, the last one is kept: an API may speak of what it just refused.
    pub(super) fn add(&self, token: AccessToken) {
        let mut list = self.0.write();
        let (now, mut replaced) = (Instant::now(), 0);
        list.tokens.reverse();
        list.tokens.retain(|old| {
            replaced += usize::from(old.key == token.key);
            let is_equal = old.scope == token.scope && old.authorization == token.authorization;
            old.expires_at > now && !is_equal && (old.key != token.key || replaced == 1)
        });
        list.tokens.reverse();
        if token.scope.caller.is_some() {
            list.drop_older_of(&token.scope);
            list.redactors.remove(&token.scope);
        } else {
            list.redactors.retain(|scope, _| scope.pack != token.scope.pack);
        }
        list.tokens.push(token);
    }

    /// Whether the client of `scope` may have one more token, in place of those of `key`.
    pub(super) fn has_room(&self, scope: &TokenScope, key: Sha256Digest) -> bool {
        let (list, now) = (self.0.read(), Instant::now());
        let others = list.tokens.iter().filter(|old| old.scope == *scope && old.key != key && old.expires_at > now);
        let (count, bytes) = others.fold((0, 0), |(count, bytes), old| (count + 1, bytes + old.text().len()));
        count < MAX_CLIENT_TOKENS && bytes < MAX_CLIENT_BYTES
    }

    /// What finds the tokens of `scope`, and the one that a request carries, which may have expired; `None` if there are
    /// none.
    pub(super) fn redactor(&self, scope: &TokenScope, sent_token: Option<&AccessToken>) -> Option<Arc<Redactor>> {
        let found = self.scope_redactor(scope);
        let Some(sent_token) = sent_token else { return found.filter(|redactor| !redactor.is_empty()) };
        let found = found.unwrap_or_default();
        let is_known = found.includes(sent_token.text());
        Some(if is_known { found } else { Arc::new(found.with([sent_token.text()])) })
    }

    fn scope_redactor(&self, scope: &TokenScope) -> Option<Arc<Redactor>> {
        let list = self.0.read();
        if list.tokens.is_empty() {
            return None;
        }
        if let Some(redactor) = list.redactors.get(scope) {
            return Some(redactor.clone());
        }
        drop(list);
        let mut list = self.0.write();
        let tokens = list.tokens.iter().filter(|token| scope.includes(token)).map(AccessToken::text);
        let bytes = tokens.clone().map(|token| token.len() as u64).sum::<u64>();
        // The forms of a secret are many times as long as it is.
        let redactor = Arc::new(block_if_large_with_secrets(16 * bytes, || Redactor::new(tokens)));
        if list.redactors.len() >= MAX_REDACTORS {
            list.redactors.clear();
        }
        list.redactors.insert(scope.clone(), redactor.clone());
        Some(redactor)
    }
}
