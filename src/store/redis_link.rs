//! Keeps a connection to Redis. While there is none, commands fail at once, so that nothing waits for a store that is away.

use std::sync::Arc;
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, RedisError, RedisResult};
use parking_lot::RwLock;
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::timeout;

use super::StoreError;
use super::redis_url::Connector;

/// How long Redis may take to answer a command.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(700);
/// How long it may take until there is a connection; a Sentinel is asked first.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1500);
/// How long after a failure it is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(200);

pub(super) struct RedisLink {
    connector: Mutex<Connector>,
    current: RwLock<Option<MultiplexedConnection>>,
    /// How many connections there were.
    connections: watch::Sender<u64>,
    lost: Notify,
    /// Is told of each new connection: what was sent before may not have arrived.
    gap: Arc<Notify>,
}

impl RedisLink {
    pub(super) fn new(connector: Connector, gap: Arc<Notify>) -> Arc<RedisLink> {
        Arc::new(RedisLink {
            connector: Mutex::new(connector),
            current: RwLock::default(),
            connections: watch::Sender::new(0),
            lost: Notify::new(),
            gap,
        })
    }

    /// Connects, and again whenever the connection is lost. It never ends.
    pub(super) async fn keep_connected(&self) {
        let mut is_away = false;
        loop {
            let config = AsyncConnectionConfig::new().set_response_timeout(Some(RESPONSE_TIMEOUT));
            match self.connect(&config).await {
                Ok(connection) => {
                    if std::mem::take(&mut is_away) {
                        tracing::info!(target: "folio::store", "the store is back");
                    }
                    *self.current.write() = Some(connection);
                    self.connections.send_modify(|count| *count += 1);
                    self.gap.notify_one();
                    self.lost.notified().await;
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

    /// A connection of its own.
    pub(super) async fn connect(&self, config: &AsyncConnectionConfig) -> RedisResult<MultiplexedConnection> {
        let connecting = async {
            let client = self.connector.lock().await.client().await?;
            client.get_multiplexed_async_connection_with_config(config).await
        };
        timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or_else(|_| {
            let timed_out = std::io::Error::new(std::io::ErrorKind::TimedOut, "connecting takes too long");
            Err(RedisError::from(timed_out))
        })
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

    /// Runs a command. If the server refuses it, a new connection finds out whether it has become a replica; a value of another
    /// type says nothing of the connection.
    pub(super) async fn run<T>(
        &self,
        command: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let before = *self.connections.borrow();
        let Some(mut connection) = self.current.read().clone() else { return Err(StoreError) };
        match timeout(RESPONSE_TIMEOUT, command(&mut connection)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if error.code() == Some("WRONGTYPE") => {
                tracing::warn!(target: "folio::store", "the store has something else under a key: {error}");
                return Err(StoreError);
            }
            Ok(Err(error)) => tracing::warn!(target: "folio::store", "the store failed: {error}"),
            Err(_) => tracing::warn!(target: "folio::store", "the store does not answer within {RESPONSE_TIMEOUT:?}"),
        }
        // Unless another command has found out.
        if before == *self.connections.borrow() && self.current.write().take().is_some() {
            self.lost.notify_one();
        }
        Err(StoreError)
    }
}
