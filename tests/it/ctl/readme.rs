//! Commands copied from the README work as they stand there.

use std::{path::Path, process::Stdio};

use gateway::asset::Network;
use support::{
    ctl::Ctl,
    processes::program,
    stack::{only, with_configured_stack},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

const README: &str = include_str!("../../../README.md");
/// Port of the README's receiver.
const PORT: &str = "9999";

/// The blocks of code below a heading.
fn blocks(heading: &str) -> Vec<&'static str> {
    let (_, section) = README.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.split("\n```\n").skip(1).step_by(2).collect()
}

fn shell(script: &str, environment: &[(String, String)]) -> Command {
    let programs = program("gatewayctl").parent().unwrap().to_owned();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).env_clear().env("PATH", path);
    command.envs(environment.iter().cloned());
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_file_is_uploaded_confirmed_funded_watched_and_every_webhook_verifies() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let merchant = stack.merchant().await;
        let environment: Vec<_> = Ctl::of(&stack)
            .with("GATEWAY_BASE_URL", &format!("http://{}", stack.api))
            .with("API_KEY", merchant.new.api_key.reveal())
            .with("WEBHOOK_SECRET", merchant.new.webhook_secret.reveal())
            .environment()
            .to_vec();
        let blocks = blocks("Mass payouts");
        let [listen, pay] = blocks[..] else { panic!("other blocks than expected: {blocks:?}") };
        let port = support::processes::free_port().to_string();
        // The same commands but for the port, which another test may be using.
        let listen = format!("{listen} --port {port}");
        let mut listening = shell(&format!("exec {listen}"), &environment).spawn().unwrap();
        let mut lines = BufReader::new(listening.stdout.take().unwrap()).lines();
        let first = lines.next_line().await.unwrap().unwrap();
        assert!(first.starts_with("listening"), "{first}");

        assert!(pay.contains(PORT), "{pay}");
        let paying = shell(&pay.replace(PORT, &port), &environment).output().await.unwrap();
        let said = String::from_utf8(paying.stdout).unwrap();
        let complaint = String::from_utf8_lossy(&paying.stderr);
        assert!(paying.status.success(), "{said}\n{complaint}");
        let last = said.lines().last().unwrap();
        assert_eq!(last, "completed  ████████████████████ 3 of 3 paid", "{said}");

        let mut told = Vec::new();
        while !told.iter().any(|event| event == "mass_payout.completed") {
            let line = lines.next_line().await.unwrap().unwrap();
            assert!(!line.starts_with("REFUSED"), "{line}");
            if let Some(rest) = line.strip_prefix("verified  ") {
                told.push(rest.split("  ").next().unwrap().to_owned());
            }
        }
        let expected =
            ["created", "deposit_detected", "batch_broadcasted", "batch_confirmed", "completed"];
        assert_eq!(told, expected.map(|name| format!("mass_payout.{name}")));
    })
    .await;
}
