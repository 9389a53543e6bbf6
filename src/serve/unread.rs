//! The rest of a request's body that its answer did not need.
//!
//! hyper closes a connection whose body was not read. A client that sends its body after its head
//! is then cut off while it writes and may never see the answer: a wrong key or path would look
//! like a broken connection. (nginx lingers for the same reason, `lingering_close`.)

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use http::{Request, header::EXPECT};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;

/// Most bytes that are read for nothing: more than any request has but an uploaded file.
const BYTES_MAX: usize = 64 * 1024;
/// For the rest to arrive.
const TIME_MAX: Duration = Duration::from_secs(2);

/// Makes a request's body be read to its end, even if its handler does not read it.
pub(super) fn read_to_its_end(request: Request<Incoming>) -> Request<Body> {
    // A client that waits for "100 Continue" sends nothing behind another answer.
    let waits = request.headers().contains_key(EXPECT);
    request.map(|body| {
        let is_large = body.size_hint().lower() > BYTES_MAX as u64;
        if body.is_end_stream() || waits || is_large {
            Body::new(body)
        } else {
            Body::new(Unread(Some(body)))
        }
    })
}

/// `None` only while it is dropped.
struct Unread(Option<Incoming>);

impl hyper::body::Body for Unread {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(SizeHint::default, Incoming::size_hint)
    }
}

impl Drop for Unread {
    /// Reads on beside the answer, which waits for nothing. There is one such task per connection:
    /// the next request comes behind the body.
    fn drop(&mut self) {
        let rest = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            let read = tokio::time::timeout(TIME_MAX, Limited::new(rest, BYTES_MAX).collect());
            runtime.spawn(async {
                // The request is answered already, so a failure concerns nobody.
                let _ = read.await;
            });
        }
    }
}
