//! Published clients of CoinPayments, unchanged, from create to the verified IPN against the real
//! programs. What each call comes to is what the table of `docs/legacy.md` says.

use std::{path::Path, process::Stdio, time::Duration};

use serde_json::Value;
use support::server::{
    broker::with_broker, database::TestDatabase, installation::Installation, processes::program,
};
use tokio::process::Command;

const GUIDE: &str = include_str!("../../../docs/legacy.md");
/// Includes the installation of the client.
const PATIENCE: Duration = Duration::from_secs(300);

/// The rows of the guide's table about one client: its calls, and what they come to.
fn promised(client: &str) -> Vec<(String, String)> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = GUIDE.lines().filter(|line| line.starts_with("| ")).map(cells);
    let rows = rows.filter(|row| row.len() == 3 && row[0] == client);
    rows.map(|row| (row[1].trim_matches('`').to_owned(), row[2].clone())).collect()
}

async fn does_what_the_guide_says(client: &str) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (_api, _workers) = installation.start().await;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/legacy.sh");
        let mut command = Command::new(script);
        command.arg(client).envs(installation.settings().iter().cloned());
        command.env("GATEWAYCTL", program("gatewayctl")).stderr(Stdio::piped());
        let ran = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).output());
        let ran = ran.await.expect("it ends in time").expect("it starts");
        let [said, complaint] =
            [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(ran.status.success(), "{client}\n{said}\n{complaint}");
        let seen: Vec<_> = said
            .lines()
            .map(|line| {
                let row: Value = serde_json::from_str(line).unwrap();
                let text = |name: &str| row[name].as_str().unwrap().to_owned();
                (text("call"), text("result"))
            })
            .collect();
        let promised = promised(client);
        assert!(promised.len() > 1, "the guide has no table of {client}");
        assert_eq!(seen, promised, "{client}: what was seen, and what docs/legacy.md says");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_coinpayments_goes_from_create_to_complete() {
    does_what_the_guide_says("coinpayments").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_coinpayments_ipn_verifies_all_letters() {
    does_what_the_guide_says("coinpayments-ipn").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coinpayments_py_goes_from_create_to_the_verified_ipn() {
    does_what_the_guide_says("coinpayments-py").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pycoinpayments_goes_from_create_to_the_verified_ipn() {
    does_what_the_guide_says("pycoinpayments").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asyncoinpayments_goes_from_create_to_the_verified_ipn() {
    does_what_the_guide_says("asyncoinpayments").await;
}
