//! The protocol between a server and its supervisor.
//!
//! A request is its length and its postcard encoding; the descriptors of a program are sent with its first byte. A reply is
//! the id of a program and what happened to it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::world::sandbox::{MAX_SANDBOXES, SyscallRules};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

/// Stdin, stdout and stderr, the rulesets of sandboxes, and the working folder.
const MAX_DESCRIPTORS: usize = 4 + MAX_SANDBOXES;
/// The bytes of the length before a request.
const LENGTH_BYTES: usize = size_of::<u32>();

/// A program to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::world) struct StartRequest {
    pub(in crate::world) program: OsString,
    /// Its first argument.
    pub(in crate::world) arg0: OsString,
    pub(in crate::world) args: Vec<OsString>,
    pub(in crate::world) cwd: OsString,
    pub(in crate::world) env: Vec<(OsString, OsString)>,
    /// What its filter of system calls refuses.
    pub(in crate::world) calls: Option<SyscallRules>,
}

/// A request of the server, with the id of its program.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SupervisorRequest {
    Start(u64, Box<StartRequest>, DescriptorLayout),
    /// Kills what is left of it.
    Kill(u64),
    /// Answered at once.
    Ping,
}

/// Which descriptors are sent with a program, beside stdout and stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DescriptorLayout {
    has_stdin: bool,
    sandboxes: usize,
    has_cwd: bool,
}

/// The pipes of a program to start.
#[derive(Debug)]
pub(in crate::world) struct ChildDescriptors {
    /// Empty if absent.
    pub(in crate::world) stdin: Option<OwnedFd>,
    pub(in crate::world) stdout: OwnedFd,
    pub(in crate::world) stderr: OwnedFd,
    /// The rulesets that the program is held to.
    pub(in crate::world) sandbox: Vec<OwnedFd>,
    /// The working folder, instead of the path of the request.
    pub(in crate::world) cwd: Option<OwnedFd>,
}

impl ChildDescriptors {
    fn layout(&self) -> DescriptorLayout {
        DescriptorLayout { has_stdin: self.stdin.is_some(), sandboxes: self.sandbox.len(), has_cwd: self.cwd.is_some() }
    }
}

pub(super) struct QueuedRequest {
    bytes: Vec<u8>,
    pipes: Vec<OwnedFd>,
    /// How many bytes have been sent.
    sent: usize,
}

impl QueuedRequest {
    pub(super) fn start(id: u64, start: StartRequest, pipes: ChildDescriptors) -> QueuedRequest {
        let request = SupervisorRequest::Start(id, Box::new(start), pipes.layout());
        let descriptors = pipes.stdin.into_iter().chain([pipes.stdout, pipes.stderr]).chain(pipes.sandbox);
        QueuedRequest { pipes: descriptors.chain(pipes.cwd).collect(), ..QueuedRequest::new(&request) }
    }

    /// A request without descriptors.
    pub(super) fn new(request: &SupervisorRequest) -> QueuedRequest {
        let body = postcard::to_stdvec(request).unwrap_or_default();
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_ne_bytes();
        QueuedRequest { bytes: [&length, body.as_slice()].concat(), pipes: Vec::new(), sent: 0 }
    }

    /// Sends without blocking, and returns whether all was sent. The system also limits descriptors in flight.
    pub(super) fn send(&mut self, socket: &UnixStream) -> io::Result<bool> {
        while self.sent < self.bytes.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            let pipes: Vec<_> = self.pipes.iter().map(AsFd::as_fd).collect();
            if !pipes.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(&pipes));
            }
            let rest = IoSlice::new(self.bytes.get(self.sent..).unwrap_or_default());
            match rustix::net::sendmsg(socket, &[rest], &mut ancillary, SendFlags::DONTWAIT) {
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
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
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
    pub(super) fn next(&mut self) -> Option<(SupervisorRequest, Option<ChildDescriptors>)> {
        let length = u32::from_ne_bytes(self.bytes.first_chunk().copied()?) as usize;
        let end = length.checked_add(LENGTH_BYTES).filter(|end| *end <= self.bytes.len())?;
        let request = postcard::from_bytes(self.bytes.get(LENGTH_BYTES..end)?).ok()?;
        self.bytes.drain(..end);
        let arrived = &mut self.pipes;
        let pipes = match &request {
            SupervisorRequest::Start(_, _, layout) => Some(ChildDescriptors {
                stdin: if layout.has_stdin { Some(arrived.pop_front()?) } else { None },
                stdout: arrived.pop_front()?,
                stderr: arrived.pop_front()?,
                sandbox: (0..layout.sandboxes).map(|_| arrived.pop_front()).collect::<Option<_>>()?,
                cwd: if layout.has_cwd { Some(arrived.pop_front()?) } else { None },
            }),
            SupervisorRequest::Kill(_) | SupervisorRequest::Ping => None,
        };
        Some((request, pipes))
    }
}

/// A reply of the supervisor about a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

impl SupervisorReply {
    pub(super) fn to_bytes(self, id: u64) -> Vec<u8> {
        postcard::to_stdvec(&(id, self)).unwrap_or_default()
    }

    /// The next reply, with the id of its program; `None` at the end.
    pub(super) fn read(socket: &mut impl Read) -> Option<(u64, SupervisorReply)> {
        postcard::from_io((socket, &mut [])).ok().map(|(reply, _)| reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::sandbox::SocketRules;
    use proptest::prelude::*;
    use std::io::Write as _;
    use std::os::unix::ffi::OsStringExt as _;

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
            calls: Some(SyscallRules { sockets: SocketRules::Local, keeps_attributes: names.is_empty() }),
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
                QueuedRequest::new(&SupervisorRequest::Kill(id + 100)).send(&ours).unwrap();
                let stdin = reads.then_some(stdin);
                let cwd = reads.then(|| pipe().1);
                let stdio = ChildDescriptors { stdin, stdout, stderr, sandbox, cwd };
                QueuedRequest::start(id, start.clone(), stdio).send(&ours).unwrap();
                outs.push(out);
            }
            drop(ours);
            let mut inbox = RequestDecoder::default();
            while inbox.receive(&theirs).unwrap() > 0 {}
            for ((id, (start, reads)), mut out) in (0u64..).zip(starts).zip(outs) {
                prop_assert_eq!(inbox.next().unwrap().0, SupervisorRequest::Kill(id + 100));
                let (request, pipes) = inbox.next().unwrap();
                let layout = DescriptorLayout { has_stdin: reads, sandboxes: start.args.len(), has_cwd: reads };
                prop_assert_eq!(request, SupervisorRequest::Start(id, Box::new(start), layout));
                let pipes = pipes.unwrap();
                prop_assert_eq!(pipes.layout(), layout);
                std::fs::File::from(pipes.stdout).write_all(b"mine").unwrap();
                let mut sent_text = String::new();
                out.read_to_string(&mut sent_text).unwrap();
                prop_assert_eq!(sent_text, "mine");
            }
            prop_assert!(inbox.next().is_none());
        }

        #[test]
        fn replies_arrive_as_they_were_sent(id: u64, value: i32) {
            let replies = [
                SupervisorReply::Pong,
                SupervisorReply::Failed(value),
                SupervisorReply::Exited,
                SupervisorReply::Reaped(Some(value)),
                SupervisorReply::Reaped(None),
            ];
            let bytes: Vec<u8> = replies.iter().flat_map(|reply| reply.to_bytes(id)).collect();
            let mut socket = bytes.as_slice();
            for reply in replies {
                prop_assert_eq!(SupervisorReply::read(&mut socket), Some((id, reply)));
            }
            prop_assert_eq!(SupervisorReply::read(&mut socket), None);
        }
    }
}
