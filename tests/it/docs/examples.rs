//! The examples in six languages: the pieces of each are one program, which is run against a whole
//! gateway.

use std::path::{Path, PathBuf};

use gateway::asset::Network;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha512;
use support::server::{
    processes::within,
    stack::{Merchant, Stack, only, with_configured_stack},
};
use tokio::process::Command;

use super::{repository, shell};

const PAGE: &str = include_str!("../../../docs/examples.md");
/// Includes the installation of a language, where the machine lacks it, and the SDK's build.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

/// The pieces of one language, one after the other.
fn program(mark: &str) -> String {
    let fence = format!("\n```{mark}\n");
    let parts: Vec<_> = PAGE.split(fence.as_str()).skip(1).collect();
    assert!(parts.len() >= 6, "{mark} has {} pieces", parts.len());
    let pieces = parts.into_iter().map(|rest| rest.split_once("\n```").unwrap().0);
    pieces.collect::<Vec<_>>().join("\n")
}

/// A webhook that was signed just now.
#[expect(clippy::disallowed_methods, reason = "a receiver compares it with its own clock")]
fn signed(secret: &str) -> (String, String) {
    let now = chrono::Utc::now().timestamp();
    let body = json!({
        "event_at": now, "event_id": "evt-1", "payment_id": "pzi_1", "payment_status": "finished",
        "order_id": "order-1", "price_amount": 25.1, "price_currency": "usd", "actually_paid": 25.1,
        "amount_received": 25.1, "pay_amount": 25.1, "pay_currency": "usdtmatic", "network": "polygon",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
        "purchase_id": "pzi_1", "invoice_type": "payment", "time_limit": "00:30:00",
        "expiration_estimate_date": "2026-01-01T00:30:00.000Z",
    })
    .to_string();
    let mut mac = Hmac::<Sha512>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    (body, hex::encode(mac.finalize().into_bytes()))
}

/// Pays the invoice once the program has created it.
async fn pay(merchant: &Merchant) {
    let created = within(PATIENCE, "the program creates an invoice", async || {
        let listed = merchant.client.get("/v1/payment").await.json();
        listed["data"][0]["payment_id"].as_str().map(str::to_owned).ok_or("none".to_owned())
    });
    let (id, _) = created.await;
    let body = json!({ "payment_id": id, "amount": "25.1" });
    let paid = merchant.client.post("/v1/sandbox/deposit", &body).await;
    assert_eq!(paid.status, 201, "{}", paid.body);
}

/// A folder for one language's program.
fn folder(language: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs-{language}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

async fn run(stack: &Stack, merchant: &Merchant, mut command: Command, folder: &Path) -> String {
    let secret = merchant.new.webhook_secret.reveal();
    let (body, signature) = signed(secret);
    std::fs::write(folder.join("body.json"), &body).unwrap();
    command
        .current_dir(folder)
        .env("GATEWAY_BASE_URL", format!("http://{}", stack.api))
        .env("API_KEY", merchant.new.api_key.reveal())
        .env("WEBHOOK_SECRET", secret)
        .env("RAW_BODY", body)
        .env("SIGNATURE", signature);
    let ran = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).output());
    let ran = ran.await.expect("it ends in time").expect("it starts");
    let [said, complaint] = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(ran.status.success(), "{command:?}\n{said}\n{complaint}");
    said.into_owned()
}

/// Writes `source` into the language's folder and runs it with the SDK, as `sdk/example.sh` does.
async fn comes_through(language: &str, file: &str, source: String) {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.lift_rate_limits().await;
        stack.start_all();
        let merchant = stack.merchant().await;
        let folder = folder(language);
        std::fs::write(folder.join(file), source).unwrap();
        let command = match language {
            "curl" => shell(". ./program.sh"),
            _ => {
                let mut command = Command::new(repository().join("sdk/example.sh"));
                command.args([language, file]);
                command
            }
        };
        let said = match language {
            // This program pays by itself.
            "curl" => run(&stack, &merchant, command, &folder).await,
            _ => tokio::join!(run(&stack, &merchant, command, &folder), pay(&merchant)).0,
        };
        let words = ["created pzi_", "paid", "verified", "event evt", "listed", "confirmed empo_"];
        let lines: Vec<_> = said.lines().collect();
        for word in words {
            assert!(lines.iter().any(|line| line.starts_with(word)), "no line {word:?} in {said}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_curl() {
    comes_through("curl", "program.sh", program("sh")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_typescript() {
    let head = "declare const process: { env: Record<string, string | undefined> };\n\
                const rawBody = process.env.RAW_BODY!;\nconst signature = process.env.SIGNATURE!;\n";
    comes_through("typescript", "program.ts", head.to_owned() + &program("ts")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_python() {
    let head = "import os\nraw_body = os.environ[\"RAW_BODY\"].encode()\nsignature = os.environ[\"SIGNATURE\"]\n";
    comes_through("python", "program.py", head.to_owned() + &program("python")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_php() {
    let head = format!(
        "<?php\nrequire '{}';\n$rawBody = getenv('RAW_BODY');\n$signature = getenv('SIGNATURE');\n",
        repository().join("sdk/php/autoload.php").canonicalize().unwrap().display()
    );
    comes_through("php", "program.php", head + &program("php")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_go() {
    let source = format!(
        "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\t\"os\"\n\t\"time\"\n\n\
         \tgateway \"example.com/gateway/sdk/go\"\n)\n\n\
         func main() {{\n\tif err := run(context.Background()); err != nil {{\n\t\tlog.Fatal(err)\n\t}}\n}}\n\n\
         func run(ctx context.Context) error {{\n\
         rawBody, signature := []byte(os.Getenv(\"RAW_BODY\")), os.Getenv(\"SIGNATURE\")\n{}\nreturn nil\n}}\n",
        program("go")
    );
    comes_through("go", "main.go", source).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_rust() {
    let source = format!(
        "#[tokio::main]\nasync fn main() -> Result<(), Box<dyn std::error::Error>> {{\n\
         let (raw_body, signature) = (std::env::var(\"RAW_BODY\")?.into_bytes(), std::env::var(\"SIGNATURE\")?);\n\
         {}\nOk(())\n}}\n",
        program("rust")
    );
    comes_through("rust", "main.rs", source).await;
}

#[test]
fn every_section_of_the_page_has_its_languages_in_one_order() {
    let marks = ["sh", "ts", "python", "php", "go", "rust"];
    let mut switches = 0;
    for section in PAGE.split("\n## ").skip(1) {
        let fences = section.lines().filter_map(|line| line.strip_prefix("```"));
        let found: Vec<_> = fences.filter(|mark| !mark.is_empty()).collect();
        assert!([&[][..], &["sh"], &marks].contains(&found.as_slice()), "{section}");
        switches += usize::from(found == marks);
    }
    assert!(switches >= 6, "only {switches} sections have six languages");
}
