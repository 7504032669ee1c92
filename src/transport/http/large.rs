//! Messages that rmcp reads and writes where it is polled: a large one holds up nobody else.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};

use crate::budget::block_if_large;
use crate::server::Reservation;

/// What is polled while other tasks go on elsewhere, as long as the message that is under way in it is large.
pub(super) struct Large<T> {
    inner: T,
    reservation: Arc<Reservation>,
}

impl<T> Large<T> {
    /// Of a message for which so much is reserved: at first for the request, then for its answer.
    pub(super) fn new(inner: T, reservation: Arc<Reservation>) -> Large<T> {
        Large { inner, reservation }
    }
}

impl<F: Future + Unpin> Future for Large<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        block_if_large(self.reservation.bytes(), || Pin::new(&mut self.inner).poll(context))
    }
}

impl http_body::Body for Large<Body> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        block_if_large(self.reservation.bytes(), || Pin::new(&mut self.inner).poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
