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

/// How long a new connection is safe from making room: its request may be there, and not be read yet.
const FRESH: Duration = Duration::from_millis(100);

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
    /// Since when the one waits whose peer has not sent a whole request for longest, and its number.
    fn longest_waiting(&self) -> Option<(Instant, u64)> {
        self.connections.iter().filter_map(|(number, one)| Some((one.waits_since()?, *number))).min()
    }

    /// Closes that one for another. Otherwise says when it is worth a look again.
    fn make_room(&mut self) -> Result<(), Option<Instant>> {
        let (since, number) = self.longest_waiting().ok_or(None)?;
        if since.elapsed() < FRESH {
            return Err(Some(since + FRESH));
        }
        self.connections.remove(&number).iter().for_each(|longest| longest.close());
        Ok(())
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
        self.all_left().await;
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
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            let again = match self.place(most, limits) {
                Ok(place) => return place,
                Err(again) => again.unwrap_or_else(|| Instant::now() + WARNING),
            };
            tokio::select! {
                () = left => {}
                () = tokio::time::sleep_until(again) => {}
            }
        }
    }

    fn place(&self, most: usize, limits: HttpLimits) -> Result<(u64, Arc<Connection>), Option<Instant>> {
        let mut open = self.open();
        if open.connections.len() >= most {
            open.warn(most);
            open.make_room()?;
        }
        Ok(self.add(&mut open, limits))
    }

    fn add(&self, open: &mut Open, limits: HttpLimits) -> (u64, Arc<Connection>) {
        open.last += 1;
        let connection = Arc::new(Connection::new(self.live.bytes().peer(), limits));
        open.connections.insert(open.last, connection.clone());
        (open.last, connection)
    }

    async fn all_left(&self) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if self.open().connections.is_empty() {
                return;
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
