//! `folio health`: asks a server that listens for HTTP whether it is ready.

use std::time::Duration;

use anyhow::Context;
use url::Url;

use super::HealthArgs;
use crate::cli::process::{build_runtime, new_world};
use crate::cli::{Exit, Output};
use crate::world::{HttpRequest, World as _};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Prints whether the server is ready.
pub(crate) fn run(arguments: &HealthArgs, output: &Output) -> anyhow::Result<Exit> {
    let url = format!("http://{}/readyz", arguments.address);
    let url = Url::parse(&url).with_context(|| format!("invalid address `{}`", arguments.address))?;
    let mut request = HttpRequest::new("GET", url.clone());
    request.host_policy.allow_url(&url);
    request.timeout = TIMEOUT;
    request.follows_redirects = false;
    match build_runtime()?.block_on(new_world().send_request(request)) {
        Ok(response) if response.status == 200 => {
            output.print("ready\n")?;
            Ok(Exit::Success)
        }
        Ok(response) => {
            output.eprint(&format!("not ready: {url} answers with HTTP status {}\n", response.status));
            Ok(Exit::Failure)
        }
        Err(error) => {
            output.eprint(&format!("not ready: {error}\n"));
            Ok(Exit::Failure)
        }
    }
}
