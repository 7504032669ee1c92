//! An example under test: a copy that may be edited, and the server over it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rmcp::transport::TokioChildProcess;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::check::{Outcome, SOON, check, same};

/// A copy of an example in a folder of its own, beside the folder that its tools work on.
pub struct Example {
    place: TempDir,
    name: String,
}

impl Example {
    pub fn copy(examples: &Path, name: &str) -> Outcome<Self> {
        let place = tempfile::Builder::new().prefix(&format!("folio-{name}-")).tempdir()?;
        let example = Self { place, name: name.to_owned() };
        copy(&examples.join(name), &example.folder())?;
        fs::create_dir(example.desk())?;
        Ok(example)
    }

    pub fn folder(&self) -> PathBuf {
        self.place.path().join(&self.name)
    }

    pub fn desk(&self) -> PathBuf {
        self.place.path().join("desk")
    }

    pub fn read(&self, file: &str) -> Outcome<String> {
        Ok(fs::read_to_string(self.folder().join(file))?)
    }

    pub fn write(&self, file: &str, text: &str) -> Outcome {
        Ok(fs::write(self.folder().join(file), text)?)
    }

    /// Replaces a text of the manifest, which must hold it once, in the way of an editor that renames over it.
    pub fn edit(&self, old: &str, new: &str) -> Outcome {
        let text = self.read("folio.yaml")?;
        let times = text.matches(old).count();
        if times != 1 {
            return Err(format!("folio.yaml holds {old:?} {times} times").into());
        }
        self.write(".folio.yaml.new", &text.replace(old, new))?;
        Ok(fs::rename(self.folder().join(".folio.yaml.new"), self.folder().join("folio.yaml"))?)
    }

    pub fn add_prompt(&self) -> Outcome {
        let prompt = "  farewell: { description: Say goodbye, text: \"Say goodbye.\" }\n";
        self.edit("\nprompts:\n", &format!("\nprompts:\n{prompt}"))
    }

    pub fn add_tool(&self, tool: &str) -> Outcome {
        self.edit("\ntools:\n", &format!("\ntools:\n{tool}"))
    }

    fn serve(&self, binary: &Path) -> Command {
        let mut command = Command::new(binary);
        command.arg("serve").arg(self.folder()).env("DESK", self.desk()).env("FOLIO_WORKSPACE", self.desk());
        command
    }

    /// A server that the SDK starts and ends.
    pub fn over_stdio(&self, binary: &Path) -> Outcome<(TokioChildProcess, Said)> {
        let (server, stderr) = TokioChildProcess::builder(self.serve(binary)).stderr(Stdio::piped()).spawn()?;
        Ok((server, Said::by(stderr)))
    }

    /// A server over HTTP.
    pub fn over_http(&self, binary: &Path) -> Outcome<Server> {
        let mut command = self.serve(binary);
        command.arg("--http=127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Dropped where a check fails, and must not outlive it.
        let mut process = command.kill_on_drop(true).spawn()?;
        let said = Said::by(process.stderr.take());
        Ok(Server { process, said })
    }
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copied = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &copied)?;
        } else {
            fs::copy(entry.path(), copied)?;
        }
    }
    Ok(())
}

/// The lines that a server wrote to stderr.
pub struct Said(watch::Receiver<Vec<String>>);

impl Said {
    fn by(stderr: Option<ChildStderr>) -> Self {
        let (lines, said) = watch::channel(Vec::new());
        if let Some(stderr) = stderr {
            let mut stderr = BufReader::new(stderr).lines();
            tokio::spawn(async move {
                while let Ok(Some(line)) = stderr.next_line().await {
                    lines.send_modify(|lines| lines.push(line));
                }
            });
        }
        Self(said)
    }

    /// What follows these words in the first line that begins with them.
    async fn after(&mut self, words: &str) -> Option<String> {
        let find = |lines: &Vec<String>| lines.iter().find_map(|line| line.strip_prefix(words).map(str::to_owned));
        let came = timeout(SOON, self.0.wait_for(|lines| find(lines).is_some())).await;
        came.ok()?.ok().and_then(|lines| find(&lines))
    }

    /// Gives everything to whoever looks for what went wrong.
    pub fn tell(&self) {
        eprintln!("  the server said:");
        for line in self.0.borrow().iter() {
            eprintln!("    {line}");
        }
    }
}

/// A server over HTTP, which must end in order when it is asked to.
pub struct Server {
    process: Child,
    pub said: Said,
}

impl Server {
    pub async fn url(&mut self) -> Outcome<String> {
        let url = self.said.after("listening on ").await;
        check("the server says where it listens", url.is_some(), json!(url))?;
        url.ok_or_else(|| "there is no address".into())
    }

    pub async fn end(mut self) -> Outcome {
        let id = self.process.id().ok_or("the server has ended by itself")?;
        same("the server is asked to end", json!(signal("-TERM", id).await?), json!(true))?;
        let status = timeout(SOON, self.process.wait()).await??;
        same("it ends in order", json!(status.code()), json!(0))?;
        let mut left = String::new();
        if let Some(stdout) = &mut self.process.stdout {
            stdout.read_to_string(&mut left).await?;
        }
        same("nothing on stdout but the protocol", json!(left), json!(""))
    }
}

/// Whether a process is there.
pub async fn lives(id: u32) -> Outcome<bool> {
    signal("-0", id).await
}

/// Sends a signal by the shell, as neither the SDK nor the runtime has a way to; says whether it could.
async fn signal(signal: &str, id: u32) -> Outcome<bool> {
    let mut shell = Command::new("sh");
    let sent = shell.args(["-c", &format!("kill {signal} {id}")]).stderr(Stdio::null()).status().await?;
    Ok(sent.success())
}
