//! The official Rust SDK's client against five examples, over stdio and HTTP, in each manner in which it begins.
//!
//!     rust_sdk FOLIO EXAMPLES

mod ask_first;
mod assistant;
mod check;
mod docs;
mod git_desk;
mod hello;
mod mode;
mod peer;
mod person;
mod served;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rmcp::model::Implementation;
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::json;
use tokio::time::timeout;

use check::{Outcome, same};
use mode::Mode;
use peer::Peer;
use served::{Example, lives};

/// Seconds that everything together may take.
const ALL: u64 = 280;

const EXAMPLES: [&str; 5] = ["hello", "docs", "git-desk", "assistant", "ask-first"];

async fn session(name: &str, peer: &mut Peer, example: &Example) -> Outcome {
    let server = peer.server();
    same("who answers", server["name"].clone(), json!(name))?;
    match name {
        "hello" => hello::session(peer, example).await,
        "docs" => docs::session(peer, example).await,
        "git-desk" => git_desk::session(peer, example).await,
        "assistant" => assistant::session(peer, example).await,
        "ask-first" => ask_first::session(peer, example).await,
        _ => Err(format!("there is no session for {name}").into()),
    }
}

async fn over_stdio(name: &str, mode: Mode, binary: &Path, examples: &Path) -> Outcome {
    let example = Example::copy(examples, name)?;
    let (server, said) = example.over_stdio(binary)?;
    let id = server.id().ok_or("the server did not start")?;
    let run = async {
        let mut peer = Peer::connect(server, mode).await?;
        session(name, &mut peer, &example).await?;
        peer.close().await?;
        // In which way the SDK does not tell: it waits, and would end a server that stays.
        same("and the server ended", json!(lives(id).await?), json!(false))
    };
    run.await.inspect_err(|_| said.tell())
}

async fn over_http(name: &str, mode: Mode, binary: &Path, examples: &Path) -> Outcome {
    let example = Example::copy(examples, name)?;
    let mut server = example.over_http(binary)?;
    let run = async {
        let url = server.url().await?;
        let mut peer = Peer::connect(StreamableHttpClientTransport::from_uri(url), mode).await?;
        session(name, &mut peer, &example).await?;
        peer.close().await
    };
    if let Err(error) = run.await {
        server.said.tell();
        return Err(error);
    }
    server.end().await
}

async fn run(binary: &Path, examples: &Path) -> Outcome {
    let sdk = Implementation::from_build_env().version;
    for mode in [Mode::Initialize, Mode::Old, Mode::Discover, Mode::Auto] {
        for name in EXAMPLES {
            println!("{name} over stdio, rmcp {sdk}, {mode}");
            over_stdio(name, mode, binary, examples).await?;
            println!("{name} over HTTP, rmcp {sdk}, {mode}");
            over_http(name, mode, binary, examples).await?;
        }
    }
    Ok(())
}

/// On one thread: the SDK hears each notice in a task of its own, and only so are they heard in their order.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [binary, examples] = arguments.as_slice() else {
        eprintln!("usage: rust_sdk FOLIO EXAMPLES");
        return ExitCode::from(2);
    };
    let run = timeout(Duration::from_secs(ALL), run(binary, examples)).await;
    match run.unwrap_or_else(|_| Err(Box::<dyn Error + Send + Sync>::from("it takes too long"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
