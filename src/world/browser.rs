//! Opens a page in the browser of the user.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Starts the browser that `BROWSER` names, else that of the desktop. It lives on when the server ends.
///
/// # Errors
/// There is no browser.
pub fn open_in_browser(page: &OsStr) -> io::Result<()> {
    let named = std::env::var_os("BROWSER");
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let program = named.unwrap_or_else(|| usual.into());
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().map(drop)
}
