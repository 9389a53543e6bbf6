//! Programs with another master key than the database was sealed under: they start no work (F64).

use std::{process::Command, time::Duration};

use support::{
    client::ctl::Ctl,
    fault::fired::fired,
    server::{
        database::TestDatabase,
        installation::MASTER_KEY,
        processes::{Launch, Process, free_port, program},
    },
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

const OTHER_KEY: &str = "7777777777777777777777777777777777777777777777777777777777777777";
const PROGRAMS: [(&str, &[&str]); 2] = [("gateway-api", &[]), ("gateway-worker", &["all"])];
const LIMIT: Duration = Duration::from_secs(60);
const REFUSAL: &str = "GATEWAY_MASTER_KEY does not open what this database holds sealed";
/// What `timeout` ends with where the program did not.
const TIME_IS_OVER: i32 = 124;

fn settings(database_url: &str, key: &str) -> Vec<(String, String)> {
    let mut settings = vec![
        ("DATABASE_URL".to_owned(), database_url.to_owned()),
        ("AMQP_URL".to_owned(), "amqp://a:b7d2a9c4@127.0.0.1:1/gateway".to_owned()),
        ("GATEWAY_MASTER_KEY".to_owned(), key.to_owned()),
        ("GATEWAY_EGRESS__ALLOW_PRIVATE".to_owned(), "true".to_owned()),
        ("GATEWAY_LOG".to_owned(), "text".to_owned()),
    ];
    for setting in
        ["API__LISTEN", "CHECKOUT__LISTEN", "API__METRICS_LISTEN", "WORKER__METRICS_LISTEN"]
    {
        settings.push((format!("GATEWAY_{setting}"), format!("127.0.0.1:{}", free_port())));
    }
    settings
}

fn run(name: &str, arguments: &[&str], database_url: &str, key: &str) -> (String, Option<i32>) {
    let mut command = Command::new("timeout");
    command.arg("10").arg(program(name)).args(arguments);
    let output = command.env_clear().envs(settings(database_url, key)).output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[tokio::test]
async fn a_program_with_another_master_key_does_not_start() {
    let database = TestDatabase::create().await;
    // Sealed by an earlier release, which kept no proof of its key.
    Ctl::over(&database.url).json(&["merchant", "create", "--name", "Shop"]).await;
    for kept_no_proof in [true, false] {
        if kept_no_proof {
            let mut connection = database.connect().await;
            sqlx::query("delete from master_key_proof").execute(&mut connection).await.unwrap();
        }
        for (name, arguments) in PROGRAMS {
            let (said, code) = run(name, arguments, &database.url, OTHER_KEY);
            assert_eq!(code, Some(1), "{name}: {said}");
            assert!(said.contains(REFUSAL), "{name}: {said}");
            assert!(!said.contains(OTHER_KEY), "{name} tells its key");
            fired(1);
        }
        let (said, code) = run("gateway-api", &[], &database.url, MASTER_KEY);
        assert_eq!(code, Some(TIME_IS_OVER), "{said}");
    }
    // Nor does it seal anything for a merchant, which no program could open.
    let other =
        Ctl::default().with("DATABASE_URL", &database.url).with("GATEWAY_MASTER_KEY", OTHER_KEY);
    other.run(&["merchant", "create", "--name", "Shop"]).await.expect_failure(REFUSAL);
    let report = other.run(&["--json", "doctor"]).await.json();
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == "master key").unwrap();
    assert_eq!(check["state"], "broken", "{report}");
    database.remove().await;
}

/// Lets the port lead to the database from now on.
async fn open_port(port: u16, database_url: &str) {
    let at = url::Url::parse(database_url).unwrap().socket_addrs(|| None).unwrap()[0];
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut server = TcpStream::connect(at).await?;
                copy_bidirectional(&mut socket, &mut server).await
            });
        }
    });
}

#[tokio::test]
async fn a_program_started_without_its_database_ends_when_the_master_key_proves_wrong() {
    let database = TestDatabase::create().await;
    Ctl::over(&database.url).json(&["merchant", "create", "--name", "Shop"]).await;
    for (name, arguments) in PROGRAMS {
        let port = free_port();
        let mut url = url::Url::parse(&database.url).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(port)).unwrap();
        let process = Process::start(&Launch {
            name: name.to_owned(),
            program: program(name),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment: settings(url.as_str(), OTHER_KEY),
            owner: None,
        });
        support::server::processes::within(
            LIMIT,
            "it has begun without its database",
            async || {
                let said = process.output();
                if said.contains("could not be compared with the database yet") {
                    Ok(())
                } else {
                    Err(said)
                }
            },
        )
        .await;
        open_port(port, &database.url).await;
        process.ended(LIMIT).await;
        let said = process.output();
        assert!(said.contains(&format!("Error: {REFUSAL}")), "{name}: {said}");
        assert!(!said.contains("consumer"), "{name} began its work: {said}");
        fired(1);
    }
    database.remove().await;
}
