//! Published clients of x402, unchanged, from 402 to 200: for an invoice, and for a resource that a
//! shop sells with the TypeScript SDK.

use std::{convert::Infallible, path::PathBuf, process::Stdio, time::Duration};

use serde_json::{Value, json};
use support::{fault::fired::fired, server::processes::free_port};
use tokio::process::{Child, Command};

use super::scene::{CENT, Payer, Scene, with_scene};

/// Includes the installation of the client.
const PATIENCE: Duration = Duration::from_secs(300);
/// Payer number 7 of the tests, as a wallet imports it.
const PAYER: u8 = 7;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a client against `url` while blocks come, and returns what it printed.
async fn pay(scene: &Scene, client: &str, url: &str) -> Value {
    let network = if client == "fetch-v1" { "polygon" } else { "eip155:137" };
    let mut command = Command::new(root().join("scripts/x402.sh"));
    command
        .args([client, url, network])
        .env("PAYER_KEY", format!("0x{}", hex::encode([PAYER; 32])))
        .env("RPC_URL", scene.anvil.url());
    let running = command.kill_on_drop(true).output();
    let ran = tokio::time::timeout(PATIENCE, async {
        tokio::select! {
            ran = running => ran.expect("it starts"),
            never = keep_mining(scene) => match never {},
        }
    });
    let ran = ran.await.expect("it ends in time");
    let [said, complaint] =
        [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(ran.status.success(), "{client}\n{said}\n{complaint}");
    serde_json::from_str(said.lines().last().expect("it prints what came of it")).unwrap()
}

/// A block a second: more would move the chain's clock ahead of the client's, whose authorization
/// would be over by then.
pub(super) async fn keep_mining(scene: &Scene) -> Infallible {
    loop {
        scene.anvil.mine().await.unwrap();
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
}

async fn pays_an_invoice(client: &'static str) {
    with_scene(|scene| async move {
        scene.allow_small_invoices().await;
        let body = json!({
            "price_amount": 0.5, "price_currency": "usd", "pay_currency": "usdcmatic", "network": "polygon",
        });
        let created = scene.merchant.client.post("/v1/payment", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let invoice = created.json();
        scene.payer(PAYER, 100 * CENT).await;
        let id = invoice["payment_id"].as_str().unwrap();
        let url = format!("http://{}/v1/x402/pay/{id}", scene.stack.api);
        let answer = pay(&scene, client, &url).await;
        assert_eq!((&answer["status"], &answer["settlement"]["success"]), (&json!(200), &json!(true)), "{answer}");
        let payer = answer["settlement"]["payer"].as_str().unwrap();
        assert_eq!(payer, Payer::new(PAYER).address);
        let finished = "select count(*) from invoice where status = 'paid'";
        scene.until("the invoice is paid", finished, 1).await;
        fired(1);
    })
    .await;
}

async fn pays_for_a_resource(client: &'static str) {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        scene.payer(PAYER, 100 * CENT).await;
        let port = free_port();
        let _shop = shop(&scene, port, resource["resource_id"].as_str().unwrap()).await;
        let url = format!("http://127.0.0.1:{port}/weather");
        let answer = pay(&scene, client, &url).await;
        assert_eq!(
            (&answer["status"], &answer["settlement"]["success"]),
            (&json!(200), &json!(true)),
            "{answer}"
        );
        assert!(answer["body"].as_str().unwrap().contains("fine"), "{answer}");
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("it is booked", booked, 1).await;
        assert_eq!(scene.booked().await, CENT);
        fired(1);
    })
    .await;
}

/// Starts the shop and waits until it answers.
async fn shop(scene: &Scene, port: u16, resource_id: &str) -> Child {
    let node =
        Command::new(root().join("scripts/languages.sh")).arg("node").output().await.unwrap();
    let node = String::from_utf8(node.stdout).unwrap();
    let shop = Command::new(node.trim())
        .arg(root().join("tests/x402/shop.mjs"))
        .args([port.to_string().as_str(), resource_id])
        .env("GATEWAY_BASE_URL", format!("http://{}", scene.stack.api))
        .env("GATEWAY_API_KEY", scene.merchant.new.api_key.reveal())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    support::server::broker::eventually("the shop listens", async || {
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()
    })
    .await;
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_x402_fetch_of_version_2_pays_an_invoice() {
    pays_an_invoice("fetch").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_x402_fetch_of_version_1_pays_an_invoice() {
    pays_an_invoice("fetch-v1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pypi_x402_pays_an_invoice() {
    pays_an_invoice("python").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_x402_fetch_of_version_2_pays_for_a_resource() {
    pays_for_a_resource("fetch").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_x402_fetch_of_version_1_pays_for_a_resource() {
    pays_for_a_resource("fetch-v1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pypi_x402_pays_for_a_resource() {
    pays_for_a_resource("python").await;
}
