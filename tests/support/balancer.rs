//! What stands before the nodes of a cluster: takes each connection to a node that lives.

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

/// A TCP balancer. Dropping it closes its door; connections that stand go on.
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
            // Either end closing is the end; what it says is for the other end to know.
            let _ = copy_bidirectional(&mut client, &mut node).await;
            return;
        }
    }
}
