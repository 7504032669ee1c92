//! The HTTP connections of one server: accepts them, limits them, and closes waiting ones for new ones.

use std::{collections::HashMap, io, net::IpAddr, sync::Arc, time::Duration};

use axum::{extract::Request, response::Response};
use futures_util::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{catalog::HttpLimits, identity::AccessControl, server::SharedServer, telemetry::Limit};

use super::{
    admission::Admission,
    connection::{self, HttpConnection},
    descriptor_limit,
};

/// How long a new connection is safe from making room: its request may be there, and not be read yet.
const MIN_EVICTION_AGE: Duration = Duration::from_millis(100);

/// The interval of warnings about the connection limit.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// How often it is looked whether messages are answered, when the server stops.
const ANSWER_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// How many connections that wait to be accepted are taken when the server stops.
const MAX_QUEUED: usize = 128;

/// The delay before the next accept when the system has no descriptor left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// The connections of one server.
pub(super) struct Connections {
    shared_server: SharedServer,
    admission: Arc<Admission>,
    open: Mutex<OpenConnections>,
    connection_closed: Notify,
}

#[derive(Default)]
struct OpenConnections {
    connections: HashMap<u64, Arc<HttpConnection>>,
    last: u64,
    warned_at: Option<Instant>,
}

impl OpenConnections {
    /// Since when the one waits whose peer has not sent a whole request for longest, and its number.
    fn longest_waiting(&self) -> Option<(Instant, u64)> {
        self.connections.iter().filter_map(|(number, one)| Some((one.waiting_since()?, *number))).min()
    }

    /// Closes the longest waiting connection, or returns when to retry.
    fn evict_longest_waiting(&mut self) -> Result<(), Option<Instant>> {
        let (since, number) = self.longest_waiting().ok_or(None)?;
        if since.elapsed() < MIN_EVICTION_AGE {
            return Err(Some(since + MIN_EVICTION_AGE));
        }
        self.connections.remove(&number).iter().for_each(|longest| longest.close());
        Ok(())
    }

    fn warn(&mut self, max: usize) {
        let now = Instant::now();
        if self.warned_at.is_some_and(|warned| now.duration_since(warned) < WARNING_INTERVAL) {
            return;
        }
        self.warned_at = Some(now);
        tracing::warn!(max, "connection limit reached; closing connections that wait longest for a request");
    }
}

impl Connections {
    pub(super) fn new(shared_server: SharedServer, admission: Arc<Admission>) -> Arc<Connections> {
        Arc::new(Connections { shared_server, admission, open: Mutex::default(), connection_closed: Notify::new() })
    }

    /// Lets clients in until the server stops, and returns when the last of them has left.
    pub(super) async fn serve<F, A>(self: Arc<Self>, listener: TcpListener, stop: CancellationToken, answer: F)
    where
        F: Fn(Arc<HttpConnection>, Request) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Response> + Send,
    {
        while let Some((stream, address)) = self.accept(&listener, &stop).await {
            self.clone().spawn(stream, address, stop.clone(), answer.clone()).await;
        }
        // Who had connected by then is answered, too.
        let queued = std::iter::from_fn(|| listener.accept().now_or_never()?.ok()).take(MAX_QUEUED);
        for (stream, address) in queued {
            self.clone().spawn(stream, address.ip(), stop.clone(), answer.clone()).await;
        }
        // Whoever connects from here on is refused, and does not wait for what is running.
        drop(listener);
        self.wait_until_empty().await;
    }

    async fn spawn<F, A>(self: Arc<Self>, stream: TcpStream, address: IpAddr, stop: CancellationToken, answer: F)
    where
        F: Fn(Arc<HttpConnection>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Response> + Send,
    {
        let _ = stream.set_nodelay(true);
        let (number, connection) = tokio::select! {
            biased;
            slot = self.wait_for_slot(address) => slot,
            () = stop.cancelled() => return,
        };
        tokio::spawn(async move {
            let _place = ConnectionSlot { connections: self, number };
            connection::serve(stream, connection, stop, answer).await;
        });
    }

    async fn accept(&self, listener: &TcpListener, stop: &CancellationToken) -> Option<(TcpStream, IpAddr)> {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => return None,
            };
            match accepted {
                Ok((stream, address)) => return Some((stream, address.ip())),
                Err(error) if is_peer_error(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    /// Takes a place, if need be that of one who keeps it without asking anything.
    async fn wait_for_slot(&self, address: IpAddr) -> (u64, Arc<HttpConnection>) {
        let limits = self.shared_server.catalog().http_settings().limits;
        let max = descriptor_limit::raise_descriptor_limit(limits.connections);
        self.admission.set_max_connections(max);
        if self.open().connections.len() >= max {
            let observers = self.shared_server.observers();
            observers.into_iter().for_each(|all| all.tell(|observer| observer.on_limit(Limit::Connections)));
        }
        loop {
            let closed = self.connection_closed.notified();
            tokio::pin!(closed);
            closed.as_mut().enable();
            let retry_at = match self.try_add(max, limits, address) {
                Ok(place) => return place,
                Err(retry_at) => retry_at.unwrap_or_else(|| Instant::now() + WARNING_INTERVAL),
            };
            tokio::select! {
                () = closed => {}
                () = tokio::time::sleep_until(retry_at) => {}
            }
        }
    }

    fn try_add(
        &self,
        max: usize,
        limits: HttpLimits,
        address: IpAddr,
    ) -> Result<(u64, Arc<HttpConnection>), Option<Instant>> {
        let mut open = self.open();
        if open.connections.len() >= max {
            open.warn(max);
            open.evict_longest_waiting()?;
        }
        // Whoever connects is known by the address, until a request says more.
        let account = self.admission.account(&AccessControl::Unrestricted, address);
        open.last += 1;
        let (number, connection) = (open.last, Arc::new(HttpConnection::new(account.caller(), limits, address)));
        open.connections.insert(number, connection.clone());
        Ok((number, connection))
    }

    /// Waits until no message arrives or is answered on any of them.
    pub(super) async fn wait_until_answered(&self) {
        while self.open().connections.values().any(|connection| connection.has_message()) {
            tokio::time::sleep(ANSWER_CHECK_INTERVAL).await;
        }
    }

    async fn wait_until_empty(&self) {
        loop {
            let closed = self.connection_closed.notified();
            tokio::pin!(closed);
            closed.as_mut().enable();
            if self.open().connections.is_empty() {
                return;
            }
            closed.await;
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock()
    }
}

/// Whether it is the peer that has given up.
fn is_peer_error(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::ConnectionRefused | K::ConnectionAborted | K::ConnectionReset)
}

/// The place of a connection, free again when it is dropped.
struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open().connections.remove(&self.number);
        self.connections.connection_closed.notify_waiters();
    }
}
