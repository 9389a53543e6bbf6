//! No room on the database's disk, or for our own logs (F34).

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use support::{
    client::exchange::Exchange,
    fault::fired::fired,
    server::{
        broker::with_broker,
        database::TestDatabase,
        disk::Ballast,
        installation::Installation,
        private_postgres::cramped_postgres,
        processes::{Launch, Process, free_port, program, within},
    },
    shop::trade::{Shop, forget_unanswered, stored_order_ids},
};

const LIMIT: Duration = Duration::from_secs(90);
/// The API's own limit is 12 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
const DISK_MB: u32 = 160;
const ORDERS: usize = 5;
const NO_ROOM: &str = "No space left on device";

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_requests_and_loses_nothing_that_was_acknowledged() {
    with_broker(|broker| async move {
        let mut server = cramped_postgres(DISK_MB).await;
        let url = server.create_database().await;
        let installation = Installation::new(&url, &(&*broker).into(), &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 1_000).await;
        let mut orders = shop.create(&installation, ORDERS).await;

        let ballast = Ballast::filling(server.folder());
        let (mut failed, mut slowest) = (0_u64, Duration::ZERO);
        within(LIMIT, "the disk is full and the API says so", async || {
            for _ in 0..ORDERS {
                let started = Instant::now();
                match shop.try_create(&installation).await {
                    Ok((order, _)) => orders.push(order),
                    Err(reason) => {
                        assert!(reason.contains("INTERNAL_ERROR"), "{reason}");
                        failed += 1;
                    }
                }
                slowest = slowest.max(started.elapsed());
            }
            let full = server.said().contains(NO_ROOM);
            if full && failed > 0 { Ok(()) } else { Err(format!("{failed} failed, full: {full}")) }
        })
        .await;
        assert!(slowest < ANSWER_LIMIT, "a request took {slowest:?}");
        fired(failed);
        assert!(api.process.is_alive() && workers.process.is_alive());

        drop(ballast);
        // The server may have given up; its supervisor starts it again.
        server.start().await;
        api.ready().await;
        workers.ready().await;
        orders.extend(shop.create(&installation, ORDERS).await);
        let stored = stored_order_ids(&installation).await;
        let acknowledged: BTreeSet<_> = orders.iter().map(|order| order.order_id.clone()).collect();
        assert!(stored.is_superset(&acknowledged), "acknowledged and not stored");
        forget_unanswered(&url, &acknowledged).await;
        shop.pay(&installation, &orders).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!(
            "{failed} requests refused by a full disk, slowest {slowest:?}; afterwards {outcome:?}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_log_disk_stops_no_program() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let mut programs = Vec::new();
        for (name, role, setting) in
            [("gateway-api", None, "API"), ("gateway-worker", Some("all"), "WORKER")]
        {
            let metrics = std::net::SocketAddr::from(([127, 0, 0, 1], free_port()));
            let mut environment = installation.settings().to_vec();
            environment.push((format!("GATEWAY_{setting}__METRICS_LISTEN"), metrics.to_string()));
            // Every write there fails as on a full disk.
            let script = r#"exec "$@" >/dev/full 2>&1"#;
            let inner = program(name).display().to_string();
            let arguments = ["-c", script, "full", &inner].into_iter().chain(role);
            let process = Process::start(&Launch {
                name: name.to_owned(),
                program: "/bin/bash".into(),
                arguments: arguments.map(ToOwned::to_owned).collect(),
                environment,
                owner: None,
            });
            programs.push((process, metrics));
        }
        for (process, metrics) in &programs {
            within(LIMIT, "it is ready", async || match Exchange::get(*metrics, "/readyz").await {
                Ok(answer) if answer.status == 200 => Ok(()),
                other => Err(format!("{other:?}")),
            })
            .await;
            assert_eq!(process.output(), "", "it found room for its log");
            fired(1);
        }
        let shop = Shop::open(&installation, ORDERS).await;
        let orders = shop.create(&installation, ORDERS).await;
        shop.pay(&installation, &orders).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!("without room for a log: {outcome:?}");
        database.remove().await;
    })
    .await;
}
