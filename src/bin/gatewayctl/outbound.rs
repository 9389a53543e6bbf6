//! HTTP to addresses that the caller of this program names: his own gateway and his own receivers,
//! which may be on this machine.

use gateway::egress;
use http::Uri;
use hyper::body::{Body, Bytes};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

pub(crate) type Http<B> = Client<HttpsConnector<HttpConnector>, B>;

/// A client for this address, which follows no redirect. The error is for the person who typed the
/// address.
pub(crate) fn client_for<B>(url: &str) -> Result<(Http<B>, Uri), String>
where
    B: Body<Data = Bytes> + Send,
{
    const SCHEME: &str = "it must begin with http:// or https://";
    if !url.contains("://") {
        return Err(SCHEME.to_owned());
    }
    let url: Uri = url.parse().map_err(|error| format!("{error}"))?;
    let tls = match url.scheme_str() {
        Some("http") => egress::trusting_nobody(),
        Some("https") => egress::trusting(None).map_err(|error| error.to_string())?,
        Some(_) | None => return Err(SCHEME.to_owned()),
    };
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
    // A server may close a kept connection while the next POST is written into it, as after a body
    // that was too large; a POST is not repeated then.
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
    Ok((client, url))
}

/// The innermost cause: that is the one to act on.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
