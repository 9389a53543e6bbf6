//! Errors of outgoing calls, in texts that may be stored and shown.
//!
//! No text here contains data from the other side or the URL: delivery logs are read by merchants.

use std::{error::Error, io, net::IpAddr};

use rustix::io::Errno;
use thiserror::Error;

use super::guard::{Refusal, UrlRefused};

/// Reason why a call has no response. The display text holds no part of the URL.
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
    /// The other side closed the connection; `status` is set if the head of a response had arrived.
    #[error("the connection closed before the answer was complete")]
    Cut { status: Option<u16> },
    #[error("the answer is not valid http: {0}")]
    Protocol(&'static str),
    /// Nothing was sent, because of a local failure.
    #[error("this machine could open no connection: {0}")]
    Ours(&'static str),
}

impl EgressError {
    /// Short stable name for logs, metrics and rows.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) | Self::Url(_) => "refused",
            Self::Resolve => "resolve",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::TimedOut => "timed_out",
            Self::Cut { .. } => "cut",
            Self::Protocol(_) => "protocol",
            Self::Ours(_) => "ours",
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

    /// `status` is that of the response's head, if it had arrived.
    pub(super) fn from_hyper(error: &hyper::Error, status: Option<u16>) -> Self {
        if error.is_parse_too_large() {
            Self::Protocol("its headers are too large")
        } else if error.is_parse_version_h2() {
            Self::Protocol("it is http/2, which was not asked for")
        } else if error.is_parse() {
            Self::Protocol("its headers cannot be read")
        } else if matches!(
            io_kind(error),
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
        ) {
            Self::Protocol("its body cannot be read")
        } else {
            Self::Cut { status }
        }
    }

    pub(super) fn from_dial(error: &io::Error, target: IpAddr) -> Self {
        const KNOWN: [(io::ErrorKind, &str); 5] = [
            (io::ErrorKind::ConnectionRefused, "connection refused"),
            (io::ErrorKind::ConnectionReset, "connection reset"),
            (io::ErrorKind::HostUnreachable, "host unreachable"),
            (io::ErrorKind::NetworkUnreachable, "network unreachable"),
            (io::ErrorKind::AddrNotAvailable, "no local address available"),
        ];
        if let Some(reason) = shortage(error, target) {
            return Self::Ours(reason);
        }
        let known = KNOWN.into_iter().find(|(kind, _)| *kind == error.kind());
        Self::Connect(known.map_or("network error", |(_, text)| text))
    }

    /// The system's resolver reports "no file could be opened" only in some of the places where it
    /// needs one; elsewhere it reports that the name was not found. So a lookup failure is
    /// attributed to the name only if this process could open a file.
    pub(super) fn from_lookup(error: &io::Error, file: &io::Result<impl Sized>) -> Self {
        let lacking = [Some(error), file.as_ref().err()];
        lacking.into_iter().flatten().find_map(lack).map_or(Self::Resolve, Self::Ours)
    }

    /// An error that does not come from the dialler comes from the TLS handshake on top of it.
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

/// Returns the resource that this machine lacks, if that is the reason why `target` was not
/// reached.
///
/// The system uses one error for exhausted ports and for a missing address of a family. Many
/// machines have no IPv6: an endpoint that has only such an address is never reached, and its
/// delivery attempts run out.
fn shortage(error: &io::Error, target: IpAddr) -> Option<&'static str> {
    let has_no_port = error.kind() == io::ErrorKind::AddrNotAvailable && target.is_ipv4();
    if has_no_port { Some("no local port is free") } else { lack(error) }
}

fn lack(error: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => Some("too many open files"),
        Errno::NOBUFS | Errno::NOMEM => Some("out of memory"),
        Errno::AGAIN => Some("too much is under way"),
        _ => None,
    }
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    chain(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind)
}

/// Iterates over `error` and its sources. An `io::Error` that wraps another error reports that
/// one's source as its own, so the wrapped error is visited explicitly.
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    #[test]
    fn a_lack_of_local_resources_is_not_counted_as_an_attempt() {
        for (errno, target, kind) in [
            (Errno::MFILE, V4, "ours"),
            (Errno::NFILE, V6, "ours"),
            (Errno::NOBUFS, V4, "ours"),
            (Errno::NOMEM, V4, "ours"),
            (Errno::AGAIN, V4, "ours"),
            (Errno::ADDRNOTAVAIL, V4, "ours"),
            (Errno::ADDRNOTAVAIL, V6, "connect"),
            (Errno::CONNREFUSED, V4, "connect"),
            (Errno::HOSTUNREACH, V4, "connect"),
            (Errno::PERM, V4, "connect"),
        ] {
            assert_eq!(EgressError::from_dial(&errno.into(), target).kind(), kind, "{errno:?}");
        }
    }

    #[test]
    fn a_host_is_reported_as_unknown_only_if_a_file_descriptor_was_free() {
        let missing = || io::Error::other("failed to lookup address information");
        for (error, file, kind) in [
            (missing(), Ok(()), "resolve"),
            (missing(), Err(Errno::MFILE.into()), "ours"),
            (missing(), Err(Errno::NOENT.into()), "resolve"),
            (Errno::NFILE.into(), Ok(()), "ours"),
        ] {
            assert_eq!(EgressError::from_lookup(&error, &file).kind(), kind, "{error:?}");
        }
    }
}
