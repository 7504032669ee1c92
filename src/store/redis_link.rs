//! Keeps a connection to Redis. While there is none, commands fail at once, so that nothing waits for a store that is away.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, ConnectionAddr, RedisError, RedisResult};
use futures_util::StreamExt as _;
use parking_lot::RwLock;
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::{Instant, timeout};

use super::StoreError;
use super::redis_url::Connector;

/// How long Redis may take to answer a command.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(700);
/// How long it may take until there is a connection; a Sentinel is asked first.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1500);
/// How long after a failure it is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// How often Sentinels are asked for the master, should the one be gone that says so by itself.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// How a server refuses commands that is not the master.
const NO_MASTER: [&str; 2] = ["READONLY", "MASTERDOWN"];

pub(super) struct RedisLink {
    connector: Mutex<Connector>,
    current: RwLock<Option<Connected>>,
    /// How many connections there were.
    connections: watch::Sender<u64>,
    lost: Notify,
    /// Is told of each new connection: what was sent before may not have arrived.
    gap: Arc<Notify>,
    /// Whether the last command was not done, which the log says once.
    is_failing: AtomicBool,
}

#[derive(Clone)]
struct Connected {
    server: ConnectionAddr,
    connection: MultiplexedConnection,
}

impl RedisLink {
    pub(super) fn new(connector: Connector, gap: Arc<Notify>) -> Arc<RedisLink> {
        Arc::new(RedisLink {
            connector: Mutex::new(connector),
            current: RwLock::default(),
            connections: watch::Sender::new(0),
            lost: Notify::new(),
            gap,
            is_failing: AtomicBool::new(false),
        })
    }

    /// Connects, and again whenever the connection is lost. It never ends.
    pub(super) async fn keep_connected(&self) {
        let mut is_away = false;
        loop {
            let config = AsyncConnectionConfig::new().set_response_timeout(Some(RESPONSE_TIMEOUT));
            match self.open(&config).await {
                Ok(connected) => {
                    if std::mem::take(&mut is_away) {
                        tracing::info!(target: "folio::store", "the store is back");
                    }
                    *self.current.write() = Some(connected);
                    self.connections.send_modify(|count| *count += 1);
                    self.gap.notify_one();
                    let earliest = Instant::now() + RETRY_DELAY;
                    self.lost.notified().await;
                    // One that is lost at once is most likely lost again.
                    tokio::time::sleep_until(earliest).await;
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_away, true) {
                        tracing::warn!(target: "folio::store", "the store is away: {error}");
                    }
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    /// Leaves a master when Sentinels name another: it may take commands for seconds more, and they are lost. Ends without
    /// Sentinels.
    pub(super) async fn follow_master(&self) {
        loop {
            match in_time(async { self.connector.lock().await.subscribe_to_masters().await }).await {
                Ok(Some(mut subscription)) => {
                    let mut masters = subscription.on_message();
                    let mut has_ended = false;
                    while !has_ended {
                        // What was said before is not heard, and a Sentinel may end without a word.
                        self.leave_former_master().await;
                        has_ended = matches!(timeout(LOOK_INTERVAL, masters.next()).await, Ok(None));
                    }
                }
                Ok(None) => return,
                Err(_) => {}
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn leave_former_master(&self) {
        let Ok(client) = in_time(async { self.connector.lock().await.client().await }).await else { return };
        let master = client.get_connection_info().addr();
        if self.current.write().take_if(|connected| connected.server != *master).is_some() {
            self.lost.notify_one();
        }
    }

    /// A connection of its own.
    pub(super) async fn connect(&self, config: &AsyncConnectionConfig) -> RedisResult<MultiplexedConnection> {
        Ok(self.open(config).await?.connection)
    }

    async fn open(&self, config: &AsyncConnectionConfig) -> RedisResult<Connected> {
        in_time(async {
            let client = self.connector.lock().await.client().await?;
            let connection = client.get_multiplexed_async_connection_with_config(config).await?;
            Ok(Connected { server: client.get_connection_info().addr().clone(), connection })
        })
        .await
    }

    /// Waits until there is a connection. What is returned changes with the next one.
    pub(super) async fn connected(&self) -> watch::Receiver<u64> {
        let mut connections = self.connections.subscribe();
        while self.current.read().is_none() {
            // The sender is this link's.
            let _ = connections.changed().await;
        }
        connections
    }

    /// Runs a command. If there is no answer, or if the server has become a replica, it goes on with a new connection.
    pub(super) async fn run<T>(
        &self,
        command: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let before = *self.connections.borrow();
        let Some(Connected { mut connection, .. }) = self.current.read().clone() else { return Err(StoreError) };
        match timeout(RESPONSE_TIMEOUT, command(&mut connection)).await {
            Ok(Ok(answer)) => {
                if self.is_failing.swap(false, Ordering::AcqRel) {
                    tracing::info!(target: "folio::store", "the store takes commands again");
                }
                return Ok(answer);
            }
            Ok(Err(error)) => {
                self.warn(format_args!("the store failed: {error}"));
                if error.code().is_some_and(|code| !NO_MASTER.contains(&code)) {
                    return Err(StoreError);
                }
            }
            Err(_) => self.warn(format_args!("the store does not answer within {RESPONSE_TIMEOUT:?}")),
        }
        // Unless another command has found out.
        if before == *self.connections.borrow() && self.current.write().take().is_some() {
            self.lost.notify_one();
        }
        Err(StoreError)
    }

    /// Whether there is a connection whose last command was done.
    pub(super) fn takes_commands(&self) -> bool {
        self.is_connected() && !self.is_failing.load(Ordering::Acquire)
    }

    /// Whether there is a connection.
    pub(super) fn is_connected(&self) -> bool {
        self.current.read().is_some()
    }

    fn warn(&self, problem: fmt::Arguments<'_>) {
        if !self.is_failing.swap(true, Ordering::AcqRel) {
            tracing::warn!(target: "folio::store", "{problem}");
        }
    }
}

/// The outcome of a step of connecting, if it does not take too long.
async fn in_time<T>(step: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    timeout(CONNECT_TIMEOUT, step).await.unwrap_or_else(|_| {
        let timed_out = std::io::Error::new(std::io::ErrorKind::TimedOut, "connecting takes too long");
        Err(RedisError::from(timed_out))
    })
}
