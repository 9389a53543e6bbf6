//! The SDKs as a developer gets them: from the documentation, into an empty folder.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use gateway::asset::Network;
use serde_json::json;
use support::{
    client::Client,
    server::{
        processes::within,
        scratch::Scratch,
        stack::{Merchant, Stack, only, with_configured_stack, with_stack},
    },
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
};

use super::{repository, shell};

const LANGUAGES: [(&str, &str); 5] = [
    ("typescript", "tgz"),
    ("python", "tar.gz"),
    ("php", "tar.gz"),
    ("go", "tar.gz"),
    ("rust", "tar.gz"),
];
/// Includes what npm and pip fetch.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let below = entries.map(|entry| {
        let is_folder = entry.file_type().unwrap().is_dir();
        if is_folder { files(&entry.path()) } else { vec![entry.path()] }
    });
    below.flatten().collect()
}

async fn succeeds(script: &str, folder: &Path, stack: &Stack) {
    let mut command = shell(script);
    command.current_dir(folder).env("GATEWAY_BASE_URL", format!("http://{}", stack.api));
    command.env("REPOSITORY", repository());
    let ran = tokio::time::timeout(PATIENCE, command.output()).await.unwrap().unwrap();
    let [said, complaint] = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(ran.status.success(), "{script}\n{said}\n{complaint}");
}

#[tokio::test]
async fn an_archive_has_the_files_of_the_repository() {
    with_stack(|stack| async move {
        for (language, ending) in LANGUAGES {
            let path = format!("/docs/gateway-sdk-{language}.{ending}");
            let (headers, bytes) = Client::new(stack.api).get_bytes(&path).await;
            assert_eq!(headers["content-type"], "application/gzip");
            let scratch = Scratch::new();
            let archive = scratch.fresh("sdk");
            std::fs::write(&archive, &bytes).unwrap();
            let folder = archive.parent().unwrap();
            succeeds(&format!("tar xzf {}", archive.display()), folder, &stack).await;
            let unpacked = folder.join(format!("gateway-sdk-{language}"));
            let files = files(&unpacked);
            assert!(files.len() > 10, "{language}: {files:?}");
            for file in files {
                let inside = file.strip_prefix(&unpacked).unwrap();
                let licence = inside.to_str().unwrap().starts_with("LICENSE");
                let root =
                    if licence { repository() } else { repository().join("sdk").join(language) };
                let (ours, theirs) = (std::fs::read(root.join(inside)), std::fs::read(&file));
                assert!(ours.unwrap() == theirs.unwrap(), "{} differs", inside.display());
            }
            // `etag` as of the other files of the site.
            let again =
                stack.anybody().with_header("if-none-match", headers["etag"].to_str().unwrap());
            assert_eq!(again.get(&path).await.status, 304);
        }
        stack.anybody().get("/docs/gateway-sdk-cobol.tar.gz").await.expect_error(404, "NOT_FOUND");
    })
    .await;
}

/// The code block of an SDK's page that names its file in the first line, with the command to run
/// it.
fn program(language: &str, file: &str) -> (String, String) {
    let page = repository().join("sdk").join(language).join("README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = page.split("\n```").find(|block| block.contains(&format!(" {file}: "))).unwrap();
    let source = block.split_once('\n').unwrap().1.to_owned();
    let command = source.lines().next().unwrap().split_once(": ").unwrap().1.to_owned();
    (source, command)
}

/// The command of an SDK's page that installs it.
fn installing(language: &str) -> String {
    let page = repository().join("sdk").join(language).join("README.md");
    let page = std::fs::read_to_string(page).unwrap();
    page.split_once("```sh\n").unwrap().1.split_once("\n```").unwrap().0.to_owned()
}

async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

/// Installs the SDK as its page says, runs the receiver that its page shows, and pays an invoice.
async fn receives(language: &str, file: &str, before: &str) {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let merchant = stack.merchant().await;
        let scratch = Scratch::new();
        let folder = scratch.fresh("shop");
        std::fs::create_dir(&folder).unwrap();
        let (source, command) = program(language, file);
        std::fs::write(folder.join(file), source).unwrap();
        succeeds(&format!("{before}\n{}", installing(language)), &folder, &stack).await;
        let port = free_port().await;
        let mut receiver = shell(&format!("{before}\nexec {command}"));
        receiver.current_dir(&folder).stdout(Stdio::piped()).env("PORT", port.to_string());
        receiver.env("REPOSITORY", repository());
        receiver.env("WEBHOOK_SECRET", merchant.new.webhook_secret.reveal());
        let mut running = receiver.spawn().unwrap();
        let mut said = BufReader::new(running.stdout.take().unwrap()).lines();
        let id = paid(&merchant, port).await;
        let line = tokio::time::timeout(PATIENCE, said.next_line()).await.unwrap().unwrap();
        assert_eq!(line.unwrap(), format!("verified {id} finished"));
        running.kill().await.unwrap();
    })
    .await;
}

/// Pays an invoice once the receiver listens.
async fn paid(merchant: &Merchant, port: u16) -> String {
    let listens = within(PATIENCE, "the receiver listens", async || {
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.map_err(|e| e.to_string())
    });
    drop(listens.await);
    let wanted = json!({
        "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic",
        "ipn_callback_url": format!("http://127.0.0.1:{port}/ipn"),
    });
    let created = merchant.client.post("/v1/payment", &wanted).await.json();
    let id = created["payment_id"].as_str().unwrap().to_owned();
    let deposit = json!({ "payment_id": id, "amount": "25" });
    let answer = merchant.client.post("/v1/sandbox/deposit", &deposit).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    id
}

/// `npm_tool` installs npm itself where the machine lacks it.
#[tokio::test(flavor = "multi_thread")]
async fn typescript_is_installed_from_the_documentation_and_receives_a_webhook() {
    let before = "(. \"$REPOSITORY/scripts/clone.sh\"; . \"$REPOSITORY/scripts/npm.sh\"; \
                  npm_tool typescript typescript@5.9.3)";
    receives("typescript", "receiver.mjs", before).await;
}

/// In an environment of its own, so that nothing of the machine's Python is changed.
#[tokio::test(flavor = "multi_thread")]
async fn python_is_installed_from_the_documentation_and_receives_a_webhook() {
    let before = "[ -d venv ] || python3 -m venv venv; . venv/bin/activate";
    receives("python", "receiver.py", before).await;
}
