//! A terminal with nobody at it: what folio shows there, and what is typed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::harness::*;

pub const CTRL_C: &str = "\u{3}";
pub const CTRL_D: &str = "\u{4}";
pub const ENTER: &str = "\r";
pub const TAB: &str = "\t";

/// A folio whose stdin and stderr are a terminal; its stdout is a pipe.
pub struct PseudoTerminal {
    keyboard: File,
    screen: Arc<WaitQueue<u8>>,
    /// How much of the screen was seen.
    seen: usize,
    child: Child,
    stdout: Arc<WaitQueue<u8>>,
    reading: Vec<JoinHandle<()>>,
}

/// Where the stdout of a folio goes.
enum StdoutTarget {
    Pipe,
    Terminal,
}

impl PseudoTerminal {
    /// Starts folio in a folder.
    pub fn start(folder: &Path, arguments: &[&str]) -> PseudoTerminal {
        PseudoTerminal::start_on("xterm", folder, arguments)
    }

    /// The same on a terminal of another kind.
    pub fn start_on(term: &str, folder: &Path, arguments: &[&str]) -> PseudoTerminal {
        let mut command = Command::new(FOLIO_BIN);
        command.args(arguments).current_dir(folder).env("TERM", term);
        PseudoTerminal::start_command(command)
    }

    /// The same with a command that has its folder and variables.
    pub fn start_command(command: Command) -> PseudoTerminal {
        PseudoTerminal::start_with(command, StdoutTarget::Pipe)
    }

    /// The same with its stdout on the terminal too.
    pub fn start_with_stdout(command: Command) -> PseudoTerminal {
        PseudoTerminal::start_with(command, StdoutTarget::Terminal)
    }

    fn start_with(mut command: Command, stdout_target: StdoutTarget) -> PseudoTerminal {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let flags = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let mut options = File::options();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true).write(true), flags);
        let user = options.open(path).unwrap();
        tcsetwinsize(&user, Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        command.env_remove("FOLIO_LOG").env_remove("NO_COLOR");
        command.stdin(user.try_clone().unwrap()).stderr(user.try_clone().unwrap());
        match stdout_target {
            StdoutTarget::Pipe => command.stdout(Stdio::piped()),
            StdoutTarget::Terminal => command.stdout(user),
        };
        take_terminal(&mut command);
        let mut child = command.spawn().unwrap();
        drop(command);
        let (screen, stdout) = (Arc::new(WaitQueue::default()), Arc::new(WaitQueue::default()));
        let controller = File::from(controller);
        let mut reading = vec![read_into(controller.try_clone().unwrap(), &screen)];
        reading.extend(child.stdout.take().map(|pipe| read_into(pipe, &stdout)));
        PseudoTerminal { keyboard: controller, screen, seen: 0, child, stdout, reading }
    }

    /// Types keys.
    pub fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen shows a text behind what was seen.
    pub fn wait_for(&mut self, text: &str) {
        let seen = self.seen;
        let end = |bytes: &mut std::collections::VecDeque<u8>| {
            let bytes = &bytes.make_contiguous()[seen..];
            bytes.windows(text.len()).position(|window| window == text.as_bytes()).map(|at| seen + at + text.len())
        };
        let found = self.screen.wait(TEST_TIMEOUT, end);
        self.seen = found.unwrap_or_else(|| panic!("the screen does not show {text:?}:\n{}", self.screen()));
    }

    /// Waits for a question, and types a line.
    pub fn answer(&mut self, question: &str, line: &str) {
        self.wait_for(question);
        self.type_keys(&format!("{line}{ENTER}"));
    }

    /// Interrupts the program without a key, which the screen would show.
    pub fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    /// Waits until stdout has a text; gives all of it.
    pub fn wait_for_stdout(&mut self, text: &str) -> String {
        let found = self.stdout.wait(TEST_TIMEOUT, |bytes| {
            let all = String::from_utf8_lossy(bytes.make_contiguous()).into_owned();
            all.contains(text).then_some(all)
        });
        found.unwrap_or_else(|| panic!("stdout has no {text:?}: {:?}\n{}", text_of(&self.stdout), self.screen()))
    }

    /// All that was shown so far.
    pub fn screen(&self) -> String {
        text_of(&self.screen)
    }

    /// Waits until it ends.
    pub fn finish(mut self) -> CommandOutput {
        wait_until("the end of folio", || self.child.try_wait().unwrap().is_some());
        let code = self.child.wait().unwrap().code();
        // Nobody writes on the terminal any more, so both readers come to an end.
        for reading in std::mem::take(&mut self.reading) {
            reading.join().unwrap();
        }
        CommandOutput { code, out: text_of(&self.stdout), err: text_of(&self.screen) }
    }
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(bytes: &WaitQueue<u8>) -> String {
    String::from_utf8_lossy(&bytes.all()).into_owned()
}

fn read_into(mut from: impl Read + Send + 'static, queue: &Arc<WaitQueue<u8>>) -> JoinHandle<()> {
    let queue = queue.clone();
    thread::spawn(move || {
        let mut buffer = [0; 1024];
        // The end of a terminal is an error on Linux.
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            buffer[..count].iter().for_each(|byte| queue.push(*byte));
        }
    })
}

/// Lets the program control its terminal, as a shell does.
#[allow(unsafe_code, reason = "between fork and exec only system calls are made")]
fn take_terminal(command: &mut Command) {
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
}
