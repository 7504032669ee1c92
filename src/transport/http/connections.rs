//! The connections of one server: how many there are, and who makes room when they are all taken.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{extract::Request, response::Response};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{catalog::HttpLimits, server::Live};

use super::{
    connection::{self, Connection},
    descriptors,
};

/// How often it is said that all are taken.
const WARNING: Duration = Duration::from_secs(10);

/// How long nobody is let in when the system has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections of one server.
pub(super) struct Connections {
    live: Live,
    open: Mutex<Open>,
    left: Notify,
}

#[derive(Default)]
struct Open {
    connections: HashMap<u64, Arc<Connection>>,
    last: u64,
    warned: Option<Instant>,
}

impl Open {
    /// Takes out the one whose peer has not sent a whole request for longest.
    fn longest_waiting(&mut self) -> Option<Arc<Connection>> {
        let waiting = self.connections.iter().filter_map(|(number, one)| Some((one.waits_since()?, *number)));
        let (_, number) = waiting.min()?;
        self.connections.remove(&number)
    }

    fn warn(&mut self, most: usize) {
        let now = Instant::now();
        if self.warned.is_some_and(|warned| now.duration_since(warned) < WARNING) {
            return;
        }
        self.warned = Some(now);
        tracing::warn!(
            "all {most} connections are in use; the ones that wait longest without a whole request are closed for new ones"
        );
    }
}

impl Connections {
    pub(super) fn new(live: Live) -> Arc<Connections> {
        Arc::new(Connections { live, open: Mutex::default(), left: Notify::new() })
    }

    /// Lets clients in until the server stops, and returns when the last of them has left.
    pub(super) async fn serve<F, A>(self: Arc<Self>, listener: TcpListener, stop: CancellationToken, answer: F)
    where
        F: Fn(Arc<Connection>, Request) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Response> + Send,
    {
        while let Some(stream) = self.accept(&listener, &stop).await {
            let (number, connection) = self.enter().await;
            let (connections, answer, stop) = (self.clone(), answer.clone(), stop.clone());
            tokio::spawn(async move {
                let _place = Place { connections, number };
                connection::serve(stream, connection, stop, answer).await;
            });
        }
        self.wait(|open| open.connections.is_empty().then_some(())).await;
    }

    async fn accept(&self, listener: &TcpListener, stop: &CancellationToken) -> Option<TcpStream> {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => return None,
            };
            match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    return Some(stream);
                }
                Err(error) if is_of_peer(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection can be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Takes a place, if need be that of one who keeps it without asking anything.
    async fn enter(&self) -> (u64, Arc<Connection>) {
        let limits = self.live.catalog().listening().limits;
        let most = descriptors::for_connections(limits.connections);
        self.wait(|open| {
            if open.connections.len() >= most {
                open.warn(most);
                open.longest_waiting()?.close();
            }
            Some(self.add(open, limits))
        })
        .await
    }

    fn add(&self, open: &mut Open, limits: HttpLimits) -> (u64, Arc<Connection>) {
        open.last += 1;
        let connection = Arc::new(Connection::new(self.live.bytes().peer(), limits));
        open.connections.insert(open.last, connection.clone());
        (open.last, connection)
    }

    /// Looks again whenever one has left.
    async fn wait<T>(&self, mut look: impl FnMut(&mut Open) -> Option<T>) -> T {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if let Some(found) = look(&mut self.open()) {
                return found;
            }
            left.await;
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is the peer that has given up.
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::ConnectionRefused | K::ConnectionAborted | K::ConnectionReset)
}

/// The place of a connection, free again when it is dropped.
struct Place {
    connections: Arc<Connections>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open().connections.remove(&self.number);
        self.connections.left.notify_waiters();
    }
}
