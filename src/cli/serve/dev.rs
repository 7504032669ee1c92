//! `folio dev`.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use super::args::DevArgs;
use super::dev_session::DevSession;
use crate::cli::{Exit, Output};
use crate::server::SharedServer;
use crate::transport::http::{self, DevPage, HttpOptions};
use crate::world::{open_in_browser, random_token};

/// How long the file lives that leads a browser to the page.
const REDIRECT_LIFETIME: Duration = Duration::from_secs(60);

/// Serves a manifest to clients while it is written.
pub(crate) fn run(mut arguments: DevArgs, output: &Output) -> anyhow::Result<Exit> {
    // Clients write to a pipe or a socket. On a terminal and with `/dev/null` they connect over HTTP.
    let is_device = |metadata: fs::Metadata| metadata.file_type().is_char_device();
    let is_without_peer = io::stdin().is_terminal() || fs::metadata("/dev/stdin").is_ok_and(is_device);
    let has_no_peer = is_without_peer && arguments.serve.http.is_none();
    if has_no_peer {
        arguments.serve.http = Some(None);
    }
    let page = (arguments.open || has_no_peer && io::stdin().is_terminal())
        .then_some(DevPageOptions { opens_browser: arguments.open });
    if page.is_none() && arguments.serve.http.is_some() {
        output.eprint_unlogged(
            "help: `--open` shows a page with every prompt, tool and resource, renewed on each save\n",
        );
    }
    super::run_with(&arguments.serve, Some(Arc::new(DevSession::new(output.clone(), page))), output)
}

/// How the page is served.
#[derive(Debug, Clone, Copy)]
pub(super) struct DevPageOptions {
    /// Whether the browser is started.
    opens_browser: bool,
}

/// Serves the page on a port of this machine until `stop` is cancelled, and says where.
pub(super) async fn serve_dev_page(
    session: &DevSession,
    shared_server: &SharedServer,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let Some(options) = session.page else { return Ok(()) };
    let token = random_token().context("the system has no randomness for the token of the page")?;
    let page = DevPage::new(&token, session.events.clone());
    let listening = HttpOptions { listen: "127.0.0.1:0".to_owned(), page: Some(page), ..HttpOptions::default() };
    let bound = http::bind(listening).await?;
    let address = format!("{}/#{token}", bound.origin());
    session.output.eprint_unlogged(&format!("page: {address}\n"));
    if options.opens_browser {
        start_browser(&address);
    }
    let shared_server = shared_server.clone();
    tokio::spawn(async move { bound.serve(&shared_server, stop.clone(), stop).await });
    Ok(())
}

/// Starts the browser, unless `BROWSER` is empty.
fn start_browser(address: &str) {
    if std::env::var_os("BROWSER").is_some_and(|browser| browser.is_empty()) {
        return;
    }
    match open_page(address) {
        Ok(file) => drop(tokio::spawn(async move {
            let _file = file;
            tokio::time::sleep(REDIRECT_LIFETIME).await;
        })),
        Err(error) => {
            tracing::warn!(target: "folio::dev", "no browser could be started ({error}): open the page yourself");
        }
    }
}

/// The file that leads a browser to the page, which goes when the browser has read it, or the server ends.
struct RedirectFile(PathBuf);

impl Drop for RedirectFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Starts the browser by way of a file that only the user can read: all users of the machine see the arguments of a
/// program, and the address has the token.
fn open_page(address: &str) -> io::Result<RedirectFile> {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let name = random_token().ok_or(io::ErrorKind::Unsupported)?;
    let path = folder.join(format!("folio-dev-{name}.html"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    writeln!(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={address}\">")?;
    let mut url = OsString::from("file://");
    url.push(&path);
    let file = RedirectFile(path);
    open_in_browser(&url)?;
    Ok(file)
}
