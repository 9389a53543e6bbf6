//! Hosted brokers and databases speak TLS alone, with authorities of their own (a private server of
//! each stands for them).

use gateway::{app::messaging::apply_topology::check_topology, broker::management::Management};
use http::Method;
use serde_json::Value;
use sqlx::{Connection, PgConnection};
use support::{
    client::ctl::Ctl,
    server::{
        authority::Authority,
        broker::eventually,
        installation::{BrokerAccess, Installation},
        private_postgres::encrypted_postgres,
        private_rabbitmq::encrypted_rabbitmq,
    },
    shop::trade::Shop,
};

const LIMIT: std::time::Duration = std::time::Duration::from_secs(90);

fn secured(database_url: &str, authority: &Authority) -> String {
    authority.trusted(&format!("{database_url}?sslmode=verify-full"), "sslrootcert")
}

/// What `doctor` says of the two servers, each as its state and its words.
async fn seen(database_url: &str, broker: &BrokerAccess) -> [(String, String); 2] {
    let ctl = Ctl::over(database_url)
        .with("AMQP_URL", &broker.amqp_url)
        .with("GATEWAY_BROKER__MANAGEMENT_URL", &broker.management_url)
        .with("GATEWAY_BROKER__VHOST", &broker.vhost)
        .with("GATEWAY_BROKER__PREFIX", broker.topology.prefix());
    let report = ctl.run(&["--json", "doctor"]).await.json();
    ["database", "amqp"].map(|name| {
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["check"] == name).unwrap();
        let text = |key: &str| check[key].as_str().unwrap().to_owned();
        (text("state"), text("detail"))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_work_over_encrypted_connections_and_over_no_others() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let postgres = encrypted_postgres(&authority).await;
    let (rabbitmq, management_port) = encrypted_rabbitmq(&authority).await;
    let plain_url = postgres.create_database().await;
    let url = secured(&plain_url, &authority);
    let plain = rabbitmq.access().await;
    let over_tls = |authority: &Authority| {
        let amqps = plain.amqp_url.replace("amqp://", "amqps://");
        let mut management = url::Url::parse(&plain.management_url).unwrap();
        management.set_scheme("https").unwrap();
        management.set_port(Some(management_port)).unwrap();
        BrokerAccess {
            amqp_url: authority.trusted(&amqps, "cacertfile"),
            management_url: authority.trusted(management.as_str(), "cacertfile"),
            ..plain.clone()
        }
    };
    let access = over_tls(&authority);
    assert_eq!(check_topology(&access.section()).await.unwrap(), []);

    let installation = Installation::new(&url, &access, &[]);
    let (_api, _workers) = installation.start().await;
    let shop = Shop::open(&installation, 3).await;
    let orders = shop.create(&installation, 3).await;
    shop.pay(&installation, &orders).await;
    shop.converge(&installation, &orders, LIMIT).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let sessions = "select count(*) filter (where ssl), count(*) filter (where not ssl) \
                    from pg_stat_ssl join pg_stat_activity using (pid) where backend_type = 'client backend'";
    let (encrypted, open): (i64, i64) =
        sqlx::query_as(sessions).fetch_one(&mut connection).await.unwrap();
    assert!(encrypted > 5 && open == 0, "{encrypted} sessions encrypted, {open} not");
    let management = Management::new(&access.management_url.clone().into(), &access.vhost).unwrap();
    // The management plugin collects connections every few seconds.
    let lines = eventually("the broker lists its connections", async || {
        let lines = management.call(Method::GET, &["connections"], None).await.unwrap().unwrap();
        lines.as_array().filter(|lines| !lines.is_empty()).cloned()
    })
    .await;
    assert!(lines.iter().all(|line: &Value| line["ssl"] == true), "{lines:?}");

    let [database, amqp] = seen(&url, &access).await;
    assert_eq!((database.0.as_str(), amqp.0.as_str()), ("ok", "ok"), "{database:?} {amqp:?}");
    // An authority that did not sign, a line without encryption, and a name that the certificate is
    // not for.
    let elsewhere = |url: &str| url.replace("127.0.0.1", "127.0.0.2");
    let other_name = BrokerAccess { amqp_url: elsewhere(&access.amqp_url), ..access.clone() };
    for (what, database_url, broker) in [
        ("another authority", secured(&plain_url, &stranger), over_tls(&stranger)),
        ("no encryption", format!("{plain_url}?sslmode=disable"), plain.clone()),
        ("another name", elsewhere(&url), other_name),
    ] {
        for (state, detail) in seen(&database_url, &broker).await {
            assert_eq!(state, "broken", "{what}: {detail}");
            println!("{what}: {detail}");
        }
    }
}
