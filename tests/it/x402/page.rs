//! The page "Sell an API call to a program", followed as it is written: each program in an empty
//! folder, the seller with an SDK from the gateway, the payer with a published client.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use support::{
    fault::fired::fired,
    server::{broker::eventually, processes::free_port, scratch::Scratch},
};
use tokio::process::Command;

use super::scene::{CENT, Scene, with_scene};

const PAGE: &str = include_str!("../../../docs/x402.md");
/// Includes what npm and pip fetch.
const PATIENCE: Duration = Duration::from_secs(300);
const PAYER: u8 = 7;

/// The one block of code on the page with these words.
fn block(words: &str) -> &'static str {
    let blocks = PAGE.split("\n```").skip(1).step_by(2);
    let mut found = blocks.filter(|block| block.contains(words));
    let block = found.next().unwrap_or_else(|| panic!("no block has {words:?}"));
    assert!(found.next().is_none(), "two blocks have {words:?}");
    block.split_once('\n').unwrap().1
}

/// A program of the page: its file, its source, and the command of its first line.
fn program(file: &str) -> (&'static str, &'static str) {
    let source = block(&format!(" {file}: "));
    (source, source.lines().next().unwrap().split_once(": ").unwrap().1)
}

/// What a machine without npm needs first, and where a developer would be by then.
fn shell(scene: &Scene, folder: &Path, script: &str) -> Command {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("bash");
    command.args(["-eu", "-c", script]).current_dir(folder).kill_on_drop(true);
    command.stdin(std::process::Stdio::null()).env("REPOSITORY", repository);
    command.env("GATEWAY_BASE_URL", format!("http://{}", scene.stack.api));
    command.env("API_KEY", scene.merchant.new.api_key.reveal());
    command.env("npm_config_prefer_offline", "true").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    command
}

async fn said(mut command: Command) -> String {
    let ran = tokio::time::timeout(PATIENCE, command.output()).await.unwrap().unwrap();
    let [said, complaint] =
        [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(ran.status.success(), "{said}\n{complaint}");
    said
}

fn empty_folder(scratch: &Scratch, name: &str) -> PathBuf {
    let folder = scratch.fresh(name);
    std::fs::create_dir(&folder).unwrap();
    folder
}

/// Installs what a program needs as the page says, writes it, and returns the command to run it.
async fn written(scene: &Scene, folder: &Path, (installing, file): (&str, &str)) -> String {
    let before = "(. \"$REPOSITORY/scripts/clone.sh\"; . \"$REPOSITORY/scripts/npm.sh\"; \
                  npm_tool typescript typescript@5.9.3)";
    said(shell(scene, folder, &format!("{before}\n{}", block(installing)))).await;
    let (source, command) = program(file);
    std::fs::write(folder.join(file), source).unwrap();
    let python = if folder.join("venv").exists() { ". venv/bin/activate\n" } else { "" };
    format!("{python}exec {command}")
}

/// Sells by one program of the page and pays by another.
async fn followed(seller: (&'static str, &'static str), payer: (&'static str, &'static str)) {
    with_scene(|scene| async move {
        let scratch = Scratch::new();
        scene.payer(PAYER, 100 * CENT).await;
        let folder = empty_folder(&scratch, "seller");
        let named = format!("{}\necho $RESOURCE_ID", block("export RESOURCE_ID="));
        let resource_id = said(shell(&scene, &folder, &named)).await.trim().to_owned();
        assert!(resource_id.starts_with("pzx_"), "{resource_id}");
        let supported = block("/v1/x402/supported").lines().last().unwrap();
        assert!(said(shell(&scene, &folder, supported)).await.contains("eip155:137"));

        let port = free_port();
        let run = written(&scene, &folder, seller).await;
        let mut shop = shell(&scene, &folder, &run);
        shop.env("PORT", port.to_string()).env("RESOURCE_ID", &resource_id);
        let _shop = shop.spawn().unwrap();
        eventually("the shop listens", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()
        })
        .await;

        let folder = empty_folder(&scratch, "payer");
        let run = written(&scene, &folder, payer).await;
        let run = run.replace("127.0.0.1:3000", &format!("127.0.0.1:{port}"));
        let mut paying = shell(&scene, &folder, &run);
        paying.env("PAYER_KEY", format!("0x{}", hex::encode([PAYER; 32])));
        let paid = tokio::select! {
            paid = said(paying) => paid,
            never = super::clients::keep_mining(&scene) => match never {},
        };
        assert!(paid.starts_with("200 ") && paid.contains("fine"), "{paid}");
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("it is booked", booked, 1).await;
        let events = said(shell(&scene, &folder, block("/v1/events?type=x402.paid"))).await;
        assert!(events.contains(&resource_id), "{events}");
        fired(1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_sold_and_paid_for_in_typescript_as_it_is_written() {
    let seller = ("gateway-sdk-typescript.tgz", "weather.mjs");
    followed(seller, ("@x402/fetch@", "pay.mjs")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_sold_and_paid_for_in_python_as_it_is_written() {
    let seller = ("gateway-sdk-python.tar.gz", "weather.py");
    followed(seller, ("x402[evm,requests]", "pay.py")).await;
}
