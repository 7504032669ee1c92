//! The body of a request: a small one is read at once, a large one when there is room for all of it.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
    response::Response,
};
use futures_util::StreamExt;
use http_body::Body as _;
use tokio::time::{Instant, timeout_at};

use crate::{
    server::{Busy, Reservation, SMALL},
    transport::message::Fault,
};

use super::Refused;

/// The largest body that is read.
pub(super) const LARGEST: usize = 4 * 1024 * 1024;

/// Why a body is not read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    #[error("the message is longer than 4 MiB")]
    TooLong,
    #[error("the body ended early")]
    EndedEarly,
    #[error("the body did not arrive within {0:?}")]
    Late(Duration),
    #[error(transparent)]
    Busy(#[from] Busy),
}

impl Unread {
    pub(super) fn response(&self) -> Response {
        let words = self.to_string();
        let (status, fault) = match self {
            Unread::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, Fault::request(None, words)),
            Unread::EndedEarly => (StatusCode::BAD_REQUEST, Fault::request(None, words)),
            Unread::Late(_) => (StatusCode::REQUEST_TIMEOUT, Fault::request(None, words)),
            Unread::Busy(_) => (StatusCode::SERVICE_UNAVAILABLE, Fault::busy(None, words)),
        };
        Refused(status, fault).response()
    }
}

/// Reads a body to its end, which must arrive `within` so long: the time in which the server has no room for it does not
/// count.
pub(super) async fn read(body: Body, within: Duration, reservation: &Reservation) -> Result<Bytes, Unread> {
    let size = body.size_hint();
    if size.lower() > LARGEST as u64 {
        return Err(Unread::TooLong);
    }
    let most = size.upper().unwrap_or(LARGEST as u64).min(LARGEST as u64);
    let (mut pieces, mut whole) = (body.into_data_stream(), Vec::new());
    let (mut deadline, mut is_admitted) = (Instant::now() + within, false);
    while let Some(piece) = timeout_at(deadline, pieces.next()).await.map_err(|_| Unread::Late(within))? {
        let piece = piece.map_err(|_| Unread::EndedEarly)?;
        let length = whole.len() + piece.len();
        if length > LARGEST {
            return Err(Unread::TooLong);
        }
        if length <= SMALL as usize {
            reservation.grow(piece.len() as u64);
        } else if !is_admitted {
            let began = Instant::now();
            admit(most, reservation).await?;
            deadline += began.elapsed();
            is_admitted = true;
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

/// Waits for room for all of a body, and for what is read out of it: whoever waits for more of the same keeps from the
/// others what they wait for.
async fn admit(most: u64, reservation: &Reservation) -> Result<(), Busy> {
    reservation.admit((most * 2).saturating_sub(reservation.bytes())).await
}
