//! TLS configuration: the roots of the operating system, ring, TLS 1.2 and later, HTTP/1.1 only.

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use hyper_rustls::ConfigBuilderExt;
use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tracing::error;

/// Returns the TLS configuration. The roots are read and parsed once per process, which takes
/// milliseconds: clients come and go, some with each view of an order. If they could not be read,
/// because no file could be opened at that moment, the next client reads them again.
pub(super) fn config() -> Option<ClientConfig> {
    static TRUSTING: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = TRUSTING.get() {
        return Some(config.clone());
    }
    match builder().with_native_roots() {
        Ok(builder) => Some(TRUSTING.get_or_init(|| builder.with_no_client_auth()).clone()),
        Err(fault) => {
            error!("no root certificates on this system, no https call will be made: {fault}");
            None
        }
    }
}

/// For a server of the operator's own: with `ca_file` only those whose certificates stand there are
/// trusted, since a private authority is named to shut out all others.
pub fn trusting(ca_file: Option<&Path>) -> io::Result<ClientConfig> {
    let Some(path) = ca_file else {
        return config().ok_or_else(|| io::Error::other("this system has no root certificates"));
    };
    let unusable = |reason: &dyn std::fmt::Display| {
        io::Error::other(format!("the certificates in {} cannot be used: {reason}", path.display()))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"there is none"));
    }
    Ok(builder().with_root_certificates(roots).with_no_client_auth())
}

pub fn trusting_nobody() -> ClientConfig {
    builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
}

/// The provider is named here and not installed for the process, so that no other code can decide
/// it by being first.
fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions")
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
        time::Duration,
    };

    use rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivateKeyDer};

    use super::*;
    use crate::egress::{Call, Egress, EgressError, Policy, PublicPolicy, Resolve, Resolving};

    const ROOT: &[u8] = include_bytes!("fixture/root.pem");
    const GOOD: &[u8] = include_bytes!("fixture/good.pem");
    const EXPIRED: &[u8] = include_bytes!("fixture/expired.pem");
    const KEY: &[u8] = include_bytes!("fixture/test-only.key.pem");

    struct Here;

    impl Resolve for Here {
        fn resolve(&self, _: &str) -> Resolving {
            Box::pin(async { Ok(vec![Ipv4Addr::LOCALHOST.into()]) })
        }
    }

    /// Accepts one connection on a thread of its own and hands it to `serve`.
    fn listen(serve: impl FnOnce(TcpStream) -> io::Result<()> + Send + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            serve(stream)
        });
        address
    }

    /// Answers one request over TLS with a certificate for `shop.example`.
    fn listen_tls(certificate: &'static [u8]) -> SocketAddr {
        let chain = vec![CertificateDer::from_pem_slice(certificate).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        listen(move |stream| {
            let session = ServerConnection::new(Arc::new(config)).unwrap();
            let mut stream = StreamOwned::new(session, stream);
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte)?;
                request.push(byte[0]);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")?;
            stream.flush()
        })
    }

    fn egress(tls: Option<ClientConfig>) -> Egress {
        let policy = PublicPolicy { allow_private: true, denied_ports: vec![] };
        Egress::build(Policy::Public(policy), Arc::new(Here), tls)
    }

    fn trusting(root: Option<&[u8]>) -> Egress {
        let mut roots = RootCertStore::empty();
        if let Some(root) = root {
            roots.add(CertificateDer::from_pem_slice(root).unwrap()).unwrap();
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        egress(Some(tls))
    }

    async fn call(egress: &Egress, host: &str, at: SocketAddr) -> Result<String, EgressError> {
        let url = format!("https://{host}:{}/", at.port()).parse().unwrap();
        let answer = egress.send(Call::get(url, Duration::from_secs(20))).await?;
        Ok(String::from_utf8(answer.body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn only_a_valid_certificate_for_the_name_is_trusted() {
        let (known, unknown) = (trusting(Some(ROOT)), trusting(None));
        for (egress, host, certificate, expected) in [
            (&known, "shop.example", GOOD, Ok("fine")),
            (&known, "shop.example", EXPIRED, Err("the certificate has expired")),
            (&known, "other.example", GOOD, Err("the certificate is for another name")),
            (&known, "127.0.0.1", GOOD, Err("the certificate is for another name")),
            (&unknown, "shop.example", GOOD, Err("the certificate's issuer is unknown")),
        ] {
            let outcome = call(egress, host, listen_tls(certificate)).await;
            let expected = expected.map(str::to_owned).map_err(EgressError::Tls);
            assert_eq!(outcome, expected, "{host}");
        }
    }

    #[tokio::test]
    async fn without_root_certificates_a_tls_failure_is_not_counted_against_the_receiver() {
        let server = listen_tls(GOOD);
        let outcome = call(&egress(None), "shop.example", server).await;
        assert_eq!(outcome, Err(EgressError::Ours("no root certificates")));
    }

    #[tokio::test]
    async fn a_tls_failure_is_distinguished_from_an_unreachable_server() {
        // Alert 70 is how a server says that it speaks no version we offer.
        const TOO_OLD: &[u8] = &[0x15, 3, 1, 0, 2, 2, 70];
        const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        for (said, reason) in [
            (TOO_OLD, "the server refused the handshake"),
            (PLAIN, "the server does not speak tls properly"),
            (b"", "the connection closed during the handshake"),
        ] {
            let server = listen(move |mut stream| {
                // Reads the whole hello, so that closing sends no reset ahead of the response.
                let mut head = [0; 5];
                stream.read_exact(&mut head)?;
                let mut hello = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
                stream.read_exact(&mut hello)?;
                stream.write_all(said)
            });
            let outcome = call(&trusting(Some(ROOT)), "shop.example", server).await;
            assert_eq!(outcome, Err(EgressError::Tls(reason)));
        }
    }
}
