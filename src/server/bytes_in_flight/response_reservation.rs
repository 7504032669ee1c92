//! What a request and its answer take, by the size of the last answer.

use std::sync::Arc;

use rmcp::{RoleServer, model::ErrorData, service::RequestContext};

use crate::catalog::result::arrival_order::ArrivalTurn;
use crate::server::memory_size::MemorySize;

use super::{Busy, Reservation, SMALL_MESSAGE_BYTES};

/// What a request takes while it is answered: its own bytes, and those that are expected of its answer.
pub(crate) struct ResponseReservation {
    reservation: Arc<Reservation>,
    method: &'static str,
    name: String,
    expected: u64,
}

impl ResponseReservation {
    /// Waits until there is room for the answer of an entry, by the size of its last one. `None` for a request without
    /// a reservation.
    pub(crate) async fn acquire(
        context: &RequestContext<RoleServer>,
        method: &'static str,
        name: &str,
    ) -> Result<Option<ResponseReservation>, ErrorData> {
        let Some(reservation) = request_reservation(context) else { return Ok(None) };
        let expected = reservation.peer.expected_size(method, name);
        if !reservation.try_admit(expected) {
            // A call that waits for memory must not keep those waiting that hold some.
            context.extensions.get::<Arc<ArrivalTurn>>().inspect(|place| place.leave());
            Box::pin(context.ct.run_until_cancelled(reservation.admit(expected))).await.unwrap_or(Err(Busy))?;
        }
        Ok(Some(ResponseReservation { reservation, method, name: name.to_owned(), expected }))
    }

    /// Takes the bytes of the answer, or refuses one that there is no memory for.
    pub(crate) fn charge<T: MemorySize>(self, answer: Result<T, ErrorData>) -> Result<T, ErrorData> {
        // It is in memory twice while it is written.
        let bytes = answer.memory_size() * 2;
        let in_flight = self.reservation.peer.server_bytes();
        if bytes > SMALL_MESSAGE_BYTES || self.expected > 0 {
            self.reservation.peer.remember_size(self.method, &self.name, bytes);
        }
        self.reservation.shrink(self.expected);
        if bytes > SMALL_MESSAGE_BYTES && in_flight.would_exceed(bytes) {
            return Err(Busy.into());
        }
        self.reservation.grow(bytes);
        answer
    }
}

/// What a transport has reserved for a request; over HTTP it travels with the head of that one.
pub(crate) fn request_reservation(context: &RequestContext<RoleServer>) -> Option<Arc<Reservation>> {
    let head = || context.extensions.get::<http::request::Parts>();
    let reservation = context.extensions.get::<Arc<Reservation>>();
    reservation.or_else(|| head()?.extensions.get::<Arc<Reservation>>()).cloned()
}
