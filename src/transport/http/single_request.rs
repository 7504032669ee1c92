//! Requests without a session (2026-07-28): each has a handler of its own, and a stream if anything comes before its answer.

use std::sync::Arc;

use axum::{http::StatusCode, response::Response};
use futures_util::{StreamExt, future::BoxFuture, stream};
use rmcp::model::{ClientRequest, ErrorCode, InitializeRequestParams};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::server::{ConnectionKind, IncomingRequest, MessageSink, OutgoingKind, OutgoingMessage};
use crate::spec_version::SpecVersion;

use super::{
    SessionHome,
    event_stream::{self, StreamKind},
    post::{Post, missing_meta},
    request_head::is_sessionless,
    response::{json_response, text_response},
};

/// How many messages may wait for the client to read them.
const MAX_UNREAD_MESSAGES: usize = 64;

/// Answers a request by itself. It is cancelled when its client is gone.
pub(super) async fn answer(post: Post<'_>, incoming: IncomingRequest) -> Response {
    let (request, cancel) = (&*incoming.message, incoming.cancel.clone());
    let assumed = post.assumed_session(request);
    let is_complete = assumed.is_some() || missing_meta(request).is_empty();
    let (sender, mut messages) = mpsc::channel(MAX_UNREAD_MESSAGES);
    let shared_server = &post.http_server.shared_server;
    let mut stop = shared_server.stop_token();
    if matches!(request, ClientRequest::SubscriptionsListenRequest(_)) {
        stop = shared_server.end_of_listening().child_token();
        stop_with_token(&post, stop.clone(), cancel.clone());
    }
    let handler = shared_server.connect(Arc::new(RequestSink(sender.clone())), stop, ConnectionKind::Request);
    if let Some(version) = assumed {
        handler.begin_session(InitializeRequestParams::default(), version);
    }
    let guard = cancel.drop_guard();
    let admitted = post.guard.clone();
    handler.begin(incoming, move |answer| {
        drop(admitted);
        if let Err(full) = sender.try_send(answer) {
            tokio::spawn(async move { sender.send(full.into_inner()).await });
        }
    });
    let first = tokio::select! {
        first = messages.recv() => first,
        () = post.http_server.shutdown.cancelled() => None,
    };
    let Some(first) = first else {
        return text_response(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping\n");
    };
    match status(&first, is_complete) {
        Some(status) => post.answer_response(status, first.json),
        None if post.accepted.event_stream => stream_messages(&post, first, messages, guard),
        None => match last_message(messages).await {
            Some(answer) => json_response(StatusCode::OK, answer.json),
            None => text_response(StatusCode::ACCEPTED, ""),
        },
    }
}

impl Post<'_> {
    /// The version of the session that a request would be in, where there are no sessions. `initialize` begins one, which ends
    /// with its answer. A client that names no version speaks 2025-03-26 (basic/transports).
    fn assumed_session(&self, request: &ClientRequest) -> Option<SpecVersion> {
        let begins = matches!(request, ClientRequest::InitializeRequest(_));
        let has_session = self.http_server.session_home == SessionHome::None && !is_sessionless(self.version);
        let version = self.version.and_then(SpecVersion::parse);
        (has_session && !begins).then(|| version.unwrap_or(SpecVersion::V2025_03_26))
    }
}

/// Stops listening once the token of the request is no longer good: it ends by its result, and is not cut off.
fn stop_with_token(post: &Post<'_>, stop: CancellationToken, ended: CancellationToken) {
    let revoked = post.http_server.clone().wait_for_revocation(post.headers, StreamKind::Listening);
    tokio::spawn(async move {
        tokio::select! {
            () = revoked => stop.cancel(),
            () = ended.cancelled() => {}
        }
    });
}

/// The status of an answer (basic/transports); `None` for another message.
fn status(message: &OutgoingMessage, is_complete: bool) -> Option<StatusCode> {
    let OutgoingKind::Answer { error, is_unavailable, .. } = &message.kind else { return None };
    Some(match *error {
        _ if *is_unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Some(
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH,
        ) => StatusCode::BAD_REQUEST,
        Some(ErrorCode::INVALID_PARAMS) if !is_complete => StatusCode::BAD_REQUEST,
        Some(ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    })
}

/// All messages as events, until the answer or the end of the server.
fn stream_messages(
    post: &Post<'_>,
    first: OutgoingMessage,
    messages: mpsc::Receiver<OutgoingMessage>,
    guard: DropGuard,
) -> Response {
    let shutdown = post.http_server.shutdown.clone();
    let rest = stream::unfold((messages, guard, false), move |(mut messages, guard, is_answered)| {
        let shutdown = shutdown.clone();
        async move {
            if is_answered {
                return None;
            }
            let message = shutdown.run_until_cancelled(messages.recv()).await??;
            let is_answered = message.is_answer();
            Some((message, (messages, guard, is_answered)))
        }
    });
    let events = stream::iter([first]).chain(rest).map(|message| event_stream::encode_message(&message.json, None));
    event_stream::event_stream_response(events, post.http_server, post.headers, StreamKind::Answer)
}

/// The answer, for a client that takes nothing else.
async fn last_message(mut messages: mpsc::Receiver<OutgoingMessage>) -> Option<OutgoingMessage> {
    while let Some(message) = messages.recv().await {
        if message.is_answer() {
            return Some(message);
        }
    }
    None
}

/// Where the handler of one request sends messages.
struct RequestSink(mpsc::Sender<OutgoingMessage>);

impl MessageSink for RequestSink {
    fn send(&self, message: OutgoingMessage) -> Option<BoxFuture<'static, ()>> {
        let full = self.0.try_send(message).err()?;
        let sender = self.0.clone();
        Some(Box::pin(async move { drop(sender.send(full.into_inner()).await) }))
    }
}
