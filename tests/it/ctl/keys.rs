//! `gatewayctl keys`: words, and all that follows from them, on a machine without any server.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use gateway::{
    asset::keys::WORDS,
    merchant::secret::{MasterKey, SealError},
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::{processes::program, scratch::Scratch, stack::MASTER_KEY},
};
use tokio::process::Command;

use super::with_database;

/// A published phrase: its keys are in the vectors of `src/asset`.
const ABANDON: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon \
                       abandon abandon about";
const FIRST_BITCOIN: &str = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu";
/// By BIP-85 and BIP-39, of two other implementations.
const SEED_OF_PAYOUTS: &str = "6e5f8a82bd81abedc4d1912d830e7195a2791f234fb1a62921f22e44c841715f\
                               54da0f0e92e49509bc3b23a796a668c9ccf645f58abbb05338f5f7e0c7aef088";
const SEED_OF_X402: &str = "39e4b7f820437af8dafb10a206c074f3fe6498b77233d2d16e7e9414e333f99f\
                            384539aef80377cbf6b9402f87478051de2bd2cae9782ef0a0e7bd84063f61b5";

fn sealing() -> Ctl {
    Ctl::default().with("GATEWAY_MASTER_KEY", MASTER_KEY)
}

fn fresh(scratch: &Scratch) -> String {
    scratch.fresh("keys").to_str().unwrap().to_owned()
}

async fn restore(ctl: &Ctl, words: &str, dir: &str) -> support::client::ctl::Ran {
    ctl.run_with_input(&["keys", "restore", "--pool", "5", "--dir", dir], words).await
}

/// Contents of the directory's files, each of which its owner alone may read.
fn files(dir: &str) -> BTreeMap<String, String> {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(Path::new(dir)), 0o700);
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            assert_eq!(mode(&path), 0o600, "{path:?}");
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Runs a command with a terminal as its stdout, and returns what the terminal shows.
async fn on_terminal(arguments: &str) -> String {
    let line = format!("{} {arguments}", program("gatewayctl").display());
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env_clear();
    script.env("PATH", std::env::var("PATH").unwrap()).env("GATEWAY_MASTER_KEY", MASTER_KEY);
    script.stdin(Stdio::null()).kill_on_drop(true);
    let output = script.output().await.unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}");
    shown
}

/// The numbered words that a terminal shows.
fn shown_words(terminal: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut tokens = terminal.split_whitespace();
    while words.len() < WORDS {
        let number = (words.len() + 1).to_string();
        assert!(tokens.any(|token| token == number), "no word {number} in {terminal}");
        words.push(tokens.next().unwrap().to_owned());
    }
    words
}

#[tokio::test]
async fn the_words_are_shown_once_and_give_the_same_bytes_again() {
    let scratch = Scratch::new();
    let rolls = scratch.fresh("rolls");
    std::fs::write(&rolls, "31415".repeat(10) + &"26245".repeat(10)).unwrap();
    let [dir, diced, diced_again] = [(); 3].map(|()| fresh(&scratch));
    let made = on_terminal(&format!("keys new --pool 5 --dir {dir}")).await;
    let words = shown_words(&made);
    let sentence = words.join(" ");
    let wanted = [
        "gateway.toml",
        "invoices.seed",
        "near-0.pool",
        "payouts.seed",
        "solana-0.pool",
        "x402.seed",
    ];
    let first = files(&dir);
    assert_eq!(first.keys().collect::<Vec<_>>(), wanted);
    for (name, text) in &first {
        assert!(!text.contains(&words[..3].join(" ")), "{name}");
    }

    let again = fresh(&scratch);
    let restored = restore(&sealing(), &sentence, &again).await.expect_ok();
    assert_eq!(files(&again), first);
    assert!(!restored.stdout.contains(&words[..3].join(" ")), "{restored:?}");

    for dir in [&diced, &diced_again] {
        let arguments = format!("keys new --dice --pool 5 --dir {dir} < {}", rolls.display());
        assert_ne!(shown_words(&on_terminal(&arguments).await), words);
    }
    assert_eq!(files(&diced), files(&diced_again));
    assert_ne!(files(&diced), first);
}

#[tokio::test]
async fn the_files_of_published_words_start_a_gateway_with_the_published_addresses() {
    with_database(|ctl, _| async move {
        let (scratch, offline) = (Scratch::new(), sealing());
        let dir = fresh(&scratch);
        restore(&offline, ABANDON, &dir).await.expect_ok();
        let ctl = ctl.with("GATEWAY_CONFIG", &format!("{dir}/gateway.toml"));
        for network in ["solana", "near"] {
            let file = format!("{dir}/{network}-0.pool");
            let imported = ctl.json(&["addresses", "import", &file, "--by", "ada"]).await;
            assert_eq!((&imported["first"], &imported["count"]), (&json!(0), &json!(5)));
        }
        let status = ctl.json(&["addresses", "status"]).await;
        let families = status.as_array().unwrap();
        assert_eq!(families.len(), 9);
        let toml = files(&dir)["gateway.toml"].clone();
        for family in families {
            assert!(family["usable"] == true && family["fault"].is_null(), "{family}");
            let expected =
                format!("{} = {}", family["family"].as_str().unwrap(), family["first_address"]);
            assert!(toml.contains(&expected), "no {expected} in {toml}");
        }
        assert!(toml.contains(&format!("bitcoin = \"{FIRST_BITCOIN}\"")), "{toml}");
    })
    .await;
}

#[tokio::test]
async fn the_seed_of_payouts_is_another_one_and_opens_under_its_key_alone() {
    let (scratch, own_key) = (Scratch::new(), "22".repeat(32));
    let dir = fresh(&scratch);
    let ctl = sealing().with("GATEWAY_PAYOUTS__SEED_KEY", &own_key);
    restore(&ctl, ABANDON, &dir).await.expect_ok();
    let files = files(&dir);
    let open = |key: &str, name: &str| {
        let sealed = hex::decode(files[name].trim()).unwrap();
        let seed = MasterKey::parse(key).unwrap().open_seed(&sealed);
        seed.map(|seed| hex::encode(seed.expose_secret()))
    };
    assert_eq!(open(&own_key, "payouts.seed").as_deref(), Ok(SEED_OF_PAYOUTS));
    assert_ne!(open(&own_key, "invoices.seed").unwrap(), SEED_OF_PAYOUTS);
    assert_eq!(open(MASTER_KEY, "payouts.seed"), Err(SealError::DoesNotOpen));
    assert_eq!(open(MASTER_KEY, "x402.seed").as_deref(), Ok(SEED_OF_X402));
    // The accounts in the settings are of the sealed seed, and the programs' own command says so.
    let accounts = ctl.run_with_input(&["payouts", "accounts"], SEED_OF_PAYOUTS).await.expect_ok();
    for line in accounts.stdout.lines().filter(|line| line.contains(" = ")) {
        assert!(files["gateway.toml"].contains(line), "{line}");
    }
    let x402 = ["payouts", "accounts", "--x402"];
    let x402 = ctl.run_with_input(&x402, SEED_OF_X402).await.expect_ok();
    let account = x402.stdout.lines().find(|line| line.contains(" = ")).unwrap();
    assert!(files["gateway.toml"].contains(account), "{account}");
}

#[tokio::test]
async fn a_seed_without_a_key_is_not_written_and_the_answer_says_which() {
    let (scratch, key) = (Scratch::new(), "22".repeat(32));
    for (setting, missing, written) in [
        ("GATEWAY_PAYOUTS__SEED_KEY", "x402.seed was not written", "payouts.seed"),
        ("GATEWAY_X402__SEED_KEY", "payouts.seed and invoices.seed were not", "x402.seed"),
    ] {
        let dir = fresh(&scratch);
        let made = restore(&Ctl::default().with(setting, &key), ABANDON, &dir).await.expect_ok();
        assert!(made.stdout.contains(missing), "{made:?}");
        let files = files(&dir);
        assert!(files.contains_key(written), "{files:?}");
        assert_eq!(files.contains_key("x402.seed"), written == "x402.seed");
    }
}

#[tokio::test]
async fn an_export_writes_the_public_files_again_and_no_seed() {
    let (scratch, ctl) = (Scratch::new(), sealing());
    let [dir, public, other] = [(); 3].map(|()| fresh(&scratch));
    restore(&ctl, ABANDON, &dir).await.expect_ok();
    let arguments = ["keys", "export", "--pool", "5", "--seeds", &dir, "--dir", &public];
    let exported = ctl.json(&arguments).await;
    let mut wanted = files(&dir);
    wanted.retain(|name, _| !name.ends_with(".seed"));
    assert_eq!(files(&public), wanted);
    assert_eq!(exported["sealed"], false);
    let arguments = ["keys", "export", "--seeds", &dir, "--dir", &other];
    let wrong = Ctl::default().with("GATEWAY_MASTER_KEY", &"11".repeat(32));
    wrong.run(&arguments).await.expect_failure("does not open");
    Ctl::default().run(&arguments).await.expect_failure("GATEWAY_MASTER_KEY");
    assert!(!Path::new(&other).exists());
}

#[tokio::test]
async fn keys_replace_nothing_and_wrong_words_are_named() {
    let (scratch, ctl) = (Scratch::new(), Ctl::default());
    let dir = fresh(&scratch);
    let cases = [
        (ABANDON.replacen("abandon", "abandom", 1), "word 1, \"abandom\", is not in the list"),
        (ABANDON.replace("about", "abandon"), "word 12, the last, does not fit the words before"),
        (ABANDON.replace(" about", ""), "these are 11 words; a phrase has 24"),
    ];
    for (words, fault) in cases {
        restore(&ctl, &words, &dir).await.expect_failure(fault);
    }
    assert!(files(&dir).is_empty());
    // Without a key that seals there is nothing but public files.
    let made = restore(&ctl, ABANDON, &dir).await.expect_ok();
    assert!(made.stdout.contains("No seed was written"), "{made:?}");
    let before = files(&dir);
    assert!(!before.keys().any(|name| name.ends_with(".seed")), "{before:?}");
    let refused = restore(&ctl, ABANDON, &dir).await;
    refused.expect_failure("is not empty; keys go into a directory of their own");
    assert_eq!(files(&dir), before);
    let file = format!("{dir}/gateway.toml");
    restore(&ctl, ABANDON, &file).await.expect_failure("cannot be read");
    let nowhere = format!("{dir}/no/directory");
    restore(&ctl, ABANDON, &nowhere).await.expect_failure("cannot be made");
}

#[tokio::test]
async fn new_words_go_to_a_terminal_alone() {
    let (scratch, ctl) = (Scratch::new(), sealing());
    let dir = fresh(&scratch);
    let arguments = ["keys", "new", "--dir", &dir];
    ctl.run(&arguments).await.expect_wrong_usage("the words are shown once, on a terminal");
    let arguments = ["--json", "keys", "new", "--dir", &dir];
    ctl.run(&arguments).await.expect_wrong_usage("it has no JSON");
    assert!(!Path::new(&dir).exists());
}

#[tokio::test]
async fn an_answer_for_scripts_has_every_key_with_its_path() {
    let (scratch, ctl) = (Scratch::new(), Ctl::default());
    let dir = fresh(&scratch);
    let arguments = ["--json", "keys", "restore", "--regtest", "--pool", "1", "--dir", &dir];
    let made = ctl.run_with_input(&arguments, ABANDON).await.expect_ok().json();
    let row = |of: &str, family: &str| -> Value {
        let rows = made["keys"].as_array().unwrap();
        let found = rows.iter().find(|row| row["use"] == of && row["family"] == family);
        found.unwrap_or_else(|| panic!("no {of} {family} in {made}")).clone()
    };
    let bitcoin = row("invoices", "bitcoin");
    assert_eq!(bitcoin["path"], "m/84'/1'/0'");
    assert!(bitcoin["first_address"].as_str().unwrap().starts_with("bcrt1"), "{bitcoin}");
    assert_eq!(row("gas", "evm")["path"], "m/44'/60'/2'");
    assert_eq!(row("invoices", "solana")["key"], Value::Null);
    assert_eq!(made["keys"].as_array().unwrap().len(), 15);
}
