//! The transport of one HTTP session, as its handler sees it.

use std::{convert::Infallible, sync::Arc};

use rmcp::{
    RoleServer,
    model::{CancelledNotification, CancelledNotificationParam, ClientNotification, JsonRpcMessage},
    service::TxJsonRpcMessage,
    transport::Transport,
};
use tokio::sync::mpsc;

use crate::transport::message::Incoming;

use super::session::HttpSession;

/// A session as the handler's side sees it.
pub(super) struct SessionTransport {
    pub(super) session: Arc<HttpSession>,
    pub(super) inbox: mpsc::UnboundedReceiver<Incoming>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let delayed = self.session.send(message).map(|delayed| Box::pin(delayed.push_when_read()));
        async move {
            if let Some(delayed) = delayed {
                delayed.await;
            }
            Ok(())
        }
    }

    /// After the end of the session every pending request is cancelled: rmcp would wait for their answers.
    async fn receive(&mut self) -> Option<Incoming> {
        if !self.session.end_token().is_cancelled() {
            tokio::select! {
                biased;
                () = self.session.end_token().cancelled() => {}
                message = self.inbox.recv() => return message,
            }
        }
        let given_up = self.session.take_any_pending();
        given_up.map(|id| {
            let params = CancelledNotificationParam::new(Some(id), Some("session ended".to_owned()));
            let cancelled = ClientNotification::CancelledNotification(CancelledNotification::new(params));
            JsonRpcMessage::notification(cancelled)
        })
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.session.end();
        Ok(())
    }
}

impl Drop for SessionTransport {
    fn drop(&mut self) {
        self.session.end();
    }
}
