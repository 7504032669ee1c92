//! The smallest transport, two queues: it tests the documentation of the trait.

use rmcp::{
    RoleServer,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::{TEST_TIMEOUT, sessionless_params};
use crate::{
    server::testing::{TEST_MANIFEST, build_catalog, shared_server},
    transport::{self, Transport},
};

struct MemoryTransport {
    from_peer: UnboundedReceiver<RxJsonRpcMessage<RoleServer>>,
    to_peer: UnboundedSender<TxJsonRpcMessage<RoleServer>>,
}

impl Transport<RoleServer> for MemoryTransport {
    type Error = mpsc::error::SendError<TxJsonRpcMessage<RoleServer>>;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(self.to_peer.send(message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.from_peer.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.from_peer.close();
        Ok(())
    }
}

#[tokio::test]
async fn memory_transport_serves_and_notifies() {
    let shared_server = shared_server(TEST_MANIFEST);
    let ((say, from_peer), (to_peer, mut hear)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let serving = tokio::spawn({
        let shared_server = shared_server.clone();
        async move {
            transport::serve(&shared_server, MemoryTransport { from_peer, to_peer }, CancellationToken::new()).await
        }
    });
    let say_json = |message: Value| say.send(serde_json::from_value(message).unwrap()).unwrap();
    let mut hear_json = async || {
        let heard = tokio::time::timeout(TEST_TIMEOUT, hear.recv()).await.unwrap();
        heard.map(|message| serde_json::to_value(message).unwrap())
    };
    let list = sessionless_params(json!({}));
    say_json(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": list }));
    assert_eq!(hear_json().await.unwrap()["result"]["tools"].as_array().unwrap().len(), 3);
    let begin =
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "m", "version": "1" } });
    say_json(json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": begin }));
    assert_eq!(hear_json().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    say_json(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    say_json(json!({ "jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": { "name": "greet" } }));
    assert_eq!(hear_json().await.unwrap()["result"]["messages"][0]["content"]["text"], "Hello");
    shared_server.replace(build_catalog(&TEST_MANIFEST.replace("  wait:", "  later:")));
    assert_eq!(hear_json().await.unwrap()["method"], "notifications/tools/list_changed");
    drop(say);
    assert_eq!(hear_json().await, None);
    tokio::time::timeout(TEST_TIMEOUT, serving).await.unwrap().unwrap();
}
