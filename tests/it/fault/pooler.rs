//! PgBouncer in transaction mode between the programs and the database (F67): what needs a session
//! of its own goes around it, and addresses that cannot do their work are refused by name.

use std::time::Duration;

use gateway::storage::{Db, StorageError, Trouble, locks::SessionLock};
use serde_json::Value;
use sqlx::{Connection, Executor, PgConnection};
use support::{
    client::ctl::Ctl,
    fault::fired::fired,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::Installation,
        pgbouncer::{PgBouncer, Pooling},
    },
    shop::trade::Shop,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};
use url::Url;

const DIRECT_URL: &str = "GATEWAY_DATABASE_DIRECT_URL";
const LIMIT: Duration = Duration::from_secs(90);
const END_LIMIT: Duration = Duration::from_secs(30);

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut checks = report["checks"].as_array().unwrap().iter();
    checks.find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name} in {report}"))
}

async fn doctor(url: &str, direct_url: &str) -> Value {
    Ctl::over(url).with(DIRECT_URL, direct_url).run(&["--json", "doctor"]).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn invoices_are_paid_and_told_over_a_pooler_in_transaction_mode() {
    let database = TestDatabase::create().await;
    let pooler = PgBouncer::before(&database.url, Pooling::default()).await;
    with_broker(|broker| async move {
        let more = [("DATABASE_URL", pooler.url()), (DIRECT_URL, database.url.as_str())];
        let installation = Installation::new(&database.url, &(&*broker).into(), &more);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 20).await;
        let orders = shop.create(&installation, 20).await;
        shop.pay(&installation, &orders).await;
        shop.converge(&installation, &orders, LIMIT).await;
        assert!(!workers.process.output().contains("lost its lock"), "{}", workers.process.said());

        let report = doctor(pooler.url(), &database.url).await;
        assert_eq!(check(&report, "database")["state"], "ok", "{report}");
        let found = check(&report, "pooler");
        assert_eq!(found["state"], "doubtful", "{found}");
        assert!(found["detail"].as_str().unwrap().contains("statement_timeout"), "{found}");
        // The remedy that it names is one: new sessions have the limits.
        let mut owner = database.connect().await;
        for statement in found["remedy"].as_array().unwrap() {
            let statement = sqlx::AssertSqlSafe(statement.as_str().unwrap().to_owned());
            owner.execute(statement).await.unwrap();
        }
        let fresh = PgBouncer::before(&database.url, Pooling::default()).await;
        let report = doctor(fresh.url(), &database.url).await;
        assert_eq!(check(&report, "pooler")["state"], "ok", "{report}");

        // Both programs did work over it.
        pooler.kill().await;
        api.unready().await;
        workers.unready().await;
        fired(1);
        drop((api, workers, fresh));
        owner.close().await.unwrap();
        database.remove().await;
    })
    .await;
}

/// Addresses that cannot work, and the words that every program refuses them with.
#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_cannot_hold_a_lock_or_a_statement_are_refused_by_name() {
    let database = TestDatabase::create().await;
    let other = TestDatabase::create().await;
    let strict = PgBouncer::before(&database.url, Pooling::default()).await;
    let lax =
        PgBouncer::before(&database.url, Pooling { drops_settings: true, ..Pooling::default() });
    let lax = lax.await;
    let forgetful = Pooling { max_prepared_statements: 0, ..Pooling::default() };
    let forgetful = PgBouncer::before(&database.url, forgetful).await;
    let shared = "set GATEWAY_DATABASE_DIRECT_URL to PostgreSQL itself";
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        for (what, url, direct_url, words, found) in [
            ("a pooler alone", strict.url(), "", shared, "database"),
            ("a pooler that drops settings, alone", lax.url(), "", shared, "database"),
            ("a pooler as the direct address", strict.url(), lax.url(), shared, "database"),
            (
                "a direct address of another database",
                strict.url(),
                &other.url,
                "DATABASE_URL and GATEWAY_DATABASE_DIRECT_URL lead to two databases",
                "direct address",
            ),
            (
                "a pooler that forgets statements",
                forgetful.url(),
                &database.url,
                "forgets prepared statements",
                "pooler",
            ),
        ] {
            let settings = [("DATABASE_URL", url), (DIRECT_URL, direct_url)];
            for (name, arguments) in [("gateway-api", &[][..]), ("gateway-worker", &["all"])] {
                let program = installation.launch(name, arguments, &settings);
                program.process.ended(END_LIMIT).await;
                let said = program.process.output();
                assert!(said.contains(words), "{what}, {name}: {said}");
                fired(1);
            }
            let report = doctor(url, direct_url).await;
            let check = check(&report, found);
            assert_eq!(check["state"], "broken", "{what}: {report}");
            assert!(check["detail"].as_str().unwrap().contains(words), "{what}: {check}");
            // Migrations do not use the pooler.
            if found != "pooler" {
                let ctl = Ctl::over(url).with(DIRECT_URL, direct_url);
                ctl.run(&["migrate"]).await.expect_failure(words);
            }
        }
        let ctl = Ctl::over(strict.url()).with(DIRECT_URL, &database.url);
        ctl.run(&["migrate"]).await.expect_ok();
        drop((strict, lax, forgetful));
        database.remove().await;
        other.remove().await;
    })
    .await;
}

/// A port that leads to one server, and for later connections to another.
async fn forwarder(to: watch::Receiver<String>, url: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut address = Url::parse(url).unwrap();
    address.set_host(Some("127.0.0.1")).unwrap();
    address.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let server = Url::parse(&to.borrow()).unwrap().socket_addrs(|| Some(5432)).unwrap();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(&server[..]).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    address.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_a_pooler_took_away_is_not_held_although_its_connection_answers() {
    let database = TestDatabase::create().await;
    let pooling = Pooling { drops_settings: true, ..Pooling::default() };
    let pooler = PgBouncer::before(&database.url, pooling).await;
    let (lead, to) = watch::channel(database.url.clone());
    let db = Db::connect_lazy(&forwarder(to, &database.url).await.into(), 1).unwrap();
    // The address was a good one when it was proven, and is put before a pooler by somebody.
    db.prove_direct().await.unwrap();
    lead.send_replace(pooler.url().to_owned());
    let mut lock = SessionLock::try_take(&db, "watcher").await.unwrap().unwrap();
    assert!(lock.is_held().await, "nobody else wanted its session");
    let mut other = PgConnection::connect(pooler.url()).await.unwrap();
    other.execute("begin").await.unwrap();
    other.execute("select 1").await.unwrap();
    assert!(!lock.is_held().await, "its session serves another client");
    fired(1);
    let refused = SessionLock::try_take(&db, "watcher").await.err().unwrap();
    assert_eq!(Trouble::of(&refused), Some(Trouble::DirectAddress), "{refused}");
    drop((lock, db));
    other.close().await.unwrap();
    drop(pooler);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_behind_a_pooler_is_bounded_and_notices_a_database_that_was_replaced() {
    let database = TestDatabase::create().await;
    let pooler = PgBouncer::before(&database.url, Pooling::default()).await;
    let (url, direct_url) = (pooler.url().to_owned().into(), database.url.clone().into());
    // One connection, which lives through all of it.
    let db = Db::connect_lazy_around(&url, Some(&direct_url), 1).unwrap();
    let mut owner = database.connect().await;
    let mut tx = db.begin().await.unwrap();
    let limits = "select current_setting('statement_timeout'), current_setting('lock_timeout'), \
                  current_setting('idle_in_transaction_session_timeout'), current_setting('jit')";
    let limits: (String, String, String, String) =
        sqlx::query_as(limits).fetch_one(&mut *tx).await.unwrap();
    assert_eq!(limits, ["15s", "8s", "30s", "off"].map(str::to_owned).into());
    tx.commit().await.unwrap();

    // As a standby finds it that lacks the last commits.
    let identity = "select identity from database_identity";
    let real: String = sqlx::query_scalar(identity).fetch_one(&mut owner).await.unwrap();
    owner.execute("update database_identity set identity = 'of the old primary'").await.unwrap();
    db.begin().await.unwrap().commit().await.unwrap();
    let now: (String, i64) =
        sqlx::query_as("select identity, returns::bigint from database_identity")
            .fetch_one(&mut owner)
            .await
            .unwrap();
    assert_eq!(now, (real, 1), "the replaced database was made safe before the transaction");
    fired(1);

    owner.execute("update database_identity set handover = 'closed'").await.unwrap();
    let refused = db.begin().await.err().unwrap();
    assert!(matches!(refused, StorageError::HandedOver), "{refused:?}");
    fired(1);
    db.close().await;
    owner.close().await.unwrap();
    drop(pooler);
    database.remove().await;
}
