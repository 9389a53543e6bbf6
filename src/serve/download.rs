//! A spooled file as the body of an answer.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::{Body as AnyBody, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use hyper::body::{Body, Frame, SizeHint};
use tokio::{fs::File, io::AsyncReadExt, sync::mpsc};

use crate::{
    accounting::Format,
    app::{
        accounting::{
            export::Spooled,
            give_way::GiveWay,
            slot::{ExportSlot, HeldFile},
        },
        background,
    },
};

const ROW_COUNT: HeaderName = HeaderName::from_static("x-gateway-row-count");
const SHA256: HeaderName = HeaderName::from_static("x-gateway-sha256");
const CHUNK: usize = 64 * 1024;
/// For the whole of it: a client that takes a byte now and then would keep the file for ever.
const TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// The bytes of a file, read as the client takes them. The slot is free when it is dropped.
pub struct Download {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    left: u64,
    _slot: ExportSlot,
}

/// The answer that carries a file, with what its check needs.
pub fn answer((name, format): (&str, Format), (spooled, slot): HeldFile) -> Response {
    let name = format!("attachment; filename=\"{name}.{}\"", format.extension());
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_LENGTH, spooled.bytes.into());
    headers.insert(ROW_COUNT, spooled.rows.into());
    for (header, value) in [(header::CONTENT_DISPOSITION, &name), (SHA256, &spooled.sha256)] {
        // Both are made of letters, digits and hyphens.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(header, value);
        }
    }
    (headers, AnyBody::new(Download::begin(spooled, slot))).into_response()
}

impl Download {
    fn begin(spooled: Spooled, slot: ExportSlot) -> Self {
        let (sender, chunks) = mpsc::channel(1);
        let mut way = slot.gives_way();
        // A client on a fast network takes a large file as quickly as the processors can copy it,
        // and all requests would wait.
        background::spawn(async move {
            let sent = tokio::time::timeout(TIME_MAX, send(spooled.file, &sender, &mut way)).await;
            if sent.is_err() {
                tracing::info!("an export was cut off: its client took too long");
            }
        });
        Self { chunks, left: spooled.bytes, _slot: slot }
    }
}

/// Ends early if the client is gone.
async fn send(mut file: File, chunks: &mpsc::Sender<io::Result<Bytes>>, way: &mut GiveWay) {
    loop {
        way.to_others().await;
        let mut chunk = Vec::with_capacity(CHUNK);
        let read = file.read_buf(&mut chunk).await;
        let is_last = !matches!(read, Ok(1..));
        let chunk = match read {
            Ok(0) => return,
            Ok(_) => Ok(Bytes::from(chunk)),
            Err(error) => Err(error),
        };
        if chunks.send(chunk).await.is_err() || is_last {
            return;
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match ready!(self.chunks.poll_recv(cx)) {
            Some(Ok(chunk)) => {
                let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
                self.left = self.left.saturating_sub(length);
                Poll::Ready(Some(Ok(Frame::data(chunk))))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            None if self.left == 0 => Poll::Ready(None),
            // An error closes the connection; a mere end could pass for a whole file.
            None => Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
