//! Word of changes: unsolicited to sessions, on the streams that they opened to clients of 2026-07-28.
//!
//! One task tells one session. It compares what is served with what it told last, so changes that come while the
//! peer is slow are told once, and none is lost.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{Peer, RequestContext, ServiceError, SubscriptionContext, SubscriptionSink},
};
use tokio::sync::watch;

use super::{
    Server, Stamp,
    capability::Kind,
    error,
    served::{News, Served},
    session::{Agreed, Session, Watched},
};

/// How many resources a session or a stream may be told of.
const MOST_WATCHED: usize = 1000;

/// How long the URIs of those may be in all.
const MOST_BYTES: usize = 128 * 1024;

/// The resources that a stream is told of: as many as it wants, or none.
pub(crate) fn watchable(requested: &SubscriptionFilter) -> &[String] {
    let uris = requested.resource_subscriptions.as_deref().unwrap_or_default();
    let bytes: usize = uris.iter().map(String::len).sum();
    if uris.len() <= MOST_WATCHED && bytes <= MOST_BYTES { uris } else { &[] }
}

/// Watches a resource for the session. One that nobody answers may come to be, so it is no error.
pub(crate) async fn subscribe(
    server: &Server,
    uri: String,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let served = server.admit(Kind::Resources, context)?.served;
    if !served.promised.updates {
        return Err(error::unknown_method("resources/subscribe"));
    }
    let print = served.print(&uri);
    let mut watched = server.session.watched();
    if watched.len() >= MOST_WATCHED && !watched.contains_key(&uri) {
        let message = format!("a session can subscribe to {MOST_WATCHED} resources; unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    let bytes: usize = watched.keys().map(String::len).sum();
    if bytes + uri.len() > MOST_BYTES && !watched.contains_key(&uri) {
        let most = MOST_BYTES / 1024;
        let message = format!("the URIs that a session subscribes to have {most} KiB; unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    watched.insert(uri, Watched { generation: served.news.generation, print });
    drop(watched);
    server.session.bell.notify_one();
    Ok(())
}

/// No longer watches a resource for the session.
pub(crate) fn unsubscribe(server: &Server, uri: &str, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if !server.admit(Kind::Resources, context)?.served.promised.updates {
        return Err(error::unknown_method("resources/unsubscribe"));
    }
    server.session.watched().remove(uri);
    Ok(())
}

/// Begins to tell a session of changes, now that it is ready for them. What changed since `initialize` is due.
pub(crate) fn announce(server: &Server, peer: Peer<RoleServer>) {
    let promised = server.live.current().promised.any();
    if server.session.agreed().is_none() || !promised || !server.session.begin_announcing() {
        return;
    }
    let (session, served) = (server.session.clone(), server.live.watch());
    let (gone, closing) = (server.gone.clone(), server.live.closing());
    tokio::spawn(async move {
        tokio::select! {
            () = gone.cancelled() => {}
            () = closing.cancelled() => {}
            _ = tell_session(&session, &peer, served) => {}
        }
    });
}

/// Ends when the peer can no longer be reached.
async fn tell_session(
    session: &Session,
    peer: &Peer<RoleServer>,
    mut live: watch::Receiver<Arc<Served>>,
) -> Result<(), ServiceError> {
    let Some(Agreed { kinds, news, .. }) = session.agreed() else { return Ok(()) };
    let mut told = *news;
    loop {
        let served = live.borrow_and_update().clone();
        if served.news.tools != told.tools && kinds.has(Kind::Tools) {
            peer.notify_tool_list_changed().await?;
        }
        if served.news.prompts != told.prompts && kinds.has(Kind::Prompts) {
            peer.notify_prompt_list_changed().await?;
        }
        if served.news.resources != told.resources && kinds.has(Kind::Resources) {
            peer.notify_resource_list_changed().await?;
        }
        told = served.news;
        tell_updates(session, peer, &served).await?;
        drop(served);
        tokio::select! {
            changed = live.changed() => if changed.is_err() { return Ok(()) },
            () = session.bell.notified() => {}
        }
    }
}

async fn tell_updates(session: &Session, peer: &Peer<RoleServer>, served: &Served) -> Result<(), ServiceError> {
    let generation = served.news.generation;
    let stale: Vec<_> = session
        .watched()
        .iter()
        .filter(|(_, watched)| watched.generation < generation)
        .map(|(uri, watched)| (uri.clone(), watched.print))
        .collect();
    for (uri, before) in stale {
        let print = served.print(&uri);
        let wanted = match session.watched().get_mut(&uri) {
            Some(watched) => {
                *watched = Watched { generation, print };
                true
            }
            None => false,
        };
        if wanted && print != before {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
        }
    }
    Ok(())
}

/// Says what a stream may be opened for; rmcp leaves of it what is declared. More resources than can be watched
/// are none: the acknowledgement shows it.
pub(crate) fn accepted(server: &Server, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
    let served = server.live.current();
    if !served.promised.any() {
        return None;
    }
    let uris = watchable(requested);
    if !server.stamped && served.kinds.has(Kind::Resources) {
        let prints = uris.iter().map(|uri| (uri.clone(), served.print(uri)));
        server.session.accepted().extend(prints);
    }
    let mut accepted = requested.clone();
    accepted.resource_subscriptions = accepted.resource_subscriptions.filter(|wanted| wanted.len() == uris.len());
    Some(accepted)
}

/// Tells a stream of changes until its client, or the server, has enough.
pub(crate) async fn listen(server: &Server, context: SubscriptionContext) -> Result<(), ErrorData> {
    let stamp = context.request_context().extensions.get::<Stamp>().cloned();
    let closing = server.live.closing();
    let live = server.live.watch();
    tokio::select! {
        biased;
        () = context.cancelled() => {}
        () = closing.cancelled() => {}
        () = tell_stream((context.sink(), server), live, stamp) => {}
    }
    Ok(())
}

/// The sink lets pass only what was asked for, and says so by an error that is none.
async fn tell_stream(
    (sink, server): (&SubscriptionSink, &Server),
    mut live: watch::Receiver<Arc<Served>>,
    stamp: Option<Stamp>,
) {
    let uris = sink.accepted().resource_subscriptions.clone().unwrap_or_default();
    let served = live.borrow_and_update().clone();
    let mut told = stamp.as_ref().map_or(server.born, |stamp| stamp.news);
    let mut prints = match stamp.filter(|stamp| stamp.prints.len() == uris.len()) {
        Some(stamp) => stamp.prints.to_vec(),
        None => accepted_prints(&uris, &server.session, &served),
    };
    // What was read before the catalog was replaced cannot be told from what is there now.
    if served.news.generation != told.generation {
        for (uri, print) in uris.iter().zip(&mut prints) {
            *print = served.print(uri);
            let _ = sink.notify_resource_updated(uri.clone()).await;
        }
    }
    tell_lists(sink, &served, &mut told).await;
    drop(served);
    // Files are looked at when a catalog comes, not before: one that is being written is told of once.
    while live.changed().await.is_ok() {
        let served = live.borrow_and_update().clone();
        tell_lists(sink, &served, &mut told).await;
        for (uri, print) in uris.iter().zip(&mut prints) {
            let now = served.print(uri);
            if std::mem::replace(print, now) != now {
                let _ = sink.notify_resource_updated(uri.clone()).await;
            }
        }
    }
    std::future::pending().await
}

/// What the resources were when the stream was acknowledged.
fn accepted_prints(uris: &[String], session: &Session, served: &Served) -> Vec<Option<u64>> {
    let mut accepted = session.accepted();
    uris.iter().map(|uri| accepted.remove(uri).unwrap_or_else(|| served.print(uri))).collect()
}

async fn tell_lists(sink: &SubscriptionSink, served: &Served, told: &mut News) {
    if served.news.tools != told.tools {
        let _ = sink.notify_tool_list_changed().await;
    }
    if served.news.prompts != told.prompts {
        let _ = sink.notify_prompt_list_changed().await;
    }
    if served.news.resources != told.resources {
        let _ = sink.notify_resource_list_changed().await;
    }
    *told = served.news;
}
