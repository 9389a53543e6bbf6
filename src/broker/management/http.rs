//! Small HTTP client of the management interface: one host, one credential, bounded in time and
//! size.

use std::{fmt, time::Duration};

use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::ManagementError;
use crate::{broker::link::take_ca_file, egress};

const CALL_LIMIT: Duration = Duration::from_secs(15);
/// Before a GET is repeated.
const PAUSE: Duration = Duration::from_millis(100);
/// Limit of a response: a listing of some thousand queues. A larger one means that the broker is
/// shared with other systems.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: Url,
    /// Marked as sensitive, so that it is redacted when printed.
    authorization: HeaderValue,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl HttpClient {
    pub(super) fn new(url: &SecretString) -> Result<Self, ManagementError> {
        let unusable = |reason: &str| ManagementError::Address { reason: reason.to_owned() };
        let (mut base, ca_file) = take_ca_file(url).map_err(|e| unusable(&e.to_string()))?;
        let encrypted = base.scheme() == "https";
        if !encrypted && (base.scheme() != "http" || ca_file.is_some()) {
            return Err(unusable("it must begin with https:// or, without cacertfile, http://"));
        }
        let user = unescaped(base.username());
        let password = unescaped(base.password().unwrap_or_default());
        let basic = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        let mut authorization =
            HeaderValue::try_from(basic).map_err(|e| unusable(&e.to_string()))?;
        authorization.set_sensitive(true);
        if base.set_username("").is_err() || base.set_password(None).is_err() {
            return Err(unusable("it names no host"));
        }
        base.set_query(None);
        base.set_fragment(None);
        let tls = if encrypted {
            egress::trusting(ca_file.as_deref()).map_err(|e| unusable(&e.to_string()))?
        } else {
            egress::trusting_nobody()
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, base, authorization })
    }

    /// Repeats a GET once that was answered with 500: of two concurrent requests for the first list
    /// of a kind, a broker that has just started fails one (`rabbit_mgmt_db_cache`:
    /// `already_started`).
    pub(super) async fn call(
        &self,
        method: Method,
        path: &[&str],
        columns: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Option<Value>, ManagementError> {
        let is_read = method == Method::GET;
        match self.call_once(method.clone(), path, columns, body).await {
            Err(ManagementError::Refused { status: 500, .. }) if is_read => {
                tokio::time::sleep(PAUSE).await;
                self.call_once(method, path, columns, body).await
            }
            answer => answer,
        }
    }

    async fn call_once(
        &self,
        method: Method,
        path: &[&str],
        columns: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Option<Value>, ManagementError> {
        let call = format!("{method} /api/{}", path.join("/"));
        let unreachable =
            |reason: String| ManagementError::Unreachable { call: call.clone(), reason };
        let request = self
            .request(method, path, columns, body)
            .map_err(|reason| ManagementError::Address { reason })?;
        let exchange = async {
            let answer = self.client.request(request).await.map_err(|e| chain(&e))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
            let bytes = body.collect().await.map_err(|e| chain(&*e))?.to_bytes();
            Ok((status, bytes))
        };
        let (status, bytes) = tokio::time::timeout(CALL_LIMIT, exchange)
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", CALL_LIMIT.as_secs())))?
            .map_err(unreachable)?;
        understood(call, status, &bytes)
    }

    fn request(
        &self,
        method: Method,
        path: &[&str],
        columns: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>, String> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| "it cannot carry a path".to_owned())?
            .pop_if_empty()
            .push("api")
            .extend(path);
        if let Some(columns) = columns {
            url.query_pairs_mut().append_pair("columns", columns);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))
            .map_err(|error| error.to_string())
    }
}

fn understood(
    call: String,
    status: StatusCode,
    bytes: &[u8],
) -> Result<Option<Value>, ManagementError> {
    if !status.is_success() {
        let answer: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let reason = match answer.get("reason") {
            Some(Value::String(reason)) => reason.clone(),
            Some(other) => other.to_string(),
            None => "no reason given".to_owned(),
        };
        return Err(ManagementError::Refused { call, status: status.as_u16(), reason });
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(bytes)
        .map_err(|error| ManagementError::Malformed { call, reason: error.to_string() })
}

/// Formats an error with its sources: "client error (Connect): Connection refused (os error 111)".
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Returns the user part of a URL as it was before percent-encoding.
fn unescaped(escaped: &str) -> String {
    // The available decoder is for forms, where `+` and `&` have a meaning.
    let form = format!("part={}", escaped.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(form.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// Standard base64 with padding (RFC 4648 §4), which basic authentication asks for.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (index, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            match BASE64.get((group >> shift & 63) as usize) {
                Some(letter) if index <= chunk.len() => text.push(char::from(*letter)),
                _ => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in cases {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }

    #[test]
    fn the_password_is_sent_as_it_is_and_printed_nowhere() {
        let client = HttpClient::new(&"http://a%40b:p%2B+&%2Fw@127.0.0.1:1/".into()).unwrap();
        let sent = client.authorization.to_str().unwrap();
        assert_eq!(sent, format!("Basic {}", base64(b"a@b:p++&/w")));
        assert_eq!(
            format!("{client:?} {:?}", client.authorization),
            r#"HttpClient { base: "http://127.0.0.1:1/", .. } Sensitive"#
        );
    }

    /// Calls a broker that fails at its first request. Returns the answer and the number of
    /// requests.
    async fn called(method: Method) -> (Result<Option<Value>, ManagementError>, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://a:b@{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let broker = async move {
            for status in ["500 Internal Server Error", "200 OK"] {
                let (mut socket, _) = listener.accept().await.unwrap();
                let _head = socket.read(&mut [0; 4096]).await.unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]"
                );
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        };
        let broker = tokio::spawn(broker);
        let client = HttpClient::new(&url.into()).unwrap();
        let answer = client.call(method, &["queues"], None, None).await;
        broker.abort();
        (answer, asked.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_get_at_which_the_broker_fails_is_repeated_once_and_a_post_is_not() {
        let (answer, asked) = called(Method::GET).await;
        assert_eq!((answer.unwrap(), asked), (Some(serde_json::json!([])), 2));
        let (answer, asked) = called(Method::POST).await;
        assert!(matches!(answer, Err(ManagementError::Refused { status: 500, .. })), "{answer:?}");
        assert_eq!(asked, 1);
    }

    #[test]
    fn names_are_escaped_inside_a_path() {
        let client = HttpClient::new(&"http://a:b@127.0.0.1:1".into()).unwrap();
        let request = client.request(Method::GET, &["queues", "/", "a b"], None, None).unwrap();
        assert_eq!(request.uri().path(), "/api/queues/%2F/a%20b");
    }
}
