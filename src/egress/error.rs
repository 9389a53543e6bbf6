//! What can go wrong with an outgoing call, in words that may be stored and shown.
//!
//! No text here is made of what the other side sent, nor of the URL: delivery logs are read by merchants.

use std::{error::Error, io};

use thiserror::Error;

use super::guard::{Refusal, UrlRefused};

/// Why a call has no answer. The display text holds no part of the URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EgressError {
    #[error("the address may not be called: {0}")]
    Refused(Refusal),
    #[error("the url may not be called: it {0}")]
    Url(UrlRefused),
    #[error("the host name could not be resolved")]
    Resolve,
    #[error("could not connect: {0}")]
    Connect(&'static str),
    #[error("no secure connection: {0}")]
    Tls(&'static str),
    #[error("no complete answer in time")]
    TimedOut,
    /// The other side closed the connection; `status` is there if the head of an answer had arrived.
    #[error("the connection closed before the answer was complete")]
    Cut { status: Option<u16> },
    #[error("the answer is not valid http: {0}")]
    Protocol(&'static str),
}

impl EgressError {
    /// A short stable name for logs, metrics and rows.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) | Self::Url(_) => "refused",
            Self::Resolve => "resolve",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::TimedOut => "timed_out",
            Self::Cut { .. } => "cut",
            Self::Protocol(_) => "protocol",
        }
    }

    pub(super) fn from_refusal(refused: UrlRefused) -> Self {
        if let UrlRefused::Address(refusal) = refused {
            Self::Refused(refusal)
        } else {
            Self::Url(refused)
        }
    }

    pub(super) fn from_client(error: &hyper_util::client::legacy::Error) -> Self {
        if error.is_connect() {
            let dialled = chain(error).find_map(|cause| cause.downcast_ref::<Self>());
            return dialled.cloned().unwrap_or_else(|| Self::from_handshake(error));
        }
        match chain(error).find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
            Some(error) => Self::from_hyper(error, None),
            None => Self::Cut { status: None },
        }
    }

    /// `status` is what the head of the answer said, if it had arrived.
    pub(super) fn from_hyper(error: &hyper::Error, status: Option<u16>) -> Self {
        if error.is_parse_too_large() {
            Self::Protocol("its head is too large")
        } else if error.is_parse_version_h2() {
            Self::Protocol("it is http/2, which was not asked for")
        } else if error.is_parse() {
            Self::Protocol("its head cannot be read")
        } else if matches!(
            io_kind(error),
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
        ) {
            Self::Protocol("its body cannot be read")
        } else {
            Self::Cut { status }
        }
    }

    pub(super) fn from_dial(error: &io::Error) -> Self {
        const KNOWN: [(io::ErrorKind, &str); 5] = [
            (io::ErrorKind::ConnectionRefused, "connection refused"),
            (io::ErrorKind::ConnectionReset, "connection reset"),
            (io::ErrorKind::HostUnreachable, "host unreachable"),
            (io::ErrorKind::NetworkUnreachable, "network unreachable"),
            (io::ErrorKind::AddrNotAvailable, "no local address available"),
        ];
        let known = KNOWN.into_iter().find(|(kind, _)| *kind == error.kind());
        Self::Connect(known.map_or("network error", |(_, text)| text))
    }

    /// What the dialler did not say itself came from the handshake on top of it.
    fn from_handshake(error: &(dyn Error + 'static)) -> Self {
        use rustls::{CertificateError as Bad, Error as Tls};
        Self::Tls(match chain(error).find_map(|cause| cause.downcast_ref::<Tls>()) {
            Some(Tls::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. })) => {
                "the certificate has expired"
            }
            Some(Tls::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. })) => {
                "the certificate is not valid yet"
            }
            Some(Tls::InvalidCertificate(
                Bad::NotValidForName | Bad::NotValidForNameContext { .. },
            )) => "the certificate is for another name",
            Some(Tls::InvalidCertificate(Bad::UnknownIssuer)) => {
                "the certificate's issuer is unknown"
            }
            Some(Tls::InvalidCertificate(_)) => "the certificate is invalid",
            Some(Tls::PeerIncompatible(_)) => "no common version or cipher",
            Some(Tls::AlertReceived(_)) => "the server refused the handshake",
            Some(_) => "the server does not speak tls properly",
            None => "the connection closed during the handshake",
        })
    }
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    chain(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind)
}

/// `error` and its causes. An `io::Error` that wraps another error names that one's cause as its own, so the wrapped
/// one is visited by hand.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    const DEPTH_MAX: usize = 16;
    std::iter::successors(Some(error), |&cause| next_cause(cause)).take(DEPTH_MAX)
}

fn next_cause<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => cause.source(),
    }
}
