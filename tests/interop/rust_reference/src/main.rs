//! A server of the official Rust SDK, which serves what the manifest beside it says: `stdio`, or `http ADDR`.

mod desk;

use std::error::Error;

use rmcp::{
    ServiceExt,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use tokio::net::TcpListener;

use desk::Desk;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => {
            Desk::new()?.serve(stdio()).await?.waiting().await?;
            Ok(())
        }
        ["http", address] => serve_http(address).await,
        _ => Err("stdio | http ADDR".into()),
    }
}

/// Serves at `/mcp`, with a single answer as JSON where the SDK can, and with no origin allowed, as folio does.
async fn serve_http(address: &str) -> Result<(), Box<dyn Error>> {
    let config = StreamableHttpServerConfig::default().with_json_response(true).enforce_origin_validation();
    let desk = Desk::new()?;
    let service =
        StreamableHttpService::new(move || Ok(desk.of_a_session()), LocalSessionManager::default().into(), config);
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
