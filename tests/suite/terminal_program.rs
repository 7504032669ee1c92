//! A program on a terminal, which a test reads and types on.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::{FOLIO_BIN, TEST_TIMEOUT, wait_until};

/// A program whose stdin, stdout and stderr are a terminal.
pub struct TerminalProgram {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    /// Ends when the terminal is closed.
    reading: Option<JoinHandle<()>>,
}

impl TerminalProgram {
    pub fn start(folder: &Path, arguments: &[&str]) -> TerminalProgram {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let stdio = || Stdio::from(terminal.try_clone().unwrap());
        let mut command = Command::new(FOLIO_BIN);
        command.args(arguments).current_dir(folder).env_remove("FOLIO_LOG").env("NO_COLOR", "1");
        let child = command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
        let keyboard = File::from(controller);
        let screen = Arc::<Mutex<String>>::default();
        let (mut reader, seen) = (keyboard.try_clone().unwrap(), screen.clone());
        let reading = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal that nobody has open is an error on Linux.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]).replace('\r', ""));
            }
        });
        TerminalProgram { child, keyboard, screen, reading: Some(reading) }
    }

    pub fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Waits for a text, and types a line.
    pub fn answer(&mut self, question: &str, line: &str) {
        self.wait_for(question);
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits until a text is shown.
    pub fn wait_for(&self, text: &str) {
        wait_until(text, || self.screen().contains(text));
    }

    /// Waits for the end, and returns the exit status and what was shown.
    pub fn wait_for_exit(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.screen());
            thread::sleep(Duration::from_millis(10));
        };
        self.reading.take().unwrap().join().unwrap();
        (status.code(), self.screen())
    }

    pub fn interrupt(&self) {
        let kill = format!("kill -INT {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

impl Drop for TerminalProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
