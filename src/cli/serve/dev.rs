//! `folio dev`.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use super::args::DevArgs;
use super::dev_session::DevSession;
use crate::cli::{Exit, Output};
use crate::digest::Digest;
use crate::server::SharedServer;
use crate::transport::http::{self, BoundServer, DevPage, HttpError, HttpOptions};
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
        .then(|| DevPageOptions { opens_browser: arguments.open, port: page_port(&arguments.serve.path) });
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
    /// The port that is tried first.
    port: u16,
}

/// The ports of pages: those below the ones that systems give to outgoing connections.
const PAGE_PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The port of a folder's page, as a browser keeps what it knows of a page by its port.
fn page_port(path: &Path) -> u16 {
    let folder = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let digest = Digest::new("page port").chain_update(folder.as_os_str().as_encoded_bytes()).finish_u64();
    let count = u64::from(PAGE_PORTS.end - PAGE_PORTS.start);
    PAGE_PORTS.start + u16::try_from(digest % count).unwrap_or_default()
}

/// Listens on the port of the folder, or on another where that is taken.
async fn bind_page(port: u16, page: &DevPage) -> Result<BoundServer, HttpError> {
    let options = |port: u16| HttpOptions {
        listen: format!("127.0.0.1:{port}"),
        page: Some(page.clone()),
        ..HttpOptions::default()
    };
    match http::bind(options(port)).await {
        Ok(bound) => Ok(bound),
        Err(_) => http::bind(options(0)).await,
    }
}

/// Serves the page on a port of this machine until `stop` is cancelled, and says where.
pub(super) async fn serve_dev_page(
    session: &Arc<DevSession>,
    shared_server: &SharedServer,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let Some(options) = session.page else { return Ok(()) };
    let token = random_token().context("the system has no randomness for the token of the page")?;
    let page = DevPage::new(&token, session.events.clone(), session.clone());
    let bound = bind_page(options.port, &page).await?;
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
