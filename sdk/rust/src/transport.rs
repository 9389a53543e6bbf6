//! One request over all its attempts.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::{Method, Url, header};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{ApiError, Error, Kind};

const AGENT: &str = concat!("gateway-sdk-rust/", env!("CARGO_PKG_VERSION"));
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Reading a long list may wait for the next minute's requests.
pub(crate) const PATIENT: Duration = Duration::from_secs(90);

/// Limits of a client.
#[derive(Debug, Clone)]
pub struct Options {
    /// Of one attempt.
    pub timeout: Duration,
    /// Time after which a call is not attempted again.
    pub retry_for: Duration,
    /// Time that a call may spend waiting as `Retry-After` asks.
    pub max_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let [timeout, retry_for, max_wait] = [30, 60, 5].map(Duration::from_secs);
        Self { timeout, retry_for, max_wait }
    }
}

#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    base: Url,
    key: Option<String>,
    options: Options,
    http: reqwest::Client,
}

/// Without the key.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transport").field(&self.0.base.as_str()).finish()
    }
}

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) body: Option<(&'static str, String)>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) max_wait: Option<Duration>,
}

impl Request {
    /// `path` without `v1`; its parts are escaped, because an order_id may hold anything.
    pub(crate) fn get(path: &[&str]) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Self { method: Method::GET, path, query: vec![], body: None, idempotency_key: None, max_wait: None }
    }

    pub(crate) fn post(path: &[&str]) -> Self {
        Self { method: Method::POST, ..Self::get(path) }
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Result<Self, Error> {
        let text = serde_json::to_string(body).map_err(|error| Error::Argument(error.to_string()))?;
        self.body = Some(("application/json", text));
        Ok(self)
    }

    /// With the given key, or a random one.
    pub(crate) fn once(mut self, key: Option<&str>) -> Self {
        self.idempotency_key = Some(key.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned));
        self
    }

    pub(crate) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }
}

impl Transport {
    pub(crate) fn new(base: &str, key: Option<&str>, options: Options) -> Result<Self, Error> {
        let wrong = || Error::Argument("the base URL is the gateway's address, like https://pay.example".to_owned());
        let base = Url::parse(base).ok().filter(|url| ["http", "https"].contains(&url.scheme())).ok_or_else(wrong)?;
        // A redirect would carry the key to another host.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).user_agent(AGENT);
        let http = http.build().map_err(|error| Error::Argument(error.to_string()))?;
        Ok(Self(Arc::new(Inner { base, key: key.map(str::to_owned), options, http })))
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        self.send(&request, |text| serde_json::from_slice(text).map_err(|error| error.to_string())).await
    }

    /// As [`read`](Self::read), with one header of the answer.
    pub(crate) async fn read_with<T: DeserializeOwned>(
        &self,
        request: Request,
        name: &'static str,
    ) -> Result<(T, Option<String>), Error> {
        let seen = std::sync::Mutex::new(None);
        let read = |text: &[u8]| serde_json::from_slice(text).map_err(|error| error.to_string());
        let note = |headers: &header::HeaderMap| {
            let value = headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
            *seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = value;
        };
        let answer = self.send_noting(&request, read, note).await?;
        Ok((answer, seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }

    pub(crate) async fn text(&self, request: Request) -> Result<String, Error> {
        self.send(&request, |text| String::from_utf8(text.to_vec()).map_err(|error| error.to_string())).await
    }

    /// Sends it until it is answered. Every request of this library can be sent twice.
    async fn send<T>(&self, request: &Request, read: impl Fn(&[u8]) -> Result<T, String>) -> Result<T, Error> {
        self.send_noting(request, read, |_| ()).await
    }

    async fn send_noting<T>(
        &self,
        request: &Request,
        read: impl Fn(&[u8]) -> Result<T, String>,
        note: impl Fn(&header::HeaderMap),
    ) -> Result<T, Error> {
        let options = &self.0.options;
        let url = self.url(request)?;
        let mut may_wait = request.max_wait.unwrap_or(options.max_wait);
        let mut deadline = Instant::now() + options.retry_for;
        let mut pause = FIRST_PAUSE;
        loop {
            let limit = options.timeout.min(deadline.saturating_duration_since(Instant::now()));
            let failure = match self.attempt(request, url.clone(), limit, (&read, &note)).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let mut rest = jittered(pause);
            if let Error::Api(refused) = &failure {
                let is_limit = refused.kind() == Kind::RateLimit;
                match refused.retry_after {
                    _ if refused.status < 500 && !is_limit => return Err(failure),
                    None if is_limit => return Err(failure),
                    None => {}
                    Some(asked) if asked > may_wait => return Err(failure),
                    // Waiting as asked is no failed attempt: it does not use up the time for those.
                    Some(asked) => {
                        (may_wait, deadline, rest) = (may_wait - asked, deadline + asked, rest.max(asked));
                    }
                }
            }
            if Instant::now() + rest >= deadline {
                return Err(failure);
            }
            tokio::time::sleep(rest).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt<T>(
        &self,
        request: &Request,
        url: Url,
        limit: Duration,
        (read, note): (impl Fn(&[u8]) -> Result<T, String>, impl Fn(&header::HeaderMap)),
    ) -> Result<T, Error> {
        let lost = |reason: String| Error::Connection { reason, idempotency_key: request.idempotency_key.clone() };
        let mut asked = self.0.http.request(request.method.clone(), url).timeout(limit);
        if let Some(key) = &self.0.key {
            asked = asked.header("x-api-key", key);
        }
        if let Some(key) = &request.idempotency_key {
            asked = asked.header("idempotency-key", key);
        }
        if let Some((content_type, body)) = &request.body {
            asked = asked.header(header::CONTENT_TYPE, *content_type).body(body.clone());
        }
        let answer = match asked.send().await {
            Ok(answer) => answer,
            Err(error) if error.is_builder() => return Err(Error::Argument(described(&error))),
            Err(error) => return Err(lost(described(&error))),
        };
        let status = answer.status();
        note(answer.headers());
        let after = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        // Whole seconds; the gateway sends no dates.
        let after =
            after.and_then(|text| text.trim().parse::<u32>().ok()).map(|after| Duration::from_secs(after.into()));
        let text = answer.bytes().await.map_err(|error| lost(described(&error)))?;
        if !status.is_success() {
            return Err(ApiError::read(status.as_u16(), &text, after).into());
        }
        read(&text).map_err(|reason| lost(format!("a damaged answer: {reason}")))
    }

    fn url(&self, request: &Request) -> Result<Url, Error> {
        if request.path.iter().any(|part| ["", ".", ".."].contains(&part.as_str())) {
            return Err(Error::Argument("an id is not empty".to_owned()));
        }
        let mut url = self.0.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(&request.path);
        }
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        Ok(url)
    }
}

/// With its causes; the first alone says only that something failed.
fn described(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Between half of it and all of it.
fn jittered(pause: Duration) -> Duration {
    let random = uuid::Uuid::new_v4().as_u128() as u8;
    pause / 2 + pause / 2 * u32::from(random) / 255
}
