//! What the replicas of a server share: states that were opened, counted calls, records and messages.
//!
//! One trait has two homes: the memory of a process that has no other replica, and Redis. Nothing outside this folder knows
//! which one it has.

mod memory;
mod redis;
mod redis_link;
mod redis_url;
mod sealing;

use std::time::Duration;

use futures_util::future::BoxFuture;

pub use memory::MemoryStore;
pub use redis::RedisStore;
pub use redis_url::RedisUrl;
pub use sealing::{NONCE_BYTES, SealingKeys};

/// What replicas share. Each operation is atomic among all of them.
pub trait Store: Send + Sync {
    /// The id of this replica, which no other one has, and none had before.
    fn replica(&self) -> &str;

    /// Whether it can be reached, as far as that is known; `None` where it is the memory of this process.
    fn is_reachable(&self) -> Option<bool>;

    /// What the store has remembered one-time ids since: an emptied one has another epoch. While it is away, the last one that
    /// is known.
    fn epoch(&self) -> BoxFuture<'_, u64>;

    /// Uses an id for the first and only time. While the store is away each replica knows what it has used itself, and tells
    /// the store later; an id of which every replica must know is not used then.
    fn use_once(&self, id: OneTimeId, everywhere: bool) -> BoxFuture<'_, FirstUse>;

    /// Counts a call under `key`, or returns how long to wait. While the store is away each replica counts for itself.
    fn count_call<'a>(&'a self, key: &'a str, rate: CallRate) -> BoxFuture<'a, Result<(), Duration>>;

    /// Keeps a record that other replicas may read.
    ///
    /// # Errors
    /// The store is away.
    fn put<'a>(&'a self, key: &'a str, value: &'a [u8], lifetime: Duration) -> BoxFuture<'a, Result<(), StoreError>>;

    /// A record of another replica.
    ///
    /// # Errors
    /// The store is away.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;

    /// Sets a field of a record that other replicas may read, or removes it.
    ///
    /// # Errors
    /// The store is away.
    fn set_field<'a>(
        &'a self,
        key: &'a str,
        field: &'a str,
        value: Option<&'a [u8]>,
        lifetime: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The values of the fields of a record, in any order.
    ///
    /// # Errors
    /// The store is away.
    fn fields<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Vec<Vec<u8>>, StoreError>>;

    /// Adds a value to a list that other replicas may read, which keeps so many, for so long.
    ///
    /// # Errors
    /// The store is away.
    fn append<'a>(&'a self, key: &'a str, value: &'a [u8], limit: ListLimit) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The next values of a list that were added after `position`, oldest first, which is moved behind them: not all at once,
    /// and none where there are no more.
    ///
    /// # Errors
    /// The store is away.
    fn read<'a>(
        &'a self,
        key: &'a str,
        position: &'a mut ListPosition,
    ) -> BoxFuture<'a, Result<Vec<Vec<u8>>, StoreError>>;

    /// Keeps records and lists for this time from now on.
    ///
    /// # Errors
    /// The store is away.
    fn extend<'a>(&'a self, keys: &'a [&'a str], lifetime: Duration) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes records and lists.
    ///
    /// # Errors
    /// The store is away.
    fn remove<'a>(&'a self, keys: &'a [&'a str]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Sends a message to one other replica, or to all.
    ///
    /// # Errors
    /// The store is away.
    fn send<'a>(&'a self, to: Recipient<'a>, message: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Waits for the next message of another replica. One reader calls it. It may be given up at any time.
    fn receive(&self) -> BoxFuture<'_, Received>;

    /// Says that this replica lives, for the next [`LEASE`], and which manifest it serves.
    ///
    /// # Errors
    /// The store is away.
    fn renew_lease<'a>(&'a self, manifest: &'a str) -> BoxFuture<'a, Result<RenewedLease, StoreError>>;
}

/// How much of a list is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListLimit {
    /// How many values.
    pub values: usize,
    /// How many bytes, about.
    pub bytes: usize,
    /// For how long after the last one was added.
    pub lifetime: Duration,
}

/// A place in a list, in the words of its store. The default is the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPosition(String);

/// How long a replica counts as living that does not say so again.
pub const LEASE: Duration = Duration::from_secs(10);

/// The store cannot be reached, or does not answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the store that replicas share is away")]
pub struct StoreError;

/// An id that is used once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneTimeId {
    pub nonce: [u8; NONCE_BYTES],
    /// The epoch of the store when it was made.
    pub epoch: u64,
    /// Until when it may be used, in seconds since 1970.
    pub expiry: u64,
}

/// Whether an id is used for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstUse {
    Yes,
    No,
    /// It is too old to tell.
    Forgotten,
    /// This replica has not used it; the others cannot be asked.
    UnknownElsewhere,
}

/// How many calls there may be within a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRate {
    pub calls: u32,
    pub per: Duration,
}

/// Whom a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient<'a> {
    /// All other replicas.
    Others,
    /// One of them.
    Replica(&'a str),
}

/// What comes from other replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    Message(Vec<u8>),
    /// Messages may have been lost: the store was away, or was emptied. It comes with each new connection, with the first too.
    Gap,
}

/// What the store says when a lease is renewed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenewedLease {
    pub epoch: u64,
    /// All that live.
    pub living: Vec<Replica>,
}

/// A replica that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub id: String,
    /// The digest of the manifest that it serves.
    pub manifest: String,
}
