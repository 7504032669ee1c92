//! Reads request bodies: a small one at once, a large one when there is room for it.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use futures_util::StreamExt;
use http_body::Body as _;
use tokio::time::{Instant, timeout_at};

use crate::{
    budget::{ADMISSION_TIMEOUT, Busy, Reservation, SMALL_RESERVATION_BYTES},
    transport::message::MessageError,
};

use super::response::RefusedRequest;

/// The largest body that is read.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Why a body is not read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("message exceeds 4 MiB, the limit over HTTP")]
    TooLong,
    #[error("unexpected end of body")]
    EndedEarly,
    #[error("body timed out after {0:?}")]
    TimedOut(Duration),
    #[error(transparent)]
    Busy(#[from] Busy),
}

impl From<BodyError> for RefusedRequest {
    fn from(unread: BodyError) -> RefusedRequest {
        let message = unread.to_string();
        let status = match unread {
            BodyError::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::EndedEarly => StatusCode::BAD_REQUEST,
            BodyError::TimedOut(_) => StatusCode::REQUEST_TIMEOUT,
            BodyError::Busy(_) => return RefusedRequest::busy(MessageError::busy(None, message)),
        };
        RefusedRequest::Message(status, MessageError::invalid_request(None, message))
    }
}

/// Reads a body to its end, which must arrive `within` so long: time spent waiting for room does not count.
pub(super) async fn read_body(
    body: Body,
    within: Duration,
    reservation: &Arc<Reservation>,
) -> Result<Bytes, BodyError> {
    let size = body.size_hint();
    if size.lower() > MAX_BODY_BYTES as u64 {
        return Err(BodyError::TooLong);
    }
    let max = size.upper().unwrap_or(MAX_BODY_BYTES as u64).min(MAX_BODY_BYTES as u64);
    let (mut pieces, mut whole) = (body.into_data_stream(), Vec::new());
    let (mut deadline, mut is_admitted) = (Instant::now() + within, false);
    while let Some(piece) = timeout_at(deadline, pieces.next()).await.map_err(|_| BodyError::TimedOut(within))? {
        let piece = piece.map_err(|_| BodyError::EndedEarly)?;
        let length = whole.len() + piece.len();
        if length > MAX_BODY_BYTES {
            return Err(BodyError::TooLong);
        }
        if length <= SMALL_RESERVATION_BYTES as usize {
            reservation.grow(piece.len() as u64);
        } else if !is_admitted {
            // For all of it, and for what is read out of it: requests that hold a part would wait for each other.
            let began = Instant::now();
            admit(max * 2, reservation).await?;
            deadline += began.elapsed();
            is_admitted = true;
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

/// Waits until the request may hold so many bytes in all; where that is little, it does not wait.
pub(super) async fn admit(bytes: u64, reservation: &Arc<Reservation>) -> Result<(), Busy> {
    let missing = bytes.saturating_sub(reservation.bytes());
    if missing == 0 || bytes <= SMALL_RESERVATION_BYTES {
        reservation.resize(bytes);
        return Ok(());
    }
    reservation.grow_within(ADMISSION_TIMEOUT, missing).await
}
