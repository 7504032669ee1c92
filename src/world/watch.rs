//! A process that outlives this one by a moment, to end the programs of calls that it could not end itself.
//!
//! Nothing in a process runs when SIGKILL ends it. So with the first program a shell is started that reads the groups
//! of the running calls from a pipe; when the pipe closes it kills them, and on Linux whatever else bears the mark. It
//! costs nothing between calls and a line of ten bytes for each. Where there is no `/bin/sh` there is no watcher.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::Pid;

/// No value ever becomes part of this text. Of its arguments, the first is what all marks begin with.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
groups=' '
while read -r word group; do
  case $word in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
    .) exit 0 ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
rounds=0
while [ "$rounds" -lt 20 ]; do
  marked=$(grep -ls "^Max realtime timeout  *$1[0-9]\{9\} " /proc/[0-9]*/limits)
  [ -n "$marked" ] || break
  for limits in $marked; do
    limits=${limits#/proc/}
    kill -s KILL "${limits%/limits}"
  done
  rounds=$((rounds + 1))
done
"#;

/// The watcher, once it is needed.
pub(super) struct Watch {
    marks: String,
    process: Option<(Child, ChildStdin)>,
}

impl Watch {
    /// Prepares a watcher for processes whose mark begins with `marks`.
    pub(super) fn new(marks: String) -> Watch {
        Watch { marks, process: None }
    }

    /// Starts it unless it runs; a new one is told of `groups`.
    pub(super) fn keep(&mut self, groups: &[Pid]) {
        let gone = self.process.as_mut().is_none_or(|(child, _)| !matches!(child.try_wait(), Ok(None)));
        if gone {
            self.process = self.start();
            groups.iter().for_each(|group| self.add(*group));
        }
    }

    /// Has it kill `group` when this process dies.
    pub(super) fn add(&mut self, group: Pid) {
        self.tell(&format!("+ {}\n", group.as_raw_nonzero()));
    }

    /// Has it forget `group`.
    pub(super) fn remove(&mut self, group: Pid) {
        self.tell(&format!("- {}\n", group.as_raw_nonzero()));
    }

    /// So few bytes are written whole or not at all; a watcher that does not read them is replaced.
    fn tell(&mut self, line: &str) {
        let Some((child, pipe)) = &mut self.process else { return };
        if pipe.write_all(line.as_bytes()).is_err() {
            let _ = child.kill();
            let _ = child.wait();
            self.process = None;
        }
    }

    fn start(&self) -> Option<(Child, ChildStdin)> {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", SCRIPT, "folio-watch", &self.marks])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        #[cfg(target_os = "linux")]
        let child = super::kin::start(None, || shell.spawn());
        #[cfg(not(target_os = "linux"))]
        let child = shell.spawn();
        let mut child = child.inspect_err(|fault| tracing::debug!("no watcher for programs: {fault}")).ok()?;
        let pipe = child.stdin.take()?;
        rustix::io::ioctl_fionbio(&pipe, true).ok()?;
        Some((child, pipe))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tell(".\n");
        if let Some((mut child, pipe)) = self.process.take() {
            drop(pipe);
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::Watch;
    use rustix::process::Pid;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    #[test]
    fn a_closed_pipe_ends_the_groups_that_are_kept_and_no_other() {
        let mut sleepers = [0, 1, 2].map(|_| Command::new("/bin/sleep").arg("20").process_group(0).spawn().unwrap());
        let group = |at: usize| Pid::from_raw(sleepers[at].id().cast_signed()).unwrap();
        let groups = [group(0), group(1), group(2)];
        let mut watch = Watch::new("no mark".into());
        watch.keep(&groups[..1]);
        watch.add(groups[1]);
        watch.add(groups[2]);
        watch.remove(groups[1]);
        let (mut watcher, pipe) = watch.process.take().unwrap();
        drop(pipe);
        watcher.wait().unwrap();
        assert_eq!(sleepers[0].wait().unwrap().signal(), Some(9));
        assert_eq!(sleepers[2].wait().unwrap().signal(), Some(9));
        assert!(matches!(sleepers[1].try_wait(), Ok(None)));
        sleepers[1].kill().unwrap();
        sleepers[1].wait().unwrap();
    }

    #[test]
    fn a_watcher_that_is_let_go_leaves_without_a_deed() {
        let mut sleeper = Command::new("/bin/sleep").arg("20").process_group(0).spawn().unwrap();
        let mut watch = Watch::new("no mark".into());
        watch.keep(&[Pid::from_raw(sleeper.id().cast_signed()).unwrap()]);
        drop(watch);
        assert!(matches!(sleeper.try_wait(), Ok(None)));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}
