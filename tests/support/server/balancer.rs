//! TCP balancer before the nodes of a cluster: forwards each connection to a live node.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_util::task::AbortOnDropHandle;

/// A TCP balancer. Dropping it closes its listener; open connections continue.
pub struct Balancer {
    pub address: SocketAddr,
    _task: AbortOnDropHandle<()>,
}

impl Balancer {
    pub async fn before(nodes: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let turn = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, nodes.clone(), Arc::clone(&turn)));
            }
        });
        Self { address, _task: AbortOnDropHandle::new(task) }
    }
}

async fn carry(mut client: TcpStream, nodes: Vec<SocketAddr>, turn: Arc<AtomicUsize>) {
    let first = turn.fetch_add(1, Ordering::Relaxed);
    for offset in 0..nodes.len() {
        if let Ok(mut node) = TcpStream::connect(nodes[(first + offset) % nodes.len()]).await {
            // Either end closing ends the connection; the other end sees it.
            let _ = copy_bidirectional(&mut client, &mut node).await;
            return;
        }
    }
}
