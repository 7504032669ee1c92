//! Redis or Valkey as the store that replicas share. What is kept there is sealed, bounded and expires.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::streams::{StreamRangeReply, StreamReadOptions, StreamReadReply};
use ::redis::{AsyncConnectionConfig, AsyncTypedCommands, RedisResult, Script, cmd, pipe};
use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::redis_link::RedisLink;
use super::{
    CallRate, FirstUse, LEASE, ListLimit, ListPosition, MemoryStore, OneTimeId, Received, Recipient, RedisUrl,
    RenewedLease, Replica, SealingKeys, Store, StoreError,
};
use crate::digest::sha256;

/// What Redis keeps for replicas that have not read it.
const MESSAGES: ListLimit = ListLimit { values: 4000, bytes: 16 << 20, lifetime: Duration::from_secs(600) };
/// How many messages are read at once.
const MESSAGES_PER_READ: usize = 100;
/// How many values of a list are read at once.
const VALUES_PER_READ: usize = 16;
/// How many messages wait here to be received.
const MAX_WAITING_MESSAGES: usize = 1024;
/// How long a read waits for a message, and how much longer its answer may take.
const READ_WAIT: Duration = Duration::from_secs(2);
const READ_TIMEOUT: Duration = Duration::from_secs(6);
/// How long after a replica has taken its first request it may begin to read messages.
const START_MARGIN: Duration = Duration::from_secs(10);
/// How long after a failure messages are read again.
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// How much longer used ids are remembered, should clocks differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(600);

/// The store of a server with replicas.
pub struct RedisStore {
    state: Arc<RedisState>,
    messages: Mutex<mpsc::Receiver<Vec<u8>>>,
    /// What this replica has used and counted, for while Redis is away.
    local: MemoryStore,
    /// What the store is to be told of ids when it is back.
    unsaved_uses: parking_lot::Mutex<Vec<UnsavedUse>>,
    /// Held while a list is read.
    reading: Mutex<()>,
    scripts: Scripts,
    /// What keeps the connection, and reads messages.
    _tasks: JoinSet<()>,
}

struct RedisState {
    link: Arc<RedisLink>,
    prefix: String,
    keys: SealingKeys,
    replica: String,
    /// The epoch that was last seen; 0 before.
    epoch: AtomicU64,
    received: mpsc::Sender<Vec<u8>>,
    /// Notified when messages may have been lost. Whoever reads them may be who finds that out, so it takes no room.
    gap: Arc<Notify>,
}

/// What the store does not know of an id.
enum UnsavedUse {
    /// It is used.
    Used(OneTimeId),
    /// It is not used, though this attempt to do so may have arrived.
    Withdrawn(OneTimeId, String),
}

struct Scripts {
    epoch: Script,
    use_once: Script,
    withdraw_use: Script,
    count_call: Script,
    append: Script,
    renew_lease: Script,
}

impl RedisStore {
    /// Begins to connect. Replicas with the same prefix and secrets share what is kept.
    ///
    /// # Errors
    /// No client can be made for the URL.
    pub fn start(url: &RedisUrl, prefix: &str, secrets: &[Vec<u8>]) -> anyhow::Result<RedisStore> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_MESSAGES);
        let gap = Arc::new(Notify::new());
        let link = RedisLink::new(url.connector()?, gap.clone());
        let state = Arc::new(RedisState {
            link: link.clone(),
            prefix: prefix.to_owned(),
            keys: SealingKeys::new("stored 1", secrets),
            replica: new_id(),
            epoch: AtomicU64::new(0),
            received: sender,
            gap,
        });
        let mut tasks = JoinSet::new();
        let following = link.clone();
        tasks.spawn(async move { link.keep_connected().await });
        tasks.spawn(async move { following.follow_master().await });
        let reading = state.clone();
        tasks.spawn(async move { reading.read_messages().await });
        let scripts = Scripts {
            epoch: Script::new(include_str!("scripts/epoch.lua")),
            use_once: Script::new(include_str!("scripts/use_once.lua")),
            withdraw_use: Script::new(include_str!("scripts/withdraw_use.lua")),
            count_call: Script::new(include_str!("scripts/count_call.lua")),
            append: Script::new(include_str!("scripts/append.lua")),
            renew_lease: Script::new(include_str!("scripts/renew_lease.lua")),
        };
        Ok(RedisStore {
            state,
            messages: Mutex::new(receiver),
            local: MemoryStore::default(),
            unsaved_uses: parking_lot::Mutex::default(),
            reading: Mutex::default(),
            scripts,
            _tasks: tasks,
        })
    }
}

impl RedisStore {
    async fn add_to_stream(&self, stream: String, value: &[u8], limit: ListLimit) -> Result<(), StoreError> {
        let sealed = self.state.seal(value, &stream)?;
        let mut call = self.scripts.append.key(stream);
        call.arg(&self.state.replica).arg(sealed).arg(limit.values).arg(milliseconds(limit.lifetime)).arg(limit.bytes);
        self.state.link.run(async |connection| call.invoke_async(connection).await).await
    }

    async fn use_in_store(&self, id: OneTimeId, attempt: &str) -> Result<FirstUse, StoreError> {
        let forget_at = Duration::from_secs(id.expiry).saturating_add(CLOCK_TOLERANCE);
        let mut call = self.scripts.use_once.key(self.state.key("epoch"));
        call.key(self.used_key(id));
        call.arg(id.epoch).arg(milliseconds(forget_at)).arg(new_epoch()).arg(attempt);
        let outcome: u8 = self.state.link.run(async |connection| call.invoke_async(connection).await).await?;
        Ok(match outcome {
            0 => FirstUse::Yes,
            1 => FirstUse::No,
            _ => FirstUse::Forgotten,
        })
    }

    fn used_key(&self, id: OneTimeId) -> String {
        let nonce: String = id.nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        self.state.key(&format!("used:{nonce}"))
    }

    /// Tells the store what was used while it was away, and what was not though it may have been told so.
    async fn save_uses(&self) -> Result<(), StoreError> {
        while let Some(unsaved) = { self.unsaved_uses.lock().pop() } {
            let saved = match &unsaved {
                UnsavedUse::Used(id) => self.use_in_store(*id, "").await.map(drop),
                UnsavedUse::Withdrawn(id, attempt) => {
                    let mut call = self.scripts.withdraw_use.key(self.used_key(*id));
                    call.arg(attempt);
                    self.state.link.run(async |connection| call.invoke_async(connection).await).await
                }
            };
            if saved.is_err() {
                self.unsaved_uses.lock().push(unsaved);
                return Err(StoreError);
            }
        }
        Ok(())
    }

    /// Waits until there is a connection, for this time at most.
    pub async fn wait_for_connection(&self, within: Duration) {
        let _ = tokio::time::timeout(within, self.state.link.connected()).await;
    }

    /// Seals with the first of other secrets from now on, and opens what any of them sealed.
    pub fn replace_secrets(&self, secrets: &[Vec<u8>]) {
        self.state.keys.replace(secrets);
    }
}

impl RedisState {
    /// A key of Redis. All of a server stand in one slot of a cluster, for scripts take several.
    fn key(&self, name: &str) -> String {
        format!("{{{}}}:{name}", self.prefix)
    }

    fn stream_of(&self, to: Recipient<'_>) -> String {
        match to {
            Recipient::Others => self.key("messages"),
            Recipient::Replica(id) => self.key(&format!("messages:{id}")),
        }
    }

    /// Seals a value for its key.
    fn seal(&self, value: &[u8], key: &str) -> Result<Vec<u8>, StoreError> {
        self.keys.seal(value, key.as_bytes()).ok_or(StoreError)
    }

    fn open(&self, sealed: &[u8], key: &str) -> Option<Vec<u8>> {
        let opened = self.keys.open(sealed, key.as_bytes());
        if opened.is_none() {
            tracing::warn!(target: "folio::store", "a value under `{key}` in the store has another state key");
        }
        opened.map(|(_, value)| value)
    }

    /// Notes the epoch of the store. One that was emptied may have lost messages.
    fn note_epoch(&self, epoch: u64) {
        let before = self.epoch.swap(epoch, Ordering::AcqRel);
        if before != 0 && before != epoch {
            tracing::warn!(target: "folio::store", "the store was emptied: questions that are open must be asked again");
            self.gap.notify_one();
        }
    }

    /// Reads messages for as long as the process runs, over a connection of its own, since each read waits.
    async fn read_messages(&self) {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(READ_TIMEOUT));
        let streams = [Recipient::Others, Recipient::Replica(&self.replica)].map(|to| self.stream_of(to));
        let mut positions: Option<[String; 2]> = None;
        loop {
            let mut connections = self.link.connected().await;
            if let Ok(mut connection) = self.link.connect(&config).await {
                tokio::select! {
                    read = self.read_until_lost(&mut connection, &streams, &mut positions) => if let Err(error) = read {
                        tracing::debug!(target: "folio::store", "reading messages failed: {error}");
                    },
                    // It may be to another server, which is the master now: what is sent is there.
                    _ = connections.changed() => continue,
                }
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn read_until_lost(
        &self,
        connection: &mut MultiplexedConnection,
        streams: &[String; 2],
        positions: &mut Option<[String; 2]>,
    ) -> RedisResult<()> {
        let first = first_position(connection, &streams[0]).await?;
        let positions = match positions {
            Some(positions) => {
                // What was sent while there was no connection, by others or from here, may not have arrived.
                self.gap.notify_one();
                positions
            }
            None => positions.insert([first, "0-0".to_owned()]),
        };
        let options = StreamReadOptions::default().block(READ_WAIT.as_millis() as usize).count(MESSAGES_PER_READ);
        loop {
            let read: Option<StreamReadReply> =
                ::redis::AsyncCommands::xread_options(connection, &streams[..], &positions[..], &options).await?;
            for stream in read.into_iter().flat_map(|read| read.keys) {
                let mut known = streams.iter().zip(positions.iter_mut());
                let Some((_, position)) = known.find(|(name, _)| **name == stream.key) else { continue };
                for entry in stream.ids {
                    let is_own = entry.get::<String>("from").as_deref() == Some(&self.replica);
                    let message = entry.get::<Vec<u8>>("message").filter(|_| !is_own);
                    let message = message.and_then(|message| self.open(&message, &stream.key));
                    if let Some(message) = message
                        && self.received.send(message).await.is_err()
                    {
                        return Ok(());
                    }
                    // Not before: reading may end while it waits here, and begins again after this.
                    position.clone_from(&entry.id);
                }
            }
        }
    }
}

/// After which message of a stream a new replica reads: of what was sent since it took its first request it misses nothing.
async fn first_position(connection: &mut MultiplexedConnection, stream: &str) -> RedisResult<String> {
    let last: Vec<(String, ::redis::Value)> =
        cmd("XREVRANGE").arg(stream).arg("+").arg("-").arg("COUNT").arg(1).query_async(connection).await?;
    let sent_at = last.first().and_then(|(id, _)| id.split('-').next()?.parse().ok()).unwrap_or(0);
    Ok(format!("{}-0", u64::saturating_sub(sent_at, milliseconds(START_MARGIN))))
}

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// An epoch to begin with.
fn new_epoch() -> u64 {
    Uuid::new_v4().as_u64_pair().0
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl Store for RedisStore {
    fn replica(&self) -> &str {
        &self.state.replica
    }

    fn is_reachable(&self) -> Option<bool> {
        Some(self.state.link.takes_commands())
    }

    fn epoch(&self) -> BoxFuture<'_, u64> {
        Box::pin(async {
            let mut call = self.scripts.epoch.key(self.state.key("epoch"));
            call.arg(new_epoch());
            let epoch = self.state.link.run(async |connection| call.invoke_async(connection).await).await;
            if let Ok(epoch) = epoch {
                self.state.note_epoch(epoch);
            }
            self.state.epoch.load(Ordering::Acquire)
        })
    }

    fn use_once(&self, id: OneTimeId, everywhere: bool) -> BoxFuture<'_, FirstUse> {
        Box::pin(async move {
            let attempt = new_id();
            let may_arrive = self.save_uses().await.is_ok() && self.state.link.is_connected();
            let first_use = if may_arrive { self.use_in_store(id, &attempt).await } else { Err(StoreError) };
            if everywhere && first_use.is_err() {
                if may_arrive {
                    self.unsaved_uses.lock().push(UnsavedUse::Withdrawn(id, attempt));
                }
                return if self.local.has_used(id) { FirstUse::No } else { FirstUse::UnknownElsewhere };
            }
            // What is used here is known here, should the store go away.
            match (first_use, self.local.use_once(id, false).await) {
                (Ok(first_use), _) => first_use,
                (Err(StoreError), FirstUse::Yes) => {
                    self.unsaved_uses.lock().push(UnsavedUse::Used(id));
                    FirstUse::UnknownElsewhere
                }
                (Err(StoreError), used) => used,
            }
        })
    }

    fn count_call<'a>(&'a self, key: &'a str, rate: CallRate) -> BoxFuture<'a, Result<(), Duration>> {
        Box::pin(async move {
            let per = u64::try_from(rate.per.as_micros()).unwrap_or(u64::MAX).max(1);
            let mut call = self.scripts.count_call.key(self.state.key(key));
            call.arg(rate.calls).arg(per);
            match self.state.link.run(async |connection| call.invoke_async::<u64>(connection).await).await {
                Ok(0) => Ok(()),
                Ok(wait) => Err(Duration::from_micros(wait)),
                Err(StoreError) => self.local.count_call(key, rate).await,
            }
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: &'a [u8], lifetime: Duration) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let key = self.state.key(key);
            let sealed = self.state.seal(value, &key)?;
            let lifetime = milliseconds(lifetime);
            self.state.link.run(async |connection| connection.pset_ex(&key, &sealed[..], lifetime).await).await
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(async move {
            let key = self.state.key(key);
            let get = async |connection: &mut MultiplexedConnection| cmd("GET").arg(&key).query_async(connection).await;
            let sealed: Option<Vec<u8>> = self.state.link.run(get).await?;
            Ok(sealed.and_then(|sealed| self.state.open(&sealed, &key)))
        })
    }

    fn set_field<'a>(
        &'a self,
        key: &'a str,
        field: &'a str,
        value: Option<&'a [u8]>,
        lifetime: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let key = self.state.key(key);
            // Nobody reads it back, and it may be as secret as the value.
            let field = &sha256(field.as_bytes())[..];
            let mut both = pipe();
            match value {
                Some(value) => {
                    both.cmd("HSET").arg(&key).arg(field).arg(self.state.seal(value, &key)?).ignore();
                    both.cmd("PEXPIRE").arg(&key).arg(milliseconds(lifetime)).ignore();
                }
                None => drop(both.cmd("HDEL").arg(&key).arg(field).ignore()),
            }
            self.state.link.run(async |connection| both.query_async(connection).await).await
        })
    }

    fn fields<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Vec<Vec<u8>>, StoreError>> {
        Box::pin(async move {
            let key = self.state.key(key);
            let read =
                async |connection: &mut MultiplexedConnection| cmd("HVALS").arg(&key).query_async(connection).await;
            let sealed: Vec<Vec<u8>> = self.state.link.run(read).await?;
            Ok(sealed.iter().filter_map(|sealed| self.state.open(sealed, &key)).collect())
        })
    }

    fn append<'a>(&'a self, key: &'a str, value: &'a [u8], limit: ListLimit) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.add_to_stream(self.state.key(key), value, limit).await })
    }

    fn read<'a>(
        &'a self,
        key: &'a str,
        position: &'a mut ListPosition,
    ) -> BoxFuture<'a, Result<Vec<Vec<u8>>, StoreError>> {
        Box::pin(async move {
            // Many at once would keep all other commands waiting.
            let _one_at_a_time = self.reading.lock().await;
            let key = self.state.key(key);
            let start = if position.0.is_empty() { "-".to_owned() } else { format!("({}", position.0) };
            let read = async |connection: &mut MultiplexedConnection| {
                let range = ::redis::AsyncCommands::xrange_count(connection, &key, &start, "+", VALUES_PER_READ);
                range.await as RedisResult<StreamRangeReply>
            };
            let entries = self.state.link.run(read).await?.ids;
            if let Some(last) = entries.last() {
                position.0.clone_from(&last.id);
            }
            let sealed = entries.into_iter().filter_map(|entry| entry.get::<Vec<u8>>("message"));
            Ok(sealed.filter_map(|sealed| self.state.open(&sealed, &key)).collect())
        })
    }

    fn extend<'a>(&'a self, keys: &'a [&'a str], lifetime: Duration) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut all = pipe();
            for key in keys {
                all.cmd("PEXPIRE").arg(self.state.key(key)).arg(milliseconds(lifetime)).ignore();
            }
            self.state.link.run(async |connection| all.query_async(connection).await).await
        })
    }

    fn remove<'a>(&'a self, keys: &'a [&'a str]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let keys: Vec<String> = keys.iter().map(|key| self.state.key(key)).collect();
            let remove =
                async |connection: &mut MultiplexedConnection| cmd("DEL").arg(&keys).query_async(connection).await;
            self.state.link.run(remove).await
        })
    }

    fn send<'a>(&'a self, to: Recipient<'a>, message: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.add_to_stream(self.state.stream_of(to), message, MESSAGES).await })
    }

    fn receive(&self) -> BoxFuture<'_, Received> {
        Box::pin(async {
            let mut messages = self.messages.lock().await;
            tokio::select! {
                biased;
                () = self.state.gap.notified() => Received::Gap,
                Some(message) = messages.recv() => Received::Message(message),
            }
        })
    }

    fn renew_lease<'a>(&'a self, manifest: &'a str) -> BoxFuture<'a, Result<RenewedLease, StoreError>> {
        Box::pin(async move {
            let mut call = self.scripts.renew_lease.key(self.state.key("epoch"));
            call.key(self.state.key("replicas"));
            call.arg(&self.state.replica).arg(manifest).arg(milliseconds(LEASE)).arg(new_epoch());
            let renewed: Vec<String> =
                self.state.link.run(async |connection| call.invoke_async(connection).await).await?;
            let (epoch, living) = renewed.split_first().ok_or(StoreError)?;
            let epoch = epoch.parse().map_err(|_| StoreError)?;
            self.state.note_epoch(epoch);
            self.save_uses().await?;
            let living = living.chunks_exact(2).filter_map(|pair| match pair {
                [id, manifest] => Some(Replica { id: id.clone(), manifest: manifest.clone() }),
                _ => None,
            });
            Ok(RenewedLease { epoch, living: living.collect() })
        })
    }
}
