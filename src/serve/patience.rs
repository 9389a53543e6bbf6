//! Time limits of a socket: for a peer that does not read, and for one that sends nothing.
//!
//! hyper waits for ever for room to write, and has one limit for the head of a request and for the
//! pause before it. Here a head has to arrive soon after its first byte, or after the connection
//! was opened; the pause between an answer and the next request may be longer, because reverse
//! proxies keep connections and would otherwise meet closed ones.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};

/// The limits of one connection.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// For the peer to make room for one more byte.
    pub write: Duration,
    /// For a whole head, from its first byte or from the connection.
    pub head: Duration,
    /// From an answer to the first byte of the next head.
    pub idle: Duration,
}

/// The stage of a connection, as its service knows it. The socket alone cannot distinguish a head
/// from a body.
#[derive(Default)]
pub(super) struct Stage(AtomicU8);

/// A head is awaited or arriving.
const HEAD: u8 = 0;
/// A request is being answered, and its body may be read. The application limits both.
const ASKED: u8 = 1;
/// The answer is known, and none of it is written yet.
const ANSWERING: u8 = 2;
/// Some of the answer is written; the next bytes to come begin a head.
const IDLE: u8 = 3;

impl Stage {
    /// The head is whole.
    pub(super) fn asked(&self) {
        self.set(ASKED);
    }

    pub(super) fn answering(&self) {
        self.set(ANSWERING);
    }

    fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, stage: u8) {
        self.0.store(stage, Ordering::Relaxed);
    }
}

/// True if so few connections are left that idle ones must make room.
type Crowded = Box<dyn Fn() -> bool + Send>;

pub(super) struct Patience {
    socket: TcpStream,
    times: Times,
    stage: Arc<Stage>,
    is_crowded: Crowded,
    /// When the present head began, or the last of an answer was written.
    since: Instant,
    read_timer: Pin<Box<Sleep>>,
    write_timer: Pin<Box<Sleep>>,
    is_writing: bool,
}

impl Patience {
    pub(super) fn new(
        socket: TcpStream,
        times: Times,
        stage: Arc<Stage>,
        is_crowded: Crowded,
    ) -> Self {
        let timer = |limit| Box::pin(sleep(limit));
        Self {
            socket,
            times,
            stage,
            is_crowded,
            since: Instant::now(),
            read_timer: timer(times.head),
            write_timer: timer(times.write),
            is_writing: false,
        }
    }

    fn write(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let written = write(Pin::new(&mut self.socket), cx);
        if written.is_ready() {
            self.is_writing = false;
            if matches!(self.stage.get(), ANSWERING | IDLE) {
                self.stage.set(IDLE);
                self.since = Instant::now();
            }
            return written;
        }
        if !self.is_writing {
            self.is_writing = true;
            self.write_timer.as_mut().reset(Instant::now() + self.times.write);
        }
        ready!(self.write_timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Nothing came. Ready once the peer has had its time.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let (limit, is_idle) = match self.stage.get() {
                HEAD => (self.times.head, false),
                IDLE => (self.times.idle, true),
                _ => return Poll::Pending,
            };
            let end = self.since + limit;
            let now = Instant::now();
            // An idle connection looks around from time to time: in a crowd it has no more time
            // than a head.
            let waited = now.duration_since(self.since);
            let makes_room = is_idle && waited >= self.times.head && (self.is_crowded)();
            if makes_room || now >= end {
                // An idle peer is owed no word, and hyper takes an end of the stream as one. A
                // broken head is an error.
                let ended = if is_idle { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) };
                return Poll::Ready(ended);
            }
            let next = if is_idle { end.min(now + self.times.head) } else { end };
            if self.read_timer.deadline() > next || self.read_timer.is_elapsed() {
                self.read_timer.as_mut().reset(next);
            }
            ready!(self.read_timer.as_mut().poll(cx));
        }
    }
}

impl AsyncRead for Patience {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.socket).poll_read(cx, buffer) {
            Poll::Pending => self.wait(cx),
            ready => {
                if buffer.filled().len() > before && self.stage.get() == IDLE {
                    self.stage.set(HEAD);
                    self.since = Instant::now();
                }
                ready
            }
        }
    }
}

impl AsyncWrite for Patience {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |socket, cx| socket.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |socket, cx| socket.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
