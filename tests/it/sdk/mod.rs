//! The SDKs: their types are those of the contract, and each goes through `sdk/scenario.json`
//! against the real programs.

use std::{path::PathBuf, time::Duration};

use support::server::{
    broker::with_broker, database::TestDatabase, installation::Installation, processes::program,
};
use tokio::process::Command;

/// Includes the installation of a language, where the machine lacks it, and the SDK's build.
const PATIENCE: Duration = Duration::from_secs(600);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sdk")
}

async fn run(mut command: Command) {
    let ran = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).output());
    let ran = ran.await.expect("it ends in time").expect("it starts");
    let [said, complaint] = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(ran.status.success(), "{command:?}\n{said}\n{complaint}");
}

/// Drives one language's SDK through the scenario.
async fn goes_through_the_scenario(language: &str) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (_api, _workers) = installation.start().await;
        let mut command = Command::new(folder().join("run.sh"));
        command.arg(language).envs(installation.settings().iter().cloned());
        command.env("GATEWAYCTL", program("gatewayctl"));
        run(command).await;
    })
    .await;
}

/// `UPDATE_EXPECT=1` writes them instead.
#[tokio::test]
async fn the_types_are_those_of_the_contract() {
    let mut command = Command::new("python3");
    command.arg("-B").arg(folder().join("generate.py"));
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        command.arg("--check");
    }
    run(command).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript() {
    goes_through_the_scenario("typescript").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python() {
    goes_through_the_scenario("python").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn php() {
    goes_through_the_scenario("php").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn go() {
    goes_through_the_scenario("go").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rust() {
    goes_through_the_scenario("rust").await;
}
