//! HTTP requests to the receiver: bounded in time, following no redirect.

use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, future::join_all, stream};
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame};
use tokio::time::{sleep, timeout};

use crate::outbound::{self, Http, reason};

/// Pieces of a slow body, and the pause before each.
const PIECES: usize = 8;
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    AtOnce,
    Slow,
}

/// One delivery.
#[derive(Clone)]
pub(super) struct Post {
    pub(super) user_agent: &'static str,
    pub(super) event_id: String,
    /// The header and its value.
    pub(super) signature: Option<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) pace: Pace,
}

pub(super) struct Answered {
    /// Or the reason why there is none.
    pub(super) status: Result<StatusCode, String>,
    pub(super) took: Duration,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(super) struct Client {
    http: Http<Body>,
    url: Uri,
    patience: Duration,
}

impl Client {
    /// The receiver is the caller's own, so it may be on this machine.
    pub(super) fn to(url: &str, patience: Duration) -> Result<Self, String> {
        let (http, url) = outbound::client_for(url)?;
        Ok(Self { http, url, patience })
    }

    /// Sends them at the same time; the answers are in their order.
    pub(super) async fn post_all(&self, posts: &[Post]) -> Vec<Answered> {
        join_all(posts.iter().map(|post| self.post(post))).await
    }

    async fn post(&self, post: &Post) -> Answered {
        let began = Instant::now();
        let status = match timeout(self.patience, self.exchange(post)).await {
            Ok(status) => status,
            Err(_) => Err(format!("no answer within {} s", self.patience.as_secs())),
        };
        Answered { status, took: began.elapsed() }
    }

    /// The status is the answer; nothing of a body counts.
    async fn exchange(&self, post: &Post) -> Result<StatusCode, String> {
        let mut request = Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::CONTENT_LENGTH, post.body.len())
            .header(header::USER_AGENT, post.user_agent)
            .header("x-gateway-event-id", &post.event_id);
        if let Some((name, value)) = &post.signature {
            request = request.header(*name, value);
        }
        let request = request.body(post.stream()).map_err(|error| error.to_string())?;
        let answer = self.http.request(request).await.map_err(|error| reason(&error))?;
        Ok(answer.status())
    }
}

impl Post {
    fn stream(&self) -> Body {
        let (size, pause) = match self.pace {
            Pace::AtOnce => (self.body.len(), Duration::ZERO),
            Pace::Slow => (self.body.len().div_ceil(PIECES), PAUSE),
        };
        let pieces: Vec<_> = self.body.chunks(size.max(1)).map(Bytes::copy_from_slice).collect();
        let frames = stream::iter(pieces).then(move |piece| async move {
            sleep(pause).await;
            Ok(Frame::data(piece))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}
