//! What a server and its supervisor say to each other on their socket.
//!
//! A request is its length, its kind, the number of the program, and parts, each with its own length before it. Pipes
//! come along with the first byte of the request that they belong to. All replies are of one length.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

/// A program's stdin, stdout and stderr.
const MOST_PIPES: usize = 3;
const START: u8 = 0;
const END: u8 = 1;
const PING: u8 = 2;

/// A program to be started.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::world) struct Start {
    /// Its path.
    pub(in crate::world) program: OsString,
    /// What it is called by: the first of its arguments.
    pub(in crate::world) name: OsString,
    pub(in crate::world) args: Vec<OsString>,
    pub(in crate::world) cwd: OsString,
    pub(in crate::world) env: Vec<(OsString, OsString)>,
}

/// What the server asks for; each program has a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Start(u64, Box<Start>),
    /// Kills whatever is left of it.
    End(u64),
    /// Is answered at once.
    Ping,
}

/// The pipes of a program that is started.
#[derive(Debug)]
pub(in crate::world) struct Pipes {
    /// Without it, it reads nothing.
    pub(in crate::world) stdin: Option<OwnedFd>,
    pub(in crate::world) stdout: OwnedFd,
    pub(in crate::world) stderr: OwnedFd,
}

/// A request as it is sent.
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    pipes: Vec<OwnedFd>,
    /// How many bytes are sent.
    sent: usize,
}

impl Outgoing {
    pub(super) fn start(id: u64, start: &Start, pipes: Pipes) -> Outgoing {
        let mut bytes = head(START, id);
        bytes.push(u8::from(pipes.stdin.is_some()));
        for part in [&start.program, &start.name, &start.cwd] {
            put(&mut bytes, part);
        }
        put_count(&mut bytes, start.args.len());
        start.args.iter().for_each(|arg| put(&mut bytes, arg));
        for (name, value) in &start.env {
            put(&mut bytes, name);
            put(&mut bytes, value);
        }
        let pipes = pipes.stdin.into_iter().chain([pipes.stdout, pipes.stderr]).collect();
        Outgoing { bytes: measured(bytes), pipes, sent: 0 }
    }

    pub(super) fn end(id: u64) -> Outgoing {
        Outgoing { bytes: measured(head(END, id)), pipes: Vec::new(), sent: 0 }
    }

    pub(super) fn ping() -> Outgoing {
        Outgoing { bytes: measured(head(PING, 0)), pipes: Vec::new(), sent: 0 }
    }

    /// Sends what there is room for, without waiting, and says whether that was all. Of descriptors on their way, too, a
    /// system lets there be only so many.
    pub(super) fn send(&mut self, socket: &UnixStream) -> io::Result<bool> {
        while self.sent < self.bytes.len() {
            match self.send_some(socket) {
                Ok(count) => {
                    self.sent += count;
                    self.pipes.clear();
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM) => return Ok(false),
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok(true)
    }

    fn send_some(&self, socket: &UnixStream) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_PIPES))];
        let mut along = SendAncillaryBuffer::new(&mut space);
        let pipes: Vec<_> = self.pipes.iter().map(AsFd::as_fd).collect();
        if !pipes.is_empty() {
            along.push(SendAncillaryMessage::ScmRights(&pipes));
        }
        let rest = IoSlice::new(self.bytes.get(self.sent..).unwrap_or_default());
        rustix::net::sendmsg(socket, &[rest], &mut along, SendFlags::DONTWAIT)
    }
}

fn head(kind: u8, id: u64) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.push(kind);
    bytes.extend(id.to_ne_bytes());
    bytes
}

fn put(bytes: &mut Vec<u8>, part: &OsStr) {
    put_count(bytes, part.len());
    bytes.extend(part.as_bytes());
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_ne_bytes());
}

/// Writes the length where room was left for it.
fn measured(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(bytes.len().saturating_sub(4)).unwrap_or(u32::MAX);
    if let Some(room) = bytes.first_chunk_mut() {
        *room = length.to_ne_bytes();
    }
    bytes
}

/// What has come of requests so far.
pub(super) struct Inbox {
    /// What is read at once.
    buffer: Box<[u8]>,
    bytes: Vec<u8>,
    pipes: VecDeque<OwnedFd>,
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox { buffer: vec![0; 64 << 10].into(), bytes: Vec::new(), pipes: VecDeque::new() }
    }
}

impl Inbox {
    /// Reads what is there, and says how much that was: nothing at the end.
    pub(super) fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_PIPES))];
        let mut along = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut self.buffer)];
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::empty();
        let count = rustix::net::recvmsg(socket, &mut slices, &mut along, flags)?.bytes;
        for message in along.drain() {
            if let RecvAncillaryMessage::ScmRights(pipes) = message {
                self.pipes.extend(pipes);
            }
        }
        #[cfg(not(target_os = "linux"))]
        for pipe in &self.pipes {
            rustix::io::fcntl_setfd(pipe, rustix::io::FdFlags::CLOEXEC)?;
        }
        self.bytes.extend(self.buffer.get(..count).unwrap_or_default());
        Ok(count)
    }

    /// Takes out the next request that is whole. A start brings its pipes.
    pub(super) fn next(&mut self) -> Option<(Request, Option<Pipes>)> {
        let length = u32::from_ne_bytes(self.bytes.first_chunk().copied()?) as usize;
        let end = length.checked_add(4).filter(|end| *end <= self.bytes.len())?;
        let request: Vec<u8> = self.bytes.drain(..end).skip(4).collect();
        let mut parts = Parts(&request);
        match (parts.byte()?, parts.number()?) {
            (START, id) => {
                let reads = parts.byte()? == 1;
                let start = parts.start()?;
                let pipes = Pipes {
                    stdin: if reads { self.pipes.pop_front() } else { None },
                    stdout: self.pipes.pop_front()?,
                    stderr: self.pipes.pop_front()?,
                };
                Some((Request::Start(id, Box::new(start)), Some(pipes)))
            }
            (END, id) => Some((Request::End(id), None)),
            _ => Some((Request::Ping, None)),
        }
    }
}

/// What is left of a request.
struct Parts<'a>(&'a [u8]);

impl Parts<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*number))
    }

    fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*count) as usize)
    }

    fn part(&mut self) -> Option<OsString> {
        let length = self.count()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(part.to_vec()))
    }

    fn start(&mut self) -> Option<Start> {
        let (program, name, cwd) = (self.part()?, self.part()?, self.part()?);
        let args = (0..self.count()?).map(|_| self.part()).collect::<Option<Vec<_>>>()?;
        let mut env = Vec::new();
        while let Some(variable) = self.part() {
            env.push((variable, self.part()?));
        }
        Some(Start { program, name, args, cwd, env })
    }
}

/// What the supervisor says of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// To a ping, and of no program.
    Awake,
    /// It was not started, with the system's number for why; 0 where there is none.
    Failed(i32),
    /// It has ended by itself; what it has started may go on.
    Exited,
    /// Nothing of it is left. With the status as the system gives it, where it is known.
    Gone(Option<i32>),
}

pub(super) const REPLY: usize = 13;
/// No status is negative.
const UNKNOWN: i32 = -1;

impl Reply {
    pub(super) fn to_bytes(self, id: u64) -> [u8; REPLY] {
        let (kind, value) = match self {
            Reply::Awake => (0, 0),
            Reply::Failed(errno) => (1, errno),
            Reply::Exited => (2, 0),
            Reply::Gone(status) => (3, status.unwrap_or(UNKNOWN)),
        };
        let mut bytes = [kind; REPLY];
        let rest = id.to_ne_bytes().into_iter().chain(i32::to_ne_bytes(value));
        bytes.iter_mut().skip(1).zip(rest).for_each(|(to, from)| *to = from);
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; REPLY]) -> Option<(u64, Reply)> {
        let (kind, rest) = bytes.split_first()?;
        let (id, value) = rest.split_first_chunk()?;
        let value = i32::from_ne_bytes(value.first_chunk().copied()?);
        let reply = match kind {
            0 => Reply::Awake,
            1 => Reply::Failed(value),
            2 => Reply::Exited,
            _ => Reply::Gone(Some(value).filter(|status| *status != UNKNOWN)),
        };
        Some((u64::from_ne_bytes(*id), reply))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use proptest::prelude::*;
    use std::io::{Read as _, Write as _};

    fn words(most: usize) -> impl Strategy<Value = Vec<OsString>> {
        let word = prop::collection::vec(any::<u8>(), 0..40).prop_map(OsString::from_vec);
        prop::collection::vec(word, 0..most)
    }

    fn starts() -> impl Strategy<Value = Start> {
        (words(6), words(4), words(4)).prop_map(|(args, names, values)| Start {
            program: "/bin/a".into(),
            name: "a".into(),
            args,
            cwd: "/".into(),
            env: names.into_iter().zip(values).collect(),
        })
    }

    /// A pipe whose other end is given to the program; what is written there is read here.
    fn pipe() -> (std::io::PipeReader, OwnedFd) {
        let (reader, writer) = std::io::pipe().unwrap();
        (reader, writer.into())
    }

    proptest! {
        #[test]
        fn requests_arrive_as_they_were_sent(starts in prop::collection::vec((starts(), any::<bool>()), 1..5)) {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let mut outs = Vec::new();
            for (id, (start, reads)) in (0u64..).zip(&starts) {
                let ((_, stdin), (out, stdout), (_, stderr)) = (pipe(), pipe(), pipe());
                Outgoing::end(id + 100).send(&ours).unwrap();
                let stdin = reads.then_some(stdin);
                Outgoing::start(id, start, Pipes { stdin, stdout, stderr }).send(&ours).unwrap();
                outs.push(out);
            }
            drop(ours);
            let mut inbox = Inbox::default();
            while inbox.receive(&theirs).unwrap() > 0 {}
            for ((id, (start, reads)), mut out) in (0u64..).zip(starts).zip(outs) {
                prop_assert_eq!(inbox.next().unwrap().0, Request::End(id + 100));
                let (request, pipes) = inbox.next().unwrap();
                prop_assert_eq!(request, Request::Start(id, Box::new(start)));
                let pipes = pipes.unwrap();
                prop_assert_eq!(pipes.stdin.is_some(), reads);
                std::fs::File::from(pipes.stdout).write_all(b"mine").unwrap();
                let mut said = String::new();
                out.read_to_string(&mut said).unwrap();
                prop_assert_eq!(said, "mine");
            }
            prop_assert!(inbox.next().is_none());
        }

        #[test]
        fn replies_arrive_as_they_were_sent(id: u64, value in 0..i32::MAX) {
            for reply in [Reply::Awake, Reply::Failed(value), Reply::Exited, Reply::Gone(Some(value)), Reply::Gone(None)] {
                prop_assert_eq!(Reply::from_bytes(reply.to_bytes(id)), Some((id, reply)));
            }
        }
    }
}
