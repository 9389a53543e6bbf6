//! Thousands of sockets that send nothing, or never finish a request, beside one honest client
//! (A49).

use std::time::{Duration, Instant};

use support::{
    client::exchange::Exchange,
    fault::fired::fired,
    server::{broker::with_broker, database::TestDatabase, installation::Installation},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

/// More than an API process accepts at a time.
const SLOW: usize = 5_000;
const ATTACK: Duration = Duration::from_secs(20);
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Most responses come at once.
const P50_MAX: Duration = Duration::from_millis(700);
/// A client that connects in the first rush queues behind thousands, and the kernel retransmits
/// SYNs that it had no room for.
const P99_MAX: Duration = Duration::from_secs(9);
/// Sockets that one process may open, for both ends of ours.
const DESCRIPTORS: u64 = 10_000;

/// Sends the beginning of a request, waits until it is cut off, and reconnects.
async fn dawdle(server: std::net::SocketAddr, number: usize) {
    let begun = [&b""[..], b"G", b"GET /v1/status HTTP/1.1\r\nHost: x\r\n"][number % 3];
    loop {
        let Ok(mut socket) = TcpStream::connect(server).await else { continue };
        if socket.write_all(begun).await.is_ok() {
            let mut buffer = [0; 1024];
            while let Ok(1..) = socket.read(&mut buffer).await {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_slow_sockets_delay_other_clients_only_briefly() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let enough = limit.current.is_none_or(|most| most >= DESCRIPTORS);
    assert!(enough, "this test opens {SLOW} sockets: allow it with ulimit -n {DESCRIPTORS}");
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let api = installation.start_api().await;
        api.ready().await;
        let mut slow = JoinSet::new();
        for number in 0..SLOW {
            slow.spawn(dawdle(installation.api, number));
        }
        let (began, mut times) = (Instant::now(), Vec::new());
        while began.elapsed() < ATTACK {
            let asked = Instant::now();
            let answer = Exchange::get(installation.api, "/v1/status").await.unwrap();
            assert_eq!(answer.status, 200);
            times.push(asked.elapsed());
            tokio::time::sleep(ASK_EVERY).await;
        }
        assert_eq!(slow.len(), SLOW);
        slow.shutdown().await;
        times.sort_unstable();
        let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("{} answers beside {SLOW} slow sockets: p50 {p50:?}, p99 {p99:?}", times.len());
        assert!(p50 < P50_MAX && p99 < P99_MAX, "p50 {p50:?}, p99 {p99:?}");
        fired(SLOW);
        database.remove().await;
    })
    .await;
}
