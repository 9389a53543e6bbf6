//! Bytes on a socket, for requests that no HTTP client would send.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Generous: it ends a test whose server never closes, it never decides one that works.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection that sends exactly the given bytes.
pub struct RawClient(TcpStream);

impl RawClient {
    pub async fn connect(server: SocketAddr) -> Self {
        Self(TcpStream::connect(server).await.unwrap())
    }

    /// Sends the bytes; returns `false` if not all were accepted. Then the server has closed, and
    /// its earlier response can still be read.
    pub async fn say(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).await.is_ok()
    }

    /// Reads everything until the server closes.
    pub async fn hear_all(&mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        let reading = async {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = self.0.read(&mut buffer).await {
                heard.extend_from_slice(&buffer[..read]);
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("the server closes the connection");
        heard
    }
}

/// The whole response to one request, until the server closes.
pub async fn exchange(server: SocketAddr, request: &[u8]) -> RawAnswer {
    let mut client = RawClient::connect(server).await;
    client.say(request).await;
    RawAnswer(String::from_utf8(client.hear_all().await).unwrap())
}

#[derive(Debug)]
pub struct RawAnswer(pub String);

impl RawAnswer {
    /// Status of the first response; `None` if the server closed without one.
    pub fn status(&self) -> Option<u16> {
        self.0.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
    }

    /// Number of responses.
    pub fn answers(&self) -> usize {
        self.0.matches("HTTP/1.1 ").count()
    }
}
