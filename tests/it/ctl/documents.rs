//! Commands in documents: a reader who copies them gets what the text promises.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Output, Stdio},
};

use gateway::asset::Network;
use support::{
    client::ctl::Ctl,
    server::{
        broker::eventually,
        processes::{free_port, program},
        stack::{Stack, only, with_configured_stack},
    },
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

const README: &str = include_str!("../../../README.md");
const GETTING_STARTED: &str = include_str!("../../../docs/getting-started.md");
const PAYOUTS: &str = include_str!("../../../docs/payouts.md");
/// The port at which the documents' receiver listens.
const PORT: &str = "9999";

/// The blocks of shell commands below a heading.
fn blocks(document: &'static str, heading: &str) -> Vec<&'static str> {
    let (_, section) = document.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("\n```sh\n").skip(1);
    blocks.map(|rest| rest.split_once("\n```\n").unwrap().0).collect()
}

fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn shell(script: &str, environment: &[(String, String)]) -> Command {
    let programs = program("gatewayctl").parent().unwrap().to_owned();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).env_clear().env("PATH", path);
    command.envs(environment.iter().cloned());
    command.current_dir(repository());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaint}");
    said
}

fn environment(stack: &Stack) -> Ctl {
    Ctl::of(stack).with("GATEWAY_BASE_URL", &format!("http://{}", stack.api))
}

/// A document's receiver. Its commands but for the port, which another test may be using.
struct Receiver {
    port: String,
    lines: Lines<BufReader<ChildStdout>>,
    _listening: Child,
}

impl Receiver {
    async fn start(listen: &str, environment: &[(String, String)]) -> Self {
        let port = free_port().to_string();
        let listen = format!("exec {} --port {port}", listen.trim_end_matches(" &"));
        let mut listening = shell(&listen, environment).spawn().unwrap();
        let mut lines = BufReader::new(listening.stdout.take().unwrap()).lines();
        let first = lines.next_line().await.unwrap().unwrap();
        assert!(first.starts_with("listening"), "{first}");
        Self { port, lines, _listening: listening }
    }

    /// The same commands, with this receiver's port.
    fn reached_by(&self, commands: &str) -> String {
        assert!(commands.contains(PORT), "{commands}");
        commands.replace(PORT, &self.port)
    }

    /// The next webhook that arrives, whose signature has to verify.
    async fn verified(&mut self) -> String {
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            assert!(!line.starts_with("REFUSED"), "{line}");
            if let Some(rest) = line.strip_prefix("verified  ") {
                return rest.to_owned();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_invoice_of_the_readme_is_created_paid_and_told_by_a_webhook_that_verifies() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let [set_up, listen, pay] = blocks(README, "The first invoice")[..] else {
            panic!("other blocks than expected")
        };
        let (stands_already, create) = set_up.split_once("\n\n").unwrap();
        // The test's own stack stands in for these three lines.
        let expected =
            "make up\nset -a; . .run/stack.env; set +a\nexport PATH=\"$PWD/target/release:$PATH\"";
        assert_eq!(stands_already, expected);
        let keys = format!("{create}\nprintf '%s\\n' \"$API_KEY\" \"$WEBHOOK_SECRET\"");
        let ctl = environment(&stack);
        let keys = said(&shell(&keys, ctl.environment()).output().await.unwrap());
        let [api_key, secret] = keys.lines().collect::<Vec<_>>()[..] else { panic!("{keys}") };
        let ctl = ctl.with("API_KEY", api_key).with("WEBHOOK_SECRET", secret);

        let mut receiver = Receiver::start(listen, ctl.environment()).await;
        let pay = receiver.reached_by(pay);
        let paid = said(&shell(&pay, ctl.environment()).output().await.unwrap());
        let read: serde_json::Value = serde_json::from_str(paid.lines().last().unwrap()).unwrap();
        assert_eq!(read["payment_status"], "finished", "{paid}");
        let webhook = receiver.verified().await;
        let id = read["payment_id"].as_str().unwrap();
        assert!(webhook.contains(id) && webhook.contains("finished"), "{webhook}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_is_paid_and_expired_with_curl_alone() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.lift_rate_limits().await;
        stack.start_all();
        let merchant = stack.merchant().await;
        let order = serde_json::json!({
            "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic",
        });
        let created = async || {
            let created = merchant.client.post("/v1/payment", &order).await.json();
            created["payment_id"].as_str().unwrap().to_owned()
        };
        let (paid, expired) = (created().await, created().await);
        let ctl = environment(&stack)
            .with("API_KEY", merchant.new.api_key.reveal())
            .with("PAYMENT_ID", &paid)
            .with("OTHER_PAYMENT_ID", &expired);
        let [commands] = blocks(GETTING_STARTED, "The sandbox by API")[..] else {
            panic!("other blocks than expected")
        };
        said(&shell(commands, ctl.environment()).output().await.unwrap());
        for (id, status) in [(paid, "finished"), (expired, "expired")] {
            eventually(&format!("{id} is {status}"), async || {
                let payment = merchant.client.get(&format!("/v1/payment/{id}")).await.json();
                (payment["payment_status"] == status).then_some(())
            })
            .await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_file_is_uploaded_confirmed_funded_watched_and_every_webhook_verifies() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let merchant = stack.merchant().await;
        let ctl = environment(&stack)
            .with("API_KEY", merchant.new.api_key.reveal())
            .with("WEBHOOK_SECRET", merchant.new.webhook_secret.reveal());
        let [listen, pay] = blocks(PAYOUTS, "Your first payout")[..] else {
            panic!("other blocks than expected")
        };
        let mut receiver = Receiver::start(listen, ctl.environment()).await;
        let pay = receiver.reached_by(pay);
        let said = said(&shell(&pay, ctl.environment()).output().await.unwrap());
        let last = said.lines().last().unwrap();
        assert_eq!(last, "completed  ████████████████████ 3 of 3 paid", "{said}");

        let mut told = Vec::new();
        while !told.iter().any(|event| event == "mass_payout.completed") {
            told.push(receiver.verified().await.split("  ").next().unwrap().to_owned());
        }
        let expected =
            ["created", "deposit_detected", "batch_broadcasted", "batch_confirmed", "completed"];
        assert_eq!(told, expected.map(|name| format!("mass_payout.{name}")));
    })
    .await;
}

/// Help texts by the words that lead to them; each is asked once.
#[derive(Default)]
struct Help(BTreeMap<Vec<String>, String>);

impl Help {
    fn of(&mut self, words: &[&str]) -> &str {
        let key: Vec<_> = words.iter().map(ToString::to_string).collect();
        self.0.entry(key).or_insert_with(|| {
            let output = std::process::Command::new(program("gatewayctl"))
                .args(words)
                .arg("--help")
                .env_clear()
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        })
    }

    /// What of a command line does not exist: a subcommand, or an option of it.
    fn unknown(&mut self, words: &[&str]) -> Option<String> {
        let (mut known, mut rest) = (0, words);
        while let Some((_, commands)) = self.of(&words[..known]).split_once("\nCommands:\n") {
            let commands: BTreeSet<_> = commands
                .lines()
                .take_while(|line| !line.is_empty())
                .filter_map(|line| line.split_whitespace().next())
                .collect();
            match rest {
                // A group of commands is named as such.
                [] => return None,
                [global, ..] if global.starts_with('-') => break,
                [name, ..] if !commands.contains(name) => return Some((*name).to_owned()),
                [_, others @ ..] => (known, rest) = (known + 1, others),
            }
        }
        let help = self.of(&words[..known]).to_owned();
        let options = rest.iter().filter(|word| word.starts_with("--"));
        let name = |option: &&str| option.split('=').next().unwrap_or_default().to_owned();
        options.map(name).find(|option| !help.contains(option.as_str()))
    }
}

/// Code in a document with its lines: whole lines of blocks, and what stands between backquotes,
/// also across lines.
fn code(text: &str) -> Vec<(usize, String)> {
    let (mut code, mut in_block) = (Vec::new(), false);
    let (mut paragraph, mut begins) = (String::new(), 1);
    for (index, line) in text.lines().chain([""]).enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence || line.is_empty() {
            let quoted = paragraph.split('`').skip(1).step_by(2);
            code.extend(quoted.map(|quoted| (begins, quoted.to_owned())));
            paragraph.clear();
        }
        if is_fence {
            in_block = !in_block;
        } else if in_block {
            code.push((index + 1, line.to_owned()));
        } else {
            if paragraph.is_empty() {
                begins = index + 1;
            }
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    code
}

/// The words after each `gatewayctl` in a document, with the lines at which their paragraphs begin.
fn commands(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for (line, part) in code(text) {
        for (at, name) in part.match_indices("gatewayctl ") {
            if part[..at].ends_with(|before: char| !before.is_whitespace() && before != '(') {
                continue;
            }
            let command = part[at + name.len()..].split(['#', '|', '<', '>', '&', ';', ')']).next();
            let words = command.unwrap_or_default().split_whitespace().map(str::to_owned);
            found.push((line, words.skip_while(|word| word == "--json").collect()));
        }
    }
    found
}

fn documents() -> Vec<(String, String)> {
    let mut paths = vec![repository().join("README.md"), repository().join("deploy/RUNBOOK.md")];
    paths.push(repository().join("rabbitmq/README.md"));
    for entry in std::fs::read_dir(repository().join("docs")).unwrap() {
        paths.push(entry.unwrap().path());
    }
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_command_that_a_document_names_exists_with_its_options() {
    let (mut help, mut found, mut count) = (Help::default(), Vec::new(), 0);
    for (name, text) in documents() {
        for (line, words) in commands(&text) {
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            count += 1;
            if let Some(unknown) = help.unknown(&words) {
                found.push(format!("{name}:{line} {unknown} of gatewayctl {}", words.join(" ")));
            }
        }
    }
    assert!(count > 60, "only {count} commands were found");
    assert!(found.is_empty(), "gatewayctl does not know:\n  {}", found.join("\n  "));
}

#[test]
fn a_command_that_does_not_exist_would_be_found() {
    let text = "Run `gatewayctl\ninvoice explian pzi_…`.\n```\ngatewayctl deposit list --bookt late # x\n```\n";
    let mut help = Help::default();
    let mut unknown = |(line, words): &(usize, Vec<String>)| {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        (*line, help.unknown(&words))
    };
    let found: Vec<_> = commands(text).iter().map(&mut unknown).collect();
    assert_eq!(found, [(1, Some("explian".to_owned())), (4, Some("--bookt".to_owned()))]);
    assert_eq!(help.unknown(&["dead-letters", "requeue", "--since", "…"]), None);
    assert_eq!(help.unknown(&["payouts"]), None);
}
