//! The protocol between a server and its supervisor.
//!
//! A request is its length, its kind, the id of the program, and fields with length prefixes. Pipes are sent with the first
//! byte of their request. All replies have the same length.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;

use crate::world::sandbox::{CallRules, MAX_SANDBOXES};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

/// Stdin, stdout and stderr, the rulesets of sandboxes, and the working folder.
const MAX_PIPES: usize = 4 + MAX_SANDBOXES;
const START_TAG: u8 = 0;
const KILL_TAG: u8 = 1;
const PING: u8 = 2;

/// A program to start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::world) struct StartRequest {
    /// Its path.
    pub(in crate::world) program: OsString,
    /// Its first argument.
    pub(in crate::world) arg0: OsString,
    pub(in crate::world) args: Vec<OsString>,
    pub(in crate::world) cwd: OsString,
    pub(in crate::world) env: Vec<(OsString, OsString)>,
    /// What its filter of system calls refuses.
    pub(in crate::world) calls: CallRules,
}

/// A request of the server, with the id of its program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SupervisorRequest {
    Start(u64, Box<StartRequest>),
    /// Kills what is left of it.
    Kill(u64),
    /// Answered at once.
    Ping,
}

/// The pipes of a program to start.
#[derive(Debug)]
pub(in crate::world) struct ChildStdio {
    /// Empty if absent.
    pub(in crate::world) stdin: Option<OwnedFd>,
    pub(in crate::world) stdout: OwnedFd,
    pub(in crate::world) stderr: OwnedFd,
    /// The rulesets that the program is held to.
    pub(in crate::world) sandbox: Vec<OwnedFd>,
    /// The working folder, instead of the path of the request.
    pub(in crate::world) cwd: Option<OwnedFd>,
}

/// A request to send.
pub(super) struct QueuedRequest {
    bytes: Vec<u8>,
    pipes: Vec<OwnedFd>,
    /// How many bytes have been sent.
    sent: usize,
}

impl QueuedRequest {
    pub(super) fn start(id: u64, start: &StartRequest, pipes: ChildStdio) -> QueuedRequest {
        let mut bytes = encode_header(START_TAG, id);
        bytes.push(u8::from(pipes.stdin.is_some()));
        bytes.push(u8::from(pipes.cwd.is_some()));
        bytes.push(start.calls.to_byte());
        encode_count(&mut bytes, pipes.sandbox.len());
        for part in [&start.program, &start.arg0, &start.cwd] {
            encode_bytes(&mut bytes, part);
        }
        encode_count(&mut bytes, start.args.len());
        start.args.iter().for_each(|arg| encode_bytes(&mut bytes, arg));
        for (name, value) in &start.env {
            encode_bytes(&mut bytes, name);
            encode_bytes(&mut bytes, value);
        }
        let ChildStdio { stdin, stdout, stderr, sandbox, cwd } = pipes;
        let pipes = stdin.into_iter().chain([stdout, stderr]).chain(sandbox).chain(cwd).collect();
        QueuedRequest { bytes: with_length_prefix(bytes), pipes, sent: 0 }
    }

    pub(super) fn kill(id: u64) -> QueuedRequest {
        QueuedRequest { bytes: with_length_prefix(encode_header(KILL_TAG, id)), pipes: Vec::new(), sent: 0 }
    }

    pub(super) fn ping() -> QueuedRequest {
        QueuedRequest { bytes: with_length_prefix(encode_header(PING, 0)), pipes: Vec::new(), sent: 0 }
    }

    /// Sends without blocking, and returns whether all was sent. The system also limits descriptors in flight.
    pub(super) fn send(&mut self, socket: &UnixStream) -> io::Result<bool> {
        while self.sent < self.bytes.len() {
            match self.send_some(socket) {
                Ok(count) => {
                    self.sent += count;
                    self.pipes.clear();
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn send_some(&self, socket: &UnixStream) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PIPES))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let pipes: Vec<_> = self.pipes.iter().map(AsFd::as_fd).collect();
        if !pipes.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(&pipes));
        }
        let rest = IoSlice::new(self.bytes.get(self.sent..).unwrap_or_default());
        rustix::net::sendmsg(socket, &[rest], &mut ancillary, SendFlags::DONTWAIT)
    }
}

fn encode_header(kind: u8, id: u64) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.push(kind);
    bytes.extend(id.to_ne_bytes());
    bytes
}

fn encode_bytes(bytes: &mut Vec<u8>, part: &OsStr) {
    encode_count(bytes, part.len());
    bytes.extend(part.as_bytes());
}

fn encode_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_ne_bytes());
}

/// Writes the length into the first four bytes.
fn with_length_prefix(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(bytes.len().saturating_sub(4)).unwrap_or(u32::MAX);
    if let Some(room) = bytes.first_chunk_mut() {
        *room = length.to_ne_bytes();
    }
    bytes
}

/// Decodes requests from a socket.
pub(super) struct RequestDecoder {
    /// The read buffer.
    buffer: Box<[u8]>,
    bytes: Vec<u8>,
    pipes: VecDeque<OwnedFd>,
}

impl Default for RequestDecoder {
    fn default() -> RequestDecoder {
        RequestDecoder { buffer: vec![0; 64 << 10].into(), bytes: Vec::new(), pipes: VecDeque::new() }
    }
}

impl RequestDecoder {
    /// Reads available bytes, and returns how many: 0 at the end.
    pub(super) fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PIPES))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut self.buffer)];
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::empty();
        let count = rustix::net::recvmsg(socket, &mut slices, &mut ancillary, flags)?.bytes;
        for message in ancillary.drain() {
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

    /// Returns the next complete request, with the pipes of a start.
    pub(super) fn next(&mut self) -> Option<(SupervisorRequest, Option<ChildStdio>)> {
        let length = u32::from_ne_bytes(self.bytes.first_chunk().copied()?) as usize;
        let end = length.checked_add(4).filter(|end| *end <= self.bytes.len())?;
        let request: Vec<u8> = self.bytes.drain(..end).skip(4).collect();
        let mut parts = FieldDecoder(&request);
        match (parts.byte()?, parts.number()?) {
            (START_TAG, id) => {
                let (reads, has_cwd) = (parts.byte()? == 1, parts.byte()? == 1);
                let calls = CallRules::from_byte(parts.byte()?);
                let sandboxes = parts.count()?;
                let start = StartRequest { calls, ..parts.start()? };
                let pipes = ChildStdio {
                    stdin: if reads { self.pipes.pop_front() } else { None },
                    stdout: self.pipes.pop_front()?,
                    stderr: self.pipes.pop_front()?,
                    sandbox: (0..sandboxes).map(|_| self.pipes.pop_front()).collect::<Option<_>>()?,
                    cwd: if has_cwd { Some(self.pipes.pop_front()?) } else { None },
                };
                Some((SupervisorRequest::Start(id, Box::new(start)), Some(pipes)))
            }
            (KILL_TAG, id) => Some((SupervisorRequest::Kill(id), None)),
            _ => Some((SupervisorRequest::Ping, None)),
        }
    }
}

/// Decodes the fields of a request.
struct FieldDecoder<'a>(&'a [u8]);

impl FieldDecoder<'_> {
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

    fn bytes(&mut self) -> Option<OsString> {
        let length = self.count()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(part.to_vec()))
    }

    fn start(&mut self) -> Option<StartRequest> {
        let (program, name, cwd) = (self.bytes()?, self.bytes()?, self.bytes()?);
        let args = (0..self.count()?).map(|_| self.bytes()).collect::<Option<Vec<_>>>()?;
        let mut env = Vec::new();
        while let Some(variable) = self.bytes() {
            env.push((variable, self.bytes()?));
        }
        Some(StartRequest { program, arg0: name, args, cwd, env, ..StartRequest::default() })
    }
}

/// A reply of the supervisor about a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SupervisorReply {
    /// The reply to a ping.
    Pong,
    /// It was not started, with the errno; 0 if there is none.
    Failed(i32),
    /// It has exited by itself; its descendants may still run.
    Exited,
    /// It and its descendants are gone, with the raw status if known.
    Reaped(Option<i32>),
}

pub(super) const REPLY_BYTES: usize = 13;
/// Statuses are never negative.
const UNKNOWN_STATUS: i32 = -1;

impl SupervisorReply {
    pub(super) fn to_bytes(self, id: u64) -> [u8; REPLY_BYTES] {
        let (kind, value) = match self {
            SupervisorReply::Pong => (0, 0),
            SupervisorReply::Failed(errno) => (1, errno),
            SupervisorReply::Exited => (2, 0),
            SupervisorReply::Reaped(status) => (3, status.unwrap_or(UNKNOWN_STATUS)),
        };
        let mut bytes = [kind; REPLY_BYTES];
        let rest = id.to_ne_bytes().into_iter().chain(i32::to_ne_bytes(value));
        bytes.iter_mut().skip(1).zip(rest).for_each(|(to, from)| *to = from);
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; REPLY_BYTES]) -> Option<(u64, SupervisorReply)> {
        let (kind, rest) = bytes.split_first()?;
        let (id, value) = rest.split_first_chunk()?;
        let value = i32::from_ne_bytes(value.first_chunk().copied()?);
        let reply = match kind {
            0 => SupervisorReply::Pong,
            1 => SupervisorReply::Failed(value),
            2 => SupervisorReply::Exited,
            _ => SupervisorReply::Reaped(Some(value).filter(|status| *status != UNKNOWN_STATUS)),
        };
        Some((u64::from_ne_bytes(*id), reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Read as _, Write as _};

    fn words(max: usize) -> impl Strategy<Value = Vec<OsString>> {
        let word = prop::collection::vec(any::<u8>(), 0..40).prop_map(OsString::from_vec);
        prop::collection::vec(word, 0..max)
    }

    fn starts() -> impl Strategy<Value = StartRequest> {
        (words(6), words(4), words(4)).prop_map(|(args, names, values)| StartRequest {
            program: "/bin/a".into(),
            arg0: "a".into(),
            args,
            cwd: "/".into(),
            calls: CallRules::from_byte(u8::try_from(names.len()).unwrap()),
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
                let sandbox = (0..start.args.len()).map(|_| pipe().1).collect();
                QueuedRequest::kill(id + 100).send(&ours).unwrap();
                let stdin = reads.then_some(stdin);
                let cwd = reads.then(|| pipe().1);
                QueuedRequest::start(id, start, ChildStdio { stdin, stdout, stderr, sandbox, cwd }).send(&ours).unwrap();
                outs.push(out);
            }
            drop(ours);
            let mut inbox = RequestDecoder::default();
            while inbox.receive(&theirs).unwrap() > 0 {}
            for ((id, (start, reads)), mut out) in (0u64..).zip(starts).zip(outs) {
                prop_assert_eq!(inbox.next().unwrap().0, SupervisorRequest::Kill(id + 100));
                let (request, pipes) = inbox.next().unwrap();
                let arguments = start.args.len();
                prop_assert_eq!(request, SupervisorRequest::Start(id, Box::new(start)));
                let pipes = pipes.unwrap();
                prop_assert_eq!((pipes.stdin.is_some(), pipes.cwd.is_some()), (reads, reads));
                prop_assert_eq!(pipes.sandbox.len(), arguments);
                std::fs::File::from(pipes.stdout).write_all(b"mine").unwrap();
                let mut sent_text = String::new();
                out.read_to_string(&mut sent_text).unwrap();
                prop_assert_eq!(sent_text, "mine");
            }
            prop_assert!(inbox.next().is_none());
        }

        #[test]
        fn replies_arrive_as_they_were_sent(id: u64, value in 0..i32::MAX) {
            for reply in [SupervisorReply::Pong, SupervisorReply::Failed(value), SupervisorReply::Exited, SupervisorReply::Reaped(Some(value)), SupervisorReply::Reaped(None)] {
                prop_assert_eq!(SupervisorReply::from_bytes(reply.to_bytes(id)), Some((id, reply)));
            }
        }
    }
}
