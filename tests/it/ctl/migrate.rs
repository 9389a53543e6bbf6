//! `gatewayctl migrate` over empty databases.

use futures_util::future::join_all;
use support::{client::ctl::Ctl, server::database::TestDatabase};
use tokio::net::{TcpListener, TcpStream};

use super::over;

#[tokio::test]
async fn migrating_twice_and_at_once_applies_every_step_exactly_once() {
    over(TestDatabase::empty().await, |ctl, _| async move {
        let runs = join_all((0..4).map(|_| ctl.json(&["migrate"]))).await;
        let applied: Vec<_> =
            runs.iter().flat_map(|run| run["applied"].as_array().unwrap().clone()).collect();
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations"));
        assert_eq!(applied.len(), files.unwrap().count(), "{runs:?}");
        assert_eq!(applied[0]["description"], "foundation");
        assert_eq!(ctl.json(&["migrate"]).await["applied"], serde_json::json!([]));
        let text = ctl.run(&["migrate"]).await.expect_ok().stdout;
        assert_eq!(text, "The schema was already up to date.\n");
    })
    .await;
}

/// Whoever goes back to the release before starts its `migrate` too, where that is a step of the
/// start.
#[tokio::test]
async fn a_schema_of_a_later_release_is_left_as_it_is() {
    over(TestDatabase::empty().await, |ctl, database| async move {
        ctl.json(&["migrate"]).await;
        let later =
            "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
                     values (20991231000000, 'later', true, '', 1)";
        sqlx::query(later).execute(&mut database.connect().await).await.unwrap();
        let again = ctl.json(&["migrate"]).await;
        assert_eq!((&again["applied"], &again["later"]), (&serde_json::json!([]), &1.into()));
        let text = ctl.run(&["migrate"]).await.expect_ok().stdout;
        assert!(text.starts_with("The schema is of a later release ("), "{text}");
    })
    .await;
}

#[tokio::test]
async fn migrating_needs_no_setting_but_the_database() {
    over(TestDatabase::empty().await, |_, database| async move {
        let ctl = Ctl::default()
            .with("DATABASE_URL", &database.url)
            .with("GATEWAY_PROFILE", "production");
        let text = ctl.run(&["migrate"]).await.expect_ok().stdout;
        assert!(text.contains("foundation"), "{text}");
        assert!(text.ends_with("The schema is up to date.\n"), "{text}");
    })
    .await;
}

/// Closes the first connections, as a starting server does; lets the others through.
async fn slow_to_start(listener: TcpListener, server: (String, u16), refused: usize) {
    for _ in 0..refused {
        drop(listener.accept().await.unwrap());
    }
    loop {
        let (mut caller, _) = listener.accept().await.unwrap();
        let mut server = TcpStream::connect(&server).await.unwrap();
        tokio::spawn(async move { tokio::io::copy_bidirectional(&mut caller, &mut server).await });
    }
}

#[tokio::test]
async fn migrating_waits_for_a_database_that_is_on_its_way_up() {
    over(TestDatabase::empty().await, |_, database| async move {
        let mut url = url::Url::parse(&database.url).unwrap();
        let server = (url.host_str().unwrap().to_owned(), url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // Longer than the patience of `reach` itself.
        tokio::spawn(slow_to_start(listener, server, 60));
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(address.port())).unwrap();
        let ran = Ctl::default().with("DATABASE_URL", url.as_str()).run(&["migrate"]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.stderr, format!("waiting up to 60 s for the database at {address}\n"));
        assert!(ran.stdout.contains("foundation"), "{ran:?}");
    })
    .await;
}
